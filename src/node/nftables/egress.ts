/** Where egress services and egress addresses hook in: chains that do nothing while their maps are empty and nobody marks (reference/node.md §3.1, §3.7). */
import { familyOf } from '../../allocators/addresses.ts';
import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { ipWord, NftRows } from './nft-rows.ts';
import { ofFamily } from './ruleset.ts';
import { MARK_SECONDARY_EGRESS, MARK_TO_NODE_ADDRESS } from '../numbers.ts';
import { SETTINGS } from '../../desired/rows.ts';

const SERVICES = 'egress-services';
const SERVICE_SNAT = 'egress-service-snat';
const ADDRESSES = 'egress-ip-snat';
const CONNECTIONS = 'egress-ip-connmark';
const LEAKS = 'egress-ip-sec-filter';
/** nft lists marks that are compared as decimal numbers. */
const TO_NODE_ADDRESS = Number(MARK_TO_NODE_ADDRESS);

export const egressChains: Feature<ZoneFacts> = {
  name: 'nft/egress',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'egress-services': {
      text: 'Endpoints of an egress service leave with the address of its load balancer, unless the bridge gives them that of the node.',
      source: 'reference/node.md §3.7, egress service',
    },
    'egress-addresses': {
      text: 'A pod with an egress address on another network card leaves with it.',
      source: 'reference/node.md §3.7, egress IP, other NIC',
    },
    'egress-connections': {
      text: 'In local gateway mode answers to what egress marked have the mark of their connection.',
      source: 'reference/node.md §3.7, LGW connmark',
    },
    'egress-leaks': {
      text: "What was to leave by another network card and still has a pod's address is dropped.",
      source: 'reference/node.md §3.7, leak guard',
    },
  },
  claims: [],
  build(facts, _args, out) {
    const families = clusterFamilies(facts.settings);
    const by = (rule: string): NftRows => new NftRows(out, SETTINGS, rule);
    const { egressIp } = facts.settings.features;
    const services = by('egress-services');
    services.chain(SERVICES);
    for (const family of families) services.set(SERVICE_SNAT, family);
    services.rules(
      SERVICES,
      `meta mark ${TO_NODE_ADDRESS} return`,
      ...families.map((family) => {
        const ip = ipWord(family);
        return `snat ${ip} to ${ip} saddr map @${ofFamily(SERVICE_SNAT, family)}`;
      }),
    );
    if (!egressIp) return;
    const addresses = by('egress-addresses');
    addresses.chain(ADDRESSES);
    for (const family of families) addresses.set(ADDRESSES, family);
    addresses.rules(
      ADDRESSES,
      ...families.map((family) => {
        const ip = ipWord(family);
        return `snat ${ip} to ${ip} saddr . oifname map @${ofFamily(ADDRESSES, family)}`;
      }),
    );
    buildLeaks(by('egress-leaks'), facts);
    if (facts.own('gateway')?.mode !== 'local') return;
    const connections = by('egress-connections');
    connections.chain(CONNECTIONS);
    connections.rules(
      CONNECTIONS,
      'meta mark 0 meta mark set ct mark',
      `meta mark ${TO_NODE_ADDRESS} ct mark set meta mark`,
    );
  },
};

function buildLeaks(rows: NftRows, facts: ZoneFacts): void {
  rows.chain(LEAKS);
  const subnets = facts.networks.part(DEFAULT_NETWORK, 'subnets') ?? [];
  rows.rules(
    LEAKS,
    ...subnets.map(
      ({ cidr }) =>
        `${ipWord(familyOf(cidr))} saddr ${cidr} meta mark ${MARK_SECONDARY_EGRESS} drop`,
    ),
  );
}
