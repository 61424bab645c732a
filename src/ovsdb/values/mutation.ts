import { compareAtoms, hasTwice } from '../data/atom.ts';
import { cardinality, checkAtom, typeToEnglish, type ColumnType } from '../data/column-type.ts';
import { datumToJson, defaultDatum, members, parseDatum } from '../data/datum.ts';
import { OvsdbError, shorten, syntaxError } from '../data/error.ts';
import { normalInteger } from '../data/json.ts';
import type { Mutator } from '../data/operation.ts';
import { columnOf, type TableSchema } from '../data/schema.ts';
import type { Atom, Datum, JsonValue } from '../data/value.ts';

/** Mutations (RFC 7047 §5.1) as ovsdb-server reads and executes them. */

const MUTATORS: readonly Mutator[] = ['+=', '-=', '*=', '/=', '%=', 'insert', 'delete'];

export interface ParsedMutation {
  readonly column: string;
  /** Type of the column. */
  readonly type: ColumnType;
  readonly mutator: Mutator;
  readonly argument: Datum;
  /** Type of the argument: of a map's keys alone when they are to be deleted whatever their value. */
  readonly argumentType: ColumnType;
}

function mismatch(json: JsonValue, mutator: string, column: string, type: ColumnType): OvsdbError {
  return new OvsdbError(
    'syntax error',
    `Type mismatch: "${mutator}" operator may not be applied to column ${column} of type ${typeToEnglish(type)}.`,
    { syntax: shorten(json) },
  );
}

function arithmeticArgument(
  json: JsonValue,
  mutator: Mutator,
  column: string,
  type: ColumnType,
): ColumnType {
  const { key } = type;
  const isNumber = key.type === 'integer' || key.type === 'real';
  if (type.value !== undefined || !isNumber || (mutator === '%=' && key.type === 'real')) {
    throw mismatch(json, mutator, column, type);
  }
  // The argument is one number, without the column's limits.
  return { key: { type: key.type }, min: 1, max: 1 };
}

function setArgument(
  json: JsonValue,
  mutator: Mutator,
  column: string,
  type: ColumnType,
): ColumnType {
  if (cardinality(type) === 'scalar') throw mismatch(json, mutator, column, type);
  return { ...type, min: 0, max: mutator === 'delete' ? Infinity : type.max };
}

function parseMutation(table: TableSchema, json: JsonValue): ParsedMutation {
  if (
    !Array.isArray(json) ||
    json.length !== 3 ||
    typeof json[0] !== 'string' ||
    typeof json[1] !== 'string'
  ) {
    throw syntaxError('Parse error in mutation.', json);
  }
  const [column, name, given] = json as [string, string, JsonValue];
  const { type, mutable } = columnOf(table, column, json);
  if (!mutable) {
    throw new OvsdbError(
      'constraint violation',
      `Cannot mutate immutable column ${column} in table ${table.name}.`,
      { syntax: shorten(json) },
    );
  }
  const mutator = MUTATORS.find((candidate) => candidate === name);
  if (mutator === undefined) throw new OvsdbError('unknown mutator', `No mutator named ${name}.`);
  if (mutator !== 'insert' && mutator !== 'delete') {
    const argumentType = arithmeticArgument(json, mutator, column, type);
    return { column, type, mutator, argument: parseDatum(argumentType, given), argumentType };
  }
  const argumentType = setArgument(json, mutator, column, type);
  const argument = whatToDelete(mutator, argumentType, given);
  return { column, type, mutator, ...argument };
}

/** A map's pairs or, when they can't be read as such, its keys. */
function whatToDelete(
  mutator: Mutator,
  argumentType: ColumnType,
  given: JsonValue,
): Pick<ParsedMutation, 'argument' | 'argumentType'> {
  try {
    return { argument: parseDatum(argumentType, given), argumentType };
  } catch (error) {
    if (
      !(error instanceof OvsdbError) ||
      mutator !== 'delete' ||
      argumentType.value === undefined
    ) {
      throw error;
    }
    const keysOnly: ColumnType = { key: argumentType.key, min: 0, max: Infinity };
    return { argument: parseDatum(keysOnly, given), argumentType: keysOnly };
  }
}

/**
 * Reads a list of mutations. Throws `syntax error` (also for a mutator that does not fit the column), `unknown column`,
 * `unknown mutator`, `constraint violation` for an immutable column, or what reading the argument throws.
 */
export function parseMutations(table: TableSchema, json: JsonValue): readonly ParsedMutation[] {
  if (!Array.isArray(json)) throw syntaxError('mutations must be an array', json);
  return (json as readonly JsonValue[]).map((item) => parseMutation(table, item));
}

/** The mutations in canonical form. */
export const mutationsToJson = (mutations: readonly ParsedMutation[]): JsonValue =>
  mutations.map((mutation): JsonValue => [
    mutation.column,
    mutation.mutator,
    datumToJson(mutation.argumentType, mutation.argument),
  ]);

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

const outOfRange = (mutator: Mutator): OvsdbError =>
  new OvsdbError('range error', `Result of "${mutator}" operation is out of range.`);

/**
 * Whether ovsdb-server calls a product out of range. Its check refuses a few products that would fit and lets a few others
 * wrap around; to know beforehand what it will store, it has to be followed.
 */
function productOutOfRange(x: bigint, y: bigint): boolean {
  if (x > 0n) return y > 0n ? x >= INT64_MAX / y : y < INT64_MIN / x;
  if (y > 0n) return x < INT64_MIN / y;
  return x !== 0n && y !== 0n && y < INT64_MAX / y;
}

function integerResult(mutator: Mutator, x: bigint, y: bigint): bigint | undefined {
  switch (mutator) {
    case '+=':
      return x + y;
    case '-=':
      return x - y;
    case '*=':
      return productOutOfRange(x, y) ? undefined : BigInt.asIntN(64, x * y);
    case '/=':
    case '%=':
      if (y === 0n) throw new OvsdbError('domain error', 'Division by zero.');
      if (x === INT64_MIN && y === -1n) return undefined;
      return mutator === '/=' ? x / y : x % y;
    case 'insert':
    case 'delete':
      throw new OvsdbError('bad argument', `${mutator} is no arithmetic`);
  }
}

function realResult(mutator: Mutator, x: number, y: number): number {
  switch (mutator) {
    case '+=':
      return x + y;
    case '-=':
      return x - y;
    case '*=':
      return x * y;
    case '/=':
      if (y === 0) throw new OvsdbError('domain error', 'Division by zero.');
      return x / y;
    case '%=':
    case 'insert':
    case 'delete':
      throw new OvsdbError('bad argument', `${mutator} does not apply to reals`);
  }
}

/** One number changed. Throws `range error` or `domain error`. */
function mutateNumber(mutator: Mutator, isInteger: boolean, value: Atom, argument: Atom): Atom {
  if (!isInteger) {
    const real = realResult(mutator, Number(value), Number(argument));
    if (!Number.isFinite(real)) throw outOfRange(mutator);
    return real + 0;
  }
  const result = integerResult(mutator, BigInt(value), BigInt(argument));
  if (result === undefined || result < INT64_MIN || result > INT64_MAX) throw outOfRange(mutator);
  return normalInteger(result);
}

function arithmetic(mutation: ParsedMutation, value: Datum): readonly Atom[] {
  const { mutator, type } = mutation;
  const [argument] = members(mutation.argument);
  const atoms = members(value).map((atom) =>
    mutateNumber(mutator, type.key.type === 'integer', atom, argument as Atom),
  );
  for (const atom of atoms) checkAtom(type.key, atom);
  atoms.sort(compareAtoms);
  if (hasTwice(atoms)) {
    throw new OvsdbError(
      'constraint violation',
      `Result of "${mutator}" operation contains duplicates.`,
    );
  }
  return atoms;
}

function insertInto(value: Datum, argument: Datum): Datum {
  if (argument instanceof Map) {
    const result = new Map(argument as ReadonlyMap<Atom, Atom>);
    // A key that is there keeps its value.
    for (const [key, atom] of value as ReadonlyMap<Atom, Atom>) result.set(key, atom);
    return new Map([...result].sort((a, b) => compareAtoms(a[0], b[0])));
  }
  return [...new Set([...members(value), ...members(argument)])].sort(compareAtoms);
}

function deleteFrom(value: Datum, argument: Datum): Datum {
  if (value instanceof Map) {
    const result = new Map(value as ReadonlyMap<Atom, Atom>);
    if (argument instanceof Map) {
      for (const [key, atom] of argument as ReadonlyMap<Atom, Atom>) {
        if (result.get(key) === atom) result.delete(key);
      }
    } else for (const key of members(argument)) result.delete(key);
    return result;
  }
  const gone = new Set(members(argument));
  return members(value).filter((atom) => !gone.has(atom));
}

/** The value as its type wants it: a set of at most one member is an optional. */
function shaped(type: ColumnType, value: Datum): Datum {
  const size = members(value).length;
  if (size < type.min || size > type.max) {
    throw new OvsdbError(
      'constraint violation',
      `Attempted to store ${size} elements in ${typeToEnglish(type)}.`,
    );
  }
  if (value instanceof Map || cardinality(type) === 'set') return value;
  return members(value)[0];
}

/**
 * The value after a mutation; `undefined` is the default of the column's type. Throws `range error`, `domain error` or `constraint violation`: the type's limits, too few or too many
 * members, or two members of a set that became equal.
 */
export function mutate(mutation: ParsedMutation, given: Datum): Datum {
  const { mutator, argument, type } = mutation;
  const value = given ?? defaultDatum(type);
  if (mutator === 'insert') return shaped(type, insertInto(value, argument));
  if (mutator === 'delete') return shaped(type, deleteFrom(value, argument));
  return shaped(type, arithmetic(mutation, value));
}

/** A row's columns after all mutations, in order; only those that were mutated are in the result. */
export function mutateRow(
  mutations: readonly ParsedMutation[],
  column: (name: string) => Datum,
): ReadonlyMap<string, Datum> {
  const result = new Map<string, Datum>();
  for (const mutation of mutations) {
    const before = result.has(mutation.column)
      ? result.get(mutation.column)
      : column(mutation.column);
    result.set(mutation.column, mutate(mutation, before));
  }
  return result;
}
