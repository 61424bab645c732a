/** The switch between the distributed router and gateway routers, and their ports on it (reference/topology.md §7.1, §7.3). */

import { macOf } from '../../allocators/addresses.ts';
import type { Layer3Names } from '../../model/rules/names.ts';
import { gatewayMtu } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';
import { ROUTER_PORT_CLAIM } from '../rows/router-rows.ts';
import { holds } from '../rows/unit-rows.ts';
import { addRouterPeer, SWITCH_CLAIM, SWITCH_PORT_CLAIM } from '../rows/switch-rows.ts';

export const joinSwitch: NetworkPart<Layer3Names> = {
  rules: {
    'join-switch': {
      text: 'A network with gateways has a join switch, over which the distributed router reaches the gateway router of this node.',
      source: 'reference/topology.md §7.1',
    },
    'gateway-link': {
      text: 'The gateway router of this node is on the join switch with the address of the node.',
      source: 'reference/topology.md §7.3',
    },
  },
  claims: [ROUTER_PORT_CLAIM, SWITCH_CLAIM, SWITCH_PORT_CLAIM],
  build(all, onNode) {
    const rows = all.by('join-switch');
    const { names } = onNode;
    if (!onNode.hasGateway) return;
    rows.named('Logical_Switch', names.joinSwitch, { external_ids: onNode.networkIds });
    const [firstLink] = onNode.links;
    if (firstLink === undefined) return;
    rows.named(
      'Logical_Router_Port',
      names.routerToJoin,
      {
        mac: macOf(firstLink.router),
        networks: onNode.links.map((link) => link.routerInterface),
        external_ids: onNode.networkIds,
      },
      holds('Logical_Router', names.clusterRouter, 'ports'),
    );
    addRouterPeer(rows, names.joinToRouter, names.routerToJoin, names.joinSwitch, {});
    if (onNode.gateway === undefined) return;
    addRouterPeer(
      all.by('gateway-link'),
      names.joinToGateway,
      names.gatewayToRouter,
      names.joinSwitch,
      { external_ids: onNode.networkIds },
    );
    all.by('gateway-link').named(
      'Logical_Router_Port',
      names.gatewayToRouter,
      {
        mac: macOf(firstLink.gateway),
        networks: onNode.links.map((link) => link.gatewayInterface),
        options: gatewayMtu(onNode),
        external_ids: onNode.networkIds,
      },
      holds('Logical_Router', names.gatewayRouter, 'ports'),
    );
  },
};
