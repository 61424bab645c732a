import { syntaxError } from '../error.ts';
import type { JsonValue } from '../value.ts';
import { parseJson } from './json-cursor.ts';

/**
 * Reads a whole JSON text as RFC 4627 and ovsdb-server have it: an object or an array, no bare number, string or word. Throws as
 * `parseJson` does.
 */
export function parseJsonText(text: Uint8Array | string): JsonValue {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null)
    throw syntaxError('syntax error at beginning of input', value);
  return value;
}
