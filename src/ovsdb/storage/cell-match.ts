import { isRecord } from '../data/datum.ts';
import type { Atom, Writable, WritableAtom } from '../data/value.ts';
import type { AtomCodec } from './atom-codec.ts';
import type { ColumnCodec } from './column-codec.ts';

/**
 * True or false when a cell can be compared with a value where it is stored; undefined when the value has to be put
 * into canonical form first. Most columns of most rows are texts, small maps and small sets of texts.
 */
export function matches(codec: ColumnCodec, cell: number, value: Writable): boolean | undefined {
  switch (codec.kind) {
    case 'scalar':
      return isAtom(codec, value) ? codec.keys.equals(cell, value) : undefined;
    case 'optional':
      if (value === undefined) return cell === 0;
      if (!isAtom(codec, value)) return undefined;
      return cell !== 0 && codec.keys.equals(cell - 1, value);
    case 'set':
      return Array.isArray(value)
        ? setMatches(codec, cell, value as readonly WritableAtom[])
        : undefined;
    case 'map':
      if (isRecord(value)) return mapMatches(codec, cell, value);
      return value instanceof Map && value.size === 0
        ? codec.sequences.length(cell) === 0
        : undefined;
  }
}

/** An atom that needs no conversion to be of the column's type. */
function isAtom(codec: ColumnCodec, value: unknown): value is Atom {
  switch (codec.type.key.type) {
    case 'string':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return Number.isSafeInteger(value);
    case 'uuid':
    case 'real':
      return false;
  }
}

/** A set in the order in which it is stored; any other order is left to the general way. */
function setMatches(
  { sequences, keys, type }: ColumnCodec,
  cell: number,
  value: readonly WritableAtom[],
): boolean | undefined {
  if (type.key.type !== 'string') return undefined;
  const length = sequences.length(cell);
  if (value.length === 0) return length === 0;
  if (value.length !== length) return undefined;
  const [words, offset] = [sequences.words(cell), sequences.offset(cell)];
  for (let i = 0; i < length; i++) {
    const member = value[i];
    if (typeof member !== 'string' || !keys.equals(words[offset + i] as number, member)) {
      return undefined;
    }
  }
  return true;
}

type TextRecord = { readonly [key: string]: WritableAtom };

/** More keys are found faster by their codes. */
const MOST_KEYS = 8;

function mapMatches(
  { sequences, keys, values, type }: ColumnCodec,
  cell: number,
  value: TextRecord,
): boolean | undefined {
  if (type.key.type !== 'string' || type.value?.type !== 'string') return undefined;
  const length = sequences.length(cell);
  if (length > 2 * MOST_KEYS) return undefined;
  let count = 0;
  for (const key in value) {
    const member = value[key];
    if (typeof member !== 'string') return undefined;
    if (length === 0) return false;
    count += 2;
    const [words, offset] = [sequences.words(cell), sequences.offset(cell)];
    const at = keyPosition(keys, words, offset, length, key);
    if (at === -1) return false;
    if (!(values as AtomCodec).equals(words[offset + at + 1] as number, member)) return false;
  }
  return count === length;
}

/** Whether a small map from strings has this key, compared where it is stored; undefined for any other column. */
export function hasKey(
  { kind, sequences, keys, type }: ColumnCodec,
  cell: number,
  key: WritableAtom,
): boolean | undefined {
  if (kind !== 'map' || type.key.type !== 'string' || typeof key !== 'string') return undefined;
  const length = sequences.length(cell);
  if (length > 2 * MOST_KEYS) return undefined;
  if (length === 0) return false;
  return keyPosition(keys, sequences.words(cell), sequences.offset(cell), length, key) !== -1;
}

function keyPosition(
  keys: AtomCodec,
  words: Uint32Array,
  offset: number,
  length: number,
  key: string,
): number {
  for (let i = 0; i < length; i += 2) if (keys.equals(words[offset + i] as number, key)) return i;
  return -1;
}
