/** The leg that a pod with a primary network has on the default one, by sets of headers: nothing begins there but what the pod opened, and what its host asks. */
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import type { OpenPort } from '../../api/annotations/pod-annotations.ts';
import type { Findings } from '../findings.ts';
import {
  box,
  DESTINATION,
  difference,
  EMPTY,
  EVERYTHING,
  intersection,
  PORT,
  PROTOCOL,
  SOURCE,
  TooManyBoxes,
  union,
  withoutState,
  type HeaderSet,
} from '../headers/boxes.ts';
import { podPlaces, podSwitchOf } from '../headers/legs.ts';
import { packetOf } from '../headers/listed.ts';
import { addressesNamed } from '../headers/matched.ts';
import { allOf, between } from '../headers/ranges.ts';
import { perhapsOf, type Direction, type Passed } from '../headers/stages.ts';
import { rowText, type DatapathLookup } from '../intent/datapaths.ts';
import type { Intent } from '../intent/intent.ts';
import type { VerifiedPort } from '../intent/pods.ts';
import type { NorthboundRows } from '../northbound-rows.ts';
import { aclText } from './access-lists.ts';

export function checkLockedLegs(
  northbound: NorthboundRows,
  datapaths: DatapathLookup,
  intent: Intent,
  findings: Findings,
): void {
  const home = podSwitchOf(DEFAULT_NETWORK, northbound, datapaths, intent);
  if (home === undefined) return;
  const switchText = rowText('Logical_Switch', home.datapath.name);
  for (const direction of ['from-lport', 'to-lport'] as const)
    for (const { pods, passing } of podPlaces(home, direction, northbound)) {
      const locked = pods.ports.filter(({ role }) => role === 'infrastructure-locked');
      // Of pods that opened the same ports, one stands for all.
      const groups = Map.groupBy(locked, ({ pod }) =>
        JSON.stringify(intent.openPorts.get(pod) ?? []),
      );
      for (const legs of groups.values())
        checkLegs({ legs, direction, passing, switchText }, intent, findings);
    }
}

interface Legs {
  readonly legs: readonly VerifiedPort[];
  readonly direction: Direction;
  readonly passing: (headers: HeaderSet) => Passed;
  readonly switchText: string;
}

function checkLegs(at: Legs, intent: Intent, findings: Findings): void {
  const { legs, direction, passing } = at;
  const [first] = legs;
  if (first === undefined) return;
  const own = addressesNamed(legs.flatMap(({ addresses }) => addresses));
  const end = direction === 'from-lport' ? SOURCE : DESTINATION;
  try {
    const passed = passing(intersection(EVERYTHING, [box({ [end]: own })]));
    const wanted = direction === 'from-lport' ? EMPTY : wantedAt(first, intent);
    const surely = difference(withoutState(passed.surely), wanted);
    const perhaps = difference(withoutState(perhapsOf(passed)), wanted);
    if (surely.length > 0) tell(at, passed, surely, intent, findings);
    if (difference(perhaps, surely).length > 0)
      for (const [row, why] of passed.undecided)
        findings.leaveOpen(
          `${aclText(row)}: ${why}: whether pods with a primary network are kept from the default one is not known`,
        );
  } catch (error) {
    if (!(error instanceof TooManyBoxes)) throw error;
    findings.leaveOpen(
      `whether Pod ${first.pod}, which has a primary network, is kept from the default one is not judged: ${error.message}`,
    );
  }
}

/** What begins at a leg: by the host's port of this node, for its probes, and at ports that the pod opened. */
function wantedAt({ pod }: VerifiedPort, { here, openPorts }: Intent): HeaderSet {
  const ofHost = box({ [SOURCE]: addressesNamed(here?.defaultHostAddresses ?? []) });
  return (openPorts.get(pod) ?? [])
    .map(openedBy)
    .reduce<HeaderSet>(
      (all, one) => union(all, intersection(EVERYTHING, [one])),
      intersection(EVERYTHING, [ofHost]),
    );
}

const PROTOCOLS: Readonly<Record<string, number>> = { tcp: 6, udp: 17, sctp: 132 };

function openedBy({ protocol, port }: OpenPort): ReturnType<typeof box> {
  if (protocol === 'icmp') return box({ [PROTOCOL]: allOf([between(1, 1), between(58, 58)]) });
  const number = PROTOCOLS[protocol] ?? 0;
  const ports = port === undefined ? between(0, 65_535) : between(port, port);
  return box({ [PROTOCOL]: between(number, number), [PORT]: ports });
}

function tell(
  { legs, direction, switchText }: Legs,
  passed: Passed,
  open: HeaderSet,
  intent: Intent,
  findings: Findings,
): void {
  const packet = packetOf(open);
  const [first] = legs;
  if (packet === undefined || first === undefined) return;
  const [source, destination] = [packet.source, packet.destination];
  const address = direction === 'from-lport' ? source : destination;
  const leg = legs.find(({ addresses }) => addresses.includes(address)) ?? first;
  const row = passed.perhaps.find(
    ({ headers }) => intersection(withoutState(headers), packet.header).length > 0,
  )?.row;
  findings.wrong(
    'default network',
    row === undefined ? switchText : aclText(row),
    `${row === undefined ? 'has no ACL that drops' : 'lets pass'} what Pod ${leg.pod}, which has a primary network, ${direction === 'from-lport' ? 'sends to' : 'gets from'} the default one, as ${packet.text}: it is no port that the pod opened, and no probe`,
    `Pod ${leg.pod}`,
    [
      DEFAULT_NETWORK,
      ...intent
        .portsOfPod(leg.pod)
        .filter(({ role }) => role === 'primary')
        .map(({ network }) => network),
    ],
  );
}
