/** Names of the OVN objects of a network (reference/topology.md §1.2), in one place. */

import { ovnPrefix } from '../../api/nad/network-name.ts';
import type { Network, NetworkName } from '../model.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';

export const isDefault = (network: Pick<Network, 'name'>): boolean =>
  network.name === DEFAULT_NETWORK;

/** Owner controller of a network's policies, port groups and address sets. */
export const controllerOf = (network: NetworkName): string => `${network}-network-controller`;

/** The network of such a controller; undefined for other owners. */
export const networkOfController = (controller: string): string | undefined =>
  /^(.+)-network-controller$/.exec(controller)?.[1];

export const DEFAULT_CONTROLLER = controllerOf(DEFAULT_NETWORK);

/** Names that are known once a network and the zone's own node are, whatever the topology. */
export interface LocalNames {
  readonly prefix: string;
  /** The distributed router: on Layer2 the transit router. */
  readonly clusterRouter: string;
  readonly gatewayRouter: string;
  /** The switch that holds the pods of this node. */
  readonly nodeSwitch: string;
  readonly externalSwitch: string;
  /** Router port to the pods, and its peer on the switch. */
  readonly routerToSwitch: string;
  readonly switchToRouter: string;
  /** Port of the gateway router that leads to the distributed router. */
  readonly gatewayToRouter: string;
  readonly gatewayToExternal: string;
  readonly externalToGateway: string;
  readonly managementPort: string;
}

export interface Layer3Names extends LocalNames {
  readonly joinSwitch: string;
  readonly transitSwitch: string;
  readonly routerToJoin: string;
  readonly joinToRouter: string;
  readonly joinToGateway: string;
  readonly routerToTransit: string;
}

export interface Layer2Names extends LocalNames {
  /** Port of the transit router that leads to the gateway router. */
  readonly routerToGateway: string;
}

export const clusterRouter = (prefix: string): string => `${prefix}ovn_cluster_router`;
const joinSwitch = (prefix: string): string => `${prefix}join`;
export const transitSwitch = (prefix: string): string => `${prefix}transit_switch`;
export const transitRouter = (prefix: string): string => `${prefix}transit_router`;
export const layer2Switch = (prefix: string): string => `${prefix}ovn_layer2_switch`;
export const localnetSwitch = (prefix: string): string => `${prefix}ovn_localnet_switch`;
/** The port of a localnet network's switch that leads to the physical network. */
export const localnetPort = (prefix: string): string => `${prefix}ovn_localnet_port`;
/** Port of a Layer2 network's transit router that leads to a gateway router, of this node or of another one. */
export const transitRouterToGateway = (gateway: string): string => `trtor-${gateway}`;
export const gatewayRouter = (prefix: string, node: string): string => `GR_${prefix}${node}`;
const externalSwitch = (prefix: string, node: string): string => `ext_${prefix}${node}`;
/** Port of a node on the transit switch, the same on every zone. */
export const transitPort = (prefix: string, node: string): string => `${prefix}tstor-${node}`;
/** The port of the external switch that leads to the bridge; ovn-controller derives the patch port from it. */
export const bridgePort = (bridge: string, prefix: string, node: string): string =>
  `${bridge}_${prefix}${node}`;

/** The port of the host on a network. */
export const managementPort = (network: string, node: string): string =>
  `k8s-${ovnPrefix(network)}${node}`;

/** Names that topologies make in the same way. */
function namesOf(
  network: string,
  node: string,
): Omit<
  LocalNames,
  'clusterRouter' | 'nodeSwitch' | 'routerToSwitch' | 'switchToRouter' | 'gatewayToRouter'
> {
  const prefix = ovnPrefix(network);
  const gateway = gatewayRouter(prefix, node);
  return {
    prefix,
    gatewayRouter: gateway,
    externalSwitch: externalSwitch(prefix, node),
    gatewayToExternal: `rtoe-${gateway}`,
    externalToGateway: `etor-${gateway}`,
    managementPort: managementPort(network, node),
  };
}

/** The gateway router of a network on a node, and its port to the outside, whatever the topology. */
export function gatewayNames(
  network: NetworkName,
  node: string,
): Pick<LocalNames, 'gatewayRouter' | 'gatewayToExternal'> {
  return namesOf(network, node);
}

export function layer3Names(network: NetworkName, node: string): Layer3Names {
  const names = namesOf(network, node);
  const { prefix, gatewayRouter: gateway } = names;
  const router = clusterRouter(prefix);
  const nodeSwitch = `${prefix}${node}`;
  return {
    ...names,
    clusterRouter: router,
    nodeSwitch,
    joinSwitch: joinSwitch(prefix),
    transitSwitch: transitSwitch(prefix),
    routerToSwitch: `rtos-${nodeSwitch}`,
    switchToRouter: `stor-${nodeSwitch}`,
    routerToJoin: `rtoj-${router}`,
    joinToRouter: `jtor-${router}`,
    gatewayToRouter: `rtoj-${gateway}`,
    joinToGateway: `jtor-${gateway}`,
    routerToTransit: `${prefix}rtots-${node}`,
  };
}

export function layer2Names(network: NetworkName, node: string): Layer2Names {
  const names = namesOf(network, node);
  const { prefix, gatewayRouter: gateway } = names;
  const nodeSwitch = layer2Switch(prefix);
  return {
    ...names,
    clusterRouter: transitRouter(prefix),
    nodeSwitch,
    routerToSwitch: `trtos-${nodeSwitch}`,
    switchToRouter: `stotr-${nodeSwitch}`,
    gatewayToRouter: `rtotr-${gateway}`,
    routerToGateway: transitRouterToGateway(gateway),
  };
}

/** The switch that holds a network's pods of this node. */
export function podSwitch(
  { name, topology }: Pick<Network, 'name' | 'topology'>,
  node: string,
): string {
  const prefix = ovnPrefix(name);
  switch (topology) {
    case 'layer3':
      return `${prefix}${node}`;
    case 'layer2':
      return layer2Switch(prefix);
    case 'localnet':
      return localnetSwitch(prefix);
  }
}

/** Switches of a network in this zone; no two networks can have one of the same name. */
export function switchesOf(
  network: Pick<Network, 'name' | 'topology'>,
  node: string,
): readonly string[] {
  const prefix = ovnPrefix(network.name);
  const pods = podSwitch(network, node);
  switch (network.topology) {
    case 'layer3':
      return [pods, joinSwitch(prefix), externalSwitch(prefix, node), transitSwitch(prefix)];
    case 'layer2':
      return [pods, externalSwitch(prefix, node)];
    case 'localnet':
      return [pods];
  }
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
  ['stotr-', layer2Switch('')],
  ['', localnetPort('')],
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
