/** What was sent to OVN, in order, until packets heed it: the data plane has confirmed it, and Open vSwitch has looked again at what it had cached since. */

interface Options<T> {
  /** Resolves, and never rejects, once nothing that was cached before the call is used any more; without it nothing is waited for. */
  readonly revalidated?: (() => Promise<void>) | undefined;
  /** Called with changes that packets heed from now on, in order. */
  readonly onHeeded: (changes: readonly T[]) => void;
}

export class HeededChanges<T> {
  readonly #options: Options<T>;
  /** The data plane has not confirmed these: each went out with that `nb_cfg`. */
  readonly #sent: { readonly change: T; readonly sequence: number }[] = [];
  /** It has, and what is cached is not looked at for them yet. */
  #confirmed: T[] = [];
  #isRevalidating = false;

  constructor(options: Options<T>) {
    this.#options = options;
  }

  /** It is in the Northbound database, which went out with that `nb_cfg`. */
  sent(change: T, sequence: number): void {
    this.#sent.push({ change, sequence });
  }

  /** The data plane has reached that `nb_cfg`. */
  reached(sequence: number): void {
    for (;;) {
      const [first] = this.#sent;
      if (first === undefined || first.sequence > sequence) break;
      this.#confirmed.push(first.change);
      this.#sent.shift();
    }
    if (this.#confirmed.length === 0) return;
    const { revalidated } = this.#options;
    if (revalidated === undefined) this.#heed();
    else if (!this.#isRevalidating) void this.#revalidate(revalidated);
  }

  /** What is confirmed meanwhile waits for the next time. */
  async #revalidate(revalidated: () => Promise<void>): Promise<void> {
    this.#isRevalidating = true;
    while (this.#confirmed.length > 0) {
      const count = this.#confirmed.length;
      await revalidated();
      this.#heed(count);
    }
    this.#isRevalidating = false;
  }

  #heed(count = this.#confirmed.length): void {
    this.#options.onHeeded(this.#confirmed.splice(0, count));
  }
}
