/** The router by which a network's pods leave this node, and its link to the distributed router (topology.md §7.3, §6). */

import { macOf, withoutPrefix } from '../../allocators/addresses.ts';
import { RowReference } from '../../desired/rows.ts';
import { COPP } from '../database/protection.ts';
import { gatewayMasquerade } from '../layer3/network-on-node.ts';
import type { NetworkPart } from '../layer3/part.ts';
import { NEIGHBOUR_AGE } from '../numbers.ts';
import { ROUTER_CLAIM, ROUTER_PORT_CLAIM } from '../router-rows.ts';
import { holds } from '../rows.ts';
import { addRouterPeer, SWITCH_PORT_CLAIM } from '../switch-rows.ts';

export const gatewayRouter: NetworkPart = {
  rules: {
    'gateway-router': {
      text: 'A primary network with a subnet on this node has a gateway router there, bound to the chassis of the node.',
      source: 'topology.md §7.3',
    },
  },
  claims: [ROUTER_CLAIM, ROUTER_PORT_CLAIM, SWITCH_PORT_CLAIM],
  build(all, on) {
    const rows = all.by('gateway-router');
    const { gateway, names, node, settings } = on;
    if (gateway === undefined) return;
    const own = gateway.addresses.map(withoutPrefix);
    rows.named('Logical_Router', names.gatewayRouter, {
      copp: new RowReference('Copp', COPP),
      options: {
        always_learn_from_arp_request: 'false',
        dynamic_neigh_routers: 'false',
        chassis: node.chassisId,
        lb_force_snat_ip: 'router_ip',
        mac_binding_age_threshold: String(NEIGHBOUR_AGE),
        ...(on.isDefault ? { 'snat-ct-zone': '0' } : { disable_garp_rarp: 'true' }),
      },
      external_ids: {
        ...on.networkRoleIds,
        physical_ip: own[0] ?? '',
        physical_ips: [...own, ...gatewayMasquerade(on)].join(','),
      },
    });
    addRouterPeer(rows, names.joinToGateway, names.gatewayToJoin, names.joinSwitch, {
      external_ids: on.networkIds,
    });
    rows.named(
      'Logical_Router_Port',
      names.gatewayToJoin,
      {
        mac: macOf(on.joinLinks[0]?.gatewayRouter ?? ''),
        networks: on.joinLinks.map((link) => link.gatewayRouterInterface),
        options: node.gatewayMtuSupport ? { gateway_mtu: String(settings.mtu) } : undefined,
        external_ids: on.networkIds,
      },
      holds('Logical_Router', names.gatewayRouter, 'ports'),
    );
  },
};
