import type { ObjectCache } from './object-cache.ts';
import type { ObjectKey, ResourceKind } from '../../api/objects.ts';
import { objectId, type ObjectId, type ObjectRecord } from './object-record.ts';
import { recordPath } from './record-path.ts';
import type { RecordChanges, RecordStorage } from './state-directory.ts';

/** An object by what it is and by where its record is kept. */
export interface Address {
  readonly id: ObjectId;
  readonly path: string;
}

export function addressOf(kind: ResourceKind, key: ObjectKey): Address {
  const slash = key.indexOf('/');
  const namespace = slash === -1 ? '' : key.slice(0, slash);
  const name = key.slice(slash + 1);
  return { id: objectId({ ...kind, namespace, name }), path: recordPath(kind, namespace, name) };
}

interface WriteDurability {
  /** Must survive a power failure (an allocation), not only the end of the process (a status). */
  readonly durable: boolean;
}

/** What a write sees and does while nobody else writes. */
export interface Transaction {
  get(id: ObjectId): ObjectRecord | undefined;
  /** Undefined removes the record. */
  put(address: Address, record: ObjectRecord | undefined, options: WriteDurability): void;
  /** Takes over what other processes wrote anywhere, not only at the paths that the write named. */
  refreshAll(): Promise<void>;
}

interface Task {
  readonly paths: readonly string[];
  readonly run: (transaction: Transaction) => Promise<void>;
  readonly settle: (error?: unknown) => void;
}

/** Writes of one batch share one turn of the lock and one wait for the disk. */
const BATCH = 256;

class Batch implements Transaction {
  readonly #storage: RecordStorage;
  readonly #cache: ObjectCache;
  readonly writes = new Map<string, { record: ObjectRecord | undefined; durable: boolean }>();
  readonly #byId = new Map<ObjectId, ObjectRecord | undefined>();

  constructor(storage: RecordStorage, cache: ObjectCache) {
    this.#storage = storage;
    this.#cache = cache;
  }

  get(id: ObjectId): ObjectRecord | undefined {
    return this.#byId.has(id) ? this.#byId.get(id) : this.#cache.get(id)?.record;
  }

  put({ id, path }: Address, record: ObjectRecord | undefined, { durable }: WriteDurability): void {
    this.#byId.set(id, record);
    this.writes.set(path, { record, durable: durable || this.writes.get(path)?.durable === true });
  }

  async refreshAll(): Promise<void> {
    this.#cache.apply(await this.#storage.scan('everywhere'));
  }

  get changes(): RecordChanges {
    return new Map([...this.writes].map(([path, { record }]) => [path, record]));
  }
}

/**
 * The one place where a process reads and writes records, one thing after the other: what it has in memory is never
 * older than what it decided on.
 */
export class RecordWriter {
  readonly #storage: RecordStorage;
  readonly #cache: ObjectCache;
  #last: Promise<unknown> = Promise.resolve();
  #tasks: Task[] = [];

  constructor(storage: RecordStorage, cache: ObjectCache) {
    this.#storage = storage;
    this.#cache = cache;
  }

  /** Takes over what other processes wrote (anywhere, where notified, or at these paths). */
  refresh(
    where: 'everywhere' | 'dirty' | readonly string[],
    alongside: () => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    return this.#next(async () => {
      await alongside();
      this.#cache.apply(
        typeof where === 'string'
          ? await this.#storage.scan(where)
          : await this.#storage.reread(where),
      );
    });
  }

  /**
   * Runs `work` while nobody else writes, with fresh records of `paths`; resolves when what it put is written, and known to every
   * watcher of this process. A throw of `work` must come before its first put.
   */
  write<T>(
    paths: readonly string[],
    work: (transaction: Transaction) => T | Promise<T>,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let value: T;
    this.#tasks.push({
      paths,
      run: async (transaction) => {
        value = await work(transaction);
      },
      settle: (error) => {
        if (error === undefined) resolve(value);
        else reject(error);
      },
    });
    if (this.#tasks.length === 1) void this.#next(() => this.#runBatch());
    return promise;
  }

  /** Resolves when everything asked for so far is done. */
  async idle(): Promise<void> {
    for (let last: unknown; last !== this.#last;) {
      last = this.#last;
      await last;
    }
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #runBatch(): Promise<void> {
    const tasks = this.#tasks.splice(0, BATCH);
    if (this.#tasks.length > 0) void this.#next(() => this.#runBatch());
    const outcomes = new Map<Task, unknown>();
    try {
      await this.#storage.locked(async () => {
        const paths = tasks.flatMap(({ paths }) => paths);
        this.#cache.apply(await this.#storage.reread(paths));
        const batch = new Batch(this.#storage, this.#cache);
        for (const task of tasks)
          try {
            await task.run(batch);
            outcomes.set(task, undefined);
          } catch (error) {
            outcomes.set(task, error ?? new Error('unknown failure'));
          }
        await this.#store(batch);
      });
      for (const task of tasks) task.settle(outcomes.get(task));
    } catch (error) {
      for (const task of tasks) task.settle(outcomes.get(task) ?? error);
    }
  }

  async #store(batch: Batch): Promise<void> {
    if (batch.writes.size === 0) return;
    const writes = [...batch.writes].map(([path, write]) => ({ path, ...write }));
    try {
      await this.#storage.write(writes);
      this.#cache.apply(batch.changes);
    } catch (error) {
      // Some of it may have been written: what is there now is the truth.
      this.#cache.apply(await this.#storage.reread(writes.map(({ path }) => path)));
      throw error;
    }
  }
}
