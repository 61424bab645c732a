import { SetVersion } from './counted-set.ts';

/** Equality of plain values: text, numbers, arrays, records, maps and kept sets of them. Identical values are equal at once. */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    return (
      Array.isArray(b) && a.length === b.length && a.every((item, index) => isSame(item, b[index]))
    );
  }
  if (Array.isArray(b)) return false;
  if (a instanceof SetVersion || b instanceof SetVersion)
    return a instanceof SetVersion && b instanceof SetVersion && a.isSame(b);
  if (a instanceof Map || b instanceof Map) {
    if (!(a instanceof Map) || !(b instanceof Map) || a.size !== b.size) return false;
    for (const [key, value] of a as Map<unknown, unknown>) {
      if (!b.has(key) || !isSame(value, b.get(key))) return false;
    }
    return true;
  }
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && isSame(left[key], right[key]))
  );
}
