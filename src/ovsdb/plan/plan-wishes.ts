import type { DesiredRow } from './desired.ts';
import type { NameHash } from './name-hash.ts';
import type { Entries } from './plan-entries.ts';

/** So many wishes are added at a time: the UUIDs of many keys together cost half of what they cost one by one. */
const BLOCK = 256;

/** Adds wishes to a table's entries, to be compared with the database as a whole. */
export class WishQueue {
  readonly #entries: Entries;
  readonly #hash: NameHash;
  readonly #refuse: (unit: string, row: DesiredRow) => void;
  readonly #units: string[] = [];
  readonly #rows: DesiredRow[] = [];
  readonly #keys: string[] = [];
  readonly #words = new Uint32Array(BLOCK * 4);
  #count = 0;
  /** Keeps reads that serve the processor's cache alone from being left out. */
  touched = 0;

  constructor(entries: Entries, hash: NameHash, refuse: (unit: string, row: DesiredRow) => void) {
    this.#entries = entries;
    this.#hash = hash;
    this.#refuse = refuse;
  }

  add(unit: string, row: DesiredRow): void {
    const at = this.#count++;
    this.#units[at] = unit;
    this.#rows[at] = row;
    this.#keys[at] = row.key;
    if (this.#count === BLOCK) this.flush();
  }

  /** Adds what waits. */
  flush(): void {
    const count = this.#count;
    const words = this.#words;
    const entries = this.#entries;
    this.#count = 0;
    this.#hash.makeAll(this.#keys, count, words);
    this.touched ^= entries.touch(words, count);
    for (let i = 0; i < count; i++) {
      const row = this.#rows[i] as DesiredRow;
      const unit = this.#units[i] as string;
      if (entries.find(words, i * 4, row.key) === 0) entries.addWish(unit, row, words, i * 4);
      else this.#refuse(unit, row);
    }
  }
}
