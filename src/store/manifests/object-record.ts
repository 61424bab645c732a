/**
 * What the state directory remembers of one object, and how an object comes of it. Pure.
 *
 * The object is its manifest with everything on top that controllers wrote since. A changed manifest is applied like
 * `kubectl apply` does: what the user changed wins, what controllers wrote elsewhere stays.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../api/canonical-json.ts';
import type { KubeObject, ObjectMeta, OwnerReference } from '../../api/objects.ts';
import {
  applyMergePatch,
  isJsonObject,
  mergePatchBetween,
  withoutNulls,
  type Json,
  type JsonObject,
} from '../json.ts';
import { StoreError } from '../store.ts';

export interface ObjectRecord {
  readonly apiVersion: string;
  readonly kind: string;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** RFC 3339. */
  readonly created: string;
  readonly generation: number;
  /** RFC 3339; the object waits for its finalizers. */
  readonly deleted?: string;
  /** Path of the manifest file below the manifests directory; absent when a controller created the object. */
  readonly file?: string;
  /** The manifest's object as last accepted. */
  readonly manifest?: JsonObject;
  /** What was written since, as a JSON merge patch on the manifest. */
  readonly written?: JsonObject;
}

/** Identity of an object across kinds: `group/Kind/namespace/name`. */
export type ObjectId = string;

export const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';

export const objectId = (object: {
  apiVersion: string;
  kind: string;
  namespace?: string | undefined;
  name: string;
}): ObjectId =>
  `${groupOf(object.apiVersion)}/${object.kind}/${object.namespace ?? ''}/${object.name}`;

export const idOfObject = ({ apiVersion, kind, metadata }: KubeObject): ObjectId =>
  objectId({ apiVersion, kind, namespace: metadata.namespace, name: metadata.name });

/** What only the store writes into metadata. */
const BOOKKEEPING = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
];

/** Namespace of the name-based uids; a fixed random value. */
const UID_NAMESPACE = Buffer.from('6f8cfc8ea8d14b5c9d0d2f1d5a86a0c4', 'hex');

/** UUIDv5 of kind, namespace and name (RFC 9562 §5.5): the same on every machine and after every restart. */
function deterministicUid(id: ObjectId): string {
  const digest = createHash('sha1').update(UID_NAMESPACE).update(id).digest().subarray(0, 16);
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}

/** The object without what only the store writes, and without nulls. */
function contentOf(object: KubeObject): JsonObject {
  const clean = withoutNulls(object) as JsonObject;
  const metadata = isJsonObject(clean['metadata']) ? clean['metadata'] : {};
  const kept = Object.entries(metadata).filter(([key]) => !BOOKKEEPING.includes(key));
  const rest = Object.entries(clean).filter(([key]) => key !== 'metadata');
  return Object.fromEntries([
    ...rest,
    ...(kept.length === 0 ? [] : [['metadata', Object.fromEntries(kept)]]),
  ]) as JsonObject;
}

const mergedContent = ({ manifest, written }: ObjectRecord): JsonObject =>
  applyMergePatch(manifest ?? {}, written ?? {}) as JsonObject;

/**
 * The object that users and controllers see. Its resourceVersion is a digest of everything else in it: equal content has
 * an equal version in every process, and it changes whenever the object does.
 */
export function objectOf(record: ObjectRecord): KubeObject {
  const content = mergedContent(record);
  const metadata = {
    name: record.name,
    ...(record.namespace === '' ? {} : { namespace: record.namespace }),
    uid: record.uid,
    generation: record.generation,
    creationTimestamp: record.created,
    ...(record.deleted === undefined ? {} : { deletionTimestamp: record.deleted }),
    ...(isJsonObject(content['metadata']) ? content['metadata'] : {}),
  };
  const object = { apiVersion: record.apiVersion, kind: record.kind, ...content, metadata };
  const resourceVersion = createHash('sha256')
    .update(canonicalJson(object))
    .digest('hex')
    .slice(0, 16);
  return { ...object, metadata: { ...metadata, resourceVersion } };
}

export const sameRecord = (a: ObjectRecord | undefined, b: ObjectRecord | undefined): boolean =>
  canonicalJson(a) === canonicalJson(b);

/** `record` with `content` instead of its merged content. */
function withContent(record: ObjectRecord, content: JsonObject): ObjectRecord {
  const before = mergedContent(record);
  const specChanged = canonicalJson(before['spec']) !== canonicalJson(content['spec']);
  const { written: _, ...rest } = record;
  const written = mergePatchBetween(record.manifest ?? {}, content) as JsonObject | undefined;
  return {
    ...rest,
    generation: record.generation + (specChanged ? 1 : 0),
    ...(written === undefined ? {} : { written }),
  };
}

interface Birth {
  readonly object: KubeObject;
  /** RFC 3339, for an object that doesn't say when it was created. */
  readonly now: string;
}

function newRecord({ object, now }: Birth): Omit<ObjectRecord, 'manifest' | 'written'> {
  const { apiVersion, kind, metadata } = object;
  return {
    apiVersion,
    kind,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid ?? deterministicUid(idOfObject(object)),
    created: metadata.creationTimestamp ?? now,
    generation: 1,
  };
}

/** Record of an object that a controller creates. */
export function createdRecord({ object, now }: Birth): ObjectRecord {
  const { uid: _uid, creationTimestamp: _created, ...metadata } = object.metadata;
  const born = { ...object, metadata: metadata as ObjectMeta };
  return { ...newRecord({ object: born, now }), written: contentOf(object) };
}

/** The object that this one was made for by a controller; undefined for one that a manifest declares, or that stands for itself. */
export function ownerOf(record: ObjectRecord): OwnerReference | undefined {
  if (record.manifest !== undefined) return undefined;
  const { ownerReferences = [] } = objectOf(record).metadata;
  return ownerReferences.find(({ controller }) => controller === true) ?? ownerReferences[0];
}

/** True when the manifest asks for another object under the same name (its uid was given, and is a different one). */
export const isReplacement = (record: ObjectRecord, manifest: KubeObject): boolean =>
  manifest.metadata.uid !== undefined && manifest.metadata.uid !== record.uid;

/** `record` after its manifest says `object`; the same record if that changes nothing. */
export function acceptManifest(
  record: ObjectRecord | undefined,
  { object, now, file }: Birth & { readonly file: string },
): ObjectRecord {
  const manifest = contentOf(object);
  if (record === undefined) return { ...newRecord({ object, now }), file, manifest };
  const sameManifest = canonicalJson(record.manifest) === canonicalJson(manifest);
  if (sameManifest) return record.file === file ? record : { ...record, file };
  const before = mergedContent(record);
  const userChange = mergePatchBetween(record.manifest ?? {}, manifest) ?? {};
  const after = withFinalizers(
    applyMergePatch(before, userChange) as JsonObject,
    mergedFinalizers(finalizersOf(before), finalizersOf(record.manifest), finalizersOf(manifest)),
  );
  const { written: _, ...rest } = withContent(record, after);
  const written = mergePatchBetween(manifest, after) as JsonObject | undefined;
  return {
    ...rest,
    apiVersion: object.apiVersion,
    file,
    manifest,
    ...(written === undefined ? {} : { written }),
  };
}

const finalizersOf = (content: JsonObject | undefined): readonly string[] => {
  const metadata = content?.['metadata'];
  const finalizers = isJsonObject(metadata) ? metadata['finalizers'] : undefined;
  return Array.isArray(finalizers) ? (finalizers as readonly string[]) : [];
};

// A list is replaced as a whole by a merge patch; the finalizers of controllers must survive an edit of the user's.
const mergedFinalizers = (
  current: readonly string[],
  previous: readonly string[],
  wanted: readonly string[],
): readonly string[] => [
  ...new Set([...current.filter((item) => !previous.includes(item)), ...wanted]),
];

function withFinalizers(content: JsonObject, finalizers: readonly string[]): JsonObject {
  const patch = { metadata: { finalizers: finalizers.length === 0 ? null : finalizers } };
  const merged = applyMergePatch(content, patch) as JsonObject;
  // A patch that removes the last field leaves an empty section behind.
  return canonicalJson(merged['metadata']) === '{}'
    ? (applyMergePatch(merged, { metadata: null }) as JsonObject)
    : merged;
}

export type Part = 'object' | 'status';

/**
 * `record` after a merge patch of the object (its status is left alone) or of its status subresource (only the status
 * counts, and for core/v1 kinds labels and annotations). Undefined = the object is gone: its last finalizer was removed.
 */
export function patchRecord(
  record: ObjectRecord,
  patch: JsonObject,
  part: Part | 'everything',
): ObjectRecord | undefined {
  refuseBookkeeping(record, patch);
  const before = mergedContent(record);
  const after = contentOf(
    applyMergePatch(before, allowed(record, patch, part)) as unknown as KubeObject,
  );
  const added = finalizersOf(after).filter((item) => !finalizersOf(before).includes(item));
  if (record.deleted !== undefined && added.length > 0)
    throw new StoreError(
      'invalid',
      `${describeRecord(record)}: metadata.finalizers: ${added.join(', ')} can't be added to an object that is being deleted`,
    );
  if (record.deleted !== undefined && finalizersOf(after).length === 0) return undefined;
  return canonicalJson(after) === canonicalJson(before) ? record : withContent(record, after);
}

function allowed(record: ObjectRecord, patch: JsonObject, part: Part | 'everything'): JsonObject {
  if (part === 'everything') return patch;
  const { status, metadata, ...rest } = patch;
  if (part === 'object') return { ...rest, ...(metadata === undefined ? {} : { metadata }) };
  const annotated = record.apiVersion === 'v1' && isJsonObject(metadata) ? metadata : {};
  const kept = Object.entries(annotated).filter(([key]) => ['labels', 'annotations'].includes(key));
  return {
    ...(status === undefined ? {} : { status }),
    ...(kept.length === 0 ? {} : { metadata: Object.fromEntries(kept) }),
  };
}

function refuseBookkeeping(record: ObjectRecord, patch: JsonObject): void {
  const wanted = {
    apiVersion: patch['apiVersion'],
    kind: patch['kind'],
    ...(isJsonObject(patch['metadata']) ? patch['metadata'] : {}),
  } as Record<string, Json | undefined>;
  const fixed: Record<string, string> = {
    kind: record.kind,
    name: record.name,
    namespace: record.namespace,
    uid: record.uid,
  };
  for (const [field, value] of Object.entries(fixed))
    if (wanted[field] !== undefined && wanted[field] !== value)
      throw new StoreError(
        field === 'uid' ? 'conflict' : 'invalid',
        `${describeRecord(record)}: ${field}: ${JSON.stringify(wanted[field])} is not ${JSON.stringify(value)}; an object's ${field} can't be changed`,
      );
}

/** `record` on its way out; undefined = gone at once, because nothing holds it. */
export function deletedRecord(record: ObjectRecord, now: string): ObjectRecord | undefined {
  if (finalizersOf(mergedContent(record)).length === 0) return undefined;
  if (record.deleted !== undefined) return record;
  return { ...record, deleted: now, generation: record.generation + 1 };
}

/** `UserDefinedNetwork tenant-a/blue`, for messages. */
export const describeRecord = (record: {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}): string =>
  `${record.kind} ${record.namespace === undefined || record.namespace === '' ? '' : `${record.namespace}/`}${record.name}`;
