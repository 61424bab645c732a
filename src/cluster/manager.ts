/** The cluster manager: its controllers on one store, started in the right order. */
import type { Registry } from 'prom-client';
import { ABSENCE_MEANS, LEASES, NODE_LEASES } from '../api/node-lease.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { pause, systemClock, type Clock } from '../store/clock.ts';
import { Informers } from '../store/informers.ts';
import { StoreError, type Leadership, type Store } from '../store/store.ts';
import type { Failure, WorkQueue } from '../store/work-queue.ts';
import type { Batch } from '../store/batch.ts';
import { ConnectController } from './connect/connect-controller.ts';
import { TenantConnectController } from './connect/tenant-connect-controller.ts';
import { EgressIpController } from './egress/egress-ip-controller.ts';
import type { EgressProbing } from './egress/egress-reachability.ts';
import { EgressServiceController } from './egress/egress-service-controller.ts';
import { hostsEgressServices } from './egress/egress-service-outcome.ts';
import { EndpointMirrorController } from './endpoints/endpoint-mirror-controller.ts';
import { EventWriter, objectOfEvent, type DropLimit } from '../store/event-writer.ts';
import { IdentityController } from './networks/identity-controller.ts';
import { caughtUp } from '../store/caught-up.ts';
import { ClusterInformers } from './informers.ts';
import { NO_RECORDER, registerDurations, registerMetrics } from './metrics.ts';
import { isLeaving } from './networks/orphaned-nads.ts';
import { NetworkController } from './networks/network-controller.ts';
import { fencedStore } from './fenced-store.ts';
import { NetworkRegistry } from './networks/network-registry.ts';
import { NetworkUses, networksInReport, type NetworkOnNode } from './nodes/network-uses.ts';
import { NodeController } from './nodes/node-controller.ts';
import { NodeHeartbeats, type AbsentDaemon } from './nodes/node-heartbeats.ts';
import { PersistentAddresses } from '../addresses/persistent-addresses.ts';
import { PodAddresses } from '../addresses/pod-addresses.ts';
import {
  objectOf,
  objectOfNetworkObject,
  objectOfIdentity,
  objectOfStatus,
  type ObjectOfKey,
} from './status/problem-objects.ts';
import { ServiceAddressController } from './services/service-address-controller.ts';
import type { Log } from '../store/log.ts';
import type { PodTraces } from '../traces/pod-traces.ts';
import type { ClusterManagerSettings } from './settings.ts';
import { StatusController } from './status/status-controller.ts';
import { ObjectStatesController, objectOfState } from './status/object-states-controller.ts';
import { errorText, faultStack } from '../api/error-text.ts';

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

/** Milliseconds for which what is written for many networks waits for those that are worked on. */
const IDLE_TIMEOUT = 100;

/** Milliseconds that writes under way get to end when the manager is asked to stop. */
const DRAIN_TIMEOUT = 5000;

export class ClusterManager {
  readonly #options: ClusterManagerOptions;
  readonly #clock: Clock;
  readonly #informers: Informers;
  readonly #views: ClusterInformers;
  readonly #networks: NetworkController;
  readonly #identities: IdentityController;
  readonly #nodes: NodeController;
  readonly #registry: NetworkRegistry;
  readonly #uses = new NetworkUses();
  readonly #statuses: StatusController;
  readonly #heartbeats: NodeHeartbeats;
  readonly #pods: PodAddresses;
  readonly #connects: ConnectController;
  readonly #tenantConnects: TenantConnectController;
  readonly #mirrors: EndpointMirrorController;
  readonly #egressIps: EgressIpController;
  readonly #egressServices: EgressServiceController;
  readonly #serviceAddresses: ServiceAddressController;
  readonly #objectStates: ObjectStatesController;
  readonly #events: EventWriter;
  readonly #queues: ReadonlyMap<WorkQueue, ObjectOfKey>;
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
    const informers = new ClusterInformers(this.#informers, this.#ended.signal);
    const registry = (this.#registry = new NetworkRegistry({
      settings: settings.cluster,
      limit: settings.limits.networks,
      preallocated: settings.limits.preallocated,
    }));
    const durations =
      options.metrics === undefined ? NO_RECORDER : registerDurations(options.metrics);
    const common = { store, informers, registry, settings, clock, log, onFailure, durations };
    const idle = async (): Promise<void> => {
      while (this.#networks.queue.size + this.#identities.queue.size > 0) {
        await this.#networks.queue.idle();
        await this.#identities.queue.idle();
      }
    };
    // A network whose write hangs must not hold up what is written for all of them.
    const whenIdle = (): Promise<void> =>
      Promise.race([idle(), pause(clock, IDLE_TIMEOUT, this.#ended.signal)]);
    this.#views = informers;
    const leases = this.#informers.of(LEASES);
    this.#heartbeats = new NodeHeartbeats({
      leases: leases.until(this.#ended.signal),
      isReadable: () => leases.stalled === undefined,
      clock,
      reported: (node) => informers.zones.get(node)?.status?.message,
      onChange: (node) => {
        this.#statuses.daemonChanged(node);
        this.#connects.daemonChanged(node);
        this.#egressIps.daemonChanged();
        this.#egressServices.nodesChanged();
      },
    });
    const absentDaemon = (node: string): AbsentDaemon | undefined => this.#heartbeats.absent(node);
    this.#networks = new NetworkController({
      ...common,
      onNetworks: (names) => this.#identities.wake(names),
      wantedBy: (pod) => this.#pods.wantedBy(pod),
      onOutcome: (key) => this.#statuses.wake(key),
      onFreed: () => this.#identities.retryRefused(),
    });
    this.#identities = new IdentityController({
      ...common,
      onNetwork: (name) => {
        this.#nodes.networkChanged(name);
        this.#statuses.networkChanged(name);
        this.#connects.networksChanged();
        this.#tenantConnects.networksChanged();
        this.#serviceAddresses.networksChanged();
        const nads = registry.network(name)?.nads ?? [];
        this.#mirrors.networksChanged(new Set(nads.map(({ namespace }) => namespace)));
        if (registry.network(name) === undefined) durations.forget(name);
        this.#networks.networkChanged(name);
      },
    });
    this.#nodes = new NodeController({
      ...common,
      uses: this.#uses,
      nodes: informers.nodes,
      whenIdle,
      onFailures: (network) => this.#statuses.failuresChanged(network),
    });
    this.#statuses = new StatusController({
      ...common,
      uses: this.#uses,
      outcomeOf: (key) => this.#networks.outcomeOf(key),
      whenIdle,
      failuresOf: (network) => this.#nodes.subnets.failuresOf(network),
      absentDaemon,
    });
    this.#pods = new PodAddresses({
      ...common,
      settings: settings.cluster,
      scope: { kind: 'cluster' },
      isLeaving: (nadKey) => isLeaving(nadKey, informers),
      onWanted: (pod, node, nads) => {
        const networks = [...nads].map((key) => registry.nad(key)?.config.name);
        this.#usesChanged(
          this.#uses.setPod(pod, node, [...new Set(networks.filter((name) => name !== undefined))]),
        );
      },
      claims: new PersistentAddresses({ store, claims: informers.claims, clock }),
      ...(options.traces === undefined ? {} : { traces: options.traces }),
    });
    this.#connects = new ConnectController({ ...common, whenIdle, absentDaemon });
    this.#tenantConnects = new TenantConnectController({
      ...common,
      whenIdle,
      network: (name) => this.#connects.network(name),
      selectedBy: (connect) => this.#connects.select(connect),
    });
    this.#mirrors = new EndpointMirrorController(common);
    this.#egressIps = new EgressIpController({
      ...common,
      absentDaemon,
      unheardFor: (node) => this.#heartbeats.age(node),
      daemonOf: (node) => this.#heartbeats.holder(node),
      probing: options.egressProbing,
      isAskedToo: hostsEgressServices,
      onReachability: () => this.#egressServices.nodesChanged(),
      isLeading: () => this.#leads(),
    });
    this.#egressServices = new EgressServiceController({
      ...common,
      absentDaemon,
      daemonOf: (node) => this.#heartbeats.holder(node),
      reach: (node) => this.#egressIps.reach(node),
    });
    this.#serviceAddresses = new ServiceAddressController(common);
    this.#objectStates = new ObjectStatesController({ ...common, whenIdle });
    this.#queues = new Map([
      [this.#networks.queue, objectOfNetworkObject],
      [this.#identities.queue, objectOfIdentity],
      [this.#nodes.queue, objectOf('Node')],
      [this.#statuses.queue, objectOfStatus],
      [this.#pods.queue, objectOf('Pod')],
      [this.#connects.queue, objectOf('ClusterNetworkConnect')],
      [this.#tenantConnects.queue, objectOf('NetworkConnect')],
      [this.#mirrors.queue, objectOf('EndpointSlice')],
      [this.#egressIps.queue, objectOf('EgressIP')],
      [this.#egressServices.queue, objectOf('EgressService')],
      [this.#egressServices.labels, objectOf('Node')],
      [this.#serviceAddresses.queue, objectOf('Service')],
      [this.#objectStates.queue, objectOfState],
      [this.#events.queue, objectOfEvent],
    ]);
    if (options.metrics !== undefined)
      registerMetrics(options.metrics, {
        udns: () => informers.udns.list(),
        cudns: () => informers.cudns.list(),
        connects: () => informers.connects.list(),
        annotations: () => this.#nodes.annotationUsage(),
        egressIps: () => ({ assigned: this.#egressIps.assigned, ...this.#egressIps.counts }),
        egressWithoutDaemon: () => this.#egressIps.withoutDaemon(),
        absentDaemons: () => this.#heartbeats.absentees().length,
        heartbeatAges: () => this.#heartbeats.ages(),
        subnets: () =>
          this.#nodes.subnets
            .networks()
            .flatMap((network) =>
              this.#nodes.subnets.usage(network).map((usage) => ({ network, ...usage })),
            ),
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
      this.isLeading && !this.#hasStarted ? this.#informers.unread(this.#views.kinds) : [];
    return unread.length === 0 ? undefined : unread.join('; ');
  }

  #isOnDemand(network: string): boolean {
    return this.#registry.identityOf(network)?.isOnDemand === true;
  }

  #usesChanged(changes: readonly NetworkOnNode[]): void {
    if (changes.length === 0) return;
    this.#nodes.usesChanged(changes);
    for (const network of new Set(changes.map(([, name]) => name)))
      if (this.#isOnDemand(network)) this.#statuses.networkChanged(network);
  }

  /** Nodes report what they use for other reasons than pods, such as services and egress addresses. */
  #followUses(): void {
    this.#views.zones.onChange(({ key, after }) => {
      const isFirst = !this.#uses.hasReport(key);
      this.#usesChanged(this.#uses.setReport(key, networksInReport(after)));
      if (isFirst) this.#nodes.usesKnown([key]);
    });
    void this.#lookAtPods();
  }

  /** What no pod uses is taken back once all of them have been looked at. */
  async #lookAtPods(): Promise<void> {
    await this.#pods.queue.idle();
    this.#uses.podsKnown();
    this.#nodes.usesKnown();
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { kinds } = this.#views;
    const isShared = this.#options.informers !== undefined;
    const following = isShared ? Promise.resolve() : this.#informers.run(signal);
    // Informers that somebody else runs were started earlier: the leader before us may have written since.
    const reading = isShared
      ? this.#informers.refresh(kinds, signal)
      : this.#informers.synced(kinds, signal);
    // A watch that fails before all are synced ends the start, not the process.
    await Promise.race([reading, isShared ? reading : following]).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    if (signal.aborted) {
      this.#started.reject(signal.reason);
      await following;
      return;
    }
    this.#connects.adopt();
    this.#identities.adopt();
    for (const zone of this.#views.zones.list())
      this.#uses.setReport(zone.metadata.name, networksInReport(zone));
    this.#nodes.adopt();
    this.#egressIps.adopt();
    const queues = [...this.#queues.keys()].map((queue) => queue.run(signal));
    // Networks that go ask which pods count on them.
    this.#pods.follow();
    this.#networks.follow();
    this.#identities.follow();
    this.#nodes.follow();
    this.#statuses.follow();
    this.#connects.follow();
    this.#tenantConnects.follow();
    this.#mirrors.follow();
    this.#egressIps.follow(signal);
    this.#egressServices.follow();
    this.#serviceAddresses.follow();
    this.#objectStates.follow();
    this.#heartbeats.follow(signal);
    this.#followUses();
    const stopBatches = (): void => {
      for (const batch of this.#batches()) batch.clear();
    };
    signal.addEventListener('abort', stopBatches, { once: true });
    this.#hasStarted = true;
    this.#started.resolve();
    await Promise.all([following, ...queues]);
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
        queues: [...this.#queues.keys()],
        batches: this.#batches(),
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

  #batches(): readonly Batch[] {
    return [
      this.#nodes.batch,
      this.#connects.batch,
      this.#tenantConnects.batch,
      this.#statuses.batch,
      this.#objectStates.batch,
    ];
  }

  /** What could not be done, sorted by object. */
  problems(): readonly ZoneProblem[] {
    const problems: ZoneProblem[] = [...this.#informers.problems()];
    for (const [object, outcome] of this.#networks.outcomes())
      for (const { message } of outcome.problems)
        problems.push({ object: objectOfNetworkObject(object), message });
    for (const [nad, message] of this.#identities.problems())
      problems.push({ object: `NetworkAttachmentDefinition ${nad}`, message });
    for (const [name, message] of this.#connects.problems())
      problems.push({ object: `ClusterNetworkConnect ${name}`, message });
    for (const [key, message] of this.#tenantConnects.problems())
      problems.push({ object: `NetworkConnect ${key}`, message });
    for (const [pod, message] of this.#pods.problems())
      problems.push({ object: `Pod ${pod}`, message });
    for (const [slice, message] of this.#mirrors.problems())
      problems.push({ object: `EndpointSlice ${slice}`, message });
    for (const [name, message] of this.#egressIps.problems())
      problems.push({ object: `EgressIP ${name}`, message });
    for (const [key, message] of this.#egressServices.problems())
      problems.push({ object: `EgressService ${key}`, message });
    for (const [key, message] of this.#serviceAddresses.problems())
      problems.push({ object: `Service ${key}`, message });
    for (const [node, message] of this.#nodes.problems())
      problems.push({ object: `Node ${node}`, message });
    for (const network of this.#nodes.subnets.networks())
      for (const [node, message] of this.#nodes.subnets.failuresOf(network))
        problems.push({ object: `Node ${node}`, message });
    for (const [node, { message }] of this.#heartbeats.absentees())
      problems.push({
        object: `Node ${node}`,
        message: `${message}: ${ABSENCE_MEANS}`,
      });
    for (const [queue, objectOfKey] of this.#queues)
      for (const [key, failure] of queue.failing)
        if (!isPassing(failure))
          problems.push({ object: objectOfKey(key), message: errorText(failure.error) });
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

/** Conflicts in a row after which somebody seems to write the object again and again. */
const CONFLICTS = 4;

/** Somebody wrote the object in between: the retry that is under way reads it again. */
const isPassing = ({ error, attempt }: Failure): boolean =>
  error instanceof StoreError && error.code === 'conflict' && attempt < CONFLICTS;
