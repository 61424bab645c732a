/** CIDR blocks that may have host bits set, as Kubernetes' CEL library has them, on top of our addresses. */
import {
  bitsOf,
  formatAddress,
  parseInterfaceAddress,
  type Address,
} from '../allocators/addresses.ts';

export {
  bitsOf as addressBits,
  formatAddress,
  parseAddress,
  type Address,
  type Family,
} from '../allocators/addresses.ts';

export interface Cidr {
  /** As written; may have host bits set. */
  readonly address: Address;
  readonly prefixLength: number;
}

/** The block in `text` (`address/prefix length`), host bits kept, or undefined if it is none. */
export function parseCidr(text: string): Cidr | undefined {
  const parsed = parseInterfaceAddress(text);
  if (parsed === undefined) return undefined;
  const { family, value, length } = parsed;
  return { address: { family, value }, prefixLength: length };
}

export const formatCidr = (cidr: Cidr): string =>
  `${formatAddress(cidr.address)}/${cidr.prefixLength}`;

/** Number of addresses in the block. */
const cidrSize = ({ address, prefixLength }: Cidr): bigint =>
  1n << BigInt(bitsOf(address.family) - prefixLength);

/** The block with its host bits cleared. */
export function maskCidr(cidr: Cidr): Cidr {
  const size = cidrSize(cidr);
  const { family, value } = cidr.address;
  return { address: { family, value: (value / size) * size }, prefixLength: cidr.prefixLength };
}

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
  const size = 1n << BigInt(bitsOf(family) - prefixLength);
  const value = ((end + size - 1n) / size) * size;
  if (value >= 1n << BigInt(bitsOf(family))) return undefined;
  return { address: { family, value }, prefixLength };
}
