import { hash } from 'node:crypto';
import type { Uuid } from './value.ts';

export const ZERO_UUID = '00000000-0000-0000-0000-000000000000' as Uuid;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: unknown): text is Uuid => typeof text === 'string' && UUID.test(text);

/** The UUID in canonical (lower) case, or undefined if the text is none. */
export const parseUuid = (text: string): Uuid | undefined =>
  UUID.test(text) ? (text.toLowerCase() as Uuid) : undefined;

const VARIANT = ['8', '9', 'a', 'b'];

/** Deterministic UUID of a name (RFC 9562 version 5, SHA-1): two writers give the same row the same identity. */
export function uuidFromName(namespace: Uuid, name: string): Uuid {
  const prefix = Buffer.from(namespace.replaceAll('-', ''), 'hex');
  const hex = hash('sha1', Buffer.concat([prefix, Buffer.from(name)]), 'hex');
  const variant = VARIANT[Number.parseInt(hex.charAt(16), 16) & 3] as string;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}` as Uuid;
}
