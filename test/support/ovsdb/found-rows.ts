/** Desired rows as a database would give them back: sets as arrays, maps as Maps, references as UUIDs. */

import { RowReference, type DesiredRow, type FoundRow } from '../../../src/desired/rows.ts';

export const uuidOf = (table: string, key: string): string => `uuid of ${table} ${key}`;

function readBack(value: unknown): unknown {
  if (value instanceof RowReference) return uuidOf(value.table, value.key);
  if (Array.isArray(value)) return value.map(readBack);
  if (typeof value === 'object' && value !== null && !(value instanceof Map)) {
    return new Map(Object.entries(value));
  }
  return value;
}

/** A row with these columns; others read as undefined. */
export const foundRow = (columns: Readonly<Record<string, unknown>>, uuid = 'some'): FoundRow => ({
  uuid,
  column: (name) => readBack(columns[name]),
});

export const readBackRow = (row: DesiredRow): FoundRow =>
  foundRow(row.columns, uuidOf(row.table, row.key));
