/** ClusterNetworkConnects: selection, validation, subnets and tunnel keys, status (reference/api.md §5). */
import { isDeepStrictEqual } from 'node:util';
import { AllocationError } from '../../allocators/allocation-error.ts';
import { clusterNetworkConnects } from '../../api/kinds.ts';
import {
  CONNECT_BRIDGED,
  CONNECT_SUBNETS,
  CONNECT_TUNNEL_KEY,
  connectBridged,
  connectSubnets,
  connectTunnelKey,
  formatConnectBridged,
  formatConnectSubnets,
  PRIMARY_NETWORK_LABEL,
} from '../../api/annotations/network-annotations.ts';
import { connectivityOf } from '../../api/connectivity.ts';
import { clusterNetworkName, parseNetworkName } from '../../api/nad/network-name.ts';
import type { ClusterNetworkConnect } from '../../api/types.ts';
import type { Clock } from '../../store/clock.ts';
import { StoreError, type Store } from '../../store/store.ts';
import { CONFLICT_DELAY, WorkQueue, type Failure } from '../../store/work-queue.ts';
import { Batch } from '../../store/batch.ts';
import { conditionsOf, StatusWriter, type StatedCondition } from '../../store/status-writer.ts';
import { ConnectAllocations } from './connect-allocations.ts';
import { connectStatus, isZoneCondition, readyInZones } from './connect-readiness.ts';
import {
  checkConnect,
  connectWays,
  rangesOf,
  selectNetworks,
  type AcceptedConnect,
  type ConnectableNetwork,
  type ConnectProblem,
} from './connect-selection.ts';
import { sameRanges } from './tenant-connect-plan.ts';
import { tenantNetworks } from './tenant-connect-objects.ts';
import type { ClusterInformers } from '../informers.ts';
import { familiesOf } from '../networks/nads.ts';
import { hostNetworksOf } from '../nodes/host-networks.ts';
import type { NetworkRegistry } from '../networks/network-registry.ts';
import { compareAge, oldestFirst } from '../../api/order.ts';
import type { Log } from '../../store/log.ts';
import type { ClusterManagerSettings } from '../settings.ts';
import type { AbsentDaemon } from '../nodes/node-heartbeats.ts';
import { hasChassis, nodesWithZone } from '../nodes/zones.ts';

export interface ConnectControllerOptions {
  readonly store: Pick<Store, 'patch' | 'patchStatus' | 'event'>;
  readonly informers: ClusterInformers;
  readonly registry: NetworkRegistry;
  readonly settings: ClusterManagerSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** Resolves when no network is being worked on, so that a ClusterNetworkConnect is written once for all of them. */
  readonly whenIdle: () => Promise<void>;
  /** Why what a node reported is not to be relied on. */
  readonly absentDaemon: (node: string) => AbsentDaemon | undefined;
  readonly onFailure: (failure: Failure) => void;
}

const FIELD_MANAGER = 'clustermanager-networkconnect-controller';
const BATCH = { minDelay: 20, maxDelay: 1000 };
const ACCEPTED: StatedCondition = {
  type: 'Accepted',
  status: 'True',
  reason: 'ValidationSucceeded',
  message: 'All validation checks passed successfully',
};

/** With some of its networks over the external bridge it says so. */
const acceptedWith = (bridged: number): StatedCondition =>
  bridged === 0
    ? ACCEPTED
    : {
        ...ACCEPTED,
        message: `${ACCEPTED.message}; pod subnets overlap: ${bridged === 1 ? '1 network shares' : `${bridged} networks share`} services over the external bridge of each node`,
      };

export class ConnectController {
  readonly queue: WorkQueue;
  readonly #options: ConnectControllerOptions;
  readonly #writer: StatusWriter;
  readonly batch: Batch;
  readonly #allocations = new Map<string, ConnectAllocations>();
  /** Ids of the networks of connections that share services over the external bridge. */
  readonly #bridged = new Map<string, readonly number[]>();
  readonly #problems = new Map<string, string>();

  constructor(options: ConnectControllerOptions) {
    this.#options = options;
    const { store, clock, onFailure, whenIdle } = options;
    this.#writer = new StatusWriter({ store, clock, fieldManager: FIELD_MANAGER });
    this.queue = new WorkQueue({
      reconcile: (name, signal) => this.#reconcile(name, signal),
      onFailure,
      parallelism: 8,
      clock,
    });
    this.batch = new Batch({
      clock,
      ...BATCH,
      whenIdle,
      flush: () => {
        for (const { metadata } of oldestFirst(options.informers.connects.list()))
          this.queue.add(metadata.name);
      },
    });
  }

  /** ClusterNetworkConnects that are not accepted, with the reason. */
  problems(): ReadonlyMap<string, string> {
    return this.#problems;
  }

  /** Takes over stored keys and subnets, before anything is allocated. */
  adopt(): void {
    const { informers, registry, log } = this.#options;
    for (const connect of oldestFirst(informers.connects.list())) {
      const { name } = connect.metadata;
      const key = connectTunnelKey(connect).value ?? 0;
      try {
        if (key !== 0) registry.tunnelKeys.reserve(ownerOf(name), [key]);
      } catch (error) {
        if (!(error instanceof AllocationError)) throw error;
        log.warn(
          { connect: name, error: error.message },
          'tunnel key can’t be kept, a new one is given',
        );
      }
      const stored = connectSubnets(connect).value;
      if (stored !== undefined) this.#allocationsOf(connect)?.adopt(stored);
      const bridged = connectBridged(connect).value;
      if (bridged !== undefined) this.#bridged.set(name, bridged);
    }
  }

  /** Follows what selections depend on from now on. */
  follow(): void {
    const { connects, cudns, namespaces, nodes, zones } = this.#options.informers;
    connects.onChange(({ key, after }) => {
      if (after === undefined) this.queue.add(key);
      this.networksChanged();
    });
    cudns.onChange(({ before, after }) => {
      const labels = (object: typeof after): string =>
        JSON.stringify(object?.metadata.labels ?? {});
      if (before === undefined || after === undefined || labels(before) !== labels(after))
        this.networksChanged();
    });
    namespaces.onChange(({ before, after }) => {
      const [labels, labelsBefore] = [after?.metadata.labels, before?.metadata.labels];
      const isChanged = before === undefined || after === undefined;
      if (isChanged || !isDeepStrictEqual(labels, labelsBefore)) this.networksChanged();
    });
    nodes.onChange(({ before, after }) => {
      const textOf = (node: typeof after): string =>
        JSON.stringify([
          node?.metadata.name,
          node && hasChassis(node),
          hostNetworksOf(node).addresses,
        ]);
      const isChanged = before === undefined || after === undefined;
      if (isChanged || textOf(before) !== textOf(after)) this.networksChanged();
    });
    zones.onChange(({ before, after }) => {
      const reports = [before, after].map((zone) => zone?.status?.connects ?? []);
      // A node that has a zone from now on has to speak of every connection.
      if (before === undefined || after === undefined) this.networksChanged();
      if (isDeepStrictEqual(reports[0], reports[1])) return;
      for (const name of new Set(reports.flat().map((report) => report.name))) this.queue.add(name);
    });
  }

  /** The daemon of a node is gone, or there again. */
  daemonChanged(node: string): void {
    for (const { name } of this.#options.informers.zones.get(node)?.status?.connects ?? [])
      this.queue.add(name);
  }

  /** Selections may have changed. */
  networksChanged(): void {
    this.batch.add(['all']);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<void> {
    const { informers, registry } = this.#options;
    const connect = informers.connects.get(name);
    if (connect === undefined) {
      this.#allocations.delete(name);
      this.#bridged.delete(name);
      this.#problems.delete(name);
      registry.tunnelKeys.release(ownerOf(name));
      // Others may have been judged beside it while it was written for the last time.
      this.networksChanged();
      return;
    }
    const problem = this.#decide(connect);
    // What was written comes back as a change of the object; the status follows then.
    if (await this.#writeAnnotations(connect, signal)) return;
    await this.#writeStatus(connect, problem, signal);
  }

  /** Validates and allocates. A connection that stops being valid keeps what it holds, and says why it is not accepted. */
  #decide(connect: ClusterNetworkConnect): ConnectProblem | undefined {
    const { informers, registry, settings } = this.#options;
    const { name } = connect.metadata;
    const networks = this.select(connect);
    const allocations = this.#allocationsOf(connect);
    if (allocations === undefined)
      return { reason: 'ConnectSubnetConflict', message: 'connectSubnets can’t be read' };
    allocations.releaseOthers(networks);
    const bridged = (this.#bridged.get(name) ?? []).filter((held) =>
      networks.some(({ id }) => id === held),
    );
    this.#bridged.set(name, bridged);
    const { pods: opensPods } = connectivityOf(connect);
    const linkedIds = allocations.networkIds();
    const others = this.#othersOf(connect, networks);
    const invalid = checkConnect({
      networks,
      ranges: allocations.ranges,
      others,
      settings: settings.cluster,
      nodes: informers.nodes.list().map((node) => ({
        name: node.metadata.name,
        hostAddresses: hostNetworksOf(node).addresses,
      })),
      isServing: !allocations.isEmpty || bridged.length > 0,
      linkedIds,
      opensPods,
    });
    if (invalid !== undefined) return invalid;
    registry.tunnelKeys.allocateDynamic(ownerOf(name), 1);
    const ways = opensPods
      ? { linked: networks, bridged: [] }
      : connectWays({ networks, others, linkedIds });
    this.#bridged.set(
      name,
      ways.bridged.map(({ id }) => id),
    );
    allocations.releaseOthers(ways.linked);
    return allocations.allocate(ways.linked);
  }

  /** Other connections that have links to one of these networks. */
  #othersOf(
    connect: ClusterNetworkConnect,
    networks: readonly ConnectableNetwork[],
  ): readonly AcceptedConnect[] {
    const { connects } = this.#options.informers;
    return [...this.#allocations].flatMap(([name, held]) => {
      const other = connects.get(name);
      if (other === undefined || name === connect.metadata.name || held.isEmpty) return [];
      const ids = held.networkIds();
      if (!networks.some(({ id }) => ids.has(id))) return [];
      return [
        {
          name,
          ranges: held.ranges,
          networks: this.select(other).filter(({ id }) => ids.has(id)),
          isOlder: compareAge(other.metadata, connect.metadata) < 0,
        },
      ];
    });
  }

  /** What a connection selects now. */
  select(connect: ClusterNetworkConnect): readonly ConnectableNetwork[] {
    const { informers, registry } = this.#options;
    const selected = selectNetworks(connect, {
      cudns: informers.cudns
        .list()
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined),
      namespaces: informers.namespaces.list(),
      networkOf: ({ metadata }) => this.network(clusterNetworkName(metadata.name)),
      primariesOf: (namespace) => {
        const labels = informers.namespaces.get(namespace)?.metadata.labels ?? {};
        if (!Object.hasOwn(labels, PRIMARY_NETWORK_LABEL)) return [];
        return registry
          .primariesOf(namespace)
          .filter(({ ownerKind }) => ownerKind !== undefined)
          .map(({ config }) => this.network(config.name))
          .filter((network) => network !== undefined);
      },
    });
    // Who agreed for a network did not for others of its namespace.
    const tenants = tenantNetworks(connect);
    return tenants === undefined
      ? selected
      : selected.filter(({ title }) => tenants.includes(title));
  }

  /** A network that has an id. */
  network(name: string): ConnectableNetwork | undefined {
    const { registry } = this.#options;
    const network = registry.network(name);
    const identity = registry.identityOf(name);
    if (network === undefined || identity === undefined) return undefined;
    const owner = parseNetworkName(name);
    const title =
      owner === undefined
        ? name
        : owner.kind === 'ClusterUserDefinedNetwork'
          ? owner.name
          : `${owner.namespace}/${owner.name}`;
    return { title, id: identity.id, config: network.config };
  }

  /** Allocations in the connect's ranges; undefined when its ranges are unusable. Families that the cluster lacks don't count. */
  #allocationsOf(connect: ClusterNetworkConnect): ConnectAllocations | undefined {
    const { name } = connect.metadata;
    const families = familiesOf(this.#options.settings.cluster.clusterSubnets);
    const ranges = rangesOf(connect).filter(({ cidr }) => families.has(cidr.family));
    const known = this.#allocations.get(name);
    if (known !== undefined && sameRanges(known.ranges, ranges)) return known;
    try {
      const allocations = new ConnectAllocations(ranges);
      this.#allocations.set(name, allocations);
      return allocations;
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      this.#options.log.warn(
        { connect: name, error: error.message },
        'connectSubnets can’t be used',
      );
      return undefined;
    }
  }

  /** True if something had to be written. */
  async #writeAnnotations(connect: ClusterNetworkConnect, signal: AbortSignal): Promise<boolean> {
    const { name, annotations = {} } = connect.metadata;
    const allocations = this.#allocations.get(name);
    const [key] = this.#options.registry.tunnelKeys.keysOf(ownerOf(name));
    const subnets = allocations === undefined ? '{}' : formatConnectSubnets(allocations.held());
    const bridged = formatConnectBridged(this.#bridged.get(name) ?? []);
    const isUnheld = subnets === '{}' && bridged === undefined;
    const wanted = {
      ...(isUnheld && annotations[CONNECT_SUBNETS] === undefined
        ? {}
        : { [CONNECT_SUBNETS]: subnets }),
      ...(bridged === undefined && annotations[CONNECT_BRIDGED] === undefined
        ? {}
        : { [CONNECT_BRIDGED]: bridged ?? null }),
      ...(key === undefined ? {} : { [CONNECT_TUNNEL_KEY]: String(key) }),
    };
    const changed = Object.entries(wanted).filter(([name_, value]) => annotations[name_] !== value);
    if (changed.length === 0) return false;
    try {
      await this.#options.store.patch(
        clusterNetworkConnects,
        name,
        { metadata: { annotations: Object.fromEntries(changed) } },
        { fieldManager: FIELD_MANAGER, signal },
      );
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'not-found') throw error;
    }
    return true;
  }

  async #writeStatus(
    connect: ClusterNetworkConnect,
    problem: ConnectProblem | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { informers, store } = this.#options;
    const { name } = connect.metadata;
    const bridged = this.#bridged.get(name) ?? [];
    const current = conditionsOf(connect);
    const [tunnelKey] = this.#options.registry.tunnelKeys.keysOf(ownerOf(name));
    const accepted: StatedCondition =
      problem === undefined
        ? acceptedWith(bridged.length)
        : { type: 'Accepted', status: 'False', ...problem };
    const ready = readyInZones(
      name,
      informers.zones.list(),
      nodesWithZone(informers.nodes.list(), informers.zones),
      problem === undefined,
      this.#options.absentDaemon,
    );
    // Those of nodes that are gone go.
    const removed = current.map(({ type }) => type).filter(isZoneCondition);
    const known = this.#problems.get(name);
    if (problem === undefined) this.#problems.delete(name);
    else this.#problems.set(name, problem.message);
    try {
      await this.#writer.write(
        clusterNetworkConnects,
        connect,
        {
          conditions: [accepted, ...ready],
          removed,
          fields: {
            status: connectStatus(accepted, ready),
            tunnelKey: tunnelKey ?? null,
            networks: (this.#allocations.get(name)?.held().size ?? 0) + bridged.length,
            nodes: `${ready.filter(({ status }) => status === 'True').length}/${ready.length}`,
            reason: [accepted, ...ready].find(({ status }) => status !== 'True')?.reason ?? null,
          },
        },
        signal,
      );
    } catch (error) {
      if (!(error instanceof StoreError) || !['conflict', 'not-found'].includes(error.code))
        throw error;
      if (error.code === 'conflict') this.queue.addAfter(name, CONFLICT_DELAY);
    }
    if (problem !== undefined && known !== problem.message)
      await store.event({ regarding: connect, type: 'Warning', ...problem });
  }
}

const ownerOf = (connect: string): string => `connect ${connect}`;
