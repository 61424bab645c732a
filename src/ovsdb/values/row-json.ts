import { datumToJson, defaultDatum, parseDatum } from '../data/datum.ts';
import { located, syntaxError } from '../data/error.ts';
import { isObject } from '../data/json.ts';
import { columnOf, type TableSchema } from '../data/schema.ts';
import type { Datum, JsonObject, JsonValue } from '../data/value.ts';

/**
 * Reads a `<row>` (RFC 7047 §5.1): the columns that it names, each with all its constraints. Throws `syntax error`, `unknown column`,
 * `constraint violation` or `ovsdb error`.
 */
export function parseRow(table: TableSchema, json: JsonValue): ReadonlyMap<string, Datum> {
  if (!isObject(json)) throw syntaxError('row must be JSON object', json);
  return new Map(
    Object.entries(json).map(([name, value]) => {
      const { type } = columnOf(table, name);
      return located(
        (details) => `${details} (column ${name})`,
        () => [name, parseDatum(type, value)],
      );
    }),
  );
}

/** A row in canonical form with every column of its table; those that it has no value for have their default. */
export const rowToJson = (table: TableSchema, row: ReadonlyMap<string, Datum>): JsonObject =>
  Object.fromEntries(
    [...table.columns.values()].map(({ name, type }) => [
      name,
      datumToJson(type, row.has(name) ? row.get(name) : defaultDatum(type)),
    ]),
  );
