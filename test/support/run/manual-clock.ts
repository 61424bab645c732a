import type { Clock } from '../../../src/store/clock.ts';

/** A clock that stands still until the test moves it. */
export class ManualClock implements Clock {
  #now: number;
  /** What the time of day is ahead by, after it was set. */
  #ahead = 0;
  readonly #timers = new Set<{ readonly due: number; readonly run: () => void }>();

  constructor(start = 0) {
    this.#now = start;
  }

  now(): number {
    return this.#now + this.#ahead;
  }

  monotonic(): number {
    return this.#now;
  }

  /** Somebody sets the time of day, forwards or back. */
  set(milliseconds: number): void {
    this.#ahead += milliseconds;
  }

  after(milliseconds: number, run: () => void): () => void {
    const timer = { due: this.#now + milliseconds, run };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** How many timers are waiting. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Time goes on while the process stands still: what was due meanwhile comes late. */
  standStill(milliseconds: number): void {
    this.#now += milliseconds;
  }

  /** Moves on, runs what is due in order, and lets promises settle before and after each. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    await settle();
    for (;;) {
      const [next] = [...this.#timers]
        .filter(({ due }) => due <= end)
        .sort((a, b) => a.due - b.due);
      if (next === undefined) break;
      this.#now = Math.max(this.#now, next.due);
      this.#timers.delete(next);
      next.run();
      await settle();
    }
    this.#now = end;
    await settle();
  }
}

/** Lets every promise that can settle now do so. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
