/** What is known of EgressIPs, put together for people: pure, from lists of objects. */
import { bridgeEgressAddresses, cardEgressAddresses } from '../api/annotations/node-annotations.ts';
import { egressMark } from '../api/annotations/network-annotations.ts';
import { isWithoutNetworks } from '../api/annotations/pod-annotations.ts';
import { formatAddress, parseAddress } from '../allocators/addresses.ts';
import { objectKey } from '../api/objects.ts';
import { oldestFirst } from '../api/order.ts';
import { matchesSelector, withNameLabel } from '../api/selectors.ts';
import type { EgressIP, EgressTrafficClass, Namespace, Node, Pod } from '../api/types.ts';
import { nodeOfLease, type Lease } from '../api/node-lease.ts';
import type { ZoneProblem, ZoneStatus } from '../api/zone-status.ts';
import { daemonOverview, type OverviewTime } from './daemon-overview.ts';

/**
 * `Committed`: its node has written that it answers for it. `Assigned`: its node has not yet. `Moving`: no node has it, and one still answers for it.
 * `Waiting`: no node may have it; `problems` tell why. `Invalid`: it is no address.
 */
export type EgressAddressState = 'Committed' | 'Assigned' | 'Moving' | 'Waiting' | 'Invalid';

interface EgressAddressOverview {
  readonly address: string;
  readonly state: EgressAddressState;
  /** The node that has it, or answers for it still. */
  readonly node?: string;
}

export interface EgressIpOverview {
  readonly name: string;
  /** Absent while the cluster manager gave it none. */
  readonly mark?: number;
  /** Of one for some destinations alone: the EgressTrafficClasses that it selects, and their destinations. */
  readonly only?: { readonly classes: readonly string[]; readonly cidrs: readonly string[] };
  readonly addresses: readonly EgressAddressOverview[];
  /** `namespace/name` of pods that leave with them. */
  readonly pods: readonly string[];
  /** Of pods that it selects, and that an older EgressIP serves; one for some destinations alone serves its pods beside others. */
  readonly standby: readonly string[];
  /** Why addresses have no node, what nodes report of it, and which of those that have its addresses have no daemon. */
  readonly problems: readonly string[];
}

export interface EgressObjects {
  readonly egressIps: readonly EgressIP[];
  readonly trafficClasses: readonly EgressTrafficClass[];
  readonly nodes: readonly Node[];
  readonly namespaces: readonly Namespace[];
  readonly pods: readonly Pod[];
  readonly zoneStatuses: readonly ZoneStatus[];
  /** Heartbeats of nodes' daemons. */
  readonly leases: readonly Lease[];
  /** Why addresses have no node: see `egressPlacementProblems`. */
  readonly placement: readonly ZoneProblem[];
}

const canonical = (text: string): string | undefined => {
  const address = parseAddress(text);
  return address === undefined ? undefined : formatAddress(address);
};

const isByClass = ({ spec }: EgressIP): boolean => spec.trafficSelector !== undefined;

function destinationsOf(
  { spec: { trafficSelector } }: EgressIP,
  all: readonly EgressTrafficClass[],
): Pick<EgressIpOverview, 'only'> {
  if (trafficSelector === undefined) return {};
  const selected = all.filter(({ metadata }) => matchesSelector(trafficSelector, metadata.labels));
  const cidrs = selected.flatMap(({ spec }) => spec.destinations.map(({ cidr }) => cidr));
  return {
    only: {
      classes: selected.map(({ metadata }) => metadata.name).sort(),
      cidrs: [...new Set(cidrs)].sort(),
    },
  };
}

const leaves = (pod: Pod): boolean => pod.spec.nodeName !== undefined && !isWithoutNetworks(pod);

/** In the order of their names. */
export function egressOverview(
  objects: EgressObjects,
  time: OverviewTime,
): readonly EgressIpOverview[] {
  const heartbeats = new Map(objects.leases.map((lease) => [nodeOfLease(lease), lease]));
  const answering = new Map<string, string[]>();
  for (const node of objects.nodes)
    for (const address of [
      ...(bridgeEgressAddresses(node).value ?? []),
      ...(cardEgressAddresses(node).value ?? []),
    ])
      answering.set(address, [...(answering.get(address) ?? []), node.metadata.name]);
  const namespaces = new Map(
    objects.namespaces.map(withNameLabel).map(({ metadata }) => [metadata.name, metadata.labels]),
  );
  const served = new Map<string, string[]>();
  const standby = new Map<string, string[]>();
  const byAge = oldestFirst(objects.egressIps);
  for (const pod of objects.pods.filter(leaves)) {
    const { namespace = '', labels = {} } = pod.metadata;
    const selecting = byAge.filter(
      ({ spec }) =>
        matchesSelector(spec.namespaceSelector, namespaces.get(namespace)) &&
        matchesSelector(spec.podSelector ?? {}, labels),
    );
    const first = selecting.find((one) => !isByClass(one));
    for (const one of selecting) {
      const { metadata } = one;
      const of = one === first || isByClass(one) ? served : standby;
      of.set(metadata.name, [...(of.get(metadata.name) ?? []), objectKey(pod.metadata)]);
    }
  }
  const reported: readonly ZoneProblem[] = [
    ...objects.placement,
    ...objects.zoneStatuses.flatMap(({ status }) => status?.problems ?? []),
  ];
  return objects.egressIps
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .map((egressIp) => {
      const { name } = egressIp.metadata;
      const mark = egressMark(egressIp).value;
      const addresses = egressIp.spec.egressIPs.map((text) =>
        addressOverview(egressIp, text, answering),
      );
      const unheard = [...new Set(addresses.flatMap(({ node }) => node ?? []))].flatMap((node) => {
        const { message } = daemonOverview(node, heartbeats.get(node), time);
        return message === undefined ? [] : [`node ${node}: ${message}`];
      });
      return {
        name,
        ...(mark === undefined ? {} : { mark }),
        ...destinationsOf(egressIp, objects.trafficClasses),
        addresses,
        pods: (served.get(name) ?? []).sort(),
        standby: (standby.get(name) ?? []).sort(),
        problems: [
          ...unheard,
          ...new Set(
            reported.flatMap(({ object, message }) =>
              object === `EgressIP ${name}` ? [message] : [],
            ),
          ),
        ],
      };
    });
}

function addressOverview(
  { status }: EgressIP,
  text: string,
  answering: ReadonlyMap<string, readonly string[]>,
): EgressAddressOverview {
  const address = canonical(text);
  if (address === undefined) return { address: text, state: 'Invalid' };
  const nodes = answering.get(address) ?? [];
  const item = status?.items?.find(({ egressIP }) => canonical(egressIP) === address);
  if (item !== undefined)
    return {
      address,
      state: nodes.includes(item.node) ? 'Committed' : 'Assigned',
      node: item.node,
    };
  const [from] = nodes;
  return from === undefined
    ? { address, state: 'Waiting' }
    : { address, state: 'Moving', node: from };
}
