/**
 * NetworkConnects: two tenants that name each other get a ClusterNetworkConnect, which is then worked on like any other; without one of
 * them it goes (docs/decisions/tenant-connects.md).
 */
import { isDeepStrictEqual } from 'node:util';
import type { Prefix } from '../../allocators/addresses.ts';
import { conditionOf } from '../../api/conditions.ts';
import { clusterNetworkConnects, networkConnects } from '../../api/kinds.ts';
import { objectKey } from '../../api/objects.ts';
import type { ClusterNetworkConnect, NetworkConnect } from '../../api/types.ts';
import { Batch } from '../../store/batch.ts';
import type { Clock } from '../../store/clock.ts';
import { StatusWriter } from '../../store/status-writer.ts';
import { StoreError, type Store } from '../../store/store.ts';
import { CONFLICT_DELAY, WorkQueue, type Failure } from '../../store/work-queue.ts';
import type { ClusterInformers } from '../informers.ts';
import { roleOf, topologyOf } from '../networks/network-objects.ts';
import { networkName } from '../../api/nad/network-name.ts';
import { hostNetworksOf } from '../nodes/host-networks.ts';
import type { ClusterManagerSettings } from '../settings.ts';
import { rangesInTheWay, rangesOf, type ConnectableNetwork } from './connect-selection.ts';
import {
  tenantConnect,
  tenantConnectChange,
  tenantConnectName,
  tenantConnectStatus,
  tenantNetworks,
} from './tenant-connect-objects.ts';
import {
  pairKey,
  pairOfKey,
  planTenantConnects,
  requestedPair,
  type NetworkPair,
  type PairOutcome,
  type TenantConnectPlan,
} from './tenant-connect-plan.ts';

export interface TenantConnectControllerOptions {
  readonly store: Pick<Store, 'create' | 'patch' | 'patchStatus' | 'delete' | 'event'>;
  readonly informers: ClusterInformers;
  readonly settings: ClusterManagerSettings;
  readonly clock: Clock;
  /** Resolves when no network is being worked on. */
  readonly whenIdle: () => Promise<void>;
  /** A network by its name, once it has an id. */
  readonly network: (name: string) => ConnectableNetwork | undefined;
  /** Networks of an administrator's connection. */
  readonly selectedBy: (connect: ClusterNetworkConnect) => readonly ConnectableNetwork[];
  readonly onFailure: (failure: Failure) => void;
}

const FIELD_MANAGER = 'clustermanager-tenant-connect-controller';
const BATCH = { minDelay: 20, maxDelay: 1000 };

export class TenantConnectController {
  /** By `pairKey`. */
  readonly queue: WorkQueue;
  readonly batch: Batch;
  readonly #options: TenantConnectControllerOptions;
  readonly #writer: StatusWriter;
  #plan: TenantConnectPlan = { refusals: new Map(), pairs: new Map() };
  #requests: ReadonlyMap<string, readonly NetworkConnect[]> = new Map();
  /** What each pair was queued for last: it is queued again when that is something else. */
  #seen: ReadonlyMap<string, string> = new Map();

  constructor(options: TenantConnectControllerOptions) {
    this.#options = options;
    const { store, clock, onFailure, whenIdle } = options;
    this.#writer = new StatusWriter({ store, clock, fieldManager: FIELD_MANAGER });
    this.queue = new WorkQueue({
      reconcile: (key, signal) => this.#reconcile(key, signal),
      onFailure,
      parallelism: 8,
      clock,
    });
    this.batch = new Batch({ clock, ...BATCH, whenIdle, flush: () => this.#replan() });
  }

  /** NetworkConnects that don't count, with the reason. */
  problems(): ReadonlyMap<string, string> {
    return new Map([...this.#plan.refusals].map(([key, { message }]) => [key, message]));
  }

  /** Follows what agreements depend on from now on. */
  follow(): void {
    const { tenantConnects, connects, udns, namespaces, nodes } = this.#options.informers;
    tenantConnects.onChange(() => this.networksChanged());
    connects.onChange(({ before, after }) => {
      const isOurs = [before, after].some(
        (one) => one !== undefined && tenantNetworks(one) !== undefined,
      );
      if (isOurs || !isDeepStrictEqual(before?.spec, after?.spec)) this.networksChanged();
    });
    udns.onChange(({ before, after }) => {
      if (before === undefined || after === undefined) this.networksChanged();
    });
    namespaces.onChange(({ before, after }) => {
      if (!isDeepStrictEqual(before?.metadata.labels, after?.metadata.labels))
        this.networksChanged();
    });
    nodes.onChange(({ before, after }) => {
      const addresses = [before, after].map((node) => node && hostNetworksOf(node).addresses);
      if (!isDeepStrictEqual(addresses[0], addresses[1])) this.networksChanged();
    });
  }

  /** Networks, or what connects them, may have changed. */
  networksChanged(): void {
    const { tenantConnects, connects } = this.#options.informers;
    // Where nobody asks for anything nothing is planned.
    if (this.#seen.size === 0 && isEmpty(tenantConnects.keys()) && isEmpty(connects.keys())) return;
    this.batch.add(['all']);
  }

  #replan(): void {
    const { informers, settings } = this.#options;
    const requests = informers.tenantConnects.list();
    const made = this.#made();
    this.#plan = planTenantConnects({
      requests,
      settings: settings.tenantConnects,
      labelsOf: (namespace) => {
        const found = informers.namespaces.get(namespace);
        return found === undefined ? undefined : (found.metadata.labels ?? {});
      },
      isDeclared: (network) => this.#isDeclared(network),
      rangesInTheWay: this.#inTheWay(),
      held: new Map([...made].map(([key, connect]) => [key, rangesOf(connect)])),
    });
    this.#requests = Map.groupBy(requests, (request) => pairKey(requestedPair(request)));
    const keys = new Set([...this.#plan.pairs.keys(), ...this.#requests.keys(), ...made.keys()]);
    const seen = new Map([...keys].map((key) => [key, this.#stateOf(key, made.get(key))]));
    for (const [key, state] of seen) if (this.#seen.get(key) !== state) this.queue.add(key);
    this.#seen = seen;
  }

  /** Connections that tenants have made, by pair. */
  #made(): ReadonlyMap<string, ClusterNetworkConnect> {
    return new Map(
      this.#options.informers.connects.list().flatMap((connect) => {
        const pair = tenantNetworks(connect);
        return pair === undefined ? [] : [[pairKey(pair), connect] as const];
      }),
    );
  }

  #connectOf(key: string): ClusterNetworkConnect | undefined {
    const name = tenantConnectName(pairOfKey(key));
    const found = this.#options.informers.connects.get(name);
    return found === undefined || tenantNetworks(found) === undefined ? undefined : found;
  }

  /** All that a reconcile of the pair reads. */
  #stateOf(key: string, connect: ClusterNetworkConnect | undefined): string {
    const requests = this.#requests.get(key) ?? [];
    return JSON.stringify([
      requests.map(({ metadata, spec, status }) => [
        metadata.uid,
        objectKey(metadata),
        spec,
        status,
      ]),
      requests.map(({ metadata }) => this.#plan.refusals.get(objectKey(metadata))),
      outcomeText(this.#plan.pairs.get(key)),
      connect?.metadata.uid,
      connect?.spec,
      connect?.status,
    ]);
  }

  /** One that others declare: a network that a NAD or a ClusterUserDefinedNetwork brings is its administrator's. */
  #isDeclared(network: string): boolean {
    const udn = this.#options.informers.udns.get(network);
    if (udn === undefined || roleOf(udn) !== 'primary') return false;
    return topologyOf(udn) !== 'localnet';
  }

  #inTheWay(): (pair: NetworkPair, isHeld: boolean) => readonly Prefix[] | undefined {
    const { informers, settings, selectedBy, network } = this.#options;
    const findOthers = once(() =>
      informers.connects
        .list()
        .filter((connect) => tenantNetworks(connect) === undefined)
        .map((connect) => ({
          ranges: rangesOf(connect).map(({ cidr }) => cidr),
          titles: new Set(selectedBy(connect).map(({ title }) => title)),
        })),
    );
    const findNodes = once(() =>
      informers.nodes.list().map((node) => ({
        name: node.metadata.name,
        hostAddresses: hostNetworksOf(node).addresses,
      })),
    );
    return (pair, isHeld) => {
      const networks = pair.map((title) => {
        const [namespace = '', name = ''] = title.split('/');
        return network(networkName(namespace, name));
      });
      const known = networks.filter((one) => one !== undefined);
      if (known.length < pair.length && !isHeld) return undefined;
      return [
        ...rangesInTheWay({
          networks: known,
          settings: settings.cluster,
          nodes: isHeld ? [] : findNodes(),
        }),
        ...findOthers()
          .filter(({ titles }) => pair.some((title) => titles.has(title)))
          .flatMap(({ ranges }) => ranges),
      ];
    };
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    // What was written comes back as a change, and the statuses follow then.
    if (await this.#writeConnect(key, signal)) return;
    const connect = this.#connectOf(key);
    for (const request of this.#requests.get(key) ?? [])
      await this.#writeStatus(request, connect, signal);
  }

  /** True if something had to be written. */
  async #writeConnect(key: string, signal: AbortSignal): Promise<boolean> {
    const { store } = this.#options;
    const outcome = this.#plan.pairs.get(key);
    const pair = pairOfKey(key);
    const found = this.#connectOf(key);
    const wanted = outcome?.kind === 'agreed' ? tenantConnect(pair, outcome) : undefined;
    const options = { fieldManager: FIELD_MANAGER, signal };
    if (found === undefined) {
      if (wanted === undefined) return false;
      await store.create(clusterNetworkConnects, wanted, options);
      return true;
    }
    const change = wanted === undefined ? 'replace' : tenantConnectChange(found, wanted);
    if (change === 'none') return false;
    const { name, uid } = found.metadata;
    try {
      if (change === 'replace')
        await store.delete(clusterNetworkConnects, name, {
          signal,
          ...(uid === undefined ? {} : { uid }),
        });
      else await store.patch(clusterNetworkConnects, name, { spec: wanted?.spec }, options);
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'not-found') throw error;
    }
    return true;
  }

  async #writeStatus(
    request: NetworkConnect,
    connect: ClusterNetworkConnect | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { store } = this.#options;
    const { conditions, nodes, reason } = tenantConnectStatus(request, this.#plan, connect);
    try {
      const isWritten = await this.#writer.write(
        networkConnects,
        request,
        { conditions, fields: { nodes, reason } },
        signal,
      );
      if (!isWritten) return;
    } catch (error) {
      if (!(error instanceof StoreError) || !['conflict', 'not-found'].includes(error.code))
        throw error;
      if (error.code === 'conflict')
        this.queue.addAfter(pairKey(requestedPair(request)), CONFLICT_DELAY);
      return;
    }
    const [accepted, connected] = conditions;
    const before = request.status?.conditions;
    const isNew = ({ type, status, reason: why }: typeof accepted): boolean => {
      const old = conditionOf(before, type);
      return old?.status !== status || (status !== 'True' && old.reason !== why);
    };
    if (accepted.status !== 'True' && isNew(accepted))
      await store.event({
        regarding: request,
        type: 'Warning',
        reason: accepted.reason,
        message: accepted.message,
      });
    const wasConnected = conditionOf(before, 'Connected')?.status === 'True';
    const isTold =
      connected.status === 'True' ||
      !QUIET.has(connected.reason) ||
      (wasConnected && connected.reason !== 'NotProgrammed');
    if (accepted.status === 'True' && isNew(connected) && isTold)
      await store.event({
        regarding: request,
        type: connected.status === 'True' ? 'Normal' : 'Warning',
        reason: connected.status === 'True' || !wasConnected ? connected.reason : 'Disconnected',
        message: connected.message,
      });
  }
}

/** Steps on the way, of which conditions are enough. */
const QUIET = new Set(['PeerNotAgreed', 'BeingConnected', 'NotProgrammed', 'NetworkNotReady']);

/** Looked up when it is asked for, and not again. */
function once<T>(find: () => T): () => T {
  let found: { readonly value: T } | undefined;
  return () => (found ??= { value: find() }).value;
}

const isEmpty = (keys: Iterable<string>): boolean => keys[Symbol.iterator]().next().done === true;

const outcomeText = (outcome: PairOutcome | undefined): unknown =>
  outcome?.kind === 'agreed'
    ? [
        outcome.types,
        outcome.ranges.map(({ cidr, networkPrefix }) => [
          cidr.family,
          String(cidr.base),
          cidr.length,
          networkPrefix,
        ]),
      ]
    : outcome;
