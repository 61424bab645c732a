/** The router that joins a Layer3 network's pods, gateways and nodes, and its link to gateway routers (topology.md §7.1). */

import { macOf } from '../../allocators/addresses.ts';
import { RowReference } from '../../desired/rows.ts';
import { COPP } from '../database/protection.ts';
import { ROUTER_CLAIM, ROUTER_PORT_CLAIM } from '../router-rows.ts';
import { holds, type Rows } from '../rows.ts';
import { addRouterPeer, SWITCH_CLAIM, SWITCH_PORT_CLAIM } from '../switch-rows.ts';
import type { NetworkOnNode } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';

export const distributedRouter: NetworkPart = {
  rules: {
    'distributed-router': {
      text: 'One distributed router per Layer3 network and zone joins the pods of this node, the gateway and the other zones.',
      source: 'topology.md §7.1',
    },
    'join-switch': {
      text: 'A network with gateways has a join switch, over which the distributed router reaches the gateway router of this node.',
      source: 'topology.md §7.1',
    },
  },
  claims: [ROUTER_CLAIM, ROUTER_PORT_CLAIM, SWITCH_CLAIM, SWITCH_PORT_CLAIM],
  build(rows, on) {
    const { names, settings } = on;
    rows.by('distributed-router').named('Logical_Router', names.clusterRouter, {
      copp: new RowReference('Copp', COPP),
      options: {
        always_learn_from_arp_request: 'false',
        ...(settings.features.multicast && on.isPrimary ? { mcast_relay: 'true' } : {}),
        ...(on.mode === 'local' && !on.isDefault ? { 'ct-commit-all': 'true' } : {}),
      },
      external_ids: { ...on.networkIds, 'k8s-cluster-router': 'yes' },
    });
    if (on.isPrimary) addJoinSwitch(rows.by('join-switch'), on);
  },
};

function addJoinSwitch(rows: Rows, on: NetworkOnNode): void {
  const { names } = on;
  rows.named('Logical_Switch', names.joinSwitch, { external_ids: on.networkIds });
  const [firstLink] = on.joinLinks;
  if (firstLink === undefined) return;
  rows.named(
    'Logical_Router_Port',
    names.routerToJoin,
    {
      mac: macOf(firstLink.clusterRouter),
      networks: on.joinLinks.map((link) => link.clusterRouterInterface),
      external_ids: on.networkIds,
    },
    holds('Logical_Router', names.clusterRouter, 'ports'),
  );
  addRouterPeer(rows, names.joinToRouter, names.routerToJoin, names.joinSwitch, {});
}
