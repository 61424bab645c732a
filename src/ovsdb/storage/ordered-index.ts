import { compareDatums } from '../data/datum.ts';
import type { Datum } from '../data/value.ts';
import type { RowFollower, StoredColumn, TableStore } from './table-store.ts';

/** One column that an ordered index sorts by. */
export interface OrderedPart {
  readonly column: StoredColumn;
  readonly descending: boolean;
  readonly compare: ((a: Datum, b: Datum) => number) | undefined;
}

/** Rows in the order of some columns' values, equal ones by UUID. Brought up to date when it is asked, not on each change. */
export class OrderedIndex implements RowFollower {
  readonly columns: ReadonlySet<number>;
  readonly #store: TableStore;
  readonly #parts: readonly OrderedPart[];
  #sorted: Uint32Array = new Uint32Array();
  /** Slots whose rows came, went or changed since then. */
  readonly #changed = new Set<number>();

  constructor(store: TableStore, parts: readonly OrderedPart[]) {
    this.#store = store;
    this.#parts = parts;
    this.columns = new Set(parts.map((part) => part.column.position));
  }

  added(slot: number): void {
    this.#changed.add(slot);
  }

  removing(slot: number): void {
    this.#changed.add(slot);
  }

  readonly #compareSlots = (a: number, b: number): number => {
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
  };

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

  /** Puts in order what has changed since the last time. */
  #update(): void {
    if (this.#changed.size === 0) return;
    const { uuids } = this.#store;
    const kept = this.#sorted.filter((slot) => !this.#changed.has(slot));
    const changed = Uint32Array.from(this.#changed)
      .filter((slot) => uuids[slot] !== 0)
      .sort(this.#compareSlots);
    const merged = new Uint32Array(kept.length + changed.length);
    let from = 0;
    changed.forEach((slot, i) => {
      const at = lowerBound(kept, from, (other) => this.#compareSlots(other, slot) < 0);
      merged.set(kept.subarray(from, at), from + i);
      merged[at + i] = slot;
      from = at;
    });
    merged.set(kept.subarray(from), from + changed.length);
    this.#sorted = merged;
    this.#changed.clear();
  }

  /** Slots from the first key to the last, both included; a key may be shorter than the index. */
  range(from: readonly Datum[] | undefined, to: readonly Datum[] | undefined): Uint32Array {
    this.#update();
    const sorted = this.#sorted;
    const first =
      from === undefined ? 0 : lowerBound(sorted, 0, (slot) => this.#compareKey(slot, from) < 0);
    const last =
      to === undefined
        ? sorted.length
        : lowerBound(sorted, 0, (slot) => this.#compareKey(slot, to) <= 0);
    return sorted.slice(first, Math.max(first, last));
  }
}

/** The first place from `from` on whose slot is not before what is looked for. */
function lowerBound(slots: Uint32Array, from: number, isBefore: (slot: number) => boolean): number {
  let [low, high] = [from, slots.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(slots[middle] as number)) low = middle + 1;
    else high = middle;
  }
  return low;
}
