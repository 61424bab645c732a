import type { Clock } from './clock.ts';

export interface BatchOptions {
  readonly clock: Clock;
  /** Milliseconds without another key after which the batch is flushed. */
  readonly minDelay: number;
  /** Milliseconds after which it is flushed even though more may come. */
  readonly maxDelay: number;
  /** Resolves when nothing is under way that would add to the batch. */
  readonly whenIdle: () => Promise<void>;
  readonly flush: (keys: ReadonlySet<string>) => void;
}

/** Debounces keys, so that one write says what many changes did. */
export class Batch {
  readonly #options: BatchOptions;
  #keys = new Set<string>();
  #round = 0;
  #flushed = Promise.withResolvers<void>();
  #cancelMin: () => void = () => undefined;
  #cancelMax: () => void = () => undefined;

  constructor(options: BatchOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#keys.size === 0;
  }

  add(keys: Iterable<string>): void {
    const wasEmpty = this.isEmpty;
    for (const key of keys) this.#keys.add(key);
    if (this.isEmpty) return;
    const { clock, minDelay, maxDelay, whenIdle } = this.#options;
    const round = this.#round;
    if (wasEmpty) this.#cancelMax = clock.after(maxDelay, () => this.#flush(round));
    this.#cancelMin();
    this.#cancelMin = clock.after(minDelay, () => {
      void whenIdle().then(() => this.#flush(round));
    });
  }

  /** Resolves when what is gathered now has been flushed or dropped. */
  flushed(): Promise<void> {
    return this.isEmpty ? Promise.resolve() : this.#flushed.promise;
  }

  /** Drops what is gathered, e.g. because the manager stops. */
  clear(): void {
    this.#cancelMin();
    this.#cancelMax();
    this.#round += 1;
    this.#keys = new Set();
    this.#flushed.resolve();
    this.#flushed = Promise.withResolvers<void>();
  }

  #flush(round: number): void {
    if (round !== this.#round) return;
    const keys = this.#keys;
    this.clear();
    this.#options.flush(keys);
  }
}
