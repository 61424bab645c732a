import {
  objectKey,
  type KubeObject,
  type ObjectKey,
  type ObjectMeta,
  type ResourceKind,
} from '../../api/objects.ts';
import { LEASES } from '../../api/node-lease.ts';
import { readStored } from '../../api/validation/stored-object.ts';
import { systemClock, timestamp, type Clock } from '../clock.ts';
import type { JsonObject } from '../json.ts';
import { ClusterIdentity } from './cluster-identity.ts';
import { KubernetesClient, type ApiRequest } from './kubernetes-client.ts';
import type { KubernetesConnection } from './kubernetes-connection.ts';
import { LEASE_TIMING, leadByLease, type LeaseTiming } from './kubernetes-lease.ts';
import { collectionPath, objectPath } from './kubernetes-paths.ts';
import { listAll, ListWatch, WATCH_TIMING, type WatchTiming } from './kubernetes-watch.ts';
import { coreEvent, countedAgain, EVENTS } from '../object-event.ts';
import type { Selection } from '../selection.ts';
import {
  StoreError,
  type DeleteOptions,
  type Leadership,
  type ObjectEvent,
  type Store,
  type WatchEvent,
  type WriteOptions,
} from '../store.ts';
import { ownTurn } from '../turn.ts';

export interface KubernetesStoreOptions {
  readonly connection: KubernetesConnection;
  /** Namespace of our leases. Default: the connection's, else `ovn-kubernetes`. */
  readonly namespace?: string;
  /** Who speaks in events. Default `heddle`. */
  readonly component?: string;
  readonly clock?: Clock;
  /** 0 ≤ n < 1. */
  readonly random?: () => number;
  readonly watchTiming?: Partial<WatchTiming>;
  readonly leaseTiming?: LeaseTiming;
}

const MERGE_PATCH = 'application/merge-patch+json';

/** Objects of a Kubernetes API server. */
export class KubernetesStore implements Store {
  readonly #options: KubernetesStoreOptions;
  readonly #client: KubernetesClient;
  /** Requests about one lease have a connection of their own, kept open: a renewal neither waits for others nor makes one in the middle of a rush. */
  readonly #leaseClient: KubernetesClient;
  readonly #clock: Clock;
  readonly #timing: WatchTiming;
  readonly #closing = new AbortController();
  readonly #cluster: ClusterIdentity;

  constructor(options: KubernetesStoreOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#timing = { ...WATCH_TIMING, ...options.watchTiming };
    const { connection, component = 'heddle' } = options;
    this.#client = new KubernetesClient(connection, component);
    this.#leaseClient = new KubernetesClient(connection, component);
    this.#cluster = new ClusterIdentity(this.#client, this.#clock, this.#closing.signal);
  }

  async list<T extends KubeObject>(
    kind: ResourceKind<T>,
    signal?: AbortSignal,
    selection: Selection = {},
  ): Promise<readonly T[]> {
    const { page } = this.#timing;
    const { items } = await this.#cluster.around(() =>
      listAll(this.#client, kind, page, selection, this.#until(signal)),
    );
    const found: T[] = [];
    for (const item of items) {
      await ownTurn();
      const read = readStored(kind, item);
      if (read.kind === 'value') found.push(read.value);
    }
    return found;
  }

  async get<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    try {
      const request = { method: 'GET', path: objectPath(kind, key) } as const;
      const found = await this.#send(kind, key, request, signal);
      const read = readStored(kind, found);
      if (read.kind === 'invalid')
        throw new StoreError('invalid', read.error, {
          metadata: (found as { readonly metadata?: ObjectMeta } | null)?.metadata,
        });
      return read.value;
    } catch (error) {
      if (error instanceof StoreError && error.code === 'not-found') return undefined;
      throw error;
    }
  }

  async watch<T extends KubeObject>(
    kind: ResourceKind<T>,
    handler: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
    selection: Selection = {},
  ): Promise<void> {
    const listWatch = new ListWatch(kind, handler, {
      selection,
      client: this.#client,
      cluster: this.#cluster,
      clock: this.#clock,
      random: this.#options.random ?? Math.random,
      timing: this.#timing,
    });
    await listWatch.run(this.#until(signal));
  }

  create<T extends KubeObject>(
    kind: ResourceKind<T>,
    object: T,
    { fieldManager, signal }: WriteOptions,
  ): Promise<T> {
    const { metadata } = object;
    const { name, ...nameless } = metadata;
    // An empty name means generateName, which the server only looks at when there is no name at all.
    const body = name === '' ? { ...object, metadata: nameless } : object;
    const path = collectionPath(kind, metadata.namespace);
    const query = { fieldManager };
    return this.#send(kind, objectKey(metadata), { method: 'POST', path, query, body }, signal);
  }

  patch<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    patch: object,
    options: WriteOptions,
  ): Promise<T> {
    return this.#patch(kind, key, objectPath(kind, key), patch as JsonObject, options);
  }

  patchStatus<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    patch: object,
    options: WriteOptions,
  ): Promise<T> {
    const path = objectPath(kind, key) + (kind.hasStatus === false ? '' : '/status');
    return this.#patch(kind, key, path, patch as JsonObject, options);
  }

  #patch<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    path: string,
    patch: JsonObject,
    { fieldManager, resourceVersion, signal }: WriteOptions,
  ): Promise<T> {
    const metadata = patch['metadata'] as JsonObject | undefined;
    const body =
      resourceVersion === undefined
        ? patch
        : { ...patch, metadata: { ...metadata, resourceVersion } };
    const query = { fieldManager };
    const request = { method: 'PATCH', path, query, body, contentType: MERGE_PATCH } as const;
    return this.#send(kind, key, request, signal);
  }

  async delete(
    kind: ResourceKind,
    key: ObjectKey,
    { uid, signal }: DeleteOptions = {},
  ): Promise<void> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: 'Background',
      ...(uid === undefined ? {} : { preconditions: { uid } }),
    };
    const request = { method: 'DELETE', path: objectPath(kind, key), body } as const;
    await this.#send(kind, key, request, signal);
  }

  async event(event: ObjectEvent, signal?: AbortSignal): Promise<void> {
    const { component = 'heddle' } = this.#options;
    const now = timestamp(this.#clock.now());
    const object = coreEvent(event, component, now);
    const write = { fieldManager: component, ...(signal === undefined ? {} : { signal }) };
    const key = objectKey(object.metadata);
    for (let attempt = 1; ; attempt += 1)
      try {
        await this.create(EVENTS, object, write);
        return;
      } catch (error) {
        if (!(error instanceof StoreError) || error.code !== 'already-exists' || attempt === 3)
          throw error;
        const existing = await this.get(EVENTS, key, signal);
        if (existing === undefined) continue; // it expired in between
        await this.patch(EVENTS, key, countedAgain(existing, now), write);
        return;
      }
  }

  lead(
    name: string,
    identity: string,
    signal: AbortSignal,
    onWaiting?: () => void,
    onFailure?: (error: unknown) => void,
  ): Promise<Leadership> {
    const { namespace, connection, leaseTiming } = this.#options;
    return leadByLease(
      {
        store: this,
        namespace: namespace ?? connection.namespace ?? 'ovn-kubernetes',
        name,
        identity,
        timing: leaseTiming ?? LEASE_TIMING,
        clock: this.#clock,
      },
      this.#until(signal),
      onWaiting,
      onFailure,
    );
  }

  async close(): Promise<void> {
    this.#closing.abort(new StoreError('unavailable', 'the store was closed'));
    this.#client.close();
    this.#leaseClient.close();
  }

  #until(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined
      ? this.#closing.signal
      : AbortSignal.any([signal, this.#closing.signal]);
  }

  async #send<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    request: Omit<ApiRequest, 'about' | 'signal'>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const until = this.#until(signal);
    until.throwIfAborted();
    const about = `${kind.kind} ${key}`;
    const client = kind.plural === LEASES.plural ? this.#leaseClient : this.#client;
    return (await client.send({ ...request, about, signal: until })) as unknown as T;
  }
}
