import type { NamedUuid, Uuid, Writable } from '../data/value.ts';

/** How one column reads, and whether the server lets us write it. */
export interface Column<Read, Mutable extends boolean = true> {
  readonly read: Read;
  readonly mutable: Mutable;
}

type ReadOf<C> = C extends Column<infer R, boolean> ? R : never;

/**
 * What a column of this reading may be set to: a map also as a record, a set also as a `Set` or as its only member, a reference also as a
 * row that was inserted.
 */
type WriteOf<R> =
  R extends ReadonlyMap<infer K, infer V>
    ?
        | ReadonlyMap<K, WriteOf<V>>
        | (K extends string ? { readonly [key: string]: WriteOf<V> } : never)
    : R extends readonly (infer M)[]
      ? readonly WriteOf<M>[] | ReadonlySet<WriteOf<M>> | WriteOf<M>
      : R extends Uuid
        ? Uuid | NamedUuid
        : R;

type MutableKeys<T> = {
  [K in keyof T]: T[K] extends Column<unknown> ? K : never;
}[keyof T];

/** A row as the replica holds it: every column present, OVSDB defaults filled in. */
export type Row<T> = { readonly uuid: Uuid } & { readonly [K in keyof T]: ReadOf<T[K]> };

/** A row to insert: columns left out take the schema's default (RFC 7047 §5.2.1). */
export type NewRow<T> = { readonly [K in keyof T]?: WriteOf<ReadOf<T[K]>> };

/** Columns to overwrite. Immutable columns are not in this type at all. */
export type Change<T> = { readonly [K in MutableKeys<T>]?: WriteOf<ReadOf<T[K]>> };

/** Stands for the tables of a database whose types are not known: every table and column is accepted, and checked when it runs. */
export type AnyTables = { readonly [table: string]: never };

export type TableName<T> = string & keyof T;

/** The generated columns of table `K`. */
export type ColumnsOf<T, K> = K extends keyof T ? T[K] : never;

type AnyColumns = { readonly [column: string]: Writable };

/** What columns of a row of table `K` may be given when it is inserted or looked for. */
export type InsertColumns<T, K> = [T] extends [AnyTables] ? AnyColumns : NewRow<ColumnsOf<T, K>>;

/** The same when they are overwritten. */
export type UpdateColumns<T, K> = [T] extends [AnyTables] ? AnyColumns : Change<ColumnsOf<T, K>>;
