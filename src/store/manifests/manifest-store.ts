import { randomInt } from 'node:crypto';
import {
  objectKey,
  type KubeObject,
  type ObjectKey,
  type ResourceKind,
} from '../../api/objects.ts';
import { preciseTimestamp, systemClock, timestamp, type Clock } from '../clock.ts';
import { applyMergePatch, type JsonObject } from '../json.ts';
import {
  MANIFEST_STORE_TIMING,
  ManifestFollower,
  type ManifestStoreTiming,
} from './manifest-follower.ts';
import type { ObjectRules, Problem } from './manifest-rules.ts';
import { MemoryRecords } from './memory-records.ts';
import { ObjectCache } from './object-cache.ts';
import { coreEvent, countedAgain, EVENTS, type CoreEvent } from '../object-event.ts';
import {
  createdRecord,
  deletedRecord,
  describeRecord,
  objectOf,
  patchRecord,
  type ObjectRecord,
} from './object-record.ts';
import { selecting } from '../selected-events.ts';
import { isSelected, type Selection } from '../selection.ts';
import { readRecords, StateDirectory, type RecordStorage } from './state-directory.ts';
import {
  StoreError,
  type DeleteOptions,
  type Leadership,
  type ObjectEvent,
  type Store,
  type WatchEvent,
  type WriteOptions,
} from '../store.ts';
import { addressOf, RecordWriter } from './record-writer.ts';

export interface ManifestStoreOptions {
  /** Directory of manifests, read and watched, never written. */
  readonly manifests: string;
  /** Directory for what controllers write; shared by every process of the installation. Undefined: kept in memory. */
  readonly state: string | undefined;
  /** Starts from what is in the state directory, but writes nothing there. */
  readonly dryRun?: boolean;
  readonly rules: ObjectRules;
  /** Who speaks in the events. Default `heddle`. */
  readonly component?: string;
  readonly clock?: Clock;
  readonly timing?: Partial<ManifestStoreTiming>;
}

/** Objects from a directory of manifests; what controllers write about them goes to a state directory. */
export class ManifestStore implements Store {
  readonly #options: ManifestStoreOptions;
  readonly #clock: Clock;
  readonly #storage: RecordStorage;
  readonly #cache = new ObjectCache();
  readonly #writer: RecordWriter;
  readonly #closing = new AbortController();
  readonly #follower: ManifestFollower;

  private constructor(options: ManifestStoreOptions, storage: RecordStorage) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#storage = storage;
    this.#writer = new RecordWriter(storage, this.#cache);
    this.#follower = new ManifestFollower({
      ...options,
      clock: this.#clock,
      timing: { ...MANIFEST_STORE_TIMING, ...options.timing },
      storage,
      cache: this.#cache,
      writer: this.#writer,
      signal: this.#closing.signal,
    });
  }

  /** Reads everything there is; rejects when the state directory can't be used. */
  static async open(options: ManifestStoreOptions): Promise<ManifestStore> {
    const store = new ManifestStore(options, await storageFor(options));
    try {
      await store.#follower.start();
    } catch (error) {
      await store.close();
      throw error;
    }
    return store;
  }

  /** What is wrong at the moment with manifests and state; the newest picture, not a history. */
  get problems(): readonly Problem[] {
    return this.#follower.problems;
  }

  /** Calls `handler` with all problems now and whenever they change; the returned function ends that. */
  onProblems(handler: (problems: readonly Problem[]) => void): () => void {
    return this.#follower.onProblems(handler);
  }

  /** Where an object (`Kind namespace/name`) is written; undefined for one that no manifest declares. */
  placeOf(object: string): { readonly file: string; readonly line: number } | undefined {
    return this.#follower.placeOf(object);
  }

  /** Scans all files now, without waiting for notifications. */
  async refresh(): Promise<void> {
    await this.#follower.synchronise('everywhere');
  }

  async list<T extends KubeObject>(
    kind: ResourceKind<T>,
    signal?: AbortSignal,
    selection: Selection = {},
  ): Promise<readonly T[]> {
    this.#assertOpen(signal);
    await this.#writer.refresh('everywhere');
    return [...this.#cache.ofKind(kind)]
      .map(({ object }) => object as T)
      .filter((object) => isSelected(selection, object));
  }

  async get<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    this.#assertOpen(signal);
    const { id, path } = addressOf(kind, key);
    await this.#writer.refresh([path]);
    return this.#cache.get(id)?.object as T | undefined;
  }

  async watch<T extends KubeObject>(
    kind: ResourceKind<T>,
    handler: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
    selection?: Selection,
  ): Promise<void> {
    const ended = Promise.withResolvers<void>();
    const end = (): void => ended.resolve();
    const signals = AbortSignal.any([signal, this.#closing.signal]);
    if (signals.aborted) return;
    signals.addEventListener('abort', end, { once: true });
    const stop = this.#cache.watch(kind, {
      handler: selecting(selection, handler as (event: WatchEvent<KubeObject>) => void),
      onError: ended.reject,
    });
    try {
      await ended.promise;
    } finally {
      stop();
      signals.removeEventListener('abort', end);
    }
  }

  async create<T extends KubeObject>(
    kind: ResourceKind<T>,
    object: T,
    options: WriteOptions,
  ): Promise<T> {
    this.#assertOpen(options.signal);
    const { generateName } = object.metadata;
    const name = object.metadata.name || (generateName ?? '') + (generateName ? suffix() : '');
    const { namespace } = object.metadata;
    if (name === '')
      throw new StoreError('invalid', `${kind.kind}: metadata.name: is required to create it`);
    if (kind.namespaced && (namespace === undefined || namespace === ''))
      throw new StoreError('invalid', `${kind.kind} ${name}: metadata.namespace: is required`);
    const { apiVersion, kind: kindName } = kind;
    const born = { ...object, apiVersion, kind: kindName, metadata: { ...object.metadata, name } };
    const { id, path } = addressOf(kind, objectKey(born.metadata));
    return this.#writer.write([path], (transaction) => {
      if (transaction.get(id) !== undefined)
        throw new StoreError('already-exists', `${describe(kind, born.metadata)}: exists already`);
      const record = createdRecord({ object: born, now: preciseTimestamp(this.#clock.now()) });
      this.#validate(record, undefined);
      transaction.put({ id, path }, record, { durable: true });
      return objectOf(record) as T;
    });
  }

  patch<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    patch: object,
    options: WriteOptions,
  ): Promise<T> {
    const part = kind.hasStatus === false ? 'everything' : 'object';
    return this.#patch(kind, key, patch, options, part);
  }

  patchStatus<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    patch: object,
    options: WriteOptions,
  ): Promise<T> {
    const part = kind.hasStatus === false ? 'everything' : 'status';
    return this.#patch(kind, key, patch, options, part);
  }

  async #patch<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    patch: object,
    options: WriteOptions,
    part: 'object' | 'status' | 'everything',
  ): Promise<T> {
    this.#assertOpen(options.signal);
    const { id, path } = addressOf(kind, key);
    const { metadata } = patch as { metadata?: { resourceVersion?: string } };
    return this.#writer.write([path], (transaction) => {
      const record = transaction.get(id);
      if (record === undefined) throw notFound(kind, key);
      const { resourceVersion } = objectOf(record).metadata;
      for (const version of [options.resourceVersion, metadata?.resourceVersion])
        if (version !== undefined && version !== resourceVersion)
          throw new StoreError(
            'conflict',
            `${kind.kind} ${key}: has changed since version ${version}; read it again`,
          );
      const next = patchRecord(record, patch as JsonObject, part);
      if (next === record) return objectOf(record) as T;
      if (next === undefined) {
        transaction.put({ id, path }, undefined, { durable: true });
        this.#follower.scanSoon(0); // for what it owned, and for a manifest that asks for a new one
        return withoutFinalizers(objectOf(record)) as T;
      }
      if (part !== 'status') this.#validate(next, record);
      transaction.put({ id, path }, next, { durable: part !== 'status' || metadata !== undefined });
      return objectOf(next) as T;
    });
  }

  async delete(kind: ResourceKind, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    this.#assertOpen(options.signal);
    const { id, path } = addressOf(kind, key);
    await this.#writer.write([path], (transaction) => {
      const record = transaction.get(id);
      if (record === undefined) throw notFound(kind, key);
      if (options.uid !== undefined && options.uid !== record.uid)
        throw new StoreError(
          'conflict',
          `${kind.kind} ${key}: is another object now (uid ${record.uid}, not ${options.uid})`,
        );
      if (record.manifest !== undefined)
        throw new StoreError(
          'not-supported',
          `${kind.kind} ${key}: is defined in ${record.file ?? 'a manifest'}; remove it there`,
        );
      const next = deletedRecord(record, timestamp(this.#clock.now()));
      if (next !== record) transaction.put({ id, path }, next, { durable: true });
    });
    this.#follower.scanSoon(0); // for what it owned
  }

  async event(event: ObjectEvent): Promise<void> {
    this.#assertOpen();
    const now = timestamp(this.#clock.now());
    const object = coreEvent(event, this.#options.component ?? 'heddle', now);
    const { id, path } = addressOf(EVENTS, objectKey(object.metadata));
    await this.#writer.write([path], (transaction) => {
      const existing = transaction.get(id);
      const next =
        existing === undefined
          ? createdRecord({ object, now })
          : patchRecord(existing, countedAgain(objectOf(existing) as CoreEvent, now), 'everything');
      if (next !== undefined) transaction.put({ id, path }, next, { durable: false });
    });
  }

  lead(
    name: string,
    identity: string,
    signal: AbortSignal,
    onWaiting?: () => void,
  ): Promise<Leadership> {
    const until = AbortSignal.any([signal, this.#closing.signal]);
    return this.#storage.lead(name, identity, until, onWaiting);
  }

  async close(): Promise<void> {
    this.#closing.abort(new StoreError('unavailable', 'the store was closed'));
    this.#follower.close();
    await this.#writer.idle();
    this.#storage.close();
  }

  #assertOpen(signal?: AbortSignal): void {
    this.#closing.signal.throwIfAborted();
    signal?.throwIfAborted();
  }

  #validate(record: ObjectRecord, before: ObjectRecord | undefined): void {
    const errors = this.#options.rules.validate(
      objectOf(record),
      before === undefined ? undefined : objectOf(before),
    );
    if (errors.length > 0)
      throw new StoreError('invalid', `${describeRecord(record)}: ${errors.join('; ')}`);
  }
}

async function storageFor(options: ManifestStoreOptions): Promise<RecordStorage> {
  const clock = options.clock ?? systemClock;
  if (options.state === undefined) return new MemoryRecords();
  if (options.dryRun !== true) return StateDirectory.open(options.state, clock);
  const { records, problems } = await readRecords(options.state, clock);
  return new MemoryRecords(records, problems);
}

const describe = (kind: ResourceKind, meta: { name: string; namespace?: string }): string =>
  `${kind.kind} ${objectKey(meta)}`;

const notFound = (kind: ResourceKind, key: ObjectKey): StoreError =>
  new StoreError('not-found', `${kind.kind} ${key}: not found`);

const withoutFinalizers = (object: KubeObject): KubeObject =>
  applyMergePatch(object as unknown as JsonObject, {
    metadata: { finalizers: null },
  }) as unknown as KubeObject;

/** Letters and digits that make no words, as Kubernetes appends to a generateName. */
const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const suffix = (): string =>
  Array.from({ length: 5 }, () => SUFFIX_ALPHABET[randomInt(SUFFIX_ALPHABET.length)]).join('');
