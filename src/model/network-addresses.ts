/** Addresses of a network that follow from settings and ids of nodes. */
import {
  FAMILIES,
  familyOf,
  hasAddress,
  nthAddress,
  type Family,
} from '../allocators/addresses.ts';
import type { ClusterSettings, Network, NodeFacts } from './model.ts';
import { isDefault } from './names.ts';

/** Families in use in the cluster: those of its pod subnets. */
export function clusterFamilies(settings: ClusterSettings): Family[] {
  const used = new Set(settings.clusterSubnets.map((subnet) => familyOf(subnet.cidr)));
  return FAMILIES.filter((family) => used.has(family));
}

export const hasGateway = (network: Pick<Network, 'name' | 'role'>): boolean =>
  isDefault(network) || network.role === 'primary';

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
  network: Pick<Network, 'name' | 'role' | 'joinSubnets'>,
): readonly string[] {
  if (!hasGateway(network)) return [];
  return clusterFamilies(settings).flatMap((family) => joinSubnet(settings, network, family) ?? []);
}

/** Join addresses of a node's gateway router, without prefix length; none where its id is too large for the subnet. */
export const joinAddresses = (
  settings: ClusterSettings,
  network: Pick<Network, 'name' | 'role' | 'joinSubnets'>,
  node: Pick<NodeFacts, 'id'>,
): string[] =>
  joinSubnets(settings, network)
    .filter((subnet) => hasAddress(subnet, node.id))
    .map((subnet) => nthAddress(subnet, node.id));
