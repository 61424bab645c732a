/** Rows of OVSDB databases as `select` gives them (RFC 7047 §5.1), read by what a column is asked to be: no schema is needed, and none is trusted. */

/** A row: columns in the form of the wire. */
export type Row = Readonly<Record<string, unknown>>;

/** Rows of a database by table; a table that was not read is missing. */
export type Tables = ReadonlyMap<string, readonly Row[]>;

/** An atom as text: a string, a number, a truth value, or the UUID of `["uuid", …]`. */
function atom(value: unknown): string {
  if (Array.isArray(value)) return atom(value[1]);
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

const isTagged = (value: unknown, tag: string): value is [string, unknown] =>
  Array.isArray(value) && value.length === 2 && value[0] === tag;

/** Atoms of a column: of a set all, of an optional value one or none. */
export function list(row: Row, column: string): readonly string[] {
  const value = row[column];
  if (value === undefined) return [];
  return isTagged(value, 'set') ? (value[1] as readonly unknown[]).map(atom) : [atom(value)];
}

/** The only atom of a column; '' where there is none. */
export const text = (row: Row, column: string): string => list(row, column)[0] ?? '';

export const uuidOf = (row: Row): string => text(row, '_uuid');

const NOTHING: Readonly<Record<string, string>> = {};

/** A column that is a map; empty where it is none. */
export function pairs(row: Row, column: string): Readonly<Record<string, string>> {
  const value = row[column];
  if (!isTagged(value, 'map')) return NOTHING;
  const found = value[1] as readonly (readonly [unknown, unknown])[];
  return found.length === 0
    ? NOTHING
    : Object.fromEntries(found.map(([key, member]) => [atom(key), atom(member)]));
}

/** A member of a map, without making the whole map. */
export function member(row: Row, column: string, key: string): string | undefined {
  const value = row[column];
  if (!isTagged(value, 'map')) return undefined;
  for (const [name, found] of value[1] as readonly (readonly [unknown, unknown])[])
    if (name === key) return atom(found);
  return undefined;
}

export const rowsOf = (tables: Tables, table: string): readonly Row[] => tables.get(table) ?? [];
