/** The informers of a process: one per kind, however many read it, and a store whose writes are read back through them. */
import { isOptionalKind } from '../api/kinds.ts';
import { objectKey, type KubeObject, type ObjectKey, type ResourceKind } from '../api/objects.ts';
import { SOURCE_BACKOFF, SourceBackoff } from './backoff.ts';
import { pause, systemClock, type Clock } from './clock.ts';
import { Informer, type ObjectView } from './informer.ts';
import { delegatingStore } from './delegating-store.ts';
import { keptFields } from './kept-fields.ts';
import type { Log } from './log.ts';
import { ReadBack } from './read-back.ts';
import { isSelected, type Selection } from './selection.ts';
import { isRetryable, type Store } from './store.ts';
import { errorText } from '../api/error-text.ts';

export interface InformersOptions {
  readonly store: Store;
  readonly log: Log;
  readonly clock?: Clock;
  /** Called when there is something new to read in `problems`. */
  readonly onProblem?: () => void;
}

/** What is wrong with an object, `Kind namespace/name`. */
export interface ObjectProblem {
  readonly object: string;
  readonly message: string;
}

/** Objects that can't be read any more: what is known of them may be old. */
export interface Unreadable {
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** How long that is ago. */
  readonly milliseconds: number;
  readonly why: string;
}

type AnyInformer = Informer<KubeObject>;

/** Milliseconds after which it is looked whether what is awaited has been overtaken. */
const RECHECK = 1000;

const FAILED: unique symbol = Symbol('the object could not be read');

const keyOf = ({ apiVersion, kind }: ResourceKind): string => `${apiVersion} ${kind}`;

/**
 * Ask for the informers of the kinds (`of`), then `run`, then wait until they are `synced`. What is written through `store` can be
 * waited for with `readBack`.
 */
export class Informers {
  /** The same store; `readBack` waits for what is written through it. */
  readonly store: Store;
  readonly #options: InformersOptions;
  readonly #informers = new Map<string, AnyInformer>();
  /** Those of `also`, each with what ends it. */
  readonly #others = new Map<AnyInformer, AbortSignal>();
  readonly #selections = new Map<string, Selection>();
  readonly #readBack = new ReadBack();
  #running: { readonly signal: AbortSignal; readonly fail: (error: unknown) => void } | undefined;

  constructor(options: InformersOptions) {
    this.#options = options;
    this.store = this.#readingBack(options.store);
  }

  /** Only these objects of the kind are followed. Say so before anybody asks for its informer. */
  select(kind: ResourceKind, selection: Selection): void {
    if (this.#informers.has(keyOf(kind)))
      throw new Error(`${kind.plural}: a selection comes before the first reader`);
    this.#selections.set(keyOf(kind), selection);
  }

  /** The informer of the kind; it is followed from the first call on, or from `run` on. */
  of<T extends KubeObject>(kind: ResourceKind<T>): Informer<T> {
    const key = keyOf(kind);
    const known = this.#informers.get(key);
    // The type of a kind is that of its objects, so all callers of a kind mean the same type.
    if (known !== undefined) return known as unknown as Informer<T>;
    const informer = this.#informer(kind, this.#selections.get(key));
    this.#informers.set(key, informer as unknown as AnyInformer);
    this.#start(informer as unknown as AnyInformer);
    return informer;
  }

  #start(informer: AnyInformer): void {
    if (this.#running === undefined) return;
    const { signal, fail } = this.#running;
    this.#run(informer, signal).catch(fail);
  }

  #run(informer: AnyInformer, signal: AbortSignal): Promise<void> {
    const until = this.#others.get(informer);
    const both = until === undefined ? signal : AbortSignal.any([signal, until]);
    return informer.run(this.#options.store, both);
  }

  /**
   * An informer for objects that `select` leaves out, followed from now on, or from `run` on, until `until` aborts. What this process
   * writes is not read back through it.
   */
  also<T extends KubeObject>(
    kind: ResourceKind<T>,
    selection: Selection,
    until: AbortSignal,
  ): Informer<T> {
    const informer = this.#informer(kind, selection);
    const other = informer as unknown as AnyInformer;
    this.#others.set(other, until);
    until.addEventListener('abort', () => this.#others.delete(other), { once: true });
    this.#start(other);
    return informer;
  }

  /** Follows the store until `signal` aborts; rejects when that becomes impossible. */
  async run(signal: AbortSignal): Promise<void> {
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => undefined);
    this.#running = { signal, fail: failed.reject };
    const running = this.#every().map((informer) => this.#run(informer, signal));
    const stopped = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([Promise.all([...running, stopped]), failed.promise]);
  }

  /** Resolves when everything of these kinds that existed at the start is here; rejects after `limit` milliseconds or with `signal`. */
  async synced(
    kinds: readonly ResourceKind[],
    signal?: AbortSignal,
    limit?: number,
  ): Promise<void> {
    await Promise.all(this.#all(kinds).map((informer) => informer.synced(limit, signal)));
  }

  /** Which of these kinds could not be read yet, with the reason where there is one. */
  unread(kinds: readonly ResourceKind[]): readonly string[] {
    return this.#all(kinds)
      .filter(({ isSynced }) => !isSynced)
      .map(({ kind, stalled }) => stalled?.message ?? `${kind.plural} are not read yet`);
  }

  /** Objects of the kind as they were seen last; none of one that nobody here follows. */
  known<T extends KubeObject>(kind: ResourceKind<T>): readonly T[] {
    // As in `of`.
    return (this.#informers.get(keyOf(kind))?.list() ?? []) as unknown as readonly T[];
  }

  /** Since when and why a kind can't be read that was read before: the one of which that is longest so. */
  unreadable(): Unreadable | undefined {
    const { clock = systemClock } = this.#options;
    const found = this.#every().flatMap(({ isSynced, isInstalled, stalled, stalledSince }) =>
      !isSynced || !isInstalled || stalled === undefined || stalledSince === undefined
        ? []
        : [
            {
              since: stalledSince.now,
              milliseconds: clock.monotonic() - stalledSince.monotonic,
              why: stalled.message,
            },
          ],
    );
    return found.sort((a, b) => b.milliseconds - a.milliseconds)[0];
  }

  /** Objects of any kind whose newest version can't be used, or was not worked in, as `Kind namespace/name`, with the reason. */
  problems(): readonly ObjectProblem[] {
    return this.#every().flatMap((informer) => {
      const describe = (key: ObjectKey): string => `${informer.kind.kind} ${key}`;
      return [
        ...[...informer.malformed].map(([key, message]) => ({ object: describe(key), message })),
        ...[...informer.unhandled()].map(([key, error]) => ({
          object: describe(key),
          message: `its last change could not be worked in, and is tried again: ${errorText(error)}`,
        })),
      ];
    });
  }

  /** How many objects a part of this process threw at and is given again, by kind. */
  unhandled(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const {
      kind: { kind },
      unhandledCount,
    } of this.#every())
      counts.set(kind, (counts.get(kind) ?? 0) + unhandledCount);
    return counts;
  }

  #every(): readonly AnyInformer[] {
    return [...this.#informers.values(), ...this.#others.keys()];
  }

  /** True when the informers have shown all that was written through `store`. */
  get isReadBack(): boolean {
    return this.#readBack.isComplete;
  }

  /** Resolves when the informers have shown what was written through `store` until now; rejects when `signal` aborts first. */
  async readBack(signal: AbortSignal): Promise<void> {
    const { clock = systemClock } = this.#options;
    const complete = this.#readBack.complete(signal).then(() => true);
    for (;;) {
      const waiting = new AbortController();
      const stop = AbortSignal.any([signal, waiting.signal]);
      const later = pause(clock, RECHECK, stop).then(() => false);
      const isComplete = await Promise.race([complete, later]).finally(() => waiting.abort());
      if (isComplete) return;
      await this.#recheck(signal);
    }
  }

  /**
   * A watch leaves out a version that another one followed at once, and versions of manifests do not tell which is the newer one: an
   * object that is shown as the store has it is not waited for any longer.
   */
  async #recheck(signal: AbortSignal): Promise<void> {
    for (const { kind, key } of this.#readBack.awaiting()) {
      const informer = this.of(kind);
      const stored = await this.#options.store
        .get(kind, key, signal)
        .catch((): typeof FAILED => FAILED);
      if (stored === FAILED) continue;
      const selection = this.#selections.get(keyOf(kind)) ?? {};
      const expected = stored !== undefined && isSelected(selection, stored) ? stored : undefined;
      const shown = informer.get(key)?.metadata.resourceVersion;
      if (shown === expected?.metadata.resourceVersion || informer.malformed.has(key))
        this.#readBack.overtaken(kind, key);
    }
  }

  /** Resolves when the informers show these kinds at least as they are now, by one list of each; rejects when `signal` aborts first. */
  async refresh(kinds: readonly ResourceKind[], signal: AbortSignal): Promise<void> {
    await this.synced(kinds, signal);
    await Promise.all(this.#all(kinds).map((informer) => this.#compare(informer, signal)));
    await this.readBack(signal);
  }

  async #compare(informer: AnyInformer, signal: AbortSignal): Promise<void> {
    if (!informer.isInstalled) return;
    const { kind } = informer;
    using recording = this.#readBack.record();
    const listed = await this.#list(kind, signal);
    const selection = this.#selections.get(keyOf(kind)) ?? {};
    const objects = listed.filter((object) => isSelected(selection, object));
    const gone = new Set(informer.keys());
    for (const { metadata } of objects) {
      const key = objectKey(metadata);
      gone.delete(key);
      this.#readBack.expect(kind, key, metadata.uid, metadata, informer.get(key), recording);
    }
    for (const key of gone) {
      const shown = informer.get(key);
      // A list leaves out what can't be used; the version before stays.
      if (informer.malformed.has(key)) continue;
      // What came while the list was under way may be younger than the list.
      if (recording.of(kind, key).length > 0) continue;
      this.#readBack.expect(kind, key, shown?.metadata.uid, undefined, shown, recording);
    }
  }

  /** Tries again while the source is away, until `signal` aborts. */
  async #list(kind: ResourceKind, signal: AbortSignal): Promise<readonly KubeObject[]> {
    const { store, clock = systemClock } = this.#options;
    const backoff = new SourceBackoff(SOURCE_BACKOFF, clock, Math.random);
    for (;;)
      try {
        return await store.list(kind, signal);
      } catch (error) {
        if (!isRetryable(error) || signal.aborted) throw error;
        await pause(clock, backoff.next(), signal);
        signal.throwIfAborted();
      }
  }

  #all(kinds: readonly ResourceKind[]): readonly AnyInformer[] {
    return kinds.map((kind) => this.of(kind));
  }

  #informer<T extends KubeObject>(
    kind: ResourceKind<T>,
    selection: Selection | undefined,
  ): Informer<T> {
    const { log, clock = systemClock } = this.#options;
    /** What was logged, by object: not at each attempt. */
    const told = new Map<ObjectKey, string>();
    return new Informer(kind, {
      clock,
      keep: keptFields(kind),
      ...(selection === undefined ? {} : { selection }),
      onShown: (key, uid, metadata) => this.#readBack.shown(kind, key, uid, metadata),
      onMalformed: (key, problem) => {
        if (problem !== undefined)
          log.warn({ kind: kind.kind, object: key, error: problem }, 'malformed object');
        this.#options.onProblem?.();
      },
      onHandlerError: (error, { key }) => {
        const message = errorText(error);
        if (told.get(key) === message) return;
        told.set(key, message);
        const stack = error instanceof Error ? error.stack : undefined;
        log.error(
          { kind: kind.kind, object: key, error, stack },
          'a change could not be worked in; it is tried again',
        );
        this.#options.onProblem?.();
      },
      onHandled: (key, isTaken) => {
        told.delete(key);
        if (isTaken) log.info({ kind: kind.kind, object: key }, 'the change is worked in');
        this.#options.onProblem?.();
      },
      ...(isOptionalKind(kind)
        ? {
            onNotInstalled: ({ message }) =>
              log.warn({ kind: kind.kind, error: message }, 'not installed: nothing of it is done'),
          }
        : {}),
    });
  }

  #readingBack(store: Store): Store {
    const write = async <T extends KubeObject>(
      kind: ResourceKind<T>,
      request: () => Promise<T>,
    ): Promise<T> => {
      const informer = this.#informers.get(keyOf(kind));
      if (informer === undefined) return request();
      using recording = this.#readBack.record();
      const written = await request();
      const { metadata } = written;
      if (!isSelected(this.#selections.get(keyOf(kind)) ?? {}, written)) return written;
      const key = objectKey(metadata);
      // The last finalizer of a deleted object is gone, and the object with it.
      const isGone =
        metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
      const state = isGone ? undefined : metadata;
      this.#readBack.expect(kind, key, metadata.uid, state, informer.get(key), recording);
      return written;
    };
    // A delete leaves an object with finalizers; what removes the last one waits for its end.
    return delegatingStore(store, {
      create: (kind, object, options) => write(kind, () => store.create(kind, object, options)),
      patch: (kind, key, patch, options) =>
        write(kind, () => store.patch(kind, key, patch, options)),
      patchStatus: (kind, key, patch, options) =>
        write(kind, () => store.patchStatus(kind, key, patch, options)),
    });
  }
}

/** Views of a process's informers that end together. */
export class InformerViews {
  /** The kinds that are read. */
  readonly kinds: ResourceKind[] = [];
  readonly #informers: Informers;
  readonly #signal: AbortSignal;

  constructor(informers: Informers, signal: AbortSignal) {
    this.#informers = informers;
    this.#signal = signal;
  }

  protected view<T extends KubeObject>(kind: ResourceKind<T>): ObjectView<T> {
    this.kinds.push(kind);
    return this.#informers.of(kind).until(this.#signal);
  }
}
