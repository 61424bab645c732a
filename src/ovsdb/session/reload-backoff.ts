import type { LinkTiming } from './link.ts';

export type BackoffTiming = Pick<LinkTiming, 'minBackoff' | 'maxBackoff'>;

/** Keeps a client from loading without end what a broken server sends: each pause before a reload is twice as long as the last. */
export class ReloadBackoff {
  readonly #timing: BackoffTiming;
  readonly #now: () => number;
  /** The last pause; undefined: the contents have fitted for long. */
  #pause: number | undefined;
  /** When it was over. */
  #end = 0;

  constructor(timing: BackoffTiming, now: () => number) {
    this.#timing = timing;
    this.#now = now;
  }

  /**
   * The contents do not fit: milliseconds to wait before they are loaded anew. None when they had fitted for as long as the longest pause.
   */
  next(): number {
    const { minBackoff, maxBackoff } = this.#timing;
    const now = this.#now();
    if (now - this.#end >= maxBackoff) this.#pause = undefined;
    this.#pause =
      this.#pause === undefined ? 0 : Math.min(Math.max(minBackoff, this.#pause * 2), maxBackoff);
    this.#end = now + this.#pause;
    return this.#pause;
  }
}
