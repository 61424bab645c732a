/** Says when a pass of a daemon takes so long that what it keeps can't be called kept. */

/** Milliseconds: a start with a thousand networks takes less. */
const LONGEST = 60_000;

export class PassWatch {
  readonly #now: () => number;
  #began: number | undefined;

  /** `now`: milliseconds on a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  async watch<T>(pass: () => Promise<T>): Promise<T> {
    this.#began = this.#now();
    try {
      return await pass();
    } finally {
      this.#began = undefined;
    }
  }

  /** True while a pass is under way that began long ago. */
  get isLate(): boolean {
    return this.#began !== undefined && this.#now() - this.#began > LONGEST;
  }
}
