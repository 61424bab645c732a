import { columnTypeToJson } from '../data/column-type.ts';
import { evaluateClause, parseCondition } from '../data/condition.ts';
import { defaultDatum } from '../data/datum.ts';
import { OvsdbError } from '../data/error.ts';
import { jsonEquals } from '../data/json.ts';
import type { Clause } from '../data/operation.ts';
import {
  UUID_COLUMN,
  type ColumnSchema,
  type DatabaseSchema,
  type TableSchema,
} from '../data/schema.ts';
import type { JsonObject, JsonValue } from '../data/value.ts';
import { plain } from './conditions.ts';
import type { IndexColumn, OrderedColumn, TableIndexes } from '../replica/replica-view.ts';
import type { FollowedColumns, MonitoredColumns } from '../replica/definition.ts';

/** What of a table is wanted. */
export interface TableSelection {
  /** All columns when absent; those in `omitAlert` are followed besides. None: the table is only written. */
  readonly columns?: readonly string[];
  /** Rows that match one of these clauses; all rows when absent or empty, none for `[false]`. */
  readonly where?: readonly Clause[];
  /** Columns that are kept true, but whose changes alone are no event: for what the program itself writes. */
  readonly omitAlert?: readonly string[];
  /** Indexes that are kept from the first row on. */
  readonly indexes?: TableIndexes;
}

/** Tables by name; `true`: the whole table. */
export type Selection = { readonly [table: string]: TableSelection | true };

/** What to follow, by the server's schema: asked again whenever that is read anew. */
export type SelectTables = (schema: DatabaseSchema) => Selection;

const SELECTION_KEYS: readonly string[] = ['columns', 'where', 'omitAlert', 'indexes'];
const INDEX_KEYS: readonly string[] = ['find', 'ordered', 'referrers'];

/**
 * The selection, if it says nothing that nobody understands: a misspelt key would have all of a table followed. Throws `bad argument` with
 * table and key.
 */
export function checkedSelection<S extends Selection | undefined>(selection: S): S {
  const refuse = (what: string, known: readonly string[]): never => {
    throw new OvsdbError('bad argument', `${what}; known are ${known.join(', ')}`);
  };
  for (const [table, chosen] of Object.entries<unknown>(selection ?? {})) {
    if (chosen === true) continue;
    if (typeof chosen !== 'object' || chosen === null || Array.isArray(chosen))
      throw new OvsdbError('bad argument', `tables.${table} must be true or an object`);
    for (const key of Object.keys(chosen))
      if (!SELECTION_KEYS.includes(key)) refuse(`tables.${table} has no "${key}"`, SELECTION_KEYS);
    const { indexes } = chosen as TableSelection;
    for (const key of Object.keys(indexes ?? {}))
      if (!INDEX_KEYS.includes(key)) refuse(`tables.${table}.indexes has no "${key}"`, INDEX_KEYS);
  }
  return selection;
}

/** What is wanted under this schema. Throws `bad argument` when the program's function fails. */
export function selectionFor(
  given: Selection | SelectTables | undefined,
  schema: DatabaseSchema,
): Selection | undefined {
  if (typeof given !== 'function') return given;
  try {
    return checkedSelection(given(schema));
  } catch (error) {
    if (error instanceof OvsdbError) throw error;
    throw new OvsdbError(
      'bad argument',
      `the function that selects what to follow threw: ${String(error)}`,
      { cause: error },
    );
  }
}

/** What a client follows on a server, whose schema may differ from the one that the program knows. */
export interface Definition extends FollowedColumns {
  /** Everything the program knows or the server has, with the server's types. */
  readonly schema: DatabaseSchema;
  /** What the server lacks, or has with another type. */
  readonly warnings: readonly string[];
}

const sameType = (a: ColumnSchema, b: ColumnSchema): boolean =>
  jsonEquals(columnTypeToJson(a.type), columnTypeToJson(b.type));

function mergeTable(
  known: TableSchema | undefined,
  server: TableSchema | undefined,
  warn: (text: string) => void,
): TableSchema {
  if (server === undefined) {
    warn(`the server has no table ${known?.name}: it reads as empty and can't be written`);
    return known as TableSchema;
  }
  if (known === undefined) return server;
  const columns = new Map(server.columns);
  for (const column of known.columns.values()) {
    const theirs = server.columns.get(column.name);
    if (theirs === undefined) {
      warn(
        `the server has no column ${column.name} in table ${known.name}: it reads as its default and can't be written`,
      );
      columns.set(column.name, column);
    } else if (!sameType(column, theirs)) {
      warn(
        `column ${column.name} of table ${known.name} has another type on the server, which is used`,
      );
    }
  }
  return { ...server, columns };
}

function wantedTables(
  schema: DatabaseSchema,
  known: DatabaseSchema | undefined,
  selection: Selection | undefined,
): readonly string[] {
  if (selection !== undefined) return Object.keys(selection);
  return [...(known ?? schema).tables.keys()];
}

/** The indexes whose columns the server has. */
function possibleIndexes(
  { find = [], ordered = [], referrers = false }: TableIndexes,
  table: TableSchema,
  warn: (text: string) => void,
): TableIndexes {
  const isPossible = (columns: readonly (IndexColumn | OrderedColumn)[]): boolean => {
    const names = columns.map((spec) => (typeof spec === 'string' ? spec : spec.column));
    const missing = names.find((name) => !table.columns.has(name));
    if (missing === undefined) return true;
    warn(`there is no column ${missing} in table ${table.name}: no index is made of it`);
    return false;
  };
  return { find: find.filter(isPossible), ordered: ordered.filter(isPossible), referrers };
}

/**
 * Which columns to monitor on this server. What it lacks is left out with a warning; what the program does not know and did not ask
 * for is ignored. `known`: the schema that the program was written for.
 */
export function define(
  server: DatabaseSchema,
  known: DatabaseSchema | undefined,
  selection: Selection | undefined,
): Definition {
  const warnings: string[] = [];
  const warn = (text: string): void => {
    warnings.push(text);
  };
  const tables = new Map<string, TableSchema>();
  const monitored = new Map<string, ReadonlySet<string>>();
  const unseen = new Map<string, ReadonlySet<string>>();
  const quiet = new Map<string, ReadonlySet<string>>();
  const indexes = new Map<string, TableIndexes>();
  for (const name of wantedTables(server, known, selection)) {
    const chosen = selection?.[name];
    const { columns: named, omitAlert = [] }: TableSelection =
      chosen === undefined || chosen === true ? {} : chosen;
    const asked = new Set([...(named ?? []), ...omitAlert]);
    const ours = known?.tables.get(name);
    const theirs = server.tables.get(name);
    if (theirs === undefined && ours === undefined) {
      warn(`the server has no table ${name}`);
      continue;
    }
    const merged = mergeTable(ours, theirs, warn);
    tables.set(name, merged);
    for (const column of asked) {
      if (
        theirs !== undefined &&
        !theirs.columns.has(column) &&
        ours?.columns.has(column) !== true &&
        column !== UUID_COLUMN.name
      ) {
        warn(`the server has no column ${column} in table ${name}`);
      }
    }
    const all = named === undefined ? ((ours ?? theirs)?.columns.keys() ?? []) : [];
    const followed = new Set(
      [...all, ...asked].filter((column) => theirs?.columns.has(column) === true),
    );
    monitored.set(name, followed);
    unseen.set(name, new Set(theirs?.columns.keys() ?? []).difference(followed));
    quiet.set(name, new Set(omitAlert));
    if (chosen !== undefined && chosen !== true && chosen.indexes !== undefined)
      indexes.set(name, possibleIndexes(chosen.indexes, merged, warn));
  }
  const notFollowed = new Set(server.tables.keys()).difference(tables);
  return {
    schema: { ...server, tables, notFollowed },
    monitored,
    unseen,
    quiet,
    indexes,
    warnings,
  };
}

/**
 * Conditions of a table for a server that may lack columns: a clause about a missing column holds for every row or for none, as all rows have its
 * default. Undefined: the server lacks the table.
 */
export function conditionForServer(
  { schema, monitored, unseen }: Definition,
  table: string,
  where: readonly Clause[],
): readonly Clause[] | undefined {
  const [definition, followed] = [schema.tables.get(table), monitored.get(table)];
  if (definition === undefined || followed === undefined || followed.size === 0) return undefined;
  const isThere = (column: string): boolean =>
    column.startsWith('_') || followed.has(column) || unseen?.get(table)?.has(column) === true;
  return where.map((clause) => {
    if (typeof clause === 'boolean' || isThere(clause[0])) return clause;
    const [parsed] = parseCondition(definition, [clause]).clauses;
    return parsed === undefined ? clause : evaluateClause(parsed, defaultDatum(parsed.type));
  });
}

/** `<monitor-requests>`. Tables of which nothing can be monitored are left out. */
export function monitorRequests(
  definition: Definition,
  conditions: ReadonlyMap<string, readonly Clause[]>,
  withConditions: boolean,
): JsonObject {
  const requests: { [table: string]: JsonValue } = {};
  for (const [table, columns] of definition.monitored) {
    if (columns.size === 0) continue;
    const where = conditionForServer(definition, table, conditions.get(table) ?? []);
    const condition: JsonObject =
      withConditions && where !== undefined && where.length > 0 ? { where: plain(where) } : {};
    requests[table] = [{ columns: [...columns], ...condition }];
  }
  return requests;
}

/** Conditions that the selection starts with. */
export const initialConditions = (
  selection: Selection | undefined,
): ReadonlyMap<string, readonly Clause[]> =>
  new Map(
    Object.entries(selection ?? {}).flatMap(([table, chosen]) =>
      chosen === true || chosen.where === undefined ? [] : [[table, chosen.where] as const],
    ),
  );

/** Throws `unknown table` for a table that is not monitored. */
export function checkMonitored(monitored: MonitoredColumns, table: string): void {
  if (!monitored.has(table)) {
    throw new OvsdbError(
      'unknown table',
      `table ${table} is not among those that this client monitors`,
    );
  }
}
