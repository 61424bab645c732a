/** By which mark of its packets the external bridge knows what leaves a primary network as an EgressService says, and by which address then the host. Pure. */
import { createHash } from 'node:crypto';
import { parseAddress } from '../../allocators/addresses.ts';
import { EGRESS_SERVICE_SLOTS } from '../../allocators/node-addresses.ts';

/** Every such mark has it, and no other mark has (reference/egress.md §4). */
export const SERVICE_MARK_BIT = 0x8000_0000;
const LOWER_BITS = 0x7fff_ffff;

/**
 * The mark of an address, or of a service (`<namespace>/<name>`) with a routing table: it says which one, so that nobody needs to hand marks out. Two may
 * have the same, IPv4 addresses only where they differ in the first bit alone.
 */
export function egressServiceMark(of: string): number {
  const parsed = parseAddress(of);
  const value =
    parsed?.family === 'v4'
      ? Number(parsed.value)
      : createHash('sha256').update(of).digest().readUInt32BE(0);
  return ((value & LOWER_BITS) | SERVICE_MARK_BIT) >>> 0;
}

/** The place among the addresses by which hosts know services with a routing table (`egressServiceMasquerade`): by a hash, so two may have the same. */
export const egressServiceSlot = (service: string): number =>
  egressServiceMark(service) % EGRESS_SERVICE_SLOTS;
