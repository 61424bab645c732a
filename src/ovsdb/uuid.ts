import { createHash } from 'node:crypto';
import type { Uuid } from './value.ts';

export const ZERO_UUID = '00000000-0000-0000-0000-000000000000' as Uuid;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: unknown): text is Uuid => typeof text === 'string' && UUID.test(text);

/** The UUID in canonical (lower) case, or undefined if the text is none. */
export const parseUuid = (text: string): Uuid | undefined =>
  UUID.test(text) ? (text.toLowerCase() as Uuid) : undefined;

/** Deterministic UUID of a name (RFC 9562 version 5, SHA-1): two writers give the same row the same identity. */
export function uuidFromName(namespace: Uuid, name: string): Uuid {
  const digest = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name, 'utf8')
    .digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}` as Uuid;
}
