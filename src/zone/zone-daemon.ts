/** `heddle node`: stays, and keeps its zone true whatever changes on either side. */
import { setTimeout as pause } from 'node:timers/promises';
import { nodes } from '../api/kinds.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { managerIdentity } from '../cluster-daemon/cluster-daemon.ts';
import { serveZone } from './daemon-view.ts';
import { Exclusive } from '../process/exclusive.ts';
import { serveHealth, type ReadinessCheck } from '../process/health.ts';
import { CLUSTER_HEARTBEAT, LOCAL_HEARTBEAT, startHeartbeat } from '../process/heartbeat.ts';
import type { Logger } from '../process/logger.ts';
import { registerUnhandled } from '../process/unhandled-metrics.ts';
import { MetricsAccess } from '../process/metrics-access.ts';
import { ZoneMetrics } from './zone-metrics.ts';
import { objectSource } from '../settings/object-store.ts';
import { PassWatch } from '../process/pass-watch.ts';
import { problemText } from '../views/problem-text.ts';
import { serveZoneCni } from './zone-cni.ts';
import { ZoneRuntime, type ZoneConfiguration } from './zone-runtime.ts';
import { ZoneStatusWriter, zoneReport } from './zone-status-writer.ts';
import { errorText } from '../api/error-text.ts';

/** Changes within this time of each other are written together. */
const DEBOUNCE = 10;
/** A pass that could not finish is tried again at the latest after this. */
const RETRY = 1000;
/** The report is made this often at most: it reads all networks. */
const REPORT_INTERVAL = 200;
/** A start that has written nothing yet is reported after this: most are done by then. */
const START_TIMEOUT = 5000;
/** Refused rows and other problems are retried at the latest after this. */
const REVISIT = 30_000;

/** Wakes one waiting loop; a notification while nobody waits is remembered. */
class Notifier {
  #notified = Promise.withResolvers<void>();

  notify(): void {
    this.#notified.resolve();
  }

  /** Resolves at the next notification, after `limit` milliseconds or when `signal` aborts. */
  async wait(limit: number, signal: AbortSignal): Promise<void> {
    const timer = new AbortController();
    const late = pause(limit, undefined, {
      signal: AbortSignal.any([signal, timer.signal]),
    }).catch(() => undefined);
    await Promise.race([this.#notified.promise, late]);
    timer.abort();
    this.#notified = Promise.withResolvers<void>();
  }
}

/** Runs until `signal` aborts. Rejects for a configuration that can't be used, and when a part of it ended. */
export async function runZone(
  configuration: ZoneConfiguration,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const notifier = new Notifier();
  const metrics = new ZoneMetrics();
  let notReady: string | undefined = 'starting';
  let failedCheck: ReadinessCheck = 'start';
  let access: MetricsAccess | undefined;
  let daemon: ZoneDaemon | undefined;
  const watch = new PassWatch();
  const hasApiServer = objectSource(configuration, process.env).kind === 'kubernetes';
  await using health = await serveHealth({
    serving: configuration.metrics,
    registry: metrics.registry,
    log,
    notReady: () =>
      watch.isLate ? daemon?.stage : notReady === undefined ? undefined : failedCheck,
    isHung: () => watch.isHung,
    // The API server is not connected before the runtime is there.
    judge: hasApiServer ? async (header) => access?.judge(header) ?? 'unavailable' : undefined,
  });
  await using runtime = await ZoneRuntime.open({
    configuration,
    log,
    mode: 'write',
    onCommit: (commit) => {
      metrics.commit(commit);
      log.info({ component: 'zone', ...commit }, 'committed');
    },
    onNetworkWritten: (written) => metrics.networkWritten(written),
    onEventDropped: (limit) => metrics.eventDropped(limit),
    onHostChange: (change) => metrics.hostChange(change),
    onWork: () => notifier.notify(),
    furtherProblems: () => daemon?.problems() ?? [],
  });
  if (hasApiServer) access = new MetricsAccess(runtime.store.objects, log);
  log.info({ component: 'daemon', node: configuration.node, health: health.url }, 'started');
  registerUnhandled(
    metrics.registry,
    () => runtime.informers.unhandled(),
    () => runtime.controller.unread(),
  );
  const writer = new ZoneDaemon(runtime, metrics, log, notifier);
  daemon = writer;
  const passes = new Exclusive();
  await using _control = await serveZone(runtime, { notReady: () => notReady, passes }, log);
  await using _cni = await serveZoneCni(runtime, log);
  const { store, informers, northbound } = runtime;
  await using _heartbeat = startHeartbeat({
    store: store.objects,
    node: configuration.node,
    // A process that waits for another one to end keeps nothing.
    nodeUid: () =>
      northbound.isHeldByOther()
        ? undefined
        : informers.of(nodes).get(configuration.node)?.metadata.uid,
    identity: managerIdentity(),
    timing: store.isEmbedded ? LOCAL_HEARTBEAT : CLUSTER_HEARTBEAT,
    log,
  });
  const reported = new Set<string>();
  runtime.store.onComplaints((complaints) => {
    for (const { text } of complaints)
      if (!reported.has(text)) log.warn({ component: 'manifests' }, text);
    reported.clear();
    for (const { text } of complaints) reported.add(text);
  });
  while (!signal.aborted) {
    runtime.throwFailure();
    const wait = await passes.run(() => watch.watch(() => writer.pass(signal)));
    const { message } = runtime.chassisReach() ?? {};
    notReady = writer.notReady ?? message;
    failedCheck = writer.notReady === undefined ? 'tunnels' : writer.stage;
    await notifier.wait(wait, signal);
    if (!signal.aborted) await pause(DEBOUNCE);
  }
  log.info({ component: 'daemon' }, 'stopping; the networks stay as they are');
}

class ZoneDaemon {
  notReady: string | undefined = 'starting';
  /** How far the last pass came: what fails while there is a reason not to be ready. */
  stage: ReadinessCheck = 'start';
  readonly #runtime: ZoneRuntime;
  readonly #metrics: ZoneMetrics;
  readonly #log: Logger;
  readonly #notifier: Notifier;
  readonly #status: ZoneStatusWriter;
  #isAllocated = false;
  readonly #followed = new Set<unknown>();
  #hearsOfHost = false;
  readonly #startedAt = performance.now();
  #hasResumed = false;
  #reported: string | undefined;
  #reportedAt = -REPORT_INTERVAL;
  #logged: ReadonlySet<string> = new Set();

  constructor(runtime: ZoneRuntime, metrics: ZoneMetrics, log: Logger, notifier: Notifier) {
    this.#runtime = runtime;
    this.#metrics = metrics;
    this.#log = log;
    this.#notifier = notifier;
    this.#status = new ZoneStatusWriter(runtime.store.objects, runtime.configuration.node, {
      onRefused: ({ part }) => metrics.statusRefused(part),
    });
  }

  /** What could not be reported. */
  problems(): readonly ZoneProblem[] {
    return this.#status.problems();
  }

  /** One pass; returns how many milliseconds later the next one is due at the latest. */
  async pass(signal: AbortSignal): Promise<number> {
    let wait = REVISIT;
    try {
      const blocked = await this.#write(signal);
      this.#reportBlocked(blocked);
      if (blocked !== undefined) wait = RETRY;
    } catch (error) {
      if (signal.aborted) return 0;
      this.#reportBlocked(errorText(error));
      wait = RETRY;
    }
    const { nextExpiry } = this.#runtime.controller;
    if (nextExpiry !== undefined)
      wait = Math.min(wait, Math.max(0, nextExpiry - performance.now()));
    const { nextLook } = this.#runtime.chassisReach() ?? {};
    if (nextLook !== undefined) wait = Math.min(wait, nextLook);
    // Nothing changes when a program of OVN stops: that it is silent is found by looking.
    wait = Math.min(wait, this.#runtime.controller.progress.untilSilent() ?? wait);
    const sinceReport = performance.now() - this.#reportedAt;
    if (sinceReport < REPORT_INTERVAL) return Math.min(wait, REPORT_INTERVAL - sinceReport);
    const isReported = await this.#report(signal);
    this.#reportedAt = performance.now();
    // Problems that end without a change of facts or rows (a write that was retried, an object that is gone) end in the report, too.
    return isReported && this.#logged.size === 0 ? wait : Math.min(wait, RETRY);
  }

  /** Writes what differs; returns why it could not, if so. */
  async #write(signal: AbortSignal): Promise<string | undefined> {
    const zone = this.#writeZone(signal);
    // The host is kept as it should be also while databases can't be written.
    const isWritten = await zone.then(
      (blocked) => blocked === undefined,
      () => false,
    );
    if (isWritten) this.stage = 'host';
    const host = await this.#writeHost(signal);
    return (await zone) ?? host;
  }

  async #writeHost(signal: AbortSignal): Promise<string | undefined> {
    const { host, controller } = this.#runtime;
    if (host === undefined || !controller.isStarted) return undefined;
    if (!this.#hearsOfHost) {
      await host.start();
      host.openVswitch.replica.subscribe(() => this.#notifier.notify());
      this.#hearsOfHost = true;
    }
    const blocked = await host.controller.flush(controller.hostMayBeWanted(), signal);
    const { configured, reached } = controller.progress.sequence;
    this.#runtime.noteConfirmation();
    if (reached >= configured) host.controller.forgetConnections();
    return blocked;
  }

  async #writeZone(signal: AbortSignal): Promise<string | undefined> {
    const { configuration, controller, northbound, southbound } = this.#runtime;
    let away: readonly ['northbound' | 'southbound', reason: string] | undefined;
    for (const [name, database] of [
      ['Northbound', northbound],
      ['Southbound', southbound],
    ] as const) {
      if (database === undefined) continue;
      const reason = database.unavailable();
      this.#metrics.available(name, reason === undefined);
      if (reason !== undefined)
        away ??= [name === 'Northbound' ? 'northbound' : 'southbound', reason];
    }
    // At the start both may have to say whether they are this node's. Apart from that each is written whatever became of the other.
    const isEnough =
      controller.isStarted || (away?.[0] === 'southbound' && this.#runtime.isNorthboundOurs);
    if (away !== undefined && !isEnough) {
      this.stage = away[0];
      return away[1];
    }
    this.stage = 'open-vswitch';
    // Ports of the host are known from the first build on.
    const host = controller.isStarted ? undefined : this.#runtime.host?.openVswitch.unavailable();
    if (host !== undefined) return host;
    this.stage = 'allocations';
    if (!this.#isAllocated) {
      // Before the first allocation is complete a right network could look unwanted.
      const limit = AbortSignal.any([signal, AbortSignal.timeout(configuration.timeout)]);
      await this.#runtime.allocated(limit);
      this.#isAllocated = true;
    }
    for (const database of [northbound, southbound]) {
      if (database === undefined || database.isLoaded?.() === false) continue;
      if (this.#followed.has(database)) continue;
      this.#followed.add(database);
      database.replica.subscribe(() => this.#notifier.notify());
    }
    this.stage = 'zone';
    this.#runtime.update();
    const result = await controller.flush(signal);
    if (away !== undefined) this.stage = away[0];
    return result.kind === 'again' ? result.reason : undefined;
  }

  /** The reason why nothing can be written is logged once, not at each attempt. */
  #reportBlocked(blocked: string | undefined): void {
    this.notReady = blocked;
    if (blocked !== undefined && blocked !== this.#reported)
      this.#log.warn({ component: 'zone' }, blocked);
    this.#reported = blocked;
  }

  /** Logs what is wrong since the last time, each problem once. */
  #logProblems(problems: readonly ZoneProblem[]): void {
    const { store } = this.#runtime;
    const lines = problems.map((problem) => ({
      object: problem.object,
      line: problemText(problem, (object) => store.placeOf(object)),
    }));
    for (const { object, line } of lines)
      if (!this.#logged.has(line)) this.#log.warn({ component: 'zone', object }, line);
    this.#logged = new Set(lines.map(({ line }) => line));
  }

  /** False when the report could not be written. */
  async #report(signal: AbortSignal): Promise<boolean> {
    const { controller } = this.#runtime;
    const problems = this.#runtime.problems();
    this.#logProblems(problems);
    if (!(await this.#resumed(signal))) return false;
    const report = zoneReport({
      controller,
      problems,
      waiting: this.#runtime.waiting(),
      notes: this.#runtime.notes(),
      message: this.notReady,
      reach: this.#runtime.chassisReach(),
    });
    const { configured, reached } =
      this.notReady === undefined ? controller.progress.sequence : { configured: 0, reached: 0 };
    this.#metrics.state({
      networks: controller.progress.networks(),
      problems: problems.length,
      failedFacts: controller.failedFacts,
      behind: Math.max(0, configured - reached),
    });
    this.#metrics.hostObjects(this.#runtime.host?.controller.counts() ?? []);
    if (!controller.hasWritten && performance.now() - this.#startedAt < START_TIMEOUT) return false;
    try {
      await this.#status.write(report, signal);
      return true;
    } catch {
      return false;
    } finally {
      // What was not taken is a problem from now on, which is logged once.
      if (!signal.aborted) this.#logProblems(this.#runtime.problems());
    }
  }

  /** False while it is not known what the process before us reported. */
  async #resumed(signal: AbortSignal): Promise<boolean> {
    if (this.#hasResumed) return true;
    try {
      await this.#status.resume(this.#runtime.controller.progress, signal);
      this.#hasResumed = true;
      return true;
    } catch (error) {
      if (!signal.aborted) this.#log.warn({ component: 'zone', error }, 'status not read');
      return false;
    }
  }
}
