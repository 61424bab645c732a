/** The cluster manager: its controllers on one store, started in the right order. */
import type { Registry } from 'prom-client';
import { LEASES, NODE_LEASES } from '../api/node-lease.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { systemClock, type Clock } from '../store/clock.ts';
import { Informers } from '../store/informers.ts';
import { StoreError, type Leadership, type Store } from '../store/store.ts';
import type { Failure } from '../store/work-queue.ts';
import type { EgressProbing } from './egress/egress-reachability.ts';
import { EventWriter, type DropLimit } from '../store/event-writer.ts';
import { caughtUp } from '../store/caught-up.ts';
import { fencedStore } from './fenced-store.ts';
import type { Log } from '../store/log.ts';
import type { PodTraces } from '../traces/pod-traces.ts';
import type { ClusterManagerSettings } from './settings.ts';
import { errorText, faultStack } from '../api/error-text.ts';
import { Controllers } from './controllers.ts';
import { problemsOf } from './problems.ts';

export interface ClusterManagerOptions {
  readonly store: Store;
  /** Informers of `store` that somebody else runs, where a process has more readers than the manager. */
  readonly informers?: Informers;
  readonly settings: ClusterManagerSettings;
  readonly log: Log;
  readonly clock?: Clock;
  /** Where the manager's metrics are registered. */
  readonly metrics?: Registry;
  readonly onEventDropped?: (limit: DropLimit) => void;
  /** How nodes are asked whether they may have egress addresses; without it they are taken to be well. */
  readonly egressProbing?: EgressProbing | undefined;
  /** Where spans of pods' ways go, if anywhere. */
  readonly traces?: PodTraces;
  /** Stops the manager. */
  readonly signal: AbortSignal;
}

/** Milliseconds that writes under way get to end when the manager is asked to stop. */
const DRAIN_TIMEOUT = 5000;

export class ClusterManager {
  readonly #options: ClusterManagerOptions;
  readonly #clock: Clock;
  readonly #informers: Informers;
  readonly #controllers: Controllers;
  readonly #events: EventWriter;
  #hasStarted = false;
  readonly #started = Promise.withResolvers<void>();
  readonly #ended = new AbortController();
  readonly #abortWrites = new AbortController();
  #leadership: Leadership | undefined;
  #isWaiting = false;
  #cancelAbort: () => void = () => undefined;

  constructor(options: ClusterManagerOptions) {
    this.#options = options;
    const { settings, log, clock = systemClock } = options;
    this.#informers = options.informers ?? new Informers({ store: options.store, log, clock });
    if (options.informers === undefined) this.#informers.select(LEASES, NODE_LEASES);
    const fenced = fencedStore({
      store: this.#informers.store,
      leadership: () => this.#leadership,
      abortWrites: this.#abortWrites.signal,
    });
    const onFailure = (failure: Failure): void => this.#failed(failure);
    this.#events = new EventWriter({
      store: fenced,
      clock,
      log,
      onFailure,
      onDropped: (limit) => options.onEventDropped?.(limit),
    });
    const store: Store = { ...fenced, event: async (event) => this.#events.emit(event) };
    this.#clock = clock;
    this.#controllers = new Controllers({
      store,
      events: this.#events,
      informers: this.#informers,
      settings,
      clock,
      log,
      metrics: options.metrics,
      egressProbing: options.egressProbing,
      traces: options.traces,
      isLeading: () => this.#leads(),
      onFailure,
      signal: this.#ended.signal,
    });
    // Nobody may be waiting for the start when it fails.
    this.#started.promise.catch(() => undefined);
  }

  /**
   * Works until the signal aborts or leadership is lost; resolves when everything under way has ended, with the reason if leadership was
   * lost. Allocations are read back first, so nothing is given out twice whenever a manager was stopped.
   */
  async run(): Promise<string | undefined> {
    const { store, settings, signal, log } = this.#options;
    let leading: AbortSignal | undefined;
    // Asked before it is given up, which aborts it too.
    const lost = (): string | undefined =>
      !signal.aborted && leading?.aborted === true ? errorText(leading.reason) : undefined;
    try {
      const onWaiting = (): void => {
        this.#isWaiting = true;
      };
      let complaint: string | undefined;
      // Logged once, not at each attempt.
      const onFailure = (error: unknown): void => {
        const text = errorText(error);
        if (text !== complaint)
          log.warn({ component: 'cluster' }, `can't compete for leadership, tries again: ${text}`);
        complaint = text;
      };
      const { leaseName, identity } = settings;
      await using leadership = await store.lead(leaseName, identity, signal, onWaiting, onFailure);
      this.#isWaiting = false;
      this.#leadership = leadership;
      leading = leadership.signal;
      if (leadership.lease !== undefined)
        this.#events.emit({
          regarding: leadership.lease,
          type: 'Normal',
          reason: 'LeaderElection',
          message: `${identity} became leader`,
        });
      const until = AbortSignal.any([signal, leadership.signal]);
      const limitDrain = (): void => {
        this.#cancelAbort = this.#clock.after(DRAIN_TIMEOUT, () => this.#abortWrites.abort());
      };
      until.addEventListener('abort', limitDrain, { once: true });
      await this.#work(until).catch((error: unknown) => {
        this.#started.reject(error);
        if (lost() === undefined) throw error;
      });
      return lost();
    } catch (error) {
      this.#started.reject(error);
      if (!signal.aborted) throw error;
      return undefined;
    } finally {
      this.#leadership = undefined;
      this.#cancelAbort();
      this.#ended.abort();
    }
  }

  /** True while this manager, and no other, makes the allocations. */
  get isLeading(): boolean {
    return this.#leadership?.signal.aborted === false;
  }

  /** The same, also in a process that was suspended past the end. */
  #leads(): boolean {
    try {
      this.#leadership?.assert();
    } catch {
      return false;
    }
    return this.isLeading;
  }

  /** True while another manager is known to lead. */
  get isWaitingToLead(): boolean {
    return this.#isWaiting;
  }

  /** What a manager that leads has to wait for before it does anything; undefined for one that works, or that waits to lead. */
  get waitsFor(): string | undefined {
    const unread =
      this.isLeading && !this.#hasStarted
        ? this.#informers.unread(this.#controllers.views.kinds)
        : [];
    return unread.length === 0 ? undefined : unread.join('; ');
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { kinds } = this.#controllers.views;
    const isShared = this.#options.informers !== undefined;
    const following = isShared ? Promise.resolve() : this.#informers.run(signal);
    // The event that it leads does not wait until what was allocated is read back, which takes a while in a large cluster.
    const writing = this.#events.queue.run(signal);
    // Informers that somebody else runs were started earlier: the leader before us may have written since.
    const reading = isShared
      ? this.#informers.refresh(kinds, signal)
      : this.#informers.synced(kinds, signal);
    // A watch that fails before all are synced ends the start, not the process.
    await Promise.race([reading, isShared ? reading : following]).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    const stopBatches = (): void => {
      for (const batch of this.#controllers.batches) batch.clear();
    };
    signal.addEventListener('abort', stopBatches, { once: true });
    if (!signal.aborted) await this.#controllers.start(signal);
    if (signal.aborted) {
      this.#started.reject(signal.reason);
      await Promise.all([following, writing]);
      return;
    }
    const working = this.#controllers.run(signal);
    this.#hasStarted = true;
    this.#started.resolve();
    await Promise.all([following, writing, working]);
  }

  /** Resolves when this manager leads and works; rejects when it can't. */
  get started(): Promise<void> {
    return this.#started.promise;
  }

  /**
   * Resolves when what the informers show is dealt with, once this manager leads, and what it wrote has come back. What others change
   * meanwhile is not waited for. Rejects when leadership is lost before that.
   */
  async caughtUp(signal: AbortSignal = this.#options.signal): Promise<void> {
    await this.#started.promise;
    const ended = this.#ended.signal;
    try {
      await caughtUp({
        informers: this.#informers,
        queues: [...this.#controllers.queues.keys()],
        batches: this.#controllers.batches,
        signal: AbortSignal.any([signal, ended]),
      });
    } catch (error) {
      if (!ended.aborted || signal.aborted) throw error;
      throw new Error('leadership was lost before everything was done', { cause: error });
    }
  }

  /** How many objects a part of this process threw at and is given again, by kind. */
  unhandled(): ReadonlyMap<string, number> {
    return this.#informers.unhandled();
  }

  /** What could not be done, sorted by object. */
  problems(): readonly ZoneProblem[] {
    const problems = [...this.#informers.problems(), ...problemsOf(this.#controllers)];
    return problems.toSorted((a, b) => (a.object < b.object ? -1 : a.object > b.object ? 1 : 0));
  }

  #failed({ key, error, attempt, retryIn }: Failure): void {
    // What is refused stays a problem, and is refused at each attempt for the same reason.
    if (error instanceof StoreError && error.code === 'invalid' && attempt > 1) return;
    this.#options.log.warn(
      {
        object: key,
        error: errorText(error),
        stack: faultStack(error),
        attempt,
        retryIn: Math.round(retryIn),
      },
      'not reconciled, will be tried again',
    );
  }
}
