import { compareDatums } from '../datum.ts';
import type { Datum } from '../value.ts';
import type { FollowerDraft, RowFollower, StoredColumn, TableStore } from './table-store.ts';

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
  #added = new Set<number>();
  #removed = new Set<number>();

  constructor(store: TableStore, parts: readonly OrderedPart[]) {
    this.#store = store;
    this.#parts = parts;
    this.columns = new Set(parts.map((part) => part.column.position));
  }

  draft(store: TableStore): FollowerDraft {
    const follower = new OrderedIndex(store, this.#parts);
    // Nobody asks the draft: it notes what changes since the rows were last put in order.
    const before = this.#sorted;
    follower.#added = new Set(this.#added);
    follower.#removed = new Set(this.#removed);
    return {
      follower,
      show: () => {
        this.#sorted = before;
        this.#added = follower.#added;
        this.#removed = follower.#removed;
      },
    };
  }

  added(slot: number): void {
    this.#added.add(slot);
  }

  removing(slot: number): void {
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

  #settle(): void {
    if (this.#added.size === 0 && this.#removed.size === 0) return;
    const kept =
      this.#removed.size === 0
        ? this.#sorted
        : this.#sorted.filter((slot) => !this.#removed.has(slot));
    const added = [...this.#added].sort((a, b) => this.#compareSlots(a, b));
    const merged = new Uint32Array(kept.length + added.length);
    let [i, j] = [0, 0];
    for (let out = 0; out < merged.length; out++) {
      const takeKept =
        j >= added.length ||
        (i < kept.length && this.#compareSlots(kept[i] as number, added[j] as number) <= 0);
      merged[out] = takeKept ? (kept[i++] as number) : (added[j++] as number);
    }
    this.#sorted = merged;
    this.#added.clear();
    this.#removed.clear();
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
    this.#settle();
    const first = from === undefined ? 0 : this.#search(from, false);
    const last = to === undefined ? this.#sorted.length : this.#search(to, true);
    return this.#sorted.slice(first, Math.max(first, last));
  }
}
