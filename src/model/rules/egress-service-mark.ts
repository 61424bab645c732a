/** By which mark of its packets the external bridge knows what leaves a primary network with the address of a load balancer. Pure. */
import { createHash } from 'node:crypto';
import { parseAddress } from '../../allocators/addresses.ts';

/** Every such mark has it, and no other mark has (reference/egress.md §4). */
export const SERVICE_MARK_BIT = 0x8000_0000;
const LOWER_BITS = 0x7fff_ffff;

/**
 * The mark of an address: it says which one, so that nobody needs to hand marks out. Two addresses may have the same, IPv4 ones only where they differ
 * in the first bit alone.
 */
export function egressServiceMark(address: string): number {
  const parsed = parseAddress(address);
  const value =
    parsed?.family === 'v4'
      ? Number(parsed.value)
      : createHash('sha256').update(address).digest().readUInt32BE(0);
  return ((value & LOWER_BITS) | SERVICE_MARK_BIT) >>> 0;
}
