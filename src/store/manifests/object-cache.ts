import type { KubeObject, ResourceKind } from '../../api/objects.ts';
import {
  groupOf,
  objectId,
  objectOf,
  sameRecord,
  type ObjectId,
  type ObjectRecord,
} from './object-record.ts';
import type { WatchEvent } from '../store.ts';

export interface CachedObject {
  readonly record: ObjectRecord;
  /** Where the record is kept. */
  readonly path: string;
  readonly object: KubeObject;
}

type Handler = (event: WatchEvent<KubeObject>) => void;

interface Watcher {
  readonly handler: Handler;
  readonly onError: (error: unknown) => void;
}

const kindKey = ({ apiVersion, kind }: { apiVersion: string; kind: string }): string =>
  `${groupOf(apiVersion)}/${kind}`;

/** All objects in memory, and who watches them. */
export class ObjectCache {
  readonly #objects = new Map<ObjectId, CachedObject>();
  readonly #idByPath = new Map<string, ObjectId>();
  readonly #byKind = new Map<string, Map<ObjectId, CachedObject>>();
  readonly #owners = new Map<string, number>(); // how many objects have this uid
  readonly #watchers = new Map<string, Set<Watcher>>();
  #changed = new Set<ObjectId>();
  #hasRemovals = false;

  /** What changed since this was last asked. */
  takeChanges(): { readonly ids: ReadonlySet<ObjectId>; readonly hasRemovals: boolean } {
    const changes = { ids: this.#changed, hasRemovals: this.#hasRemovals };
    this.#changed = new Set();
    this.#hasRemovals = false;
    return changes;
  }

  get(id: ObjectId): CachedObject | undefined {
    return this.#objects.get(id);
  }

  all(): Iterable<CachedObject> {
    return this.#objects.values();
  }

  ofKind(kind: Pick<ResourceKind, 'apiVersion' | 'kind'>): Iterable<CachedObject> {
    return this.#byKind.get(kindKey(kind))?.values() ?? [];
  }

  hasUid(uid: string): boolean {
    return this.#owners.has(uid);
  }

  /** Takes over records by path (undefined = gone) and notifies the watchers. */
  apply(changes: ReadonlyMap<string, ObjectRecord | undefined>): void {
    for (const [path, record] of changes) {
      const previousId = this.#idByPath.get(path);
      const previous = previousId === undefined ? undefined : this.#objects.get(previousId);
      if (record === undefined) {
        if (previous !== undefined) this.#remove(previous);
        continue;
      }
      const id = objectId(record);
      const holder = this.#objects.get(id);
      // A copy of a record under another name is not a second object.
      if (holder !== undefined && holder.path !== path) continue;
      if (previous !== undefined && previousId !== id) this.#remove(previous);
      if (holder === undefined || !sameRecord(holder.record, record))
        this.#set(id, { record, path, object: objectOf(record) });
    }
  }

  /** Delivers what is there, then `synced`, then every change; the returned function ends it. */
  watch(kind: ResourceKind, watcher: Watcher): () => void {
    const key = kindKey(kind);
    for (const { object } of this.ofKind(kind)) watcher.handler({ type: 'added', object });
    watcher.handler({ type: 'synced' });
    const watchers = this.#watchers.get(key) ?? new Set();
    this.#watchers.set(key, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
    };
  }

  #set(id: ObjectId, next: CachedObject): void {
    const previous = this.#objects.get(id);
    if (previous?.record.uid !== next.record.uid) {
      if (previous !== undefined) this.#remove(previous);
      this.#owners.set(next.record.uid, (this.#owners.get(next.record.uid) ?? 0) + 1);
    }
    this.#changed.add(id);
    this.#objects.set(id, next);
    this.#idByPath.set(next.path, id);
    const key = kindKey(next.record);
    const siblings = this.#byKind.get(key) ?? new Map<ObjectId, CachedObject>();
    this.#byKind.set(key, siblings.set(id, next));
    const isNew = previous === undefined || previous.record.uid !== next.record.uid;
    const { resourceVersion } = next.object.metadata;
    // Where the manifest is, is no change of the object.
    if (!isNew && previous.object.metadata.resourceVersion === resourceVersion) return;
    this.#notify(key, { type: isNew ? 'added' : 'modified', object: next.object });
  }

  #remove(previous: CachedObject): void {
    const id = objectId(previous.record);
    const { uid } = previous.record;
    this.#changed.add(id);
    this.#hasRemovals = true;
    const others = (this.#owners.get(uid) ?? 1) - 1;
    if (others === 0) this.#owners.delete(uid);
    else this.#owners.set(uid, others);
    this.#objects.delete(id);
    this.#idByPath.delete(previous.path);
    const key = kindKey(previous.record);
    this.#byKind.get(key)?.delete(id);
    this.#notify(key, { type: 'deleted', object: previous.object });
  }

  #notify(key: string, event: WatchEvent<KubeObject>): void {
    for (const watcher of new Set(this.#watchers.get(key)))
      try {
        watcher.handler(event);
      } catch (error) {
        watcher.onError(error);
      }
  }
}
