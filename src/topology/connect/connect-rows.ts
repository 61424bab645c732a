/** What rows of connections have in common: names, ids, and which router of a network takes part (reference/topology.md §19). */

import { macOf, overlaps, parsePrefix, type Family } from '../../allocators/addresses.ts';
import type { ConnectMember, LinkEnds } from '../../model/read/connects.ts';
import type { Network } from '../../model/model.ts';
import { layer2Names, layer3Names } from '../../model/rules/names.ts';
import { objectIds, type ExternalIds } from '../rows/object-ids.ts';

export const CONNECT_CONTROLLER = 'ovnkube-network-connect-controller';
export const CONNECT_TYPE = 'ClusterNetworkConnect';

/** The node id in rows of Layer2 networks, whose link is the same on every node. */
const ANY_NODE = 0;

/** What rows of a connection are marked with, and what its units count for. */
export const connectObject = (connect: string): string => `${CONNECT_TYPE} ${connect}`;

export const connectRouter = (connect: string): string => `connect_router_${connect}`;

/** The group of load balancers that all networks of a connection have on their switches. */
export const connectServices = (connect: string): string => `cnc_svc_${connect}`;

/** The connection whose group that is. */
export const connectOfServices = (group: string): string | undefined =>
  /^cnc_svc_(.+)$/.exec(group)?.[1];

/** Ports of the link to a network; `node` of Layer3 networks alone. */
export const connectPorts = (
  connect: string,
  network: string,
  node: string | undefined,
): { readonly onConnectRouter: string; readonly onNetworkRouter: string } => {
  const place = node === undefined ? network : `${network}_${node}`;
  return {
    onConnectRouter: `crtor-${connect}_${place}`,
    onNetworkRouter: `rtocr-${place}_${connect}`,
  };
};

/** The network's router, and its port to the pods of this node. */
export function routerOf(
  { name, topology }: Pick<Network, 'name' | 'topology'>,
  node: string,
): { readonly router: string; readonly portToPods: string } {
  const { clusterRouter, routerToSwitch } =
    topology === 'layer2' ? layer2Names(name, node) : layer3Names(name, node);
  return { router: clusterRouter, portToPods: routerToSwitch };
}

/** The node that a row of a member is about. */
export const nodeIdOf = (member: Pick<ConnectMember, 'topology'>, nodeId: number): number =>
  member.topology === 'layer2' ? ANY_NODE : nodeId;

export const portIds = (
  connect: string,
  networkId: number,
  nodeId: number,
  router: string,
): ExternalIds =>
  objectIds(CONNECT_CONTROLLER, CONNECT_TYPE, {
    name: connect,
    'network-id': String(networkId),
    'node-id': String(nodeId),
    'router-name': router,
  });

export const routeIds = (connect: string, networkId: number, nodeId: number, family: Family) =>
  objectIds(CONNECT_CONTROLLER, CONNECT_TYPE, {
    name: connect,
    'network-id': String(networkId),
    'node-id': String(nodeId),
    'ip-family': family,
  });

/** One end of a link as a router port: its MAC is that of its first address. */
export function portEnd(
  ends: readonly LinkEnds[],
  side: 'connectRouter' | 'networkRouter',
): { readonly mac: string; readonly networks: readonly string[] } {
  const first = ends[0]?.[side] ?? '';
  return { mac: macOf(first), networks: ends.map((end) => end[`${side}Interface`]) };
}

/** Subnets of a network in a family. */
export const subnetsIn = (
  { subnets }: Pick<Network, 'subnets'>,
  family: Family,
): readonly string[] =>
  subnets.map(({ cidr }) => cidr).filter((cidr) => cidr.includes(':') === (family === 'v6'));

/**
 * Subnets of another network in a family, without those that the network has pods in itself: until the cluster manager has found that they overlap
 * what is sent there stays in the network.
 */
export const subnetsBeyond = (
  network: Pick<Network, 'subnets'>,
  other: Pick<Network, 'subnets'>,
  family: Family,
): readonly string[] => {
  const own = subnetsIn(network, family).map(parsePrefix);
  return subnetsIn(other, family).filter((cidr) => {
    const subnet = parsePrefix(cidr);
    return !own.some((one) => one !== undefined && subnet !== undefined && overlaps(one, subnet));
  });
};
