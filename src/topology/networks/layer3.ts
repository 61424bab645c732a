/** A Layer3 network in this node's zone. */

import { nthAddress, nthInterface } from '../../allocators/addresses.ts';
import { layer3Names, type Layer3Names } from '../../model/rules/names.ts';
import { nodeRanges } from '../../model/rules/network-addresses.ts';
import { egressIpBase } from '../parts/egress-ip-base.ts';
import { externalSwitch } from '../parts/external-switch.ts';
import { gatewayRouter } from '../parts/gateway-router.ts';
import { gatewayNat } from '../parts/gateway-nat.ts';
import { nodeAddressPolicies } from '../parts/node-address-policies.ts';
import { gatewayRoutes } from '../parts/gateway-routes.ts';
import { transitSwitch } from '../parts/transit-switch.ts';
import { multicastDeny } from '../parts/multicast-default-deny.ts';
import { hairpin } from '../parts/hairpin.ts';
import { loadBalancerGroups } from '../parts/load-balancer-groups.ts';
import { managementPort } from '../parts/management-port.ts';
import { networkFeature } from './network-feature.ts';
import { networkOnNode, type GatewayLink, type JoinAddress } from '../parts/network-on-node.ts';
import type { NetworkPart } from '../parts/part.ts';
import { podGroups } from '../parts/pod-groups.ts';
import { podServers } from '../parts/pod-servers.ts';
import { JOIN_CLUSTER_ROUTER } from '../numbers.ts';
import { enabledServiceRoutes } from '../parts/enabled-service-routes.ts';
import { servicePool } from '../parts/service-pool.ts';
import { distributedRouter } from '../parts/distributed-router.ts';
import { joinSwitch } from '../parts/join-switch.ts';
import { nodeSwitch } from '../parts/node-switch.ts';

const PARTS: readonly NetworkPart<Layer3Names>[] = [
  distributedRouter,
  joinSwitch,
  loadBalancerGroups,
  podGroups,
  hairpin,
  multicastDeny,
  nodeSwitch,
  managementPort,
  podServers,
  gatewayRouter,
  externalSwitch,
  gatewayRoutes,
  nodeAddressPolicies,
  gatewayNat,
  enabledServiceRoutes,
  servicePool,
  transitSwitch,
  egressIpBase,
];

export const layer3Network = networkFeature('layer3', PARTS, (facts, network, out) => {
  const subnets = facts.subnetsOn(network.name, facts.nodeName);
  if (subnets.length === 0)
    out.waitFor(`a subnet of network ${network.name} on node ${facts.nodeName}`);
  return networkOnNode(facts, network, {
    names: layer3Names(network.name, facts.nodeName),
    podRanges: nodeRanges(subnets),
    links: (joins) => joins.map(joinLink),
  });
});

/** Both routers are on the join switch: the gateway router is reached at its join address. */
const joinLink = ({ family, subnet, address, interface: own }: JoinAddress): GatewayLink => ({
  family,
  router: nthAddress(subnet, JOIN_CLUSTER_ROUTER),
  routerInterface: nthInterface(subnet, JOIN_CLUSTER_ROUTER),
  gateway: address,
  gatewayInterface: own,
});
