/** Address translation of a gateway router (reference/topology.md §7.6, §6). */

import { familyOf } from '../../allocators/addresses.ts';
import { firstOf, gatewayMasquerade } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';
import { addNat, NAT_CLAIM } from '../rows/router-rows.ts';

export const gatewayNat: NetworkPart = {
  rules: {
    'gateway-snat': {
      text: "What leaves gets the node's address; that of a user-defined network its own masquerade address, which the node translates.",
      source: 'reference/topology.md §7.6',
    },
  },
  claims: [NAT_CLAIM],
  build(rows, on) {
    if (on.gateway === undefined) return;
    const externalAddresses = on.isDefault ? on.gateway.addresses : gatewayMasquerade(on);
    const sources = [
      ...on.joins.map((join) => join.address),
      ...on.network.subnets.map((subnet) => subnet.cidr),
    ];
    for (const logicalIp of sources) {
      const externalIp = firstOf(externalAddresses, familyOf(logicalIp));
      if (externalIp === undefined) continue;
      addNat(rows.by('gateway-snat'), on, on.names.gatewayRouter, { logicalIp, externalIp });
    }
  },
};
