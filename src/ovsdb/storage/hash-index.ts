import { grown } from './id-table.ts';
import type { RowFollower, StoredColumn, TableStore } from './table-store.ts';

/** What a hash index looks at: a column's cell, or the value that a map has under a key. */
export interface IndexPart {
  readonly column: StoredColumn;
  /** Code of the key of a map column. */
  readonly key?: number;
}

const ABSENT = -1;

/** Rows by the values of some columns. Rows that lack one of the map keys are not in it. */
export class HashIndex implements RowFollower {
  readonly columns: ReadonlySet<number>;
  readonly #store: TableStore;
  readonly #parts: readonly IndexPart[];
  readonly #probe: number[];
  #heads = new Uint32Array(64);
  #next: Uint32Array = new Uint32Array(64);
  #previous: Uint32Array = new Uint32Array(64);
  #count = 0;

  constructor(store: TableStore, parts: readonly IndexPart[]) {
    this.#store = store;
    this.#parts = parts;
    this.#probe = parts.map(() => 0);
    this.columns = new Set(parts.map((part) => part.column.position));
  }

  /** What the row has at a part of the index, or -1. */
  #code(slot: number, part: IndexPart): number {
    const cell = this.#store.cell(slot, part.column.position);
    return part.key === undefined ? cell : part.column.codec.valueAt(cell, part.key);
  }

  /** Hash of the codes in `#probe`. */
  #hash(): number {
    let hash = 0x811c9dc5;
    for (const code of this.#probe) hash = Math.imul(hash ^ code, 0x9e3779b1) ^ (hash >>> 13);
    return (hash ^ (hash >>> 16)) >>> 0;
  }

  /** Puts the row's codes into `#probe`; false when it has none for some part. */
  #load(slot: number): boolean {
    for (let i = 0; i < this.#parts.length; i++) {
      const code = this.#code(slot, this.#parts[i] as IndexPart);
      if (code === ABSENT) return false;
      this.#probe[i] = code;
    }
    return true;
  }

  added(slot: number): void {
    if (!this.#load(slot)) return;
    if (this.#count >= this.#heads.length) this.#rehash();
    if (slot >= this.#next.length) {
      this.#next = grown(this.#next, slot + 1);
      this.#previous = grown(this.#previous, slot + 1);
    }
    this.#load(slot);
    this.#link(slot, this.#hash() & (this.#heads.length - 1));
    this.#count++;
  }

  #link(slot: number, bucket: number): void {
    const head = this.#heads[bucket] as number;
    this.#next[slot] = head;
    this.#previous[slot] = 0;
    if (head !== 0) this.#previous[head] = slot;
    this.#heads[bucket] = slot;
  }

  #rehash(): void {
    const old = this.#heads;
    this.#heads = new Uint32Array(old.length * 2);
    for (const head of old) {
      for (let slot = head; slot !== 0;) {
        const next = this.#next[slot] as number;
        this.#load(slot);
        this.#link(slot, this.#hash() & (this.#heads.length - 1));
        slot = next;
      }
    }
  }

  removing(slot: number): void {
    if (!this.#load(slot)) return;
    const next = this.#next[slot] as number;
    const previous = this.#previous[slot] as number;
    if (previous === 0) this.#heads[this.#hash() & (this.#heads.length - 1)] = next;
    else this.#next[previous] = next;
    if (next !== 0) this.#previous[next] = previous;
    this.#count--;
  }

  /** Slots of the rows with these codes, one for each part. */
  find(codes: readonly number[]): number[] {
    codes.forEach((code, i) => {
      this.#probe[i] = code;
    });
    const result: number[] = [];
    let slot = this.#heads[this.#hash() & (this.#heads.length - 1)] as number;
    for (; slot !== 0; slot = this.#next[slot] as number) {
      if (this.#parts.every((part, i) => this.#code(slot, part) === codes[i])) result.push(slot);
    }
    return result;
  }
}
