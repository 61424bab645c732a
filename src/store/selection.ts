/** Part of a kind's objects, for a reader that does not need all of them. */
import { objectKey, type KubeObject, type ObjectKey } from '../api/objects.ts';
import { isPlainObject, own } from '../api/plain-object.ts';
import { matchesSelector } from '../api/selectors.ts';
import type { LabelSelector } from '../api/types.ts';
import type { WatchEvent } from './store.ts';

/** Fields that an API server selects by; `spec.nodeName` for pods alone. */
export type SelectableField = 'metadata.name' | 'spec.nodeName';

/** All of it has to hold. */
export interface Selection {
  readonly namespace?: string;
  readonly labels?: LabelSelector;
  readonly fields?: Readonly<Partial<Record<SelectableField, string>>>;
  /** Fields that must have another value. */
  readonly otherFields?: Readonly<Partial<Record<SelectableField, string>>>;
}

function fieldOf(object: KubeObject, field: SelectableField): unknown {
  if (field === 'metadata.name') return object.metadata.name;
  return isPlainObject(object.spec) ? (own(object.spec, 'nodeName') ?? '') : '';
}

export const isSelected = (
  { namespace, labels, fields = {}, otherFields = {} }: Selection,
  object: KubeObject,
): boolean =>
  (namespace === undefined || object.metadata.namespace === namespace) &&
  (labels === undefined || matchesSelector(labels, object.metadata.labels)) &&
  Object.entries(fields).every(
    ([field, value]) => fieldOf(object, field as SelectableField) === value,
  ) &&
  Object.entries(otherFields).every(
    ([field, value]) => fieldOf(object, field as SelectableField) !== value,
  );

/** Hands on what is selected: an object that is no longer so is `deleted`, one that has become so is `added`. */
export function selecting<T extends KubeObject>(
  selection: Selection | undefined,
  handler: (event: WatchEvent<T>) => void,
): (event: WatchEvent<T>) => void {
  if (selection === undefined) return handler;
  const shown = new Set<ObjectKey>();
  return (event) => {
    if (!('object' in event)) {
      handler(event);
      return;
    }
    const { object } = event;
    const key = objectKey(object.metadata);
    const wasShown = shown.has(key);
    if (event.type !== 'deleted' && isSelected(selection, object)) {
      shown.add(key);
      handler({ type: wasShown ? 'modified' : 'added', object });
    } else if (shown.delete(key)) handler({ type: 'deleted', object });
  };
}
