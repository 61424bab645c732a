/**
 * What an API server forgives on an update: errors in values that are as they were stored (CRD validation ratcheting).
 * Objects from before a rule existed can then still be labelled, extended and deleted.
 */
import { isDeepStrictEqual } from 'node:util';
import type { FieldError, FieldPath } from './field-errors.ts';
import type { PlainObject } from '../plain-object.ts';
import type { Schema } from './schema.ts';
import { isPlainObject, own } from '../plain-object.ts';

/** Errors that stand, and those that the stored object had already. */
export interface JudgedErrors {
  readonly errors: readonly FieldError[];
  readonly tolerated: readonly FieldError[];
}

/**
 * Index of the stored element that a list element is compared with: by its keys in a list-map; undefined in other lists,
 * whose elements can't be distinguished.
 */
export function storedIndex(schema: Schema, old: unknown, item: unknown): number | undefined {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-list-type'] !== 'map' || keys === undefined) return undefined;
  if (!Array.isArray(old) || !isPlainObject(item)) return undefined;
  const index = old.findIndex(
    (candidate: unknown) =>
      isPlainObject(candidate) && keys.every((key) => own(candidate, key) === own(item, key)),
  );
  return index < 0 ? undefined : index;
}

/** True if the value at `path`, or one around it, is as it is in `old`. */
function isUnchangedAt(schema: Schema, value: unknown, old: unknown, path: FieldPath): boolean {
  if (isDeepStrictEqual(value, old)) return true;
  const [part, ...rest] = path;
  if (typeof part === 'number' && Array.isArray(value)) {
    const item = value[part] as unknown;
    const index = storedIndex(schema, old, item);
    if (index === undefined || schema.items === undefined) return false;
    return isUnchangedAt(schema.items, item, (old as readonly unknown[])[index], rest);
  }
  if (typeof part !== 'string' || !isPlainObject(value) || !isPlainObject(old)) return false;
  const child = schema.properties?.[part] ?? schema.additionalProperties;
  if (child === undefined || !Object.hasOwn(value, part) || !Object.hasOwn(old, part)) return false;
  return isUnchangedAt(child, value[part], old[part], rest);
}

/**
 * Errors in the structure of `value`, apart from those that `old` had at the same place. A missing field is an error of the
 * map that it is missing in; elements that occur twice are forgiven when any did before.
 */
export function judgeStructure(
  schema: Schema,
  value: PlainObject,
  errors: readonly FieldError[],
  old: PlainObject | undefined,
  oldErrors: () => readonly FieldError[],
): JudgedErrors {
  if (old === undefined || errors.length === 0) return { errors, tolerated: [] };
  const isTolerated = (error: FieldError): boolean => {
    if (error.path[0] === 'metadata') return false;
    if (error.type === 'Duplicate') return oldErrors().some(({ type }) => type === 'Duplicate');
    const path = error.type === 'Required' ? error.path.slice(0, -1) : error.path;
    return isUnchangedAt(schema, value, old, path);
  };
  const { true: tolerated = [], false: standing = [] } = Object.groupBy(errors, (error) =>
    isTolerated(error) ? 'true' : 'false',
  );
  return { errors: standing, tolerated };
}
