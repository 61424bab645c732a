import { compareAtoms } from './atom.ts';
import { cardinality, typeToEnglish, type ColumnType } from './column-type.ts';
import { compareDatums, defaultDatum, members, parseDatum } from './datum.ts';
import { OvsdbError, shorten, syntaxError } from './error.ts';
import type { ConditionFunction } from './operation.ts';
import { columnOf, type TableSchema } from './schema.ts';
import type { Atom, Datum, JsonValue } from './value.ts';

/** Conditions of `where` (RFC 7047 §5.1) as ovsdb-server reads and evaluates them. */

/** In the order in which the server tries them: the most selective first. */
const FUNCTIONS: readonly ConditionFunction[] = [
  '==',
  'includes',
  '<=',
  '<',
  '>=',
  '>',
  'excludes',
  '!=',
];

export interface ParsedClause {
  readonly column: string;
  readonly type: ColumnType;
  readonly function: ConditionFunction;
  readonly argument: Datum;
}

/** Clauses that must all hold (in a transaction), in the server's order. */
export interface Condition {
  /** `false` among the clauses: nothing matches. */
  readonly never: boolean;
  /** `true` or `false` as they were given. */
  readonly constants: readonly boolean[];
  readonly clauses: readonly ParsedClause[];
}

const isRelational = (name: ConditionFunction): boolean =>
  name === '<' || name === '<=' || name === '>' || name === '>=';

const isNumeric = (type: ColumnType): boolean =>
  type.key.type === 'integer' || type.key.type === 'real';

/** What the argument of a clause may be: a part of the column's value, or more of it than fits. */
function argumentType(type: ColumnType, name: ConditionFunction): ColumnType {
  const isScalar = cardinality(type) === 'scalar';
  if (isRelational(name)) return { ...type, min: 1 };
  if (isScalar || name === '==' || name === '!=') return type;
  return name === 'excludes' ? { ...type, min: 0, max: Infinity } : { ...type, min: 0 };
}

/** A clause whose form is right; its column and its argument depend on the table. */
export function readClause(json: JsonValue): readonly [string, ConditionFunction, JsonValue] {
  if (
    !Array.isArray(json) ||
    json.length !== 3 ||
    typeof json[0] !== 'string' ||
    typeof json[1] !== 'string'
  ) {
    throw syntaxError('Parse error in condition.', json);
  }
  const [column, name, argument] = json as [string, string, JsonValue];
  const known = FUNCTIONS.find((candidate) => candidate === name);
  if (known === undefined) {
    throw new OvsdbError('unknown function', `No function named ${name}.`);
  }
  return [column, known, argument];
}

function parseClause(table: TableSchema, json: JsonValue): ParsedClause {
  const [column, known, argument] = readClause(json);
  const { type } = columnOf(table, column, json);
  if (isRelational(known)) {
    const kind = cardinality(type);
    if ((kind !== 'scalar' && kind !== 'optional') || !isNumeric(type)) {
      throw new OvsdbError(
        'syntax error',
        `Type mismatch: "${known}" operator may not be applied to column ${column} of type ${typeToEnglish(type)}.`,
        { syntax: shorten(json) },
      );
    }
  }
  const read = argumentType(type, known);
  return { column, type, function: known, argument: parseDatum(read, argument) };
}

/** The implicit columns come first. */
const position = (column: string): number =>
  column === '_uuid' ? 0 : column === '_version' ? 1 : 2;

/** Order of two clauses, as the server tries them. */
export function compareClauses(a: ParsedClause, b: ParsedClause): number {
  const order =
    FUNCTIONS.indexOf(a.function) - FUNCTIONS.indexOf(b.function) ||
    position(a.column) - position(b.column) ||
    compareAtoms(a.column, b.column);
  return order === 0 ? compareDatums(a.argument, b.argument) : order;
}

/**
 * Reads a `where`. Throws `syntax error` (also for a function that does not fit the column), `unknown column`, `unknown function`, or
 * what reading the argument throws.
 */
export function parseCondition(table: TableSchema, json: JsonValue): Condition {
  if (!Array.isArray(json)) throw syntaxError('a condition must be an array', json);
  const items = json as readonly JsonValue[];
  const constants = items.filter((item) => typeof item === 'boolean');
  const clauses = items
    .filter((item) => typeof item !== 'boolean')
    .map((item) => parseClause(table, item));
  clauses.sort(compareClauses);
  return { never: constants.includes(false), constants, clauses };
}

/** Every pair or member of `part` is in `whole`. */
export function includesAll(whole: Datum, part: Datum): boolean {
  if (part instanceof Map) {
    const map = whole as ReadonlyMap<Atom, Atom>;
    return [...(part as ReadonlyMap<Atom, Atom>)].every(
      ([key, value]) => map.has(key) && map.get(key) === value,
    );
  }
  const all = new Set(members(whole));
  return members(part).every((atom) => all.has(atom));
}

/** No pair or member of `part` is in `whole`. */
export function excludesAll(whole: Datum, part: Datum): boolean {
  if (part instanceof Map) {
    const map = whole as ReadonlyMap<Atom, Atom>;
    return ![...(part as ReadonlyMap<Atom, Atom>)].some(
      ([key, value]) => map.has(key) && map.get(key) === value,
    );
  }
  const all = new Set(members(whole));
  return !members(part).some((atom) => all.has(atom));
}

/** Equality of values whose members may be in any order. */
const sameMembers = (a: Datum, b: Datum): boolean =>
  members(a).length === members(b).length && includesAll(a, b);

function compareScalar(value: Datum, argument: Datum): number | undefined {
  const [a] = members(value);
  const [b] = members(argument);
  return a === undefined || b === undefined ? undefined : compareAtoms(a, b);
}

/**
 * Whether a value satisfies one clause; `undefined` is the default of the column's type. An empty optional is neither smaller nor larger than
 * anything.
 */
export function evaluateClause(clause: ParsedClause, given: Datum): boolean {
  const { argument } = clause;
  const value = given ?? defaultDatum(clause.type);
  switch (clause.function) {
    case '==':
      return sameMembers(value, argument);
    case '!=':
      return !sameMembers(value, argument);
    case 'includes':
      return includesAll(value, argument);
    case 'excludes':
      return excludesAll(value, argument);
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const order = compareScalar(value, argument);
      if (order === undefined) return false;
      if (clause.function === '<') return order < 0;
      if (clause.function === '<=') return order <= 0;
      return clause.function === '>' ? order > 0 : order >= 0;
    }
  }
}
