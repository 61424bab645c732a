/**
 * What DNS told last is known to be in the data plane when a pass over the databases that began afterwards has been confirmed by it, and Open vSwitch has
 * looked again at what it has cached since.
 */
import { pause, type Clock } from '../../store/clock.ts';
import { HeededChanges } from '../heeded-changes.ts';

interface Waiting {
  readonly change: number;
  readonly resolve: () => void;
}

export class Installations {
  /** Of the newest change; the first is what was there at the start. */
  #change = 1;
  /** Changes that are in the data plane. */
  #installed = 0;
  /** The newest change that was sent. */
  #newestSent = 0;
  /** Changes up to each of these. */
  readonly #changes: HeededChanges<number>;
  readonly #waiting = new Set<Waiting>();

  /** `revalidated`: see `HeededChanges`. */
  constructor(revalidated?: () => Promise<void>) {
    this.#changes = new HeededChanges({
      revalidated,
      onHeeded: (changes) => this.#install(changes.at(-1) ?? 0),
    });
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
    if (change <= this.#newestSent) return;
    this.#newestSent = change;
    this.#changes.sent(change, sequence);
  }

  /** The data plane has reached that `nb_cfg`. */
  reached(sequence: number): void {
    this.#changes.reached(sequence);
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
