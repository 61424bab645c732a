/** Part of a kind's objects, for a reader that does not need all of them. */
import type { KubeObject } from '../api/objects.ts';
import { isPlainObject, own } from '../api/plain-object.ts';
import { matchesSelector } from '../api/selectors.ts';
import type { LabelSelector } from '../api/types.ts';

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
