/**
 * One zone at work: objects, the cluster manager beside them, the node's pod addresses, the zone's databases. Commands
 * open it, wait for what they need, and let the zone controller do the rest.
 */
import { ClusterManager } from '../cluster/manager.ts';
import { NodePodAddresses } from '../addresses/node-pod-addresses.ts';
import { DEFAULT_LEASE_NAME } from '../cluster/settings.ts';
import { nodes, pods } from '../api/kinds.ts';
import { nearestName } from '../api/validation/nearest-name.ts';
import { LEASES, NODE_LEASES } from '../api/node-lease.ts';
import type { ZoneAppliedObject, ZoneProblem } from '../api/zone-status.ts';
import { podPort } from '../model/rules/names.ts';
import { zoneFacts, type ZoneFacts } from '../model/zone/zone.ts';
import { systemClock, timestamp } from '../store/clock.ts';
import type { DropLimit } from '../store/event-writer.ts';
import { Informers } from '../store/informers.ts';
import type { Store } from '../store/store.ts';
import { managerIdentity } from '../cluster-daemon/cluster-daemon.ts';
import { otherSouthbound } from '../node/chassis/plan.ts';
import type { ChassisReach } from '../node/chassis/chassis-watch.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { PodTraces } from '../traces/pod-traces.ts';
import { distinctProblems } from '../views/distinct-problems.ts';
import { repairedHostRows, repairedRows } from '../views/repair-text.ts';
import {
  openDatabase,
  ZONE_LOCK,
  type OpenDatabase,
  type ReadyOptions,
  type ZoneDatabaseOptions,
} from '../databases/open-database.ts';
import { northboundTables, southboundTables } from './monitored-columns.ts';
import { folderOf, openHost, type OpenHost } from './host.ts';
import type { HostChange } from '../node/node-agent.ts';
import type { DnsEvents } from '../node/dns/dns-forwarder.ts';
import { revalidation } from '../node/programs/revalidation.ts';
import type { BfdSessions } from './bfd-sessions.ts';
import { ConnectionTables } from '../node/conntrack/connection-tables.ts';
import { egressProbing } from '../process/egress-probing.ts';
import type { Logger } from '../process/logger.ts';
import { objectSource, openStore, type OpenObjects } from '../settings/object-store.ts';
import { hasPodInterface } from './closing-ports.ts';
import { configurationSequence } from './confirmation.ts';
import { ChangeRecord, type WrittenRow } from './change-record.ts';
import { DriftReports, type Repair } from './drift-reports.ts';
import { followedObject } from './followed-object.ts';
import { switchWatch } from '../node/programs/switch-watch.ts';
import { Unixctl } from '../node/programs/unixctl.ts';
import type { UnixctlWatch } from '../node/programs/unixctl-watch.ts';
import { NodeKeepers } from './node-keepers.ts';
import { controllerWatch } from './controller-watch.ts';
import { northdWatch } from './northd-watch.ts';
import { PodStages } from './pod-stages.ts';
import { PreparedEgress } from './prepared-egress.ts';
import { proofObjects, proofPolicies, type ProofChangesOptions } from './proof-changes.ts';
import { AppliedObjects, type BuiltObjects } from './applied-objects.ts';
import { WaitingTimes } from './waiting-times.ts';
import { ZoneAllocations } from './zone-allocations.ts';
import type { CommitRecord, RepairedRows } from './database-target.ts';
import { ZoneController, type NetworkWritten } from './zone-controller.ts';
import { northdRelease } from './zone-identity.ts';
import { ZoneInformers } from './zone-informers.ts';
import { ZoneOwnership } from './zone-ownership.ts';
import { ZoneSources } from './zone-sources.ts';

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
  /** Called with the store before anything is read of it. */
  readonly prepare?: (store: Store) => Promise<void>;
  readonly onCommit?: (commit: CommitRecord) => void;
  readonly onNetworkWritten?: (written: NetworkWritten) => void;
  readonly onEventDropped?: (limit: DropLimit) => void;
  readonly onHostChange?: (change: HostChange) => void;
  /** Called for rows that somebody else had changed, and that were put right. */
  readonly onDriftRepaired?: (database: string, table: string, rows: number) => void;
  /** Called for what pods ask of DNS by way of the daemon. */
  readonly dnsEvents?: DnsEvents;
  /** What is wrong with what the caller does for the zone. */
  readonly furtherProblems?: () => readonly ZoneProblem[];
  /** Where spans of pods' ways go, if anywhere. */
  readonly traces?: PodTraces;
  /** Opens the zone's databases; by default those that the configuration names. */
  readonly openDatabase?: (options: ZoneDatabaseOptions) => OpenDatabase;
  /** Called when objects or databases may have changed, or something is wrong that was not. */
  readonly onWork?: () => void;
  /** Called when the host may be another than it should be. */
  readonly onHostWork?: () => void;
}

/** Milliseconds for which an API server may restart before it is a problem. */
const UNREADABLE_AFTER = 30_000;

const repairOf = (repaired: RepairedRows): Repair => ({
  database: repaired.database,
  rows: repairedRows(repaired),
});

/** Something that could not be done in time, in words. */
class NotReadyError extends Error {
  readonly code = 'NOT_READY';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NotReadyError';
  }
}

export class ZoneRuntime implements AsyncDisposable {
  readonly configuration: ZoneConfiguration;
  readonly store: OpenObjects;
  readonly informers: Informers;
  readonly facts: ZoneFacts;
  readonly northbound: OpenDatabase;
  readonly southbound: OpenDatabase | undefined;
  /** Absent when the host is left alone. */
  readonly host: OpenHost | undefined;
  /** Present when the host is known. */
  readonly connectionTables: ConnectionTables | undefined;
  readonly controller: ZoneController;
  /** What this process wrote and put right. */
  readonly changes = new ChangeRecord();
  readonly #options: RuntimeOptions;
  readonly #stop = new AbortController();
  readonly #zoneInformers: ZoneInformers;
  readonly #allocations: ZoneAllocations;
  /** Present when the host is known. */
  readonly #keepers: NodeKeepers | undefined;
  /** Present when the host is kept. */
  readonly #switch: UnixctlWatch | undefined;
  /** Present when ovn-northd and ovn-controller may be beside the Northbound database. */
  readonly #northd: UnixctlWatch | undefined;
  readonly #ovnController: UnixctlWatch | undefined;
  /** Present where spans of pods are sent. */
  readonly podStages: PodStages | undefined;
  readonly #sources: ZoneSources;
  readonly #drift: DriftReports;
  readonly #waitingTimes = new WaitingTimes();
  readonly #prepared: PreparedEgress;
  readonly #applied: AppliedObjects;
  readonly #running: Promise<unknown>;
  readonly #ownership: ZoneOwnership;
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
    const { traces } = options;
    const traced = traces === undefined ? {} : { traces };
    this.podStages = traces && new PodStages({ node, pods: informers.of(pods), traces });
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
      this.#ownership.forget();
      onWork();
    };
    const database = { tls: configuration.tls, log, onAvailable, onLost: onWork };
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
    this.#ownership = new ZoneOwnership({
      node,
      takeZone: configuration.takeZone,
      northbound: this.northbound,
      southbound: this.southbound,
      object: () => informers.of(nodes).get(node),
      systemId: () => {
        const local = this.host?.externalIds();
        return local !== undefined && 'externalIds' in local
          ? local.externalIds.get('system-id')
          : undefined;
      },
    });
    this.#drift = new DriftReports({
      node,
      log,
      objectOf: (name) => followedObject(informers, name),
      emit: (event) => this.#allocations.emit(event),
      onRepaired: options.onDriftRepaired ?? ((): void => undefined),
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
            onSwitchLost: () => {
              this.#keepers?.switchLost();
              this.#switch?.lost();
            },
            isSwitchDown: () => this.switchDown !== undefined,
            mayOpenFence: (isNew) => this.#sources.mayOpenFence(isNew),
            onExternalIds: () => {
              this.#keepers?.externalIdsChanged();
              this.#sources.openVswitchChanged();
            },
            onChange: (change) => {
              const { database, repaired, written, by } = change;
              this.changes.wrote(database, written);
              this.#repaired({ database, rows: repairedHostRows(repaired), by }, repaired);
              options.onHostChange?.(change);
            },
            onPortsChange: ({ database, nameOf, written, repaired: changes }) => {
              this.changes.wrote(database, written);
              this.#repaired(repairOf({ database, nameOf, changes }), changes);
            },
          });
    const { host, northbound, southbound } = this;
    const revalidated = host && revalidation(host.vswitchd, log, systemClock, signal);
    const heeded = revalidated === undefined ? {} : { revalidated };
    this.controller = new ZoneController({
      facts: this.facts,
      takeOver: configuration.takeOver,
      unread: () => informers.problems().map(({ object }) => object),
      switchDown: () => this.switchDown,
      northdDown: () => this.#northd?.down,
      controllerDown: () => this.#ovnController?.down,
      southboundElsewhere: () => {
        const local = this.host?.externalIds();
        return local === undefined || !('externalIds' in local)
          ? undefined
          : otherSouthbound(local.externalIds, configuration.chassis.southbound);
      },
      northbound: this.northbound,
      ...(this.southbound === undefined ? {} : { southbound: this.southbound }),
      ...(host === undefined ? {} : { host: host.controller }),
      ...(host === undefined || revalidated === undefined
        ? {}
        : {
            pluggedPorts: {
              isPlugged: (logicalPort) => hasPodInterface(host.openVswitch, logicalPort),
              revalidated,
            },
          }),
      log,
      onRepaired: (repaired) => this.#repaired(repairOf(repaired), repaired.changes),
      ...(options.onCommit === undefined ? {} : { onCommit: options.onCommit }),
      onWritten: ({ database, changes, drifted, duration }) => {
        this.podStages?.written(changes, duration);
        this.changes.wrote(
          database,
          changes.filter(({ unit }) => !drifted.has(unit)),
        );
      },
      ...(options.onNetworkWritten === undefined
        ? {}
        : { onNetworkWritten: options.onNetworkWritten }),
    });
    const { onEventDropped = () => undefined } = options;
    const common = { store: store.objects, informers, log, signal, onEventDropped, ...traced };
    const mayWrite = mode === 'write' || (mode === 'dry-run' && store.isEmbedded);
    this.#applied = new AppliedObjects({
      ...heeded,
      informers,
      isComplete: () =>
        this.controller.isStarted &&
        this.controller.isBuilt &&
        this.facts.usage.entering.size === 0 &&
        this.facts.otherPods.peekKnown() !== false,
      isHostSet: () => host?.controller.isBehind !== true,
      onChange: () => onWork(),
    });
    this.#prepared = new PreparedEgress({
      ...heeded,
      facts: this.facts,
      isHostSet: () =>
        host !== undefined &&
        !host.controller.isBehind &&
        !host.controller.problems().some(({ kind }) => kind === 'awaited'),
      onChange: () => this.#keepers?.egressChanged(),
    });
    if (host !== undefined && mode === 'write')
      this.#switch = switchWatch({
        daemon: host.vswitchd,
        isExpected: () => host.hasSwitch(),
        clock: systemClock,
        onChange() {
          onWork();
          options.onHostWork?.();
        },
      });
    const folder = folderOf(configuration.nb);
    if (folder !== undefined && mode === 'write') {
      const watched = (program: 'ovn-northd' | 'ovn-controller') => ({
        daemon: new Unixctl({ folder, daemon: program }),
        isAtWorkSince: (begin: number) => this.controller.progress.owedSince(program, begin),
        clock: systemClock,
        onChange: onWork,
      });
      this.#northd = northdWatch(watched('ovn-northd'));
      this.#ovnController = controllerWatch(watched('ovn-controller'));
    }
    if (host !== undefined)
      this.#keepers = new NodeKeepers({
        configuration,
        informers,
        log,
        signal,
        host,
        southbound,
        facts: this.facts,
        preparedEgressAddresses: () => this.#prepared.addresses,
        egressFence: () => this.#sources.announcedFence,
        networksDown: () => this.#sources.networksDown,
        hasEgressLease: () => this.#sources.mayAnnounceEgress,
        mayWrite: mode === 'write',
        onChange: onWork,
      });
    this.connectionTables =
      host &&
      new ConnectionTables({
        node,
        sysctls: host.sysctls,
        vswitchd: host.vswitchd,
        openVswitch: () =>
          host.openVswitch.unavailable() === undefined ? host.openVswitch.replica : undefined,
        hasPodLimits: settings.podConnections > 0,
        podOf: (port) => this.#podOf(port),
        onChange: onWork,
      });
    this.#sources = new ZoneSources({
      ...heeded,
      node,
      configuration,
      informers,
      facts: this.facts,
      northbound,
      host,
      mayWrite: mode === 'write',
      dnsEvents: options.dnsEvents,
      log,
      onChange: onWork,
      onEgressChange: () => this.#keepers?.egressChanged(),
    });
    const makeManager = (): ClusterManager =>
      new ClusterManager({
        ...common,
        // Where hosts are left alone nobody answers; a plan is made as if all did.
        egressProbing:
          host === undefined || mode !== 'write' ? undefined : egressProbing(settings.egressHealth),
        settings: {
          cluster: settings,
          ...configuration.manager,
          leaseName: DEFAULT_LEASE_NAME,
          identity: managerIdentity(),
        },
      });
    const { registry } = this.#zoneInformers;
    this.#allocations = new ZoneAllocations({
      node,
      // In a cluster the manager is a process of its own; with manifests the process that gets the lease is the manager.
      makeManager: mayWrite && store.isEmbedded ? makeManager : undefined,
      podAddresses: mayWrite
        ? new NodePodAddresses({ ...common, node, settings, registry })
        : undefined,
      pending: () => this.#pending().length,
      throwFailure: () => this.throwFailure(),
      log,
    });
    const tasks = [
      informers.run(signal),
      ...this.#allocations.run(signal),
      ...(this.#keepers?.run() ?? []),
      ...[this.#switch, this.#northd, this.#ovnController].flatMap((watch) =>
        watch === undefined ? [] : [watch.run(signal)],
      ),
      ...this.#sources.start(signal),
    ];
    this.#running = Promise.all(
      tasks.map((task) => task.catch((error: unknown) => this.#failed(error))),
    );
  }

  #repaired(repair: Repair, changes: readonly WrittenRow[]): void {
    this.#drift.take(repair);
    this.changes.repaired(repair, changes);
  }

  /** Objects that the networks of the zone are proved by. */
  get proofObjects(): Pick<ProofChangesOptions, 'objects' | 'policies'> {
    return {
      objects: proofObjects(this.informers, this.#zoneInformers.pods),
      policies: proofPolicies(this.informers),
    };
  }

  /** Opens the objects and begins to connect to the databases. */
  static async open(options: RuntimeOptions): Promise<ZoneRuntime> {
    const store = await openStore(objectSource(options.configuration, process.env), {
      dryRun: options.mode !== 'write',
    });
    try {
      await options.prepare?.(store.objects);
      return new ZoneRuntime(options, store);
    } catch (error) {
      await store[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Waits until all that can be allocated is; a problem of one object is not waited for. */
  async allocated(signal: AbortSignal, how?: ReadyOptions): Promise<void> {
    await this.#zoneInformers.synced(this.configuration.timeout);
    await this.#keepers?.caughtUp(signal, how);
    await this.#allocations.caughtUp(signal);
    this.throwFailure();
  }

  /** Waits until the databases can be written. */
  async connected(signal: AbortSignal, how?: ReadyOptions): Promise<void> {
    await this.northbound.ready(signal, how);
    await this.southbound?.ready(signal, how);
    await this.host?.openVswitch.ready(signal, how);
  }

  /** Why the databases can't be read and written at the moment, if so. */
  unavailable(): string | undefined {
    for (const database of [this.northbound, this.southbound, this.host?.openVswitch]) {
      const reason = database?.unavailable();
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  /** Databases whose servers are connected and stand still, in words. */
  get silentDatabases(): readonly string[] {
    return [this.northbound, this.southbound, this.host?.openVswitch].flatMap(
      (database) => database?.silent?.() ?? [],
    );
  }

  /**
   * Builds what the facts changed. Throws ConfigurationError when the databases are those of another node or lack what isolation needs, or manifests the node,
   * NotReadyError when the node is not known well enough.
   */
  update(): void {
    this.#ownership.assert();
    if (this.controller.update() === undefined) return;
    const { node, manifests } = this.configuration;
    const object = `Node ${node}`;
    const found = this.#problemsOfModel().find((problem) => problem.object === object);
    const nearest = nearestName(node, this.informers.of(nodes).keys());
    const remedy =
      nearest === undefined ? 'add it or correct the name' : `did you mean ${nearest}?`;
    const where = `no Node of this name in ${manifests ?? 'the cluster'}; ${remedy}`;
    if (found === undefined && manifests !== undefined)
      throw new ConfigurationError(`--node ${node}`, where);
    throw new NotReadyError(
      found === undefined ? `--node ${node}: ${where}` : `${object}: ${found.message}`,
    );
  }

  /** True if Northbound is this node's, whatever Southbound would say. */
  get isNorthboundOurs(): boolean {
    return this.#ownership.isNorthboundOurs;
  }

  get bfdSessions(): BfdSessions {
    return this.#sources.bfdSessions;
  }

  /** What is still to be done until ovn-controller has its settings, in words. */
  async chassisSteps(): Promise<readonly string[]> {
    return (await this.#keepers?.chassisSteps(this.#hasConfirmed())) ?? [];
  }

  /** Whether ovn-controller has programmed this node before. */
  #hasConfirmed(): boolean {
    return this.controller.progress.sequence.reached > 0;
  }

  /** What names of rules stand for, as it is known now: to be asked before `update`. */
  get knownNames(): number {
    return this.#sources.names.installations.change;
  }

  /** Egress addresses that are to come and whose rows are built: to be asked before these are sent. */
  get builtEgress(): readonly string[] {
    return this.#prepared.built;
  }

  /** Objects whose status says where they are in force, and whose rows are built: to be asked before these are sent. */
  get builtObjects(): BuiltObjects | undefined {
    return this.#applied.built;
  }

  /** Objects that are in force here, for whose status that counts; undefined while it is not known. */
  applied(problems: readonly ZoneProblem[]): readonly ZoneAppliedObject[] | undefined {
    const wrong = problems.map(({ object }) => object);
    return this.#applied.list(new Set([...wrong, ...this.controller.unfinishedObjects()]));
  }

  /** To be called when what was known of names, rows of egress addresses that are to come, and of objects, are in the Northbound database. */
  written(names: number, egress: readonly string[], objects: BuiltObjects | undefined): void {
    const { configured } = this.controller.progress.sequence;
    this.#applied.sent(objects, configured);
    this.podStages?.announced(configured);
    this.#sources.names.installations.sent(names, configured);
    this.#prepared.sent(egress, configured);
  }

  /** To be called when the data plane or the host may have reached something: answers of DNS are held back until it has, and egress addresses do not come. */
  noteReached(): void {
    const { reached } = this.controller.progress.sequence;
    this.#sources.names.installations.reached(reached);
    this.#prepared.reached(reached);
    this.#applied.reached(reached);
    this.podStages?.reached(configurationSequence(this.northbound.replica));
  }

  /** To be called when the data plane may have confirmed something: a setting waits for that. */
  noteConfirmation(): void {
    if (this.controller.isStarted && this.#hasConfirmed()) this.#keepers?.confirmed();
  }

  /** Resolves when ovn-controller has the settings that are known now. */
  async chassisSet(signal: AbortSignal): Promise<void> {
    this.noteConfirmation();
    await this.#keepers?.chassisSet(signal);
  }

  /** Whether packets can leave for other nodes; undefined where that can't be seen. */
  chassisReach(): ChassisReach | undefined {
    return this.controller.isStarted ? this.#keepers?.reach() : undefined;
  }

  /** That Open vSwitch of this node does not run, with what to do; undefined while it may be well. */
  get switchDown(): string | undefined {
    return this.#switch?.down;
  }

  /** Release of the ovn-northd of this zone; undefined before it has worked on the database. */
  get ovnVersion(): string | undefined {
    return this.northbound.isLoaded?.() === false
      ? undefined
      : northdRelease(this.northbound.replica);
  }

  /** Release of the Open vSwitch of this node, once it is known; undefined where the host is left alone. */
  get openVswitchVersion(): string | undefined {
    return this.host?.release();
  }

  /** What somebody else set on this node, and stays. */
  notes(): readonly ZoneProblem[] {
    return this.#keepers?.notes() ?? [];
  }

  /** What is still to be done until the external bridge is in the place of its uplink, in words. */
  uplinkSteps(): readonly string[] {
    return this.#keepers?.uplinkSteps() ?? [];
  }

  /** Everything that is wrong with some object, each once, from allocation to rows. */
  problems(): readonly ZoneProblem[] {
    return distinctProblems([
      ...this.#problemsOfSource(),
      ...this.silentDatabases.map((message) => ({
        object: `Node ${this.configuration.node}`,
        message,
      })),
      ...this.#problemsOfModel(),
      ...this.#allocations.problems(),
      ...(this.#keepers?.problems() ?? []),
      ...this.#sources.problems(),
      ...(this.chassisReach()?.problems ?? []),
      ...(this.connectionTables?.problems() ?? []),
      ...this.controller.problems(),
      ...(this.#options.furtherProblems?.() ?? []),
    ]);
  }

  /** The pod of a logical port, as an object. */
  #podOf(port: string): string | undefined {
    for (const { namespace, pod, nadKey } of this.facts.attachments.all())
      if (podPort(nadKey, namespace, pod) === port) return `Pod ${namespace}/${pod}`;
    return undefined;
  }

  /** True once it is a problem of the node that objects can't be read. */
  get isSourceLost(): boolean {
    return this.#problemsOfSource().length > 0;
  }

  #problemsOfSource(): readonly ZoneProblem[] {
    const unreadable = this.informers.unreadable();
    if (unreadable === undefined || unreadable.milliseconds < UNREADABLE_AFTER) return [];
    const message = `objects can't be read since ${timestamp(unreadable.since)}: ${unreadable.why}; networks and pods go on as they are, and what changes meanwhile comes into force when they can be read again`;
    return [{ object: `Node ${this.configuration.node}`, message }];
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

  /** Those of them that have not waited for long: nobody has to act yet. */
  justWaiting(): readonly ZoneProblem[] {
    return this.#waitingTimes.recent(this.waiting(), performance.now());
  }

  #pending(): readonly ZoneProblem[] {
    return [...this.facts.modelPending(), ...this.controller.waitingFacts()];
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
    this.#drift[Symbol.dispose]();
    this.controller.close();
    await this.#running;
    await this.host?.[Symbol.asyncDispose]();
    await this.southbound?.[Symbol.asyncDispose]();
    await this.northbound[Symbol.asyncDispose]();
    await this.store[Symbol.asyncDispose]();
  }
}
