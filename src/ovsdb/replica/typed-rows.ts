import type { AnyTables, ColumnsOf, Row } from '../schema/column.ts';
import type { Writable } from '../data/value.ts';
import type { OrderedRows, ReplicaRow } from './replica-view.ts';

/** A row that can be read by property, with the types that were generated from the schema. */
export type TypedRow<C> = Row<C> & ReplicaRow;

/** Rows of table `K`: typed where the types of the tables are known. */
export type RowOf<T, K> = [T] extends [AnyTables] ? ReplicaRow : TypedRow<ColumnsOf<T, K>>;

/** Rows in order, typed likewise. */
export interface OrderedRowsOf<T, K> extends OrderedRows {
  range(from?: readonly Writable[], to?: readonly Writable[]): readonly RowOf<T, K>[];
  rows(): readonly RowOf<T, K>[];
  find(...key: readonly Writable[]): readonly RowOf<T, K>[];
}
