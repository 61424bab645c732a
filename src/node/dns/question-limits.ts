/** How many questions are taken at a time, and in a second: a pod that asks without end takes nothing from others. */

/** Questions under way. */
const MOST_OF_ONE = 200;
const MOST = 4_000;
/** Questions a second of one address, after as many at once. */
const RATE = 1_000;
/** Addresses that are counted; others are forgotten once they rest. */
const MOST_ADDRESSES = 4_096;

interface Asking {
  underWay: number;
  /** Questions that it may ask now, as of `at` in milliseconds. */
  left: number;
  at: number;
}

export class QuestionLimits {
  readonly #asking = new Map<string, Asking>();
  #underWay = 0;

  get underWay(): number {
    return this.#underWay;
  }

  /** `share`: of so many pods. Returns false for one too many; otherwise `ended` is to be called when it is answered. */
  begin(address: string, now: number, share = 1): boolean {
    const rate = RATE * share;
    const asking = this.#asking.get(address) ?? { underWay: 0, left: rate, at: now };
    asking.left = Math.min(rate, asking.left + ((now - asking.at) * rate) / 1000);
    asking.at = now;
    if (!this.#asking.has(address)) {
      if (this.#asking.size >= MOST_ADDRESSES) this.#forget(now);
      this.#asking.set(address, asking);
    }
    if (this.#underWay >= MOST || asking.underWay >= MOST_OF_ONE * share || asking.left < 1)
      return false;
    asking.left -= 1;
    asking.underWay += 1;
    this.#underWay += 1;
    return true;
  }

  ended(address: string): void {
    this.#underWay -= 1;
    const asking = this.#asking.get(address);
    if (asking !== undefined) asking.underWay -= 1;
  }

  /** Those that have asked nothing for a second are as if they never had. */
  #forget(now: number): void {
    for (const [address, { underWay, at }] of this.#asking)
      if (underWay === 0 && now - at >= 1000) this.#asking.delete(address);
  }
}
