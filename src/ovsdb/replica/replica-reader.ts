import type { AnyTables, ColumnsOf, InsertColumns, Row, TableName } from '../schema/column.ts';
import type { Writable } from '../data/value.ts';
import type { OrderedColumn, OrderedRows, ReplicaRow } from './replica-view.ts';
import type { Replica } from './replica.ts';

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

/** Reads a replica by the generated types of its tables. All of it throws `disconnected` before the first contents, as `replica` does. */
export abstract class ReplicaReader<T = AnyTables> {
  /** The rows as last seen. */
  abstract get replica(): Replica;

  /** The rows of a table. */
  rows<K extends TableName<T>>(table: K): Iterable<RowOf<T, K>> {
    return this.replica.rows(table) as Iterable<RowOf<T, K>>;
  }

  /** The row with this UUID. */
  row<K extends TableName<T>>(table: K, uuid: string): RowOf<T, K> | undefined {
    return this.replica.row(table, uuid) as RowOf<T, K> | undefined;
  }

  /** Rows whose columns have these values, through an index that is made on first use and then kept: `find('Logical_Switch', { name: 'blue' })`. */
  find<K extends TableName<T>>(table: K, columns: InsertColumns<T, K>): readonly RowOf<T, K>[] {
    const values = columns as { readonly [column: string]: Writable };
    // Sorted, so that each set of columns has one index.
    const names = Object.keys(values).toSorted();
    const found = this.replica.find(
      table,
      names,
      names.map((name) => values[name]),
    );
    return found as readonly RowOf<T, K>[];
  }

  /** The rows of a table in the order of these columns, through an index that is made on first use and then kept. */
  ordered<K extends TableName<T>>(
    table: K,
    columns: readonly OrderedColumn[],
  ): OrderedRowsOf<T, K> {
    return this.replica.ordered(table, columns) as OrderedRowsOf<T, K>;
  }
}
