/** A pass over the databases of a zone: what objects changed is built, and what differs is written. */
import { errorText, faultStack } from '../api/error-text.ts';
import type { ReadinessCheck } from '../process/health.ts';
import type { Logger } from '../process/logger.ts';
import { isStopping, type PassEnd } from '../process/loop.ts';
import type { ZoneMetrics } from './zone-metrics.ts';
import type { ZoneRuntime } from './zone-runtime.ts';

/** Refused rows and other problems are retried at the latest after this. */
export const REVISIT = 30_000;

export interface DatabasePassOptions {
  readonly runtime: ZoneRuntime;
  readonly metrics: Pick<ZoneMetrics, 'available'>;
  readonly log: Logger;
  /** Called when rows of the databases changed. */
  readonly onRows: () => void;
}

export class DatabasePass {
  /** Why not everything can be written, if so. */
  blocked: string | undefined = 'starting';
  /** How far the last pass came: what fails while it is blocked. */
  stage: ReadinessCheck = 'start';
  readonly #options: DatabasePassOptions;
  readonly #followed = new Set<unknown>();
  #isAllocated = false;

  constructor(options: DatabasePassOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<PassEnd> {
    const { runtime } = this.#options;
    runtime.throwFailure();
    try {
      this.#report(await this.#write(signal));
      runtime.noteConfirmation();
    } catch (error) {
      if (isStopping(signal)) throw error;
      this.#report(errorText(error), error);
    }
    const { nextExpiry = Infinity } = runtime.controller;
    return {
      wait: Math.min(REVISIT, Math.max(0, nextExpiry - performance.now())),
      isBlocked: this.blocked !== undefined,
    };
  }

  /** Returns why not everything could be written, if so. */
  async #write(signal: AbortSignal): Promise<string | undefined> {
    const { runtime, onRows } = this.#options;
    const { configuration, controller, northbound, southbound } = runtime;
    const away = this.#away();
    // At the start both may have to say whether they are this node's. Apart from that each is written whatever became of the other.
    const isEnough =
      controller.isStarted || (away?.stage === 'southbound' && runtime.isNorthboundOurs);
    if (away !== undefined && !isEnough) {
      this.stage = away.stage;
      return away.reason;
    }
    this.stage = 'open-vswitch';
    // Ports of the host are known from the first build on.
    const host = controller.isStarted ? undefined : runtime.host?.openVswitch.unavailable();
    if (host !== undefined) return host;
    this.stage = 'allocations';
    if (!this.#isAllocated) {
      // Before the first allocation is complete a right network could look unwanted.
      const limit = AbortSignal.any([signal, AbortSignal.timeout(configuration.timeout)]);
      await runtime.allocated(limit);
      this.#isAllocated = true;
    }
    for (const database of [northbound, southbound]) {
      if (database === undefined || database.isLoaded?.() === false) continue;
      if (this.#followed.has(database)) continue;
      this.#followed.add(database);
      database.replica.subscribe(() => {
        runtime.noteReached();
        onRows();
      });
    }
    this.stage = 'zone';
    const { knownNames } = runtime;
    runtime.update();
    const { builtEgress, builtObjects } = runtime;
    const result = await controller.flush(signal);
    if (controller.isAnnounced) runtime.written(knownNames, builtEgress, builtObjects);
    runtime.noteReached();
    if (away !== undefined) this.stage = away.stage;
    return result.kind === 'again' ? result.reason : undefined;
  }

  /** The first of the databases that can't be written, and why. */
  #away(): { readonly stage: ReadinessCheck; readonly reason: string } | undefined {
    const { runtime, metrics } = this.#options;
    const reasons = (
      [
        ['Northbound', 'northbound', runtime.northbound],
        ['Southbound', 'southbound', runtime.southbound],
      ] as const
    ).flatMap(([name, stage, database]) => {
      if (database === undefined) return [];
      const reason = database.unavailable();
      metrics.available(name, reason === undefined);
      return reason === undefined ? [] : [{ stage, reason }];
    });
    return reasons[0];
  }

  /** The reason why nothing can be written is logged once, not at each attempt. */
  #report(blocked: string | undefined, error?: unknown): void {
    if (blocked !== undefined && blocked !== this.blocked)
      this.#options.log.warn({ component: 'zone', stack: faultStack(error) }, blocked);
    this.blocked = blocked;
  }
}
