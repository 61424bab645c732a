import { randomInt } from 'node:crypto';
import { objectKey, type KubeObject, type ObjectKey, type ResourceKind } from '../api/objects.ts';
import { systemClock, timestamp, type Clock } from './clock.ts';
import { applyMergePatch, type JsonObject } from './json.ts';
import type { ObjectRules, Problem } from './manifest-rules.ts';
import { ManifestSource, type SourcedObject } from './manifest-source.ts';
import { MemoryRecords } from './memory-records.ts';
import { ObjectCache, type CachedObject } from './object-cache.ts';
import { coreEvent, countedAgain, EVENTS, type CoreEvent } from './object-event.ts';
import {
  acceptManifest,
  createdRecord,
  deletedRecord,
  describeRecord,
  idOfObject,
  isReplacement,
  objectId,
  objectOf,
  patchRecord,
  type ObjectRecord,
} from './object-record.ts';
import { recordPath } from './record-path.ts';
import { readRecords, StateDirectory, type RecordStorage } from './state-directory.ts';
import {
  StoreError,
  type DeleteOptions,
  type Leadership,
  type ObjectEvent,
  type Store,
  type WatchEvent,
  type WriteOptions,
} from './store.ts';
import { RecordWriter, type Address, type Transaction } from './record-writer.ts';

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

/** All in milliseconds. */
export interface ManifestStoreTiming {
  /** From a file system notification to the look: editors write in several steps. */
  readonly debounce: number;
  /** How long a manifest must be gone until its object is: editors move files away and back. */
  readonly removalGrace: number;
  /** Between looks at everything, for file systems that don't notify. */
  readonly poll: number;
}

const TIMING: ManifestStoreTiming = { debounce: 30, removalGrace: 300, poll: 5000 };
/** Looking at everything may take this part of the time at most. */
const POLL_SHARE = 0.05;
/** Events are forgotten after an hour, as in Kubernetes. */
const EVENT_LIFE = 3_600_000;

/** Objects from a directory of manifests; what controllers write about them goes to a state directory. */
export class ManifestStore implements Store {
  readonly #options: ManifestStoreOptions;
  readonly #clock: Clock;
  readonly #timing: ManifestStoreTiming;
  readonly #source: ManifestSource;
  readonly #storage: RecordStorage;
  readonly #cache = new ObjectCache();
  readonly #writer: RecordWriter;
  readonly #closing = new AbortController();
  /** When a removed manifest's object, or an object without an owner, was first missed. */
  readonly #missedSince = new Map<string, number>();
  /** Manifests that were compared with their record, so that a look costs what changed. */
  readonly #settled = new Map<SourcedObject, ObjectRecord>();
  #refusals = new Map<SourcedObject, Problem>();
  #failure: Problem | undefined;
  readonly #problemHandlers = new Set<(problems: readonly Problem[]) => void>();
  #problems: readonly Problem[] = [];
  #cancelLook: (() => void) | undefined;
  #cancelPoll: (() => void) | undefined;

  private constructor(options: ManifestStoreOptions, storage: RecordStorage) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#timing = { ...TIMING, ...options.timing };
    this.#storage = storage;
    this.#writer = new RecordWriter(storage, this.#cache);
    const onHint = (): void => this.#lookSoon(this.#timing.debounce);
    storage.onHint = onHint;
    this.#source = new ManifestSource(options.manifests, options.rules, this.#clock, onHint);
  }

  /** Reads everything there is; rejects when the state directory can't be used. */
  static async open(options: ManifestStoreOptions): Promise<ManifestStore> {
    const store = new ManifestStore(options, await storageFor(options));
    try {
      if (await store.#synchronise('everywhere')) {
        // Something is gone: be sure of it before anybody acts on what is left.
        const grace = Promise.withResolvers<void>();
        store.#clock.after(store.#timing.removalGrace, () => grace.resolve());
        await grace.promise;
        await store.#synchronise('everywhere');
      }
      if (store.#failure !== undefined) throw new StoreError('unavailable', store.#failure.message);
    } catch (error) {
      await store.close();
      throw error;
    }
    store.#pollAfter(store.#timing.poll);
    return store;
  }

  /** What is wrong at the moment with manifests and state; the newest picture, not a history. */
  get problems(): readonly Problem[] {
    return this.#problems;
  }

  /** Calls `handler` with all problems now and whenever they change; the returned function ends that. */
  onProblems(handler: (problems: readonly Problem[]) => void): () => void {
    this.#problemHandlers.add(handler);
    handler(this.#problems);
    return () => {
      this.#problemHandlers.delete(handler);
    };
  }

  /** Looks at all files now, without waiting for notifications. */
  async refresh(): Promise<void> {
    await this.#synchronise('everywhere');
  }

  async list<T extends KubeObject>(
    kind: ResourceKind<T>,
    signal?: AbortSignal,
  ): Promise<readonly T[]> {
    this.#assertOpen(signal);
    await this.#writer.refresh('everywhere');
    return [...this.#cache.ofKind(kind)].map(({ object }) => object as T);
  }

  async get<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    this.#assertOpen(signal);
    const { id, path } = this.#address(kind, key);
    await this.#writer.refresh([path]);
    return this.#cache.get(id)?.object as T | undefined;
  }

  async watch<T extends KubeObject>(
    kind: ResourceKind<T>,
    handler: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const ended = Promise.withResolvers<void>();
    const end = (): void => ended.resolve();
    const signals = AbortSignal.any([signal, this.#closing.signal]);
    if (signals.aborted) return;
    signals.addEventListener('abort', end, { once: true });
    const stop = this.#cache.watch(kind, {
      handler: handler as (event: WatchEvent<KubeObject>) => void,
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
    const { id, path } = this.#address(kind, objectKey(born.metadata));
    return this.#writer.write([path], (transaction) => {
      if (transaction.get(id) !== undefined)
        throw new StoreError('already-exists', `${describe(kind, born.metadata)}: exists already`);
      const record = createdRecord({ object: born, now: timestamp(this.#clock.now()) });
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
    const { id, path } = this.#address(kind, key);
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
        this.#lookSoon(0); // for what it owned, and for a manifest that asks for a new one
        return withoutFinalizers(objectOf(record)) as T;
      }
      if (part !== 'status') this.#validate(next, record);
      transaction.put({ id, path }, next, { durable: part !== 'status' || metadata !== undefined });
      return objectOf(next) as T;
    });
  }

  async delete(kind: ResourceKind, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    this.#assertOpen(options.signal);
    const { id, path } = this.#address(kind, key);
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
      this.#delete(transaction, { id, path }, record);
    });
    this.#lookSoon(0); // for what it owned
  }

  async event(event: ObjectEvent): Promise<void> {
    this.#assertOpen();
    const now = timestamp(this.#clock.now());
    const object = coreEvent(event, this.#options.component ?? 'heddle', now);
    const { id, path } = this.#address(EVENTS, objectKey(object.metadata));
    await this.#writer.write([path], (transaction) => {
      const existing = transaction.get(id);
      const next =
        existing === undefined
          ? createdRecord({ object, now })
          : patchRecord(existing, countedAgain(objectOf(existing) as CoreEvent, now), 'everything');
      if (next !== undefined) transaction.put({ id, path }, next, { durable: false });
    });
  }

  lead(name: string, identity: string, signal: AbortSignal): Promise<Leadership> {
    return this.#storage.lead(name, identity, AbortSignal.any([signal, this.#closing.signal]));
  }

  async close(): Promise<void> {
    this.#closing.abort(new StoreError('unavailable', 'the store was closed'));
    this.#cancelLook?.();
    this.#cancelPoll?.();
    this.#source.close();
    await this.#writer.idle();
    this.#storage.close();
  }

  #assertOpen(signal?: AbortSignal): void {
    this.#closing.signal.throwIfAborted();
    signal?.throwIfAborted();
  }

  #address(kind: ResourceKind, key: ObjectKey): Address {
    const slash = key.indexOf('/');
    const namespace = slash === -1 ? '' : key.slice(0, slash);
    const name = key.slice(slash + 1);
    return {
      id: objectId({ ...kind, namespace, name }),
      path: recordPath(kind, namespace, name),
    };
  }

  #validate(record: ObjectRecord, before: ObjectRecord | undefined): void {
    const errors = this.#options.rules.validate(
      objectOf(record),
      before === undefined ? undefined : objectOf(before),
    );
    if (errors.length > 0)
      throw new StoreError('invalid', `${describeRecord(record)}: ${errors.join('; ')}`);
  }

  #delete(transaction: Transaction, address: Address, record: ObjectRecord): void {
    const next = deletedRecord(record, timestamp(this.#clock.now()));
    if (next !== record) transaction.put(address, next, { durable: true });
  }

  // ---- keeping up with files ----

  #lookSoon(milliseconds: number): void {
    if (this.#closing.signal.aborted || this.#cancelLook !== undefined) return;
    this.#cancelLook = this.#clock.after(milliseconds, () => {
      this.#cancelLook = undefined;
      void this.#synchronise('dirty');
    });
  }

  #pollAfter(milliseconds: number): void {
    if (this.#closing.signal.aborted) return;
    this.#cancelPoll = this.#clock.after(milliseconds, () => void this.#poll());
  }

  async #poll(): Promise<void> {
    const started = this.#clock.now();
    await this.#synchronise('everywhere');
    const took = this.#clock.now() - started;
    this.#pollAfter(Math.max(this.#timing.poll, took / POLL_SHARE));
  }

  /** Reads what changed and brings the records in line with the manifests; true when another look is due after the grace time. */
  async #synchronise(where: 'everywhere' | 'dirty'): Promise<boolean> {
    let waits = false;
    try {
      await this.#writer.refresh(where, () => this.#source.scan(where));
      if (this.#closing.signal.aborted) return false;
      const overdue = this.#overdue();
      waits = overdue.waits;
      const stale = [...this.#wanted().objects.values()].filter((wanted) => this.#isStale(wanted));
      if (stale.length > 0 || overdue.records.length > 0)
        await this.#bringInLine(stale, overdue.records);
      this.#failure = undefined;
    } catch (error) {
      const file = this.#options.state ?? this.#options.manifests;
      this.#failure = { severity: 'error', file, message: (error as Error).message };
    }
    this.#report();
    if (waits) this.#lookSoon(this.#timing.removalGrace);
    return waits;
  }

  #wanted(): ReturnType<ManifestSource['wanted']> {
    return this.#source.wanted((id) => this.#cache.get(id)?.record.file);
  }

  #isStale(wanted: SourcedObject): boolean {
    const cached = this.#cache.get(idOfObject(wanted.object));
    if (cached !== undefined && this.#settled.get(wanted) === cached.record) return false;
    return this.#successor(wanted, cached?.record) !== cached?.record;
  }

  /** The record that `wanted` makes of `record`: the same one if nothing is to be done; undefined if it must go first. */
  #successor(wanted: SourcedObject, record: ObjectRecord | undefined): ObjectRecord | undefined {
    this.#refusals.delete(wanted);
    if (
      record !== undefined &&
      (record.deleted !== undefined || isReplacement(record, wanted.object))
    )
      return record.deleted === undefined ? undefined : record;
    const now = timestamp(this.#clock.now());
    const next = acceptManifest(record, { ...wanted, now });
    if (record === undefined) return next;
    if (next === record || next.manifest === record.manifest) {
      this.#settled.set(wanted, next);
      return next;
    }
    const errors = this.#options.rules.validate(objectOf(next), objectOf(record));
    if (errors.length === 0) return next;
    this.#refusals.set(wanted, {
      severity: 'error',
      file: `${this.#options.manifests}/${wanted.file}`,
      line: wanted.line,
      object: describeRecord(record),
      message: `${errors.join('; ')}; the object stays as it was`,
    });
    this.#settled.set(wanted, record);
    return record;
  }

  /** Objects whose manifest or whose last owner has been gone for the grace time. */
  #overdue(): { records: readonly CachedObject[]; waits: boolean } {
    const wanted = this.#wanted();
    const now = this.#clock.now();
    const missed = new Set<string>();
    const records: CachedObject[] = [];
    for (const cached of this.#cache.all()) {
      const id = objectId(cached.record);
      if (cached.record.deleted !== undefined || !this.#isUnwanted(cached, wanted)) continue;
      missed.add(id);
      const since = this.#missedSince.get(id) ?? now;
      this.#missedSince.set(id, since);
      if (now - since >= this.#timing.removalGrace) records.push(cached);
    }
    for (const id of this.#missedSince.keys()) if (!missed.has(id)) this.#missedSince.delete(id);
    return { records, waits: missed.size > records.length };
  }

  #isUnwanted(
    { record, object }: CachedObject,
    wanted: ReturnType<ManifestSource['wanted']>,
  ): boolean {
    if (record.manifest !== undefined)
      return !wanted.objects.has(objectId(record)) && !wanted.holds(record);
    if (record.kind === 'Event' && record.apiVersion === 'v1')
      return this.#clock.now() - Date.parse((object as CoreEvent).lastTimestamp) > EVENT_LIFE;
    const owners = object.metadata.ownerReferences ?? [];
    return (
      owners.length > 0 &&
      owners.every(
        ({ apiVersion, kind, uid }) =>
          this.#options.rules.kindOf(apiVersion, kind) !== undefined && !this.#cache.hasUid(uid),
      )
    );
  }

  /** Writes what the manifests changed, after another look at both while nobody else writes. */
  async #bringInLine(
    stale: readonly SourcedObject[],
    overdue: readonly CachedObject[],
  ): Promise<void> {
    const paths = [
      ...stale.map(({ kind, object }) => this.#address(kind, objectKey(object.metadata)).path),
      ...overdue.map(({ path }) => path),
    ];
    await this.#writer.write(paths, async (transaction) => {
      if (overdue.length > 0) {
        await this.#source.scan('everywhere');
        await transaction.refreshAll();
      } else await this.#source.look(stale.map(({ file }) => file));
      const wanted = this.#wanted();
      for (const { path, record } of overdue) {
        const id = objectId(record);
        const cached = this.#cache.get(id);
        if (cached === undefined || !this.#isUnwanted(cached, wanted)) continue;
        this.#delete(transaction, { id, path }, cached.record);
        this.#missedSince.delete(id);
      }
      for (const { object } of stale) {
        const id = idOfObject(object);
        const current = wanted.objects.get(id);
        if (current === undefined) continue;
        const { path } = this.#address(current.kind, objectKey(current.object.metadata));
        const record = transaction.get(id);
        const next = this.#successor(current, record);
        if (next === undefined && record !== undefined)
          this.#delete(transaction, { id, path }, record);
        else if (next !== undefined && next !== record)
          transaction.put({ id, path }, next, { durable: true });
      }
    });
    // What was removed may have owned something, and what had to go first is to be made again.
    if (overdue.length > 0 || stale.some((wanted) => this.#isStale(wanted))) this.#lookSoon(0);
  }

  #report(): void {
    const wanted = this.#wanted();
    const current = new Set(wanted.objects.values());
    for (const key of this.#settled.keys()) if (!current.has(key)) this.#settled.delete(key);
    for (const key of this.#refusals.keys()) if (!current.has(key)) this.#refusals.delete(key);
    const state = [...this.#storage.problems].map(([, message]): Problem => ({
      severity: 'error',
      file: this.#options.state ?? '',
      message,
    }));
    const { unwatched } = this.#source;
    const problems: readonly Problem[] = [
      ...wanted.problems,
      ...this.#refusals.values(),
      ...state,
      ...(this.#failure === undefined ? [] : [this.#failure]),
      ...(unwatched === undefined
        ? []
        : [
            {
              severity: 'warning',
              file: this.#options.manifests,
              message: `can't be watched (${unwatched.message}): changes are found within ${this.#timing.poll / 1000} s`,
            } as const,
          ]),
    ];
    if (JSON.stringify(problems) === JSON.stringify(this.#problems)) return;
    this.#problems = problems;
    for (const handler of new Set(this.#problemHandlers)) handler(problems);
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
