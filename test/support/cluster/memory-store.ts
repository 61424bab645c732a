import { isDeepStrictEqual } from 'node:util';
import {
  objectKey,
  type KubeObject,
  type ObjectKey,
  type ObjectMeta,
  type ResourceKind,
} from '../../../src/api/objects.ts';
import type { ObjectRules } from '../../../src/store/manifests/manifest-rules.ts';
import { coreEvent, countedAgain, EVENTS } from '../../../src/store/object-event.ts';
import { selecting } from '../../../src/store/selected-events.ts';
import { isSelected, type Selection } from '../../../src/store/selection.ts';
import {
  StoreError,
  type DeleteOptions,
  type Leadership,
  type ObjectEvent,
  type Store,
  type WatchEvent,
  type WriteOptions,
} from '../../../src/store/store.ts';

/** One write as it reaches the store, before it is done. */
export interface Write {
  readonly verb: 'create' | 'patch' | 'patchStatus' | 'delete' | 'event';
  readonly kind: string;
  readonly key: ObjectKey;
  readonly fieldManager: string;
}

interface Watcher {
  readonly kind: string;
  readonly notify: (event: WatchEvent<KubeObject>) => void;
}

type JsonObject = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch))
    if (value === null || value === undefined) result.delete(key);
    else result.set(key, merge(result.get(key), value));
  return Object.fromEntries(result);
}

const NOW = '2026-01-01T00:00:00Z';

/** An API server in memory, for tests: the contract of a store, and garbage collection. */
export class MemoryStore implements Store {
  readonly #objects = new Map<string, Map<ObjectKey, KubeObject>>();
  readonly #watchers = new Set<Watcher>();
  readonly #leaders = new Map<string, Promise<void>>();
  readonly events: ObjectEvent[] = [];
  readonly writes: Write[] = [];
  /** Called before every write; may throw in its stead or abort somebody's signal. */
  beforeWrite: (write: Write) => void = () => undefined;
  readonly #rules: Pick<ObjectRules, 'validate'> | undefined;
  #version = 0;
  #created = 0;

  /** Without rules every object is accepted. */
  constructor(rules?: Pick<ObjectRules, 'validate'>) {
    this.#rules = rules;
  }

  #kind(kind: string): Map<ObjectKey, KubeObject> {
    const objects = this.#objects.get(kind) ?? new Map<ObjectKey, KubeObject>();
    this.#objects.set(kind, objects);
    return objects;
  }

  async list<T extends KubeObject>(
    kind: ResourceKind<T>,
    _signal?: AbortSignal,
    selection: Selection = {},
  ): Promise<readonly T[]> {
    await Promise.resolve();
    const all = [...this.#kind(kind.kind).values()] as T[];
    return all.filter((object) => isSelected(selection, object));
  }

  async get<T extends KubeObject>(kind: ResourceKind<T>, key: ObjectKey): Promise<T | undefined> {
    await Promise.resolve();
    return this.#kind(kind.kind).get(key) as T | undefined;
  }

  async watch<T extends KubeObject>(
    kind: ResourceKind<T>,
    handler: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
    selection?: Selection,
  ): Promise<void> {
    if (signal.aborted) return;
    const deliver = selecting(selection, handler);
    const queue: WatchEvent<KubeObject>[] = [
      ...[...this.#kind(kind.kind).values()].map((object) => ({ type: 'added' as const, object })),
      { type: 'synced' },
    ];
    let wake = Promise.withResolvers<void>();
    const watcher: Watcher = {
      kind: kind.kind,
      notify: (event) => {
        queue.push(event);
        wake.resolve();
      },
    };
    this.#watchers.add(watcher);
    const stop = (): void => wake.resolve();
    signal.addEventListener('abort', stop, { once: true });
    while (!signal.aborted) {
      const event = queue.shift();
      if (event === undefined) {
        await wake.promise;
        wake = Promise.withResolvers<void>();
      } else {
        await Promise.resolve();
        if (!signal.aborted) deliver(event as WatchEvent<T>);
      }
    }
    this.#watchers.delete(watcher);
  }

  async create<T extends KubeObject>(
    kind: ResourceKind<T>,
    object: T,
    options: WriteOptions,
  ): Promise<T> {
    await Promise.resolve();
    options.signal?.throwIfAborted();
    this.#created += 1;
    const { generateName } = object.metadata;
    const suffix = this.#created.toString(36).padStart(5, '0');
    const name = object.metadata.name || `${generateName ?? ''}${suffix}`;
    const key = objectKey({ ...object.metadata, name });
    this.#check(object, undefined);
    this.#writing({ verb: 'create', kind: kind.kind, key, fieldManager: options.fieldManager });
    if (this.#kind(kind.kind).has(key))
      throw new StoreError('already-exists', `${kind.plural} "${key}" already exists`);
    const metadata: ObjectMeta = {
      creationTimestamp: new Date(this.#created * 1000).toISOString().replace('.000', ''),
      uid: `00000000-0000-4000-8000-${String(this.#created).padStart(12, '0')}`,
      generation: 1,
      ...object.metadata,
      name,
    };
    return this.#put(kind.kind, key, { ...object, metadata }, 'added') as T;
  }

  async patch<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    patch: object,
    options: WriteOptions,
  ): Promise<T> {
    return await this.#patched(kind, key, 'patch', options, (before) => {
      const after = merge(before, patch) as KubeObject;
      const { status: _status, ...rest } = after;
      return before.status === undefined ? rest : { ...rest, status: before.status };
    });
  }

  async patchStatus<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    patch: object,
    options: WriteOptions,
  ): Promise<T> {
    return await this.#patched(kind, key, 'patchStatus', options, (before) => {
      const { status, metadata } = patch as { status?: unknown; metadata?: ObjectMeta };
      const labels = metadata?.labels;
      const annotations = metadata?.annotations;
      const isOpen = kind.apiVersion === 'v1' || kind.hasStatus === false;
      const ofCore = isOpen ? { metadata: { labels, annotations } } : {};
      const wanted = Object.fromEntries(
        Object.entries(ofCore.metadata ?? {}).filter(([, value]) => value !== undefined),
      );
      return merge(before, {
        ...(status === undefined ? {} : { status }),
        metadata: wanted,
      }) as KubeObject;
    });
  }

  async delete(kind: ResourceKind, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    await Promise.resolve();
    this.#writing({ verb: 'delete', kind: kind.kind, key, fieldManager: '' });
    const object = this.#existing(kind, key);
    if (options.uid !== undefined && options.uid !== object.metadata.uid)
      throw new StoreError('conflict', `${kind.plural} "${key}" has another uid`);
    if ((object.metadata.finalizers ?? []).length === 0) {
      this.#remove(kind.kind, key, object);
      return;
    }
    if (object.metadata.deletionTimestamp !== undefined) return;
    const metadata = { ...object.metadata, deletionTimestamp: NOW };
    this.#put(kind.kind, key, { ...object, metadata }, 'modified');
  }

  async event(event: ObjectEvent): Promise<void> {
    await Promise.resolve();
    const key = objectKey(event.regarding.metadata);
    this.#writing({ verb: 'event', kind: event.regarding.kind, key, fieldManager: '' });
    this.events.push(event);
    const first = coreEvent(event, 'test', NOW);
    const place = objectKey(first.metadata);
    const known = await this.get(EVENTS, place);
    const counted = known === undefined ? first : { ...known, ...countedAgain(known, NOW) };
    this.#put(EVENTS.kind, place, counted, known === undefined ? 'added' : 'modified');
  }

  async lead(name: string, _identity: string, signal: AbortSignal): Promise<Leadership> {
    const before = this.#leaders.get(name) ?? Promise.resolve();
    const released = Promise.withResolvers<void>();
    this.#leaders.set(
      name,
      before.then(() => released.promise),
    );
    const ended = new AbortController();
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => {
      released.resolve();
      ended.abort(signal.reason);
      aborted.reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    aborted.promise.catch(() => undefined);
    await Promise.race([before, aborted.promise]);
    return {
      signal: ended.signal,
      assert: () => ended.signal.throwIfAborted(),
      [Symbol.asyncDispose]: async () => {
        released.resolve();
        ended.abort(new Error(`${name}: leadership was given up`));
        await Promise.resolve();
      },
    };
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  /** How many watches are open. */
  get watching(): number {
    return this.#watchers.size;
  }

  #writing(write: Write): void {
    this.beforeWrite(write);
    this.writes.push(write);
  }

  /** What an API server would refuse. */
  #check(object: KubeObject, before: KubeObject | undefined): void {
    const name = `${object.kind} ${objectKey(object.metadata)}`;
    const [error] = this.#rules?.validate(object, before) ?? [];
    if (error !== undefined) throw new StoreError('invalid', `${name}: ${error}`);
    const added = (object.metadata.finalizers ?? []).filter(
      (one) => before?.metadata.finalizers?.includes(one) !== true,
    );
    if (before?.metadata.deletionTimestamp !== undefined && added.length > 0)
      throw new StoreError('invalid', `${name}: metadata.finalizers: can't be added any more`);
  }

  #existing(kind: ResourceKind, key: ObjectKey): KubeObject {
    const object = this.#kind(kind.kind).get(key);
    if (object === undefined)
      throw new StoreError('not-found', `${kind.plural} "${key}" not found`);
    return object;
  }

  async #patched<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    verb: 'patch' | 'patchStatus',
    { fieldManager, resourceVersion, signal }: WriteOptions,
    change: (before: KubeObject) => KubeObject,
  ): Promise<T> {
    await Promise.resolve();
    signal?.throwIfAborted();
    this.#writing({ verb, kind: kind.kind, key, fieldManager });
    const before = this.#existing(kind, key);
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      throw new StoreError('conflict', `${kind.plural} "${key}" has been modified`);
    const after = change(before);
    if (isDeepStrictEqual(after, before)) return before as T;
    this.#check(after, before);
    const isNewSpec = !isDeepStrictEqual(after.spec, before.spec);
    const generation = (before.metadata.generation ?? 1) + (isNewSpec ? 1 : 0);
    const isGone =
      after.metadata.deletionTimestamp !== undefined &&
      (after.metadata.finalizers ?? []).length === 0;
    const written = { ...after, metadata: { ...after.metadata, generation } };
    if (!isGone) return this.#put(kind.kind, key, written, 'modified') as T;
    this.#remove(kind.kind, key, after);
    return after as T;
  }

  #put(kind: string, key: ObjectKey, object: KubeObject, type: 'added' | 'modified'): KubeObject {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    const stored = { ...object, metadata };
    this.#kind(kind).set(key, stored);
    this.#notify(kind, { type, object: stored });
    return stored;
  }

  #remove(kind: string, key: ObjectKey, object: KubeObject): void {
    this.#kind(kind).delete(key);
    this.#notify(kind, { type: 'deleted', object });
    if (object.metadata.uid !== undefined) this.#collect(object.metadata.uid);
  }

  // What the garbage collector of Kubernetes does: what a vanished object owned is deleted.
  #collect(uid: string): void {
    for (const [kind, objects] of this.#objects)
      for (const [key, object] of objects)
        if (object.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true)
          void this.delete(
            { apiVersion: object.apiVersion, kind, plural: kind, namespaced: true },
            key,
          ).catch(() => undefined);
  }

  #notify(kind: string, event: WatchEvent<KubeObject>): void {
    for (const watcher of this.#watchers) if (watcher.kind === kind) watcher.notify(event);
  }
}
