/** How pods reach the addresses of their own node (reference/topology.md §7.5, §6). */

import { contains, familyOf, withoutPrefix } from '../../allocators/addresses.ts';
import { firstOf, gatewayMasquerade, type NetworkOnNode } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';
import { POLICY_NODE_ADDRESS } from '../numbers.ts';
import { addNodeAddressPolicy, POLICY_CLAIM } from '../rows/router-rows.ts';

export const nodeAddressPolicies: NetworkPart = {
  rules: {
    'node-addresses': {
      text: 'What pods have for an address of their own node goes to the host through the management port, not out of the node.',
      source: 'reference/topology.md §7.5',
    },
  },
  claims: [POLICY_CLAIM],
  build(rows, on) {
    if (on.gateway === undefined) return;
    for (const range of on.podRanges) {
      const nodeAddress = firstOf(on.gateway.addresses, range.family);
      const others = otherAddresses(on).filter((address) => familyOf(address) === range.family);
      for (const address of new Set(nodeAddress === undefined ? others : [nodeAddress, ...others]))
        addNodeAddressPolicy(
          rows.by('node-addresses'),
          on,
          address,
          range.management,
          POLICY_NODE_ADDRESS,
        );
    }
  },
};

/** What pods reach through the host beside the node's address. On Layer2 that is nothing (reference/topology.md §9.3). */
function otherAddresses(on: NetworkOnNode): string[] {
  if (on.isDefault) return hostAddresses(on);
  return on.network.topology === 'layer2' ? [] : gatewayMasquerade(on);
}

/** Other addresses of the host that pods of the default network reach through it; masquerade addresses are not real. */
function hostAddresses(on: NetworkOnNode): string[] {
  if (on.mode === 'local') return [];
  const masquerade = Object.values(on.settings.masqueradeSubnets) as readonly string[];
  return on.facts
    .own('hostAddresses')
    .map(withoutPrefix)
    .filter((address) => !masquerade.some((subnet) => contains(subnet, address)));
}
