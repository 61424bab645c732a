/** The VRF of a network: its own routing table, so that networks with one subnet share a host (reference/node.md §2.2). */
import type { HostPart } from './host-network.ts';

export const vrf: HostPart = {
  rules: {
    vrf: {
      text: 'Each user-defined network with gateways has a VRF with a routing table that follows from its id; its alias says whose it is.',
      source: 'reference/node.md §2.2, 3; §1.2',
    },
  },
  build(all, { vrf: name, table }) {
    if (name !== undefined) all.by('vrf').link({ name, kind: 'vrf', table });
  },
};
