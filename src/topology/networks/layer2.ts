/** A Layer2 network in this node's zone: one switch, and with a gateway one router, of which every zone has a copy. */

import { layer2Names, type Layer2Names } from '../../model/rules/names.ts';
import { hasGateway, layer2Ranges, transitLink } from '../../model/rules/network-addresses.ts';
import { egressIpBase } from '../parts/egress-ip-base.ts';
import { externalSwitch } from '../parts/external-switch.ts';
import { gatewayRouter } from '../parts/gateway-router.ts';
import { gatewayNat } from '../parts/gateway-nat.ts';
import { nodeAddressPolicies } from '../parts/node-address-policies.ts';
import { gatewayRoutes } from '../parts/gateway-routes.ts';
import { multicastDeny } from '../parts/multicast-default-deny.ts';
import { dhcpOptions } from '../parts/dhcp.ts';
import { hairpin } from '../parts/hairpin.ts';
import { loadBalancerGroups } from '../parts/load-balancer-groups.ts';
import { managementPort } from '../parts/management-port.ts';
import { networkFeature } from './network-feature.ts';
import { networkOnNode } from '../parts/network-on-node.ts';
import type { NetworkPart } from '../parts/part.ts';
import { podGroups } from '../parts/pod-groups.ts';
import { podServers } from '../parts/pod-servers.ts';
import { enabledServiceRoutes } from '../parts/enabled-service-routes.ts';
import { servicePool } from '../parts/service-pool.ts';
import { gatewayLink } from '../parts/gateway-link.ts';
import { layer2Switch } from '../parts/layer2-switch.ts';
import { routerAdvertisements } from '../parts/router-advertisements.ts';
import { transitRouter } from '../parts/transit-router.ts';

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
  servicePool,
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
