import { unlessAborted } from '../data/abort.ts';
import { OvsdbError } from '../data/error.ts';
import type {
  ReplicaChanges,
  ReplicaView,
  RowChange,
  SubscribeOptions,
} from '../replica/replica-view.ts';
import type { Datum, Uuid } from '../data/value.ts';

/** What became of a row since the last time, and the replica's sequence number after its last change. */
export interface TrackedChange extends RowChange {
  readonly sequence: number;
}

/**
 * Collects changes until they are taken, merged: a row that came and went is nothing, one that changed twice has the
 * oldest values. For those who work in rounds or are slower than the database.
 */
export class ChangeTracker implements Disposable {
  #tables = new Map<string, Map<Uuid, TrackedChange>>();
  readonly #lastChange = new Map<string, number>();
  readonly #replica: ReplicaView;
  readonly #stop: () => void;
  readonly #waiters = new Set<PromiseWithResolvers<undefined>>();
  #isDisposed = false;

  constructor(replica: ReplicaView, options?: SubscribeOptions) {
    this.#replica = replica;
    this.#stop = replica.subscribe((changes) => {
      this.#collect(changes);
    }, options);
  }

  #collect(changes: ReplicaChanges): void {
    for (const [name, { rows }] of changes.tables) {
      let table = this.#tables.get(name);
      if (table === undefined) {
        table = new Map();
        this.#tables.set(name, table);
      }
      this.#lastChange.set(name, changes.sequence);
      for (const row of rows) {
        const merged = merge(table.get(row.uuid), row);
        if (merged === undefined) table.delete(row.uuid);
        else table.set(row.uuid, changed(merged, merged.old, changes.sequence));
      }
      if (table.size === 0) this.#tables.delete(name);
    }
    if (this.#tables.size > 0) for (const { resolve } of this.#waiters) resolve(undefined);
  }

  /** True when there is nothing to take. */
  get isEmpty(): boolean {
    return this.#tables.size === 0;
  }

  /** What changed since the last time, by table. What was changed back in the meantime is left out. */
  take(): ReadonlyMap<string, readonly TrackedChange[]> {
    const tables = this.#tables;
    this.#tables = new Map();
    const result = new Map<string, readonly TrackedChange[]>();
    for (const [name, rows] of tables) {
      const changes = [...rows.values()].flatMap((row) => this.#remaining(name, row));
      if (changes.length > 0) result.set(name, changes);
    }
    return result;
  }

  /** The change without the columns that have their old value again. One that the schema has lost has not. */
  #remaining(name: string, change: TrackedChange): readonly TrackedChange[] {
    const row = change.kind === 'modified' ? this.#replica.row(name, change.uuid) : undefined;
    if (row === undefined) return [change];
    const columns = this.#replica.schema.tables.get(name)?.columns;
    const old = new Map(
      [...change.old].filter(
        ([column, value]) => columns?.has(column) !== true || !row.holds(column, value),
      ),
    );
    return old.size === 0 ? [] : [changed(change, old, change.sequence)];
  }

  /** The replica's sequence number at the last change of a table since the tracker was made; 0: none. */
  lastChange(table: string): number {
    return this.#lastChange.get(table) ?? 0;
  }

  /** Resolves once there is something to take. Rejects with the signal's reason, or `closed` when the tracker was disposed of. */
  async changed(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!this.isEmpty) return;
    if (this.#isDisposed) throw disposed();
    const waiter = Promise.withResolvers<undefined>();
    this.#waiters.add(waiter);
    try {
      await unlessAborted(waiter.promise, signal);
    } finally {
      this.#waiters.delete(waiter);
    }
  }

  /** Stops collecting. */
  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#stop();
    for (const { reject } of this.#waiters) reject(disposed());
  }
}

const disposed = (): OvsdbError => new OvsdbError('closed', 'the tracker was disposed of');

const changed = (
  { kind, uuid }: RowChange,
  old: RowChange['old'],
  sequence: number,
): TrackedChange => ({ kind, uuid, old, sequence });

const older = (
  first: ReadonlyMap<string, Datum>,
  second: ReadonlyMap<string, Datum>,
): ReadonlyMap<string, Datum> => new Map([...second, ...first]);

/** Two changes of one row in a row, as one; undefined when nothing is left. */
function merge(before: RowChange | undefined, now: RowChange): RowChange | undefined {
  if (before === undefined) return now;
  if (before.kind === 'inserted') return now.kind === 'deleted' ? undefined : before;
  // A deleted row that is back is a changed one.
  const kind = before.kind === 'deleted' ? 'modified' : now.kind;
  return { kind, uuid: now.uuid, old: older(before.old, now.old) };
}
