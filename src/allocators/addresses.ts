/**
 * Addresses and their arithmetic. Text from outside is parsed and checked once; addresses as numbers are compared and
 * added. The functions that take and return text are for text that was checked, as rows and settings hold it.
 */
import { createHash } from 'node:crypto';
import { Address4, Address6 } from 'ip-address';

export type Family = 'v4' | 'v6';

/** In the order in which addresses of two families are listed. */
export const FAMILIES: readonly Family[] = ['v4', 'v6'];

export interface Address {
  readonly family: Family;
  readonly value: bigint;
}

/** A network: `base` has its host bits cleared. */
export interface Prefix {
  readonly family: Family;
  readonly base: bigint;
  readonly length: number;
}

/** An address and the length of the subnet that it belongs to, e.g. `10.244.0.3/24`. */
export interface InterfaceAddress extends Address {
  readonly length: number;
}

/** Bits of an address of the family. */
export const bitsOf = (family: Family): 32 | 128 => (family === 'v4' ? 32 : 128);

/** Number of addresses in the prefix. */
export const sizeOf = (prefix: Prefix): bigint =>
  1n << BigInt(bitsOf(prefix.family) - prefix.length);

/** The highest address of the prefix. */
export const lastOf = (prefix: Prefix): bigint => prefix.base + sizeOf(prefix) - 1n;

const MAPPED_IPV4 = 0xffffn;
/** An IPv6 address with an IPv4 tail. */
const LONGEST_ADDRESS = 45;

/**
 * An address without prefix length; undefined for anything else. IPv6 zones and IPv4-mapped IPv6 addresses are
 * refused: they name no address of a pod or node.
 */
export function parseAddress(text: string): Address | undefined {
  if (text.length > LONGEST_ADDRESS || text.includes('/') || text.includes('%')) return undefined;
  try {
    if (!text.includes(':'))
      return { family: 'v4', value: dotted(text) ?? new Address4(text).bigInt() };
    const value = new Address6(text).bigInt();
    return value >> 32n === MAPPED_IPV4 ? undefined : { family: 'v6', value };
  } catch {
    return undefined;
  }
}

/** The value of an IPv4 address in its canonical text: nearly all are, and there are very many. */
function dotted(text: string): bigint | undefined {
  const parts = text.split('.');
  const isCanonical =
    parts.length === 4 &&
    parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
  return isCanonical ? BigInt(ipv4Of(text)) : undefined;
}

/** `address/length`, host bits kept; undefined for anything else. */
export function parseInterfaceAddress(text: string): InterfaceAddress | undefined {
  const [host, length, ...rest] = text.split('/');
  if (host === undefined || length === undefined || rest.length > 0) return undefined;
  const address = parseAddress(host);
  if (address === undefined || !/^(0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const bits = Number(length);
  return bits > bitsOf(address.family) ? undefined : { ...address, length: bits };
}

/** A network in CIDR notation; host bits are accepted and cleared. Undefined when it is no CIDR. */
export function parsePrefix(text: string): Prefix | undefined {
  const address = parseInterfaceAddress(text);
  return address === undefined ? undefined : prefixOf(address);
}

/** The network that an interface address belongs to. */
export function prefixOf(address: InterfaceAddress): Prefix {
  const host = BigInt(bitsOf(address.family) - address.length);
  return {
    family: address.family,
    base: (address.value >> host) << host,
    length: address.length,
  };
}

/** Canonical text: dotted for IPv4, RFC 5952 for IPv6. */
export const formatAddress = ({ family, value }: Address): string =>
  family === 'v4' ? textOfIpv4(Number(value)) : Address6.fromBigInt(value).correctForm();

export const formatPrefix = (prefix: Prefix): string =>
  `${formatAddress({ family: prefix.family, value: prefix.base })}/${prefix.length}`;

/** A CIDR in its canonical text, without host bits; what can't be read stays as it is. */
export function canonicalCidr(cidr: string): string {
  const prefix = parsePrefix(cidr);
  return prefix === undefined ? cidr : formatPrefix(prefix);
}

export const formatInterfaceAddress = (address: InterfaceAddress): string =>
  `${formatAddress(address)}/${address.length}`;

export const containsAddress = (prefix: Prefix, address: Address): boolean =>
  prefix.family === address.family &&
  address.value >= prefix.base &&
  address.value <= lastOf(prefix);

export const containsPrefix = (outer: Prefix, inner: Prefix): boolean =>
  outer.family === inner.family &&
  outer.length <= inner.length &&
  inner.base >= outer.base &&
  inner.base <= lastOf(outer);

export const overlaps = (a: Prefix, b: Prefix): boolean =>
  containsPrefix(a, b) || containsPrefix(b, a);

export const samePrefix = (a: Prefix, b: Prefix): boolean =>
  a.family === b.family && a.base === b.base && a.length === b.length;

/** The prefix of the given length right after `prefix`; undefined at the end of the address space. */
export function nextPrefix(prefix: Prefix, length = prefix.length): Prefix | undefined {
  const { family } = prefix;
  const size = 1n << BigInt(bitsOf(family) - length);
  const base = ((prefix.base + sizeOf(prefix) + size - 1n) / size) * size;
  return base >> BigInt(bitsOf(family)) === 0n ? { family, base, length } : undefined;
}

/** Family of an address or CIDR in text. */
export const familyOf = (address: string): Family => (address.includes(':') ? 'v6' : 'v4');

/** `ip4` or `ip6`, as matches spell it. */
export const ipOf = (address: string): 'ip4' | 'ip6' => (address.includes(':') ? 'ip6' : 'ip4');

/** The address of `10.0.0.2/16`: `10.0.0.2`. */
export function withoutPrefix(cidr: string): string {
  const slash = cidr.indexOf('/');
  return slash === -1 ? cidr : cidr.slice(0, slash);
}

/** Prefix length of a CIDR; that of a single address is 32 or 128. */
export function prefixLength(cidr: string): number {
  const slash = cidr.indexOf('/');
  return slash === -1 ? bitsOf(familyOf(cidr)) : Number(cidr.slice(slash + 1));
}

/** `/32` or `/128` behind an address. */
export const asHost = (address: string): string => `${address}/${bitsOf(familyOf(address))}`;

/** True if a network has an `offset`-th address. */
export function hasAddress(cidr: string, offset: number): boolean {
  const hostBits = bitsOf(familyOf(cidr)) - prefixLength(cidr);
  return hostBits >= 32 || offset < 2 ** hostBits;
}

/**
 * The `offset`-th address of a network, without prefix length: of `103.103.0.0/24` and 2, `103.103.0.2`.
 * Throws when it lies outside of the network: a subnet that small must be refused where it is declared.
 */
export function nthAddress(cidr: string, offset: number): string {
  if (!hasAddress(cidr, offset))
    throw new RangeError(
      `address ${offset} is outside of ${cidr}: use a larger subnet or fewer nodes and networks`,
    );
  const base = withoutPrefix(cidr);
  return familyOf(cidr) === 'v4'
    ? textOfIpv4((ipv4Of(base) + offset) >>> 0)
    : Address6.fromBigInt(valueOf(base) + BigInt(offset)).correctForm();
}

/** As `nthAddress`, with the prefix length of the network: `103.103.0.2/24`. */
export const nthInterface = (cidr: string, offset: number): string =>
  `${nthAddress(cidr, offset)}/${prefixLength(cidr)}`;

/** True if the address (or the whole smaller network) lies in `cidr`. */
export function contains(cidr: string, address: string): boolean {
  const family = familyOf(cidr);
  if (family !== familyOf(address) || prefixLength(address) < prefixLength(cidr)) return false;
  const shift = BigInt(bitsOf(family) - prefixLength(cidr));
  return valueOf(withoutPrefix(cidr)) >> shift === valueOf(withoutPrefix(address)) >> shift;
}

/** As `contains` of any of the CIDRs, for many addresses. */
export function withinAny(cidrs: readonly string[]): (address: string) => boolean {
  const ranges = cidrs
    .filter((cidr) => familyOf(cidr) === 'v4')
    .map((cidr) => {
      const size = 2 ** (32 - prefixLength(cidr));
      const first = Math.floor(ipv4Of(withoutPrefix(cidr)) / size) * size;
      return { first, last: first + size - 1 };
    });
  const others = cidrs.filter((cidr) => familyOf(cidr) === 'v6');
  return (address) => {
    if (familyOf(address) === 'v6') return others.some((cidr) => contains(cidr, address));
    const value = ipv4Of(address);
    return ranges.some(({ first, last }) => value >= first && value <= last);
  };
}

/** Rows hold many IPv4 addresses: 32-bit numbers are several times faster than bigints. */
function ipv4Of(address: string): number {
  const [a = '', b = '', c = '', d = ''] = address.split('.');
  return ((Number(a) << 24) | (Number(b) << 16) | (Number(c) << 8) | Number(d)) >>> 0;
}

const textOfIpv4 = (value: number): string =>
  `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`;

const valueOf = (address: string): bigint =>
  familyOf(address) === 'v4' ? BigInt(ipv4Of(address)) : new Address6(address).bigInt();

/**
 * MAC address that an address in canonical text stands for: `0a:58` and the four bytes of an IPv4 address, or the first
 * four bytes of SHA-256 over the text of an IPv6 address (reference/api.md §6.10, reference/topology.md §2).
 */
export function macOf(address: string): string {
  const bytes = address.includes(':')
    ? [...createHash('sha256').update(address).digest().subarray(0, 4)]
    : address.split('.').map(Number);
  return formatMac([0x0a, 0x58, ...bytes]);
}

/** As `macOf`, of an address as numbers. */
export const macOfAddress = (address: Address): string => macOf(formatAddress(address));

/** MAC address from six bytes of the caller's random source: locally administered, unicast. */
export function randomMac(randomBytes: (count: number) => Uint8Array): string {
  const [first = 0, ...rest] = randomBytes(6);
  return formatMac([(first | 0x02) & 0xfe, ...rest]);
}

const MAC = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/;

/** A MAC address in its canonical spelling (lower case, colons); undefined when it is none. */
export function parseMac(text: string): string | undefined {
  const mac = text.toLowerCase().replaceAll('-', ':');
  return MAC.test(mac) ? mac : undefined;
}

/** Link-local IPv6 address of a MAC address: EUI-64 in fe80::/64. */
export function linkLocalOfMac(mac: string): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = mac
    .split(':')
    .map((byte) => parseInt(byte, 16));
  const interfaceId = [a ^ 0x02, b, c, 0xff, 0xfe, d, e, f];
  const value = interfaceId.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0xfe80n << 48n);
  return formatAddress({ family: 'v6', value });
}

const formatMac = (bytes: readonly number[]): string =>
  bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':');
