/** ClusterNetworkConnects → which networks are linked, and by what. Pure. */
import {
  FAMILIES,
  formatAddress,
  formatInterfaceAddress,
  containsPrefix,
  parsePrefix,
  type Family,
  type Prefix,
} from '../../allocators/addresses.ts';
import {
  layer2ConnectLink,
  layer2ConnectPortKey,
  layer3ConnectLink,
  layer3ConnectPortKey,
  sufficientConnectPrefix,
  type ConnectLink,
  type ConnectRange,
} from '../../allocators/connect-subnets.ts';
import { AllocationError } from '../../allocators/allocation-error.ts';
import {
  CONNECT_SUBNETS,
  CONNECT_TUNNEL_KEY,
  connectBridged,
  connectSubnets,
  connectTunnelKey,
} from '../../api/annotations/network-annotations.ts';
import { connectivityOf } from '../../api/connectivity.ts';
import { clusterNetworkConnects } from '../../api/kinds.ts';
import { conditionOf } from '../../api/conditions.ts';
import { familyCidrs } from '../../api/nad/network-config.ts';
import type { ClusterNetworkConnect } from '../../api/types.ts';
import type { ObjectKind } from './object-kind.ts';
import { awaited, optional, reading, required, type ObjectReading } from './reading.ts';

/** A network of a connection, and the subnets that its links are made of. */
export interface ConnectMember {
  readonly networkId: number;
  readonly topology: 'layer2' | 'layer3';
  /** One per family, v4 first: of layer3 a block with a pair for each node, of layer2 the pair itself. */
  readonly subnets: readonly string[];
}

/** Networks that are connected with each other. */
export interface Connect {
  readonly name: string;
  /** True once the cluster manager found nothing wrong with it. */
  readonly isAccepted: boolean;
  /** Datapath tunnel key of the connect router. */
  readonly tunnelKey: number;
  readonly ranges: readonly { readonly cidr: string; readonly networkPrefix: number }[];
  readonly hasServices: boolean;
  readonly hasPods: boolean;
  /** Those with links, in the order of the networks' ids. */
  readonly members: readonly ConnectMember[];
  /** Ids of those that share services with each other and with members over the external bridge; in their order. */
  readonly bridged: readonly number[];
}

/** Ids of all networks of a connection, however they meet. */
export const networkIdsOf = ({
  members,
  bridged,
}: Pick<Connect, 'members' | 'bridged'>): readonly number[] => [
  ...members.map(({ networkId }) => networkId),
  ...bridged,
];

/** The member of a connection that stands for a network. */
export const memberOf = (
  connect: Connect | undefined,
  networkId: number,
): ConnectMember | undefined => connect?.members.find((member) => member.networkId === networkId);

/** A connection as its object and the allocations in its annotations say. */
export function readConnect(connect: ClusterNetworkConnect): ObjectReading<Connect> {
  const { connectSubnets: ranges } = connect.spec;
  const { pods, services } = connectivityOf(connect);
  return reading(() => {
    const allocated = awaited(
      connectSubnets(connect),
      `its subnets (annotation ${CONNECT_SUBNETS})`,
    );
    const tunnelKey = required(
      connectTunnelKey(connect),
      CONNECT_TUNNEL_KEY,
      'the cluster manager writes it',
    );
    const members = [...allocated].map(([owner, cidrs]): ConnectMember => {
      const [topology, id] = owner.split('_') as ['layer2' | 'layer3', string];
      return { networkId: Number(id), topology, subnets: familyCidrs(cidrs) };
    });
    const bridged = optional(connectBridged(connect)) ?? [];
    const linked = new Set(members.map(({ networkId }) => networkId));
    return {
      name: connect.metadata.name,
      isAccepted: conditionOf(connect.status?.conditions, 'Accepted')?.status === 'True',
      tunnelKey,
      ranges: ranges.map(({ cidr, networkPrefix }) => ({ cidr, networkPrefix })),
      hasPods: pods,
      hasServices: services,
      members: members.sort((a, b) => a.networkId - b.networkId),
      // Where pods meet, too, addresses have to be apart: what is left of before that is of no use.
      bridged:
        services && !pods ? bridged.filter((id) => !linked.has(id)).sort((a, b) => a - b) : [],
    };
  });
}

/** The link between the connect router and a network's router, on one node or, of a Layer2 network, on all. */
export interface RouterLink {
  /** Tunnel key of the connect router's port. */
  readonly portKey: number;
  /** Per family, v4 first. */
  readonly ends: readonly LinkEnds[];
}

export interface LinkEnds {
  readonly family: Family;
  /** Without prefix length. */
  readonly connectRouter: string;
  readonly connectRouterInterface: string;
  readonly networkRouter: string;
  readonly networkRouterInterface: string;
}

/** The link of a member for a node, or why it can't be made, with what to do. `title` is what people call the network. */
export function connectLink(
  connect: Pick<Connect, 'name' | 'ranges'>,
  member: ConnectMember,
  node: { readonly name: string; readonly id: number },
  title: string,
): RouterLink | string {
  const subnets = member.subnets
    .map(parsePrefix)
    .filter((subnet) => subnet !== undefined)
    .sort((a, b) => FAMILIES.indexOf(a.family) - FAMILIES.indexOf(b.family));
  const [first] = subnets;
  const range = first && rangeOf(connect.ranges, first);
  if (first === undefined || range === undefined)
    return `network ${title}: its connect subnet ${member.subnets.join(', ')} is not part of connectSubnets; remove the annotation ${CONNECT_SUBNETS}: the cluster manager writes it again`;
  const isLayer3 = member.topology === 'layer3';
  try {
    return {
      ends: subnets.map((subnet) =>
        endsOf(
          subnet.family,
          isLayer3 ? layer3ConnectLink(subnet, node.id) : layer2ConnectLink(subnet),
        ),
      ),
      portKey: isLayer3
        ? layer3ConnectPortKey(range, first, node.id)
        : layer2ConnectPortKey(range, first),
    };
  } catch (problem) {
    if (!(problem instanceof AllocationError)) throw problem;
    const enough = sufficientConnectPrefix(first.family, node.id);
    return `network ${title}, node ${node.name}: ${problem.message}; connectSubnets with networkPrefix ${enough} would be enough (they can’t change: make the ClusterNetworkConnect again)`;
  }
}

const endsOf = (family: Family, { connectRouter, networkRouter }: ConnectLink): LinkEnds => ({
  family,
  connectRouter: formatAddress(connectRouter),
  connectRouterInterface: formatInterfaceAddress(connectRouter),
  networkRouter: formatAddress(networkRouter),
  networkRouterInterface: formatInterfaceAddress(networkRouter),
});

function rangeOf(ranges: Connect['ranges'], subnet: Prefix): ConnectRange | undefined {
  for (const { cidr, networkPrefix } of ranges) {
    const prefix = parsePrefix(cidr);
    if (prefix !== undefined && containsPrefix(prefix, subnet))
      return { cidr: prefix, networkPrefix };
  }
  return undefined;
}

/** Why a link of a Layer3 network can't be made on the node; undefined if all can. */
export function linkFailure(
  connect: Connect,
  node: { readonly name: string; readonly id: number },
  titleOf: (networkId: number) => string | undefined,
): string | undefined {
  return connect.members
    .filter(({ topology }) => topology === 'layer3')
    .map((member) =>
      connectLink(connect, member, node, titleOf(member.networkId) ?? `layer3_${member.networkId}`),
    )
    .find((link) => typeof link === 'string');
}

/** One that has no subnets yet may never get them: its conditions say why. */
export const connectKind = {
  kind: clusterNetworkConnects,
  table: 'connects',
  read: readConnect,
  onUnreadable: 'keep',
} as const satisfies ObjectKind<ClusterNetworkConnect, Connect>;
