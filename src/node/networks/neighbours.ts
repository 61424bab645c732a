/** Neighbours that nobody answers for, or that are known beforehand (reference/node.md §2.1, §2.2). */
import { macOf } from '../../allocators/addresses.ts';
import type { HostPart } from './host-network.ts';

export const neighbours: HostPart = {
  rules: {
    'gateway-neighbour': {
      text: 'The gateway of the default network has the MAC address that follows from its address.',
      source: 'reference/node.md §2.1',
    },
    'gateway-router-neighbour': {
      text: "The masquerade address of a network's gateway router is a neighbour on the external bridge.",
      source: 'reference/node.md §2.2, 8',
    },
  },
  build(rows, on) {
    const [first] = on.ranges;
    for (const range of on.ranges) {
      if (on.isDefault)
        rows.by('gateway-neighbour').neighbour({
          dev: on.device,
          address: range.gateway,
          // Both families have the one of the first (reference/node.md §2.1).
          mac: macOf(first?.gateway ?? range.gateway),
        });
      const own = on.network.masquerade[range.family]?.gatewayRouter;
      if (own !== undefined && on.gateway !== undefined)
        rows
          .by('gateway-router-neighbour')
          .neighbour({ dev: on.gateway.bridge, address: own, mac: macOf(own) });
    }
  },
};
