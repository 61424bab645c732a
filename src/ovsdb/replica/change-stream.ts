import type { ReplicaChanges, ReplicaView, SubscribeOptions } from './replica-view.ts';

/** The changes of a replica from now on, for a `for await` loop. Those that come while the loop is busy wait for it. Ends with the signal. */
export class ChangeStream implements AsyncIterable<ReplicaChanges>, AsyncIterator<ReplicaChanges> {
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
