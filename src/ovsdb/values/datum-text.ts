import { atomText, compareAtoms, hasTwice } from '../data/atom.ts';
import {
  cardinality,
  checkAtom,
  typeToEnglish,
  type BaseType,
  type ColumnType,
} from '../data/column-type.ts';
import { members } from '../data/datum.ts';
import { OvsdbError } from '../data/error.ts';
import { normalInteger, numericValue } from '../data/json.ts';
import { parseUuid } from '../data/uuid.ts';
import type { Atom, Datum } from '../data/value.ts';
import { parseJson } from '../wire/json-text.ts';

/** Values as people write them on the command line of `ovs-vsctl` and `ovn-nbctl`: `[1, 2]`, `4-8`, `{a=1, b="x y"}`. */

const fail = (details: string): never => {
  throw new OvsdbError('syntax error', details);
};

const TRUE = ['true', 'yes', 'on', '1'];
const FALSE = ['false', 'no', 'off', '0'];
const INTEGER = /^\s*[+-]?[0-9]+$/;
const RANGE = /^(\s*[+-]?[0-9]+)-(\s*[+-]?[0-9]+)$/;
/** Integers that a range may stand for. */
const MAX_RANGE = 4096;
const REAL = /^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;

function unquoted(text: string): string {
  if (text === '')
    fail('An empty string is not valid as input; use "" to represent the empty string');
  if (!text.startsWith('"')) return text;
  if (text.length < 2 || !text.endsWith('"'))
    fail(`${text}: missing quote at end of quoted string`);
  const inside = text.slice(1, -1);
  const rest = inside.replaceAll(/\\[^]/g, '');
  if (rest.includes('\\')) fail(`${text}: quoted string may not end with backslash`);
  if (rest.includes('"')) fail(`${text}: quoted string may not include unescaped "`);
  // A line break is allowed here and not in JSON.
  return parseJson(
    `"${inside.replaceAll('\n', String.raw`\n`).replaceAll('\r', String.raw`\r`)}"`,
  ) as string;
}

const integer = (text: string): number | bigint | undefined =>
  INTEGER.test(text) ? numericValue(BigInt(text.trim().replace(/^\+/, '')), 'integer') : undefined;

function bareAtom(base: BaseType, text: string): Atom {
  switch (base.type) {
    case 'integer':
      return integer(text) ?? fail(`"${text}" is not a valid integer or range`);
    case 'real': {
      const value = REAL.test(text) ? Number(text) : NaN;
      return Number.isFinite(value) ? value + 0 : fail(`"${text}" is not a valid real number`);
    }
    case 'boolean':
      if (TRUE.includes(text)) return true;
      if (FALSE.includes(text)) return false;
      return fail(`"${text}" is not a valid boolean (use "true" or "false")`);
    case 'string':
      return unquoted(text);
    case 'uuid':
      return parseUuid(text) ?? fail(`"${text}" is not a valid UUID`);
  }
}

/** Reads one atom; throws `syntax error` or `constraint violation`. */
export function parseAtomText(base: BaseType, text: string): Atom {
  const atom = bareAtom(base, text);
  checkAtom(base, atom);
  return atom;
}

/**
 * Reads one atom, or integers of which the first and the last are written, as in `4-8` or `-3--1`: at most 4096. Gives the first and the
 * last; they are the same when there is but one. Throws `syntax error` or `constraint violation`.
 */
export function parseAtomRange(base: BaseType, text: string): readonly [first: Atom, last: Atom] {
  const [, from = '', to = ''] = base.type === 'integer' ? (RANGE.exec(text) ?? []) : [];
  const [first, last] = [integer(from), integer(to)];
  if (first === undefined || last === undefined) {
    const atom = parseAtomText(base, text);
    return [atom, atom];
  }
  if (last < first) fail(`"${text}" is not a valid range. Range end cannot be before start.`);
  checkAtom(base, first);
  // The numbers between are allowed when both ends are, unless those that are allowed are listed.
  if (base.enum !== undefined) for (const atom of integers(first, last)) checkAtom(base, atom);
  checkAtom(base, last);
  if (BigInt(last) - BigInt(first) >= MAX_RANGE) {
    throw new OvsdbError(
      'constraint violation',
      `Range "${first}-${last}" is too big. Maximum allowed size is ${MAX_RANGE}.`,
    );
  }
  return [first, last];
}

function* integers(first: Atom, last: Atom): Iterable<Atom> {
  const end = BigInt(last);
  for (let i = BigInt(first); i <= end; i++) yield normalInteger(i);
}

const DELIMITERS = ':=, []{}!<>';

/**
 * Takes a value apart: the token that begins at `from`, and where the delimiter behind it or the end is. A backslash outside of quotation marks
 * takes its character for what it is.
 */
function tokenAt(text: string, from: number): readonly [token: string, end: number] {
  let token = '';
  let isQuoted = false;
  let at = from;
  for (; at < text.length; at++) {
    const c = text.charAt(at);
    if (c === '\\') {
      if (isQuoted) token += c;
      token += text.charAt(++at);
      continue;
    }
    if (!isQuoted && DELIMITERS.includes(c)) break;
    token += c;
    if (c === '"') isQuoted = !isQuoted;
  }
  if (at > text.length) fail(`${text.slice(from)}: backslash at end of argument`);
  if (isQuoted) fail(`${text.slice(from)}: quoted string extends past end of argument`);
  return [token, at];
}

/**
 * Reads a value: a set's members (of integers also ranges: `4-8`) or a map's `key=value` pairs, apart by commas or spaces, in brackets or
 * braces or, when there are any, without. Throws `syntax error`, `constraint violation` or `ovsdb error` (a member or key twice).
 */
export function parseDatumText(type: ColumnType, text: string): Datum {
  const isMap = type.value !== undefined;
  const [open, close] = isMap ? ['{', '}'] : ['[', ']'];
  const skip = (from: number): number => {
    let i = from;
    while (/\s/.test(text.charAt(i))) i++;
    return i;
  };
  let at = skip(0);
  const isEnclosed = text.charAt(at) === open;
  if (isEnclosed) at = skip(at + 1);
  else if (at >= text.length)
    fail(`use "${open}${close}" to specify the empty ${isMap ? 'map' : 'set'}`);
  const isAtEnd = (): boolean => at >= text.length || (isEnclosed && text.charAt(at) === close);
  const token = (): string => {
    const [found, end] = tokenAt(text, at);
    at = end;
    return found;
  };
  const pairs: [Atom, Atom][] = [];
  while (!isAtEnd()) {
    if (DELIMITERS.includes(text.charAt(at)))
      fail(`${text}: unexpected "${text.charAt(at)}" parsing ${typeToEnglish(type)}`);
    if (type.value === undefined) {
      const [first, last] = parseAtomRange(type.key, token());
      if (first === last) pairs.push([first, first]);
      else for (const atom of integers(first, last)) pairs.push([atom, atom]);
    } else {
      const from = at;
      const key = parseAtomText(type.key, token());
      at = skip(at);
      if (text.charAt(at) !== '=')
        fail(`${text.slice(from)}: syntax error at "${text.charAt(at)}" expecting "="`);
      at = skip(at + 1);
      pairs.push([key, parseAtomText(type.value, token())]);
    }
    at = skip(at);
    if (text.charAt(at) === ',') at = skip(at + 1);
  }
  if (isEnclosed && text.charAt(at) !== close) fail(`${text}: missing "${close}" at end of data`);
  if (isEnclosed && skip(at + 1) < text.length) fail(`${text}: trailing garbage after "${close}"`);
  return toDatum(type, pairs, text);
}

function toDatum(type: ColumnType, pairs: [Atom, Atom][], text: string): Datum {
  const isMap = type.value !== undefined;
  const [count, what] = [pairs.length, isMap ? 'pair(s)' : 'value(s)'];
  if (count < type.min)
    fail(`${text}: ${count} ${what} specified but the minimum number is ${type.min}`);
  if (count > type.max)
    fail(`${text}: ${count} ${what} specified but the maximum number is ${type.max}`);
  pairs.sort((a, b) => compareAtoms(a[0], b[0]));
  if (hasTwice(pairs.map(([key]) => key))) {
    throw new OvsdbError(
      'ovsdb error',
      `${text}: ${isMap ? 'map contains duplicate key' : 'set contains duplicate value'}`,
    );
  }
  if (isMap) return new Map(pairs);
  const atoms = pairs.map(([key]) => key);
  return cardinality(type) === 'set' ? atoms : atoms[0];
}

/** The value as people read it; `parseDatumText` reads it back. */
export function datumText(type: ColumnType, datum: Datum): string {
  const { key, value } = type;
  const parts =
    value === undefined
      ? members(datum).map((atom) => atomText(key.type, atom))
      : [...(datum as ReadonlyMap<Atom, Atom>)].map(
          ([k, v]) => `${atomText(key.type, k)}=${atomText(value.type, v)}`,
        );
  const text = parts.join(', ');
  if (type.max === 1 && parts.length > 0) return text;
  return value === undefined ? `[${text}]` : `{${text}}`;
}
