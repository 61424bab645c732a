/** Routes of a gateway router, and those of the distributed router to it (reference/topology.md §7.4). */

import { familyOf } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import type { NodeGateway } from '../../model/model.ts';
import { masqueradeAddresses, type NetworkOnNode } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';
import { MASQUERADE_ROUTE_ID } from '../rows/object-ids.ts';
import { addRoute, ROUTE_CLAIM } from '../rows/router-rows.ts';
import type { Rows } from '../rows/unit-rows.ts';

export const gatewayRoutes: NetworkPart = {
  rules: {
    'routes-to-pods': {
      text: 'The gateway router reaches all pods of its network through the distributed router.',
      source: 'reference/topology.md §7.4',
    },
    'masquerade-route': {
      text: 'The gateway router sends what is for the masquerade subnet to the host, by a next hop that stands for it.',
      source: 'reference/topology.md §7.4',
    },
    'default-routes': {
      text: 'The gateway router has a default route to each next hop of the node.',
      source: 'reference/topology.md §7.4',
    },
    'gateway-route': {
      text: 'The distributed router reaches the gateway router of this node at its join address.',
      source: 'reference/topology.md §7.4',
    },
    'exit-through-gateway': {
      text: 'In shared gateway mode pods leave the node through the gateway router.',
      source: 'reference/topology.md §7.4',
    },
  },
  claims: [ROUTE_CLAIM],
  build(rows, on) {
    if (on.gateway === undefined) return;
    addGatewayRouterRoutes(rows, on, on.gateway);
    addDistributedRouterRoutes(rows, on);
  },
};

function addGatewayRouterRoutes(rows: Rows, on: NetworkOnNode, gateway: NodeGateway): void {
  const { names, network, settings } = on;
  for (const { cidr } of network.subnets) {
    const link = on.links.find((link) => link.family === familyOf(cidr));
    if (link === undefined) continue;
    addRoute(rows.by('routes-to-pods'), names.gatewayRouter, {
      prefix: cidr,
      nexthop: link.router,
      // Its port has several networks there: the next hop alone does not tell which is meant.
      ...(network.topology === 'layer2' ? { outputPort: names.gatewayToRouter } : {}),
      externalIds: on.networkIds,
    });
  }
  for (const nexthop of masqueradeAddresses(on, MASQUERADE_OFFSETS.dummyNextHop)) {
    const prefix = settings.masqueradeSubnets[familyOf(nexthop)];
    if (prefix === undefined) continue;
    addRoute(rows.by('masquerade-route'), names.gatewayRouter, {
      prefix,
      nexthop,
      outputPort: names.gatewayToExternal,
      externalIds: on.isDefault ? { [MASQUERADE_ROUTE_ID]: '' } : on.networkIds,
    });
  }
  for (const nexthop of new Set(gateway.nextHops)) {
    addRoute(rows.by('default-routes'), names.gatewayRouter, {
      prefix: familyOf(nexthop) === 'v4' ? '0.0.0.0/0' : '::/0',
      nexthop,
      outputPort: names.gatewayToExternal,
      externalIds: on.networkIds,
    });
  }
}

function addDistributedRouterRoutes(rows: Rows, on: NetworkOnNode): void {
  const { clusterRouter } = on.names;
  for (const { family, address } of on.joins) {
    const link = on.links.find((link) => link.family === family);
    if (link === undefined) continue;
    addRoute(rows.by('gateway-route'), clusterRouter, {
      prefix: address,
      nexthop: link.gateway,
      externalIds: on.networkIds,
    });
  }
  // Pods leave through the management port there: management-port.ts has that route.
  if (on.mode === 'local') return;
  for (const range of on.podRanges) {
    const link = on.links.find((link) => link.family === range.family);
    if (link === undefined) continue;
    addRoute(rows.by('exit-through-gateway'), clusterRouter, {
      prefix: range.cidr,
      nexthop: link.gateway,
      policy: 'src-ip',
      externalIds: on.networkIds,
    });
  }
}
