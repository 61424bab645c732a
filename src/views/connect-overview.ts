/** What is known of connections of networks, put together for people: pure, from lists of objects. */
import { connectBridged, connectSubnets } from '../api/annotations/network-annotations.ts';
import { connectivityOf } from '../api/connectivity.ts';
import type { ClusterNetworkConnect, Node } from '../api/types.ts';
import type { ZoneStatusContent } from '../api/zone-status.ts';
import { familyCidrs } from '../api/nad/network-config.ts';
import { stateNow, type DaemonOverview, type StateNow } from './daemon-overview.ts';

export interface ConnectOverview {
  readonly name: string;
  readonly pods: boolean;
  readonly services: boolean;
  /** As written: CIDR and the length of what each network gets. */
  readonly connectSubnets: readonly string[];
  /** Networks that it joins, by id, with the subnets that their links are made of. */
  readonly networks: readonly ConnectedNetwork[];
  readonly status?: string;
  /** Why it is not accepted. */
  readonly refusal?: { readonly reason: string; readonly message: string };
  readonly nodes: readonly {
    readonly node: string;
    /** As the node's daemon reported it last; `Unknown` when it never reported. */
    readonly state: StateNow['state'];
    readonly message?: string;
  }[];
}

export interface ConnectedNetwork {
  /** Absent for an id that no network has (any more). */
  readonly name?: string;
  readonly id: number;
  /** Absent for a network without a link. */
  readonly topology?: string;
  /** It shares services over the external bridge of each node, as pod subnets overlap. */
  readonly isBridged?: true;
  readonly linkSubnets: readonly string[];
}

export function connectOverview(
  connect: ClusterNetworkConnect,
  nameOf: (id: number) => string | undefined,
  nodes: readonly Node[],
  zones: ReadonlyMap<string, ZoneStatusContent | undefined>,
  daemons: ReadonlyMap<string, DaemonOverview>,
): ConnectOverview {
  const { name } = connect.metadata;
  const { pods, services } = connectivityOf(connect);
  const accepted = connect.status?.conditions?.find(({ type }) => type === 'Accepted');
  const held = [...(connectSubnets(connect).value ?? [])].map(([owner, cidrs]) => {
    const [topology = '', id = ''] = owner.split('_');
    const network = nameOf(Number(id));
    return {
      ...(network === undefined ? {} : { name: network }),
      id: Number(id),
      topology,
      linkSubnets: familyCidrs(cidrs),
    };
  });
  const bridged = services && !pods ? (connectBridged(connect).value ?? []) : [];
  const unlinked = bridged.map((id): ConnectedNetwork => {
    const network = nameOf(id);
    return {
      ...(network === undefined ? {} : { name: network }),
      id,
      isBridged: true,
      linkSubnets: [],
    };
  });
  return {
    name,
    pods,
    services,
    connectSubnets: connect.spec.connectSubnets.map(
      ({ cidr, networkPrefix }) => `${cidr} (/${networkPrefix})`,
    ),
    networks: [...held, ...unlinked].toSorted((a, b) => a.id - b.id),
    ...(connect.status?.status === undefined ? {} : { status: connect.status.status }),
    ...(accepted?.status === 'False'
      ? { refusal: { reason: accepted.reason, message: accepted.message } }
      : {}),
    nodes: nodes.map(({ metadata }) => {
      const found = zones.get(metadata.name)?.connects?.find((one) => one.name === name);
      return { node: metadata.name, ...stateNow(found, daemons.get(metadata.name)) };
    }),
  };
}
