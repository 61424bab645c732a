/** Where the forwarder of DNS listens on the host, and where what it would answer goes while nobody listens (decisions/firewall-names.md). */
import { asHost } from '../../allocators/addresses.ts';
import { ONE } from '../../facts/keys.ts';
import type { Feature, Sink } from '../../desired/features.ts';
import { SETTINGS } from '../../desired/rows.ts';
import { DNS_PORT } from '../../model/rules/dns-forwarding.ts';
import type { DnsForwarding, ForwardedDns } from '../../model/zone/dns-forwarding.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { HostRows } from '../host-rows.ts';
import { MANAGEMENT_DEVICES, managementDevice } from '../names.ts';
import { ipWord, NftRows } from '../nftables/nft-rows.ts';
import { targetsText } from '../nftables/nft-targets.ts';
import { DEFAULT_NETWORK_ID, DNS_TABLE, MARK_DNS, RULE_DNS } from '../numbers.ts';

const DEVICE = managementDevice(DEFAULT_NETWORK_ID);

export const dnsForwarder: Feature<ZoneFacts> = {
  name: 'host/dns-forwarder',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    address: {
      text: 'The forwarder of DNS has an address of its own, on the port of the default network.',
      source: 'reference/egress.md §2.4',
    },
    endpoints: {
      text: 'While nobody listens there, the kernel leads what pods ask to the endpoints of DNS at once.',
      source: 'reference/egress.md §2.4; nft(8), SOCKET EXPRESSION',
    },
    closed: {
      text: 'Nobody else comes to the address, and to no other port.',
      source: 'reference/egress.md §2.4',
    },
    networks: {
      text: "What pods of primary networks ask DNS is the host's where the forwarder listens by the host's port on their network, and goes on to DNS elsewhere.",
      source: 'reference/egress.md §2.4; nft(8), SOCKET EXPRESSION',
    },
  },
  claims: [],
  build(facts, _args, out) {
    const { ways = [], serviceWays = [], networks = [] } = facts.forwardedDns() ?? {};
    if (networks.length > 0) buildNetworks(serviceWays, out);
    if (ways.length === 0) return;
    const address = new HostRows(out, SETTINGS, 'address');
    const endpoints = new NftRows(out, SETTINGS, 'endpoints');
    const closed = new NftRows(out, SETTINGS, 'closed');
    const addresses = [...new Map(ways.map((way) => [way.address, way])).values()];
    for (const way of addresses)
      address.address({
        dev: DEVICE,
        address: asHost(way.address),
        ...(way.family === 'v6' ? { deprecated: true } : {}),
      });
    for (const chain of ['dns-prerouting', 'dns-postrouting'] as const) endpoints.chain(chain);
    endpoints.rules('dns-prerouting', ...ways.flatMap((way) => leading(way)));
    // Answers come back to the host, which gives them to the pod.
    endpoints.rules(
      'dns-postrouting',
      ...addresses.map((way) => `ct status dnat ${asked(way)} masquerade`),
    );
    closed.chain('dns-input');
    closed.rules('dns-input', ...ways.map(allowed), ...addresses.map(refused));
  },
};

/** Each packet is looked at: who asks once more after the forwarder is gone gets to DNS. Of a connection, which ends with it, the first one. */
function buildNetworks(ways: readonly ForwardedDns[], out: Sink): void {
  const nft = new NftRows(out, SETTINGS, 'networks');
  nft.chain('dns-networks');
  const mark = `0x${MARK_DNS.toString(16)}`;
  const heard = `socket mark ${MARK_DNS}`;
  nft.rules(
    'dns-networks',
    ...ways.flatMap(({ family, protocol, clusterIp }) => {
      const asks = `iifname "${MANAGEMENT_DEVICES}" ${ipWord(family)} daddr ${clusterIp} ${protocol.toLowerCase()} dport ${DNS_PORT}`;
      return protocol === 'UDP'
        ? [`${asks} ${heard} meta mark set ${mark}`]
        : [
            `${asks} ct state new ${heard} ct mark set ${mark}`,
            `${asks} ct mark ${MARK_DNS} meta mark set ${mark}`,
          ];
    }),
  );
  const rows = new HostRows(out, SETTINGS, 'networks');
  for (const { family, clusterIp } of new Map(ways.map((way) => [way.clusterIp, way])).values()) {
    rows.rule({ family, priority: RULE_DNS, fwmark: mark, table: DNS_TABLE });
    rows.route({ family, table: DNS_TABLE, type: 'local', dst: asHost(clusterIp), dev: DEVICE });
  }
}

/** Connections that were begun with the address. */
const asked = ({ family, address }: ForwardedDns): string =>
  `ct original ${ipWord(family)} daddr ${address}`;

const to = ({ family, protocol, address, port }: ForwardedDns): string =>
  `iifname "${DEVICE}" ${ipWord(family)} daddr ${address} ${protocol.toLowerCase()} dport ${port}`;

const leading = (way: ForwardedDns): readonly string[] => [
  `${to(way)} socket wildcard 0 accept`,
  `${to(way)} ${targetsText(way.family, way.endpoints)}`,
];

const allowed = (way: ForwardedDns): string => `${to(way)} accept`;

const refused = ({ family, address }: ForwardedDns): string =>
  `${ipWord(family)} daddr ${address} drop`;

/** What `mgmtport-forward` lets through between ports on networks: from a pod to an endpoint, and back. */
export const forwardedDns = ({ ways }: Pick<DnsForwarding, 'ways'>): readonly string[] => [
  ...new Set(
    ways.map(
      (way) => `iifname "${DEVICE}" oifname "${DEVICE}" ct status dnat ${asked(way)} accept`,
    ),
  ),
];
