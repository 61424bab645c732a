import type { Entry } from './plan-entry.ts';
import { grown, IdTable } from './storage/id-table.ts';

/**
 * The entries of a table by key, through the UUID made from the key. That UUID is needed for each wanted row anyway and
 * is as good as a hash can be; it also finds the entry of a row without remembering each row's UUID as text.
 */
export class Entries {
  #entries: (Entry | undefined)[] = [undefined];
  #words: Uint32Array = new Uint32Array(256);
  readonly #table: IdTable = new IdTable((place) => this.#words[place * 4] as number);
  #free: number[] = [];

  /** The entry with this UUID, and with this key unless none is given. */
  find(words: Uint32Array, key?: string): Entry | undefined {
    const { slots, mask } = this.#table;
    const all = this.#words;
    const first = words[0] as number;
    for (let at = first & mask; ; at = (at + 1) & mask) {
      const place = slots[at] as number;
      if (place === 0) return undefined;
      const word = place * 4;
      if (
        all[word] !== first ||
        all[word + 1] !== words[1] ||
        all[word + 2] !== words[2] ||
        all[word + 3] !== words[3]
      )
        continue;
      const entry = this.#entries[place];
      if (entry !== undefined && (key === undefined || entry.key === key)) return entry;
    }
  }

  /** Adds an entry whose key is new; returns its place. */
  add(entry: Entry, words: Uint32Array): number {
    const place = this.#free.pop() ?? this.#entries.length;
    if ((place + 1) * 4 > this.#words.length) this.#words = grown(this.#words, (place + 1) * 4);
    this.#words.set(words, place * 4);
    this.#entries[place] = entry;
    this.#table.add(place, words[0] as number);
    return place;
  }

  delete(place: number): void {
    this.#table.remove(place, this.#words[place * 4] as number);
    this.#entries[place] = undefined;
    this.#free.push(place);
  }

  /** Copies the UUID of a place. */
  read(place: number, words: Uint32Array): void {
    for (let i = 0; i < 4; i++) words[i] = this.#words[place * 4 + i] as number;
  }

  /** Entries that come or go meanwhile may be left out or seen. */
  *[Symbol.iterator](): Generator<Entry> {
    for (const entry of this.#entries) if (entry !== undefined) yield entry;
  }
}
