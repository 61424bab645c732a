/**
 * A part of a daemon's work that goes on by itself: one pass after the other, when something asks for one, at the latest after the time that the
 * last one named. What it waits for holds up no other loop.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { backoffDelay, type Backoff } from '../store/backoff.ts';
import { Exclusive } from './exclusive.ts';
import { PassWatch } from './pass-watch.ts';
import { TimedOutError } from './waiting.ts';

/** How a pass ended. */
export interface PassEnd {
  /** Milliseconds after which the next one comes without being asked for. */
  readonly wait: number;
  /** Not all could be done: it is tried again after the loop's back-off. */
  readonly isBlocked: boolean;
}

/** True when a pass is ended because the daemon ends, not because it takes too long. */
export const isStopping = (signal: AbortSignal): boolean =>
  signal.aborted && !(signal.reason instanceof TimedOutError);

export interface LoopOptions {
  readonly name: string;
  /** `signal` aborts with the loop, and when a pass takes longer than `limit`. What it throws ends the loop. */
  readonly pass: (signal: AbortSignal) => Promise<PassEnd>;
  /** Milliseconds: what is asked for within this time of each other is done by one pass. */
  readonly debounce: number;
  /** Milliseconds between two passes at least. */
  readonly interval?: number;
  readonly backoff: Backoff;
  /** True where nobody's asking shortens the back-off: of who does not take what is sent. */
  readonly isPatient?: boolean;
  /** Milliseconds. */
  readonly limit: number;
}

export class Loop {
  readonly name: string;
  readonly watch = new PassWatch();
  readonly #options: LoopOptions;
  readonly #turns = new Exclusive();
  #asked = Promise.withResolvers<void>();
  #blocked = 0;

  constructor(options: LoopOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** Asks for a pass. One that is under way is followed by another. */
  readonly notify = (): void => this.#asked.resolve();

  /** Runs a task when no pass is under way, and none while it runs. */
  between<T>(task: () => Promise<T>): Promise<T> {
    return this.#turns.run(task);
  }

  /** Runs until `signal` aborts. Rejects with what a pass threw before. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const end = await this.#turns.run(() => this.watch.watch(() => this.#pass(signal)));
        await this.#rest(end, signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  async #pass(signal: AbortSignal): Promise<PassEnd> {
    const { limit, name, pass } = this.#options;
    // Who looked between two passes may have been waited for.
    signal.throwIfAborted();
    this.#asked = Promise.withResolvers();
    const ended = new AbortController();
    const end = (): void => ended.abort(signal.reason);
    signal.addEventListener('abort', end, { once: true });
    const late = setTimeout(
      () => ended.abort(new TimedOutError(`a pass over ${name} of more than ${limit / 1000} s`)),
      limit,
    );
    try {
      return await pass(ended.signal);
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', end);
    }
  }

  async #rest({ wait, isBlocked }: PassEnd, signal: AbortSignal): Promise<void> {
    const { backoff, debounce, interval = 0, isPatient = false } = this.#options;
    this.#blocked = isBlocked ? this.#blocked + 1 : 0;
    const delay = isBlocked ? backoffDelay(backoff, this.#blocked, Math.random) : undefined;
    if (interval > 0) await pause(interval, undefined, { signal });
    if (isPatient && delay !== undefined) await pause(delay, undefined, { signal });
    else {
      const timer = new AbortController();
      const over = AbortSignal.any([signal, timer.signal]);
      const late = pause(Math.max(0, Math.min(wait, delay ?? wait) - interval), undefined, {
        signal: over,
      });
      await Promise.race([this.#asked.promise, late.catch(() => undefined)]);
      timer.abort();
    }
    await pause(debounce, undefined, { signal });
  }
}

/** Runs loops until `signal` aborts. When one of them ends before, so do the others, and it rejects with what ended that one. */
export async function runLoops(loops: readonly Loop[], signal: AbortSignal): Promise<void> {
  const ended = new AbortController();
  const until = AbortSignal.any([signal, ended.signal]);
  const runs = loops.map((loop) =>
    loop.run(until).catch((error: unknown) => {
      ended.abort(error);
      throw error;
    }),
  );
  await Promise.allSettled(runs);
  await Promise.all(runs);
}
