/** The link between a Layer2 network's transit router and this node's gateway router (reference/topology.md §9.2). */

import { macOf } from '../../allocators/addresses.ts';
import type { Layer2Names } from '../../model/rules/names.ts';
import { gatewayMtu } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';
import { transitRouterGatewayPort } from '../numbers.ts';
import { ROUTER_PORT_CLAIM } from '../rows/router-rows.ts';
import { holds } from '../rows/unit-rows.ts';

export const gatewayLink: NetworkPart<Layer2Names> = {
  rules: {
    'gateway-link': {
      text: "The transit router and a node's gateway router are peers, with a pair of the network's transit addresses; the gateway router has its join address there too.",
      source: 'reference/topology.md §9.2',
    },
  },
  claims: [ROUTER_PORT_CLAIM],
  build(all, onNode) {
    const rows = all.by('gateway-link');
    const { names, node, joins, links } = onNode;
    const [link] = links;
    const [join] = joins;
    if (onNode.gateway === undefined || link === undefined || join === undefined) return;
    rows.named(
      'Logical_Router_Port',
      names.routerToGateway,
      {
        mac: macOf(link.router),
        networks: links.map((one) => one.routerInterface),
        options: { 'requested-tnl-key': String(transitRouterGatewayPort(node.id)) },
        peer: names.gatewayToRouter,
        external_ids: onNode.networkIds,
      },
      holds('Logical_Router', names.clusterRouter, 'ports'),
    );
    rows.named(
      'Logical_Router_Port',
      names.gatewayToRouter,
      {
        mac: macOf(join.address),
        networks: [
          ...joins.map((one) => one.interface),
          ...links.map((one) => one.gatewayInterface),
        ],
        options: gatewayMtu(onNode),
        peer: names.routerToGateway,
        external_ids: onNode.networkIds,
      },
      holds('Logical_Router', names.gatewayRouter, 'ports'),
    );
  },
};
