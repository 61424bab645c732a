/** How long is waited before something that failed is tried again. */
import type { Clock } from './clock.ts';

export interface Backoff {
  /** Milliseconds before the first repetition. */
  readonly first: number;
  /** Milliseconds that no wait exceeds, but for a `SourceBackoff`'s jitter. */
  readonly longest: number;
}

const doubled = ({ first, longest }: Backoff, attempt: number): number =>
  Math.min(longest, first * 2 ** Math.min(attempt - 1, 40));

/** Exponential wait before repetition number `attempt` (1, 2, …), shortened by up to a fifth so that many don't return together. */
export const backoffDelay = (backoff: Backoff, attempt: number, random: () => number): number =>
  doubled(backoff, attempt) * (1 - random() / 5);

/** Before one object is looked at again. */
export const OBJECT_BACKOFF: Backoff = { first: 100, longest: 30_000 };

/**
 * Before a list or watch is begun again: the numbers of client-go's reflector (tools/cache/reflector.go), with which the clients of an API
 * server share it out after it was away.
 */
export const SOURCE_BACKOFF: Backoff = { first: 800, longest: 30_000 };

/** Milliseconds without a wait after which the source counts as well again (client-go's reflector, likewise). */
const WELL_AGAIN = 120_000;

/**
 * The waits of one reader of a source. Each is up to twice as long as its step, so that the readers of a thousand nodes do not come
 * together. A source that answers in between is not well yet: the steps begin anew after two minutes without a wait.
 */
export class SourceBackoff {
  readonly #backoff: Backoff;
  readonly #clock: Clock;
  readonly #random: () => number;
  #attempt = 0;
  #last = -Infinity;

  constructor(backoff: Backoff, clock: Clock, random: () => number) {
    this.#backoff = backoff;
    this.#clock = clock;
    this.#random = random;
  }

  /** Milliseconds to wait now. */
  next(): number {
    const now = this.#clock.monotonic();
    if (now - this.#last > WELL_AGAIN) this.#attempt = 0;
    this.#last = now;
    this.#attempt += 1;
    return doubled(this.#backoff, this.#attempt) * (1 + this.#random());
  }
}
