/** A network as the zone's own node sees it: its names and addresses, worked out once for all builders. */

import {
  familyOf,
  nthAddress,
  nthInterface,
  withoutPrefix,
  type Family,
} from '../../allocators/addresses.ts';
import { networkMasqueradeOffsets } from '../../allocators/node-addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type {
  ClusterSettings,
  GatewayMode,
  LocalNode,
  Network,
  NodeGateway,
} from '../../model/model.ts';
import { isDefault, type LocalNames } from '../../model/rules/names.ts';
import {
  clusterFamilies,
  hasGateway,
  joinSubnet,
  type PodRange,
} from '../../model/rules/network-addresses.ts';
import { networkIds, networkRoleIds, type ExternalIds } from '../rows/object-ids.ts';

/** Address of this node's gateway router in the join subnet of one family, by which the network knows it. */
export interface JoinAddress {
  readonly family: Family;
  readonly subnet: string;
  readonly address: string;
  /** With prefix length. */
  readonly interface: string;
}

/** The link between the distributed router and this node's gateway router, of one family. */
export interface GatewayLink {
  readonly family: Family;
  readonly router: string;
  readonly routerInterface: string;
  readonly gateway: string;
  readonly gatewayInterface: string;
}

/** What topologies make each in their own way. */
export interface TopologyOnNode<Names extends LocalNames> {
  readonly names: Names;
  /** Empty while the node has no subnet of this network, and where nothing routes. */
  readonly podRanges: readonly PodRange[];
  /** The links that there are with these join addresses. */
  readonly links: (joins: readonly JoinAddress[]) => readonly GatewayLink[];
}

export interface NetworkOnNode<Names extends LocalNames = LocalNames> {
  /** For what few builders read: everything else is below, so that its changes concern them alone. */
  readonly facts: ZoneFacts;
  readonly settings: ClusterSettings;
  readonly node: Pick<
    LocalNode,
    'name' | 'id' | 'chassisId' | 'gatewayMtuSupport' | 'transitAddresses'
  >;
  readonly network: Network;
  readonly names: Names;
  readonly isDefault: boolean;
  /** True for the default network and primary ones: services, multicast and what else is of the network of a pod's namespace. */
  readonly isPrimary: boolean;
  /** True for those, and for secondary ones that have been given a gateway. */
  readonly hasGateway: boolean;
  readonly mode: GatewayMode;
  readonly networkIds: ExternalIds;
  readonly networkRoleIds: ExternalIds;
  /** Families of the cluster, v4 first. Links to the outside have all of them, whatever those of the network. */
  readonly clusterFamilies: readonly Family[];
  readonly podRanges: readonly PodRange[];
  /** Empty for networks without a gateway, as are the links. */
  readonly joins: readonly JoinAddress[];
  readonly links: readonly GatewayLink[];
  /** Absent for a network that is to have none, and while the node has no gateway or no subnet of the network. */
  readonly gateway: NodeGateway | undefined;
}

function joinAddresses(
  settings: ClusterSettings,
  network: Network,
  nodeId: number,
  families: readonly Family[],
): JoinAddress[] {
  return families.flatMap((family) => {
    const subnet = joinSubnet(settings, network, family);
    if (subnet === undefined) return [];
    return {
      family,
      subnet,
      address: nthAddress(subnet, nodeId),
      interface: nthInterface(subnet, nodeId),
    };
  });
}

export function networkOnNode<Names extends LocalNames>(
  facts: ZoneFacts,
  network: Network,
  { names, podRanges, links }: TopologyOnNode<Names>,
): NetworkOnNode<Names> {
  const { settings, nodeName } = facts;
  const families = clusterFamilies(settings);
  const nodeGateway = facts.own('gateway');
  const id = facts.own('id');
  const joins = hasGateway(network) ? joinAddresses(settings, network, id, families) : [];
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
    names,
    isDefault: isDefault(network),
    isPrimary: network.role === 'primary',
    hasGateway: hasGateway(network),
    mode: nodeGateway?.mode ?? 'shared',
    networkIds: networkIds(network),
    networkRoleIds: networkRoleIds(network),
    clusterFamilies: families,
    podRanges,
    joins,
    links: links(joins),
    gateway:
      joins.length > 0 && podRanges.length > 0 && (nodeGateway?.addresses.length ?? 0) > 0
        ? nodeGateway
        : undefined,
  };
}

/** Address of the masquerade subnet at an offset, per family in use in the cluster. */
export function masqueradeAddresses(onNode: NetworkOnNode, offset: number): string[] {
  return onNode.clusterFamilies.flatMap((family) => {
    const subnet = onNode.settings.masqueradeSubnets[family];
    return subnet === undefined ? [] : [nthAddress(subnet, offset)];
  });
}

/** Addresses by which the host knows the network's gateway router; none for the default network. */
export function gatewayMasquerade(onNode: NetworkOnNode): string[] {
  return onNode.clusterFamilies.flatMap(
    (family) => ownMasquerade(onNode, family, 'gatewayRouter') ?? [],
  );
}

/** Address that pods of a family have on their way through the management port; none for the default network. */
export const managementMasquerade = (onNode: NetworkOnNode, family: Family): string | undefined =>
  ownMasquerade(onNode, family, 'managementPort');

/** Links to the outside have all families of the cluster, whatever those of the network. */
function ownMasquerade(
  { isDefault: isDefaultNetwork, network, settings }: NetworkOnNode,
  family: Family,
  end: 'gatewayRouter' | 'managementPort',
): string | undefined {
  const { masqueradeNumber: number, masquerade } = network;
  const subnet = settings.masqueradeSubnets[family];
  if (isDefaultNetwork || number === undefined) return undefined;
  return (
    masquerade[family]?.[end] ??
    (subnet === undefined ? undefined : nthAddress(subnet, networkMasqueradeOffsets(number)[end]))
  );
}

/** `gateway_mtu` of router ports that lead to pods and to gateway routers, unless the node reports that OVN must not check sizes. */
export const gatewayMtu = (onNode: NetworkOnNode): Readonly<Record<string, string>> =>
  onNode.node.gatewayMtuSupport ? { gateway_mtu: String(onNode.settings.mtu) } : {};

/** First address of a family among addresses with or without prefix length, without it. */
export function firstOf(addresses: readonly string[], family: Family): string | undefined {
  const found = addresses.find((address) => familyOf(address) === family);
  return found === undefined ? undefined : withoutPrefix(found);
}
