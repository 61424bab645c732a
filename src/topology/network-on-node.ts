/** A network as the zone's own node sees it: its names and addresses, worked out once for all builders. */

import type {
  ClusterSettings,
  GatewayMode,
  LocalNode,
  Network,
  NodeFacts,
  NodeGateway,
  Zone,
} from '../model/model.ts';
import {
  FAMILIES,
  familyOf,
  hasAddress,
  nthAddress,
  nthInterface,
  withoutPrefix,
  type Family,
} from '../allocators/addresses.ts';
import { networkMasqueradeOffsets, POD_SUBNET_OFFSETS } from '../allocators/node-addresses.ts';
import { isDefault, localNames, type LocalNames } from './names.ts';
import { JOIN_CLUSTER_ROUTER } from './numbers.ts';
import { networkIds, networkRoleIds, type ExternalIds } from './object-ids.ts';

/** The pods' range of one family on this node. */
export interface PodRange {
  readonly family: Family;
  readonly cidr: string;
  readonly gateway: string;
  /** Gateway with prefix length. */
  readonly gatewayInterface: string;
  readonly management: string;
}

/** The link between the distributed router and this node's gateway router, of one family. */
export interface JoinLink {
  readonly family: Family;
  readonly clusterRouter: string;
  readonly clusterRouterInterface: string;
  readonly gatewayRouter: string;
  readonly gatewayRouterInterface: string;
}

export interface NetworkOnNode {
  readonly settings: ClusterSettings;
  readonly node: LocalNode;
  readonly network: Network;
  readonly names: LocalNames;
  readonly isDefault: boolean;
  /** True for the networks that have a gateway: the default one and primary ones. */
  readonly isPrimary: boolean;
  readonly mode: GatewayMode;
  readonly networkIds: ExternalIds;
  readonly networkRoleIds: ExternalIds;
  /** Families of the cluster, v4 first. Links to the outside have all of them, whatever those of the network. */
  readonly clusterFamilies: readonly Family[];
  /** Empty while the node has no subnet of this network. */
  readonly podRanges: readonly PodRange[];
  /** Empty for secondary networks. */
  readonly joinLinks: readonly JoinLink[];
  /** Absent for a secondary network, and while the node has no gateway or no subnet of the network. */
  readonly gateway: NodeGateway | undefined;
}

/** Families in use in the cluster: those of its pod subnets. */
export function clusterFamilies(settings: ClusterSettings): Family[] {
  const used = new Set(settings.clusterSubnets.map((subnet) => familyOf(subnet.cidr)));
  return FAMILIES.filter((family) => used.has(family));
}

export const hasGateway = (network: Network): boolean =>
  isDefault(network) || network.role === 'primary';

const byFamily = (a: string, b: string): number =>
  FAMILIES.indexOf(familyOf(a)) - FAMILIES.indexOf(familyOf(b));

function podRange(cidr: string): PodRange {
  return {
    family: familyOf(cidr),
    cidr,
    gateway: nthAddress(cidr, POD_SUBNET_OFFSETS.gateway),
    gatewayInterface: nthInterface(cidr, POD_SUBNET_OFFSETS.gateway),
    management: nthAddress(cidr, POD_SUBNET_OFFSETS.managementPort),
  };
}

/** Join subnet of a network: its own, else the cluster's for user-defined networks. */
export function joinSubnet(
  settings: ClusterSettings,
  network: Network,
  family: Family,
): string | undefined {
  const shared = isDefault(network) ? settings.joinSubnets : settings.udnJoinSubnets;
  return network.joinSubnets[family] ?? shared[family];
}

/** Join addresses of a node's gateway router, without prefix length; none where its id is too large for the subnet. */
export function joinAddresses(
  settings: ClusterSettings,
  network: Network,
  node: NodeFacts,
): string[] {
  if (!hasGateway(network)) return [];
  return clusterFamilies(settings).flatMap((family) => {
    const subnet = joinSubnet(settings, network, family);
    return subnet === undefined || !hasAddress(subnet, node.id)
      ? []
      : [nthAddress(subnet, node.id)];
  });
}

function joinLinks(
  settings: ClusterSettings,
  network: Network,
  node: NodeFacts,
  families: readonly Family[],
): JoinLink[] {
  return families.flatMap((family) => {
    const subnet = joinSubnet(settings, network, family);
    if (subnet === undefined) return [];
    return {
      family,
      clusterRouter: nthAddress(subnet, JOIN_CLUSTER_ROUTER),
      clusterRouterInterface: nthInterface(subnet, JOIN_CLUSTER_ROUTER),
      gatewayRouter: nthAddress(subnet, node.id),
      gatewayRouterInterface: nthInterface(subnet, node.id),
    };
  });
}

export function networkOnNode(
  zone: Pick<Zone, 'settings' | 'node'>,
  network: Network,
): NetworkOnNode {
  const { settings, node } = zone;
  const families = clusterFamilies(settings);
  const primary = hasGateway(network);
  const ranges = [...(network.nodeSubnets.get(node.name) ?? [])].sort(byFamily).map(podRange);
  const links = primary ? joinLinks(settings, network, node, families) : [];
  return {
    settings,
    node,
    network,
    names: localNames(network.name, node.name),
    isDefault: isDefault(network),
    isPrimary: primary,
    mode: node.gateway?.mode ?? 'shared',
    networkIds: networkIds(network),
    networkRoleIds: networkRoleIds(network),
    clusterFamilies: families,
    podRanges: ranges,
    joinLinks: links,
    gateway:
      links.length > 0 && ranges.length > 0 && (node.gateway?.addresses.length ?? 0) > 0
        ? node.gateway
        : undefined,
  };
}

/** Address of the masquerade subnet at an offset, per family in use in the cluster. */
export function masqueradeAddresses(on: NetworkOnNode, offset: number): string[] {
  return on.clusterFamilies.flatMap((family) => {
    const subnet = on.settings.masqueradeSubnets[family];
    return subnet === undefined ? [] : [nthAddress(subnet, offset)];
  });
}

/** Addresses by which the host knows the network's gateway router; none for the default network. */
export function gatewayMasquerade(on: NetworkOnNode): string[] {
  if (on.isDefault) return [];
  return on.clusterFamilies.flatMap((family) => {
    const subnet = on.settings.masqueradeSubnets[family];
    const own = on.network.masquerade[family]?.gatewayRouter;
    if (own !== undefined) return [own];
    return subnet === undefined
      ? []
      : [nthAddress(subnet, networkMasqueradeOffsets(on.network.id).gatewayRouter)];
  });
}

/** Address that pods of a family have on their way through the management port; none for the default network. */
export function managementMasquerade(on: NetworkOnNode, family: Family): string | undefined {
  if (on.isDefault) return undefined;
  const subnet = on.settings.masqueradeSubnets[family];
  return (
    on.network.masquerade[family]?.managementPort ??
    (subnet === undefined
      ? undefined
      : nthAddress(subnet, networkMasqueradeOffsets(on.network.id).managementPort))
  );
}

/** First address of a family among addresses with or without prefix length, without it. */
export function firstOf(addresses: readonly string[], family: Family): string | undefined {
  const found = addresses.find((address) => familyOf(address) === family);
  return found === undefined ? undefined : withoutPrefix(found);
}
