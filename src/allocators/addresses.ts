/**
 * Addresses as numbers: parsed once where text comes in, written once where text goes out.
 * Everything between compares and adds integers.
 */
import { createHash } from 'node:crypto';
import { Address4, Address6 } from 'ip-address';

export type Family = 4 | 6;

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
export const bitsOf = (family: Family): 32 | 128 => (family === 4 ? 32 : 128);

/** Addresses in the prefix. */
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
    if (!text.includes(':')) return { family: 4, value: new Address4(text).bigInt() };
    const value = new Address6(text).bigInt();
    return value >> 32n === MAPPED_IPV4 ? undefined : { family: 6, value };
  } catch {
    return undefined;
  }
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
  family === 4
    ? Address4.fromBigInt(value).correctForm()
    : Address6.fromBigInt(value).correctForm();

export const formatPrefix = (prefix: Prefix): string =>
  `${formatAddress({ family: prefix.family, value: prefix.base })}/${prefix.length}`;

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

/**
 * MAC address that an address in canonical text stands for: `0a:58` and the four bytes of an IPv4 address, or the first
 * four bytes of SHA-256 over the text of an IPv6 address (api.md §6.10, topology.md §2).
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
  return formatAddress({ family: 6, value });
}

const formatMac = (bytes: readonly number[]): string =>
  bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':');
