import type {
  IndexColumn,
  OrderedColumn,
  OrderedRows,
  ReplicaRow,
  ReplicaView,
} from './replica-view.ts';
import type { Replica } from './replica.ts';
import type { Row } from '../schema/column.ts';
import type { Writable } from '../data/value.ts';

/** A row that can be read by column name, with the types that were generated from the schema. */
export type TypedRow<C> = Row<C> & ReplicaRow;

/** Rows in order whose columns the compiler knows. */
export interface TypedOrderedRows<C> extends OrderedRows {
  range(from?: readonly Writable[], to?: readonly Writable[]): readonly TypedRow<C>[];
  rows(): readonly TypedRow<C>[];
  find(...key: readonly Writable[]): readonly TypedRow<C>[];
}

/** A replica whose tables and columns the compiler knows. */
export interface TypedReplica<T> extends Omit<ReplicaView, 'rows' | 'row' | 'find' | 'size'> {
  size(table: string & keyof T): number;
  rows<K extends string & keyof T>(table: K): Iterable<TypedRow<T[K]>>;
  row<K extends string & keyof T>(table: K, uuid: string): TypedRow<T[K]> | undefined;
  find<K extends string & keyof T>(
    table: K,
    columns: readonly IndexColumn[],
    values: readonly Writable[],
  ): readonly TypedRow<T[K]>[];
  ordered<K extends string & keyof T>(
    table: K,
    columns: readonly OrderedColumn[],
  ): TypedOrderedRows<T[K]>;
}

/** The same replica, seen through generated types: `typedReplica<Northbound>(client.replica)`. Nothing is copied. */
export const typedReplica = <T>(replica: Replica): TypedReplica<T> =>
  replica as unknown as TypedReplica<T>;
