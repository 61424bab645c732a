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
  build(rows, onNode) {
    if (onNode.gateway === undefined) return;
    const externalAddresses = onNode.isDefault
      ? onNode.gateway.addresses
      : gatewayMasquerade(onNode);
    const sources = [
      ...onNode.joins.map((join) => join.address),
      ...onNode.network.subnets.map((subnet) => subnet.cidr),
    ];
    for (const logicalIp of sources) {
      const externalIp = firstOf(externalAddresses, familyOf(logicalIp));
      if (externalIp === undefined) continue;
      addNat(rows.by('gateway-snat'), onNode, onNode.names.gatewayRouter, {
        logicalIp,
        externalIp,
      });
    }
  },
};
