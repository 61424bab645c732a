/** A Layer2 network in this node's zone: one switch, and with a gateway one router, of which every zone has a copy. */

import { layer2Names, type Layer2Names } from '../../model/names.ts';
import { hasGateway, layer2Ranges, transitLink } from '../../model/network-addresses.ts';
import { egressIpBase } from '../egress/egress-ip-base.ts';
import { externalSwitch } from '../gateway/external-switch.ts';
import { gatewayRouter } from '../gateway/gateway-router.ts';
import { gatewayNat } from '../gateway/nat.ts';
import { nodeAddressPolicies } from '../gateway/node-address-policies.ts';
import { gatewayRoutes } from '../gateway/routes.ts';
import { multicastDeny } from '../multicast/default-deny.ts';
import { dhcpOptions } from '../network/dhcp.ts';
import { hairpin } from '../network/hairpin.ts';
import { loadBalancerGroups } from '../network/load-balancer-groups.ts';
import { managementPort } from '../network/management-port.ts';
import { networkFeature } from '../network/network-feature.ts';
import { networkOnNode } from '../network/network-on-node.ts';
import type { NetworkPart } from '../network/part.ts';
import { podGroups } from '../network/pod-groups.ts';
import { podServers } from '../network/pod-servers.ts';
import { enabledServiceRoutes } from '../services/enabled-service-routes.ts';
import { gatewayLink } from './gateway-link.ts';
import { layer2Switch } from './layer2-switch.ts';
import { routerAdvertisements } from './router-advertisements.ts';
import { transitRouter } from './transit-router.ts';

const PARTS: readonly NetworkPart<Layer2Names>[] = [
  transitRouter,
  layer2Switch,
  routerAdvertisements,
  dhcpOptions,
  loadBalancerGroups,
  podGroups,
  hairpin,
  multicastDeny,
  managementPort,
  podServers,
  gatewayRouter,
  gatewayLink,
  externalSwitch,
  gatewayRoutes,
  nodeAddressPolicies,
  gatewayNat,
  enabledServiceRoutes,
  egressIpBase,
];

export const layer2Network = networkFeature('layer2', PARTS, (facts, network) =>
  networkOnNode(facts, network, {
    names: layer2Names(network.name, facts.nodeName),
    podRanges: hasGateway(network) ? layer2Ranges(network) : [],
    links: (joins) =>
      joins.flatMap(({ family }) => {
        const link = transitLink(network, { id: facts.own('id') }, family);
        return link === undefined ? [] : [{ family, ...link }];
      }),
  }),
);
