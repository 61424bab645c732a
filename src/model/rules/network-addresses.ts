/** Addresses of a network that follow from its subnets, from settings and ids of nodes. */
import {
  bitsOf,
  FAMILIES,
  familyOf,
  formatAddress,
  hasAddress,
  nthAddress,
  nthInterface,
  parseAddress,
  parsePrefix,
  type Family,
} from '../../allocators/addresses.ts';
import { layer2Ends } from '../../allocators/layer2-ends.ts';
import { POD_SUBNET_OFFSETS } from '../../allocators/node-addresses.ts';
import type { ClusterSettings, Network, NodeFacts } from '../model.ts';
import { isDefault } from './names.ts';

/** Families in use in the cluster: those of its pod subnets. */
export function clusterFamilies(settings: ClusterSettings): Family[] {
  const used = new Set(settings.clusterSubnets.map((subnet) => familyOf(subnet.cidr)));
  return FAMILIES.filter((family) => used.has(family));
}

/** True for the default network, primary ones, and secondary ones that have been given a gateway. */
export const hasGateway = (network: Pick<Network, 'name' | 'role' | 'isOptedIn'>): boolean =>
  isDefault(network) || network.role === 'primary' || network.isOptedIn === true;

/** True for a network that needs addresses of its own in the masquerade subnet, and has none by its id or by the node. */
export const isNumberMissing = (network: Network): boolean =>
  hasGateway(network) && !isDefault(network) && network.masqueradeNumber === undefined;

/** Join subnet of a network: its own, else the cluster's for user-defined networks. */
export function joinSubnet(
  settings: ClusterSettings,
  network: Pick<Network, 'name' | 'joinSubnets'>,
  family: Family,
): string | undefined {
  const shared = isDefault(network) ? settings.joinSubnets : settings.udnJoinSubnets;
  return network.joinSubnets[family] ?? shared[family];
}

/** Join subnets of a network that has a gateway, in all families of the cluster, v4 first. */
export function joinSubnets(
  settings: ClusterSettings,
  network: Pick<Network, 'name' | 'role' | 'isOptedIn' | 'joinSubnets'>,
): readonly string[] {
  if (!hasGateway(network)) return [];
  return clusterFamilies(settings).flatMap((family) => joinSubnet(settings, network, family) ?? []);
}

/** Join addresses of a node's gateway router, without prefix length; none where its id is too large for the subnet. */
export const joinAddresses = (
  settings: ClusterSettings,
  network: Pick<Network, 'name' | 'role' | 'isOptedIn' | 'joinSubnets'>,
  node: Pick<NodeFacts, 'id'>,
): string[] =>
  joinSubnets(settings, network)
    .filter((subnet) => hasAddress(subnet, node.id))
    .map((subnet) => nthAddress(subnet, node.id));

/** A range of pods that share a switch, and the addresses in it by which they leave (reference/topology.md §2). */
export interface PodRange {
  readonly family: Family;
  readonly cidr: string;
  readonly gateway: string;
  /** Gateway with prefix length. */
  readonly gatewayInterface: string;
  readonly management: string;
}

const byFamily = (a: PodRange, b: PodRange): number =>
  FAMILIES.indexOf(a.family) - FAMILIES.indexOf(b.family);

/** Ranges of a Layer3 network on a node, v4 first. */
export const nodeRanges = (nodeSubnets: readonly string[]): readonly PodRange[] =>
  nodeSubnets
    .map((cidr) => ({
      family: familyOf(cidr),
      cidr,
      gateway: nthAddress(cidr, POD_SUBNET_OFFSETS.gateway),
      gatewayInterface: nthInterface(cidr, POD_SUBNET_OFFSETS.gateway),
      management: nthAddress(cidr, POD_SUBNET_OFFSETS.managementPort),
    }))
    .sort(byFamily);

/** Ranges of a primary Layer2 network, v4 first: the same on every node (reference/api.md §6.9). */
export function layer2Ranges({
  subnets,
  infrastructureSubnets,
  defaultGatewayIPs,
}: Pick<Network, 'subnets' | 'infrastructureSubnets' | 'defaultGatewayIPs'>): readonly PodRange[] {
  const infrastructure = infrastructureSubnets.map(parsePrefix).filter((one) => one !== undefined);
  const gateways = defaultGatewayIPs.map(parseAddress).filter((one) => one !== undefined);
  return subnets
    .flatMap(({ cidr }) => {
      const subnet = parsePrefix(cidr);
      if (subnet === undefined) return [];
      const ends = layer2Ends(subnet, infrastructure, gateways);
      const gateway = formatAddress(ends.gateway);
      return {
        family: subnet.family,
        cidr,
        gateway,
        gatewayInterface: `${gateway}/${subnet.length}`,
        management: formatAddress(ends.management),
      };
    })
    .sort(byFamily);
}

/** The ends of the link between a Layer2 network's transit router and a node's gateway router, of one family. */
export interface TransitLink {
  readonly router: string;
  readonly routerInterface: string;
  readonly gateway: string;
  readonly gatewayInterface: string;
}

/** Offset of the second end: the pair of a node has its id as number (reference/topology.md §2). */
const secondEnd = (nodeId: number): number => 2 * nodeId + 1;

/** True if the subnet has a pair of addresses for the node. */
export const hasTransitLink = (subnet: string, { id }: Pick<NodeFacts, 'id'>): boolean =>
  hasAddress(subnet, secondEnd(id));

/** Undefined where the network has no transit subnet of that family, or one that is too small for the node's id. */
export function transitLink(
  { transitSubnets }: Pick<Network, 'transitSubnets'>,
  node: Pick<NodeFacts, 'id'>,
  family: Family,
): TransitLink | undefined {
  const subnet = transitSubnets[family];
  if (subnet === undefined || !hasTransitLink(subnet, node)) return undefined;
  const length = bitsOf(family) - 1;
  const gatewayOffset = secondEnd(node.id);
  const [router, gateway] = [
    nthAddress(subnet, gatewayOffset - 1),
    nthAddress(subnet, gatewayOffset),
  ];
  return {
    router,
    routerInterface: `${router}/${length}`,
    gateway,
    gatewayInterface: `${gateway}/${length}`,
  };
}

/** Where a network's distributed router reaches the gateway router of a node: an address per family. */
export const gatewayLinks = (
  settings: ClusterSettings,
  network: Network,
  node: Pick<NodeFacts, 'id'>,
): readonly string[] =>
  network.topology === 'layer2'
    ? FAMILIES.flatMap((family) => transitLink(network, node, family)?.gateway ?? [])
    : joinAddresses(settings, network, node);
