import { compareDatums } from '../data/datum.ts';
import { atOnce, ENDLESS, type Turn, type Work } from '../turn.ts';
import type { Datum } from '../data/value.ts';
import { mergeInto, sortedInPieces } from './sort-in-pieces.ts';
import { SlotSet } from './slot-set.ts';
import { sortSlots, type SortKey } from './sort-slots.ts';
import type { FollowerDraft, RowFollower, StoredColumn, TableStore } from './table-store.ts';

/** One column that an ordered index sorts by. */
export interface OrderedPart {
  readonly column: StoredColumn;
  readonly descending: boolean;
  readonly compare: ((a: Datum, b: Datum) => number) | undefined;
}

/** Rows that are sorted in one go while others wait for their turn. */
const SORTED_AT_ONCE = 4096;

/** Rows looked at between two questions whether the turn is over. */
const ROWS_AT_ONCE = 1024;

/** Rows in the order of some columns' values, equal ones by UUID. Brought up to date when it is asked, not on each change. */
export class OrderedIndex implements RowFollower {
  readonly columns: ReadonlySet<number>;
  readonly #store: TableStore;
  readonly #parts: readonly OrderedPart[];
  readonly #sortKeys: readonly (SortKey | undefined)[];
  #sorted: Uint32Array = new Uint32Array();
  #added = new SlotSet();
  #removed = new SlotSet();
  /** Counts changes, of rows and of what is in order. */
  #change = 0;

  constructor(store: TableStore, parts: readonly OrderedPart[]) {
    this.#store = store;
    this.#parts = parts;
    this.columns = new Set(parts.map((part) => part.column.position));
    this.#sortKeys = sortKeysOf(store, parts);
  }

  draft(store: TableStore): FollowerDraft {
    const follower = new OrderedIndex(store, this.#parts);
    // Nobody asks the draft: it notes what changes since the rows were last put in order, and may be put in order itself.
    follower.#sorted = this.#sorted;
    follower.#added = this.#added.copy();
    follower.#removed = this.#removed.copy();
    return {
      follower,
      show: () => {
        this.#sorted = follower.#sorted;
        this.#added = follower.#added;
        this.#removed = follower.#removed;
        this.#change++;
      },
    };
  }

  added(slot: number): void {
    this.#change++;
    this.#added.add(slot);
  }

  removing(slot: number): void {
    this.#change++;
    if (!this.#added.delete(slot)) this.#removed.add(slot);
  }

  #compareSlots(a: number, b: number): number {
    for (const { column, descending, compare } of this.#parts) {
      const [x, y] = [this.#store.cell(a, column.position), this.#store.cell(b, column.position)];
      if (x === y) continue;
      const { codec } = column;
      const order =
        compare === undefined ? codec.compare(x, y) : compare(codec.datum(x), codec.datum(y));
      if (order !== 0) return descending ? -order : order;
    }
    const { uuids, pools } = this.#store;
    return pools.uuids.compare(uuids[a] as number, uuids[b] as number);
  }

  /** Order of a row and a key that has a value for the first columns. */
  #compareKey(slot: number, key: readonly Datum[]): number {
    for (let i = 0; i < key.length; i++) {
      const { column, descending, compare } = this.#parts[i] as OrderedPart;
      const value = column.codec.datum(this.#store.cell(slot, column.position));
      const order = (compare ?? compareDatums)(value, key[i]);
      if (order !== 0) return descending ? -order : order;
    }
    return 0;
  }

  /** Puts in order what has changed since the last time, in pieces, when that is so many rows. */
  *settling(turn: Turn, atLeast: number): Work {
    try {
      yield* this.#settle(turn, atLeast);
    } catch (error) {
      // What a program compares with threw: that is told to whoever asks for the order, not to the connection.
      if (this.#parts.every(({ compare }) => compare === undefined)) throw error;
    }
  }

  /** Whoever asks meanwhile has it put in order at once. */
  *#settle(turn: Turn, atLeast: number): Work {
    while (this.#added.size + this.#removed.size >= atLeast) {
      const change = this.#change;
      const compare = (a: number, b: number): number => this.#compareSlots(a, b);
      const kept = yield* this.#kept(turn);
      const added = yield* sortedInPieces(this.#added.slots, compare, turn, {
        atOnce: turn === ENDLESS ? Infinity : SORTED_AT_ONCE,
        sort: (slots) => {
          sortSlots(slots, this.#sortKeys, compare);
        },
      });
      let merged = added;
      if (kept.length > 0) {
        merged = new Uint32Array(kept.length + added.length);
        yield* mergeInto(merged, kept, added, compare, turn);
      }
      if (change !== this.#change) continue;
      this.#sorted = merged;
      this.#added.clear();
      this.#removed.clear();
      this.#change++;
    }
  }

  /** Rows that are still where they were. */
  *#kept(turn: Turn): Work<Uint32Array> {
    if (this.#removed.size === 0) return this.#sorted;
    const sorted = this.#sorted;
    const kept = new Uint32Array(sorted.length);
    let length = 0;
    for (let i = 0; i < sorted.length; i++) {
      const slot = sorted[i] as number;
      if (!this.#removed.has(slot)) kept[length++] = slot;
      if (i % ROWS_AT_ONCE === 0 && turn.isOver()) yield;
    }
    return kept.subarray(0, length);
  }

  /** Position of the first row that is not before the key or, with `after`, that is behind it. */
  #search(key: readonly Datum[], after: boolean): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const order = this.#compareKey(this.#sorted[middle] as number, key);
      if (order < 0 || (after && order === 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Slots from the first key to the last, both included; a key may be shorter than the index. */
  range(from: readonly Datum[] | undefined, to: readonly Datum[] | undefined): Uint32Array {
    atOnce(this.#settle(ENDLESS, 1));
    const first = from === undefined ? 0 : this.#search(from, false);
    const last = to === undefined ? this.#sorted.length : this.#search(to, true);
    return this.#sorted.slice(first, Math.max(first, last));
  }
}

/** What rows are sorted by: their columns, then their UUIDs. Behind a column whose values have to be compared all else is compared, too. */
function sortKeysOf(
  store: TableStore,
  parts: readonly OrderedPart[],
): readonly (SortKey | undefined)[] {
  const keys = parts.map(({ column, descending, compare }): SortKey | undefined => {
    const key = compare === undefined ? column.codec.sortKey : undefined;
    if (key === undefined) return undefined;
    const word = (slot: number, place: number): number =>
      key.word(store.cell(slot, column.position), place);
    return descending
      ? {
          word: (slot, place) => ~word(slot, place) >>> 0,
          isEnd: (inverse, place) => key.isEnd(~inverse >>> 0, place),
        }
      : { word, isEnd: (found, place) => key.isEnd(found, place) };
  });
  const { uuids } = store.pools;
  keys.push({
    word: (slot, place) => uuids.word(store.uuids[slot] as number, place),
    isEnd: (_word, place) => place === 3,
  });
  return keys;
}
