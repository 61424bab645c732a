import type { Turn, Work } from '../turn.ts';

/** Items that are sorted, merged or copied between two questions whether the turn is over. */
const STEP = 256;

/** How some of the items are sorted in one go, and how many at once. */
export interface PieceSort {
  readonly atOnce: number;
  readonly sort: (items: Uint32Array) => void;
}

/** Sorts items in place or in a copy, which is returned, in pieces. */
export function* sortedInPieces(
  items: Uint32Array,
  compare: (a: number, b: number) => number,
  turn: Turn,
  { atOnce, sort }: PieceSort = { atOnce: STEP, sort: (piece) => piece.sort(compare) },
): Work<Uint32Array> {
  const { length } = items;
  for (let at = 0; at < length; at += atOnce) {
    sort(items.subarray(at, at + atOnce));
    if (turn.isOver()) yield;
  }
  let from = items;
  let to: Uint32Array = new Uint32Array(length > atOnce ? length : 0);
  for (let width = atOnce; width < length; width *= 2) {
    for (let at = 0; at < length; at += 2 * width) {
      const parts = [from.subarray(at, at + width), from.subarray(at + width, at + 2 * width)];
      yield* mergeInto(
        to.subarray(at),
        parts[0] as Uint32Array,
        parts[1] as Uint32Array,
        compare,
        turn,
      );
    }
    [from, to] = [to, from];
  }
  return from;
}

/** Merges two ordered lists into one in pieces; of what is equal the first list's comes first. */
export function* mergeInto(
  to: Uint32Array,
  first: Uint32Array,
  second: Uint32Array,
  compare: (a: number, b: number) => number,
  turn: Turn,
): Work {
  let [i, j] = [0, 0];
  for (let out = 0; out < first.length + second.length;) {
    // What comes next of the first list, as one piece: most often the second list is much shorter.
    const next = second[j];
    const end =
      next === undefined
        ? first.length
        : lowerBound(i, first.length, 1, (at) => compare(first[at] as number, next) <= 0);
    to.set(first.subarray(i, end), out);
    out += end - i;
    i = end;
    if (next !== undefined) {
      to[out++] = next;
      j++;
    }
    if (turn.isOver()) yield;
  }
}

/**
 * The first place from `from` on, in steps of `width` and not behind `end`, that `isBefore` does not hold for. It must hold for all places before
 * that, and is asked least when that is near.
 */
export function lowerBound(
  from: number,
  end: number,
  width: number,
  isBefore: (at: number) => boolean,
): number {
  let low = from;
  let reach = width;
  while (low + reach <= end && isBefore(low + reach - width)) {
    low += reach;
    reach *= 2;
  }
  let high = Math.min(end, low + reach - width);
  while (low < high) {
    const middle = low + Math.floor((high - low) / width / 2) * width;
    if (isBefore(middle)) low = middle + width;
    else high = middle;
  }
  return low;
}
