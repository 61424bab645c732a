import { objectKey, type KubeObject, type ObjectMeta } from './objects.ts';

/** Older first, then by namespace and name: the order in which a fresh start serves objects. */
export function compareAge(
  a: Pick<ObjectMeta, 'creationTimestamp' | 'namespace' | 'name'>,
  b: Pick<ObjectMeta, 'creationTimestamp' | 'namespace' | 'name'>,
): number {
  const [createdA, createdB] = [a.creationTimestamp ?? '', b.creationTimestamp ?? ''];
  if (createdA !== createdB) return createdA < createdB ? -1 : 1;
  const [keyA, keyB] = [objectKey(a), objectKey(b)];
  return keyA === keyB ? 0 : keyA < keyB ? -1 : 1;
}

export const oldestFirst = <T extends KubeObject>(objects: Iterable<T>): readonly T[] =>
  [...objects].toSorted((a, b) => compareAge(a.metadata, b.metadata));
