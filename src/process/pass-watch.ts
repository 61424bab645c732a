/** Says when a pass of a daemon takes so long that what it keeps can't be called kept. */

/** Milliseconds: a start with a thousand networks takes less. */
const LONGEST = 60_000;
/** Milliseconds: what takes this long waits for something that never comes. */
const HUNG = 600_000;

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
    return this.#duration > LONGEST;
  }

  /** True while a pass is under way that will not end: only a new process helps. */
  get isHung(): boolean {
    return this.#duration > HUNG;
  }

  get #duration(): number {
    return this.#began === undefined ? 0 : this.#now() - this.#began;
  }
}
