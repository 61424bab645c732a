/** Brings the records in line with the manifests: what is new, what changed, what is gone. */
import { join } from 'node:path';
import { objectKey, type OwnerReference } from '../../api/objects.ts';
import { preciseTimestamp, timestamp, type Clock } from '../clock.ts';
import type { ObjectRules, Problem } from './manifest-rules.ts';
import type { ManifestSource, SourcedObject, Wanted } from './manifest-source.ts';
import type { CachedObject, ObjectCache } from './object-cache.ts';
import type { CoreEvent } from '../object-event.ts';
import {
  acceptManifest,
  deletedRecord,
  describeRecord,
  idOfObject,
  isReplacement,
  objectId,
  objectOf,
  ownerOf,
  type ObjectId,
  type ObjectRecord,
} from './object-record.ts';
import { addressOf, type Address, type RecordWriter, type Transaction } from './record-writer.ts';

export interface ManifestReconcilerOptions {
  readonly manifests: string;
  readonly rules: ObjectRules;
  readonly clock: Clock;
  /** Milliseconds that a manifest or an owner must be gone until the object is. */
  readonly removalGrace: number;
  readonly source: ManifestSource;
  readonly cache: ObjectCache;
  readonly writer: RecordWriter;
}

/** `waiting`: something is missed, scan again after the grace period. `again`: what was written has consequences, scan at once. */
export type Outcome = 'settled' | 'waiting' | 'again';

/** Events are forgotten after an hour, as in Kubernetes. */
const EVENT_LIFE = 3_600_000;

export class ManifestReconciler {
  readonly #options: ManifestReconcilerOptions;
  /** When a removed manifest's object, or an object without an owner, was first missed. */
  readonly #missedSince = new Map<ObjectId, number>();
  /** Manifests that were compared with their record, so that a scan costs what changed. */
  readonly #settled = new Map<SourcedObject, ObjectRecord>();
  readonly #refusals = new Map<SourcedObject, Problem>();
  /** What the records were last brought in line with. */
  #planned: Wanted | undefined;

  constructor(options: ManifestReconcilerOptions) {
    this.#options = options;
  }

  /** What is wrong with the manifests, and which changes of them were refused. */
  get problems(): readonly Problem[] {
    return [...this.#wanted().problems, ...this.#refusals.values()];
  }

  /** Compares everything, or what changed since the last time, and writes what follows from it. */
  async reconcile(where: 'everywhere' | 'dirty'): Promise<Outcome> {
    const wanted = this.#wanted();
    const { ids, hasRemovals } = this.#options.cache.takeChanges();
    // A change of one object concerns that object alone, unless it is gone: then what it owned, too.
    const isAll = where === 'everywhere' || hasRemovals || this.#planned !== wanted;
    this.#planned = undefined;
    const overdue = this.#overdue(isAll ? undefined : ids);
    const concerned = isAll
      ? [...wanted.objects.values()]
      : [...ids].flatMap((id) => wanted.objects.get(id) ?? []);
    const stale = concerned.filter((candidate) => this.#isStale(candidate));
    const hasWork = stale.length > 0 || overdue.records.length > 0;
    if (hasWork) await this.#bringInLine(stale, overdue.records);
    if (isAll) this.#forgetOthers(wanted);
    this.#planned = wanted;
    // What was removed may have owned something, and what had to go first is to be made again.
    if (hasWork && (overdue.records.length > 0 || stale.some((it) => this.#isStale(it))))
      return 'again';
    return overdue.waits ? 'waiting' : 'settled';
  }

  #wanted(): Wanted {
    return this.#options.source.wanted((id) => this.#options.cache.get(id)?.record.file);
  }

  #isStale(wanted: SourcedObject): boolean {
    const cached = this.#options.cache.get(idOfObject(wanted.object));
    if (cached !== undefined && this.#settled.get(wanted) === cached.record) return false;
    return this.#successor(wanted, cached?.record) !== cached?.record;
  }

  /** The record that `wanted` makes of `record`: the same one if nothing is to be done; undefined if it must go first. */
  #successor(wanted: SourcedObject, record: ObjectRecord | undefined): ObjectRecord | undefined {
    this.#refusals.delete(wanted);
    const owner = record === undefined ? undefined : ownerOf(record);
    if (record !== undefined && record.deleted === undefined && owner !== undefined) {
      this.#refuse(
        wanted,
        record,
        `is the name of an object that was made for ${this.#describeOwner(owner, record)}: choose another name for this one; the object stays as it was`,
      );
      return record;
    }
    if (
      record !== undefined &&
      (record.deleted !== undefined || isReplacement(record, wanted.object))
    )
      return record.deleted === undefined ? undefined : record;
    const now = preciseTimestamp(this.#options.clock.now());
    const next = acceptManifest(record, { ...wanted, now });
    if (record === undefined) return next;
    if (next === record || next.manifest === record.manifest) {
      this.#settled.set(wanted, next);
      return next;
    }
    const errors = this.#options.rules.validate(objectOf(next), objectOf(record));
    if (errors.length === 0) return next;
    this.#refuse(wanted, record, `${errors.join('; ')}; the object stays as it was`);
    return record;
  }

  #describeOwner({ apiVersion, kind, name }: OwnerReference, { namespace }: ObjectRecord): string {
    const isClusterWide = this.#options.rules.kindOf(apiVersion, kind)?.namespaced === false;
    return describeRecord({ kind, name, namespace: isClusterWide ? '' : namespace });
  }

  #refuse(wanted: SourcedObject, record: ObjectRecord, message: string): void {
    this.#refusals.set(wanted, {
      severity: 'error',
      file: join(this.#options.manifests, wanted.file),
      line: wanted.line,
      object: describeRecord(record),
      message,
    });
    this.#settled.set(wanted, record);
  }

  /** Objects (of `ids`, or any) whose manifest or whose last owner has been gone for the grace time. */
  #overdue(ids: Iterable<ObjectId> | undefined): {
    records: readonly CachedObject[];
    waits: boolean;
  } {
    const wanted = this.#wanted();
    const now = this.#options.clock.monotonic();
    const missed = new Set<string>();
    const records: CachedObject[] = [];
    const candidates =
      ids === undefined
        ? this.#options.cache.all()
        : [...new Set([...ids, ...this.#missedSince.keys()])].flatMap(
            (id) => this.#options.cache.get(id) ?? [],
          );
    for (const cached of candidates) {
      const id = objectId(cached.record);
      if (cached.record.deleted !== undefined || !this.#isUnwanted(cached, wanted)) continue;
      missed.add(id);
      const since = this.#missedSince.get(id) ?? now;
      this.#missedSince.set(id, since);
      if (now - since >= this.#options.removalGrace) records.push(cached);
    }
    for (const id of this.#missedSince.keys()) if (!missed.has(id)) this.#missedSince.delete(id);
    return { records, waits: missed.size > records.length };
  }

  #isUnwanted({ record, object }: CachedObject, wanted: Wanted): boolean {
    if (record.manifest !== undefined)
      return !wanted.objects.has(objectId(record)) && !wanted.holds(record);
    if (record.kind === 'Event' && record.apiVersion === 'v1')
      return (
        this.#options.clock.now() - Date.parse((object as CoreEvent).lastTimestamp) > EVENT_LIFE
      );
    const owners = object.metadata.ownerReferences ?? [];
    return (
      owners.length > 0 &&
      owners.every(
        ({ apiVersion, kind, uid }) =>
          this.#options.rules.kindOf(apiVersion, kind) !== undefined &&
          !this.#options.cache.hasUid(uid),
      )
    );
  }

  /** Writes what the manifests changed, after rereading both under the lock. */
  async #bringInLine(
    stale: readonly SourcedObject[],
    overdue: readonly CachedObject[],
  ): Promise<void> {
    const paths = [
      ...stale.map(({ kind, object }) => addressOf(kind, objectKey(object.metadata)).path),
      ...overdue.map(({ path }) => path),
    ];
    await this.#options.writer.write(paths, async (transaction) => {
      if (overdue.length > 0) {
        await this.#options.source.scan('everywhere');
        await transaction.refreshAll();
      } else await this.#options.source.reread(stale.map(({ file }) => file));
      const wanted = this.#wanted();
      for (const { path, record } of overdue) {
        const id = objectId(record);
        const cached = this.#options.cache.get(id);
        if (cached === undefined || !this.#isUnwanted(cached, wanted)) continue;
        this.#delete(transaction, { id, path }, cached.record);
        this.#missedSince.delete(id);
      }
      for (const { object } of stale) {
        const id = idOfObject(object);
        const current = wanted.objects.get(id);
        if (current === undefined) continue;
        const { path } = addressOf(current.kind, objectKey(current.object.metadata));
        const record = transaction.get(id);
        const next = this.#successor(current, record);
        if (next === undefined && record !== undefined)
          this.#delete(transaction, { id, path }, record);
        else if (next !== undefined && next !== record)
          transaction.put({ id, path }, next, { durable: true });
      }
    });
  }

  #delete(transaction: Transaction, address: Address, record: ObjectRecord): void {
    const next = deletedRecord(record, timestamp(this.#options.clock.now()));
    if (next !== record) transaction.put(address, next, { durable: true });
  }

  #forgetOthers(wanted: Wanted): void {
    const current = new Set(wanted.objects.values());
    for (const key of this.#settled.keys()) if (!current.has(key)) this.#settled.delete(key);
    for (const key of this.#refusals.keys()) if (!current.has(key)) this.#refusals.delete(key);
  }
}
