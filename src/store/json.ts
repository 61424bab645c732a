/** JSON values: merge patches (RFC 7386), their difference, and one spelling per value. */

import { canonicalJson } from '../api/canonical-json.ts';
import { isPlainObject } from '../api/plain-object.ts';

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export const isJsonObject = (value: unknown): value is JsonObject => isPlainObject(value);

// Objects are built from entries so that a key called `__proto__` is only a key.
const fromEntries = (entries: Iterable<readonly [string, Json]>): JsonObject =>
  Object.fromEntries(entries);

/** `target` with `patch` applied: null removes, objects merge, everything else replaces. */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const result = new Map(isJsonObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch))
    if (value === null) result.delete(key);
    else result.set(key, applyMergePatch(result.get(key), value));
  return fromEntries(result);
}

/** The smallest patch that makes `to` of `from`; undefined when they are equal. Neither may hold nulls in objects. */
export function mergePatchBetween(from: Json | undefined, to: Json): Json | undefined {
  if (!isJsonObject(from) || !isJsonObject(to))
    return canonicalJson(from) === canonicalJson(to) && from !== undefined ? undefined : to;
  const patch: [string, Json][] = [];
  for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) patch.push([key, null]);
  for (const [key, value] of Object.entries(to)) {
    const change = mergePatchBetween(Object.hasOwn(from, key) ? from[key] : undefined, value);
    if (change !== undefined) patch.push([key, change]);
  }
  return patch.length === 0 ? undefined : fromEntries(patch);
}

/** The value without keys that are null or undefined (arrays keep theirs): Kubernetes reads both as "not set". */
export function withoutNulls(value: unknown): Json {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item ?? null));
  if (typeof value === 'object' && value !== null)
    return fromEntries(
      Object.entries(value)
        .filter(([, item]) => item !== null && item !== undefined)
        .map(([key, item]) => [key, withoutNulls(item)] as const),
    );
  if (typeof value === 'bigint') return Number(value);
  return value as Json;
}
