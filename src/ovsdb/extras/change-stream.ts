import type { OvsdbClient } from '../client.ts';
import type { ReplicaChanges, ReplicaView, SubscribeOptions } from '../replica/replica-view.ts';

/**
 * Changes of a client's replica from now on, for a `for await` loop, which ends with the signal or the client. They are queued in memory while the
 * loop is busy; a loop that is much slower than the database takes a `ChangeTracker`. Throws `disconnected` before the first contents, as `replica` does.
 */
export const changes = <T>(
  client: OvsdbClient<T>,
  signal?: AbortSignal,
  options?: SubscribeOptions,
): AsyncIterable<ReplicaChanges> => {
  const signals = [client.ended, signal].filter((each) => each !== undefined);
  return new ChangeStream(client.replica, AbortSignal.any(signals), options);
};

class ChangeStream implements AsyncIterable<ReplicaChanges>, AsyncIterator<ReplicaChanges> {
  readonly #signal: AbortSignal;
  readonly #stop: () => void;
  #waiting: ReplicaChanges[] = [];
  #next: PromiseWithResolvers<IteratorResult<ReplicaChanges, undefined>> | undefined;
  #isOver = false;
  readonly #end = (): void => {
    this.#isOver = true;
    this.#waiting = [];
    this.#stop();
    this.#signal.removeEventListener('abort', this.#end);
    this.#next?.resolve({ done: true, value: undefined });
    this.#next = undefined;
  };

  constructor(replica: ReplicaView, signal: AbortSignal, options?: SubscribeOptions) {
    this.#signal = signal;
    this.#stop = replica.subscribe((changes) => {
      const next = this.#next;
      this.#next = undefined;
      if (next === undefined) this.#waiting.push(changes);
      else next.resolve({ done: false, value: changes });
    }, options);
    signal.addEventListener('abort', this.#end);
    if (signal.aborted) this.#end();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<ReplicaChanges, undefined>> {
    const changes = this.#waiting.shift();
    if (changes !== undefined) return Promise.resolve({ done: false, value: changes });
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    this.#next ??= Promise.withResolvers();
    return this.#next.promise;
  }

  /** The loop was left. */
  return(): Promise<IteratorResult<ReplicaChanges, undefined>> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }
}
