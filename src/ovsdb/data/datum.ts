import type { AtomicType } from './value.ts';
import {
  bareAtomToJson,
  cardinality,
  checkAtom,
  checkText,
  defaultAtom,
  isId,
  parseBareAtom,
  UINT_MAX,
  type BaseType,
  type ColumnType,
} from './column-type.ts';
import { compareUtf8 } from './utf8-order.ts';
import { compareAtoms, hasTwice } from './atom.ts';
import { OvsdbError, syntaxError } from './error.ts';
import { numericValue } from './json.ts';
import { parseUuid } from './uuid.ts';
import {
  NamedUuid,
  type Atom,
  type Datum,
  type JsonValue,
  type Writable,
  type WritableAtom,
} from './value.ts';

/** Values of columns: reading them from wire JSON, writing them in canonical form, comparing them. */

/** The value that a column has when it was never set (RFC 7047 §5.2.1). */
export function defaultDatum(type: ColumnType): Datum {
  const atom = defaultAtom(type.key.type);
  switch (cardinality(type)) {
    case 'scalar':
      return atom;
    case 'optional':
      return undefined;
    case 'set':
      return type.min === 0 ? [] : [atom];
    case 'map':
      return type.min === 0
        ? new Map()
        : new Map([[atom, defaultAtom((type.value as BaseType).type)]]);
  }
}

/** Members of a value as an array: a map's keys, a set's members, a scalar alone. */
export function members(datum: Datum): readonly Atom[] {
  if (datum === undefined) return [];
  if (datum instanceof Map) return [...(datum as ReadonlyMap<Atom, Atom>).keys()];
  return Array.isArray(datum) ? (datum as readonly Atom[]) : [datum as Atom];
}

/** How far a value may leave its type while it is read. */
export interface DatumLimits {
  /** A difference may have more or fewer members than the type allows. */
  readonly anySize?: boolean;
  /** Leave enum, range and length unchecked, as for data that the server itself sent. */
  readonly trusted?: boolean;
}

const tagged = (json: JsonValue, tag: string): readonly JsonValue[] | undefined =>
  Array.isArray(json) && json.length === 2 && json[0] === tag && Array.isArray(json[1])
    ? (json[1] as readonly JsonValue[])
    : undefined;

const isTagged = (json: JsonValue): boolean => Array.isArray(json) && json[0] === 'set';

function readAtom(base: BaseType, json: JsonValue, limits: DatumLimits): Atom {
  const atom = parseBareAtom(base.type, json);
  if (limits.trusted !== true) checkAtom(base, atom);
  return atom;
}

function checkSize(type: ColumnType, size: number, json: JsonValue): void {
  const { min, max } = type;
  if (size >= min && size <= max) return;
  const what = type.value === undefined ? 'set' : 'map';
  const wanted =
    min === 1 && max === 1
      ? 'exactly one member'
      : `${min} to ${max === Infinity ? UINT_MAX : max} members`;
  throw syntaxError(`${what} must have ${wanted} but ${size} are present`, json);
}

/**
 * Reads a value in wire form and puts it into canonical order. Throws `syntax error` (another type, wrong number of members),
 * `constraint violation` (enum, range, length) or `ovsdb error` (a member or key twice).
 */
export function parseDatum(type: ColumnType, json: JsonValue, limits: DatumLimits = {}): Datum {
  return type.value === undefined
    ? parseSet(type, json, limits)
    : parseMap(type, type.value, json, limits);
}

function parseSet(type: ColumnType, json: JsonValue, limits: DatumLimits): Datum {
  const listed = isTagged(json) ? tagged(json, 'set') : [json];
  if (listed === undefined) throw syntaxError('expected ["set", <array>]', json);
  if (limits.anySize !== true) checkSize(type, listed.length, json);
  const atoms = listed.map((member) => readAtom(type.key, member, limits));
  return fromMembers(type, sortedUnique(atoms), limits);
}

function sortedUnique(atoms: Atom[]): readonly Atom[] {
  atoms.sort(compareAtoms);
  if (hasTwice(atoms)) throw new OvsdbError('ovsdb error', 'set contains duplicate');
  return atoms;
}

function fromMembers(type: ColumnType, atoms: readonly Atom[], limits: DatumLimits): Datum {
  const kind = cardinality(type);
  if (kind === 'set' || (limits.anySize === true && atoms.length > 1)) return atoms;
  return atoms[0];
}

function parseMap(type: ColumnType, value: BaseType, json: JsonValue, limits: DatumLimits): Datum {
  const listed = tagged(json, 'map');
  if (listed === undefined) throw syntaxError('expected ["map", <array>]', json);
  if (limits.anySize !== true) checkSize(type, listed.length, json);
  const pairs = listed.map((pair): [Atom, Atom] => {
    if (!Array.isArray(pair) || pair.length !== 2)
      throw syntaxError('expected 2-element array', pair);
    return [
      readAtom(type.key, pair[0] as JsonValue, limits),
      readAtom(value, pair[1] as JsonValue, limits),
    ];
  });
  return sortedMap(pairs);
}

function sortedMap(pairs: [Atom, Atom][]): ReadonlyMap<Atom, Atom> {
  pairs.sort((a, b) => compareAtoms(a[0], b[0]));
  const map = new Map(pairs);
  if (map.size !== pairs.length) throw new OvsdbError('ovsdb error', 'map contains duplicate key');
  return map;
}

/** The value in the form in which ovsdb-server writes it: one member bare, otherwise tagged; in canonical order. */
export function datumToJson(type: ColumnType, datum: Datum): JsonValue {
  if (datum instanceof Map) {
    const value = type.value?.type ?? 'string';
    const pairs: JsonValue[] = [];
    // Unlike an iterator this makes no array for each pair.
    (datum as ReadonlyMap<Atom, Atom>).forEach((v, k) => {
      pairs.push([bareAtomToJson(type.key.type, k), bareAtomToJson(value, v)]);
    });
    return ['map', pairs];
  }
  if (isAtom(datum)) return bareAtomToJson(type.key.type, datum);
  const atoms = members(datum).map((atom) => bareAtomToJson(type.key.type, atom));
  return atoms.length === 1 ? (atoms[0] as JsonValue) : ['set', atoms];
}

const isAtom = (value: Writable): value is Atom => value !== undefined && typeof value !== 'object';

/** Whether a value to be written is a map given as a record. */
export function isRecord(value: Writable): value is { readonly [key: string]: WritableAtom } {
  return (
    typeof value === 'object' &&
    // A mistake that only the compiler refuses.
    (value as unknown) !== null &&
    !Array.isArray(value) &&
    !(value instanceof Map) &&
    !(value instanceof Set) &&
    !(value instanceof NamedUuid)
  );
}

/** Pairs of a map to be written. */
function pairsOf(value: Writable): readonly (readonly [WritableAtom, WritableAtom])[] {
  if (value === undefined) return [];
  if (value instanceof Map) return [...(value as ReadonlyMap<WritableAtom, WritableAtom>)];
  if (isRecord(value)) return Object.entries(value);
  throw syntaxError('a map column takes a Map or a record');
}

/** Members of a set, or the one of a scalar, to be written. */
function writableMembers(value: Writable): readonly WritableAtom[] {
  if (value === undefined) return [];
  if (value instanceof Set) return [...(value as ReadonlySet<WritableAtom>)];
  if (Array.isArray(value)) return value as readonly WritableAtom[];
  if (value instanceof Map || isRecord(value)) throw syntaxError('this column is not a map');
  return [value as WritableAtom];
}

/** Checks that a JavaScript value is an atom of this type, and normalises it. */
export function toAtom(base: BaseType, value: WritableAtom): Atom {
  if (value instanceof NamedUuid) throw syntaxError(`row ${value.name} has no UUID yet`);
  const atom = nativeAtom(base.type, value);
  checkAtom(base, atom);
  return atom;
}

function nativeAtom(type: AtomicType, value: Atom): Atom {
  switch (type) {
    case 'integer':
    case 'real': {
      const number =
        typeof value === 'number' || typeof value === 'bigint'
          ? numericValue(value, type)
          : undefined;
      if (number === undefined)
        throw syntaxError(
          `${String(value)} is not ${type === 'real' ? 'a real' : 'an integer of 64 bits'}`,
        );
      return number;
    }
    case 'boolean':
      if (typeof value !== 'boolean') throw syntaxError(`${String(value)} is not true or false`);
      return value;
    case 'string':
      if (typeof value !== 'string') throw syntaxError(`${String(value)} is not a string`);
      checkText(value);
      return value;
    case 'uuid': {
      const uuid = typeof value === 'string' ? parseUuid(value) : undefined;
      if (uuid === undefined) throw syntaxError(`${String(value)} is not a UUID`);
      return uuid;
    }
  }
}

/** A value to be written as a value of the column, checked against the type. Members given twice count once. */
export function toDatum(type: ColumnType, value: Writable): Datum {
  if (type.value !== undefined) {
    const { value: valueType } = type;
    if (value !== undefined && isRecord(value)) return fromRecord(type, valueType, value);
    const pairs = pairsOf(value).map(([k, v]): [Atom, Atom] => [
      toAtom(type.key, k),
      toAtom(valueType, v),
    ]);
    checkSize(type, pairs.length, null);
    return sortedMap(pairs);
  }
  // One alone, as most values are, fits in number and has no order.
  const alone = Array.isArray(value) && value.length === 1 ? (value[0] as WritableAtom) : value;
  if (isAtom(alone)) {
    const atom = toAtom(type.key, alone);
    return cardinality(type) === 'set' ? [atom] : atom;
  }
  const atoms = writableMembers(value).map((atom) => toAtom(type.key, atom));
  const unique = distinct(atoms.sort(compareAtoms));
  checkSize(type, unique.length, null);
  return fromMembers(type, unique, {});
}

/** A map of a record: its keys are texts, each there once. */
function fromRecord(
  type: ColumnType,
  valueType: BaseType,
  record: { readonly [key: string]: WritableAtom },
): ReadonlyMap<Atom, Atom> {
  const keys = Object.keys(record);
  checkSize(type, keys.length, null);
  sortTexts(keys);
  const map = new Map<Atom, Atom>();
  for (const key of keys)
    map.set(toAtom(type.key, key), toAtom(valueType, record[key] as WritableAtom));
  return map;
}

/** Puts texts into canonical order in place. Most maps have few keys, for which a sort takes longer than their order. */
function sortTexts(texts: string[]): void {
  if (texts.length > FEW) {
    texts.sort(compareUtf8);
    return;
  }
  for (let i = 1; i < texts.length; i++) {
    const text = texts[i] as string;
    let at = i;
    for (; at > 0 && compareUtf8(texts[at - 1] as string, text) > 0; at--)
      texts[at] = texts[at - 1] as string;
    texts[at] = text;
  }
}

const FEW = 8;

const distinct = (sorted: readonly Atom[]): readonly Atom[] =>
  sorted.filter((atom, i) => i === 0 || compareAtoms(sorted[i - 1] as Atom, atom) !== 0);

function writableAtomToJson(base: BaseType, atom: WritableAtom): JsonValue {
  if (!(atom instanceof NamedUuid)) return bareAtomToJson(base.type, toAtom(base, atom));
  if (base.type !== 'uuid')
    throw syntaxError(`a row can't be referred to in a column of type ${base.type}`);
  if (!isId(atom.name))
    throw syntaxError('the name of a new row must be letters, digits and _', atom.name);
  return ['named-uuid', atom.name];
}

function pairsToJson(type: ColumnType, valueType: BaseType, value: Writable): JsonValue {
  const pairs: JsonValue[] = [];
  const add = (member: WritableAtom, key: WritableAtom): void => {
    pairs.push([writableAtomToJson(type.key, key), writableAtomToJson(valueType, member)]);
  };
  if (value instanceof Map) {
    checkSize(type, value.size, null);
    // Unlike an iterator this makes no array for each pair.
    (value as ReadonlyMap<WritableAtom, WritableAtom>).forEach(add);
    return pairs;
  }
  const given = pairsOf(value);
  checkSize(type, given.length, null);
  for (const [key, member] of given) add(member, key);
  return pairs;
}

/** A value to be written as wire JSON, checked against the type; rows of the same transaction may be named. */
export function writableToJson(type: ColumnType, value: Writable): JsonValue {
  if (type.value !== undefined) return ['map', pairsToJson(type, type.value, value)];
  if (isAtom(value)) {
    checkSize(type, 1, null);
    return writableAtomToJson(type.key, value);
  }
  const given = writableMembers(value);
  const unique = given.length > 1 ? [...new Set(given)] : given;
  checkSize(type, unique.length, null);
  const atoms = unique.map((atom) => writableAtomToJson(type.key, atom));
  return atoms.length === 1 ? (atoms[0] as JsonValue) : ['set', atoms];
}

/** Order of two values of one type, as ovsdb-server sorts them: by size, then keys, then values. */
export function compareDatums(a: Datum, b: Datum): number {
  const [x, y] = [members(a), members(b)];
  if (x.length !== y.length) return x.length - y.length;
  for (let i = 0; i < x.length; i++) {
    const order = compareAtoms(x[i] as Atom, y[i] as Atom);
    if (order !== 0) return order;
  }
  if (a instanceof Map && b instanceof Map) {
    for (const key of x) {
      const order = compareAtoms(a.get(key) as Atom, b.get(key) as Atom);
      if (order !== 0) return order;
    }
  }
  return 0;
}

/** True when two values in canonical form are the same. */
export function datumEquals(a: Datum, b: Datum): boolean {
  if (a === b) return true;
  if (a instanceof Map && b instanceof Map && a.size !== b.size) return false;
  if (isAtom(a) && isAtom(b)) return compareAtoms(a, b) === 0;
  return compareDatums(a, b) === 0;
}
