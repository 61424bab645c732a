/** A pass that says how the zone is: problems in the log, numbers in metrics, all of it in the node's ZoneStatus. */
import { errorText, faultStack } from '../api/error-text.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { isStopping, type PassEnd } from '../process/loop.ts';
import type { Logger } from '../process/logger.ts';
import { problemText } from '../views/problem-text.ts';
import { REVISIT } from './database-pass.ts';
import type { ZoneMetrics } from './zone-metrics.ts';
import type { ZoneRuntime } from './zone-runtime.ts';
import { countOf, ZoneStatusWriter, zoneReport } from './zone-status-writer.ts';

/** A start that has written nothing yet is reported after this: most are done by then. */
const START_TIMEOUT = 5000;
/** Problems that end without a change of facts or rows (a write that was retried, an object that is gone) are looked at again after this. */
const RECHECK = 1000;
/** A host that is about to be as a change wants it is waited for, so that nothing is reported that is over at once. */
const HOST_PATIENCE = 2000;

export interface StatusPassOptions {
  readonly runtime: ZoneRuntime;
  readonly metrics: ZoneMetrics;
  readonly log: Logger;
  /** Why not everything can be written, if so. */
  readonly blocked: () => string | undefined;
  /** Whether proofs are made. */
  readonly isProved: boolean;
  /** How many ways or numbers that no object wants were found, by network; undefined before the first proof. */
  readonly violations: () => ReadonlyMap<string, number> | undefined;
}

export class StatusPass {
  readonly #options: StatusPassOptions;
  readonly #writer: ZoneStatusWriter;
  readonly #startedAt = performance.now();
  #hostAwaitedSince: number | undefined;
  #hasResumed = false;
  /** Why what was reported before can't be read, if so. */
  #unread: string | undefined;
  #logged: ReadonlySet<string> = new Set();

  constructor(options: StatusPassOptions) {
    const { runtime, metrics } = options;
    this.#options = options;
    this.#writer = new ZoneStatusWriter(runtime.store.objects, runtime.configuration.node, {
      onRefused: ({ part }) => metrics.statusRefused(part),
    });
  }

  /** What could not be reported. */
  problems(): readonly ZoneProblem[] {
    return this.#writer.problems(this.#options.runtime.isSourceLost);
  }

  async run(signal: AbortSignal): Promise<PassEnd> {
    const patience = this.#untilHost();
    if (patience > 0) return { wait: patience, isBlocked: false };
    this.#hostAwaitedSince = undefined;
    const outcome = await this.#report(signal);
    const { runtime } = this.#options;
    // Nothing changes when a program of OVN stops: that it is silent is found by looking.
    const looks = [runtime.chassisReach()?.nextLook, runtime.controller.progress.untilSilent()];
    const recheck = outcome === 'written' && this.#logged.size === 0 ? REVISIT : RECHECK;
    return {
      wait: Math.min(recheck, ...looks.map((look) => look ?? Infinity)),
      isBlocked: outcome === 'failed',
    };
  }

  /** Milliseconds for which the host is waited for. */
  #untilHost(): number {
    const { host } = this.#options.runtime;
    if (host?.controller.isBehind !== true) return 0;
    const now = performance.now();
    this.#hostAwaitedSince ??= now;
    return this.#hostAwaitedSince + HOST_PATIENCE - now;
  }

  /** `early`: nothing is known yet that is worth a report. */
  async #report(signal: AbortSignal): Promise<'written' | 'early' | 'failed'> {
    const { runtime, blocked: blockedNow, isProved, violations } = this.#options;
    const { controller } = runtime;
    const problems = runtime.problems();
    this.#logProblems(problems);
    if (!(await this.#resumed(signal))) return 'failed';
    const message = blockedNow();
    const waiting = runtime.waiting();
    const justWaiting = runtime.justWaiting();
    const report = zoneReport({
      controller,
      problems,
      waiting,
      justWaiting,
      notes: runtime.notes(),
      applied: runtime.applied(problems),
      ovnVersion: runtime.ovnVersion,
      message,
      reach: runtime.chassisReach(),
      // What was reported before stands until the first proof of this process.
      violations: isProved ? (violations() ?? this.#writer.violationsBefore) : undefined,
    });
    this.#measure(
      countOf(problems, justWaiting),
      waiting.map(({ object }) => object),
      message !== undefined,
    );
    if (!controller.hasWritten && performance.now() - this.#startedAt < START_TIMEOUT)
      return 'early';
    try {
      await this.#writer.write(report, signal);
      return 'written';
    } catch (error) {
      if (isStopping(signal)) throw error;
      return 'failed';
    } finally {
      // What was not taken is a problem from now on, which is logged once.
      if (!signal.aborted) this.#logProblems(runtime.problems());
    }
  }

  #measure(problems: number, waiting: readonly string[], isBlocked: boolean): void {
    const { runtime, metrics } = this.#options;
    const { controller, host } = runtime;
    metrics.state({
      networks: controller.progress.networks(),
      problems,
      waiting,
      failedFacts: controller.failedFacts,
      behind: isBlocked ? 0 : controller.progress.behind,
    });
    metrics.hostObjects(host?.controller.counts() ?? []);
  }

  /** Logs what is wrong since the last time, each problem once. */
  #logProblems(problems: readonly ZoneProblem[]): void {
    const { runtime, log } = this.#options;
    const lines = problems.map((problem) => ({
      object: problem.object,
      line: problemText(problem, (object) => runtime.store.placeOf(object)),
    }));
    for (const { object, line } of lines)
      if (!this.#logged.has(line)) log.warn({ component: 'zone', object }, line);
    this.#logged = new Set(lines.map(({ line }) => line));
  }

  /** False while it is not known what the process before us reported. */
  async #resumed(signal: AbortSignal): Promise<boolean> {
    if (this.#hasResumed) return true;
    const { runtime, log } = this.#options;
    try {
      await this.#writer.resume(runtime.controller.progress, signal);
      this.#hasResumed = true;
      return true;
    } catch (error) {
      if (isStopping(signal)) throw error;
      const text = errorText(error);
      // Once, not at each attempt.
      if (text !== this.#unread)
        log.warn({ component: 'zone', stack: faultStack(error) }, `status not read: ${text}`);
      this.#unread = text;
      return false;
    }
  }
}
