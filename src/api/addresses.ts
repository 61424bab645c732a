/**
 * IP addresses and CIDR blocks as numbers. Text is read as strictly as the Kubernetes CEL library reads it: no zones,
 * no IPv4-mapped IPv6, no leading zeros. Canonical text is RFC 5952.
 */

export type Family = 4 | 6;

export interface Address {
  readonly family: Family;
  /** Unsigned, 32 or 128 bits. */
  readonly value: bigint;
}

export interface Cidr {
  /** As written; may have host bits set. */
  readonly address: Address;
  readonly prefixLength: number;
}

/** Length of an address of a family, in bits. */
export const addressBits = (family: Family): 32 | 128 => (family === 4 ? 32 : 128);

const IPV4_MAPPED = 0xffffn << 32n;

function parseIPv4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  let value = 0n;
  for (const part of parts) {
    if (!/^(0|[1-9][0-9]{0,2})$/.test(part) || Number(part) > 255) return undefined;
    value = (value << 8n) | BigInt(part);
  }
  return value;
}

/** The 16-bit groups of one side of `::`; an IPv4 tail counts as two. */
function parseGroups(text: string, mayEndInIPv4: boolean): bigint[] | undefined {
  if (text === '') return [];
  const groups: bigint[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    if (part.includes('.')) {
      if (!mayEndInIPv4 || index !== parts.length - 1) return undefined;
      const tail = parseIPv4(part);
      if (tail === undefined) return undefined;
      groups.push(tail >> 16n, tail & 0xffffn);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined;
      groups.push(BigInt(`0x${part}`));
    }
  }
  return groups;
}

function parseIPv6(text: string): bigint | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const compressed = halves.length === 2;
  const head = parseGroups(halves[0] ?? '', !compressed);
  const tail = compressed ? parseGroups(halves[1] ?? '', true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (compressed ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => 0n), ...tail];
  return groups.reduce((value, group) => (value << 16n) | group, 0n);
}

/** The address in `text`, or undefined if it is none. */
export function parseAddress(text: string): Address | undefined {
  // The longest form is an IPv6 address with an IPv4 tail: 45 characters.
  if (text.length > 45) return undefined;
  if (!text.includes(':')) {
    const value = parseIPv4(text);
    return value === undefined ? undefined : { family: 4, value };
  }
  const value = parseIPv6(text);
  if (value === undefined || value >> 32n === IPV4_MAPPED >> 32n) return undefined;
  return { family: 6, value };
}

/** The block in `text` (`address/prefix length`), host bits kept, or undefined if it is none. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.lastIndexOf('/');
  if (slash < 0) return undefined;
  const address = parseAddress(text.slice(0, slash));
  const length = text.slice(slash + 1);
  if (address === undefined || !/^(0|[1-9][0-9]{0,2})$/.test(length)) return undefined;
  const prefixLength = Number(length);
  return prefixLength > addressBits(address.family) ? undefined : { address, prefixLength };
}

function formatIPv6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16),
  );
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && groups[start + length] === '0') length++;
    if (length > best.length) best = { start, length };
  }
  if (best.start < 0) return groups.join(':');
  const head = groups.slice(0, best.start).join(':');
  return `${head}::${groups.slice(best.start + best.length).join(':')}`;
}

export function formatAddress({ family, value }: Address): string {
  if (family === 6) return formatIPv6(value);
  return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.');
}

export const formatCidr = (cidr: Cidr): string =>
  `${formatAddress(cidr.address)}/${cidr.prefixLength}`;

/** Number of addresses in the block. */
export const cidrSize = ({ address, prefixLength }: Cidr): bigint =>
  1n << BigInt(addressBits(address.family) - prefixLength);

/** The block with its host bits cleared. */
export function maskCidr(cidr: Cidr): Cidr {
  const size = cidrSize(cidr);
  const { family, value } = cidr.address;
  return { address: { family, value: (value / size) * size }, prefixLength: cidr.prefixLength };
}

export const hasHostBits = (cidr: Cidr): boolean => cidr.address.value % cidrSize(cidr) !== 0n;

export function cidrContainsAddress(cidr: Cidr, address: Address): boolean {
  const size = cidrSize(cidr);
  return (
    cidr.address.family === address.family && cidr.address.value / size === address.value / size
  );
}

/** Whether every address of `inner` is in `outer`. */
export const cidrContainsCidr = (outer: Cidr, inner: Cidr): boolean =>
  outer.prefixLength <= inner.prefixLength && cidrContainsAddress(outer, inner.address);

export const cidrsOverlap = (a: Cidr, b: Cidr): boolean =>
  cidrContainsCidr(a, b) || cidrContainsCidr(b, a);

/** The block of the same size right after `cidr`, or undefined at the end of the address space. */
export function nextCidr(cidr: Cidr, prefixLength = cidr.prefixLength): Cidr | undefined {
  const { family } = cidr.address;
  const end = maskCidr(cidr).address.value + cidrSize(cidr);
  const size = 1n << BigInt(addressBits(family) - prefixLength);
  const value = ((end + size - 1n) / size) * size;
  if (value >= 1n << BigInt(addressBits(family))) return undefined;
  return { address: { family, value }, prefixLength };
}

/** `address + offset`; undefined outside the address space. */
export function addressPlus({ family, value }: Address, offset: bigint): Address | undefined {
  const sum = value + offset;
  return sum < 0n || sum >= 1n << BigInt(addressBits(family)) ? undefined : { family, value: sum };
}
