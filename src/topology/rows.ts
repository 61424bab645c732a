/** Collects desired rows, so that builders read like the tables that they write. */

import {
  RowReference,
  type Containment,
  type DesiredRow,
  type DesiredValue,
} from '../ovsdb/plan/desired.ts';

/** Columns of a row to be: what is undefined, and what is an empty set or map, is left to the schema's default. */
export type Columns = Readonly<Record<string, DesiredValue | undefined>>;

/** The row that holds another one, and the column that does. */
export const holds = (table: string, key: string, column: string): Containment => ({
  table,
  key,
  column,
});

function isEmpty(value: DesiredValue): boolean {
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.length === 0;
  if (value instanceof Map) return value.size === 0;
  return !(value instanceof RowReference) && Object.keys(value).length === 0;
}

export class Rows {
  readonly list: DesiredRow[] = [];

  /** Adds a row whose key is its name. */
  named(table: string, name: string, columns: Columns, ...containers: Containment[]): void {
    this.keyed(table, name, { name, ...columns }, ...containers);
  }

  keyed(table: string, key: string, columns: Columns, ...containers: Containment[]): void {
    const present: Record<string, DesiredValue> = {};
    // Not Object.entries: this runs for every row there is.
    for (const column in columns) {
      const value = columns[column];
      if (value !== undefined && !isEmpty(value)) present[column] = value;
    }
    this.list.push({ table, key, columns: present, containers });
  }

  /** Adds columns of a row that another program makes. */
  partial(table: string, key: string, columns: Readonly<Record<string, DesiredValue>>): void {
    this.list.push({ table, key, columns, containers: [], partial: true });
  }
}
