/** A kind's objects and their changes from an API server, for as long as anybody wants them. */
import {
  objectKey,
  type KubeObject,
  type ObjectKey,
  type ResourceKind,
} from '../../api/objects.ts';
import { formatSelector } from '../../api/selectors.ts';
import { readStored } from '../../api/validation/stored-object.ts';
import { SOURCE_BACKOFF, SourceBackoff, type Backoff } from '../backoff.ts';
import { pause, type Clock } from '../clock.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import type { ClusterIdentity } from './cluster-identity.ts';
import { isMissing } from './kind-discovery.ts';
import {
  ApiError,
  isExpired,
  isUnanswered,
  refusal,
  type KubernetesClient,
} from './kubernetes-client.ts';
import { collectionPath } from './kubernetes-paths.ts';
import type { Selection } from '../selection.ts';
import { StoreError, type WatchEvent } from '../store.ts';
import { ownTurn } from '../turn.ts';
import { errorText } from '../../api/error-text.ts';

/** All in milliseconds, but for `page`. */
export interface WatchTiming {
  /** Objects per page of a list. */
  readonly page: number;
  /** How long the server may keep one watch open; half as much again at random, so that not all end at once. */
  readonly life: number;
  /** Longest silence: bookmarks come about every minute, so a longer one means a dead connection. */
  readonly silence: number;
  readonly backoff: Backoff;
}

/** A page is parsed in one go: of ZoneStatuses or Nodes of a large cluster, some 20 kB each, so many take 20 ms. */
const PAGE = 100;

export const WATCH_TIMING: WatchTiming = {
  page: PAGE,
  life: 300_000,
  silence: 150_000,
  backoff: SOURCE_BACKOFF,
};

/** Milliseconds: a watch that ends sooner after it was opened is begun again as one that failed is (client-go's reflector, likewise). */
const SHORT_WATCH = 1000;

export interface ListWatchOptions {
  readonly selection: Selection;
  readonly client: KubernetesClient;
  readonly cluster: Pick<ClusterIdentity, 'around' | 'check'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timing: WatchTiming;
}

interface ObjectList {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
}

const metadataOf = (value: JsonObject): JsonObject =>
  isJsonObject(value['metadata']) ? value['metadata'] : {};

const selectors = ({
  labels,
  fields = {},
  otherFields = {},
}: Selection): Readonly<Record<string, string>> => {
  const fieldSelector = [
    ...Object.entries(fields).map(([field, value]) => `${field}=${value}`),
    ...Object.entries(otherFields).map(([field, value]) => `${field}!=${value}`),
  ].join(',');
  return {
    ...(labels === undefined ? {} : { labelSelector: formatSelector(labels) }),
    ...(fieldSelector === '' ? {} : { fieldSelector }),
  };
};

/** What has no name is no object, whatever else it holds. */
const hasName = (value: unknown): value is KubeObject => {
  const metadata = isJsonObject(value) ? metadataOf(value) : {};
  return typeof metadata['name'] === 'string' && typeof (metadata['namespace'] ?? '') === 'string';
};

/** Every object of a kind, page by page, as of one version. */
export async function listAll(
  client: KubernetesClient,
  kind: ResourceKind,
  page: number,
  selection: Selection,
  signal?: AbortSignal,
): Promise<ObjectList> {
  try {
    return await listPages(client, kind, page, selection, signal);
  } catch (error) {
    // The token of a page expired; of a list in one piece none can.
    if (!isExpired(error)) throw error;
    return listPages(client, kind, 0, selection, signal);
  }
}

async function listPages(
  client: KubernetesClient,
  kind: ResourceKind,
  page: number,
  selection: Selection,
  signal?: AbortSignal,
): Promise<ObjectList> {
  const items: KubeObject[] = [];
  let resourceVersion = '';
  let token: string | undefined;
  do {
    const answer = await client.send({
      method: 'GET',
      path: collectionPath(kind, selection.namespace),
      query: {
        ...selectors(selection),
        limit: page === 0 ? undefined : String(page),
        continue: token,
      },
      signal,
      about: kind.plural,
    });
    const found = answer['items'];
    // Items of a list don't repeat what the list says.
    for (const item of Array.isArray(found) ? (found as readonly unknown[]) : [])
      if (hasName(item)) items.push({ ...item, apiVersion: kind.apiVersion, kind: kind.kind });
    const { resourceVersion: version, continue: next } = metadataOf(answer);
    resourceVersion = typeof version === 'string' ? version : '';
    token = typeof next === 'string' && next !== '' ? next : undefined;
  } while (token !== undefined);
  return { items, resourceVersion };
}

const OBJECT_EVENTS: ReadonlySet<string> = new Set(['ADDED', 'MODIFIED', 'DELETED']);

interface KnownObject {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

const NUMBER = /^\d+$/;

/** Versions of Kubernetes are numbers that grow; others are not compared. */
const isBefore = (version: unknown, known: string): boolean =>
  typeof version === 'string' &&
  NUMBER.test(version) &&
  NUMBER.test(known) &&
  BigInt(version) < BigInt(known);

/** Lists, then watches, and begins again where it must; delivers each change once. */
export class ListWatch<T extends KubeObject> {
  readonly #kind: ResourceKind<T>;
  readonly #handler: (event: WatchEvent<T>) => void;
  readonly #options: ListWatchOptions;
  readonly #known = new Map<ObjectKey, KnownObject>();
  /** Version to continue from; undefined: everything has to be read. */
  #version: string | undefined;
  /** What we know may be old: the last request failed. */
  #isStalled = false;
  /** The last watch was refused for its version, and none has told anything since. */
  #hasExpired = false;
  /** How often in a row discovery reported that the kind is not served. */
  #timesMissing = 0;

  constructor(
    kind: ResourceKind<T>,
    handler: (event: WatchEvent<T>) => void,
    options: ListWatchOptions,
  ) {
    this.#kind = kind;
    this.#handler = handler;
    this.#options = options;
  }

  /** Ends when `signal` aborts; rejects only when the handler throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, timing, random } = this.#options;
    const backoff = new SourceBackoff(timing.backoff, clock, random);
    while (!signal.aborted) {
      let asked = 0;
      let opened = Infinity;
      const hasLasted = (): boolean => clock.monotonic() - opened >= SHORT_WATCH;
      try {
        if (this.#isStalled) await this.#checkVersion(signal);
        if (this.#version === undefined) await this.#list(signal);
        await this.#watch(signal, () => (opened = clock.monotonic()));
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof HandlerError) throw error.cause;
        // A restore ends every API server. Once one answers, others may have written past the version that we know, which says nothing then.
        if (isUnanswered(error) && !hasLasted()) this.#forgetVersions();
        asked = this.#failed(await this.#judged(error, signal));
        if (signal.aborted) return;
      }
      // Also where its connection broke: whether another server is there, or none, can be seen now.
      if (hasLasted()) continue;
      await pause(clock, Math.max(backoff.next(), asked), signal);
    }
  }

  /** `not-installed` is what discovery says as well, and twice: several servers may stand behind one address. */
  async #judged(failure: unknown, signal: AbortSignal): Promise<unknown> {
    if (!(failure instanceof StoreError) || failure.code !== 'not-installed') return failure;
    if (this.#timesMissing >= 2) return failure;
    const isAbsent = await isMissing(this.#options.client, this.#kind, signal).catch(() => false);
    this.#timesMissing = isAbsent ? this.#timesMissing + 1 : 0;
    if (this.#timesMissing >= 2) return failure;
    return new StoreError(
      'unavailable',
      `${this.#kind.plural} (${this.#kind.apiVersion}): answered with 404, and it is not certain yet that the API server does not serve them: it may be starting`,
      { cause: failure },
    );
  }

  /** Milliseconds for which the server wants not to be asked. */
  #failed(error: unknown): number {
    if (isExpired(error)) {
      this.#version = undefined;
      // Once is how a server forgets old versions; again and again its watches are worth nothing.
      if (!this.#hasExpired) {
        this.#hasExpired = true;
        return 0;
      }
    }
    this.#isStalled = true;
    this.#deliver({ type: 'stalled', error: asStoreError(error) });
    return error instanceof ApiError ? (error.retryAfter ?? 0) : 0;
  }

  /**
   * A server whose etcd was restored from a backup counts its versions from there: it takes a watch from one that it has yet to reach, and says nothing until
   * it has. So what is known is read anew then, also where a proxy in between answered while it was away.
   */
  async #checkVersion(signal: AbortSignal): Promise<void> {
    if (this.#version === undefined) return;
    const { client, clock, cluster, selection } = this.#options;
    const since = clock.monotonic();
    const { metadata } = await client.send({
      method: 'GET',
      path: collectionPath(this.#kind, selection.namespace),
      query: { ...selectors(selection), limit: '1' },
      signal,
      about: this.#kind.plural,
    });
    await cluster.check(since);
    const { resourceVersion } = isJsonObject(metadata) ? metadata : {};
    if (isBefore(resourceVersion, this.#version)) this.#forgetVersions();
  }

  /** Everything is read anew, and compared by content: after a restore, another one may have the same version. */
  #forgetVersions(): void {
    this.#version = undefined;
    for (const [key, { uid }] of this.#known)
      this.#known.set(key, { uid, resourceVersion: undefined });
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, cluster, timing, selection } = this.#options;
    const { items, resourceVersion } = await cluster.around(() =>
      listAll(client, this.#kind, timing.page, selection, signal),
    );
    const gone = new Map(this.#known);
    for (const item of items) {
      await ownTurn();
      signal.throwIfAborted();
      gone.delete(objectKey(item.metadata));
      this.#changed(item as T);
    }
    for (const [key, { uid }] of gone) {
      await ownTurn();
      signal.throwIfAborted();
      this.#gone(key, this.#remembered(key, uid));
    }
    this.#version = resourceVersion;
    this.#isStalled = false;
    this.#timesMissing = 0;
    this.#deliver({ type: 'synced' });
  }

  async #watch(signal: AbortSignal, opened: () => void): Promise<void> {
    const { client, timing, random, selection } = this.#options;
    const life = Math.round((timing.life * (1 + random() / 2)) / 1000);
    const request = {
      method: 'GET',
      path: collectionPath(this.#kind, selection.namespace),
      query: {
        ...selectors(selection),
        watch: '1',
        allowWatchBookmarks: 'true',
        resourceVersion: this.#version,
        timeoutSeconds: String(life),
      },
      signal,
      about: this.#kind.plural,
    } as const;
    const wasStalled = this.#isStalled;
    await client.stream(request, timing.silence, {
      onOpen: () => {
        opened();
        this.#isStalled = false;
        if (wasStalled) this.#deliver({ type: 'synced' });
      },
      onLine: (line) => {
        this.#line(line);
        this.#hasExpired = false;
      },
    });
  }

  #line(line: string): void {
    let event: unknown;
    try {
      event = JSON.parse(line);
    } catch (error) {
      throw new StoreError('unavailable', `${this.#kind.plural}: watch event is not JSON`, {
        cause: error,
      });
    }
    const { type, object } = isJsonObject(event) ? event : {};
    if (
      !isJsonObject(object) ||
      (typeof type === 'string' && OBJECT_EVENTS.has(type) && !hasName(object))
    )
      throw new StoreError('unavailable', `${this.#kind.plural}: watch event without an object`);
    const { resourceVersion } = metadataOf(object);
    switch (type) {
      case 'ADDED':
      case 'MODIFIED':
        this.#changed(object as unknown as T);
        break;
      case 'DELETED': {
        const deleted = object as unknown as T;
        const key = objectKey(deleted.metadata);
        if (this.#known.has(key)) this.#gone(key, deleted);
        break;
      }
      case 'BOOKMARK':
        break;
      case 'ERROR':
        throw refusal(this.#kind.plural, Number(object['code'] ?? 0), JSON.stringify(object));
      default:
        throw new StoreError(
          'unavailable',
          `${this.#kind.plural}: unknown watch event ${JSON.stringify(type)}`,
        );
    }
    if (typeof resourceVersion === 'string') this.#version = resourceVersion;
  }

  #changed(object: T): void {
    const key = objectKey(object.metadata);
    const { uid, resourceVersion } = object.metadata;
    const known = this.#known.get(key);
    if (known !== undefined && known.uid === uid && known.resourceVersion === resourceVersion)
      return;
    // Deleted and made again while we were not looking.
    if (known !== undefined && known.uid !== uid) this.#gone(key, this.#remembered(key, known.uid));
    const isNew = !this.#known.has(key);
    this.#known.set(key, { uid, resourceVersion });
    const read = readStored(this.#kind, object);
    if (read.kind === 'value')
      this.#deliver({ type: isNew ? 'added' : 'modified', object: read.value });
    else {
      const error = new StoreError('invalid', read.error);
      this.#deliver({ type: 'malformed', metadata: object.metadata, error });
    }
  }

  #gone(key: ObjectKey, object: T): void {
    this.#known.delete(key);
    this.#deliver({ type: 'deleted', object });
  }

  /** What is left of an object that went while nobody watched: its identity. */
  #remembered(key: ObjectKey, uid: string | undefined): T {
    const slash = key.indexOf('/');
    const { apiVersion, kind } = this.#kind;
    const metadata = {
      name: key.slice(slash + 1),
      ...(slash === -1 ? {} : { namespace: key.slice(0, slash) }),
      ...(uid === undefined ? {} : { uid }),
    };
    return { apiVersion, kind, metadata } as unknown as T;
  }

  #deliver(event: WatchEvent<T>): void {
    try {
      this.#handler(event);
    } catch (error) {
      throw new HandlerError(error);
    }
  }
}

/** A failure of the one who listens, not of the source. */
class HandlerError extends Error {
  constructor(cause: unknown) {
    super('watch handler failed', { cause });
  }
}

const asStoreError = (error: unknown): StoreError =>
  error instanceof StoreError
    ? error
    : new StoreError('unavailable', errorText(error), {
        cause: error,
      });
