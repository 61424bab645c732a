/** Frames as bytes, for a program that sends what no kernel would: every field is the caller's, right or wrong. */
import { bitsOf, parseAddress } from '../../../src/allocators/addresses.ts';

/** An address, IPv4 or IPv6, in network order. */
export function addressBytes(text: string): Buffer {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`${text} is no address`);
  const digits = bitsOf(address.family) / 4;
  return Buffer.from(address.value.toString(16).padStart(digits, '0'), 'hex');
}

const macBytes = (mac: string): Buffer => Buffer.from(mac.replaceAll(':', ''), 'hex');

const words = (...numbers: readonly number[]): Buffer =>
  Buffer.from(numbers.flatMap((number) => [(number >> 8) & 0xff, number & 0xff]));

export const ETHERTYPE = {
  ipv4: 0x0800,
  arp: 0x0806,
  vlan: 0x8100,
  ipv6: 0x86dd,
  mpls: 0x8847,
  pppoe: 0x8864,
  eapol: 0x888e,
  serviceVlan: 0x88a8,
  lldp: 0x88cc,
  ptp: 0x88f7,
} as const;

export const PROTOCOL = {
  hopByHop: 0,
  icmp: 1,
  igmp: 2,
  ipv4: 4,
  tcp: 6,
  udp: 17,
  ipv6: 41,
  routing: 43,
  fragment: 44,
  gre: 47,
  esp: 50,
  ah: 51,
  icmpv6: 58,
  destination: 60,
} as const;

/** `type` is an ethertype, or below 1536 a length (IEEE 802.3). Padded to the smallest frame. */
export function ethernet(to: string, from: string, type: number, payload: Buffer): Buffer {
  const frame = Buffer.concat([macBytes(to), macBytes(from), words(type), payload]);
  return frame.length >= 60 ? frame : Buffer.concat([frame, Buffer.alloc(60 - frame.length)]);
}

/** A tag in front of a payload of type `inner`. */
export const vlan = (id: number, inner: number, payload: Buffer): Buffer =>
  Buffer.concat([words(id, inner), payload]);

/** Ones' complement sum (RFC 1071). */
function checksum(bytes: Buffer): number {
  const even = bytes.length % 2 === 0 ? bytes : Buffer.concat([bytes, Buffer.alloc(1)]);
  let sum = 0;
  for (let at = 0; at < even.length; at += 2) sum += even.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

export interface Ipv4Fields {
  readonly from: string;
  readonly to: string;
  readonly protocol: number;
  readonly ttl?: number;
  /** Flags and offset as one number: 0x2000 is "more fragments". */
  readonly fragment?: number;
  /** Multiple of four bytes. */
  readonly options?: Buffer;
  /** In the place of the right one. */
  readonly totalLength?: number;
}

export function ipv4(
  {
    from,
    to,
    protocol,
    ttl = 64,
    fragment = 0,
    options = Buffer.alloc(0),
    totalLength,
  }: Ipv4Fields,
  payload: Buffer,
): Buffer {
  const length = 20 + options.length;
  const header = Buffer.concat([
    Buffer.from([0x40 + length / 4, 0]),
    words(totalLength ?? length + payload.length, 0x1234, fragment),
    Buffer.from([ttl, protocol]),
    words(0),
    addressBytes(from),
    addressBytes(to),
    options,
  ]);
  header.writeUInt16BE(checksum(header), 10);
  return Buffer.concat([header, payload]);
}

export interface Ipv6Fields {
  readonly from: string;
  readonly to: string;
  readonly next: number;
  readonly hops?: number;
}

export const ipv6 = ({ from, to, next, hops = 64 }: Ipv6Fields, payload: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from([0x60, 0, 0, 0]),
    words(payload.length),
    Buffer.from([next, hops]),
    addressBytes(from),
    addressBytes(to),
    payload,
  ]);

/** Addresses between which a checksum of UDP, TCP or ICMPv6 is made. */
interface Between {
  readonly from: string;
  readonly to: string;
}

function summed({ from, to }: Between, protocol: number, bytes: Buffer, at: number): Buffer {
  const pseudo = [addressBytes(from), addressBytes(to), words(bytes.length, protocol)];
  bytes.writeUInt16BE(checksum(Buffer.concat([...pseudo, bytes])) || 0xffff, at);
  return bytes;
}

export const udp = (between: Between, source: number, port: number, payload: Buffer): Buffer =>
  summed(
    between,
    PROTOCOL.udp,
    Buffer.concat([words(source, port, 8 + payload.length, 0), payload]),
    6,
  );

export interface Datagram extends Between {
  readonly port: number;
  readonly payload: Buffer;
}

/** An IPv4 or IPv6 packet with a UDP datagram. */
export function datagram({ from, to, port, payload }: Datagram): Buffer {
  const body = udp({ from, to }, 40_000, port, payload);
  return to.includes(':')
    ? ipv6({ from, to, next: PROTOCOL.udp }, body)
    : ipv4({ from, to, protocol: PROTOCOL.udp }, body);
}

export const ethertypeOf = (address: string): number =>
  address.includes(':') ? ETHERTYPE.ipv6 : ETHERTYPE.ipv4;

/** A segment with a payload already in the first packet, so that its mark is seen. */
export const tcp = (
  between: Between,
  source: number,
  port: number,
  flags: number,
  payload: Buffer,
): Buffer =>
  summed(
    between,
    PROTOCOL.tcp,
    Buffer.concat([
      words(source, port, 0, 1, 0, 0),
      Buffer.from([0x50, flags]),
      words(0xffff, 0, 0),
      payload,
    ]),
    16,
  );

/** `id` is an echo's. */
export function icmp(type: number, id: number, payload: Buffer): Buffer {
  const message = Buffer.concat([Buffer.from([type, 0]), words(0, id, 1), payload]);
  message.writeUInt16BE(checksum(message), 2);
  return message;
}

/** A redirect for a host (RFC 792): the next hop for packets as the one that it quotes. */
export function icmpRedirect(nextHop: string, quoted: Buffer): Buffer {
  const message = Buffer.concat([Buffer.from([5, 1]), words(0), addressBytes(nextHop), quoted]);
  message.writeUInt16BE(checksum(message), 2);
  return message;
}

/** `body` follows type, code and checksum. */
export const icmpv6 = (between: Between, type: number, body: Buffer): Buffer =>
  summed(between, PROTOCOL.icmpv6, Buffer.concat([Buffer.from([type, 0, 0, 0]), body]), 2);

export interface ArpFields {
  readonly operation: 'request' | 'reply';
  readonly senderMac: string;
  readonly sender: string;
  readonly targetMac?: string;
  readonly target: string;
}

/** ARP for IPv4 over Ethernet (RFC 826); `mark` follows it as padding. */
export const arp = (
  { operation, senderMac, sender, targetMac = '00:00:00:00:00:00', target }: ArpFields,
  mark: Buffer,
): Buffer =>
  Buffer.concat([
    words(1, ETHERTYPE.ipv4, 0x0604, operation === 'request' ? 1 : 2),
    macBytes(senderMac),
    addressBytes(sender),
    macBytes(targetMac),
    addressBytes(target),
    mark,
  ]);

/** Target and link-layer address of a neighbour message (RFC 4861); type 2 is the target's, 1 the source's. */
export const neighbourBody = (flags: number, target: string, option: 1 | 2, mac: string): Buffer =>
  Buffer.concat([
    Buffer.from([flags, 0, 0, 0]),
    addressBytes(target),
    Buffer.from([option, 1]),
    macBytes(mac),
  ]);

/** Body of a redirect (RFC 4861 §4.5): the next hop for packets to `to`, and the packet that it quotes. */
export function redirectBody(nextHop: string, to: string, mac: string, quoted: Buffer): Buffer {
  const padded = Buffer.concat([quoted, Buffer.alloc(-quoted.length & 7)]);
  return Buffer.concat([
    Buffer.alloc(4),
    addressBytes(nextHop),
    addressBytes(to),
    Buffer.from([2, 1]),
    macBytes(mac),
    Buffer.from([4, 1 + padded.length / 8, 0, 0, 0, 0, 0, 0]),
    padded,
  ]);
}

/** What a tunnel of OVN carries (ovn-architecture(7), "Tunnel Encapsulations"): `key` of the datapath, and the keys of its ports. */
export const geneve = (
  { key, inPort, outPort }: { key: number; inPort: number; outPort: number },
  frame: Buffer,
): Buffer =>
  Buffer.concat([
    Buffer.from([2, 0x40, 0x65, 0x58, (key >> 16) & 0xff, (key >> 8) & 0xff, key & 0xff, 0]),
    words(0x0102, 0x8001, inPort, outPort),
    frame,
  ]);

/** VXLAN (RFC 7348). */
export const vxlan = (vni: number, inner: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from([0x08, 0, 0, 0, vni >>> 16, (vni >>> 8) & 0xff, vni & 0xff, 0]),
    inner,
  ]);
