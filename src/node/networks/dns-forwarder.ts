/** Where the forwarder of DNS listens on the host, and where what it would answer goes while nobody listens (decisions/firewall-names.md). */
import { asHost } from '../../allocators/addresses.ts';
import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import { SETTINGS } from '../../desired/rows.ts';
import type { DnsForwarding, ForwardedDns } from '../../model/zone/dns-forwarding.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { HostRows } from '../host-rows.ts';
import { managementDevice } from '../names.ts';
import { ipWord, NftRows } from '../nftables/nft-rows.ts';
import { targetsText } from '../nftables/nft-targets.ts';
import { DEFAULT_NETWORK_ID } from '../numbers.ts';

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
  },
  claims: [],
  build(facts, _args, out) {
    const { ways } = facts.forwardedDns() ?? { ways: [] };
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
