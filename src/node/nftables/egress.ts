/** Where egress services and egress addresses hook in: chains that do nothing while their maps are empty and nobody marks (reference/node.md §3.1, §3.7). */
import { familyOf, type Family } from '../../allocators/addresses.ts';
import { ONE } from '../../facts/keys.ts';
import { feature, type Feature } from '../../desired/features.ts';
import type { CardExit } from '../../model/zone/egress-ips.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { hasEgressFence } from '../../model/rules/egress-health.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import {
  egressIpLinks,
  egressServiceLinks,
  ELSEWHERE,
  FORWARDED,
  SERVICE_PODS,
} from './management-port-forward.ts';
import type { NftChange } from './nft-plan.ts';
import { concatenated, ipWord, NftRows, quoted } from './nft-rows.ts';
import { ofFamily } from './ruleset.ts';
import { MARK_SECONDARY_EGRESS, MARK_TO_NODE_ADDRESS } from '../numbers.ts';
import { SETTINGS } from '../../desired/rows.ts';

const SERVICES = 'egress-services';
export const SERVICE_SNAT = 'egress-service-snat';
/** Endpoints of egress services, each with the address that it leaves with. */
export const SERVICE_SOURCES = 'egress-service-sources';
export const SERVICE_NETWORKS = 'egress-service-networks';
const SERVICE_FILTER = 'egress-service-filter';
const ADDRESSES = 'egress-ip-snat';
const LEFT_WITH = 'egress-ip-addresses';
const CONNECTIONS = 'egress-ip-connmark';
const HERE = 'egress-ip-here';
const INPUT = 'egress-ip-input';
const LEAKS = 'egress-ip-sec-filter';
const LEASED = 'egress-ip-leased';
/** After all other rules of its chain. */
const LAPSED_ORDER = 1000;
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
    'egress-service-sources': {
      text: 'What they send leaves with that address or not at all, also what belongs to a connection from before, or to none.',
      source: 'reference/egress.md §4.3',
    },
    'egress-addresses': {
      text: 'A pod with an egress address on another network card leaves with it.',
      source: 'reference/node.md §3.7, egress IP, other NIC',
    },
    'egress-connections': {
      text: 'In local gateway mode answers to what egress marked have the mark of their connection.',
      source: 'reference/node.md §3.7, LGW connmark',
    },
    'egress-input': {
      text: 'The kernel answers for egress addresses, and no process of the host is reached by them: what begins a connection to one is dropped. Neighbour discovery is not tracked.',
      source: 'reference/node.md §3.7, egress IP, host; reference/egress.md §1.10',
    },
    'egress-leaks': {
      text: 'What was to leave by another network card with an egress address leaves with one or not at all, also what belongs to a connection that was translated otherwise before, or to none.',
      source: 'reference/node.md §3.7, leak guard; reference/egress.md §1.13, G2',
    },
    'egress-lapsed': {
      text: 'A network card is left with no egress address that the kernel took away because no daemon renewed its lease.',
      source: 'reference/egress.md §1.13',
    },
  },
  claims: [],
  build(facts, _args, out) {
    const families = clusterFamilies(facts.settings);
    const by = (rule: string): NftRows => new NftRows(out, SETTINGS, rule);
    const { egressIp } = facts.settings.features;
    const services = by('egress-services');
    services.chain(SERVICES);
    for (const family of families)
      for (const set of [SERVICE_SNAT, SERVICE_SOURCES, SERVICE_PODS, SERVICE_NETWORKS] as const)
        services.set(set, family);
    services.rules(
      SERVICES,
      `meta mark ${TO_NODE_ADDRESS} return`,
      ...families.map((family) => {
        const ip = ipWord(family);
        return `snat ${ip} to ${ip} saddr map @${ofFamily(SERVICE_SNAT, family)}`;
      }),
      ...families.map(
        (family) => `${ipWord(family)} saddr @${ofFamily(SERVICE_NETWORKS, family)} masquerade`,
      ),
    );
    buildServiceFilter(by('egress-service-sources'), facts);
    if (!egressIp) return;
    const addresses = by('egress-addresses');
    addresses.chain(ADDRESSES);
    for (const family of families)
      for (const set of [ADDRESSES, LEFT_WITH] as const) addresses.set(set, family);
    addresses.rules(
      ADDRESSES,
      ...families.map((family) => {
        const ip = ipWord(family);
        return `snat ${ip} to ${ip} saddr . oifname map @${ofFamily(ADDRESSES, family)}`;
      }),
    );
    const input = by('egress-input');
    input.chain(INPUT);
    for (const family of families) input.set(HERE, family);
    input.rules(
      INPUT,
      ...families.map(
        (family) => `ct direction original ${ipWord(family)} daddr @${ofFamily(HERE, family)} drop`,
      ),
    );
    buildLeaks(by('egress-leaks'), facts);
    if (hasEgressFence(facts.settings)) buildLapsed(by('egress-lapsed'), families);
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

/** By the connection it is known who sends, whatever address it has by now. */
function buildServiceFilter(rows: NftRows, facts: ZoneFacts): void {
  const families = clusterFamilies(facts.settings);
  rows.chain(SERVICE_FILTER);
  rows.rules(
    SERVICE_FILTER,
    `meta mark ${TO_NODE_ADDRESS} accept`,
    ...families.flatMap((family) => {
      const ip = ipWord(family);
      const began = `ct original ${ip} saddr`;
      const networks = `@${ofFamily(SERVICE_NETWORKS, family)}`;
      return [
        `${began} . ${ip} saddr @${ofFamily(SERVICE_SOURCES, family)} accept`,
        `${began} ${networks} ${ip} saddr != ${networks} accept`,
        `ct direction original ${began} @${ofFamily(SERVICE_PODS, family)} drop`,
      ];
    }),
    ...untranslated(families, (family) => egressServiceLinks(facts.settings, family)),
  );
}

/** What has such an address still: of a connection that nobody knows (an end of one that was forgotten), which no connection's address tells. */
const untranslated = (
  families: readonly Family[],
  linksOf: (family: Family) => string | undefined,
): readonly string[] =>
  families.flatMap((family) => {
    const links = linksOf(family);
    return links === undefined ? [] : [`${ipWord(family)} saddr ${links} drop`];
  });

function buildLeaks(rows: NftRows, facts: ZoneFacts): void {
  const families = clusterFamilies(facts.settings);
  rows.chain(LEAKS);
  const subnets = facts.networks.part(DEFAULT_NETWORK, 'subnets') ?? [];
  rows.rules(
    LEAKS,
    ...subnets.map(
      ({ cidr }) =>
        `${ipWord(familyOf(cidr))} saddr ${cidr} meta mark ${MARK_SECONDARY_EGRESS} drop`,
    ),
    ...families.map((family) => {
      const ip = ipWord(family);
      return `ct original ${ip} saddr . oifname @${ofFamily(FORWARDED, family)} oifname . ${ip} saddr != @${ofFamily(LEFT_WITH, family)} drop`;
    }),
    ...untranslated(families, (family) => egressIpLinks(facts.settings, family)),
  );
}

/** Behind what leaks: the chain is theirs. */
function buildLapsed(rows: NftRows, families: readonly Family[]): void {
  for (const family of families) {
    rows.set(LEASED, family);
    const text = `${ipWord(family)} saddr @${ofFamily(LEASED, family)} fib saddr type != local drop`;
    rows.rule(text, { chain: LEAKS, text, order: LAPSED_ORDER });
  }
}

/** A pod that leaves by a network card of this node. */
export const egressCardPod = feature({
  name: 'nft/egress-card-pod',
  over: ({ egressPorts }: ZoneFacts) => egressPorts,
  objects(facts, key) {
    const egressIp = facts.egressPorts.peek(...key)?.egressIp;
    return egressIp === undefined ? undefined : [`EgressIP ${egressIp}`];
  },
  rules: {
    'egress-pod': {
      text: 'A pod with an egress address on another network card leaves by that card with it.',
      source: 'reference/egress.md §1.11',
    },
  },
  claims: [],
  build(facts, key, out) {
    const egressIp = facts.egressPorts.part(key, 'egressIp');
    if (egressIp === undefined) return;
    const rows = new NftRows(out, `EgressIP ${egressIp}`, 'egress-pod');
    for (const exit of facts.cardExitsOf(...key)) addExit(rows, exit);
  },
});

/** A pod of this node that does not leave as the node: in local gateway mode all that pods send could pass the host. */
export const egressPodElsewhere = feature({
  name: 'nft/egress-pod-elsewhere',
  over: ({ egressPorts }: ZoneFacts) => egressPorts,
  objects(facts, key) {
    const egressIp = facts.egressPorts.peek(...key)?.egressIp;
    return egressIp === undefined ? undefined : [`EgressIP ${egressIp}`];
  },
  rules: {
    'egress-elsewhere': {
      text: 'A pod with an EgressIP is known by its address, wherever its egress address is.',
      source: 'reference/egress.md §1.13',
    },
  },
  claims: [],
  build(facts, key, out) {
    const port = facts.egressPorts.get(...key);
    if (port?.isOwn !== true || port.network !== DEFAULT_NETWORK) return;
    if (facts.own('gateway')?.mode !== 'local') return;
    const rows = new NftRows(out, `EgressIP ${port.egressIp}`, 'egress-elsewhere');
    for (const element of port.addresses)
      rows.element({ set: ofFamily(ELSEWHERE, familyOf(element)), element });
  },
});

/** What networks of users send out by network cards of this node. */
export const egressCardNetworks = feature({
  name: 'nft/egress-card-networks',
  over: (facts: ZoneFacts) => facts.egressUses,
  objects: (_facts, [egressIp]) => [`EgressIP ${egressIp}`],
  rules: {
    'egress-networks': {
      text: 'What networks of users send out by a network card is known by an address of the EgressIP, and leaves by that card with its address there.',
      source: 'reference/egress.md §1.11',
    },
  },
  claims: [],
  build(facts, [egressIp], out) {
    const rows = new NftRows(out, `EgressIP ${egressIp}`, 'egress-networks');
    for (const exit of facts.cardExitsOfNetworks(egressIp)) addExit(rows, exit);
  },
});

function addExit(rows: NftRows, { from, card, egressAddress }: CardExit): void {
  const element = concatenated(from, quoted(card));
  const family = familyOf(from);
  rows.element({ set: ofFamily(ADDRESSES, family), element, value: egressAddress });
  rows.element({ set: ofFamily(FORWARDED, family), element });
}

/** True for an element by which an egress address is left with only while its card has it: it comes after the address, and goes before it. */
export const isLeaseElement = ({ table, key }: Pick<NftChange, 'table' | 'key'>): boolean =>
  table === 'element' && key.startsWith(`${LEASED}-`);

/** Its addresses on this node. */
export const egressAddressElements = feature({
  name: 'nft/egress-address',
  over: (facts: ZoneFacts) => facts.egressIps.bucket('here'),
  objects: (_facts, [egressIp]) => [`EgressIP ${egressIp}`],
  rules: {
    'egress-address': {
      text: 'A network card is left with its own egress addresses, and by these nobody comes in.',
      source: 'reference/egress.md §1.10, §1.11',
    },
    'egress-leased': {
      text: 'Those that a network card has are left with for as long as it has them.',
      source: 'reference/egress.md §1.13',
    },
  },
  claims: [],
  build(facts, [egressIp], out) {
    const rows = new NftRows(out, `EgressIP ${egressIp}`, 'egress-address');
    const leased = new NftRows(out, `EgressIP ${egressIp}`, 'egress-leased');
    const told = facts.own('egressAddresses');
    for (const { address, card, role } of facts.egressAddressesHere(egressIp)) {
      const family = familyOf(address);
      rows.element({ set: ofFamily(HERE, family), element: address });
      if (card !== undefined)
        rows.element({
          set: ofFamily(LEFT_WITH, family),
          element: concatenated(quoted(card), address),
        });
      // As long as it is only to come here, or goes on elsewhere, pods leave with it although the card has it not.
      const isLeased = card !== undefined && role === 'holder' && told.includes(address);
      if (isLeased && hasEgressFence(facts.settings))
        leased.element({ set: ofFamily(LEASED, family), element: address });
    }
  },
});
