/** Says how long passes of a daemon take, and when one takes so long that what it keeps can't be called kept. */

/** Milliseconds: a start with a thousand networks takes less. */
export const LONGEST_PASS = 60_000;
/** Milliseconds: what takes this long waits for something that never comes. */
const HUNG = 600_000;

export class PassWatch {
  readonly #now: () => number;
  #began: number | undefined;
  #last = 0;
  #longest = 0;

  /** `now`: milliseconds on a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  async watch<T>(pass: () => Promise<T>): Promise<T> {
    this.#began = this.#now();
    try {
      return await pass();
    } finally {
      this.#last = this.underWay;
      this.#longest = Math.max(this.#longest, this.#last);
      this.#began = undefined;
    }
  }

  /** Milliseconds since the pass that is under way began; 0 between two. */
  get underWay(): number {
    return this.#began === undefined ? 0 : this.#now() - this.#began;
  }

  /** Milliseconds that the last pass took. */
  get last(): number {
    return this.#last;
  }

  /** Milliseconds of the longest pass so far, that which is under way included. */
  get longest(): number {
    return Math.max(this.#longest, this.underWay);
  }

  /** True while a pass is under way that began long ago. */
  get isLate(): boolean {
    return this.underWay > LONGEST_PASS;
  }

  /** True while a pass is under way that will not end: only a new process helps. */
  get isHung(): boolean {
    return this.underWay > HUNG;
  }
}
