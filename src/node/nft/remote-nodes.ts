/** Addresses of other nodes: the host tells them nothing of packets that were too big (node.md §3.1). */
import { familyOf, withoutPrefix } from '../../allocators/addresses.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/facts.ts';
import { clusterFamilies } from '../../model/network-addresses.ts';
import { NftRows, ofFamily } from '../nft-rows.ts';
import { plainAddress } from '../plain-address.ts';

export const remoteNodeAddresses: Feature<ZoneFacts> = {
  name: 'nft/remote-node',
  over: ({ remoteNodes }) => remoteNodes,
  rules: {
    addresses: {
      text: 'Every address of another node is known as such.',
      source: 'node.md §3.1, §3.3',
    },
  },
  claims: [],
  build(facts, [name = ''], out) {
    const rows = new NftRows(out, `Node ${name}`, 'addresses');
    const families = clusterFamilies(facts.settings);
    for (const address of facts.remoteNodes.part(name, 'hostAddresses') ?? []) {
      const element = plainAddress(withoutPrefix(address));
      const family = familyOf(address);
      if (element !== undefined && families.includes(family))
        rows.element({ set: ofFamily('remote-node-ips', family), element });
    }
  },
};
