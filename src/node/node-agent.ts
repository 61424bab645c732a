/**
 * Keeps the host of a node as its features say: ports in the local Open_vSwitch database, the kernel's network stack, and flows of the external
 * bridge. Opens nothing; database, drivers and logger come from outside.
 */
import { claimsOf, type RowTarget } from '../desired/engine.ts';
import { UnitsBehind } from './reconcile/units-behind.ts';
import type { Feature } from '../desired/features.ts';
import type { Plan, PlanProblem } from '../desired/ovsdb/changes.ts';
import { commitPlan, repairedOf, writtenOf } from '../desired/ovsdb/commit.ts';
import { Reconciler } from '../desired/ovsdb/reconciler.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import { idOf, type Claims } from './reconcile/claims.ts';
import type { HostDriver } from './reconcile/host-driver.ts';
import type { HostPlan, HostProblem, MayBeWanted, PlannedChange } from './reconcile/host-plan.ts';
import type { ConnectionDriver } from './conntrack/connection-driver.ts';
import type { FlowDriver } from './openflow/flow-driver.ts';
import type { HealthCheckServers } from './health-checks/health-check-servers.ts';
import type { LinuxDriver } from './linux/linux-driver.ts';
import type { NftDriver } from './nftables/nft-driver.ts';
import { areTunnelsChanged } from './chassis/chassis-database.ts';
import { changedBridges } from './openflow/bridge-ports.ts';
import { isFenceFlow } from './openflow/egress-fence.ts';
import { OfctlError, type OfctlProgram } from './openflow/ofctl-program.ts';
import { STRANGER_FLOWS } from './openflow/bridge-flows-uplink.ts';
import { isLeaseElement } from './nftables/egress.ts';
import { TUNNEL_SOURCES } from './nftables/tunnels.ts';
import { hostFeatures } from './features.ts';
import type { HostSettings } from './networks/host-network.ts';
import { OPEN_VSWITCH } from './host-rows.ts';
import { RULE_EGRESS_SERVICE } from './numbers.ts';
import type { Logger } from '../process/logger.ts';
import type { StrangersSeen } from './chassis/underlay-report.ts';
import type { ZoneDatabase } from '../databases/zone-database.ts';
import { SETTINGS } from '../desired/rows.ts';

export interface HostControllerOptions {
  readonly settings: HostSettings;
  readonly openVswitch: ZoneDatabase;
  readonly linux: LinuxDriver;
  readonly flows: FlowDriver;
  readonly ofctl: OfctlProgram;
  readonly nft: NftDriver;
  readonly healthChecks: HealthCheckServers;
  readonly connections: ConnectionDriver;
  readonly log: Logger;
  /** Milliseconds on a monotonic clock. */
  readonly now?: () => number;
  /** Called after each change, for metrics. */
  readonly onChange?: (change: HostChange) => void;
  readonly onPortsChange?: (change: PortsChange) => void;
}

/** What a pass changed of one kind of state. */
export interface HostChange {
  readonly database: string;
  /** Objects that were added, changed or removed. */
  readonly applied: number;
  readonly refused: number;
  /** Milliseconds. */
  readonly duration: number;
  /** Of what was changed, that of which nobody wanted anything else since all was right: somebody else had changed it. */
  readonly repaired: readonly PlannedChange[];
  /** All else that was changed. */
  readonly written: readonly PlannedChange[];
  /** Programs that had changed something, as far as that is known. */
  readonly by: readonly string[];
}

/** Ports of the host that are in the database of Open vSwitch. */
export interface PortsChange extends Pick<Plan, 'database' | 'nameOf'> {
  /** Somebody else had changed these, and they are as they should be again. */
  readonly repaired: Plan['changes'];
  readonly written: Plan['changes'];
}

export interface HostPlans {
  readonly openVswitch: Plan;
  readonly linux: HostPlan;
  readonly flows: HostPlan;
  readonly nft: HostPlan;
}

/** What is wanted of the host, by what keeps it. */
export interface HostWanted {
  readonly linux: Pick<LinuxDriver, 'claims'>;
  readonly nft: Pick<NftDriver, 'claims' | 'listed'>;
  readonly flows: Pick<FlowDriver, 'wantedFlows' | 'portNumber'>;
  readonly ports: Pick<Reconciler, 'wantedBy' | 'markOf' | 'rowsWithKey'>;
}

/** Of any kind of state. */
type Driver<C extends PlannedChange> = Pick<
  HostDriver<never, C>,
  'database' | 'title' | 'refresh' | 'plan' | 'apply' | 'wantedVersion' | 'changedBy' | 'settled'
> & { readonly claims: Pick<Claims, 'version'> };

interface Right {
  readonly version: string;
  /** Objects with a problem, and units that awaited something. */
  readonly not: ReadonlySet<string>;
}

/** Of what settings want it is not known whether it can be: a node may have no uplink. */
const isAwaited = ({ kind, object }: HostProblem): boolean =>
  kind === 'awaited' && object !== SETTINGS;

interface FlushOptions {
  /** What must be done before changes of a plan, with all that is wanted when it is made. */
  readonly first?: () => Promise<string | undefined>;
  /** Other changes are not made, whatever else differs. */
  readonly only?: (change: PlannedChange) => boolean;
}

/**
 * Without the rule of an EgressService what that sends would leave by the host's own routes, with the load balancer's address, where nftables lets it:
 * it comes before that, and goes after it. Other rules go before what isolates their networks, and come after it.
 */
const isRuleBeforeNft = ({ table, action, key }: PlannedChange): boolean =>
  table === 'rule' && key.includes(`priority ${RULE_EGRESS_SERVICE} `) === (action !== 'remove');

/** It goes after the address. */
const isFenceThatComes = (change: PlannedChange): boolean =>
  change.action !== 'remove' && isFenceFlow(change);

/** Without the address nothing would leave with it. */
const isLeaseThatComes = (change: PlannedChange): boolean =>
  change.action !== 'remove' && isLeaseElement(change);

/** A plan made on a state that moved meanwhile is made again this often before the pass is given up. */
const MAX_ATTEMPTS = 10;

export class HostController implements AsyncDisposable {
  readonly features: readonly Feature<ZoneFacts>[];
  readonly #options: HostControllerOptions;
  #reconciler: Reconciler | undefined;
  readonly #now: () => number;
  #stopFollowing: (() => void) | undefined;
  /** What was wanted of a kind of state when all of it was right last, but for what had a problem. */
  readonly #rightAt = new Map<string, Right>();
  #portProblems: readonly PlanProblem[] = [];
  readonly #behind = new UnitsBehind();
  /** Of the drivers' last plans, by kind of state. */
  readonly #problems = new Map<string, readonly HostProblem[]>();

  constructor(options: HostControllerOptions) {
    this.#options = options;
    this.#now = options.now ?? ((): number => performance.now());
    this.features = hostFeatures(options.settings);
  }

  /** Throws while the database is not loaded. */
  get targets(): readonly RowTarget[] {
    return [
      ...[this.#ports, ...this.#drivers].map((target) => this.#behind.note(target)),
      this.#options.connections,
    ];
  }

  get #drivers() {
    const { linux, nft, flows, healthChecks } = this.#options;
    return [linux, nft, flows, healthChecks] as const;
  }

  /** True while something is wanted that no pass has looked at yet. */
  get isBehind(): boolean {
    return this.#behind.isAny;
  }

  problems(): readonly (PlanProblem | HostProblem)[] {
    return [
      ...this.#portProblems,
      ...[...this.#problems.values()].flat(),
      ...this.#options.connections.problems(),
      ...this.#behind.awaited(),
    ];
  }

  /**
   * Calls the listener when rows of the local Open_vSwitch database changed by which a pass, or a report on the host, may be another one: pods' ports on the
   * integration bridge are nothing to either. Returns what ends it. Throws while the database is not loaded.
   */
  onRows(listener: () => void): () => void {
    const { replica } = this.#options.openVswitch;
    // It follows changes already.
    const ports = this.#ports;
    return replica.subscribe((changes) => {
      if (
        ports.mayDiffer ||
        changes.tables.has(OPEN_VSWITCH) ||
        changedBridges(replica, changes).size > 0 ||
        areTunnelsChanged(replica, changes)
      )
        listener();
    });
  }

  /** What a pass would change now. `mayBeWanted`: of what nobody wants, while something is not known. */
  async plans(mayBeWanted?: MayBeWanted): Promise<HostPlans> {
    const { linux, nft, flows } = this.#options;
    for (const driver of [linux, nft, flows]) await driver.refresh(this.#now());
    const planned = <C extends PlannedChange>(driver: Driver<C>): HostPlan<C> =>
      this.#planned(driver, mayBeWanted);
    const plans = { linux: planned(linux), nft: planned(nft), flows: planned(flows) };
    const openVswitch = this.#planPorts(mayBeWanted);
    this.#portProblems = openVswitch.problems;
    return { openVswitch, ...plans };
  }

  /**
   * Makes what differs as it should be. Returns why not everything could be tried, if so. Isolation comes before what it isolates, and goes
   * after the rules by which that finds its way (those of EgressServices the other way round); what leads to a port goes before the port, and comes when Open vSwitch has made its device. An egress address
   * comes after what fences it, and at another network card than the gateway's before what lets nothing leave without it.
   */
  async flush(
    mayBeWanted: MayBeWanted | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { openVswitch, nft, linux, flows, healthChecks } = this.#options;
    const caughtUp = this.#behind.begin();
    const flush = <C extends PlannedChange>(
      driver: Driver<C>,
      how: FlushOptions = {},
    ): Promise<string | undefined> => this.#flushDriver(driver, mayBeWanted, signal, how);
    const results = [
      await flush(nft, {
        first: () => flush(linux, { only: isRuleBeforeNft }),
        only: (change) => !isLeaseThatComes(change),
      }),
      await flush(linux, {
        async first() {
          // Without Open vSwitch there is nothing that would answer for an address.
          if (openVswitch.unavailable() === undefined)
            await flush(flows, { only: isFenceThatComes });
          return undefined;
        },
      }),
      await flush(nft),
      await this.#flushPorts(mayBeWanted, signal),
      // Numbers of ports would be those of before, and another process may be at work.
      openVswitch.unavailable() ?? (await flush(flows)),
      await flush(healthChecks),
    ];
    const blocked = results.find((why) => why !== undefined);
    if (blocked === undefined) caughtUp();
    return blocked;
  }

  /** Packets of strangers to the port of tunnels, by what dropped them; `bridge` is the external one. */
  async strangersSeen(bridge: string | undefined): Promise<readonly StrangersSeen[]> {
    const { nft, ofctl } = this.#options;
    await nft.refreshCounters();
    const inTable = { at: 'nftables', packets: nft.counted(TUNNEL_SOURCES) };
    if (bridge === undefined) return [inTable];
    try {
      const counts = await Promise.all(STRANGER_FLOWS.map((flows) => ofctl.packets(bridge, flows)));
      const packets = counts.reduce((sum, count) => sum + count, 0);
      return [{ at: bridge, packets }, inTable];
    } catch (error) {
      if (!(error instanceof OfctlError)) throw error;
      return [{ at: bridge, packets: undefined }, inTable];
    }
  }

  /** To be called when the data plane is as wanted: what led to services that are gone is forgotten. Resolves when it is. */
  async forgetConnections(signal: AbortSignal): Promise<void> {
    await this.#options.connections.forget(this.#now(), signal);
  }

  /** What is waited for until the host is as it should be, or undefined. */
  get awaited(): string | undefined {
    const { linux, flows } = this.#options;
    const of = ({ database }: RowTarget): readonly HostProblem[] =>
      this.#problems.get(database) ?? [];
    const found = [...this.#portProblems, ...of(linux)].find(({ kind }) => kind === 'awaited');
    return (found ?? of(flows).find(isAwaited))?.message;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopFollowing?.();
    for (const driver of this.#drivers) driver[Symbol.dispose]();
    await this.#options.connections[Symbol.asyncDispose]();
  }

  get #ports(): Reconciler {
    if (this.#reconciler !== undefined) return this.#reconciler;
    const { replica } = this.#options.openVswitch;
    const reconciler = new Reconciler(replica, claimsOf(this.features, OPEN_VSWITCH));
    this.#stopFollowing = reconciler.follow();
    this.#reconciler = reconciler;
    return reconciler;
  }

  /** Who wants an object of the host, or a row of the local Open_vSwitch database. */
  get wanted(): HostWanted {
    const { linux, nft, flows } = this.#options;
    return { linux, nft, flows, ports: this.#ports };
  }

  /** How many objects there are to be, by kind of state and table. */
  *counts(): Iterable<readonly [database: string, table: string, count: number]> {
    for (const { database, claims } of this.#drivers)
      for (const [table, count] of claims.counts) yield [database, table, count];
  }

  #planned<C extends PlannedChange>(driver: Driver<C>, mayBeWanted?: MayBeWanted): HostPlan<C> {
    const plan = driver.plan(this.#now(), mayBeWanted);
    this.#problems.set(driver.database, plan.problems);
    return plan;
  }

  /** Compares and changes until nothing differs. */
  async #flushDriver<C extends PlannedChange>(
    driver: Driver<C>,
    mayBeWanted: MayBeWanted | undefined,
    signal: AbortSignal,
    { first, only }: FlushOptions,
  ): Promise<string | undefined> {
    const { log } = this.#options;
    const { database, title } = driver;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      signal.throwIfAborted();
      await driver.refresh(this.#now());
      // Nothing is built between that and the plan.
      const blocked = await first?.();
      if (blocked !== undefined) return blocked;
      const all = this.#planned(driver, mayBeWanted);
      if (all.isEmpty) this.#noteRight(driver, all);
      const plan = only === undefined ? all : { ...all, changes: all.changes.filter(only) };
      if (plan.changes.length === 0) return undefined;
      const right = this.#rightAt.get(database);
      const drifted =
        right?.version === driver.wantedVersion
          ? plan.changes.filter(
              (change) => !right.not.has(idOf(change)) && !right.not.has(change.unit),
            )
          : [];
      const began = this.#now();
      const { applied, refused } = await driver.apply(plan, began, signal);
      const failed = new Set(refused.map(idOf));
      const done = plan.changes.filter((change) => !failed.has(idOf(change)));
      const isDrift = new Set<PlannedChange>(drifted);
      const by = drifted.length === 0 ? [] : await driver.changedBy();
      const duration = this.#now() - began;
      this.#options.onChange?.({
        database,
        applied,
        refused: refused.length,
        duration,
        repaired: done.filter((change) => isDrift.has(change)),
        written: done.filter((change) => !isDrift.has(change)),
        by,
      });
      log.info(
        { component: 'host', applied, refused: refused.length, duration },
        `${title} changed`,
      );
      this.#logRefused(refused);
    }
    return `${title} of the host change faster than they can be followed`;
  }

  /** Changes of what awaits something, had a problem, or stays as long as somebody may want it, are no drift later. */
  #noteRight<C extends PlannedChange>(
    driver: Driver<C>,
    { problems, heldBack }: HostPlan<C>,
  ): void {
    driver.settled();
    if (heldBack > 0) return;
    const awaiting = problems.flatMap(({ kind, unit }) => (kind === 'awaited' ? [unit] : []));
    this.#rightAt.set(driver.database, {
      version: driver.wantedVersion,
      not: new Set([...problems.map(idOf), ...awaiting]),
    });
  }

  /** One line: each of them is a problem, which is reported until it ends. */
  #logRefused(refused: readonly { table: string; key: string; message: string }[]): void {
    const [first] = refused;
    if (first === undefined) return;
    const { table, key, message } = first;
    const more = refused.length === 1 ? '' : `; and ${refused.length - 1} more`;
    this.#options.log.error({ component: 'host', table, key }, `${message}${more}`);
  }

  #planPorts(mayBeWanted: MayBeWanted | undefined): Plan {
    return this.#ports.plan({
      now: this.#now(),
      isComplete: true,
      ...(mayBeWanted && { mayBeWanted: (_row, _table, mark) => mayBeWanted([mark]) }),
    });
  }

  async #flushPorts(
    mayBeWanted: MayBeWanted | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { openVswitch, log, onPortsChange } = this.#options;
    const { transactor, lock } = openVswitch;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const unavailable = openVswitch.unavailable();
      if (unavailable !== undefined) return unavailable;
      const plan = this.#planPorts(mayBeWanted);
      this.#portProblems = plan.problems;
      if (plan.isEmpty) return undefined;
      const result = await commitPlan(transactor, plan, {
        ...(lock === undefined ? {} : { lock }),
        comment: 'heddle',
        signal,
      });
      const { kind, committed, refused } = result;
      onPortsChange?.({
        database: plan.database,
        nameOf: plan.nameOf,
        repaired: repairedOf(plan, result),
        written: writtenOf(plan, result),
      });
      log.info(
        { component: 'host', outcome: kind, rows: committed, refused: refused.length },
        'ports changed',
      );
      // What a unit wants since then was not tried.
      this.#ports.refused(
        refused.filter(({ unit }) => !this.#behind.isNewer(unit)),
        this.#now(),
      );
      this.#logRefused(refused);
      if (kind === 'not-locked' || kind === 'unknown') return result.reason ?? kind;
      if (kind === 'server-failed')
        return `the server of Open_vSwitch can't write (${result.reason}): see its log and the space on its file system`;
    }
    return 'the Open_vSwitch database changes faster than it can be followed';
  }
}
