/**
 * What a daemon does for its zone, in loops of their own: databases, the host, tracked connections, statuses. Each has its trigger, its back-off
 * and its limit, so that what one of them waits for (a program, an API server) holds up no other, and no pod.
 */
import type { ZoneProblem } from '../api/zone-status.ts';
import type { ShownConflist } from '../cni/install/shown-conflist.ts';
import type { ReadinessCheck } from '../process/health.ts';
import type { Logger } from '../process/logger.ts';
import { Loop, type LoopOptions, type PassEnd } from '../process/loop.ts';
import { LONGEST_PASS } from '../process/pass-watch.ts';
import { DropMetrics } from './drop-metrics.ts';
import { DropPass } from './drop-pass.ts';
import { DatabasePass, REVISIT } from './database-pass.ts';
import { HostPass } from './host-pass.ts';
import { KeptProof } from '../verify/kept/kept-proof.ts';
import { KeptProofPass, type KeptProofPassOptions } from './kept-proof-pass.ts';
import { ProofChanges } from './proof-changes.ts';
import { ProofPass, type ProvedZone } from './proof-pass.ts';
import { StatusPass } from './status-pass.ts';
import type { ZoneMetrics } from './zone-metrics.ts';
import type { ZoneRuntime } from './zone-runtime.ts';
import { dropCountsOf } from './zone-questions.ts';

/** Changes within this time of each other are written together. */
const DEBOUNCE = 10;
/** The report is made this often at most: it reads all networks. */
const REPORT_INTERVAL = 200;
/** Milliseconds after which a pass gives up what it waits for. What it did stays, and the next one goes on from there. */
const LIMIT = 300_000;
/** Before what could not be done is tried again, where nothing tells that it can be. */
const BACKOFF = { first: 1000, longest: 5000 };
/** Milliseconds between two looks at what changed at least: networks that come together are looked through once. */
const CHANGES_INTERVAL = 200;
/** Before a proof of changes that failed begins from nothing. */
const PROOF_BACKOFF = { first: 10_000, longest: 600_000 };
/** Before an API server that takes no status is asked again. */
const STATUS_BACKOFF = { first: 1000, longest: 10_000 };

export interface ZoneLoopsOptions {
  readonly runtime: ZoneRuntime;
  readonly metrics: ZoneMetrics;
  readonly log: Logger;
  /** Shown as soon as pods can be served. */
  readonly conflist: ShownConflist | undefined;
  /** Proves that the networks of the node are apart; it is asked as often as `verify-interval` says. */
  readonly prove: (signal: AbortSignal) => Promise<ProvedZone>;
}

export class ZoneLoops {
  readonly databases: Loop;
  /** Absent where the host is left alone, as are connections. */
  readonly host: Loop | undefined;
  readonly #connections: Loop | undefined;
  readonly #statuses: Loop;
  /** Absent where nobody asked for proofs. */
  readonly #proofs: Loop | undefined;
  /** Absent likewise. */
  readonly #changes: Loop | undefined;
  /** Absent where nobody asked what is dropped, and where the host is left alone. */
  readonly #drops: Loop | undefined;
  readonly #runtime: ZoneRuntime;
  readonly #databasePass: DatabasePass;
  readonly #hostPass: HostPass | undefined;
  readonly #statusPass: StatusPass;
  readonly #proofPass: ProofPass | undefined;
  readonly #conflist: ShownConflist | undefined;
  #hasPassed = false;

  constructor({ runtime, metrics, log, conflist, prove }: ZoneLoopsOptions) {
    const { host, controller } = runtime;
    this.#runtime = runtime;
    this.#conflist = conflist;
    this.#databasePass = new DatabasePass({
      runtime,
      metrics,
      log,
      onRows: () => this.databases.notify(),
    });
    this.#hostPass =
      host && new HostPass({ host, controller, log, onRows: () => this.host?.notify() });
    const { node, verifyInterval } = runtime.configuration;
    this.#proofPass =
      verifyInterval === 0
        ? undefined
        : new ProofPass({
            node,
            prove,
            interval: verifyInterval,
            metrics,
            log,
            onChange: () => this.#statuses.notify(),
          });
    this.#statusPass = new StatusPass({
      runtime,
      metrics,
      log,
      blocked: () => this.blocked,
      isProved: this.#proofPass !== undefined,
      violations: () => this.#proofPass?.violations,
    });
    const common = { debounce: DEBOUNCE, backoff: BACKOFF, limit: LIMIT };
    this.databases = new Loop({
      ...common,
      name: 'databases',
      pass: async (signal) => {
        const end = await this.#databasePass.run(signal);
        if (!this.#hasPassed) this.#proofs?.notify();
        this.#hasPassed = true;
        if (this.#hostPass?.isBehind === true) this.host?.notify();
        this.#afterPass();
        return end;
      },
    });
    const hostPass = this.#hostPass;
    this.host =
      hostPass &&
      new Loop({
        ...common,
        name: 'host',
        pass: async (signal) => {
          const end = await hostPass.run(signal);
          if (controller.isStarted) runtime.noteReached();
          this.#afterPass();
          return end;
        },
      });
    this.#connections =
      host &&
      new Loop({ ...common, name: 'conntrack', pass: (signal) => this.#connectionPass(signal) });
    this.#statuses = new Loop({
      ...common,
      name: 'statuses',
      interval: REPORT_INTERVAL,
      backoff: STATUS_BACKOFF,
      isPatient: true,
      // Before the first pass over the databases nothing is known.
      pass: async (signal) =>
        this.#hasPassed ? this.#statusPass.run(signal) : { wait: REVISIT, isBlocked: false },
    });
    const { dropsInterval } = runtime.configuration;
    const counts = host === undefined || dropsInterval === 0 ? undefined : dropCountsOf(runtime);
    const dropPass =
      counts &&
      new DropPass({
        look: (signal) => counts.look(signal),
        interval: dropsInterval,
        metrics: new DropMetrics(metrics.registry),
        log,
      });
    this.#drops =
      dropPass &&
      new Loop({
        ...common,
        name: 'drops',
        pass: async (signal) =>
          this.#hasPassed ? dropPass.run(signal) : { wait: REVISIT, isBlocked: false },
      });
    const proofPass = this.#proofPass;
    this.#changes =
      proofPass && this.#changesLoop(common, { metrics, log, ask: () => this.#askForProof() });
    this.#proofs =
      proofPass &&
      new Loop({
        ...common,
        name: 'verify',
        pass: async (signal) =>
          this.#hasPassed ? proofPass.run(signal) : { wait: REVISIT, isBlocked: false },
      });
  }

  get all(): readonly Loop[] {
    return [
      this.databases,
      this.host,
      this.#connections,
      this.#statuses,
      this.#changes,
      this.#proofs,
      this.#drops,
    ].filter((loop) => loop !== undefined);
  }

  /** Why not all of the zone can be kept, if so. */
  get blocked(): string | undefined {
    return this.#databasePass.blocked ?? this.#hostPass?.blocked;
  }

  /** What keeps the daemon from being ready. Statuses that nobody takes do not: networks are in order all the same. */
  get failedCheck(): ReadinessCheck | undefined {
    const { blocked, stage } = this.#databasePass;
    if (blocked !== undefined || this.databases.watch.isLate) return stage;
    if (this.#hostPass?.blocked !== undefined || this.host?.watch.isLate === true) return 'host';
    if (this.#runtime.switchDown !== undefined) return 'data-plane';
    if (this.#conflist?.isShown === false) return 'cni';
    return this.#runtime.chassisReach()?.message === undefined ? undefined : 'tunnels';
  }

  /** Why the node is not ready, in words. */
  readonly notReady = (): string | undefined =>
    this.blocked ??
    this.#runtime.silentDatabases[0] ??
    this.#runtime.switchDown ??
    this.#runtime.chassisReach()?.message;

  /** The loop at whose pass nothing will happen any more, if there is one. */
  get hung(): string | undefined {
    return this.all.find(({ watch }) => watch.isHung)?.name;
  }

  /** What could not be reported, and which loops are at one pass for long. */
  problems(): readonly ZoneProblem[] {
    const object = `Node ${this.#runtime.configuration.node}`;
    // A database that stands still is told by its name.
    const isNamed = this.#runtime.silentDatabases.length > 0;
    const late = this.all.filter(
      ({ name, watch }) => watch.isLate && !(isNamed && (name === 'databases' || name === 'host')),
    );
    const hidden = this.#conflist?.problem;
    return [
      ...this.#statusPass.problems(),
      ...(this.#proofPass?.problems() ?? []),
      ...(hidden === undefined
        ? []
        : [{ object, message: `container runtimes are not told of the plugin: ${hidden}` }]),
      ...late.map(({ name }) => ({
        object,
        message: `the daemon is at one pass over its ${name} for more than ${LONGEST_PASS / 1000} s: what it waits for does not answer; see its log and heddle_loop_pass_under_way_seconds`,
      })),
    ];
  }

  #afterPass(): void {
    if (this.blocked === undefined && this.#runtime.unavailable() === undefined)
      this.#conflist?.show();
    this.#connections?.notify();
    this.#statuses.notify();
    this.#changes?.notify();
  }

  #askForProof(): void {
    this.#proofPass?.ask();
    this.#proofs?.notify();
  }

  /** Proves what changes of Northbound, beside the proof of all. */
  #changesLoop(
    common: Pick<LoopOptions, 'debounce' | 'limit'>,
    options: Pick<KeptProofPassOptions, 'metrics' | 'log' | 'ask'>,
  ): Loop {
    const { configuration, controller, northbound } = this.#runtime;
    const { node, settings, host } = configuration;
    const isSettled = (): boolean =>
      this.#databasePass.blocked === undefined && controller.isAnnounced && !controller.isDirty;
    const pass = new KeptProofPass({
      ...options,
      follow: () =>
        new ProofChanges({
          replica: northbound.replica,
          ...this.#runtime.proofObjects,
          onChange: () => loop.notify(),
        }),
      begin: () => new KeptProof(node, { ...settings, routingTables: host.routingTables }),
      isSettled,
    });
    const loop = new Loop({
      ...common,
      name: 'verify-changes',
      interval: CHANGES_INTERVAL,
      backoff: PROOF_BACKOFF,
      isPatient: true,
      pass: (signal) => pass.run(signal),
    });
    return loop;
  }

  async #connectionPass(signal: AbortSignal): Promise<PassEnd> {
    const wait = (await this.#runtime.connectionTables?.look(signal)) ?? REVISIT;
    await this.#forgetConnections(signal);
    return { wait: Math.min(wait, REVISIT), isBlocked: false };
  }

  /** Not before databases, host and data plane are as wanted: until then packets may be tracked again. */
  async #forgetConnections(signal: AbortSignal): Promise<void> {
    const { controller, host } = this.#runtime;
    const { configured, reached } = controller.isStarted
      ? controller.progress.sequence
      : { configured: Infinity, reached: 0 };
    const isWanted = controller.isAnnounced && host?.controller.isBehind === false;
    if (isWanted && reached >= configured) await host.controller.forgetConnections(signal);
  }
}
