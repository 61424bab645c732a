/** Names of the OVN objects of a network (topology.md §1.2), in one place. */

import { ovnPrefix } from '../api/nad/network-name.ts';
import type { Network, NetworkName } from './model.ts';
import { DEFAULT_NETWORK } from './networks.ts';

export const isDefault = (network: Pick<Network, 'name'>): boolean =>
  network.name === DEFAULT_NETWORK;

/** Owner controller of a network's policies, port groups and address sets. */
export const controllerOf = (network: NetworkName): string => `${network}-network-controller`;

/** The network of such a controller; undefined for other owners. */
export const networkOfController = (controller: string): string | undefined =>
  /^(.+)-network-controller$/.exec(controller)?.[1];

export const DEFAULT_CONTROLLER = controllerOf(DEFAULT_NETWORK);

/** Names that are known once the prefix of a network and the zone's own node are. */
export interface LocalNames {
  readonly prefix: string;
  readonly clusterRouter: string;
  readonly gatewayRouter: string;
  /** The switch that holds the pods of this node. */
  readonly nodeSwitch: string;
  readonly joinSwitch: string;
  readonly externalSwitch: string;
  readonly transitSwitch: string;
  /** Router port to the pods, and its peer on the switch. */
  readonly routerToSwitch: string;
  readonly switchToRouter: string;
  readonly routerToJoin: string;
  readonly joinToRouter: string;
  readonly gatewayToJoin: string;
  readonly joinToGateway: string;
  readonly gatewayToExternal: string;
  readonly externalToGateway: string;
  readonly routerToTransit: string;
  readonly managementPort: string;
}

export const clusterRouter = (prefix: string): string => `${prefix}ovn_cluster_router`;
export const joinSwitch = (prefix: string): string => `${prefix}join`;
export const transitSwitch = (prefix: string): string => `${prefix}transit_switch`;
export const gatewayRouter = (prefix: string, node: string): string => `GR_${prefix}${node}`;
export const externalSwitch = (prefix: string, node: string): string => `ext_${prefix}${node}`;
/** Port of a node on the transit switch, the same on every zone. */
export const transitPort = (prefix: string, node: string): string => `${prefix}tstor-${node}`;
/** The port of the external switch that leads to the bridge; ovn-controller derives the patch port from it. */
export const bridgePort = (bridge: string, prefix: string, node: string): string =>
  `${bridge}_${prefix}${node}`;
export const gatewayChassis = (port: string, chassis: string): string => `${port}-${chassis}`;

export function localNames(network: NetworkName, node: string): LocalNames {
  const prefix = ovnPrefix(network);
  const router = clusterRouter(prefix);
  const gateway = gatewayRouter(prefix, node);
  const nodeSwitch = `${prefix}${node}`;
  return {
    prefix,
    clusterRouter: router,
    gatewayRouter: gateway,
    nodeSwitch,
    joinSwitch: joinSwitch(prefix),
    externalSwitch: externalSwitch(prefix, node),
    transitSwitch: transitSwitch(prefix),
    routerToSwitch: `rtos-${nodeSwitch}`,
    switchToRouter: `stor-${nodeSwitch}`,
    routerToJoin: `rtoj-${router}`,
    joinToRouter: `jtor-${router}`,
    gatewayToJoin: `rtoj-${gateway}`,
    joinToGateway: `jtor-${gateway}`,
    gatewayToExternal: `rtoe-${gateway}`,
    externalToGateway: `etor-${gateway}`,
    routerToTransit: `${prefix}rtots-${node}`,
    managementPort: `k8s-${nodeSwitch}`,
  };
}

/** Load balancer groups of a network: of switches and gateway routers, of switches, of gateway routers. */
export interface LoadBalancerGroups {
  readonly all: string;
  readonly switches: string;
  readonly routers: string;
}

export const loadBalancerGroups = (prefix: string): LoadBalancerGroups => ({
  all: `${prefix}clusterLBGroup`,
  switches: `${prefix}clusterSwitchLBGroup`,
  routers: `${prefix}clusterRouterLBGroup`,
});

/** Logical switch port of a pod: `blue_pod1`, or `blue.blue_blue_pod1` for the NAD key `blue/blue`. */
export const podPort = (nadKey: string, namespace: string, pod: string): string =>
  `${ovnPrefix(nadKey)}${namespace}_${pod}`;

/** What comes before and after the network's prefix in names of ports that its infrastructure has on a node, in any topology. */
const infrastructurePorts = (
  node: string,
  bridge: string | undefined,
): readonly (readonly [before: string, after: string])[] => [
  ['stor-', node],
  ['jtor-', clusterRouter('')],
  ['jtor-GR_', node],
  ['etor-GR_', node],
  ['k8s-', node],
  ['stotr-', 'ovn_layer2_switch'],
  ['', 'ovn_localnet_port'],
  ...(bridge === undefined ? [] : [[`${bridge}_`, node] as const]),
];

/**
 * Prefixes of networks that would have a port of a pod's name among those of their infrastructure: for its switches on this
 * node, and for any node on its transit switch.
 */
export function prefixesOfPort(
  port: string,
  pod: string,
  node: string,
  bridge: string | undefined,
): readonly string[] {
  const prefixes = infrastructurePorts(node, bridge)
    .filter(
      ([before, after]) =>
        port.length >= before.length + after.length &&
        port.startsWith(before) &&
        port.endsWith(after),
    )
    .map(([before, after]) => port.slice(before.length, port.length - after.length));
  const beforePod = port.slice(0, port.length - pod.length);
  return port.startsWith(transitPort(beforePod, '')) ? [...prefixes, beforePod] : prefixes;
}
