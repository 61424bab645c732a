/** Statuses of the objects that declare networks, and the events of failed allocations (reference/api.md §4.5, §4.6). */
import { conditionMessage, conditionOf } from '../../api/conditions.ts';
import { zoneStatuses } from '../../api/kinds.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { ZoneNetworkStatus, ZoneStatus } from '../../api/zone-status.ts';
import type { Clock } from '../../store/clock.ts';
import { StoreError, type Store } from '../../store/store.ts';
import type { Index } from '../../store/informer.ts';
import { CONFLICT_DELAY, WorkQueue, type Failure } from '../../store/work-queue.ts';
import { StatusWriter, type StatedCondition } from '../../store/status-writer.ts';
import type { NetworkObject } from '../../api/nad/network-spec.ts';
import {
  networkObjectKey,
  kindOf,
  networkOf,
  roleOf,
  topologyOf,
} from '../networks/network-objects.ts';
import { Batch } from '../../store/batch.ts';
import type { ClusterInformers } from '../informers.ts';
import type { ClusterManagerSettings } from '../settings.ts';
import {
  networkAllocationSucceeded,
  networkCreated,
  networkIsolated,
  networkReady,
  nodesText,
  reasonOf,
  primaryNetworkConflict,
  transportAccepted,
  type NetworkOutcome,
  type ZoneReport,
} from '../networks/network-outcome.ts';
import { secondaryGatewayAccepted } from '../networks/network-gateways.ts';
import { servicePoolAccepted } from '../networks/network-pools.ts';
import type { NetworkRegistry } from '../networks/network-registry.ts';
import type { NetworkUses } from '../nodes/network-uses.ts';
import type { SubnetFailures } from '../nodes/node-subnets.ts';
import { reportOf, type AbsentDaemon } from '../nodes/node-heartbeats.ts';
import { hasChassis, nodesWithZone } from '../nodes/zones.ts';

export interface StatusControllerOptions {
  readonly store: Pick<Store, 'patchStatus' | 'event'>;
  readonly informers: ClusterInformers;
  readonly registry: NetworkRegistry;
  /** Which nodes use which networks. */
  readonly uses: Pick<NetworkUses, 'has'>;
  readonly settings: Pick<ClusterManagerSettings, 'cluster'>;
  readonly clock: Clock;
  readonly outcomeOf: (key: string) => NetworkOutcome | undefined;
  readonly failuresOf: (network: string) => SubnetFailures;
  /** Why what a node reported is not to be relied on. */
  readonly absentDaemon: (node: string) => AbsentDaemon | undefined;
  /** Resolves when no network is being worked on. */
  readonly whenIdle: () => Promise<void>;
  readonly onFailure: (failure: Failure) => void;
}

/** Milliseconds after which the owner of a network that is not ready is told: most are ready long before. */
const READY_GRACE = 30_000;

/**
 * Milliseconds: statuses are written when nothing has happened to any for `minDelay`, at the latest after `maxDelay`. Nodes report a network
 * one after the other, and each of them more than once while it works.
 */
const BATCH = { minDelay: 50, maxDelay: 1000 };

/** Stands for all objects in a batch. */
const ALL = 'all';

export class StatusController {
  readonly queue: WorkQueue;
  readonly #options: StatusControllerOptions;
  readonly #writer: StatusWriter;
  readonly batch: Batch;
  /** Failures of which there was an event, by network. */
  readonly #reported = new Map<string, Set<string>>();
  /** Networks that are not ready, by object: since when (a monotonic clock), and whether their owners were told. */
  readonly #notReady = new Map<string, { readonly since: number; readonly isTold: boolean }>();
  /** What owners were told of networks that are not apart from others, by object. */
  readonly #violated = new Map<string, string>();
  /** Objects by the network that they declare, kind by kind. */
  readonly #declared: readonly Index<NetworkObject>[];
  /** What nodes that have a zone say, by name; undefined = to be looked at anew. */
  #words: readonly NodeWord[] | undefined;
  /** The last event's text for each object that is refused something. */
  readonly #told = new Map<string, string>();

  constructor(options: StatusControllerOptions) {
    this.#options = options;
    const { store, clock, onFailure } = options;
    const { udns, cudns, secondaries } = options.informers;
    const networksOf = (object: NetworkObject): readonly string[] => [networkOf(object)];
    // The name of a network is made of the object's.
    const isSame = (): boolean => true;
    this.#declared = [
      udns.index(networksOf, isSame),
      cudns.index(networksOf, isSame),
      secondaries.index(networksOf, isSame),
    ];
    this.#writer = new StatusWriter({
      store,
      clock,
      fieldManager: 'user-defined-network-controller',
    });
    this.queue = new WorkQueue({
      reconcile: (key, signal) => this.#reconcile(key, signal),
      onFailure,
      parallelism: 8,
      clock,
    });
    this.batch = new Batch({
      clock,
      ...BATCH,
      whenIdle: options.whenIdle,
      flush: (keys) => {
        for (const key of keys) if (key !== ALL) this.queue.add(key);
        if (keys.has(ALL))
          for (const object of this.#options.informers.networkObjects())
            this.queue.add(`status/${networkObjectKey(object)}`);
      },
    });
  }

  /** Follows the objects, so that a status that was overwritten comes back. */
  follow(): void {
    const { udns, cudns, secondaries, zones, nodes } = this.#options.informers;
    for (const informer of [udns, cudns, secondaries])
      informer.onChange((change: { readonly after: NetworkObject | undefined }) => {
        if (change.after !== undefined) this.wake(networkObjectKey(change.after));
      });
    zones.onChange(({ before, after }) => {
      this.#words = undefined;
      if (before === undefined || after === undefined || isSilent(before) !== isSilent(after))
        this.#nodesChanged();
      else this.#networksChanged(changedReports(before, after));
    });
    nodes.onChange(({ before, after }) => {
      if (before === undefined || after === undefined) this.#words = undefined;
      if (hasChassis(before) !== hasChassis(after)) this.#nodesChanged();
    });
  }

  /** Statuses of all networks count the nodes: however many nodes change, once. */
  #nodesChanged(): void {
    this.#words = undefined;
    this.batch.add([ALL]);
  }

  #networksChanged(networks: ReadonlySet<string>): void {
    const concerned = [...networks].flatMap((network) => this.#objectsOf(network));
    this.batch.add(concerned.map((object) => `status/${networkObjectKey(object)}`));
  }

  wake(key: string): void {
    this.batch.add([`status/${key}`]);
  }

  /** The NADs of the network, or those that compete with it, have changed. */
  networkChanged(network: string): void {
    this.#networksChanged(new Set([network]));
  }

  /** The daemon of a node is gone, or there again: what the node uses is not known to be kept, or is. */
  daemonChanged(node: string): void {
    const zone = this.#options.informers.zones.get(node);
    if (zone === undefined) return;
    const reported = reportsIn(zone);
    this.queue.add(`zone/${node}`);
    const used = [...reported.values()].filter(({ state }) => isUsed(state));
    this.#networksChanged(new Set(used.map(({ name }) => name)));
  }

  /** The nodes that lack a subnet of the network have changed. */
  failuresChanged(network: string): void {
    this.networkChanged(network);
    this.queue.add(`event/${network}`);
  }

  #objectsOf(network: string): readonly NetworkObject[] {
    return this.#declared.flatMap((index) => index.get(network));
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const slash = key.indexOf('/');
    const rest = key.slice(slash + 1);
    const what = key.slice(0, slash);
    if (what === 'event') await this.#emitFailures(rest);
    else if (what === 'zone') await this.#writeAbsence(rest, signal);
    else await this.#writeStatus(rest, signal);
  }

  async #writeStatus(key: string, signal: AbortSignal): Promise<void> {
    const object = this.#options.informers.networkObject(key);
    const outcome = this.#options.outcomeOf(key);
    if (object === undefined) {
      this.#told.delete(key);
      this.#notReady.delete(key);
      this.#violated.delete(key);
    }
    if (object === undefined || outcome === undefined) return;
    const created = networkCreated(object.kind, outcome);
    const network = networkOf(object);
    const isReady = conditionOf(object.status?.conditions, 'NetworkReady')?.status === 'True';
    const reported = this.#reportsOf(network, isReady);
    const ready = networkReady(reported);
    const isolated = networkIsolated(reported);
    const conditions = [
      created,
      transportAccepted(object),
      primaryNetworkConflict(this.#conflictingNads(object, outcome)),
      this.#allocation(object, outcome),
      ready,
      isolated,
      servicePoolAccepted(object, this.#options.settings.cluster),
      secondaryGatewayAccepted(
        object,
        this.#options.settings.cluster,
        this.#options.registry.network(network)?.config,
      ),
    ].filter((condition) => condition !== undefined);
    const isCluster = object.kind === 'ClusterUserDefinedNetwork';
    try {
      await this.#writer.write(
        kindOf(object),
        object,
        {
          conditions,
          observedGeneration: outcome.generation,
          removed: [
            'TransportAccepted',
            'PrimaryNetworkConflict',
            'NetworkAllocationSucceeded',
            'NetworkReady',
            'NetworkIsolated',
            'ServicePoolAccepted',
            'SecondaryGatewayAccepted',
          ],
          fields: {
            ...(isCluster ? { activeNamespaces: outcome.ready } : {}),
            refusedSubnets: refusedSubnetsOf(outcome),
            networkID: this.#options.registry.network(network)?.id ?? null,
            nodes: nodesText(reported) ?? null,
            reason: reasonOf(conditions) ?? null,
          },
        },
        signal,
      );
    } catch (error) {
      // Somebody wrote meanwhile, or the object went.
      if (!(error instanceof StoreError) || !['conflict', 'not-found'].includes(error.code))
        throw error;
      if (error.code === 'conflict') this.queue.addAfter(`status/${key}`, CONFLICT_DELAY);
      return;
    }
    if (outcome.problems.length > 0) await this.#tell(key, object, created);
    else this.#told.delete(key);
    await this.#tellReady(key, object, ready);
    await this.#tellIsolated(key, object, isolated);
  }

  /** The owner is told at once, and once more when it is over. */
  async #tellIsolated(
    key: string,
    regarding: NetworkObject,
    condition: StatedCondition | undefined,
  ): Promise<void> {
    const { store } = this.#options;
    const before = this.#violated.get(key);
    if (condition?.message === before) return;
    if (condition === undefined) {
      this.#violated.delete(key);
      await store.event({
        regarding,
        type: 'Normal',
        reason: 'NetworkIsolated',
        message:
          'the last proofs find nothing more that leads into the network, or out of it, and that no object wants',
      });
      return;
    }
    this.#violated.set(key, condition.message);
    const { reason, message } = condition;
    await store.event({ regarding, type: 'Warning', reason, message });
  }

  /** The owner of a network that waits for long is told once, and once more when it is ready. */
  async #tellReady(
    key: string,
    regarding: NetworkObject,
    condition: StatedCondition | undefined,
  ): Promise<void> {
    const { clock, store } = this.#options;
    const before = this.#notReady.get(key);
    if (condition?.status !== 'False') {
      this.#notReady.delete(key);
      if (condition === undefined || before?.isTold !== true) return;
      const { reason, message } = condition;
      await store.event({ regarding, type: 'Normal', reason, message });
      return;
    }
    const since = before?.since ?? clock.monotonic();
    const rest = since + READY_GRACE - clock.monotonic();
    const isTold = before?.isTold === true || rest <= 0;
    this.#notReady.set(key, { since, isTold });
    if (rest > 0) this.queue.addAfter(`status/${key}`, rest);
    else if (before?.isTold !== true)
      await store.event({
        regarding,
        type: 'Warning',
        reason: condition.reason,
        message: `not ready for ${READY_GRACE / 1000} s: ${condition.message}`,
      });
  }

  /** What is refused of an object, its owner reads in an event, too. */
  async #tell(
    key: string,
    regarding: NetworkObject,
    { type, reason, message }: StatedCondition,
  ): Promise<void> {
    // What the condition says already, an earlier process told.
    const told = this.#told.get(key) ?? conditionOf(regarding.status?.conditions, type)?.message;
    const text = conditionMessage(message);
    this.#told.set(key, text);
    if (told === text) return;
    await this.#options.store.event({ regarding, type: 'Warning', reason, message });
  }

  /** Who looks at the ZoneStatus alone sees it, too; the daemon writes its own again once it is back. */
  async #writeAbsence(node: string, signal: AbortSignal): Promise<void> {
    const { informers, store, absentDaemon } = this.#options;
    const zone = informers.zones.get(node);
    const absent = absentDaemon(node);
    if (zone?.status === undefined || absent === undefined) return;
    const message = reportOf(absent);
    const { resourceVersion } = zone.metadata;
    if (zone.status.message === message || resourceVersion === undefined) return;
    try {
      await store.patchStatus(
        zoneStatuses,
        node,
        { status: { message, ready: false } },
        { fieldManager: 'heddle-node-heartbeats', resourceVersion, signal },
      );
    } catch (error) {
      if (!(error instanceof StoreError) || !['conflict', 'not-found'].includes(error.code))
        throw error;
      if (error.code === 'conflict') this.queue.addAfter(`zone/${node}`, CONFLICT_DELAY);
    }
  }

  #conflictingNads(object: NetworkObject, { ready }: NetworkOutcome): readonly string[] {
    return roleOf(object) === 'primary'
      ? ready.flatMap((namespace) => this.#options.registry.refusedPrimariesOf(namespace))
      : [];
  }

  /** Networks whose pods or nodes get addresses say whether that worked. */
  #allocation(object: NetworkObject, outcome: NetworkOutcome): StatedCondition | undefined {
    const network = networkOf(object);
    const isAllocated =
      topologyOf(object) !== 'localnet' ||
      (this.#options.registry.network(network)?.config.subnets.length ?? 0) > 0;
    if (outcome.ready.length === 0 || !isAllocated) return undefined;
    return networkAllocationSucceeded(this.#options.failuresOf(network).keys());
  }

  /**
   * What the nodes that have a zone report of the network, and which of them have not yet reported. A node that joins, and has no pod on it, takes
   * nothing back of a network that is ready.
   */
  #reportsOf(network: string, isReady: boolean): readonly ZoneReport[] {
    const { informers, registry, uses } = this.#options;
    const { zones, nodes } = informers;
    const isOnDemand = registry.identityOf(network)?.isOnDemand === true;
    this.#words ??= nodesWithZone(nodes.list(), zones)
      .toSorted()
      .map((node) => wordOf(node, zones.get(node)));
    const isAnyHeard = this.#words.some(({ isSilent }) => !isSilent);
    return this.#words.map(({ node, isSilent, reports, unused, programmed }) => {
      const found = reports.get(network);
      // A node reports those on demand that it uses; of one with a pod on it there will be a report.
      const isExcused = isSilent ? isReady && isAnyHeard : isOnDemand;
      if (found === undefined && isExcused && !uses.has(node, network)) return unused;
      const { state, message, violations } = found ?? {};
      const absent = isUsed(state) ? this.#options.absentDaemon(node) : undefined;
      if (absent !== undefined)
        return {
          node,
          state: absent.state,
          message: `${absent.message}; it was ${state}`,
          // What was found there is there until somebody looks again.
          ...(violations === undefined ? {} : { violations }),
        };
      if (message === undefined && violations === undefined) {
        if (state === 'Programmed') return programmed;
        if (state === 'Unused') return unused;
      }
      return {
        node,
        ...(state === undefined ? {} : { state }),
        ...(message === undefined ? {} : { message }),
        ...(violations === undefined ? {} : { violations }),
      };
    });
  }

  async #emitFailures(network: string): Promise<void> {
    const { failuresOf, store } = this.#options;
    const failures = failuresOf(network);
    const before = this.#reported.get(network) ?? new Set<string>();
    const reported = new Set([...before].filter((node) => failures.has(node)));
    this.#reported.set(network, reported);
    for (const [node, error] of failures) {
      if (reported.has(node)) continue;
      for (const regarding of this.#regarding(network, node))
        await store.event({
          regarding,
          type: 'Warning',
          reason: 'NetworkAllocationFailed',
          message: `Error occurred for node ${node}: ${error}`,
        });
      reported.add(node);
    }
  }

  /** Whose users should know: the network's objects, its NADs where nobody declares it, or the node. */
  #regarding(network: string, node: string): readonly KubeObject[] {
    const { informers, registry } = this.#options;
    if (network === DEFAULT_NETWORK) {
      const object = informers.nodes.get(node);
      return object === undefined ? [] : [object];
    }
    const declared = this.#objectsOf(network);
    if (declared.length > 0) return declared;
    return (registry.network(network)?.nads ?? [])
      .map(({ key }) => informers.nads.get(key))
      .filter((nad) => nad !== undefined);
  }
}

/** Null takes the field away. */
const refusedSubnetsOf = ({ refusedSubnets = [] }: NetworkOutcome): readonly string[] | null =>
  refusedSubnets.length === 0 ? null : refusedSubnets;

/** A daemon that began to report tells of every network that it knows. */
const isSilent = (zone: ZoneStatus | undefined): boolean => zone?.status?.networks === undefined;

/** What nothing on the node uses is kept by nobody. */
const isUsed = (state: ZoneNetworkStatus['state'] | undefined): boolean =>
  state !== undefined && state !== 'Unused';

type NetworkReports = ReadonlyMap<string, ZoneNetworkStatus>;

/** What a node says of networks, with what it says of most: a thousand nodes are looked at for each network. */
interface NodeWord {
  readonly node: string;
  readonly isSilent: boolean;
  readonly reports: NetworkReports;
  readonly programmed: ZoneReport;
  readonly unused: ZoneReport;
}

const NO_REPORTS: NetworkReports = new Map();

const wordOf = (node: string, zone: ZoneStatus | undefined): NodeWord => ({
  node,
  isSilent: isSilent(zone),
  reports: zone === undefined ? NO_REPORTS : reportsIn(zone),
  programmed: { node, state: 'Programmed' },
  unused: { node, state: 'Unused' },
});

const reports = new WeakMap<ZoneStatus, NetworkReports>();

/** Objects of an informer are never changed: each is looked through once. */
function reportsIn(zone: ZoneStatus): NetworkReports {
  const known = reports.get(zone);
  if (known !== undefined) return known;
  const found = new Map((zone.status?.networks ?? []).map((report) => [report.name, report]));
  reports.set(zone, found);
  return found;
}

/** Networks of which a node says something else than before. */
function changedReports(before: ZoneStatus, after: ZoneStatus): ReadonlySet<string> {
  const [old, now] = [reportsIn(before), reportsIn(after)];
  const names = [...old.keys(), ...now.keys()];
  return new Set(
    names.filter((name) => {
      const [was, is] = [old.get(name), now.get(name)];
      return (
        was?.state !== is?.state ||
        was?.message !== is?.message ||
        was?.violations !== is?.violations
      );
    }),
  );
}
