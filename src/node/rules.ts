/** Rules that lead into a network's table: by packet mark, and by the address that its pods have on the host (node.md §2.4). */
import { asHost } from '../allocators/addresses.ts';
import type { HostPart } from './host-network.ts';
import { RULE_NETWORK } from './numbers.ts';

export const rules: HostPart = {
  rules: {
    'by-mark': {
      text: "What is marked for a network is routed by the network's table.",
      source: 'node.md §2.4',
    },
    'by-masquerade': {
      text: "Replies to the network's masquerade address are routed by the network's table.",
      source: 'node.md §2.4',
    },
  },
  build(rows, on) {
    if (on.isDefault) return;
    for (const { family } of on.ranges) {
      const common = { family, priority: RULE_NETWORK, table: on.table };
      rows.by('by-mark').rule({ ...common, fwmark: on.mark });
      const own = on.network.masquerade[family]?.managementPort;
      if (own !== undefined) rows.by('by-masquerade').rule({ ...common, to: asHost(own) });
    }
  },
};
