/** Chains that packets come in by, and the sets and maps that their rules look into (reference/node.md §3.1, §3.3, §3.4). */
import { familyOf, type Family } from '../../allocators/addresses.ts';
import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { MANAGEMENT_DEVICES, managementDevice } from '../names.ts';
import { ipWord, NftRows } from './nft-rows.ts';
import { ofFamily } from './ruleset.ts';
import { DEFAULT_NETWORK_ID, INTERNALLY_LOCAL_MARK } from '../numbers.ts';
import { OTHER_ADDRESSES, OWN_ADDRESSES } from './node-addresses.ts';
import { SETTINGS } from '../../desired/rows.ts';

/** Protocol and port of a packet, whatever its family. */
const PACKET_PORT = 'meta l4proto . th dport';
const packetSocket = (family: Family): string => `${ipWord(family)} daddr . ${PACKET_PORT}`;
/**
 * Of a packet out of a VRF Linux 6.16, and what took that over, looks up what its IPv4 address is in the table of the VRF, where those of the
 * host are not local.
 */
const isOwnAddress = (family: Family): string =>
  `${ipWord(family)} daddr @${ofFamily(OWN_ADDRESSES, family)}`;

export const baseChains: Feature<ZoneFacts> = {
  name: 'nft/base-chains',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    services: {
      text: 'What is sent to a node port or an external address goes on to the cluster address of its service; local policies come first.',
      source: 'reference/node.md §3.1, §3.3',
    },
    marks: {
      text: "What is sent to a node port or an external address of a network's service is marked for the network before that; of what comes by their management port from pods of the default network, node ports of this node alone.",
      source: 'reference/node.md §3.1, §3.4',
    },
    sources: {
      text: 'What is marked for a network goes to the bridge with an address by which the bridge knows the network: marks are lost where the bridge is of the userspace datapath.',
      source: 'reference/node.md §3.4, §4.3',
    },
    'path-mtu': {
      text: 'The host never tells other nodes that a packet was too big: tunnels know the MTU.',
      source: 'reference/node.md §3.1',
    },
  },
  claims: [],
  build(facts, _args, out) {
    const { settings } = facts;
    const families = clusterFamilies(settings);
    const services = new NftRows(out, SETTINGS, 'services');
    buildSets(services, families);
    buildServices(services, families);
    buildMarks(new NftRows(out, SETTINGS, 'marks'), families);
    buildSources(new NftRows(out, SETTINGS, 'sources'), facts, families);
    buildPathMtu(new NftRows(out, SETTINGS, 'path-mtu'), families);
  },
};

const ADDRESS_SETS = [
  OWN_ADDRESSES,
  'nodeports',
  'nodeports-etp-local',
  'external-ips',
  'external-ips-etp-local',
  'itp-services-to-redirect',
  'itp-services-to-mark',
  'mgmtport-no-snat-services',
] as const;

function buildSets(rows: NftRows, families: readonly Family[]): void {
  rows.set('mgmtport-no-snat-nodeports');
  for (const family of families) for (const name of ADDRESS_SETS) rows.set(name, family);
}

function buildServices(rows: NftRows, families: readonly Family[]): void {
  for (const name of [
    'services-prerouting',
    'services-output',
    'services-itp-mark',
    'services',
    'services-etp',
    'services-etp-no-nodeport',
    'services-itp',
  ] as const)
    rows.chain(name);
  // What pods send is not from outside; besides, out of the VRF of their network it would never get to the endpoints of another one.
  const fromOutside = `iifname != "${MANAGEMENT_DEVICES}"`;
  rows.rules(
    'services-prerouting',
    `${fromOutside} jump services-etp`,
    `${fromOutside} jump services-etp-no-nodeport`,
    'jump services',
  );
  rows.rules('services-output', 'jump services-itp', 'jump services');
  const toExternal = (suffix: '' | '-etp-local'): string[] =>
    families.map(
      (family) =>
        `dnat ${ipWord(family)} to ${packetSocket(family)} map @${ofFamily(`external-ips${suffix}`, family)}`,
    );
  const toNodePorts = (
    isNode: (family: Family) => string,
    suffix: '' | '-etp-local' = '',
  ): string[] =>
    families.map(
      (family) =>
        `${isNode(family)} dnat ${ipWord(family)} to ${PACKET_PORT} map @${ofFamily(`nodeports${suffix}`, family)}`,
    );
  const isLocal = (): string => 'fib daddr type local';
  rows.rules('services', ...toExternal(''), ...toNodePorts(isLocal), ...toNodePorts(isOwnAddress));
  rows.rules('services-etp', ...toExternal('-etp-local'), ...toNodePorts(isLocal, '-etp-local'));
  rows.rules(
    'services-itp',
    ...families.map(
      (family) =>
        `meta l4proto { tcp, udp, sctp } redirect to ${packetSocket(family)} map @${ofFamily('itp-services-to-redirect', family)}`,
    ),
  );
  rows.rules(
    'services-itp-mark',
    ...families.map(
      (family) =>
        `${packetSocket(family)} @${ofFamily('itp-services-to-mark', family)} meta mark set ${INTERNALLY_LOCAL_MARK}`,
    ),
  );
}

function buildMarks(rows: NftRows, families: readonly Family[]): void {
  for (const name of ['udn-service-prerouting', 'udn-service-output', 'udn-service-mark'] as const)
    rows.chain(name);
  rows.set('udn-mark-nodeports');
  for (const family of families)
    for (const name of ['udn-mark-external-ips', 'udn-mark-cluster-ips'] as const)
      rows.set(name, family);
  rows.rules(
    'udn-service-prerouting',
    `iifname != "${managementDevice(DEFAULT_NETWORK_ID)}" jump udn-service-mark`,
  );
  rows.rules(
    'udn-service-output',
    'jump udn-service-mark',
    // Host processes reach what pods on the host's network are to reach (reference/node.md §3.8).
    ...families.map(
      (family) => `${ipWord(family)} daddr vmap @${ofFamily('udn-mark-cluster-ips', family)}`,
    ),
  );
  rows.rules(
    'udn-service-mark',
    `fib daddr type local ${PACKET_PORT} vmap @udn-mark-nodeports`,
    ...families.map((family) => `${isOwnAddress(family)} ${PACKET_PORT} vmap @udn-mark-nodeports`),
    ...families.map(
      (family) => `${packetSocket(family)} vmap @${ofFamily('udn-mark-external-ips', family)}`,
    ),
  );
}

/** ICMP "fragmentation needed" and ICMPv6 "packet too big". */
const TOO_BIG = {
  v4: 'icmp type 3 icmp code 4',
  v6: 'icmpv6 type 2 icmpv6 code 0',
} as const;

/** The chain's own rules begin with 0, and leave what does not go to the port. */
const BEFORE_OTHERS = -1;

function buildSources(rows: NftRows, facts: ZoneFacts, families: readonly Family[]): void {
  const bridge = facts.own('gateway')?.bridge;
  for (const family of families) rows.set('udn-host-sources', family);
  if (bridge === undefined) return;
  for (const subnet of facts.settings.serviceSubnets) {
    const family = familyOf(subnet);
    if (!families.includes(family)) continue;
    const text = `oifname "${bridge}" ${ipWord(family)} daddr ${subnet} snat ${ipWord(family)} to meta mark map @${ofFamily('udn-host-sources', family)}`;
    rows.rule(text, { chain: 'mgmtport-snat', text, order: BEFORE_OTHERS });
  }
}

function buildPathMtu(rows: NftRows, families: readonly Family[]): void {
  rows.chain('no-pmtud');
  for (const family of families) rows.set(OTHER_ADDRESSES, family);
  rows.rules(
    'no-pmtud',
    ...families.map(
      (family) =>
        `${TOO_BIG[family]} ${ipWord(family)} daddr @${ofFamily(OTHER_ADDRESSES, family)} drop`,
    ),
  );
}
