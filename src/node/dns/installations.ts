/**
 * What DNS told last is known to be in the data plane when a pass over the databases that began afterwards has been confirmed by it, and Open vSwitch has
 * looked again at what it has cached since.
 */
import { pause, type Clock } from '../../store/clock.ts';

interface Waiting {
  readonly change: number;
  readonly resolve: () => void;
}

export class Installations {
  /** Of the newest change; the first is what was there at the start. */
  #change = 1;
  /** Changes that are in the data plane. */
  #installed = 0;
  /** Passes that the data plane has not confirmed, in order: changes up to `change` went out with `sequence` (`nb_cfg`). */
  readonly #sent: { readonly change: number; readonly sequence: number }[] = [];
  readonly #waiting = new Set<Waiting>();
  readonly #revalidated: (() => Promise<void>) | undefined;
  /** The newest change that is confirmed, and whether what is cached is looked at for it. */
  #confirmed = 0;
  #isRevalidating = false;

  /** `revalidated` resolves, and never rejects, once nothing that was cached before the call is used any more; without it nothing is waited for. */
  constructor(revalidated?: () => Promise<void>) {
    this.#revalidated = revalidated;
  }

  /** Facts are others. Returns the number of the change. */
  changed(): number {
    this.#change += 1;
    return this.#change;
  }

  /** The newest change: to be asked before units are built. */
  get change(): number {
    return this.#change;
  }

  isInstalled(change: number): boolean {
    return change <= this.#installed;
  }

  /** All changes up to this one are in the Northbound database, which went out with that `nb_cfg`. */
  sent(change: number, sequence: number): void {
    const last = this.#sent.at(-1)?.change ?? this.#confirmed;
    if (change > last) this.#sent.push({ change, sequence });
  }

  /** The data plane has reached that `nb_cfg`. */
  reached(sequence: number): void {
    for (;;) {
      const [first] = this.#sent;
      if (first === undefined || first.sequence > sequence) break;
      this.#confirmed = first.change;
      this.#sent.shift();
    }
    if (this.#revalidated === undefined) this.#install(this.#confirmed);
    else if (!this.#isRevalidating) void this.#revalidate(this.#revalidated);
  }

  /** What is confirmed meanwhile waits for the next time. */
  async #revalidate(revalidated: () => Promise<void>): Promise<void> {
    this.#isRevalidating = true;
    while (this.#installed < this.#confirmed) {
      const change = this.#confirmed;
      await revalidated();
      this.#install(change);
    }
    this.#isRevalidating = false;
  }

  #install(change: number): void {
    this.#installed = change;
    for (const one of this.#waiting) if (this.isInstalled(one.change)) one.resolve();
  }

  /** Resolves with false if it takes longer than `limit` milliseconds, or `signal` aborts. */
  async installed(
    change: number,
    limit: number,
    clock: Clock,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (this.isInstalled(change)) return true;
    const ended = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting: Waiting = { change, resolve };
    this.#waiting.add(waiting);
    await Promise.race([promise, pause(clock, limit, AbortSignal.any([signal, ended.signal]))]);
    ended.abort();
    this.#waiting.delete(waiting);
    return this.isInstalled(change);
  }
}
