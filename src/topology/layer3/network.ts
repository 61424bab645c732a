/** A Layer3 network in this node's zone. */

import { nthAddress, nthInterface } from '../../allocators/addresses.ts';
import { layer3Names, type Layer3Names } from '../../model/names.ts';
import { nodeRanges } from '../../model/network-addresses.ts';
import { egressIpBase } from '../egress/egress-ip-base.ts';
import { externalSwitch } from '../gateway/external-switch.ts';
import { gatewayRouter } from '../gateway/gateway-router.ts';
import { gatewayNat } from '../gateway/nat.ts';
import { nodeAddressPolicies } from '../gateway/node-address-policies.ts';
import { gatewayRoutes } from '../gateway/routes.ts';
import { transitSwitch } from '../interconnect/transit-switch.ts';
import { multicastDeny } from '../multicast/default-deny.ts';
import { hairpin } from '../network/hairpin.ts';
import { loadBalancerGroups } from '../network/load-balancer-groups.ts';
import { managementPort } from '../network/management-port.ts';
import { networkFeature } from '../network/network-feature.ts';
import { networkOnNode, type GatewayLink, type JoinAddress } from '../network/network-on-node.ts';
import type { NetworkPart } from '../network/part.ts';
import { podGroups } from '../network/pod-groups.ts';
import { podServers } from '../network/pod-servers.ts';
import { JOIN_CLUSTER_ROUTER } from '../numbers.ts';
import { enabledServiceRoutes } from '../services/enabled-service-routes.ts';
import { distributedRouter } from './distributed-router.ts';
import { joinSwitch } from './join-switch.ts';
import { nodeSwitch } from './node-switch.ts';

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
