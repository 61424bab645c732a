/** What DNS told last is known to be in the data plane when a pass over the databases that began afterwards has been confirmed by it. */
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
    const last = this.#sent.at(-1)?.change ?? this.#installed;
    if (change > last) this.#sent.push({ change, sequence });
  }

  /** The data plane has reached that `nb_cfg`. */
  reached(sequence: number): void {
    for (;;) {
      const [first] = this.#sent;
      if (first === undefined || first.sequence > sequence) break;
      this.#installed = first.change;
      this.#sent.shift();
    }
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
