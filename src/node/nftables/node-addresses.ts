/** Addresses of other nodes, which the host tells nothing of packets that were too big (reference/node.md §3.1), and those of this node, where its node ports are. */
import { familyOf, withoutPrefix } from '../../allocators/addresses.ts';
import { ONE } from '../../facts/keys.ts';
import { feature, type Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { NftRows } from './nft-rows.ts';
import { ofFamily, type SetName } from './ruleset.ts';
import { plainAddress } from '../plain-address.ts';
import { SETTINGS } from '../../desired/rows.ts';

/** Names of sets, without their family. */
export const OTHER_ADDRESSES = 'remote-node-ips';
export const OWN_ADDRESSES = 'local-node-ips';

function addElements(
  rows: NftRows,
  settings: ClusterSettings,
  set: SetName,
  addresses: readonly string[],
): void {
  const families = clusterFamilies(settings);
  for (const element of new Set(addresses.map((one) => plainAddress(withoutPrefix(one)))))
    if (element !== undefined && families.includes(familyOf(element)))
      rows.element({ set: ofFamily(set, familyOf(element)), element });
}

export const remoteNodeAddresses = feature({
  name: 'nft/remote-node',
  over: ({ remoteNodes }: ZoneFacts) => remoteNodes,
  objects: (_facts, [name]) => [`Node ${name}`],
  rules: {
    addresses: {
      text: 'Every address of another node is known as such.',
      source: 'reference/node.md §3.1, §3.3',
    },
  },
  claims: [],
  build(facts, [name], out) {
    const addresses = facts.remoteNodes.part(name, 'hostAddresses') ?? [];
    const rows = new NftRows(out, `Node ${name}`, 'addresses');
    addElements(rows, facts.settings, OTHER_ADDRESSES, addresses);
  },
});

export const ownNodeAddresses: Feature<ZoneFacts> = {
  name: 'nft/own-node',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    addresses: {
      text: 'Node ports are at every address of this node, also for what comes out of a VRF.',
      source: 'reference/node.md §3.3, §3.4; Linux 6.16, nft_fib_ipv4.c',
    },
  },
  claims: [],
  build(facts, _args, out) {
    const rows = new NftRows(out, SETTINGS, 'addresses');
    addElements(rows, facts.settings, OWN_ADDRESSES, facts.own('hostAddresses'));
  },
};
