/** The time of day for moments of a monotonic clock: finer than milliseconds, and that of other machines as far as this one's is. */

/** Milliseconds by which the two clocks may differ from what was seen before: more is a clock that was set, or drifted. */
const TOLERANCE = 5;
/** Milliseconds within which both clocks have to be read: longer is a process that did not run in between. */
const LONGEST_LOOK = 1;

export class WallClock {
  readonly #now: () => number;
  readonly #monotonic: () => number;
  #offset: number;

  /** Both in milliseconds. */
  constructor(
    now: () => number = () => Date.now(),
    monotonic: () => number = () => performance.now(),
  ) {
    this.#now = now;
    this.#monotonic = monotonic;
    this.#offset = this.#measured() ?? now() - monotonic();
  }

  /** Milliseconds since 1970 at a moment of the monotonic clock. */
  at(moment: number): number {
    const measured = this.#measured() ?? this.#offset;
    if (Math.abs(measured - this.#offset) > TOLERANCE) this.#offset = measured;
    return moment + this.#offset;
  }

  /** Undefined where the clocks were not read at one moment. */
  #measured(): number | undefined {
    const before = this.#monotonic();
    const now = this.#now();
    return this.#monotonic() - before > LONGEST_LOOK ? undefined : now - before;
  }
}
