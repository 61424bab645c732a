/** Rules that lead into a network's table: by packet mark, and by the address that its pods have on the host (reference/node.md §2.4, §2.1). */
import { asHost } from '../../allocators/addresses.ts';
import type { HostPart } from './host-network.ts';
import {
  INTERNALLY_LOCAL_MARK,
  INTERNALLY_LOCAL_TABLE,
  RULE_INTERNALLY_LOCAL,
  RULE_NETWORK,
} from '../numbers.ts';

export const rules: HostPart = {
  rules: {
    'by-mark': {
      text: "What is marked for a network is routed by the network's table.",
      source: 'reference/node.md §2.4',
    },
    'by-policy': {
      text: 'What host processes send to services that stay on the node has a table of its own.',
      source: 'reference/node.md §2.1, ITP routing',
    },
    'by-masquerade': {
      text: "Replies to the network's masquerade address are routed by the network's table.",
      source: 'reference/node.md §2.4',
    },
  },
  build(rows, on) {
    if (on.isDefault) {
      for (const family of new Set(on.ranges.map((range) => range.family)))
        rows.by('by-policy').rule({
          family,
          priority: RULE_INTERNALLY_LOCAL,
          fwmark: INTERNALLY_LOCAL_MARK,
          table: INTERNALLY_LOCAL_TABLE,
        });
      return;
    }
    for (const { family } of on.ranges) {
      const common = { family, priority: RULE_NETWORK, table: on.table };
      rows.by('by-mark').rule({ ...common, fwmark: on.mark });
      const own = on.network.masquerade[family]?.managementPort;
      if (own !== undefined) rows.by('by-masquerade').rule({ ...common, to: asHost(own) });
    }
  },
};
