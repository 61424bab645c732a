import { backoffDelay, OBJECT_BACKOFF, type Backoff } from './backoff.ts';
import { systemClock, type Clock } from './clock.ts';
import { fitsIntoTurn } from './turn.ts';

/** Try again after `after` milliseconds although nothing failed (something outside is awaited). */
export interface Again {
  readonly after: number;
}

export interface Failure {
  readonly key: string;
  readonly error: unknown;
  /** How often in a row the key has failed, this time included. */
  readonly attempt: number;
  /** Milliseconds until the next attempt, unless something wakes the key earlier. */
  readonly retryIn: number;
}

export interface WorkQueueOptions {
  /** Level driven: brings the world of `key` to what is wanted now. Throws to be retried. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Again | void>;
  /** Called for every failure; the retry happens by itself. */
  readonly onFailure: (failure: Failure) => void;
  /** Keys reconciled at the same time (one key never runs twice at once). Default 1. */
  readonly parallelism?: number;
  /** Default 100 ms to 30 s. */
  readonly backoff?: Backoff;
  /** Milliseconds after which a reconcile's signal is aborted. Default 60 s. */
  readonly limit?: number;
  readonly clock?: Clock;
  /** 0 ≤ n < 1. */
  readonly random?: () => number;
}

/** Milliseconds after which an object that somebody else wrote meanwhile is requeued, unless its change comes earlier. */
export const CONFLICT_DELAY = 500;

const DEFAULT_LIMIT = 60_000;

/** Keys that somebody waits for, with the number of reconciles that each has to end. */
interface Drain {
  readonly left: Map<string, number>;
  readonly resolve: () => void;
}

/**
 * Keys to reconcile: each at most once in the queue, never twice at the same time, again after it failed with a growing
 * delay of its own. A key added while it runs is run once more afterwards, so no change is lost: at once, or
 * after its delay if it fails time and again. A long queue lets timers and sockets have
 * their turn.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #clock: Clock;
  readonly #ready = new Set<string>(); // in order of arrival
  readonly #running = new Set<string>();
  readonly #dirty = new Set<string>(); // added while running
  readonly #delayed = new Map<string, { readonly due: number; readonly cancel: () => void }>();
  readonly #failing = new Map<string, Failure>();
  #idleWaiters: (() => void)[] = [];
  readonly #drains = new Set<Drain>();
  #signal: AbortSignal | undefined;
  /** A signal that follows others costs more to ask, and is asked for each key. */
  #hasStopped = false;
  /** True while the next keys wait for the event loop to come round. */
  #givesWay = false;
  #stopped: (() => void) | undefined;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Keys whose last reconcile failed, with the reason. */
  get failing(): ReadonlyMap<string, Failure> {
    return this.#failing;
  }

  /** Keys that are ready to run or running; those that wait for a retry are not counted. */
  get size(): number {
    return this.#ready.size + this.#running.size;
  }

  /** Reconcile `key` as soon as a worker is free, even if it is waiting for a retry. Nothing after the queue was stopped. */
  add(key: string): void {
    if (this.#hasStopped) return;
    this.#cancelDelayed(key);
    if (this.#running.has(key)) this.#dirty.add(key);
    else {
      this.#ready.add(key);
      this.#next();
    }
  }

  /** Like `add`, but a key that waits for a retry goes on waiting: keys that fail and add each other would have no pause. */
  addUnlessDelayed(key: string): void {
    if (!this.#delayed.has(key)) this.add(key);
  }

  /** Reconcile `key` in `milliseconds`, or earlier if that is already arranged. */
  addAfter(key: string, milliseconds: number): void {
    if (this.#hasStopped) return;
    const due = this.#clock.monotonic() + milliseconds;
    const existing = this.#delayed.get(key);
    if ((existing !== undefined && existing.due <= due) || this.#ready.has(key)) return;
    this.#cancelDelayed(key);
    const cancel = this.#clock.after(milliseconds, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { due, cancel });
  }

  /** Works until `signal` aborts; resolves when the reconciles under way have ended. Keys may be added before. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#signal !== undefined) throw new Error('this work queue has been started before');
    this.#signal = signal;
    const stopped = new Promise<void>((resolve) => {
      this.#stopped = resolve;
    });
    signal.addEventListener('abort', () => this.#stop(), { once: true });
    if (signal.aborted) this.#stop();
    else this.#next();
    await stopped;
  }

  /** Resolves when nothing is ready or running (at once if so now). A key that waits for a retry doesn't hold it up: see `failing`. */
  idle(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
    });
  }

  /**
   * Resolves when everything that is ready or running now has been reconciled, whatever comes meanwhile: also in a cluster in which
   * something always comes. Resolves when the queue is stopped, too.
   */
  drained(): Promise<void> {
    const left = new Map([...this.#ready].map((key) => [key, 1]));
    for (const key of this.#running) left.set(key, this.#dirty.has(key) ? 2 : 1);
    if (left.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#drains.add({ left, resolve });
    });
  }

  #stop(): void {
    this.#hasStopped = true;
    for (const key of this.#delayed.keys()) this.#cancelDelayed(key);
    this.#ready.clear();
    this.#dirty.clear();
    for (const { resolve } of this.#drains) resolve();
    this.#drains.clear();
    this.#settle();
  }

  #cancelDelayed(key: string): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }

  #next(): void {
    if (this.#signal === undefined || this.#hasStopped) return;
    for (const key of this.#ready) {
      if (this.#givesWay || this.#running.size >= (this.#options.parallelism ?? 1)) return;
      if (this.#signal.aborted) return;
      if (!fitsIntoTurn()) {
        this.#giveWay();
        return;
      }
      this.#ready.delete(key);
      this.#running.add(key);
      void this.#work(key, this.#signal);
    }
  }

  #giveWay(): void {
    this.#givesWay = true;
    setImmediate(() => {
      this.#givesWay = false;
      this.#next();
    });
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
    const limit = this.#options.limit ?? DEFAULT_LIMIT;
    const timeout = new AbortController();
    const cancelLimit = this.#clock.after(limit, () => {
      timeout.abort(new Error(`${key}: not reconciled within ${limit / 1000} s`));
    });
    try {
      const again = await this.#options.reconcile(key, AbortSignal.any([signal, timeout.signal]));
      this.#failing.delete(key);
      if (again !== undefined && !signal.aborted) this.addAfter(key, again.after);
    } catch (error) {
      if (!signal.aborted) this.#failed(key, error);
    } finally {
      cancelLimit();
      this.#running.delete(key);
      const isDirty = this.#dirty.delete(key);
      // Once the change itself may be what it failed at.
      const isDelayed = (this.#failing.get(key)?.attempt ?? 0) > 1;
      if (isDirty && !isDelayed) this.add(key);
      this.#countDown(key, isDirty && isDelayed ? 2 : 1);
      this.#settle();
      this.#next();
    }
  }

  #failed(key: string, error: unknown): void {
    const attempt = (this.#failing.get(key)?.attempt ?? 0) + 1;
    const { backoff = OBJECT_BACKOFF, random = Math.random } = this.#options;
    const failure = { key, error, attempt, retryIn: backoffDelay(backoff, attempt, random) };
    this.#failing.set(key, failure);
    this.addAfter(key, failure.retryIn);
    this.#options.onFailure(failure);
  }

  #countDown(key: string, runs: number): void {
    for (const drain of this.#drains) {
      const left = (drain.left.get(key) ?? 1) - runs;
      if (left > 0) drain.left.set(key, left);
      else drain.left.delete(key);
      if (drain.left.size > 0) continue;
      this.#drains.delete(drain);
      drain.resolve();
    }
  }

  #settle(): void {
    if (this.size === 0) {
      const waiters = this.#idleWaiters;
      this.#idleWaiters = [];
      for (const resolve of waiters) resolve();
    }
    if (this.#hasStopped && this.#running.size === 0) this.#stopped?.();
  }
}
