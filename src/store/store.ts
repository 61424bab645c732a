/**
 * The one contract of both object sources: a Kubernetes API server and a directory of manifests.
 * Nothing below it knows which one it has.
 */
import type { KubeObject, ObjectKey, ObjectMeta, ResourceKind } from '../api/objects.ts';
import type { Selection } from './selection.ts';

export type StoreErrorCode =
  | 'not-found'
  | 'no-namespace' //    the source refuses it as the object's namespace is not there; the object itself may be
  | 'already-exists'
  | 'conflict' //        the object changed since `resourceVersion`: read it again
  | 'invalid' //         refused by validation: do not retry unchanged
  | 'forbidden'
  | 'unauthenticated' // the source does not know our credentials, whatever is asked
  | 'unavailable' //     source out of reach: retry with back-off
  | 'not-installed' //   the source does not serve this kind, and may later; a watch says so when it is certain
  | 'not-supported'; //  this source can't do it, and says why

/** Failure of a store operation; `message` names object, field and remedy where there is one. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  /** Of an object that is there and can't be read. */
  readonly metadata: ObjectMeta | undefined;

  constructor(
    code: StoreErrorCode,
    message: string,
    options: ErrorOptions & { readonly metadata?: ObjectMeta | undefined } = {},
  ) {
    super(message, options);
    this.name = 'StoreError';
    this.code = code;
    this.metadata = options.metadata;
  }
}

/** True when the same call, or one based on a newer reading, may succeed. */
export const isRetryable = (error: unknown): error is StoreError =>
  error instanceof StoreError && ['unavailable', 'not-installed', 'conflict'].includes(error.code);

export type WatchEvent<T extends KubeObject> =
  | { readonly type: 'added' | 'modified'; readonly object: T }
  /** The object as last seen, or only its identity if it went while the source was out of reach. */
  | { readonly type: 'deleted'; readonly object: T }
  /** A version of the object that can't be used, and why: the one before it stays. Any other event of the object ends that. */
  | { readonly type: 'malformed'; readonly metadata: ObjectMeta; readonly error: StoreError }
  /** Everything that existed when the watch began has been delivered; again after the source was out of reach. */
  | { readonly type: 'synced' }
  /** The source can't be read at the moment, and why; the watch goes on trying. Changes that follow end it. */
  | { readonly type: 'stalled'; readonly error: StoreError };

export interface WriteOptions {
  /** Who writes which fields (server-side apply's field manager). */
  readonly fieldManager: string;
  /** Refuse with `conflict` unless the object still has this version. */
  readonly resourceVersion?: string;
  readonly signal?: AbortSignal;
}

export interface DeleteOptions {
  /** Refuse with `conflict` unless the object still has this uid. */
  readonly uid?: string;
  readonly signal?: AbortSignal;
}

/** What an object's owner wants to tell its user (core/v1 Event). */
export interface ObjectEvent {
  readonly regarding: KubeObject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Leadership among several managers; `signal` aborts when it is lost. */
export interface Leadership extends AsyncDisposable {
  readonly signal: AbortSignal;
  /** The object by which others know of it, for events; a source of one machine has none. */
  readonly lease?: KubeObject | undefined;
  /** Throws when leadership is lost, also in a process that was suspended past the end and whose timers have not fired yet. */
  assert(): void;
}

export interface Store {
  list<T extends KubeObject>(
    kind: ResourceKind<T>,
    signal?: AbortSignal,
    selection?: Selection,
  ): Promise<readonly T[]>;
  get<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    signal?: AbortSignal,
  ): Promise<T | undefined>;
  /**
   * Delivers what exists, then `synced`, then every change in order; may repeat or merge changes of one object.
   * Survives lost connections and expired versions (410) by itself. Ends (resolves) when `signal` aborts. With a selection an object
   * that leaves it is `deleted`, and one that comes into it `added`.
   */
  watch<T extends KubeObject>(
    kind: ResourceKind<T>,
    handler: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
    selection?: Selection,
  ): Promise<void>;
  create<T extends KubeObject>(kind: ResourceKind<T>, object: T, options: WriteOptions): Promise<T>;
  /** JSON merge patch (RFC 7386) of metadata and spec. */
  patch<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    patch: object,
    options: WriteOptions,
  ): Promise<T>;
  /** JSON merge patch of the status subresource: `{ status: … }`, and annotations where the API allows it there. */
  patchStatus<T extends KubeObject>(
    kind: ResourceKind<T>,
    key: ObjectKey,
    patch: object,
    options: WriteOptions,
  ): Promise<T>;
  /** With finalizers the object stays, with a deletionTimestamp, until the last one is removed. */
  delete(kind: ResourceKind, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  event(event: ObjectEvent, signal?: AbortSignal): Promise<void>;
  /**
   * Waits for leadership under `name`; rejects when `signal` aborts first. `onWaiting` is called once it is known that another one has it, `onFailure` when that
   * can't be known, and is tried again.
   */
  lead(
    name: string,
    identity: string,
    signal: AbortSignal,
    onWaiting?: () => void,
    onFailure?: (error: unknown) => void,
  ): Promise<Leadership>;
  close(): Promise<void>;
}
