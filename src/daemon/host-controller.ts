/**
 * Keeps the host of a node as its features say: ports in the local Open_vSwitch database, the kernel's network stack, and flows of the external
 * bridge. Opens nothing; database, drivers and logger come from outside.
 */
import { claimsOf, type RowTarget } from '../desired/engine.ts';
import type { Feature } from '../desired/features.ts';
import { commitPlan, Reconciler, type Plan, type PlanProblem } from '../desired/ovsdb/index.ts';
import type { ZoneFacts } from '../model/facts.ts';
import type { FlowDriver } from '../node/drivers/flow-driver.ts';
import type { FlowPlan, FlowProblem } from '../node/drivers/flow-plan.ts';
import type { LinuxDriver } from '../node/drivers/linux-driver.ts';
import type { LinuxPlan, LinuxProblem } from '../node/drivers/linux-plan.ts';
import type { NftDriver } from '../node/drivers/nft-driver.ts';
import type { NftPlan, NftProblem } from '../node/drivers/nft-plan.ts';
import { hostFeatures } from '../node/features.ts';
import type { HostSettings } from '../node/host-network.ts';
import { OPEN_VSWITCH } from '../node/host-rows.ts';
import type { Logger } from './logger.ts';
import type { ZoneDatabase, ZoneHost } from './zone-controller.ts';

export interface HostControllerOptions {
  readonly settings: HostSettings;
  readonly openVswitch: ZoneDatabase;
  readonly linux: LinuxDriver;
  readonly flows: FlowDriver;
  readonly nft: NftDriver;
  readonly log: Logger;
  /** Milliseconds on a monotonic clock. */
  readonly now?: () => number;
}

export interface HostPlans {
  readonly openVswitch: Plan;
  readonly linux: LinuxPlan;
  readonly flows: FlowPlan;
  readonly nft: NftPlan;
}

/** Of what settings want it is not known whether it can be: a node may have no uplink. */
const isAwaited = ({ kind, object }: FlowProblem): boolean =>
  kind === 'awaited' && object !== CLUSTER;

/** What settings want. */
const CLUSTER = 'cluster';

/** A plan made on a state that moved meanwhile is made again this often before the pass is given up. */
const MAX_ATTEMPTS = 10;

export class HostController implements ZoneHost, Disposable {
  readonly features: readonly Feature<ZoneFacts>[];
  readonly #options: HostControllerOptions;
  #reconciler: Reconciler | undefined;
  readonly #now: () => number;
  #stopFollowing: (() => void) | undefined;
  #portProblems: readonly PlanProblem[] = [];
  #linuxProblems: readonly LinuxProblem[] = [];
  #flowProblems: readonly FlowProblem[] = [];
  #nftProblems: readonly NftProblem[] = [];

  constructor(options: HostControllerOptions) {
    this.#options = options;
    this.#now = options.now ?? ((): number => performance.now());
    this.features = hostFeatures(options.settings);
  }

  /** Throws while the database is not loaded. */
  get targets(): readonly RowTarget[] {
    return [this.#ports, this.#options.linux, this.#options.nft, this.#options.flows];
  }

  problems(): readonly (PlanProblem | LinuxProblem | NftProblem | FlowProblem)[] {
    return [
      ...this.#portProblems,
      ...this.#linuxProblems,
      ...this.#nftProblems,
      ...this.#flowProblems,
    ];
  }

  /** What a pass would change now. */
  async plans(isComplete: boolean): Promise<HostPlans> {
    await this.#options.linux.refresh(this.#now());
    await this.#options.nft.refresh(this.#now());
    await this.#options.flows.refresh(this.#now());
    const now = this.#now();
    const linux = this.#options.linux.plan(now, isComplete);
    const nft = this.#options.nft.plan(now, isComplete);
    const flows = this.#options.flows.plan(now, isComplete);
    const openVswitch = this.#ports.plan({ now, isComplete });
    this.#portProblems = openVswitch.problems;
    this.#linuxProblems = linux.problems;
    this.#nftProblems = nft.problems;
    this.#flowProblems = flows.problems;
    return { openVswitch, linux, nft, flows };
  }

  /**
   * Makes what differs as it should be. Returns why not everything could be tried, if so. Isolation comes before what it isolates; what
   * leads to a port goes before the port, and comes when Open vSwitch has made its device.
   */
  async flush(isComplete: boolean, signal: AbortSignal): Promise<string | undefined> {
    const nft = await this.#flushNft(isComplete, signal);
    const linux = await this.#flushLinux(isComplete, signal);
    const ports = await this.#flushPorts(isComplete, signal);
    const flows = await this.#flushFlows(isComplete, signal);
    return nft ?? linux ?? ports ?? flows;
  }

  /** What is waited for until the host is as it should be, or undefined. */
  get awaited(): string | undefined {
    const found = [...this.#portProblems, ...this.#linuxProblems].find(
      ({ kind }) => kind === 'awaited',
    );
    return (found ?? this.#flowProblems.find(isAwaited))?.message;
  }

  [Symbol.dispose](): void {
    this.#stopFollowing?.();
    this.#options.linux[Symbol.dispose]();
    this.#options.flows[Symbol.dispose]();
    this.#options.nft[Symbol.dispose]();
  }

  get #ports(): Reconciler {
    if (this.#reconciler !== undefined) return this.#reconciler;
    const { replica } = this.#options.openVswitch;
    const reconciler = new Reconciler(replica, claimsOf(this.features, OPEN_VSWITCH));
    this.#stopFollowing = reconciler.follow();
    this.#reconciler = reconciler;
    return reconciler;
  }

  async #flushNft(isComplete: boolean, signal: AbortSignal): Promise<string | undefined> {
    const { nft, log } = this.#options;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      signal.throwIfAborted();
      await nft.refresh(this.#now());
      const plan = nft.plan(this.#now(), isComplete);
      this.#nftProblems = plan.problems;
      if (plan.isEmpty) return undefined;
      const began = this.#now();
      const { applied, refused } = await nft.apply(plan, began);
      const duration = this.#now() - began;
      log.info(
        { component: 'host', applied, refused: refused.length, duration },
        'nftables changed',
      );
      for (const { table, key, message } of refused)
        log.error({ component: 'host', table, key }, message);
    }
    return 'the nftables table of the host changes faster than it can be followed';
  }

  async #flushLinux(isComplete: boolean, signal: AbortSignal): Promise<string | undefined> {
    const { linux, log } = this.#options;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      signal.throwIfAborted();
      await linux.refresh(this.#now());
      const plan = linux.plan(this.#now(), isComplete);
      this.#linuxProblems = plan.problems;
      if (plan.isEmpty) return undefined;
      const began = this.#now();
      const { applied, refused } = await linux.apply(plan, began);
      const duration = this.#now() - began;
      log.info(
        { component: 'host', applied, refused: refused.length, duration },
        'network stack changed',
      );
      for (const { table, key, message } of refused)
        log.error({ component: 'host', table, key }, message);
    }
    return 'the network stack of the host changes faster than it can be followed';
  }

  async #flushFlows(isComplete: boolean, signal: AbortSignal): Promise<string | undefined> {
    const { flows, openVswitch, log } = this.#options;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      signal.throwIfAborted();
      // Numbers of ports would be those of before, and another process may be at work.
      const unavailable = openVswitch.unavailable();
      if (unavailable !== undefined) return unavailable;
      await flows.refresh(this.#now());
      const plan = flows.plan(this.#now(), isComplete);
      this.#flowProblems = plan.problems;
      if (plan.isEmpty) return undefined;
      const began = this.#now();
      const { applied, refused } = await flows.apply(plan, began);
      const duration = this.#now() - began;
      log.info({ component: 'host', applied, refused: refused.length, duration }, 'flows changed');
      for (const { table, key, message } of refused)
        log.error({ component: 'host', table, key }, message);
    }
    return 'flows of the external bridge change faster than they can be followed';
  }

  async #flushPorts(isComplete: boolean, signal: AbortSignal): Promise<string | undefined> {
    const { openVswitch, log } = this.#options;
    const { transactor, lock } = openVswitch;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const unavailable = openVswitch.unavailable();
      if (unavailable !== undefined) return unavailable;
      const plan = this.#ports.plan({ now: this.#now(), isComplete });
      this.#portProblems = plan.problems;
      if (plan.isEmpty) return undefined;
      const result = await commitPlan(transactor, plan, {
        ...(lock === undefined ? {} : { lock }),
        comment: 'heddle',
        signal,
      });
      const { kind, committed, refused } = result;
      log.info(
        { component: 'host', outcome: kind, rows: committed, refused: refused.length },
        'ports changed',
      );
      this.#ports.refused(refused, this.#now());
      for (const { table, key, message } of refused)
        log.error({ component: 'host', table, key }, message);
      if (kind === 'not-locked' || kind === 'unknown') return result.reason ?? kind;
    }
    return 'the Open_vSwitch database changes faster than it can be followed';
  }
}
