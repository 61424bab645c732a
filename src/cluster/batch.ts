import type { Clock } from '../store/clock.ts';

export interface BatchOptions {
  readonly clock: Clock;
  /** Milliseconds without another key after which a batch goes on. */
  readonly calm: number;
  /** Milliseconds after which a batch goes on even though more may come. */
  readonly longest: number;
  /** Resolves when nothing is under way that would add to the batch. */
  readonly quiet: () => Promise<void>;
  readonly flush: (keys: ReadonlySet<string>) => void;
}

/** Gathers keys until things are calm, so that one write says what many changes did. */
export class Batch {
  readonly #options: BatchOptions;
  #keys = new Set<string>();
  #round = 0;
  #cancelCalm: () => void = () => undefined;
  #cancelLongest: () => void = () => undefined;

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
    const { clock, calm, longest, quiet } = this.#options;
    const round = this.#round;
    if (wasEmpty) this.#cancelLongest = clock.after(longest, () => this.#flush(round));
    this.#cancelCalm();
    this.#cancelCalm = clock.after(calm, () => {
      void quiet().then(() => this.#flush(round));
    });
  }

  /** Drops what is gathered, e.g. because the manager stops. */
  clear(): void {
    this.#cancelCalm();
    this.#cancelLongest();
    this.#round += 1;
    this.#keys = new Set();
  }

  #flush(round: number): void {
    if (round !== this.#round) return;
    const keys = this.#keys;
    this.clear();
    this.#options.flush(keys);
  }
}
