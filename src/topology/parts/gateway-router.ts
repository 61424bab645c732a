/** The router by which a network's pods leave this node (reference/topology.md §7.3, §6). */

import { withoutPrefix } from '../../allocators/addresses.ts';
import { RowReference } from '../../desired/rows.ts';
import { COPP } from '../database/protection.ts';
import { gatewayMasquerade, type NetworkOnNode } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';
import { NEIGHBOUR_AGE } from '../numbers.ts';
import { ROUTER_CLAIM } from '../rows/router-rows.ts';

export const gatewayRouter: NetworkPart = {
  rules: {
    'gateway-router': {
      text: 'A primary network with a subnet on this node has a gateway router there, bound to the chassis of the node.',
      source: 'reference/topology.md §7.3',
    },
  },
  claims: [ROUTER_CLAIM],
  build(all, onNode) {
    const rows = all.by('gateway-router');
    const { gateway, names, node } = onNode;
    if (gateway === undefined) return;
    const own = gateway.addresses.map(withoutPrefix);
    rows.named('Logical_Router', names.gatewayRouter, {
      copp: new RowReference('Copp', COPP),
      options: {
        always_learn_from_arp_request: 'false',
        dynamic_neigh_routers: 'false',
        chassis: node.chassisId,
        lb_force_snat_ip: serviceSource(onNode),
        mac_binding_age_threshold: String(NEIGHBOUR_AGE),
        ...(onNode.isDefault ? { 'snat-ct-zone': '0' } : { disable_garp_rarp: 'true' }),
      },
      external_ids: {
        ...onNode.networkRoleIds,
        physical_ip: own[0] ?? '',
        physical_ips: [...own, ...gatewayMasquerade(onNode)].join(','),
      },
    });
  },
};

/** What services' clients are to their backends. The Layer2 link has several networks: only one of them is right. */
const serviceSource = (onNode: NetworkOnNode): string =>
  onNode.network.topology === 'layer2'
    ? onNode.joins.map(({ address }) => address).join(' ')
    : 'router_ip';
