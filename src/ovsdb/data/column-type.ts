import { OvsdbError, shorten, syntaxError } from './error.ts';
import { isObject, numericValue, type NumericKind } from './json.ts';
import { Members } from './members.ts';
import { parseUuid, ZERO_UUID } from './uuid.ts';
import { compareUtf8 } from './utf8-order.ts';
import { atomText, compareAtoms, hasTwice } from './atom.ts';
import type { Atom, AtomicType, JsonValue } from './value.ts';

/** Types of a column and of its members (RFC 7047 §3.2 `<type>`, `<base-type>`, `<atomic-type>`). */

const ATOMIC_TYPES: readonly string[] = ['integer', 'real', 'boolean', 'string', 'uuid'];

export interface BaseType {
  readonly type: AtomicType;
  /** Allowed atoms in canonical order; excludes every other constraint. */
  readonly enum?: readonly Atom[];
  readonly minInteger?: number | bigint;
  readonly maxInteger?: number | bigint;
  readonly minReal?: number;
  readonly maxReal?: number;
  /** In Unicode code points. */
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly refTable?: string;
  readonly refType?: 'strong' | 'weak';
}

export interface ColumnType {
  readonly key: BaseType;
  /** Present for a map. */
  readonly value?: BaseType;
  readonly min: 0 | 1;
  /** `Infinity` for "unlimited". */
  readonly max: number;
}

export type Cardinality = 'scalar' | 'optional' | 'set' | 'map';

export function cardinality(type: ColumnType): Cardinality {
  if (type.value !== undefined) return 'map';
  if (type.max !== 1) return 'set';
  return type.min === 1 ? 'scalar' : 'optional';
}

/** True when a monitor sends the whole new value instead of a difference. */
export const isSentWhole = (type: ColumnType): boolean => type.max === 1;

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
/** What ovsdb-server has in place of "unlimited". */
export const UINT_MAX = 2 ** 32 - 1;

const ID = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** `<id>` of RFC 7047: what tables, columns and named uuids may be called. */
export const isId = (text: string): boolean => ID.test(text);

function atomicType(json: JsonValue): AtomicType {
  if (typeof json !== 'string') throw syntaxError('atomic-type expected', json);
  if (!ATOMIC_TYPES.includes(json)) {
    throw syntaxError(`${shorten(json)} is not an atomic-type`, json);
  }
  return json as AtomicType;
}

function bound(read: Members, name: string, kind: NumericKind) {
  const given = read.optional(name);
  if (given === undefined) return undefined;
  return numericValue(given, kind) ?? read.mismatch(name);
}

function integerBounds(read: Members, json: JsonValue) {
  const min = bound(read, 'minInteger', 'integer');
  const max = bound(read, 'maxInteger', 'integer');
  if ((min ?? INT64_MIN) > (max ?? INT64_MAX))
    throw syntaxError('minInteger exceeds maxInteger', json);
  return {
    ...(min === undefined || min === INT64_MIN ? {} : { minInteger: min }),
    ...(max === undefined || max === INT64_MAX ? {} : { maxInteger: max }),
  };
}

function realBounds(read: Members, json: JsonValue) {
  const min = bound(read, 'minReal', 'real') as number | undefined;
  const max = bound(read, 'maxReal', 'real') as number | undefined;
  if ((min ?? -Infinity) > (max ?? Infinity)) throw syntaxError('minReal exceeds maxReal', json);
  return {
    ...(min === undefined ? {} : { minReal: min }),
    ...(max === undefined ? {} : { maxReal: max }),
  };
}

function length(read: Members, name: string): number | undefined {
  const value = bound(read, name, 'integer');
  if (value === undefined) return undefined;
  if (typeof value === 'bigint' || value < 0 || value > UINT_MAX) {
    throw syntaxError(`${name} out of valid range 0 to ${UINT_MAX}`, value);
  }
  return value;
}

function lengthBounds(read: Members, json: JsonValue) {
  const min = length(read, 'minLength');
  const max = length(read, 'maxLength');
  if ((min ?? 0) > (max ?? UINT_MAX)) throw syntaxError('minLength exceeds maxLength', json);
  return {
    ...(min === undefined || min === 0 ? {} : { minLength: min }),
    ...(max === undefined || max === UINT_MAX ? {} : { maxLength: max }),
  };
}

function reference(read: Members, json: JsonValue): Pick<BaseType, 'refTable' | 'refType'> {
  const refTable = read.optional('refTable');
  if (refTable === undefined) return {};
  if (typeof refTable !== 'string' || !isId(refTable)) return read.mismatch('refTable');
  const refType = read.string('refType', 'strong');
  if (!isId(refType)) return read.mismatch('refType');
  if (refType !== 'strong' && refType !== 'weak')
    throw syntaxError(`refType must be "strong" or "weak" (not "${refType}")`, json);
  return refType === 'weak' ? { refTable, refType } : { refTable };
}

/** Throws unless a database can hold the text: UTF-8 has no half surrogate pairs, and ovsdb-server no NUL. */
export function checkText(text: string): void {
  if (text.includes('\0')) throw syntaxError('a string must not contain a NUL character');
  if (!text.isWellFormed()) {
    throw new OvsdbError('constraint violation', 'not a valid UTF-8 string');
  }
}

/** Reads an atom of a type, without its constraints. `["named-uuid", …]` is no atom of the database. */
export function parseBareAtom(type: AtomicType, json: JsonValue): Atom {
  switch (type) {
    case 'integer': {
      const value = numericValue(json, 'integer');
      if (value === undefined) throw syntaxError('expected integer', json);
      return value;
    }
    case 'real': {
      const value = numericValue(json, 'real');
      if (value === undefined) throw syntaxError('expected real', json);
      return value;
    }
    case 'boolean':
      if (typeof json !== 'boolean') throw syntaxError('expected boolean', json);
      return json;
    case 'string':
      if (typeof json !== 'string') throw syntaxError('expected string', json);
      checkText(json);
      return json;
    case 'uuid': {
      if (
        !Array.isArray(json) ||
        json.length !== 2 ||
        json[0] !== 'uuid' ||
        typeof json[1] !== 'string'
      ) {
        throw syntaxError('expected ["uuid", <string>]', json);
      }
      const uuid = parseUuid(json[1]);
      if (uuid === undefined) throw syntaxError(`"${json[1]}" is not a valid UUID`, json);
      return uuid;
    }
  }
}

/** An atom of the database as wire JSON. */
export const bareAtomToJson = (type: AtomicType, atom: Atom): JsonValue =>
  type === 'uuid' ? ['uuid', atom] : atom;

function enumMembers(type: AtomicType, json: JsonValue): readonly Atom[] {
  const listed =
    Array.isArray(json) && json.length === 2 && json[0] === 'set' ? (json[1] as JsonValue) : [json];
  if (!Array.isArray(listed)) throw syntaxError('"enum" must be an atom or a set', json);
  if (listed.length === 0)
    throw syntaxError(`set must have 1 to ${UINT_MAX} members but 0 are present`, json);
  const atoms = (listed as readonly JsonValue[]).map((member) => parseBareAtom(type, member));
  atoms.sort(compareAtoms);
  if (hasTwice(atoms)) throw new OvsdbError('ovsdb error', 'set contains duplicate');
  return atoms;
}

/** `<base-type>`: throws `syntax error` with what is wrong. */
export function parseBaseType(json: JsonValue): BaseType {
  if (typeof json === 'string') return { type: atomicType(json) };
  const read = new Members(json, 'ovsdb type');
  const type = atomicType(read.required('type'));
  const limits = read.optional('enum');
  const base: BaseType =
    limits === undefined
      ? { type, ...constraints(type, read, json) }
      : { type, enum: enumMembers(type, limits) };
  read.finish();
  return base;
}

function constraints(type: AtomicType, read: Members, json: JsonValue): Partial<BaseType> {
  switch (type) {
    case 'integer':
      return integerBounds(read, json);
    case 'real':
      return realBounds(read, json);
    case 'string':
      return lengthBounds(read, json);
    case 'uuid':
      return reference(read, json);
    case 'boolean':
      return {};
  }
}

const isText = (json: JsonValue): boolean => typeof json === 'string';
const isTypeForm = (json: JsonValue): boolean => isText(json) || isObject(json);
const isInteger = (json: JsonValue): boolean => numericValue(json, 'integer') !== undefined;

/** The member, which must be of the right form; undefined where there is none. */
function member(
  read: Members,
  name: string,
  isForm: (json: JsonValue) => boolean,
): JsonValue | undefined {
  const given = read.optional(name);
  return given === undefined || isForm(given) ? given : read.mismatch(name);
}

function cardinalityBound(given: JsonValue | undefined, isMax: boolean): number {
  if (given === undefined) return 1;
  if (isMax && given === 'unlimited') return Infinity;
  const value = numericValue(given, 'integer');
  if (typeof value !== 'number' || value < 0 || value > UINT_MAX)
    throw syntaxError('bad min or max value', given);
  return value;
}

/** `<type>` of a column: throws `syntax error` with what is wrong. */
export function parseColumnType(json: JsonValue): ColumnType {
  if (typeof json === 'string') return { key: { type: atomicType(json) }, min: 1, max: 1 };
  const read = new Members(json, 'ovsdb type');
  read.required('key');
  const keyJson = member(read, 'key', isTypeForm) as JsonValue;
  const valueJson = member(read, 'value', isTypeForm);
  const minJson = member(read, 'min', isInteger);
  const maxJson = member(read, 'max', (given) => isText(given) || isInteger(given));
  read.finish();
  const key = parseBaseType(keyJson);
  const value = valueJson === undefined ? undefined : parseBaseType(valueJson);
  const [min, max] = [cardinalityBound(minJson, false), cardinalityBound(maxJson, true)];
  if (min > 1 || max < 1) throw syntaxError('ovsdb type fails constraint checks', json);
  return { key, ...(value === undefined ? {} : { value }), min: min as 0 | 1, max };
}

const hasConstraints = (base: BaseType): boolean => Object.keys(base).length > 1;

/** The type as the server writes it: a bare name when there is nothing to constrain. */
export function baseTypeToJson(base: BaseType): JsonValue {
  if (!hasConstraints(base)) return base.type;
  const { enum: members, ...rest } = base;
  if (members === undefined) return { ...rest };
  const atoms = members.map((atom) => bareAtomToJson(base.type, atom));
  return { type: base.type, enum: atoms.length === 1 ? (atoms[0] as JsonValue) : ['set', atoms] };
}

/** The type in canonical form: what is default is left out. */
export function columnTypeToJson(type: ColumnType): JsonValue {
  if (type.value === undefined && type.min === 1 && type.max === 1 && !hasConstraints(type.key)) {
    return type.key.type;
  }
  return {
    key: baseTypeToJson(type.key),
    ...(type.value === undefined ? {} : { value: baseTypeToJson(type.value) }),
    ...(type.min === 1 ? {} : { min: type.min }),
    ...(type.max === 1 ? {} : { max: type.max === Infinity ? 'unlimited' : type.max }),
  };
}

/** Throws `constraint violation` unless the atom is within the base type's limits. */
export function checkAtom(base: BaseType, atom: Atom): void {
  if (base.enum !== undefined && !base.enum.some((member) => compareAtoms(member, atom) === 0)) {
    throw new OvsdbError(
      'constraint violation',
      `${atomText(base.type, atom)} is not one of the allowed values ([${base.enum.map((member) => atomText(base.type, member)).join(', ')}])`,
    );
  }
  if (base.type === 'integer' || base.type === 'real') checkNumber(base, atom as number | bigint);
  else if (base.type === 'string') checkString(base, atom as string);
}

function checkNumber(base: BaseType, value: number | bigint): void {
  const min = base.minInteger ?? base.minReal;
  const max = base.maxInteger ?? base.maxReal;
  if ((min === undefined || value >= min) && (max === undefined || value <= max)) return;
  const show = (number: number | bigint | undefined): string => atomText(base.type, number ?? 0);
  const problem =
    min !== undefined && max !== undefined
      ? `is not in the valid range ${show(min)} to ${show(max)} (inclusive)`
      : min === undefined
        ? `is greater than maximum allowed value ${show(max)}`
        : `is less than minimum allowed value ${show(min)}`;
  throw new OvsdbError('constraint violation', `${show(value)} ${problem}`);
}

/** Number of Unicode code points. */
export const codePoints = (text: string): number => Array.from(text).length;

function checkString(base: BaseType, text: string): void {
  if (base.minLength === undefined && base.maxLength === undefined) return;
  const points = codePoints(text);
  const shown = `"${text.length > 60 ? `${text.slice(0, 60)}…` : text}"`;
  if (base.minLength !== undefined && points < base.minLength) {
    throw new OvsdbError(
      'constraint violation',
      `${shown} length ${points} is less than minimum allowed length ${base.minLength}`,
    );
  }
  if (base.maxLength !== undefined && points > base.maxLength) {
    throw new OvsdbError(
      'constraint violation',
      `${shown} length ${points} is greater than maximum allowed length ${base.maxLength}`,
    );
  }
}

/** The type in words, as ovsdb-server's messages have it: `set of up to 3 strings`. */
export function typeToEnglish(type: ColumnType): string {
  const { key, value, min, max } = type;
  if (value === undefined && min === 1 && max === 1) return key.type;
  const members = value === undefined ? `${key.type}s` : `(${key.type}, ${value.type}) pairs`;
  const what = value === undefined ? 'set' : 'map';
  if (max === Infinity) {
    return min === 0 ? `${what} of ${members}` : `${what} of ${min} or more ${members}`;
  }
  return min === 0
    ? `${what} of up to ${max} ${members}`
    : `${what} of ${min} to ${max} ${members}`;
}

/** The atom that a column of this type has by default (RFC 7047 §5.2.1). */
export function defaultAtom(type: AtomicType): Atom {
  switch (type) {
    case 'integer':
    case 'real':
      return 0;
    case 'boolean':
      return false;
    case 'string':
      return '';
    case 'uuid':
      return ZERO_UUID;
  }
}

export { compareAtoms, compareUtf8 };
