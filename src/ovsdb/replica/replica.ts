import { OvsdbError } from '../data/error.ts';
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
} from './replica-view.ts';
import { unknownTable, type DatabaseSchema } from '../data/schema.ts';
import { Pools } from '../storage/pools.ts';
import type { TableStore } from '../storage/table-store.ts';
import { stringify } from '../data/json.ts';
import { atOnce, ENDLESS, type Turn, type Work } from '../turn.ts';
import type { JsonValue, Writable } from '../data/value.ts';
import { rethrowLater } from '../listener-error.ts';
import type { CountedChanges } from './changes.ts';
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
import { TableComparer } from './row-comparer.ts';
import type { StagedTable } from './staging.ts';
import { GoneTable, TableUpdate, type TableStep } from './table-update.ts';
import { UpdateReader, type UpdateFormat } from './update-reader.ts';

interface Subscription {
  readonly listener: (changes: ReplicaChanges) => void;
  readonly tables: ReadonlySet<string> | undefined;
}

export interface ReplicaOptions extends Partial<FollowedColumns> {
  /** Every column of every table of the schema when absent. */
  readonly monitored?: MonitoredColumns;
  /** Hears what a subscriber threw; by default the error becomes an uncaught exception, outside of the replica. */
  readonly onListenerError?: (error: unknown) => void;
  /** Updates of no more rows than this (2048) are applied at once, larger ones out of sight and in pieces. */
  readonly rowsAtOnce?: number;
}

/**
 * A database as the server's updates describe it, column by column. Changes are shown whole: first every row of a message, then indexes and
 * references, then subscribers are called.
 */
export class Replica implements ReplicaView {
  #schema: DatabaseSchema;
  #pools = new Pools();
  #tables: ReadonlyMap<string, ReplicaTable>;
  /** Definition of a new schema, until its contents are there. */
  #next: DefinedTables | undefined;
  /** Copies the rows that there are to the new definition. */
  #copying: Work | undefined;
  /** Complete contents that are being read. */
  #unshown: UpdateReader | undefined;
  /** The message that is about to be shown. */
  #work: Work<boolean> | undefined;
  /** Drafts of tables that have still to be settled. */
  readonly #drafts: { readonly draft: TableStore; readonly isShown: boolean }[] = [];
  #sequence = 0;
  #ready = false;
  readonly #subscriptions = new Set<Subscription>();
  readonly #onListenerError: (error: unknown) => void;
  readonly #rowsAtOnce: number;

  constructor(schema: DatabaseSchema, options: ReplicaOptions = {}) {
    this.#schema = schema;
    this.#onListenerError = options.onListenerError ?? rethrowLater;
    this.#rowsAtOnce = options.rowsAtOnce ?? ROWS_AT_ONCE;
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

  /** A reader for one message; `tables` are those that its monitor covers, all when absent. */
  reader(
    format: UpdateFormat,
    mode: 'changes' | 'contents',
    tables?: readonly string[],
  ): UpdateReader {
    if (this.isConverting) atOnce(this.converting());
    const { tables: defined, pools } = this.#next ?? { tables: this.#tables, pools: this.#pools };
    const covered =
      tables === undefined
        ? defined
        : new Map([...defined].filter(([name]) => tables.includes(name)));
    // A load that a lost connection cut off holds what it has read so far.
    if (mode === 'contents') this.#abandon();
    const reader = new UpdateReader(covered, pools.uuids, format, mode);
    if (mode === 'contents') this.#unshown = reader;
    return reader;
  }

  /**
   * Shows what a reader has read, in pieces: until all of it is ready readers see the old state, then the new one, and then
   * subscribers are called. Throws `inconsistent`, having changed nothing, when it does not fit: the caller must load the contents anew.
   * False when `discard` was called meanwhile. `isReady`: the contents are complete with it. Afterwards `tidy`.
   */
  showing(reader: UpdateReader, isReady: boolean, turn: Turn): Work<boolean> {
    const work = this.#showing(reader, isReady, turn);
    this.#work = work;
    return work;
  }

  *#showing(reader: UpdateReader, isReady: boolean, turn: Turn): Work<boolean> {
    while (!this.#settle(turn)) yield;
    yield* reader.finish(turn);
    const { tables } = reader;
    for (const staged of tables) yield* staged.prepare(turn);
    const updates = tables.map((staged) => new TableUpdate(staged));
    const steps: TableStep[] = [...this.#goneTables(), ...updates];
    let isShown = false;
    try {
      if (this.#next === undefined && this.#isSmall(tables)) {
        // Nothing has changed yet: what takes long to decode can be told in pieces.
        if (this.#pools.hasLong)
          for (const update of updates) if (this.#wanted(update.name)) yield* update.collect(turn);
        for (const update of updates) update.applyAtOnce(this.#wanted(update.name));
      } else {
        for (const update of updates) yield* update.apply(turn);
        yield* this.#collect(steps, turn);
      }
      // Nothing else can run from here on until every subscriber was called.
      isShown = true;
      this.#work = undefined;
      if (this.#unshown === reader) this.#unshown = undefined;
      if (this.#next !== undefined) this.#switch(this.#next);
      for (const update of updates) this.#leave(update.show(), true);
    } finally {
      if (!isShown) for (const update of updates) this.#leave(update.giveUp(), false);
    }
    for (const staged of tables) staged.release();
    const changed = steps.filter((step) => step.isChanged);
    const becameReady = isReady && !this.#ready;
    if (isReady) this.#ready = true;
    if (changed.length > 0 || becameReady) {
      this.#sequence++;
      this.#tell(
        new Map(
          changed.map(({ name, changes }) => [name, changes ?? { table: name, rows: [], size: 0 }]),
        ),
      );
    }
    return true;
  }

  #isSmall(tables: readonly StagedTable[]): boolean {
    let rows = 0;
    for (const { count, fresh } of tables) {
      if (fresh !== undefined) return false;
      rows += count;
    }
    return rows <= this.#rowsAtOnce;
  }

  /** Collects what subscribers want to hear; one may come while others run. */
  *#collect(steps: readonly TableStep[], turn: Turn): Work {
    const isMissing = (step: TableStep): boolean =>
      step.isChanged && step.changes === undefined && this.#wanted(step.name);
    for (let step = steps.find(isMissing); step !== undefined; step = steps.find(isMissing)) {
      yield* step.collect(turn);
    }
  }

  #leave(draft: TableStore | undefined, isShown: boolean): void {
    if (draft !== undefined) this.#drafts.push({ draft, isShown });
  }

  /** Before any table changes again. */
  #settle(turn: Turn): boolean {
    for (let left = this.#drafts[0]; left !== undefined; left = this.#drafts[0]) {
      if (!left.draft.settle(left.isShown, turn)) return false;
      this.#drafts.shift();
    }
    return true;
  }

  #tidy(turn: Turn): boolean {
    return this.#settle(turn) && this.#pools.sweep(turn);
  }

  /** Gives back what is not used any more, in pieces. Between messages. */
  *tidy(turn: Turn): Work {
    while (!this.#tidy(turn)) yield;
    for (const { store } of this.#tables.values())
      if (store.hasFollowers) yield* store.settleFollowers(turn);
  }

  /** Shows what a reader has read, at once. */
  show(reader: UpdateReader, isReady: boolean): void {
    atOnce(this.showing(reader, isReady, ENDLESS));
    this.#tidy(ENDLESS);
  }

  /**
   * What a reader has read will not be shown. What only it used is given back as far as the turn allows, the rest after the next message.
   */
  discard(turn: Turn = ENDLESS): void {
    this.#work?.return(false);
    this.#work = undefined;
    this.#abandon();
    this.#tidy(turn);
  }

  /** Gives up complete contents that were being read. */
  #abandon(): void {
    for (const { table, fresh } of this.#unshown?.tables ?? []) {
      if (fresh === undefined) continue;
      table.store.undraft();
      this.#leave(fresh, false);
    }
    this.#unshown = undefined;
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

  #tell(tables: ReadonlyMap<string, CountedChanges>): void {
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
   * Otherwise the rows are copied by `converting`, within the turns given here.
   */
  redefine(schema: DatabaseSchema, columns: FollowedColumns, turn: Turn = ENDLESS): boolean {
    this.#next = undefined;
    this.#copying = undefined;
    if (sameDefinition(this.#schema, this.#tables, schema, columns)) {
      // Who keeps it to see whether it is another one should not see one after each reconnect.
      if (!sameSchema(this.#schema, schema)) this.#schema = schema;
      keepIndexes(this.#tables, columns.indexes);
      return true;
    }
    const pools = new Pools();
    const tables = defineTables(schema, columns, pools);
    // While there are no rows: they follow each one that is copied.
    for (const [name, table] of tables) {
      const before = this.#tables.get(name);
      if (before !== undefined) table.inherit(before);
    }
    this.#next = { schema, pools, tables };
    this.#copying = this.#copyTo(tables, turn);
    return false;
  }

  *#copyTo(tables: ReadonlyMap<string, ReplicaTable>, turn: Turn): Work {
    for (const [name, table] of tables) {
      const before = this.#tables.get(name);
      if (before !== undefined) yield* copyRows(before, table, turn);
    }
  }

  /** Whether `converting` has anything to do. */
  get isConverting(): boolean {
    return this.#copying !== undefined;
  }

  /** Makes what there is comparable with contents of a new schema, in pieces: before these are read, which does the rest at once. */
  *converting(): Work {
    const copying = this.#copying;
    if (copying === undefined) return;
    while (copying.next().done !== true) {
      yield;
      // Another definition may have come meanwhile.
      if (this.#copying !== copying) return;
    }
    this.#copying = undefined;
  }

  /** Tables with rows that a new definition does not have any more. */
  #goneTables(): readonly GoneTable[] {
    const next = this.#next;
    if (next === undefined) return [];
    return [...this.#tables.values()]
      .filter((table) => !next.tables.has(table.name) && table.size > 0)
      .map((table) => new GoneTable(table.store));
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

/**
 * To apply a row at once takes one or two microseconds. Out of sight it takes less of a turn, but copies the tables, however few rows
 * of them change.
 */
const ROWS_AT_ONCE = 2048;
