import type { ObjectRecord } from './object-record.ts';
import type { RecordChanges, RecordStorage, RecordWrite } from './state-directory.ts';
import { StoreError, type Leadership } from '../store.ts';

/**
 * Records that live as long as the process: for commands that show what would happen (nothing may be written) and for
 * a store without a state directory.
 */
export class MemoryRecords implements RecordStorage {
  readonly #records: Map<string, ObjectRecord>;
  readonly #leaders = new Map<string, Promise<void>>();
  #unread: RecordChanges;
  readonly problems: ReadonlyMap<string, string>;
  onHint: () => void = () => undefined;

  /** @param records What is remembered at the start, by path. */
  constructor(
    records: ReadonlyMap<string, ObjectRecord> = new Map(),
    problems: ReadonlyMap<string, string> = new Map(),
  ) {
    this.#records = new Map(records);
    this.#unread = this.#records;
    this.problems = problems;
  }

  async scan(): Promise<RecordChanges> {
    const changes = this.#unread;
    this.#unread = new Map();
    return changes;
  }

  async reread(): Promise<RecordChanges> {
    return new Map();
  }

  locked<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  async write(writes: readonly RecordWrite[]): Promise<void> {
    for (const { path, record } of writes)
      if (record === undefined) this.#records.delete(path);
      else this.#records.set(path, record);
  }

  async lead(
    name: string,
    _identity: string,
    signal: AbortSignal,
    onWaiting: () => void = () => undefined,
  ): Promise<Leadership> {
    signal.throwIfAborted();
    const mine = Promise.withResolvers<void>();
    const leader = this.#leaders.get(name);
    if (leader !== undefined) onWaiting();
    const before = leader ?? Promise.resolve();
    this.#leaders.set(
      name,
      before.then(() => mine.promise),
    );
    const given = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => given.reject(signal.reason as Error), { once: true });
    try {
      await Promise.race([before, given.promise]);
    } catch (error) {
      mine.resolve();
      throw error;
    }
    const lost = new AbortController();
    return {
      signal: lost.signal,
      assert: () => lost.signal.throwIfAborted(),
      [Symbol.asyncDispose]: async () => {
        mine.resolve();
        lost.abort(new StoreError('unavailable', `${name}: leadership was given up`));
      },
    };
  }

  close(): void {
    this.#unread = new Map();
  }
}
