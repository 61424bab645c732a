/** NetworkQoSes of one priority that mean packets of one pod: rules of the older object come first (reference/topology.md §18.4). */
import { FAMILIES } from '../../allocators/addresses.ts';
import { compareAge } from '../../api/order.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import type { NetworkName } from '../model.ts';
import { qosObject, type Qos } from '../read/qos.ts';
import { mayMeanOnePacket } from '../rules/qos-overlap.ts';
import type { SelectionTables } from './pod-selections.ts';
import type { ModelProblem } from './problems.ts';
import type { QosRank, QosTables } from './qos.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** Rules of a NetworkQoS between two priorities: what is behind has those of the next. */
export const QOS_RULES_OF_PRIORITY = 10;
/** With so many younger objects at most that mean a pod an older one is compared, those of about its age. */
const MOST_YOUNGER = 20;

/** A younger object, and the older one that it has a packet in common with. */
interface QosTie {
  readonly name: string;
  readonly older: string;
  /** An address of a pod that both mean. */
  readonly address: string;
  /** Whether the older one decides: there is a place for the rules of both. */
  readonly isDecided: boolean;
}

interface QosTies {
  /** By name: what is added to the priorities of an object's rules. */
  readonly offsets: Readonly<Record<string, number>>;
  readonly ties: readonly QosTie[];
}

export function qosTieTables(known: ZoneBasis & QosTables & SelectionTables) {
  const qosTies = new DerivedFacts<QosRank, QosTies, { told: [] }>(
    'qosTies',
    known.graph,
    known.qosPlacements.distinct('rank'),
    (...rank) => tiesOf(...rank),
    {
      object: (_network, namespace) => `Namespace ${namespace}`,
      indexes: { told: ({ ties }) => (ties.length === 0 ? [] : [[]]) },
    },
  );

  function tiesOf(...rank: QosRank): QosTies | undefined {
    const [network] = rank;
    const members = known.qosPlacements.by('rank', ...rank);
    // Almost all are alone.
    if (members.length < 2) return undefined;
    const youngestFirst = members
      .flatMap(({ kind, namespace, name }) => known.qoses.get(kind, namespace, name) ?? [])
      .toSorted((a, b) => compareAge(ageOf(b), ageOf(a)));
    /** Younger ones by the pods that they mean. */
    const byAddress = new Map<string, Qos[]>();
    const offsets: Record<string, number> = {};
    const ties: QosTie[] = [];
    for (const older of youngestFirst) {
      /** Those that mean one of its pods, with an address of that. */
      const younger = new Map<Qos, string>();
      for (const address of addressesOf(network, older)) {
        const others = byAddress.get(address) ?? [];
        for (const one of others) if (!younger.has(one)) younger.set(one, address);
        byAddress.set(address, [...others, older].slice(-MOST_YOUNGER));
      }
      const tied = [...younger].filter(([{ rules }]) => mayMeanOnePacket(rules, older.rules));
      const offset = Math.max(
        0,
        ...tied.map(([{ name, rules }]) => (offsets[name] ?? 0) + rules.length),
      );
      const isDecided = offset + older.rules.length <= QOS_RULES_OF_PRIORITY;
      offsets[older.name] = isDecided ? offset : 0;
      for (const [{ name }, address] of tied)
        ties.push({ name, older: older.name, address, isDecided });
    }
    return { offsets, ties };
  }

  function* addressesOf(network: NetworkName, { rules: [rule] }: Qos): Iterable<string> {
    if (rule !== undefined)
      for (const family of FAMILIES) yield* known.ownAddressesOf(network, rule.pods.id, family);
  }

  return {
    /** What is added to the priorities of the rules of a NetworkQoS on a network, so that those of a younger one with its priority come behind. */
    qosOffsetOf: (network: NetworkName, { kind, namespace, name, priority }: Qos): number =>
      kind === 'NetworkQoS'
        ? (qosTies.get(network, namespace, String(priority))?.offsets[name] ?? 0)
        : 0,

    /** NetworkQoSes that another one comes before, though it has the same priority. */
    *qosProblems(): Iterable<ModelProblem> {
      for (const [network, namespace, priority] of qosTies.keysBy('told')) {
        const told = new Set<string>();
        for (const tie of qosTies.peek(network, namespace, priority)?.ties ?? []) {
          // One of them says enough.
          if (told.has(tie.name)) continue;
          told.add(tie.name);
          yield {
            object: qosObject({ kind: 'NetworkQoS', namespace, name: tie.name }),
            message: `spec.priority: NetworkQoS ${namespace}/${tie.older} has priority ${priority}, too, and is older; both mean pod address ${tie.address} on network ${network}: of a packet that both mean ${
              tie.isDecided
                ? "that one's rules decide"
                : `either may decide, as they have more than ${QOS_RULES_OF_PRIORITY} rules together`
            }; give each a priority of its own`,
          };
        }
      }
    },
  };
}

const ageOf = ({ created, namespace, name }: Qos) => ({
  creationTimestamp: created,
  namespace,
  name,
});
