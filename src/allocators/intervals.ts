/** Whole numbers as intervals: what is asked of them costs by how many intervals there are, not by how many numbers. */

/** Both ends are part of it. */
export interface Interval {
  readonly first: number;
  readonly last: number;
}

/** The numbers from `first` to `last` that are in none of `without`, which may overlap and reach beyond; in order, with gaps between. */
export function intervalsWithout(
  first: number,
  last: number,
  without: readonly Interval[],
): readonly Interval[] {
  const intervals: Interval[] = [];
  let next = first;
  for (const gap of without.toSorted((a, b) => a.first - b.first)) {
    if (gap.first > last) break;
    if (gap.first > next) intervals.push({ first: next, last: gap.first - 1 });
    next = Math.max(next, gap.last + 1);
  }
  if (next <= last) intervals.push({ first: next, last });
  return intervals;
}

/** How many numbers they hold. */
export const countOf = (intervals: readonly Interval[]): number =>
  intervals.reduce((sum, { first, last }) => sum + last - first + 1, 0);

export const holds = (intervals: readonly Interval[], value: number): boolean =>
  nextIn(intervals, value) === value;

/** The smallest of the numbers that is not below `from`; undefined when there is none. */
export function nextIn(intervals: readonly Interval[], from: number): number | undefined {
  const interval = intervals.find(({ last }) => last >= from);
  return interval === undefined ? undefined : Math.max(from, interval.first);
}
