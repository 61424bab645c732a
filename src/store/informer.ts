import { isDeepStrictEqual } from 'node:util';
import {
  objectKey,
  type KubeObject,
  type ObjectKey,
  type ObjectMeta,
  type ResourceKind,
} from '../api/objects.ts';
import { orAborted } from './abort.ts';
import { ChangeHandler, type Change } from './change-handler.ts';
import { systemClock, type Clock } from './clock.ts';
import type { Selection } from './selection.ts';
import { StoreError, type Store } from './store.ts';
import { errorText } from '../api/error-text.ts';

export type { Change };

export interface InformerOptions<T extends KubeObject> {
  /** Called each time a handler or the function of an index throws; it is called again for that object, and everything else goes on. */
  readonly onHandlerError: (error: unknown, change: Change<T>) => void;
  /** Called when what was thrown at is taken, or nobody is left to take it. */
  readonly onHandled?: (key: ObjectKey, isTaken: boolean) => void;
  /**
   * The source may do without this kind (a feature that is not installed): then there are no objects of it until it is.
   * Called once when that is found.
   */
  readonly onNotInstalled?: (error: StoreError) => void;
  /** Cuts an object down to what its readers need before it is kept; changes of the rest are no changes. */
  readonly keep?: (object: T) => T;
  /** Which objects of the kind are followed. Default: all. */
  readonly selection?: Selection;
  /** Called for everything that the watch delivers, changed or not; `metadata` undefined for an object that is gone. */
  readonly onShown?: (key: ObjectKey, uid: string | undefined, metadata?: ObjectMeta) => void;
  /** Called for an object whose newest version can't be used, and when that is over. */
  readonly onMalformed?: (key: ObjectKey, problem: string | undefined) => void;
  readonly clock?: Clock;
}

/** Objects by a value computed from each; one object may have several values. */
export interface Index<T extends KubeObject> {
  get(value: string): readonly T[];
  values(): Iterable<string>;
}

export type IsSame<T> = (before: T, after: T) => boolean;

/** A kind's objects as their readers see them. */
export interface ObjectView<T extends KubeObject> {
  readonly kind: ResourceKind<T>;
  get(key: ObjectKey): T | undefined;
  list(): readonly T[];
  keys(): Iterable<ObjectKey>;
  inNamespace(namespace: string): readonly T[];
  /**
   * Objects found by `valuesOf`; kept current from now on. Make it once, read it often. Where `isSame` says so a change leaves the
   * values as they are.
   */
  index(valuesOf: (object: T) => readonly string[], isSame?: IsSame<T>): Index<T>;
  /** Calls `handler` for every object that is here, unless it is to hear of what comes from `now` on, then for every change; the returned function ends that. */
  onChange(handler: (change: Change<T>) => void, from?: 'now'): () => void;
}

/** By the clock that is shown, and by that which goes forward only; milliseconds. */
interface StalledSince {
  readonly now: number;
  readonly monotonic: number;
}

const DEFAULT_SYNC_LIMIT = 60_000;

/** Keys by value: an object that changes nowhere but in its version is found as it is now. */
class ValueIndex<T extends KubeObject> implements Index<T> {
  readonly #objects: ReadonlyMap<ObjectKey, T>;
  readonly #valuesOf: (object: T) => readonly string[];
  readonly #keys = new Map<string, Set<ObjectKey>>();
  readonly #valuesByKey = new Map<ObjectKey, readonly string[]>();
  /** Objects that `valuesOf` threw at. */
  readonly #unknown = new Set<ObjectKey>();
  readonly #isSame: IsSame<T> | undefined;

  constructor(
    objects: ReadonlyMap<ObjectKey, T>,
    valuesOf: (object: T) => readonly string[],
    isSame: IsSame<T> | undefined,
  ) {
    this.#objects = objects;
    this.#valuesOf = valuesOf;
    this.#isSame = isSame;
  }

  get(value: string): readonly T[] {
    return [...(this.#keys.get(value) ?? [])]
      .map((key) => this.#objects.get(key))
      .filter((object) => object !== undefined);
  }

  values(): Iterable<string> {
    return this.#keys.keys();
  }

  /** An object that `valuesOf` throws at is in no list. */
  update({ key, before, after }: Change<T>): void {
    const isSame =
      before !== undefined &&
      after !== undefined &&
      !this.#unknown.has(key) &&
      this.#isSame?.(before, after) === true;
    if (isSame) return;
    this.#unknown.add(key);
    for (const value of this.#valuesByKey.get(key) ?? []) {
      const keys = this.#keys.get(value);
      keys?.delete(key);
      if (keys?.size === 0) this.#keys.delete(value);
    }
    this.#valuesByKey.delete(key);
    const values = after === undefined ? [] : this.#valuesOf(after);
    this.#unknown.delete(key);
    for (const value of values) {
      const keys = this.#keys.get(value) ?? new Set<ObjectKey>();
      this.#keys.set(value, keys.add(key));
    }
    if (values.length > 0) this.#valuesByKey.set(key, values);
  }
}

/** Members of metadata that change whenever anything does, and say nothing by themselves. */
const BOOKKEEPING = ['resourceVersion', 'generation', 'managedFields'];

function isSameContent(a: KubeObject, b: KubeObject): boolean {
  const content = ({ metadata, ...rest }: KubeObject): readonly unknown[] => [
    rest,
    Object.entries(metadata).filter(([name]) => !BOOKKEEPING.includes(name)),
  ];
  return isDeepStrictEqual(content(a), content(b));
}

/** A kind's objects in memory, kept current by a watch: what controllers read instead of asking the store. */
export class Informer<T extends KubeObject> implements ObjectView<T> {
  readonly kind: ResourceKind<T>;
  readonly #options: InformerOptions<T>;
  readonly #clock: Clock;
  readonly #objects = new Map<ObjectKey, T>();
  /** Before the handlers, which read them. */
  readonly #indexes = new Map<Index<T>, ChangeHandler<T>>();
  readonly #handlers = new Set<ChangeHandler<T>>();
  readonly #sync = Promise.withResolvers<void>();
  readonly #malformed = new Map<ObjectKey, string>();
  /** Objects that some handler or index threw at. */
  readonly #unhandled = new Set<ObjectKey>();
  #byNamespace: Index<T> | undefined;
  #isSynced = false;
  #isInstalled = true;
  #stalled: StoreError | undefined;
  #stalledSince: StalledSince | undefined;

  constructor(kind: ResourceKind<T>, options: InformerOptions<T>) {
    this.kind = kind;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    // Nobody may be waiting for the first synchronisation when the watch fails.
    this.#sync.promise.catch(() => undefined);
  }

  /** Follows the store until `signal` aborts. */
  async run(store: Pick<Store, 'watch'>, signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#end(), { once: true });
    try {
      await store.watch(
        this.kind,
        (event) => {
          if (event.type === 'stalled') {
            this.#stalled = event.error;
            this.#stalledSince ??= { now: this.#clock.now(), monotonic: this.#clock.monotonic() };
            this.#mayBeMissing(event.error);
          } else {
            this.#stalled = undefined;
            this.#stalledSince = undefined;
            this.#isInstalled = true;
          }
          if (event.type === 'synced') {
            this.#isSynced = true;
            this.#sync.resolve();
          } else if (event.type === 'malformed') {
            const { metadata, error } = event;
            const key = objectKey(metadata);
            this.#malformed.set(key, error.message);
            this.#options.onMalformed?.(key, error.message);
            this.#options.onShown?.(key, metadata.uid, metadata);
          } else if (event.type !== 'stalled') {
            const { object } = event;
            const key = objectKey(object.metadata);
            if (this.#malformed.delete(key)) this.#options.onMalformed?.(key, undefined);
            const isGone = event.type === 'deleted';
            if (isGone) this.#update(key);
            else this.#keep(key, object);
            const { uid } = object.metadata;
            if (isGone) this.#options.onShown?.(key, uid);
            else this.#options.onShown?.(key, uid, object.metadata);
          }
        },
        signal,
        this.#options.selection,
      );
      this.#sync.reject(new StoreError('unavailable', `${this.kind.plural}: watch was ended`));
    } catch (error) {
      this.#sync.reject(error);
      throw error;
    }
  }

  /** True once everything that existed at the start is here. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Resolves when everything that existed at the start is here, however long that takes; rejects when the watch ends before. */
  get whenSynced(): Promise<void> {
    return this.#sync.promise;
  }

  /** False while the source does not serve this kind. */
  get isInstalled(): boolean {
    return this.#isInstalled;
  }

  /** Why the source can't be read at the moment, if so. */
  get stalled(): StoreError | undefined {
    return this.#stalled;
  }

  /** Since when that is so. */
  get stalledSince(): StalledSince | undefined {
    return this.#stalledSince;
  }

  /**
   * Resolves when everything that existed at the start is here; rejects with the reason after `limit` milliseconds, or when `signal`
   * aborts.
   */
  async synced(limit: number = DEFAULT_SYNC_LIMIT, signal?: AbortSignal): Promise<void> {
    const late = Promise.withResolvers<never>();
    const cancel = this.#clock.after(limit, () => {
      const why = this.#stalled === undefined ? 'no answer' : this.#stalled.message;
      late.reject(
        new StoreError(
          'unavailable',
          `${this.kind.plural} (${this.kind.apiVersion}) could not be read within ${limit / 1000} s: ${why}`,
          { cause: this.#stalled },
        ),
      );
    });
    try {
      const synced = Promise.race([this.#sync.promise, late.promise]);
      await (signal === undefined ? synced : orAborted(synced, signal));
    } finally {
      cancel();
    }
  }

  /** Objects whose newest version can't be used, with the reason; what is here of them is older. */
  get malformed(): ReadonlyMap<ObjectKey, string> {
    return this.#malformed;
  }

  /** Objects of which a handler or an index did not take the last change, with what it threw. */
  unhandled(): ReadonlyMap<ObjectKey, unknown> {
    const result = new Map<ObjectKey, unknown>();
    for (const key of this.#unhandled) {
      const failure = this.#failureOf(key);
      if (failure !== undefined) result.set(key, failure.error);
    }
    return result;
  }

  get unhandledCount(): number {
    return this.#unhandled.size;
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(key);
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  keys(): Iterable<ObjectKey> {
    return this.#objects.keys();
  }

  inNamespace(namespace: string): readonly T[] {
    this.#byNamespace ??= this.index((object) => [object.metadata.namespace ?? '']);
    return this.#byNamespace.get(namespace);
  }

  index(valuesOf: (object: T) => readonly string[], isSame?: IsSame<T>): Index<T> {
    return this.#addIndex(valuesOf, isSame);
  }

  onChange(handler: (change: Change<T>) => void, from?: 'now'): () => void {
    const reader = this.#reader(handler);
    this.#handlers.add(reader);
    if (from === undefined)
      for (const [key, after] of new Map(this.#objects))
        reader.call({ key, before: undefined, after });
    return () => {
      this.#handlers.delete(reader);
      reader.end();
    };
  }

  /** The same objects for a reader that comes and goes: its handlers and indexes end when `signal` aborts. */
  until(signal: AbortSignal): ObjectView<T> {
    const atEnd = (end: () => void): void => {
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    };
    return {
      kind: this.kind,
      get: (key) => this.get(key),
      list: () => this.list(),
      keys: () => this.keys(),
      inNamespace: (namespace) => this.inNamespace(namespace),
      index: (valuesOf, isSame) => {
        const index = this.#addIndex(valuesOf, isSame);
        atEnd(() => {
          this.#indexes.get(index)?.end();
          this.#indexes.delete(index);
        });
        return index;
      },
      onChange: (handler, from) => {
        const end = this.onChange(handler, from);
        atEnd(end);
        return end;
      },
    };
  }

  #addIndex(valuesOf: (object: T) => readonly string[], isSame: IsSame<T> | undefined): Index<T> {
    const index = new ValueIndex(this.#objects, valuesOf, isSame);
    const reader = this.#reader((change) => index.update(change));
    for (const [key, after] of this.#objects) reader.call({ key, before: undefined, after });
    this.#indexes.set(index, reader);
    return index;
  }

  #reader(take: (change: Change<T>) => void): ChangeHandler<T> {
    return new ChangeHandler({
      take,
      current: (key) => this.#objects.get(key),
      clock: this.#clock,
      onFailure: (error, change) => {
        this.#unhandled.add(change.key);
        this.#options.onHandlerError(error, change);
      },
      onSettled: (key, isTaken) => {
        if (this.#failureOf(key) !== undefined) return;
        this.#unhandled.delete(key);
        this.#options.onHandled?.(key, isTaken);
      },
    });
  }

  #failureOf(key: ObjectKey): { readonly error: unknown } | undefined {
    for (const reader of [...this.#indexes.values(), ...this.#handlers]) {
      const failure = reader.failure(key);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  /** Nothing is tried again any more. */
  #end(): void {
    for (const reader of [...this.#indexes.values(), ...this.#handlers]) reader.end();
  }

  /** A source says so when it is certain. */
  #mayBeMissing(error: StoreError): void {
    const { onNotInstalled } = this.#options;
    if (onNotInstalled === undefined || this.#isSynced || error.code !== 'not-installed') return;
    this.#isInstalled = false;
    this.#isSynced = true;
    this.#sync.resolve();
    onNotInstalled(error);
  }

  /** What can't be cut down can't be used, whenever it is tried: the version before stays. */
  #keep(key: ObjectKey, object: T): void {
    let kept: T;
    try {
      kept = this.#options.keep?.(object) ?? object;
    } catch (error) {
      const message = errorText(error);
      this.#malformed.set(key, message);
      this.#options.onMalformed?.(key, message);
      this.#options.onHandlerError(error, { key, before: this.#objects.get(key), after: object });
      return;
    }
    this.#update(key, kept);
  }

  #update(key: ObjectKey, after?: T): void {
    const before = this.#objects.get(key);
    if (before === undefined && after === undefined) return;
    // A repeated event of the same version says nothing new.
    const version = after?.metadata.resourceVersion;
    if (
      version !== undefined &&
      version === before?.metadata.resourceVersion &&
      after?.metadata.uid === before.metadata.uid
    )
      return;
    if (after === undefined) this.#objects.delete(key);
    else this.#objects.set(key, after);
    // Heartbeats, and changes of what is not kept.
    if (before !== undefined && after !== undefined && isSameContent(before, after)) return;
    const change = { key, before, after };
    for (const index of this.#indexes.values()) index.call(change);
    for (const handler of new Set(this.#handlers)) handler.call(change);
  }
}
