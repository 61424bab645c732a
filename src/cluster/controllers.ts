/** The controllers of the cluster manager, wired to each other. */
import type { Registry } from 'prom-client';
import { LEASES } from '../api/node-lease.ts';
import { pause, type Clock } from '../store/clock.ts';
import type { Informers } from '../store/informers.ts';
import type { Store } from '../store/store.ts';
import type { Failure, WorkQueue } from '../store/work-queue.ts';
import type { Batch } from '../store/batch.ts';
import { nextTurn, ownTurn } from '../store/turn.ts';
import { ConnectController } from './connect/connect-controller.ts';
import { TenantConnectController } from './connect/tenant-connect-controller.ts';
import { EgressIpController } from './egress/egress-ip-controller.ts';
import type { EgressProbing } from './egress/egress-reachability.ts';
import { EgressServiceController } from './egress/egress-service-controller.ts';
import { hostsEgressServices } from './egress/egress-service-outcome.ts';
import { EndpointMirrorController } from './endpoints/endpoint-mirror-controller.ts';
import { objectOfEvent, type EventWriter } from '../store/event-writer.ts';
import { IdentityController } from './networks/identity-controller.ts';
import { ClusterInformers } from './informers.ts';
import { NO_RECORDER, registerDurations, registerMetrics } from './metrics.ts';
import { isLeaving } from './networks/orphaned-nads.ts';
import { NetworkController } from './networks/network-controller.ts';
import { NetworkRegistry } from './networks/network-registry.ts';
import { NetworkUses, networksInReport } from './nodes/network-uses.ts';
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

export interface ControllersOptions {
  readonly store: Store;
  /** Where `store` writes events. */
  readonly events: EventWriter;
  readonly informers: Informers;
  readonly settings: ClusterManagerSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Registry | undefined;
  readonly egressProbing: EgressProbing | undefined;
  readonly traces: PodTraces | undefined;
  /** True while this process makes the allocations, also after it was suspended. */
  readonly isLeading: () => boolean;
  readonly onFailure: (failure: Failure) => void;
  /** Ends what listens. */
  readonly signal: AbortSignal;
}

/** Milliseconds for which what is written for many networks waits for those that are worked on. */
const IDLE_TIMEOUT = 100;

export class Controllers {
  readonly views: ClusterInformers;
  readonly networks: NetworkController;
  readonly identities: IdentityController;
  readonly nodes: NodeController;
  readonly statuses: StatusController;
  readonly heartbeats: NodeHeartbeats;
  readonly pods: PodAddresses;
  readonly connects: ConnectController;
  readonly tenantConnects: TenantConnectController;
  readonly mirrors: EndpointMirrorController;
  readonly egressIps: EgressIpController;
  readonly egressServices: EgressServiceController;
  readonly serviceAddresses: ServiceAddressController;
  readonly objectStates: ObjectStatesController;
  /** All queues, and what their keys stand for. */
  readonly queues: ReadonlyMap<WorkQueue, ObjectOfKey>;
  readonly #uses = new NetworkUses();
  readonly #events: WorkQueue;

  constructor(options: ControllersOptions) {
    const { store, settings, clock, log, metrics, onFailure } = options;
    const informers = (this.views = new ClusterInformers(options.informers, options.signal));
    const registry = new NetworkRegistry({
      settings: settings.cluster,
      limit: settings.limits.networks,
      preallocated: settings.limits.preallocated,
    });
    const durations = metrics === undefined ? NO_RECORDER : registerDurations(metrics);
    const common = { store, informers, registry, settings, clock, log, onFailure, durations };
    const idle = async (): Promise<void> => {
      while (this.networks.queue.size + this.identities.queue.size > 0) {
        await this.networks.queue.idle();
        await this.identities.queue.idle();
      }
    };
    // A network whose write hangs must not hold up what is written for all of them.
    const whenIdle = (): Promise<void> =>
      Promise.race([idle(), pause(clock, IDLE_TIMEOUT, options.signal)]);
    const leases = options.informers.of(LEASES);
    this.heartbeats = new NodeHeartbeats({
      leases: leases.until(options.signal),
      isReadable: () => leases.stalled === undefined,
      clock,
      reported: (node) => informers.zones.get(node)?.status?.message,
      onChange: (node) => {
        this.statuses.daemonChanged(node);
        this.connects.daemonChanged(node);
        this.egressIps.daemonChanged();
        this.egressServices.nodesChanged();
      },
    });
    const absentDaemon = (node: string): AbsentDaemon | undefined => this.heartbeats.absent(node);
    this.networks = new NetworkController({
      ...common,
      onNetworks: (names) => this.identities.wake(names),
      wantedBy: (pod) => this.pods.wantedBy(pod),
      onOutcome: (key) => this.statuses.wake(key),
      onFreed: () => this.identities.retryRefused(),
    });
    this.identities = new IdentityController({
      ...common,
      onNetwork: async (name) => {
        await this.nodes.networks.networkChanged(name);
        this.statuses.networkChanged(name);
        this.connects.networksChanged();
        this.tenantConnects.networksChanged();
        this.serviceAddresses.networksChanged();
        const nads = registry.network(name)?.nads ?? [];
        this.mirrors.networksChanged(new Set(nads.map(({ namespace }) => namespace)));
        if (registry.network(name) === undefined) durations.forget(name);
        this.networks.networkChanged(name);
      },
    });
    this.nodes = new NodeController({
      ...common,
      uses: this.#uses,
      nodes: informers.nodes,
      whenIdle,
      onFailures: (network) => this.statuses.failuresChanged(network),
    });
    this.statuses = new StatusController({
      ...common,
      uses: this.#uses,
      outcomeOf: (key) => this.networks.outcomeOf(key),
      whenIdle,
      failuresOf: (network) => this.nodes.networks.subnets.failuresOf(network),
      absentDaemon,
    });
    this.pods = new PodAddresses({
      ...common,
      settings: settings.cluster,
      scope: { kind: 'cluster' },
      isLeaving: (nadKey) => isLeaving(nadKey, informers),
      onWanted: (pod, node, nads) => {
        const networks = [...nads].map((key) => registry.nad(key)?.config.name);
        const known = networks.filter((name) => name !== undefined);
        const changes = this.#uses.setPod(pod, node, [...new Set(known)]);
        this.nodes.networks.usesChanged(changes);
        for (const [, network] of changes) this.statuses.networkChanged(network);
      },
      claims: new PersistentAddresses({ store, claims: informers.claims, clock }),
      ...(options.traces === undefined ? {} : { traces: options.traces }),
    });
    this.connects = new ConnectController({ ...common, whenIdle, absentDaemon });
    this.tenantConnects = new TenantConnectController({
      ...common,
      whenIdle,
      network: (name) => this.connects.network(name),
      selectedBy: (connect) => this.connects.select(connect),
    });
    this.mirrors = new EndpointMirrorController(common);
    this.egressIps = new EgressIpController({
      ...common,
      absentDaemon,
      unheardFor: (node) => this.heartbeats.age(node),
      daemonOf: (node) => this.heartbeats.holder(node),
      probing: options.egressProbing,
      isAskedToo: hostsEgressServices,
      onReachability: () => this.egressServices.nodesChanged(),
      isLeading: options.isLeading,
    });
    this.egressServices = new EgressServiceController({
      ...common,
      absentDaemon,
      daemonOf: (node) => this.heartbeats.holder(node),
      reach: (node) => this.egressIps.reach(node),
    });
    this.serviceAddresses = new ServiceAddressController(common);
    this.objectStates = new ObjectStatesController({ ...common, whenIdle });
    this.#events = options.events.queue;
    this.queues = new Map([
      [this.networks.queue, objectOfNetworkObject],
      [this.identities.queue, objectOfIdentity],
      [this.nodes.queue, objectOf('Node')],
      [this.statuses.queue, objectOfStatus],
      [this.pods.queue, objectOf('Pod')],
      [this.connects.queue, objectOf('ClusterNetworkConnect')],
      [this.tenantConnects.queue, objectOf('NetworkConnect')],
      [this.mirrors.queue, objectOf('EndpointSlice')],
      [this.egressIps.queue, objectOf('EgressIP')],
      [this.egressServices.queue, objectOf('EgressService')],
      [this.egressServices.labels, objectOf('Node')],
      [this.serviceAddresses.queue, objectOf('Service')],
      [this.objectStates.queue, objectOfState],
      [this.#events, objectOfEvent],
    ]);
    if (metrics !== undefined)
      registerMetrics(metrics, {
        udns: () => informers.udns.list(),
        cudns: () => informers.cudns.list(),
        connects: () => informers.connects.list(),
        annotations: () => this.nodes.networks.annotationUsage(),
        egressIps: () => ({ assigned: this.egressIps.assigned, ...this.egressIps.counts }),
        egressWithoutDaemon: () => this.egressIps.withoutDaemon(),
        absentDaemons: () => this.heartbeats.absentees().length,
        heartbeatAges: () => this.heartbeats.ages(),
        subnets: () =>
          this.nodes.networks.subnets
            .networks()
            .flatMap((network) =>
              this.nodes.networks.subnets.usage(network).map((usage) => ({ network, ...usage })),
            ),
      });
  }

  /** What is written for many at once. */
  get batches(): readonly Batch[] {
    return [
      this.nodes.batch,
      this.connects.batch,
      this.tenantConnects.batch,
      this.statuses.batch,
      this.objectStates.batch,
    ];
  }

  /**
   * Reads back what was allocated, then follows the objects until `signal` aborts. What changes meanwhile waits in the queues, which run
   * once this resolves: nothing is decided before all is read.
   */
  async start(signal: AbortSignal): Promise<void> {
    await this.identities.readAhead();
    if (signal.aborted) return;
    for (const part of this.#followers(signal)) {
      part();
      // Each goes through all that is there.
      await nextTurn();
      if (signal.aborted) return;
    }
    await this.#followUses(signal);
    await this.nodes.adopt(signal);
  }

  /** In the order in which they hear of changes, a turn for each: what is only right together is one. */
  #followers(signal: AbortSignal): readonly (() => void)[] {
    return [
      () => {
        // The end of what was adopted is not missed.
        this.connects.adopt();
        this.identities.adopt();
        // Networks that go ask which pods count on them.
        this.pods.follow();
        this.networks.follow();
        this.identities.follow();
        this.connects.follow();
      },
      () => this.nodes.follow(),
      () => this.statuses.follow(),
      () => this.tenantConnects.follow(),
      () => this.mirrors.follow(),
      () => this.serviceAddresses.follow(),
      () => this.objectStates.follow(),
      () => {
        // No address is decided on before it is known which daemons are gone.
        this.egressIps.adopt();
        this.egressIps.follow(signal);
        this.egressServices.follow();
        this.heartbeats.follow(signal);
      },
    ];
  }

  /** Runs the queues until `signal` aborts, but for that of events, which whoever made it runs. */
  async run(signal: AbortSignal): Promise<void> {
    const running = [...this.queues.keys()]
      .filter((queue) => queue !== this.#events)
      .map((queue) => queue.run(signal));
    void this.#lookAtPods();
    await Promise.all(running);
  }

  /** Nodes report what they use for other reasons than pods, such as services and egress addresses. */
  async #followUses(signal: AbortSignal): Promise<void> {
    const { zones } = this.views;
    zones.onChange(({ key, after }) => {
      const isFirst = !this.#uses.hasReport(key);
      this.nodes.networks.usesChanged(this.#uses.setReport(key, networksInReport(after)));
      if (isFirst) this.nodes.networks.usesKnown(key);
    }, 'now');
    // Nobody has been given anything by them yet.
    for (const { metadata } of zones.list()) {
      await ownTurn();
      if (signal.aborted) return;
      this.#uses.setReport(metadata.name, networksInReport(zones.get(metadata.name)));
    }
  }

  /** What no pod uses is taken back once all of them have been looked at. */
  async #lookAtPods(): Promise<void> {
    await this.pods.queue.idle();
    this.#uses.podsKnown();
    for (const { metadata } of this.views.nodes.list()) {
      await ownTurn();
      this.nodes.networks.usesKnown(metadata.name);
    }
  }
}
