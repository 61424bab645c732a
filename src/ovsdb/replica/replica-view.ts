import type { DatabaseSchema } from '../data/schema.ts';
import type { Atom, Datum, Uuid, Writable } from '../data/value.ts';

/** A row of the replica, read where it is: always the newest state, never a copy. */
export interface ReplicaRow {
  readonly table: string;
  readonly uuid: Uuid;
  /** False once the row is gone; its columns then can't be read any more. */
  readonly exists: boolean;
  /** The column's value: of an optional the value or undefined, of a set an array, of a map a `Map`; the schema's default where the server never sent one; `_uuid` is one, too. Throws on an unknown column. */
  column(name: string): Datum;
  /** True when the column holds this value. Compares stored codes: nothing is decoded. */
  holds(column: string, value: Writable): boolean;
  /** Number of members of a set, or of keys of a map; of an optional 0 or 1. */
  memberCount(column: string): number;
  /** True when the set holds this member, or the map this key (and value, when given). */
  includes(column: string, member: Writable, value?: Writable): boolean;
}

/** What an index looks at: a column, or the value of one key of a map column; the key is of the type of the map's keys. */
export type IndexColumn = string | { readonly column: string; readonly key: Atom };

/** What an ordered index sorts by: a column, or a column with its own order. */
export type OrderedColumn =
  | string
  | {
      readonly column: string;
      readonly descending?: boolean;
      /** Instead of the canonical order of the column's values. */
      readonly compare?: (a: Datum, b: Datum) => number;
    };

/** Indexes that a program will ask for: kept from the first row on, so that the first question does not have to make them. */
export interface TableIndexes {
  /** For `find`: lists of columns. */
  readonly find?: readonly (readonly IndexColumn[])[];
  /** For `ordered`: lists of columns. */
  readonly ordered?: readonly (readonly OrderedColumn[])[];
  /** For `referrers` of this table's rows. */
  readonly referrers?: boolean;
}

/** Rows of a table in order. Always the newest state. */
export interface OrderedRows {
  /** Rows from one key to another, both included. A key has values for the first columns, all or some. */
  range(from?: readonly Writable[], to?: readonly Writable[]): readonly ReplicaRow[];
  rows(): readonly ReplicaRow[];
  /** Rows that are equal to the key. */
  find(...key: readonly Writable[]): readonly ReplicaRow[];
}

/** One place where a row is referred to: `column` of row `uuid` of `table`. */
export interface Referrer {
  readonly table: string;
  readonly column: string;
  readonly uuid: Uuid;
}

/** One row's change. `old` holds values as they were before: of the changed columns, or of all when deleted; it may be a getter of the class. */
export interface RowChange {
  readonly kind: 'inserted' | 'modified' | 'deleted';
  readonly uuid: Uuid;
  readonly old: ReadonlyMap<string, Datum>;
}

export interface TableChanges {
  readonly table: string;
  readonly rows: readonly RowChange[];
  /**
   * Members that entered or left a set of a modified row, told without reading the set's other members. Undefined for a column that is no set
   * or did not change; views that keep no sets of their own have no such answer.
   */
  moved?(uuid: string, column: string): readonly Atom[] | undefined;
  /** Names of the columns of a modified row that changed, told without reading their old values. Undefined where `moved` has no answer. */
  columns?(uuid: string): readonly string[] | undefined;
}

/** All that one message of the server (or one resync) changed; the replica already shows the new state. */
export interface ReplicaChanges {
  /** The replica's sequence number after the change. */
  readonly sequence: number;
  readonly tables: ReadonlyMap<string, TableChanges>;
}

export interface SubscribeOptions {
  /** Tables whose changes are reported; all when absent. */
  readonly tables?: readonly string[];
}

/**
 * What a replica knows of a column: `followed`, its newest value; `unseen`, the server has it but its newest value is not here (not
 * selected), so it can be written and not compared; `missing`, the server has no such column: it can't be written.
 */
export type ColumnAccess = 'followed' | 'unseen' | 'missing';

/** The database as last seen, whole transactions only. */
export interface ReplicaView {
  readonly schema: DatabaseSchema;
  /** False until the first complete contents arrived. */
  readonly ready: boolean;
  /** Grows with each change. */
  readonly sequence: number;
  /** True when the server has this table and we monitor it. */
  hasTable(table: string): boolean;
  /** True when the server has this column and we monitor it; others read as their default. */
  hasColumn(table: string, column: string): boolean;
  access(table: string, column: string): ColumnAccess;
  size(table: string): number;
  rows(table: string): Iterable<ReplicaRow>;
  row(table: string, uuid: string): ReplicaRow | undefined;
  /**
   * Rows whose columns have these values, through a hash index that is made on first use and then kept.
   * `find('Logical_Switch', ['name'], ['blue'])`,
   * `find('ACL', [{ column: 'external_ids', key: 'owner' }], ['blue'])`.
   */
  find(
    table: string,
    columns: readonly IndexColumn[],
    values: readonly Writable[],
  ): readonly ReplicaRow[];
  /** Who refers to a row of `table`: every reference column of every monitored table. */
  referrers(table: string, uuid: string): readonly Referrer[];
  /** Calls the listener with each change once the whole message is applied. Returns the unsubscribe function. */
  subscribe(listener: (changes: ReplicaChanges) => void, options?: SubscribeOptions): () => void;
}
