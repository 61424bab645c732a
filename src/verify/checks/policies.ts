/** Policies and rows: what pods of this node get and send by their ACLs is what policies allow, no more and no less. By kinds of pods, never by pairs. */
import { podPlaces } from '../headers/legs.ts';
import { addressesNamed } from '../headers/matched.ts';
import { allOf, without, type Ranges } from '../headers/ranges.ts';
import { stoppingRow } from '../headers/stages.ts';
import type { VerifiedPort } from '../intent/pods.ts';
import {
  DIRECTIONS,
  type AdminPolicy,
  type NamespacePolicy,
  type PolicyDirection,
} from '../policies/read.ts';
import { wantedOf, type PolicySubject } from '../policies/wanted.ts';
import { headersOf, type PolicedNetwork } from './policed-network.ts';

/** Yields after each kind of pods. */
export function* checkPolicies(policed: PolicedNetwork): Generator<undefined, void> {
  const { home, at, selected } = policed;
  const { passesIcmp } = at.settings.policies;
  for (const direction of DIRECTIONS) {
    const peers = peersOf(direction, policed);
    const of = direction === 'Egress' ? 'from-lport' : 'to-lport';
    yield* policed.each(podPlaces(home, of, at.rows), 'policies', (place, ports) => {
      const judged = ports.filter((port) => isRead(port, policed));
      if (judged.length === 0) return;
      const passed = place.passing(headersOf(direction, judged, peers));
      for (const subject of subjectsOf(judged, policed)) {
        const universe = headersOf(direction, subject.ports, peers);
        policed.compare({
          check: 'policies',
          kind: 'policy',
          direction,
          ports: subject.ports,
          universe,
          passed,
          wanted: wantedOf(direction, subject, universe, selected, passesIcmp),
          stopping: ({ header }) => stoppingRow(header, place.at),
          isFaulty,
        });
      }
    });
  }
}

/** A row of a policy lets more pass than it says; of any other row the policy is at fault that does not hold. */
const isFaulty = (owner: string, denying: string | undefined): boolean =>
  /Policy /.test(owner) && (denying === undefined || isOfNamespace(denying));

const isOfNamespace = (object: string): boolean => object.includes('/');

/** True when each policy that may be about a pod can be read; those that can't are told. */
function isRead({ namespace }: VerifiedPort, policed: PolicedNetwork): boolean {
  const { rules } = policed.at;
  const unread = [...rules.policiesOf(namespace).unread, ...rules.admins().unread];
  policed.leaveUnread(unread);
  return unread.length === 0;
}

/** Whom policies are asked about at the other end: others have rows of their own, whatever policies say. */
const peersOf = (direction: PolicyDirection, policed: PolicedNetwork): Ranges =>
  without(
    policed.everybody(),
    allOf([
      policed.masquerade(),
      direction === 'Egress' ? policed.closed() : addressesNamed(policed.selected.hostAddresses()),
    ]),
  );

/** Pods that the same policies are about, and whose ports have the same names. */
function subjectsOf(
  ports: readonly VerifiedPort[],
  policed: PolicedNetwork,
): readonly PolicySubject[] {
  const { selected } = policed;
  const groups = Map.groupBy(
    ports.map((port) => ({ port, ...policiesOf(port, policed) })),
    ({ port, policies, admins }) => {
      const named = [...policies, ...admins].flatMap(({ rules }) =>
        rules.flatMap((rule) => rule.ports.filter(({ name }) => name !== undefined)),
      );
      const numbers = named.map(({ protocol, name = '' }) =>
        selected.ownNumbersOf(port, protocol, name),
      );
      return JSON.stringify([
        policies.map(({ object }) => object),
        admins.map(({ object }) => object),
        numbers,
      ]);
    },
  );
  return [...groups.values()].flatMap((group): PolicySubject[] => {
    const [first] = group;
    if (first === undefined) return [];
    const { policies, admins } = first;
    return [{ ports: group.map(({ port }) => port), policies, admins }];
  });
}

function policiesOf(
  port: VerifiedPort,
  { network, at: { rules }, selected }: PolicedNetwork,
): { readonly policies: readonly NamespacePolicy[]; readonly admins: readonly AdminPolicy[] } {
  const isPrimary = network.role === 'primary';
  return {
    policies: rules
      .policiesOf(port.namespace)
      .rules.filter(
        ({ namespace, nads, pods }) =>
          (nads === undefined
            ? isPrimary
            : !isPrimary && nads.some((nad) => network.nads.includes(nad))) &&
          selected.isSelected({ namespaces: namespace, pods }, port),
      ),
    admins: isPrimary
      ? rules.admins().rules.filter(({ subject }) => selected.isSelected(subject, port))
      : [],
  };
}
