/** A network as the zone's own node sees it: its names and addresses, worked out once for all builders. */

import {
  FAMILIES,
  familyOf,
  nthAddress,
  nthInterface,
  withoutPrefix,
  type Family,
} from '../../allocators/addresses.ts';
import { networkMasqueradeOffsets, POD_SUBNET_OFFSETS } from '../../allocators/node-addresses.ts';
import type { ZoneFacts } from '../../model/facts.ts';
import type {
  ClusterSettings,
  GatewayMode,
  LocalNode,
  Network,
  NodeGateway,
} from '../../model/model.ts';
import { isDefault, localNames, type LocalNames } from '../../model/names.ts';
import { clusterFamilies, hasGateway, joinSubnet } from '../../model/network-addresses.ts';
import { JOIN_CLUSTER_ROUTER } from '../numbers.ts';
import { networkIds, networkRoleIds, type ExternalIds } from '../object-ids.ts';

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
  /** For what few builders read: everything else is below, so that its changes concern them alone. */
  readonly facts: ZoneFacts;
  readonly settings: ClusterSettings;
  readonly node: Pick<
    LocalNode,
    'name' | 'id' | 'chassisId' | 'gatewayMtuSupport' | 'transitAddresses'
  >;
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

/** This node's pod ranges of a network, v4 first. */
export const podRangesOf = (facts: ZoneFacts, network: string): readonly PodRange[] =>
  [...facts.subnetsOn(network, facts.nodeName)].sort(byFamily).map(podRange);

function joinLinks(
  settings: ClusterSettings,
  network: Network,
  nodeId: number,
  families: readonly Family[],
): JoinLink[] {
  return families.flatMap((family) => {
    const subnet = joinSubnet(settings, network, family);
    if (subnet === undefined) return [];
    return {
      family,
      clusterRouter: nthAddress(subnet, JOIN_CLUSTER_ROUTER),
      clusterRouterInterface: nthInterface(subnet, JOIN_CLUSTER_ROUTER),
      gatewayRouter: nthAddress(subnet, nodeId),
      gatewayRouterInterface: nthInterface(subnet, nodeId),
    };
  });
}

export function networkOnNode(facts: ZoneFacts, network: Network): NetworkOnNode {
  const { settings, nodeName } = facts;
  const families = clusterFamilies(settings);
  const isPrimary = hasGateway(network);
  const nodeGateway = facts.own('gateway');
  const id = facts.own('id');
  const podRanges = podRangesOf(facts, network.name);
  const links = isPrimary ? joinLinks(settings, network, id, families) : [];
  return {
    facts,
    settings,
    node: {
      name: nodeName,
      id,
      chassisId: facts.own('chassisId'),
      gatewayMtuSupport: facts.own('gatewayMtuSupport'),
      transitAddresses: facts.own('transitAddresses'),
    },
    network,
    names: localNames(network.name, nodeName),
    isDefault: isDefault(network),
    isPrimary,
    mode: nodeGateway?.mode ?? 'shared',
    networkIds: networkIds(network),
    networkRoleIds: networkRoleIds(network),
    clusterFamilies: families,
    podRanges,
    joinLinks: links,
    gateway:
      links.length > 0 && podRanges.length > 0 && (nodeGateway?.addresses.length ?? 0) > 0
        ? nodeGateway
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
