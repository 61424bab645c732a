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
  build(rows, onNode) {
    if (onNode.gateway === undefined) return;
    addGatewayRouterRoutes(rows, onNode, onNode.gateway);
    addDistributedRouterRoutes(rows, onNode);
  },
};

function addGatewayRouterRoutes(rows: Rows, onNode: NetworkOnNode, gateway: NodeGateway): void {
  const { names, network, settings } = onNode;
  for (const { cidr } of network.subnets) {
    const link = onNode.links.find((link) => link.family === familyOf(cidr));
    if (link === undefined) continue;
    addRoute(rows.by('routes-to-pods'), names.gatewayRouter, {
      prefix: cidr,
      nexthop: link.router,
      // Its port has several networks there: the next hop alone does not tell which is meant.
      ...(network.topology === 'layer2' ? { outputPort: names.gatewayToRouter } : {}),
      externalIds: onNode.networkIds,
    });
  }
  for (const nexthop of masqueradeAddresses(onNode, MASQUERADE_OFFSETS.dummyNextHop)) {
    const prefix = settings.masqueradeSubnets[familyOf(nexthop)];
    if (prefix === undefined) continue;
    addRoute(rows.by('masquerade-route'), names.gatewayRouter, {
      prefix,
      nexthop,
      outputPort: names.gatewayToExternal,
      externalIds: onNode.isDefault ? { [MASQUERADE_ROUTE_ID]: '' } : onNode.networkIds,
    });
  }
  for (const nexthop of new Set(gateway.nextHops)) {
    addRoute(rows.by('default-routes'), names.gatewayRouter, {
      prefix: familyOf(nexthop) === 'v4' ? '0.0.0.0/0' : '::/0',
      nexthop,
      outputPort: names.gatewayToExternal,
      externalIds: onNode.networkIds,
    });
  }
}

function addDistributedRouterRoutes(rows: Rows, onNode: NetworkOnNode): void {
  const { clusterRouter } = onNode.names;
  for (const { family, address } of onNode.joins) {
    const link = onNode.links.find((link) => link.family === family);
    if (link === undefined) continue;
    addRoute(rows.by('gateway-route'), clusterRouter, {
      prefix: address,
      nexthop: link.gateway,
      externalIds: onNode.networkIds,
    });
  }
  // Pods leave through the management port there: management-port.ts has that route.
  if (onNode.mode === 'local') return;
  for (const range of onNode.podRanges) {
    const link = onNode.links.find((link) => link.family === range.family);
    if (link === undefined) continue;
    addRoute(rows.by('exit-through-gateway'), clusterRouter, {
      prefix: range.cidr,
      nexthop: link.gateway,
      policy: 'src-ip',
      externalIds: onNode.networkIds,
    });
  }
}
