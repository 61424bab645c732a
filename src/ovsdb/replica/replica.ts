import { OvsdbError } from '../error.ts';
import type {
  ColumnAccess,
  IndexColumn,
  OrderedColumn,
  OrderedRows,
  Referrer,
  ReplicaChanges,
  ReplicaRow,
  ReplicaView,
  RowComparer,
  SubscribeOptions,
} from '../replica-view.ts';
import { schemaToJson, type DatabaseSchema } from '../schema.ts';
import { Pools } from '../storage/pools.ts';
import type { TableStore } from '../storage/table-store.ts';
import { jsonEquals, stringify } from '../json.ts';
import type { Datum, JsonValue, Writable } from '../value.ts';
import { rethrowLater } from '../listener-error.ts';
import { CollectedChanges } from './changes.ts';
import { ReplicaTable } from './replica-table.ts';
import { TableComparer } from './row-comparer.ts';
import { DELETE, INSERT, REPLACE, type StagedTable } from './staging.ts';
import { UpdateReader, type UpdateFormat } from './update-reader.ts';

/** Which columns of which tables a replica holds: those that the server has and we monitor. */
export type MonitoredColumns = ReadonlyMap<string, ReadonlySet<string>>;

export interface FollowedColumns {
  readonly monitored: MonitoredColumns;
  /** Columns that the server has and whose newest values are not here. */
  readonly unseen?: MonitoredColumns;
  /** Columns whose changes alone are no event. */
  readonly quiet?: MonitoredColumns;
}

interface DefinedTables {
  readonly schema: DatabaseSchema;
  readonly pools: Pools;
  readonly tables: Map<string, ReplicaTable>;
}

interface Subscription {
  readonly listener: (changes: ReplicaChanges) => void;
  readonly tables: ReadonlySet<string> | undefined;
}

export interface ReplicaOptions extends Partial<FollowedColumns> {
  /** Every column of every table of the schema when absent. */
  readonly monitored?: MonitoredColumns;
  /** Hears what a subscriber threw; by default the error becomes an uncaught exception, outside of the replica. */
  readonly onListenerError?: (error: unknown) => void;
}

/**
 * A database as the server's updates describe it, column by column. Changes are shown whole: first every row of a message, then indexes and
 * references, then subscribers are called.
 */
export class Replica implements ReplicaView {
  #schema: DatabaseSchema;
  #pools = new Pools();
  #tables = new Map<string, ReplicaTable>();
  /** Definition of a new schema, until its contents are there. */
  #next: DefinedTables | undefined;
  /** Complete contents that are being read. */
  #unshown: UpdateReader | undefined;
  #sequence = 0;
  #ready = false;
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
    if (table === undefined) {
      throw new OvsdbError('unknown table', `database ${this.#schema.name} has no table ${name}`);
    }
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

  comparer(table: string, compared: readonly string[], ignored: readonly string[]): RowComparer {
    return new TableComparer(this.#table(table), compared, ignored);
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
    return [...this.#tables.values()].flatMap((other) => other.referrersTo(table, id));
  }

  /** Rows in the order of these columns, through an index that is made now and then kept. */
  ordered(table: string, columns: readonly OrderedColumn[]): OrderedRows {
    if (columns.length === 0) throw new OvsdbError('bad argument', 'an index needs a column');
    const range = (from?: readonly Writable[], to?: readonly Writable[]): readonly ReplicaRow[] =>
      this.#table(table).range(columns, from, to);
    range([], []);
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

  /** A reader for one message; `tables` are those that its monitor covers, all when absent. */
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
    if (mode === 'contents') this.#unshown?.abandon();
    const reader = new UpdateReader(covered, pools.uuids, format, mode);
    if (mode === 'contents') this.#unshown = reader;
    return reader;
  }

  /**
   * Shows what a reader has read. Throws `inconsistent`, having changed nothing, when it does not fit: the caller
   * must load the contents anew. `isReady`: the contents are complete with it.
   */
  show(reader: UpdateReader, isReady: boolean): void {
    const staged = reader.finish();
    for (const table of staged) table.prepare();
    if (this.#unshown === reader) this.#unshown = undefined;
    const changes = new Map(this.#next === undefined ? [] : this.#switch(this.#next));
    for (const table of staged) {
      const collected = this.#apply(table);
      if (collected !== undefined) changes.set(table.table.name, collected);
    }
    const becameReady = isReady && !this.#ready;
    if (isReady) this.#ready = true;
    if (changes.size > 0 || becameReady) this.#sequence++;
    for (const collected of changes.values()) collected.settle();
    this.#pools.sweep();
    if (changes.size > 0 || becameReady) this.#tell(changes);
  }

  /** What a reader has read will not be shown: gives back what only it used. */
  discard(): void {
    this.#unshown?.abandon();
    this.#unshown = undefined;
    this.#pools.sweep();
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

  #apply(staged: StagedTable): CollectedChanges | undefined {
    const { table, fresh } = staged;
    const wanted = this.#wanted(table.name);
    const collected = new CollectedChanges(table.name, this.#pools.uuids);
    if (fresh !== undefined) {
      if (fresh.size === 0) {
        fresh.dispose();
        return undefined;
      }
      fresh.sequence = this.#sequence + 1;
      table.replaceStore(fresh);
      if (wanted) for (const slot of fresh.slots()) collected.inserted(fresh.uuids[slot] as number);
      return collected;
    }
    let changed = false;
    const { store } = table;
    staged.each((kind, uuid, words, from, to) => {
      changed =
        this.#applyRow(table, kind, uuid, words, from, to, wanted ? collected : undefined) ||
        changed;
    });
    if (!changed) return undefined;
    store.sequence = this.#sequence + 1;
    return collected;
  }

  #applyRow(
    table: ReplicaTable,
    kind: number,
    uuid: number,
    words: Uint32Array,
    from: number,
    to: number,
    collected: CollectedChanges | undefined,
  ): boolean {
    const { store } = table;
    if (kind === INSERT) {
      const slot = store.insert(uuid);
      for (let i = from; i < to; i += 2)
        store.set(slot, words[i] as number, words[i + 1] as number);
      store.finish(slot);
      collected?.inserted(uuid);
      return true;
    }
    const slot = store.slotOf(uuid);
    if (kind === DELETE) {
      collected?.deleted(this.#pools.uuids.text(uuid), oldValues(store, slot));
      store.delete(slot);
      return true;
    }
    const cells = kind === REPLACE ? replacement(store, words, from, to) : pairs(words, from, to);
    const changed = cells.filter(([position, cell]) => store.cell(slot, position) !== cell);
    if (changed.length === 0) return false;
    const positions = new Set(changed.map(([position]) => position));
    if (collected !== undefined && !table.isQuiet(positions))
      collected.modified(this.#pools.uuids.text(uuid), oldValues(store, slot, positions));
    store.begin(slot, positions);
    for (const [position, cell] of changed) store.set(slot, position, cell);
    store.finish(slot, positions);
    return true;
  }

  #tell(tables: ReadonlyMap<string, CollectedChanges>): void {
    const sequence = this.#sequence;
    for (const { listener, tables: wanted } of this.#subscriptions) {
      // A table without rows here changed in quiet columns alone, or was nobody's concern.
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
   * contents are shown; then it is replaced at once, and what did not change is not reported. True when nothing that is stored differs.
   */
  redefine(schema: DatabaseSchema, columns: FollowedColumns): boolean {
    this.#next = undefined;
    if (sameDefinition(this.#schema, this.#tables, schema, columns.monitored)) {
      this.#schema = schema;
      return true;
    }
    const pools = new Pools();
    const tables = defineTables(schema, columns, pools);
    for (const [name, table] of tables) {
      const before = this.#tables.get(name);
      if (before !== undefined) copyRows(before, table);
    }
    this.#next = { schema, pools, tables };
    return false;
  }

  /** Switches to the new definition; rows of tables that are gone are reported as deleted. */
  #switch(next: DefinedTables): ReadonlyMap<string, CollectedChanges> {
    const gone = new Map<string, CollectedChanges>();
    for (const [name, table] of this.#tables) {
      if (next.tables.has(name) || table.size === 0 || !this.#wanted(name)) continue;
      const collected = new CollectedChanges(name, this.#pools.uuids);
      for (const slot of table.store.slots()) {
        const uuid = this.#pools.uuids.text(table.store.uuids[slot] as number);
        collected.deleted(uuid, oldValues(table.store, slot));
      }
      gone.set(name, collected);
    }
    this.#schema = next.schema;
    this.#pools = next.pools;
    this.#tables = next.tables;
    this.#next = undefined;
    return gone;
  }
}

/** Whether nothing that is stored would change: the same tables, columns, types and monitored columns. */
function sameDefinition(
  schema: DatabaseSchema,
  tables: ReadonlyMap<string, ReplicaTable>,
  next: DatabaseSchema,
  monitored: MonitoredColumns,
): boolean {
  const shape = (given: DatabaseSchema): JsonValue => {
    const { tables: shapes } = schemaToJson(given) as { readonly tables: JsonValue };
    return shapes;
  };
  return (
    jsonEquals(shape(schema), shape(next)) &&
    [...tables.values()].every((table) => {
      const columns = monitored.get(table.name) ?? new Set<string>();
      return columns.size === table.monitored.size && columns.isSubsetOf(table.monitored);
    })
  );
}

function defineTables(
  schema: DatabaseSchema,
  columns: Partial<FollowedColumns>,
  pools: Pools,
): Map<string, ReplicaTable> {
  return new Map(
    [...schema.tables.values()].map((table) => [
      table.name,
      new ReplicaTable(
        table,
        pools,
        columns.monitored === undefined
          ? new Set(table.columns.keys())
          : (columns.monitored.get(table.name) ?? new Set()),
        columns.unseen?.get(table.name),
        columns.quiet?.get(table.name),
      ),
    ]),
  );
}

const pairs = (words: Uint32Array, from: number, to: number): [number, number][] => {
  const result: [number, number][] = [];
  for (let i = from; i < to; i += 2) result.push([words[i] as number, words[i + 1] as number]);
  return result;
};

/** Cells of a whole row: columns that are not named have their default. */
function replacement(
  store: TableStore,
  words: Uint32Array,
  from: number,
  to: number,
): [number, number][] {
  const named = new Map(pairs(words, from, to));
  return store.columns.map(({ position, codec }) => [
    position,
    named.get(position) ?? codec.defaultCell,
  ]);
}

function oldValues(
  store: TableStore,
  slot: number,
  positions?: ReadonlySet<number>,
): ReadonlyMap<string, Datum> {
  const result = new Map<string, Datum>();
  for (const { name, position, codec } of store.columns) {
    if (positions === undefined || positions.has(position)) {
      result.set(name, codec.datum(store.cell(slot, position)));
    }
  }
  return result;
}

/** Copies rows between replicas that do not share their pools, as far as the columns are of one type. */
function copyRows(from: ReplicaTable, to: ReplicaTable): void {
  const { store } = to;
  const columns = store.columns.flatMap((column) => {
    const before = from.store.column(column.name);
    const same =
      before !== undefined &&
      JSON.stringify(typeText(before.codec.type)) === JSON.stringify(typeText(column.codec.type));
    return same ? [{ before, column }] : [];
  });
  for (const slot of from.store.slots()) {
    const uuid = store.pools.uuids.intern(
      from.store.pools.uuids.text(from.store.uuids[slot] as number),
    );
    const copy = store.insert(uuid);
    for (const { before, column } of columns) {
      store.set(
        copy,
        column.position,
        column.codec.cell(before.codec.datum(from.store.cell(slot, before.position))),
      );
    }
    store.finish(copy);
  }
}

const typeText = (type: {
  readonly key: { readonly type: string };
  readonly value?: { readonly type: string };
  readonly min: number;
  readonly max: number;
}) => [type.key.type, type.value?.type, type.min, String(type.max)];
