import type { LinkTiming } from './link.ts';

export type BackoffTiming = Pick<LinkTiming, 'minBackoff' | 'maxBackoff'>;

/** Keeps a client from loading without end what a broken server sends: after the first reloads each pause is twice as long as the last. */
export class ReloadBackoff {
  readonly #timing: BackoffTiming;
  readonly #now: () => number;
  readonly #free: number;
  /** Reloads since the back-off was reset. */
  #count = 0;
  /** When the last pause was over. */
  #end = 0;

  /** `free`: reloads without a pause. */
  constructor(timing: BackoffTiming, now: () => number, free: number) {
    this.#timing = timing;
    this.#now = now;
    this.#free = free;
  }

  /** Milliseconds to wait before the next reload. Without one for as long as the longest pause, the back-off is reset. */
  next(): number {
    const { minBackoff, maxBackoff } = this.#timing;
    const now = this.#now();
    if (now - this.#end >= maxBackoff) this.#count = 0;
    const paused = this.#count++ - this.#free;
    const pause = paused < 0 ? 0 : Math.min(minBackoff * 2 ** paused, maxBackoff);
    this.#end = now + pause;
    return pause;
  }
}
