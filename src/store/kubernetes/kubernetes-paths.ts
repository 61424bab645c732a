/** URL paths of the Kubernetes API. Every segment that comes from an object is encoded. */
import type { ObjectKey, ResourceKind } from '../../api/objects.ts';
import { StoreError } from '../store.ts';

/** Of a group's version: what it serves. */
export const groupPath = (apiVersion: string): string =>
  apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;

/** All objects of a kind, or those of a namespace. */
export function collectionPath(kind: ResourceKind, namespace?: string): string {
  const inNamespace =
    kind.namespaced && namespace !== undefined ? `/namespaces/${segment(namespace)}` : '';
  return `${groupPath(kind.apiVersion)}${inNamespace}/${kind.plural}`;
}

export function objectPath(kind: ResourceKind, key: ObjectKey): string {
  const slash = key.indexOf('/');
  const namespace = slash === -1 ? undefined : key.slice(0, slash);
  if (kind.namespaced !== (namespace !== undefined))
    throw new StoreError(
      'invalid',
      `${kind.kind} ${key}: ${kind.namespaced ? 'needs a namespace: <namespace>/<name>' : 'has no namespace'}`,
    );
  return `${collectionPath(kind, namespace)}/${segment(key.slice(slash + 1))}`;
}

function segment(name: string): string {
  // `.` and `..` survive encoding, and would be another path.
  if (name === '' || name === '.' || name === '..')
    throw new StoreError('invalid', `${JSON.stringify(name)} is not a name`);
  return encodeURIComponent(name);
}
