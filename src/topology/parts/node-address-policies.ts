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
  build(rows, onNode) {
    if (onNode.gateway === undefined) return;
    for (const range of onNode.podRanges) {
      const nodeAddress = firstOf(onNode.gateway.addresses, range.family);
      const others = otherAddresses(onNode).filter((address) => familyOf(address) === range.family);
      for (const address of new Set(nodeAddress === undefined ? others : [nodeAddress, ...others]))
        addNodeAddressPolicy(
          rows.by('node-addresses'),
          onNode,
          address,
          range.management,
          POLICY_NODE_ADDRESS,
        );
    }
  },
};

/** What pods reach through the host beside the node's address. On Layer2 that is nothing (reference/topology.md §9.3). */
function otherAddresses(onNode: NetworkOnNode): string[] {
  if (onNode.isDefault) return hostAddresses(onNode);
  return onNode.network.topology === 'layer2' ? [] : gatewayMasquerade(onNode);
}

/** Other addresses of the host that pods of the default network reach through it; masquerade addresses are not real. */
function hostAddresses(onNode: NetworkOnNode): string[] {
  if (onNode.mode === 'local') return [];
  const masquerade = Object.values(onNode.settings.masqueradeSubnets) as readonly string[];
  return onNode.facts
    .own('hostAddresses')
    .map(withoutPrefix)
    .filter((address) => !masquerade.some((subnet) => contains(subnet, address)));
}
