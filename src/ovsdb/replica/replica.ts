import { OvsdbError, rethrowLater } from '../data/error.ts';
import type {
  ColumnAccess,
  IndexColumn,
  OrderedColumn,
  OrderedRows,
  Referrer,
  ReplicaChanges,
  ReplicaRow,
  ReplicaView,
  SubscribeOptions,
} from './replica-view.ts';
import { unknownTable, type DatabaseSchema } from '../data/schema.ts';
import { Pools } from '../storage/pools.ts';
import { stringify } from '../data/json.ts';
import type { JsonValue, Writable } from '../data/value.ts';
import { CollectedChanges } from './changes.ts';
import {
  defineTables,
  keepIndexes,
  sameDefinition,
  sameSchema,
  type DefinedTables,
  type FollowedColumns,
  type MonitoredColumns,
} from './definition.ts';
import type { ReplicaTable } from './replica-table.ts';
import { copyRows } from './row-copy.ts';
import { UpdateReader, type UpdateFormat } from './update-reader.ts';

interface Subscription {
  readonly listener: (changes: ReplicaChanges) => void;
  readonly tables: ReadonlySet<string> | undefined;
}

export interface ReplicaOptions extends Partial<FollowedColumns> {
  /** Every column of every table of the schema when absent. */
  readonly monitored?: MonitoredColumns;
  /** Called with what a subscriber threw; by default the error becomes an uncaught exception, outside of the replica. */
  readonly onListenerError?: (error: unknown) => void;
}

/**
 * A database as the server's updates describe it, column by column. Changes are shown whole: first every row of a message, then indexes and
 * references, then subscribers are called.
 */
export class Replica implements ReplicaView {
  #schema: DatabaseSchema;
  #pools = new Pools();
  #tables: Map<string, ReplicaTable>;
  /** Definition of a new schema, with the rows that there are, until its contents are applied. */
  #next: DefinedTables | undefined;
  /** Updates that are being read. */
  #reader: UpdateReader | undefined;
  #sequence = 0;
  #ready = false;
  /** Tables whose rows can refer to those of a table, until the next message. */
  readonly #referring = new Map<string, readonly ReplicaTable[]>();
  readonly #subscriptions = new Set<Subscription>();
  readonly #onListenerError: (error: unknown) => void;

  constructor(schema: DatabaseSchema, options: ReplicaOptions = {}) {
    this.#schema = schema;
    this.#onListenerError = options.onListenerError ?? rethrowLater;
    this.#tables = defineTables(schema, options, this.#pools);
  }

  get schema(): DatabaseSchema {
    return this.#schema;
  }

  get ready(): boolean {
    return this.#ready;
  }

  get sequence(): number {
    return this.#sequence;
  }

  #table(name: string): ReplicaTable {
    const table = this.#tables.get(name);
    if (table === undefined) throw unknownTable(this.#schema, name);
    return table;
  }

  hasTable(table: string): boolean {
    return (this.#tables.get(table)?.monitored.size ?? 0) > 0;
  }

  hasColumn(table: string, column: string): boolean {
    return this.#tables.get(table)?.monitored.has(column) ?? false;
  }

  access(table: string, column: string): ColumnAccess {
    return this.#tables.get(table)?.access(column) ?? 'missing';
  }

  size(table: string): number {
    return this.#table(table).size;
  }

  rows(table: string): Iterable<ReplicaRow> {
    return this.#table(table).rows();
  }

  row(table: string, uuid: string): ReplicaRow | undefined {
    return this.#table(table).row(uuid);
  }

  find(
    table: string,
    columns: readonly IndexColumn[],
    values: readonly Writable[],
  ): readonly ReplicaRow[] {
    return this.#table(table).find(columns, values);
  }

  referrers(table: string, uuid: string): readonly Referrer[] {
    this.#table(table);
    const id = this.#pools.uuids.find(uuid);
    if (id <= 0) return [];
    let referring = this.#referring.get(table);
    if (referring === undefined) {
      referring = [...this.#tables.values()].filter((other) => other.canReferTo(table));
      this.#referring.set(table, referring);
    }
    const result: Referrer[] = [];
    for (const other of referring) other.addReferrers(table, id, result);
    return result;
  }

  /** Rows in the order of these columns, through an index that is made now, if it is not there, and then kept. */
  ordered(table: string, columns: readonly OrderedColumn[]): OrderedRows {
    if (columns.length === 0) throw new OvsdbError('bad argument', 'an index needs a column');
    const range = (from?: readonly Writable[], to?: readonly Writable[]): readonly ReplicaRow[] =>
      this.#table(table).range(columns, from, to);
    this.#table(table).keep({ ordered: [columns] });
    return { range, rows: () => range(), find: (...key) => range(key, key) };
  }

  subscribe(
    listener: (changes: ReplicaChanges) => void,
    options: SubscribeOptions = {},
  ): () => void {
    const subscription: Subscription = {
      listener,
      tables: options.tables === undefined ? undefined : new Set(options.tables),
    };
    for (const table of options.tables ?? []) this.#table(table);
    this.#subscriptions.add(subscription);
    return () => {
      this.#subscriptions.delete(subscription);
    };
  }

  /** Distinct values kept and the bytes they take, for metrics. */
  get statistics(): Pools['statistics'] & { readonly rows: number } {
    const rows = [...this.#tables.values()].reduce((sum, table) => sum + table.size, 0);
    return { ...this.#pools.statistics, rows };
  }

  /** A reader for one message; `tables` are those that its monitor covers, all when absent. What it reads is then applied, or discarded. */
  reader(
    format: UpdateFormat,
    mode: 'changes' | 'contents',
    tables?: readonly string[],
  ): UpdateReader {
    const { tables: defined, pools } = this.#next ?? { tables: this.#tables, pools: this.#pools };
    const covered =
      tables === undefined
        ? defined
        : new Map([...defined].filter(([name]) => tables.includes(name)));
    // A load that a lost connection cut off holds what it has read so far.
    this.#reader?.dispose();
    this.#reader = new UpdateReader(covered, pools.uuids, format, mode);
    return this.#reader;
  }

  /**
   * Applies what a reader has read, all of it at once, and calls the subscribers. Throws `inconsistent`, having changed nothing, when it does not fit:
   * the caller must load the contents anew. `isReady`: the contents are complete with it.
   */
  show(reader: UpdateReader, isReady: boolean): void {
    reader.finish();
    for (const staged of reader.tables) staged.prepare();
    this.#reader = undefined;
    const next = this.#next;
    const tables = next?.tables ?? this.#tables;
    const changed = new Map<string, CollectedChanges>();
    for (const gone of next === undefined ? [] : this.#tables.values()) {
      if (!tables.has(gone.name) && gone.size > 0) changed.set(gone.name, this.#gone(gone));
    }
    for (const staged of reader.tables) {
      const { name } = staged.table;
      const changes = staged.apply(this.#wanted(name));
      if (changes !== undefined) changed.set(name, changes);
      if (staged.fresh !== undefined && staged.fresh.size > 0) tables.set(name, staged.fresh);
    }
    if (next !== undefined) this.#switch(next);
    this.#referring.clear();
    const becameReady = isReady && !this.#ready;
    if (isReady) this.#ready = true;
    this.#pools.sweep();
    if (changed.size > 0 || becameReady) {
      this.#sequence++;
      this.#notify(changed);
    }
  }

  /** All rows of a table that the database has no more. */
  #gone(table: ReplicaTable): CollectedChanges {
    const changes = new CollectedChanges(table);
    if (this.#wanted(table.name)) for (const slot of table.store.slots()) changes.deleted(slot);
    return changes;
  }

  /** What a reader has read will not be applied. */
  discard(): void {
    this.#reader?.dispose();
    this.#reader = undefined;
    (this.#next?.pools ?? this.#pools).sweep();
  }

  /**
   * Applies table updates given as JSON, as the server would send them: `contents` is the reply to a monitor request, which holds everything,
   * `changes` a notification or a reply with `found` true. The updates of `update3` have the form of `update2`. For tests and recorded sessions.
   */
  apply(
    update: JsonValue,
    format: UpdateFormat | 'update3',
    mode: 'changes' | 'contents' = 'changes',
  ): void {
    const reader = this.reader(format === 'update' ? 'update' : 'update2', mode);
    try {
      const bytes = Buffer.from(stringify(update));
      const end = reader.push(bytes, 0, bytes.length);
      if (bytes.subarray(end).toString().trim() !== '') {
        throw new OvsdbError('syntax error', 'something follows the table updates');
      }
      this.show(reader, mode === 'contents' || this.#ready);
    } catch (error) {
      this.discard();
      throw error;
    }
  }

  #wanted(table: string): boolean {
    for (const { tables } of this.#subscriptions) {
      if (tables === undefined || tables.has(table)) return true;
    }
    return false;
  }

  #notify(tables: ReadonlyMap<string, CollectedChanges>): void {
    const sequence = this.#sequence;
    for (const { listener, tables: wanted } of this.#subscriptions) {
      // A table without rows here changed in quiet columns alone, or has no subscribers.
      const seen = new Map(
        [...tables].filter(([name, { size }]) => size > 0 && wanted?.has(name) !== false),
      );
      if (seen.size === 0 && tables.size > 0) continue;
      try {
        listener({ sequence, tables: seen });
      } catch (error) {
        this.#onListenerError(error);
      }
    }
  }

  /**
   * The database has another schema now (converted, or another server). What there is stays visible until the new
   * contents are applied; then it is replaced at once, and what did not change is not reported. True when nothing that is stored differs.
   */
  redefine(schema: DatabaseSchema, columns: FollowedColumns): boolean {
    this.#next = undefined;
    if (sameDefinition(this.#schema, this.#tables, schema, columns)) {
      // Who keeps it to see whether it is another one should not see one after each reconnect.
      if (!sameSchema(this.#schema, schema)) this.#schema = schema;
      keepIndexes(this.#tables, columns.indexes);
      return true;
    }
    const pools = new Pools();
    const tables = defineTables(schema, columns, pools);
    for (const [name, table] of tables) {
      const before = this.#tables.get(name);
      if (before === undefined) continue;
      table.inherit(before);
      copyRows(before, table);
    }
    this.#next = { schema, pools, tables };
    return false;
  }

  #switch(next: DefinedTables): void {
    for (const table of this.#tables.values()) {
      const successor = next.tables.get(table.name);
      table.store.replace(successor?.store);
      successor?.succeed(table);
    }
    this.#schema = next.schema;
    this.#pools = next.pools;
    this.#tables = next.tables;
    this.#next = undefined;
    for (const table of next.tables.values()) table.unexpressed = new Map();
  }
}
