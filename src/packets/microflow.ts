/** The packet that ovn-trace(8) is asked about, from values that were read alone. Pure. */
import {
  containsAddress,
  formatAddress,
  ipOf,
  parseAddress,
  parseInterfaceAddress,
  parseMac,
  parsePrefix,
  prefixOf,
  withoutPrefix,
} from '../allocators/addresses.ts';
import { leadingRoutes, type PodNetwork } from '../api/annotations/pod-annotations.ts';
import type { Protocol } from './asked-packet.ts';

export interface Packet {
  /** Logical port. */
  readonly inport: string;
  readonly fromMac: string;
  readonly toMac: string;
  readonly from: string;
  readonly to: string;
  readonly protocol: Protocol;
  /** Of TCP, UDP and SCTP. */
  readonly fromPort?: number;
  readonly toPort?: number;
  /** Of ICMP: the answer to an echo, not the request. */
  readonly isAnswer?: boolean;
}

/** A value that was to go into an expression is none of its kind. */
export class MicroflowError extends Error {
  readonly code = 'MICROFLOW';
}

/** Of a connection that somebody begins: the first of those that Linux gives away (ip_local_port_range). */
export const CLIENT_PORT = 32_768;
/** Types of echo requests and replies (RFC 792, RFC 4443 §4). */
const ECHO = { ip4: ['icmp4', 8, 0], ip6: ['icmp6', 128, 129] } as const;

/** The expression of the packet (ovn-trace(8), MICROFLOW). Throws MicroflowError for what is no address, port or name. */
export function microflow(packet: Packet): string {
  const { inport, protocol, isAnswer = false } = packet;
  const ip = ipOf(packet.to);
  const [icmp, request, reply] = ECHO[ip];
  const payload =
    protocol === 'icmp'
      ? [`${icmp}.type == ${isAnswer ? reply : request}`, `${icmp}.code == 0`]
      : [
          `${protocol}.src == ${portIn(packet.fromPort)}`,
          `${protocol}.dst == ${portIn(packet.toPort)}`,
        ];
  return [
    `inport == ${quoted(inport)}`,
    `eth.src == ${macIn(packet.fromMac)}`,
    `eth.dst == ${macIn(packet.toMac)}`,
    `${ip}.src == ${addressIn(packet.from, ip)}`,
    `${ip}.dst == ${addressIn(packet.to, ip)}`,
    'ip.ttl == 64',
    ...payload,
  ].join(' && ');
}

/** Protocols and types of echo as OpenFlow has them (ovs-fields(7)). */
const OPENFLOW_ECHO = {
  ip4: ['icmp', 'icmp_type', 8, 0],
  ip6: ['icmp6', 'icmpv6_type', 128, 129],
} as const;

/** The same packet as a flow that comes by a port of a bridge, for `ofproto/trace` (ovs-vswitchd(8)). Throws MicroflowError. */
export function bridgeFlow(packet: Packet, port: number): string {
  const { protocol, isAnswer = false } = packet;
  const ip = ipOf(packet.to);
  const [source, target] = ip === 'ip4' ? ['nw_src', 'nw_dst'] : ['ipv6_src', 'ipv6_dst'];
  const [icmp, type, request, reply] = OPENFLOW_ECHO[ip];
  const [kind, ...payload] =
    protocol === 'icmp'
      ? [icmp, `${type}=${isAnswer ? reply : request}`, `${type.replace('type', 'code')}=0`]
      : [
          ip === 'ip4' ? protocol : `${protocol}6`,
          `${protocol}_src=${portIn(packet.fromPort)}`,
          `${protocol}_dst=${portIn(packet.toPort)}`,
        ];
  return [
    kind,
    `in_port=${portIn(port)}`,
    `dl_src=${macIn(packet.fromMac)}`,
    `dl_dst=${macIn(packet.toMac)}`,
    `${source}=${addressIn(packet.from, ip)}`,
    `${target}=${addressIn(packet.to, ip)}`,
    'nw_ttl=64',
    ...payload,
  ].join(',');
}

/** A text in the way of JSON, as OVN's lexer reads it (ovn-sb(5), Logical_Flow match); control characters are in no name of a port. */
function quoted(name: string): string {
  if (!/^[\w.:+/@~-]+$/.test(name))
    throw new MicroflowError(`${JSON.stringify(name)} is no name of a port`);
  return JSON.stringify(name);
}

function macIn(text: string): string {
  const mac = parseMac(text);
  if (mac === undefined) throw new MicroflowError(`${JSON.stringify(text)} is no MAC address`);
  return mac;
}

function addressIn(text: string, ip: 'ip4' | 'ip6'): string {
  const address = parseAddress(text);
  if (address === undefined || ipOf(text) !== ip)
    throw new MicroflowError(`${JSON.stringify(text)} is no address of ${ip}`);
  return formatAddress(address);
}

function portIn(port: number | undefined): number {
  if (port === undefined || !Number.isInteger(port) || port < 1 || port > 65_535)
    throw new MicroflowError(`${String(port)} is no port`);
  return port;
}

/** The interface by which a pod sends to an address, as its routes are. */
export interface SendingInterface {
  /** NAD key. */
  readonly nadKey: string;
  readonly network: PodNetwork;
  /** Address of the pod that it sends from. */
  readonly from: string;
  /** Who gets the frame: the destination itself, or a gateway. */
  readonly nextHop: string;
}

/**
 * Of the interfaces of a pod the one with the longest route to an address; undefined where none leads there. `source`: the address that the packet has already, as an
 * answer has: that of a secondary network with a gateway leaves by it, wherever it goes.
 */
export function sendingInterface(
  networks: ReadonlyMap<string, PodNetwork>,
  destination: string,
  source?: string,
): SendingInterface | undefined {
  const to = parseAddress(destination);
  if (to === undefined) return undefined;
  for (const [nadKey, network] of networks) {
    const own = network.addresses.find((text) => withoutPrefix(text) === source);
    const link = own === undefined ? undefined : parseInterfaceAddress(own);
    const [gateway] = leadingRoutes(network)
      .filter(({ dest }) => parsePrefix(dest)?.family === to.family)
      .map(({ nextHop }) => nextHop);
    if (link !== undefined && gateway !== undefined) {
      const nextHop = containsAddress(prefixOf(link), to) ? destination : gateway;
      return { nadKey, network, from: formatAddress(link), nextHop };
    }
  }
  const ways = [...networks].flatMap(([nadKey, network]) => {
    const own = network.addresses
      .map((text) => ({ text, address: parseInterfaceAddress(text) }))
      .find(({ address }) => address?.family === to.family)?.address;
    if (own === undefined) return [];
    const common = { nadKey, network, from: formatAddress(own) };
    const link = prefixOf(own);
    const onLink = containsAddress(link, to)
      ? [{ ...common, length: link.length, nextHop: destination }]
      : [];
    const routed = network.routes.flatMap(({ dest, nextHop }) => {
      const prefix = parsePrefix(dest);
      return prefix !== undefined && containsAddress(prefix, to)
        ? [{ ...common, length: prefix.length, nextHop: nextHop ?? destination }]
        : [];
    });
    const gateway = network.gateways.find((one) => parseAddress(one)?.family === to.family);
    const byDefault = gateway === undefined ? [] : [{ ...common, length: 0, nextHop: gateway }];
    return [...onLink, ...routed, ...byDefault];
  });
  const rank = ({ network }: { network: PodNetwork }): number =>
    network.role === 'primary' ? 0 : network.role === undefined ? 1 : 2;
  const [best] = ways.toSorted((a, b) => b.length - a.length || rank(a) - rank(b));
  return best;
}
