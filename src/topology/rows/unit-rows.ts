/** Collects the rows of a unit, so that builders read like the tables that they write. */

import { SetVersion } from '../../facts/counted-set.ts';
import type { Rule, Sink } from '../../desired/features.ts';
import {
  RowReference,
  type Containment,
  type DesiredRow,
  type DesiredValue,
} from '../../desired/rows.ts';
import type { NorthboundRows } from '../schema/northbound.generated.ts';
import type { SouthboundRows } from '../schema/southbound.generated.ts';

export const NORTHBOUND = 'OVN_Northbound';
export const SOUTHBOUND = 'OVN_Southbound';
export type Database = typeof NORTHBOUND | typeof SOUTHBOUND;

/** Rules of a feature by the names that its rows refer to. */
export type Rules = Readonly<Record<string, Rule>>;

/** The row that holds another one, and the column that does. */
export const holds = (table: string, key: string, column: string): Containment => ({
  table,
  key,
  column,
});

function isEmpty(value: DesiredValue): boolean {
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.length === 0;
  if (value instanceof Map || value instanceof SetVersion) return value.size === 0;
  return !(value instanceof RowReference) && Object.keys(value).length === 0;
}

/**
 * Rows of one object, as one rule wants them. Columns of a row to be: what is undefined, and what is an empty set or map,
 * is left to the schema's default.
 */
export class Rows<Tables extends Record<keyof Tables, object> = NorthboundRows> {
  readonly #out: Sink;
  readonly #object: string;
  readonly #database: Database;
  readonly #rule: string;

  private constructor(out: Sink, object: string, database: Database, rule: string) {
    this.#out = out;
    this.#object = object;
    this.#database = database;
    this.#rule = rule;
  }

  static northbound = (out: Sink, object: string): Rows => new Rows(out, object, NORTHBOUND, '');

  static southbound = (out: Sink, object: string): Rows<SouthboundRows> =>
    new Rows(out, object, SOUTHBOUND, '');

  /** The rows that follow a rule of the feature. */
  by(rule: string): Rows<Tables> {
    return new Rows(this.#out, this.#object, this.#database, rule);
  }

  /** Adds a row whose key is its name. */
  named<T extends TableOf<Tables>>(
    table: T,
    name: string,
    columns: Columns<Tables[T]>,
    ...containers: Containment[]
  ): void {
    this.keyed(table, name, { name, ...columns }, ...containers);
  }

  keyed<T extends TableOf<Tables>>(
    table: T,
    key: string,
    columns: Columns<Tables[T]>,
    ...containers: Containment[]
  ): void {
    this.#add({ table, key, columns: present(columns), containers });
  }

  /** As `keyed`, for a row whose texts name other rows. */
  naming<T extends TableOf<Tables>>(
    names: readonly RowReference[],
    table: T,
    key: string,
    columns: Columns<Tables[T]>,
    ...containers: Containment[]
  ): void {
    const named = names.length === 0 ? {} : { names };
    this.#add({ table, key, columns: present(columns), containers, ...named });
  }

  /** As `named`, saying nothing about some columns: what is in them stays. */
  namedWithout<T extends TableOf<Tables>>(
    unspecified: readonly (keyof Tables[T] & string)[],
    table: T,
    name: string,
    columns: Columns<Tables[T]>,
  ): void {
    const all = present({ name, ...columns });
    this.#add({ table, key: name, columns: all, containers: [], unspecified });
  }

  /** Adds columns of a row that another program makes. */
  partial<T extends TableOf<Tables>>(table: T, key: string, columns: Tables[T]): void {
    this.#add({ table, key, columns: present(columns), containers: [], partial: true });
  }

  #add(row: Omit<DesiredRow, 'database' | 'rule' | 'object'>): void {
    this.#out.row({ database: this.#database, rule: this.#rule, object: this.#object, ...row });
  }
}

/** What a row's columns may be given: for a set of texts, also one that facts keep. */
type Columns<Row> = {
  readonly [C in keyof Row]: readonly string[] extends Row[C] ? Row[C] | SetVersion : Row[C];
};

type TableOf<Tables> = keyof Tables & string;

function present(columns: object): Record<string, DesiredValue> {
  const found: Record<string, DesiredValue> = {};
  // Not Object.entries: this runs for every row there is.
  for (const column in columns) {
    const value = (columns as Readonly<Record<string, DesiredValue | undefined>>)[column];
    if (value !== undefined && !isEmpty(value)) found[column] = value;
  }
  return found;
}
