/** Address arithmetic. Text at the edges (RFC 5952), unsigned numbers inside: 32 bit as number, 128 bit as bigint. */

import { Address4, Address6 } from 'ip-address';

export type Family = 'v4' | 'v6';

/** In the order in which addresses of two families are listed. */
export const FAMILIES: readonly Family[] = ['v4', 'v6'];

/** Family of an address or CIDR that was checked before it got here. */
export const familyOf = (address: string): Family => (address.includes(':') ? 'v6' : 'v4');

/** `ip4` or `ip6`, as matches spell it. */
export const ipOf = (address: string): 'ip4' | 'ip6' => (address.includes(':') ? 'ip6' : 'ip4');

/** The address of `10.0.0.2/16`: `10.0.0.2`. */
export function withoutPrefix(cidr: string): string {
  const slash = cidr.indexOf('/');
  return slash === -1 ? cidr : cidr.slice(0, slash);
}

/** True for an address with or without prefix length: for text that a database holds. */
export const isRange = (text: string): boolean => Address4.isValid(text) || Address6.isValid(text);

/** True for an address without prefix length. */
export const isAddress = (text: string): boolean => !text.includes('/') && isRange(text);

/** Prefix length of a CIDR; that of a single address is 32 or 128. */
export function prefixLength(cidr: string): number {
  const slash = cidr.indexOf('/');
  return slash === -1 ? bitsOf(familyOf(cidr)) : Number(cidr.slice(slash + 1));
}

/** `/32` or `/128` behind an address. */
export const asHost = (address: string): string => `${address}/${bitsOf(familyOf(address))}`;

const bitsOf = (family: Family): number => (family === 'v4' ? 32 : 128);

function valueV4(address: string): number {
  const [a = '', b = '', c = '', d = ''] = address.split('.');
  return ((Number(a) << 24) | (Number(b) << 16) | (Number(c) << 8) | Number(d)) >>> 0;
}

const textV4 = (value: number): string =>
  `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`;

const valueV6 = (address: string): bigint => new Address6(address).bigInt();

const textV6 = (value: bigint): string => Address6.fromBigInt(value).correctForm();

/** Number of an address, whatever its family. */
const valueOf = (address: string): bigint =>
  familyOf(address) === 'v4' ? BigInt(valueV4(address)) : valueV6(address);

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
  const family = familyOf(cidr);
  if (!hasAddress(cidr, offset)) {
    throw new RangeError(
      `address ${offset} is outside of ${cidr}: use a larger subnet or fewer nodes and networks`,
    );
  }
  const base = withoutPrefix(cidr);
  return family === 'v4'
    ? textV4((valueV4(base) + offset) >>> 0)
    : textV6(valueV6(base) + BigInt(offset));
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

/** True if the low bits of an address are `offset`, as those of `base + offset` are in any aligned network. */
export function endsIn(address: string, offset: number): boolean {
  const width = BigInt(32 - Math.clz32(offset));
  return (valueOf(address) & ((1n << width) - 1n)) === BigInt(offset);
}
