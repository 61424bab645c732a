/** Something that slots are sorted by, as numbers of 32 bits without a sign: the first one decides, then the next. */
export interface SortKey {
  /** The number at this place of a slot's key. */
  word(slot: number, place: number): number;
  /** Whether keys that are the same up to this place, where they have this number, are the same; otherwise there is another number. */
  isEnd(word: number, place: number): boolean;
}

/** Slots from `from` to `to` that have the same keys before this one, and the same numbers of it before this place. */
interface Group {
  readonly from: number;
  readonly to: number;
  readonly key: number;
  readonly place: number;
}

/** So many are put in order by comparing them. */
const FEW = 12;

/** Which half of a number of 64 bits is the higher one. */
const HIGH = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 1 : 0;

/**
 * Sorts slots in place, much faster than by comparing them: by numbers that stand for their values. Where these end, or there is no key, `compare`
 * decides, which must agree with them.
 */
export function sortSlots(
  slots: Uint32Array,
  keys: readonly (SortKey | undefined)[],
  compare: (a: number, b: number) => number,
): void {
  // A number and the slot behind it: sorted natively.
  const pairs = new BigUint64Array(slots.length);
  const halves = new Uint32Array(pairs.buffer);
  const groups: Group[] = [{ from: 0, to: slots.length, key: 0, place: 0 }];
  for (let group = groups.pop(); group !== undefined; group = groups.pop()) {
    const { from, to, place } = group;
    const key = keys[group.key];
    if (key === undefined) slots.subarray(from, to).sort(compare);
    else {
      let isOne = true;
      const first = key.word(slots[from] as number, place);
      for (let i = from; i < to; i++) {
        const slot = slots[i] as number;
        const word = key.word(slot, place);
        if (word !== first) isOne = false;
        halves[i * 2 + 1 - HIGH] = slot;
        halves[i * 2 + HIGH] = word;
      }
      if (!isOne) {
        pairs.subarray(from, to).sort();
        for (let i = from; i < to; i++) slots[i] = halves[i * 2 + 1 - HIGH] as number;
      }
      for (let i = from; i < to;) {
        const word = halves[i * 2 + HIGH] as number;
        const start = i++;
        while (i < to && halves[i * 2 + HIGH] === word) i++;
        if (i - start <= FEW) {
          insertionSort(slots, start, i, compare);
          continue;
        }
        const isEnd = key.isEnd(word, place);
        groups.push({
          from: start,
          to: i,
          key: isEnd ? group.key + 1 : group.key,
          place: isEnd ? 0 : place + 1,
        });
      }
    }
  }
}

function insertionSort(
  slots: Uint32Array,
  from: number,
  to: number,
  compare: (a: number, b: number) => number,
): void {
  for (let i = from + 1; i < to; i++) {
    const slot = slots[i] as number;
    let at = i;
    for (; at > from && compare(slots[at - 1] as number, slot) > 0; at--)
      slots[at] = slots[at - 1] as number;
    slots[at] = slot;
  }
}
