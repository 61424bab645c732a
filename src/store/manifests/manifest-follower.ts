/** Keeps the records of a manifest store in line with the files: scans when notified and at intervals, and reports problems. */
import type { Clock } from '../clock.ts';
import { ManifestReconciler, type Outcome } from './manifest-reconciler.ts';
import type { ObjectRules, Problem } from './manifest-rules.ts';
import { ManifestSource } from './manifest-source.ts';
import type { ObjectCache } from './object-cache.ts';
import type { RecordWriter } from './record-writer.ts';
import type { RecordStorage } from './state-directory.ts';
import { StoreError } from '../store.ts';

/** All in milliseconds. */
export interface ManifestStoreTiming {
  /** From a file system notification to the scan: editors write in several steps. */
  readonly debounce: number;
  /** How long a manifest must be gone until its object is: editors move files away and back. */
  readonly removalGrace: number;
  /** Between full scans, for file systems that don't notify. */
  readonly poll: number;
}

export const MANIFEST_STORE_TIMING: ManifestStoreTiming = {
  debounce: 30,
  removalGrace: 300,
  poll: 5000,
};
/** Looking at everything may take this part of the time. */
const POLL_SHARE = 0.05;
/** A look takes long also because the process is busy with something else: the next one comes after this time all the same. */
const LONGEST_PAUSE = 30_000;

/** From a look at everything that took `took` to the next one, where `poll` is the least. In milliseconds. */
export const pauseAfterScan = (took: number, poll: number): number =>
  Math.max(poll, Math.min(took / POLL_SHARE, LONGEST_PAUSE));

export interface ManifestFollowerOptions {
  readonly manifests: string;
  readonly state: string | undefined;
  readonly rules: ObjectRules;
  readonly clock: Clock;
  readonly timing: ManifestStoreTiming;
  readonly storage: RecordStorage;
  readonly cache: ObjectCache;
  readonly writer: RecordWriter;
  /** Ends it. */
  readonly signal: AbortSignal;
}

export class ManifestFollower {
  readonly #options: ManifestFollowerOptions;
  readonly #clock: Clock;
  readonly #timing: ManifestStoreTiming;
  readonly #source: ManifestSource;
  readonly #reconciler: ManifestReconciler;
  #failure: Problem | undefined;
  readonly #problemHandlers = new Set<(problems: readonly Problem[]) => void>();
  #problems: readonly Problem[] = [];
  #cancelScan: (() => void) | undefined;
  #cancelPoll: (() => void) | undefined;

  constructor(options: ManifestFollowerOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#timing = options.timing;
    const onHint = (): void => this.scanSoon(this.#timing.debounce);
    options.storage.onHint = onHint;
    this.#source = new ManifestSource(options.manifests, options.rules, this.#clock, onHint);
    this.#reconciler = new ManifestReconciler({
      ...options,
      removalGrace: this.#timing.removalGrace,
      source: this.#source,
    });
  }

  /** What is wrong at the moment with manifests and state; the newest picture, not a history. */
  get problems(): readonly Problem[] {
    return this.#problems;
  }

  /** Calls `handler` with all problems now and whenever they change; the returned function ends that. */
  onProblems(handler: (problems: readonly Problem[]) => void): () => void {
    this.#problemHandlers.add(handler);
    handler(this.#problems);
    return () => {
      this.#problemHandlers.delete(handler);
    };
  }

  /** Where an object (`Kind namespace/name`) is written; undefined for one that no manifest declares. */
  placeOf(object: string): { readonly file: string; readonly line: number } | undefined {
    return this.#source.placeOf(object);
  }

  /** Reads everything there is and follows it from then on; rejects when the state directory can't be used. */
  async start(): Promise<void> {
    if (await this.synchronise('everywhere')) {
      // Something is gone: be sure of it before anybody acts on what is left.
      const grace = Promise.withResolvers<void>();
      this.#clock.after(this.#timing.removalGrace, () => grace.resolve());
      await grace.promise;
      await this.synchronise('everywhere');
    }
    if (this.#failure !== undefined) throw new StoreError('unavailable', this.#failure.message);
    this.#pollAfter(this.#timing.poll);
  }

  /** Ends all scans, after the signal has aborted. */
  close(): void {
    this.#cancelScan?.();
    this.#cancelPoll?.();
    this.#source.close();
  }

  /** Scans what was notified, `milliseconds` from now. */
  scanSoon(milliseconds: number): void {
    if (this.#options.signal.aborted || this.#cancelScan !== undefined) return;
    this.#cancelScan = this.#clock.after(milliseconds, () => {
      this.#cancelScan = undefined;
      void this.synchronise('dirty');
    });
  }

  /**
   * Reads what changed and brings the records in line with the manifests; true when another scan is due after the grace period.
   * A failure becomes a problem.
   */
  async synchronise(where: 'everywhere' | 'dirty'): Promise<boolean> {
    let outcome: Outcome = 'settled';
    try {
      await this.#options.writer.refresh(where, () => this.#source.scan(where));
      if (this.#options.signal.aborted) return false;
      outcome = await this.#reconciler.reconcile(where);
      this.#failure = undefined;
    } catch (error) {
      const file = this.#options.state ?? this.#options.manifests;
      this.#failure = { severity: 'error', file, message: (error as Error).message };
    }
    this.#report();
    if (outcome !== 'settled') this.scanSoon(outcome === 'waiting' ? this.#timing.removalGrace : 0);
    return outcome === 'waiting';
  }

  #pollAfter(milliseconds: number): void {
    if (this.#options.signal.aborted) return;
    this.#cancelPoll = this.#clock.after(milliseconds, () => void this.#poll());
  }

  async #poll(): Promise<void> {
    const started = this.#clock.monotonic();
    await this.synchronise('everywhere');
    const took = this.#clock.monotonic() - started;
    this.#pollAfter(pauseAfterScan(took, this.#timing.poll));
  }

  #report(): void {
    const state = [...this.#options.storage.problems].map(([, message]): Problem => ({
      severity: 'error',
      file: this.#options.state ?? '',
      message,
    }));
    const { unwatched } = this.#source;
    const problems: readonly Problem[] = [
      ...this.#reconciler.problems,
      ...state,
      ...(this.#failure === undefined ? [] : [this.#failure]),
      ...(unwatched === undefined
        ? []
        : [
            {
              severity: 'warning',
              file: this.#options.manifests,
              message: `can't be watched (${unwatched.message}): changes are found within ${this.#timing.poll / 1000} s`,
            } as const,
          ]),
    ];
    if (JSON.stringify(problems) === JSON.stringify(this.#problems)) return;
    this.#problems = problems;
    for (const handler of new Set(this.#problemHandlers)) handler(problems);
  }
}
