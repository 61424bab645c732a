/** The configuration of a network, whichever kind of object declares it, and the settings of the cluster that it is read with. */
import { LAST_FIXED_NETWORK_ID } from '../../allocators/ids.ts';

export type NetworkTopology = 'layer3' | 'layer2' | 'localnet';

/** A pod range. */
export interface SubnetEntry {
  /** Network address and prefix length, host bits cleared, canonical text. */
  readonly cidr: string;
  /** Prefix length of one node's subnet; layer3 only. */
  readonly hostLength?: number;
}

/** One CIDR per address family. */
export interface FamilyCidrs {
  readonly v4?: string;
  readonly v6?: string;
}

export interface EvpnVrf {
  readonly vni: number;
  readonly routeTarget?: string;
  readonly vid?: number;
}

/** A network as its NAD describes it, defaults filled in. All CIDRs are canonical, with host bits cleared. */
export interface NetworkConfig {
  readonly name: string;
  readonly topology: NetworkTopology;
  readonly role: 'primary' | 'secondary';
  readonly mtu: number;
  /** Empty: no address management. */
  readonly subnets: readonly SubnetEntry[];
  readonly excludeSubnets: readonly string[];
  readonly reservedSubnets: readonly string[];
  readonly infrastructureSubnets: readonly string[];
  readonly defaultGatewayIPs: readonly string[];
  /** Both families for layer3 and layer2, defaults included; empty for localnet. */
  readonly joinSubnets: FamilyCidrs;
  /** Only layer2 with a router. */
  readonly transitSubnets: FamilyCidrs;
  readonly allowPersistentIPs: boolean;
  readonly physicalNetworkName?: string;
  readonly vlan?: number;
  readonly transport?: 'no-overlay' | 'evpn';
  readonly outboundSnat?: 'enabled' | 'disabled';
  readonly evpn?: { readonly vtep: string; readonly macVrf?: EvpnVrf; readonly ipVrf?: EvpnVrf };
  readonly uplink?: string;
  /** Of a secondary layer2 network: from its creation on it has room for a router, which no pod takes (decisions/secondary-gateways.md). */
  readonly hasRouter?: true;
}

/** True for a layer2 network in whose subnets a router and hosts have addresses, and which has a tunnel key and transit subnets for it. */
export const isRoutedLayer2 = ({
  topology,
  role,
  hasRouter,
}: Pick<NetworkConfig, 'topology' | 'role' | 'hasRouter'>): boolean =>
  topology === 'layer2' && (role === 'primary' || hasRouter === true);

/** Keys that are stored for a network: where the key of its switch follows from the id, that of a Layer2 network's router alone comes with it (reference/api.md §6.7). */
export function tunnelKeyCount(
  config: Pick<NetworkConfig, 'topology' | 'role' | 'hasRouter'>,
  id: number,
): number {
  if (isRoutedLayer2(config)) return 2;
  return id > LAST_FIXED_NETWORK_ID && config.topology !== 'localnet' ? 1 : 0;
}

/** Settings of the cluster that networks are checked against (reference/api.md §12). */
export interface ClusterAddressing {
  readonly clusterSubnets: readonly { readonly cidr: string }[];
  readonly serviceSubnets: readonly string[];
  /** Join subnets of the cluster default network. */
  readonly joinSubnets: FamilyCidrs;
  /** Join subnets of user-defined networks that set none. */
  readonly udnJoinSubnets: FamilyCidrs;
  readonly transitSubnets: FamilyCidrs;
  readonly masqueradeSubnets: FamilyCidrs;
  readonly mtu: number;
}

/** Values of a per-family record, v4 first. */
export const familyCidrs = ({ v4, v6 }: FamilyCidrs): string[] =>
  [v4, v6].filter((cidr) => cidr !== undefined);
