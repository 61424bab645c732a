/** The switch that joins the zones of a Layer3 network, and this node's port on it (reference/topology.md §13.1). */

import { transitPort, type Layer3Names } from '../../model/rules/names.ts';
import type { NetworkPart } from './part.ts';
import { switchKey } from '../../model/rules/admission.ts';
import { ROUTER_PORT_CLAIM } from '../rows/router-rows.ts';
import { holds } from '../rows/unit-rows.ts';
import {
  addRouterPeer,
  sharedSwitchConfig,
  SWITCH_CLAIM,
  SWITCH_PORT_CLAIM,
} from '../rows/switch-rows.ts';
import { PORT_NODE_ID, transitEnd } from '../interconnect/transit-end.ts';

export const transitSwitch: NetworkPart<Layer3Names> = {
  rules: {
    'transit-switch': {
      text: 'A transit switch with the same tunnel key in every zone joins the distributed routers of a Layer3 network.',
      source: 'reference/topology.md §13.1',
    },
  },
  claims: [SWITCH_CLAIM, SWITCH_PORT_CLAIM, ROUTER_PORT_CLAIM],
  build(all, onNode) {
    const rows = all.by('transit-switch');
    const { names, node, network } = onNode;
    rows.named('Logical_Switch', names.transitSwitch, {
      other_config: sharedSwitchConfig(names.transitSwitch, switchKey(network)),
      external_ids: onNode.networkRoleIds,
    });
    const end = transitEnd(node.transitAddresses);
    if (end === undefined) return;
    rows.named(
      'Logical_Router_Port',
      names.routerToTransit,
      { mac: end.mac, networks: end.interfaces, options: { mcast_flood: 'true' } },
      holds('Logical_Router', names.clusterRouter, 'ports'),
    );
    addRouterPeer(
      rows,
      transitPort(names.prefix, node.name),
      names.routerToTransit,
      names.transitSwitch,
      {
        options: { 'requested-tnl-key': String(node.id) },
        external_ids: { [PORT_NODE_ID]: node.name },
      },
    );
  },
};
