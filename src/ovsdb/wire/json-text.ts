import { syntaxError } from '../data/error.ts';
import type { JsonValue } from '../data/value.ts';
import { JsonCursor } from './json-cursor.ts';

/** Reads one JSON text from bytes or a string: integers of 64 bits exact, nothing else after it. Throws `syntax error`, or `constraint
 * violation` as ovsdb-server does for a string that is not valid UTF-8. A fraction lost in rounding makes no integer: see `RoundedReal`.
 */
export function parseJson(input: Uint8Array | string): JsonValue {
  const bytes =
    typeof input === 'string'
      ? Buffer.from(input)
      : Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  const cursor = new JsonCursor(bytes);
  const value = cursor.value();
  if (cursor.peek() !== -1) cursor.fail('nothing more');
  return value;
}

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
