/** In local gateway mode what leaves the node over the host's network stack gets the host's address (reference/node.md §3.2). */
import { bitsOf, familyOf, nthAddress, type Family } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { ipWord, NftRows } from './nft-rows.ts';
import { NODE_MASQUERADE_BITS } from '../numbers.ts';
import { SETTINGS } from '../../desired/rows.ts';

const ENTRY = 'ovn-kube-local-gw-masq';
const PODS = 'ovn-kube-pod-subnet-masq';
const NETWORKS = 'ovn-kube-udn-masq';

export const masqueradeChains: Feature<ZoneFacts> = {
  name: 'nft/masquerade',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    masquerade: {
      text: 'In local gateway mode OVN, pods of the default network, and networks by their masquerade addresses leave with an address of the host; what networks send to services keeps its own.',
      source: 'reference/node.md §3.2',
    },
  },
  claims: [],
  build(facts, _args, out) {
    if (facts.own('gateway')?.mode !== 'local') return;
    const { settings } = facts;
    const rows = new NftRows(out, SETTINGS, 'masquerade');
    const families = clusterFamilies(settings).filter(
      (family) => settings.masqueradeSubnets[family] !== undefined,
    );
    for (const name of [ENTRY, PODS, NETWORKS] as const) rows.chain(name);
    rows.rules(
      ENTRY,
      ...families.map((family) => {
        const ovn = nthAddress(settings.masqueradeSubnets[family] ?? '', MASQUERADE_OFFSETS.ovn);
        return `${ipWord(family)} saddr ${ovn} masquerade`;
      }),
      `jump ${PODS}`,
      `jump ${NETWORKS}`,
    );
    rows.rules(
      PODS,
      ...facts
        .subnetsOn(DEFAULT_NETWORK, facts.nodeName)
        .map((cidr) => `${ipWord(familyOf(cidr))} saddr ${cidr} masquerade`),
    );
    rows.rules(NETWORKS, ...families.flatMap((family) => ofNetworks(settings, family)));
  },
};

/** One rule per range of services: what goes there is not translated here. */
function ofNetworks(
  { masqueradeSubnets, serviceSubnets }: ClusterSettings,
  family: Family,
): string[] {
  const subnet = masqueradeSubnets[family] ?? '';
  const nodes = `${nthAddress(subnet, 0)}/${bitsOf(family) - NODE_MASQUERADE_BITS}`;
  const ip = ipWord(family);
  return serviceSubnets
    .filter((cidr) => familyOf(cidr) === family)
    .map(
      (cidr) => `${ip} saddr != ${nodes} ${ip} daddr != ${cidr} ${ip} saddr ${subnet} masquerade`,
    );
}
