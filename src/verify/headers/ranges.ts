/** Sets of whole numbers, as the places where they begin and end: numbers of packets' fields, and addresses of both families in one line. */
import { FAMILIES, sizeOf, type Family, type Prefix } from '../../allocators/addresses.ts';
import { prefixesBetween } from '../../allocators/prefix-subtraction.ts';

/** Ascending; a number is in the set when an odd count of them is not above it. */
export type Ranges = readonly bigint[];

export const NONE: Ranges = [];

/** Addresses of IPv6 come after those of IPv4. */
const FIRST_V6 = 1n << 32n;
export const V4: Ranges = [0n, FIRST_V6];
export const V6: Ranges = [FIRST_V6, FIRST_V6 + (1n << 128n)];
export const ALL_ADDRESSES: Ranges = [0n, FIRST_V6 + (1n << 128n)];

const startOf = (family: Family): bigint => (family === 'v4' ? 0n : FIRST_V6);

export const ofPrefix = (prefix: Prefix): Ranges => {
  const first = startOf(prefix.family) + prefix.base;
  return [first, first + sizeOf(prefix)];
};

/** Numbers from `first` to `last`, both included; none where `last` comes first. */
export const between = (first: number, last: number): Ranges =>
  first > last ? NONE : [BigInt(first), BigInt(last) + 1n];

/** What is in both, in either, or in `a` alone. */
export const both = (a: Ranges, b: Ranges): Ranges => combine(a, b, (x, y) => x && y);
export const either = (a: Ranges, b: Ranges): Ranges => combine(a, b, (x, y) => x || y);
export const without = (a: Ranges, b: Ranges): Ranges => combine(a, b, (x, y) => x && !y);

function combine(a: Ranges, b: Ranges, keeps: (inA: boolean, inB: boolean) => boolean): Ranges {
  if (a === b) return keeps(true, true) ? a : NONE;
  const found: bigint[] = [];
  let [i, j] = [0, 0];
  let isIn = false;
  for (;;) {
    const [x, y] = [a[i], b[j]];
    if (x === undefined && y === undefined) return found;
    const at = y === undefined || (x !== undefined && x <= y) ? x : y;
    if (at === undefined) return found;
    if (x === at) i += 1;
    if (y === at) j += 1;
    const now = keeps(i % 2 === 1, j % 2 === 1);
    if (now !== isIn) found.push(at);
    isIn = now;
  }
}

/** All of many, in the time that it takes to sort them. */
export function allOf(sets: readonly Ranges[]): Ranges {
  let level = sets.filter(({ length }) => length > 0);
  while (level.length > 1) {
    const next: Ranges[] = [];
    for (let i = 0; i < level.length; i += 2) {
      const [a = NONE, b] = [level[i], level[i + 1]];
      next.push(b === undefined ? a : either(a, b));
    }
    level = next;
  }
  return level[0] ?? NONE;
}

export const isSame = (a: Ranges, b: Ranges): boolean =>
  a === b || (a.length === b.length && a.every((one, i) => one === b[i]));

/** True when `outer` has all of `inner`. */
export const covers = (outer: Ranges, inner: Ranges): boolean => without(inner, outer).length === 0;

/** First and last of each part, in order. */
export function* partsOf(ranges: Ranges): Generator<readonly [bigint, bigint], void> {
  for (let i = 0; i + 1 < ranges.length; i += 2)
    yield [ranges[i] ?? 0n, (ranges[i + 1] ?? 0n) - 1n];
}

/** The fewest prefixes that have these addresses, in order. */
export function* prefixesOf(ranges: Ranges): Generator<Prefix, void> {
  for (const family of FAMILIES) {
    const start = startOf(family);
    for (const [first, last] of partsOf(both(ranges, family === 'v4' ? V4 : V6)))
      yield* prefixesBetween(family, first - start, last - start);
  }
}
