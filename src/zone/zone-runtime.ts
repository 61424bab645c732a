/**
 * One zone at work: objects, the cluster manager beside them, the node's pod addresses, the zone's databases. Commands
 * open it, wait for what they need, and let the zone controller do the rest.
 */
import { ClusterManager } from '../cluster/manager.ts';
import {
  ChassisKeeper,
  chassisSteps,
  type ChassisContext,
} from '../node/chassis/chassis-keeper.ts';
import { NodeAnnouncer } from '../node/announcer/node-announcer.ts';
import { readUnderlayDevices } from '../node/chassis/underlay-state.ts';
import { UplinkKeeper, uplinkSteps } from '../node/uplink/uplink-keeper.ts';
import { NodePodAddresses } from '../addresses/node-pod-addresses.ts';
import { DEFAULT_LEASE_NAME } from '../cluster/settings.ts';
import { chassisId } from '../api/annotations/node-annotations.ts';
import { nodes, pods } from '../api/kinds.ts';
import { LEASES, NODE_LEASES } from '../api/node-lease.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { zoneFacts, type ZoneFacts } from '../model/zone/zone.ts';
import type { DropLimit } from '../store/event-writer.ts';
import { Informers } from '../store/informers.ts';
import { managerIdentity } from '../cluster-daemon/cluster-daemon.ts';
import { tunnelsIn } from '../node/chassis/chassis-database.ts';
import { ChassisWatch, type ChassisReach } from '../node/chassis/chassis-watch.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import type { Configuration } from '../settings/configuration.ts';
import { distinctProblems } from '../views/distinct-problems.ts';
import {
  openDatabase,
  ZONE_LOCK,
  type OpenDatabase,
  type ZoneDatabaseOptions,
} from '../databases/open-database.ts';
import { northboundTables, southboundTables } from './monitored-columns.ts';
import { openHost, type OpenHost } from './host.ts';
import type { HostChange } from '../node/node-agent.ts';
import { hostReport, type HostReport } from '../node/report.ts';
import {
  missingHolds,
  underlayReport,
  type UnderlayReport,
} from '../node/chassis/underlay-report.ts';
import type { Logger } from '../process/logger.ts';
import { objectSource, openStore, type OpenObjects } from '../settings/object-store.ts';
import { orGiveUp, TimedOutError, until } from '../process/waiting.ts';
import { ZoneController, type CommitRecord, type NetworkWritten } from './zone-controller.ts';
import {
  foreignDatabase,
  isKnownByNorthbound,
  unfitSchema,
  zoneIdentity,
} from './zone-identity.ts';
import { ZoneInformers } from './zone-informers.ts';

/** What a zone can't do without. */
export type ZoneConfiguration = Configuration & Readonly<Record<'node' | 'nb', string>>;

export interface RuntimeOptions {
  readonly configuration: ZoneConfiguration;
  readonly log: Logger;
  /**
   * `write`: allocations are stored and the databases written. `dry-run`: allocations are made in memory
   * alone. `as-is`: nothing new is allocated.
   */
  readonly mode: 'write' | 'dry-run' | 'as-is';
  readonly onCommit?: (commit: CommitRecord) => void;
  readonly onNetworkWritten?: (written: NetworkWritten) => void;
  readonly onEventDropped?: (limit: DropLimit) => void;
  readonly onHostChange?: (change: HostChange) => void;
  /** What is wrong with what the caller does for the zone. */
  readonly furtherProblems?: () => readonly ZoneProblem[];
  /** Opens the zone's databases; by default those that the configuration names. */
  readonly openDatabase?: (options: ZoneDatabaseOptions) => OpenDatabase;
  /** Called when objects or databases may have changed, or something is wrong that was not. */
  readonly onWork?: () => void;
  /** Called when the host may be another than it should be. */
  readonly onHostWork?: () => void;
}

/** Something that could not be done in time, in words. */
class NotReadyError extends Error {
  readonly code = 'NOT_READY';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NotReadyError';
  }
}

/** Milliseconds without any allocation of the process that leads, after which a node goes on without what is missing. */
const ALLOCATION_TIMEOUT = 5000;

export class ZoneRuntime implements AsyncDisposable {
  readonly configuration: ZoneConfiguration;
  readonly store: OpenObjects;
  readonly informers: Informers;
  readonly facts: ZoneFacts;
  readonly northbound: OpenDatabase;
  readonly southbound: OpenDatabase | undefined;
  /** Absent when the host is left alone. */
  readonly host: OpenHost | undefined;
  readonly controller: ZoneController;
  readonly #options: RuntimeOptions;
  readonly #stop = new AbortController();
  #manager: ClusterManager | undefined;
  readonly #zoneInformers: ZoneInformers;
  readonly #podAddresses: NodePodAddresses | undefined;
  /** Present when the host is kept: only then is it known what it is. */
  readonly #announcer: NodeAnnouncer | undefined;
  /** Present when the external bridge is ours to set up. */
  readonly #uplink: UplinkKeeper | undefined;
  /** Present when the host is known. */
  readonly #chassisContext: ChassisContext | undefined;
  /** Present when the host is kept. */
  readonly #chassis: ChassisKeeper | undefined;
  /** Present when what ovn-controller did can be seen. */
  readonly #chassisWatch: ChassisWatch | undefined;
  readonly #running: Promise<unknown>;
  /** The databases are this node's, and fit for it; looked at again whenever one was connected anew. */
  #isOurs = false;
  #failure: unknown;

  private constructor(options: RuntimeOptions, store: OpenObjects) {
    const { configuration, log, mode } = options;
    const { settings, node } = configuration;
    const signal = this.#stop.signal;
    this.#options = options;
    this.configuration = configuration;
    this.store = store;
    const onWork = (): void => options.onWork?.();
    const informers = new Informers({ store: store.objects, log, onProblem: onWork });
    // Beside a cluster manager of its own a node needs no more than its pods.
    if (!store.isEmbedded) informers.select(pods, { fields: { 'spec.nodeName': node } });
    if (store.isEmbedded) informers.select(LEASES, NODE_LEASES);
    this.informers = informers;
    this.facts = zoneFacts(node, settings, {
      renderEverywhere: configuration.render === 'everywhere',
      gracePeriod: configuration.renderGracePeriod,
    });
    this.#zoneInformers = new ZoneInformers({
      informers,
      facts: this.facts,
      hasOwnPodsOnly: !store.isEmbedded,
      onChange: onWork,
    });
    const onAvailable = (): void => {
      this.#isOurs = false;
      onWork();
    };
    const database = { tls: configuration.tls, log, onAvailable };
    const open = options.openDatabase ?? openDatabase;
    this.northbound = open({
      ...database,
      name: 'OVN_Northbound',
      flag: '--nb',
      remotes: configuration.nb,
      tables: northboundTables,
      ...(mode === 'write' ? { lock: ZONE_LOCK } : {}),
    });
    this.southbound =
      configuration.sb === undefined
        ? undefined
        : open({
            ...database,
            name: 'OVN_Southbound',
            flag: '--sb',
            remotes: configuration.sb,
            tables: southboundTables,
          });
    this.host =
      configuration.ovs === undefined
        ? undefined
        : openHost({
            configuration,
            openVswitch: configuration.ovs,
            mayWrite: mode === 'write',
            log,
            onAvailable: onWork,
            onWork: () => options.onHostWork?.(),
            onSwitchLost: () => this.#chassis?.switchLost(),
            onExternalIds: () => {
              this.#chassis?.hostChanged();
              this.#uplink?.openVswitchChanged();
              this.#announcer?.openVswitchChanged();
            },
            ...(options.onHostChange === undefined ? {} : { onChange: options.onHostChange }),
          });
    this.controller = new ZoneController({
      facts: this.facts,
      takeOver: configuration.takeOver,
      unread: () => informers.problems().map(({ object }) => object),
      northbound: this.northbound,
      ...(this.southbound === undefined ? {} : { southbound: this.southbound }),
      ...(this.host === undefined ? {} : { host: this.host.controller }),
      log,
      ...(options.onCommit === undefined ? {} : { onCommit: options.onCommit }),
      ...(options.onNetworkWritten === undefined
        ? {}
        : { onNetworkWritten: options.onNetworkWritten }),
    });
    const { onEventDropped = () => undefined } = options;
    const common = { store: store.objects, informers, log, signal, onEventDropped };
    const mayWrite = mode === 'write' || (mode === 'dry-run' && store.isEmbedded);
    const { registry } = this.#zoneInformers;
    if (mayWrite)
      this.#podAddresses = new NodePodAddresses({ ...common, node, settings, registry });
    const { host, southbound } = this;
    const { gatewayInterface } = configuration;
    if (host !== undefined) {
      this.#chassisContext = {
        node,
        settings,
        chassis: configuration.chassis,
        takesOver: configuration.takeOver,
        database: host.chassis,
        nodes: informers.of(nodes),
        ip: host.ip,
      };
      if (mode === 'write')
        this.#chassis = new ChassisKeeper({
          ...this.#chassisContext,
          log,
          onChange: onWork,
          signal,
        });
      if (southbound !== undefined)
        this.#chassisWatch = new ChassisWatch({
          facts: this.facts,
          openVswitch: () => host.openVswitch.replica,
          southbound: () => southbound.replica,
        });
    }
    if (host !== undefined && mode === 'write' && gatewayInterface !== undefined)
      this.#uplink = new UplinkKeeper({
        name: gatewayInterface,
        vlan: configuration.gateway.vlan,
        node,
        openVswitch: host.uplink,
        ip: host.ip,
        sysctls: host.sysctls,
        log,
        onChange: onWork,
        signal,
      });
    if (host !== undefined && mode === 'write')
      this.#announcer = new NodeAnnouncer({
        ...common,
        node,
        settings,
        gateway: configuration.gateway,
        openVswitch: () => host.externalIds(),
        ip: host.ip,
        onChange: onWork,
        onHostChange: () => this.#chassis?.hostChanged(),
      });
    // In a cluster the manager is a process of its own; with manifests the process that gets the lease is the manager.
    const isManager = mayWrite && store.isEmbedded;
    const makeManager = (): ClusterManager =>
      new ClusterManager({
        ...common,
        settings: {
          cluster: settings,
          ...configuration.manager,
          leaseName: DEFAULT_LEASE_NAME,
          identity: managerIdentity(),
        },
      });
    if (isManager) this.#manager = makeManager();
    const watched = async (task: Promise<void>): Promise<void> => {
      await task.catch((error: unknown) => this.#failed(error));
    };
    this.#running = Promise.all([
      watched(informers.run(signal)),
      ...(isManager ? [watched(this.#runManager(makeManager, signal))] : []),
      ...(this.#chassis === undefined ? [] : [watched(this.#chassis.run())]),
      ...(this.#uplink === undefined ? [] : [watched(this.#uplink.run())]),
      ...(this.#announcer === undefined ? [] : [watched(this.#announcer.run())]),
      ...(this.#podAddresses === undefined
        ? []
        : [watched(this.#runPodAddresses(this.#podAddresses, signal))]),
    ]);
  }

  /** Opens the objects and begins to connect to the databases. */
  static async open(options: RuntimeOptions): Promise<ZoneRuntime> {
    const store = await openStore(objectSource(options.configuration, process.env), {
      dryRun: options.mode !== 'write',
    });
    try {
      return new ZoneRuntime(options, store);
    } catch (error) {
      await store[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Waits until all that can be allocated is; a problem of one object is not waited for. */
  async allocated(signal: AbortSignal): Promise<void> {
    await this.#zoneInformers.synced(this.configuration.timeout);
    if (this.#announcer !== undefined) {
      await this.host?.openVswitch.ready(signal);
      // What the node says of itself follows from them.
      await this.#chassis?.caughtUp(signal);
      await this.#uplink?.caughtUp(signal);
      await orGiveUp(
        this.#announcer.caughtUp(signal),
        signal,
        `the facts of node ${this.configuration.node}`,
      );
    }
    if (this.#manager !== undefined) await this.#isAllocated(this.#manager, signal);
    if (this.#podAddresses !== undefined)
      await orGiveUp(
        this.#podAddresses.caughtUp(signal),
        signal,
        `the addresses of the pods of node ${this.configuration.node}`,
      );
    this.throwFailure();
  }

  /** Whether our manager makes the allocations: it leads, or another process is known to. */
  async #leads(manager: ClusterManager, signal: AbortSignal): Promise<boolean> {
    await until(
      () => manager.isLeading || manager.isWaitingToLead || this.#failure !== undefined,
      signal,
      'the cluster manager of this process to lead, or another one',
    );
    this.throwFailure();
    return manager.isLeading;
  }

  /** The manager competes for leadership again when it lost it: somebody has to allocate for later networks. */
  async #runManager(make: () => ClusterManager, signal: AbortSignal): Promise<void> {
    for (;;) {
      const manager = this.#manager ?? make();
      this.#manager = manager;
      const reason = await manager.run();
      if (signal.aborted) return;
      this.#options.log.warn({ component: 'cluster', reason }, 'leadership was lost; trying again');
      this.#manager = undefined;
    }
  }

  /** Starts after the first reconcile of networks, however long that takes: before it every pod would be reported as one without networks. */
  async #runPodAddresses(addresses: NodePodAddresses, signal: AbortSignal): Promise<void> {
    if (this.#manager !== undefined && (await this.#leads(this.#manager, signal)))
      // Once it lost the lead another process does that. What else ended it is reported by who runs it.
      await this.#manager.caughtUp(signal).catch(() => undefined);
    if (!signal.aborted) await addresses.run();
  }

  async #isAllocated(manager: ClusterManager, signal: AbortSignal): Promise<void> {
    if (!(await this.#leads(manager, signal)) && !(await this.#isDoneByOthers(manager, signal)))
      return;
    if (manager.isLeading)
      await orGiveUp(manager.caughtUp(signal), signal, 'the cluster manager to allocate');
  }

  /**
   * Another process is the cluster manager: its allocations are awaited, not made. An object that gets none harms itself alone: it is reported
   * as waiting, everything else goes on. False when that is so.
   */
  async #isDoneByOthers(manager: ClusterManager, signal: AbortSignal): Promise<boolean> {
    for (let before = Infinity; ;) {
      const missing = this.#pending().length;
      if (missing === 0 || manager.isLeading) return true;
      if (missing >= before) return false;
      before = missing;
      const limit = AbortSignal.any([signal, AbortSignal.timeout(ALLOCATION_TIMEOUT)]);
      await until(
        () => this.#pending().length < missing || manager.isLeading,
        limit,
        'allocations by the cluster manager that leads',
      ).catch((error: unknown) => {
        if (signal.aborted || !(error instanceof TimedOutError)) throw error;
      });
    }
  }

  /** Waits until the databases can be written. */
  async connected(signal: AbortSignal): Promise<void> {
    await this.northbound.ready(signal);
    await this.southbound?.ready(signal);
    await this.host?.openVswitch.ready(signal);
  }

  /** Why the databases can't be read and written at the moment, if so. */
  unavailable(): string | undefined {
    for (const database of [this.northbound, this.southbound, this.host?.openVswitch]) {
      const reason = database?.unavailable();
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  /**
   * Builds what the facts changed. Throws ConfigurationError when the databases are those of another node or lack what isolation needs,
   * NotReadyError when the node is not known well enough.
   */
  update(): void {
    this.#assertOurs();
    if (this.controller.update() === undefined) return;
    const { node, manifests } = this.configuration;
    const object = `Node ${node}`;
    const found = this.#problemsOfModel().find((problem) => problem.object === object);
    throw new NotReadyError(
      found === undefined
        ? `--node ${node}: no Node of this name in ${manifests ?? 'the cluster'}; add it or correct the name`
        : `${object}: ${found.message}`,
    );
  }

  /** True if Northbound is this node's, whatever Southbound would say. */
  get isNorthboundOurs(): boolean {
    const { node, takeZone } = this.configuration;
    return takeZone || isKnownByNorthbound(node, this.northbound.replica);
  }

  #assertOurs(): void {
    if (this.#isOurs) return;
    const { configuration, northbound, host, informers } = this;
    const southbound = this.southbound?.isLoaded?.() === false ? undefined : this.southbound;
    const { node, takeZone } = configuration;
    const databases = [['--nb', northbound] as const, ['--sb', southbound] as const];
    for (const [flag, database] of databases) {
      const unfit = database && unfitSchema(database.replica);
      if (unfit !== undefined) throw new ConfigurationError(flag, unfit);
    }
    const object = informers.of(nodes).get(node);
    const chassis = object && chassisId(object).value;
    const local = host?.externalIds();
    const foreign = takeZone
      ? undefined
      : foreignDatabase(
          node,
          chassis,
          zoneIdentity(northbound.replica, southbound?.replica),
          local !== undefined && 'externalIds' in local
            ? local.externalIds.get('system-id')
            : undefined,
        );
    if (foreign !== undefined) throw new ConfigurationError(foreign.flag, foreign.message);
    // Without a chassis nothing is built.
    this.#isOurs = chassis !== undefined;
  }

  /** What the host holds, as units want it, and where it differs. Throws ConfigurationError when the host is left alone. */
  async hostReport(): Promise<HostReport> {
    const { configuration, controller, facts } = this;
    const host = this.#hostOrThrow();
    const plans = await host.controller.plans(controller.hostMayBeWanted());
    const { bridges } = host.uplink.read();
    return hostReport(facts, configuration.host, controller.hostUnits(), plans, bridges);
  }

  /** How clean the network below is, as far as this node can tell. Throws ConfigurationError when the host is left alone. */
  async underlayReport(): Promise<UnderlayReport> {
    const { controller, facts } = this;
    const host = this.#hostOrThrow();
    const plans = await host.controller.plans(controller.hostMayBeWanted());
    return underlayReport(facts, {
      devices: await readUnderlayDevices(host.ip),
      bridges: host.uplink.read(),
      tunnels: tunnelsIn(host.openVswitch.replica),
      strangers: await host.controller.strangersSeen(
        facts.self.peek(facts.nodeName)?.gateway?.bridge,
      ),
      missing: missingHolds(plans),
    });
  }

  #hostOrThrow(): OpenHost {
    const { configuration, host } = this;
    if (host === undefined)
      throw new ConfigurationError(
        '--ovs',
        `is needed: without the remote of its Open_vSwitch database the host of node ${configuration.node} is left alone`,
      );
    return host;
  }

  /** What is still to be done until ovn-controller has its settings, in words. */
  async chassisSteps(): Promise<readonly string[]> {
    return this.#chassisContext === undefined
      ? []
      : chassisSteps(
          this.#chassisContext,
          this.#chassis?.flows ?? (this.#hasConfirmed() ? 'kept' : 'none'),
        );
  }

  /** Whether ovn-controller has programmed this node before. */
  #hasConfirmed(): boolean {
    return this.controller.progress.sequence.reached > 0;
  }

  /** To be called when the data plane may have confirmed something: a setting waits for that. */
  noteConfirmation(): void {
    if (this.#hasConfirmed()) this.#chassis?.confirmed();
  }

  /** Resolves when ovn-controller has the settings that are known now. */
  async chassisSet(signal: AbortSignal): Promise<void> {
    this.noteConfirmation();
    await this.#chassis?.caughtUp(signal);
  }

  /** Whether packets can leave for other nodes; undefined where that can't be seen. */
  chassisReach(): ChassisReach | undefined {
    return this.controller.isStarted && this.southbound?.isLoaded?.() !== false
      ? this.#chassisWatch?.look()
      : undefined;
  }

  /** What somebody else set on this node, and stays. */
  notes(): readonly ZoneProblem[] {
    return this.#chassis?.notes() ?? [];
  }

  /** What is still to be done until the external bridge is in the place of its uplink, in words. */
  async uplinkSteps(): Promise<readonly string[]> {
    const { host, configuration } = this;
    const { gatewayInterface } = configuration;
    return host === undefined || gatewayInterface === undefined
      ? []
      : uplinkSteps(
          { name: gatewayInterface, vlan: configuration.gateway.vlan },
          { openVswitch: host.uplink, ip: host.ip },
        );
  }

  /** Everything that is wrong with some object, each once, from allocation to rows. */
  problems(): readonly ZoneProblem[] {
    return distinctProblems([
      ...this.#problemsOfModel(),
      ...(this.#manager?.problems() ?? []),
      ...(this.#podAddresses?.problems() ?? []),
      ...(this.#chassis?.problems() ?? []),
      ...(this.chassisReach()?.problems ?? []),
      ...(this.#uplink?.problems() ?? []),
      ...(this.#announcer?.problems() ?? []),
      ...this.controller.problems(),
      ...(this.#options.furtherProblems?.() ?? []),
    ]);
  }

  #problemsOfModel(): readonly ZoneProblem[] {
    return [...this.informers.problems(), ...this.facts.modelProblems(), ...this.waiting()];
  }

  /** Those of the problems that are over as soon as something is allocated. */
  waiting(): readonly ZoneProblem[] {
    return this.#pending().map(({ object, message }) => ({
      object,
      message: `waits for ${message}`,
    }));
  }

  #pending(): readonly ZoneProblem[] {
    return [...this.facts.modelPending()];
  }

  /** Throws what ended a part that should have run on: the process is better started anew. */
  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  #failed(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#failure ??= error;
    this.#options.log.error({ component: 'zone', error }, 'a part of the daemon ended');
    this.#options.onWork?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.controller.close();
    await this.#running;
    await this.host?.[Symbol.asyncDispose]();
    await this.southbound?.[Symbol.asyncDispose]();
    await this.northbound[Symbol.asyncDispose]();
    await this.store[Symbol.asyncDispose]();
  }
}
