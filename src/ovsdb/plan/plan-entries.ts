import type { DesiredRow } from './desired.ts';
import { Entry } from './plan-entry.ts';
import type { PlanTable } from './plan-table.ts';
import { grown, IdTable } from '../storage/id-table.ts';

/**
 * What is known of a table's keys, through the UUID made from the key. That UUID is needed for each wanted row anyway and
 * is as good as a hash can be; it also finds the entry of a row without remembering each row's UUID as text.
 *
 * Of a row that is right no more than the wish is kept. An entry is made of it when somebody asks for it.
 */
export class Entries {
  readonly #of: PlanTable;
  /** By place: an entry, or the wish for a row that was found right; while the database is read first, any wish. */
  readonly #held: (Entry | DesiredRow | undefined)[] = [undefined];
  /** Units of bare wishes. */
  readonly #units: string[] = [''];
  /** How many desired rows refer to a place's row or are held by it. */
  #references: Uint32Array = new Uint32Array(64);
  #words: Uint32Array = new Uint32Array(256);
  readonly #table = new IdTable();
  #free: number[] = [];
  /** How many entries there are. */
  #entered = 0;

  constructor(of: PlanTable) {
    this.#of = of;
  }

  /** Places are below this; 0 is none. */
  get top(): number {
    return this.#held.length;
  }

  /** UUIDs of all places, four words each. */
  get words(): Uint32Array {
    return this.#words;
  }

  /** The place of the UUID in four words from `at` on, and of this key unless none is given; 0 when there is none. */
  find(words: Uint32Array, at: number, key?: string): number {
    const { slots, mask } = this.#table;
    const all = this.#words;
    const first = words[at] as number;
    for (let probe = first & mask; ; probe = (probe + 1) & mask) {
      const place = slots[probe * 2] as number;
      if (place === 0) return 0;
      if (slots[probe * 2 + 1] !== first) continue;
      const word = place * 4;
      if (
        all[word + 1] !== words[at + 1] ||
        all[word + 2] !== words[at + 2] ||
        all[word + 3] !== words[at + 3]
      )
        continue;
      if (key === undefined || this.#held[place]?.key === key) return place;
    }
  }

  /**
   * Looks where `count` UUIDs would be found, one right after the other, so that the processor need not wait for each when
   * they are asked for. Returns a number that means nothing.
   */
  touch(words: Uint32Array, count: number): number {
    const { slots, mask } = this.#table;
    let sum = 0;
    for (let i = 0; i < count; i++) sum ^= slots[((words[i * 4] as number) & mask) * 2] as number;
    return sum;
  }

  /** Makes room for so many places in all. */
  reserve(count: number): void {
    this.#table.reserve(count);
    if ((count + 1) * 4 > this.#words.length) this.#grow(count + 1);
  }

  #grow(places: number): void {
    this.#words = grown(this.#words, places * 4);
    this.#references = grown(this.#references, this.#words.length >> 2);
  }

  #add(held: Entry | DesiredRow, unit: string, words: Uint32Array, at: number): number {
    const place = this.#free.pop() ?? this.#held.length;
    const word = place * 4;
    if (word + 4 > this.#words.length) this.#grow(place + 1);
    const all = this.#words;
    for (let i = 0; i < 4; i++) all[word + i] = words[at + i] as number;
    this.#held[place] = held;
    this.#units[place] = unit;
    this.#table.add(place, words[at] as number);
    return place;
  }

  /** Adds a new entry for a key that is nowhere yet. */
  add(key: string, words: Uint32Array, at: number): Entry {
    const entry = new Entry(this.#of, key);
    entry.place = this.#add(entry, '', words, at);
    this.#entered++;
    return entry;
  }

  /** Adds a wish for a key that is nowhere yet, to be compared with the database. */
  addWish(unit: string, row: DesiredRow, words: Uint32Array, at: number): void {
    this.#add(row, unit, words, at);
  }

  /** The bare wish at a place; undefined where there is an entry or nothing. */
  wish(place: number): DesiredRow | undefined {
    const held = this.#held[place];
    return held instanceof Entry ? undefined : held;
  }

  /** The entry of a place, which must not be free; of a bare wish one whose row is right. */
  at(place: number): Entry {
    const held = this.#held[place] as Entry | DesiredRow;
    return held instanceof Entry ? held : this.#enter(place, held, true);
  }

  /** The entry of a place whose wish was not found right. */
  doubt(place: number): Entry {
    const held = this.#held[place] as Entry | DesiredRow;
    return held instanceof Entry ? held : this.#enter(place, held, false);
  }

  #enter(place: number, wish: DesiredRow, isRight: boolean): Entry {
    const entry = new Entry(this.#of, wish.key);
    entry.place = place;
    entry.row = wish;
    entry.unit = this.#units[place];
    entry.isAssumed = isRight;
    entry.isMatched = isRight;
    this.#held[place] = entry;
    this.#entered++;
    this.#units[place] = '';
    return entry;
  }

  /** Of an entry whose row is right the wish alone is kept. Nobody may look at the entry any more. */
  release(entry: Entry): void {
    const { place, row, unit } = entry;
    if (place === 0 || row === undefined) return;
    this.#held[place] = row;
    this.#units[place] = unit ?? '';
    this.#entered--;
    entry.place = 0;
  }

  referenceCount(place: number): number {
    return this.#references[place] as number;
  }

  /** Returns how many there are then. */
  countReference(place: number, step: 1 | -1): number {
    const count = (this.#references[place] as number) + step;
    this.#references[place] = count;
    return count;
  }

  delete(place: number): void {
    this.#table.remove(place, this.#words[place * 4] as number);
    if (this.#held[place] instanceof Entry) this.#entered--;
    this.#held[place] = undefined;
    this.#references[place] = 0;
    this.#free.push(place);
  }

  /** Copies the UUID of a place. */
  read(place: number, words: Uint32Array): void {
    for (let i = 0; i < 4; i++) words[i] = this.#words[place * 4 + i] as number;
  }

  /** Entries, without rows that are right and that nobody asked for. Those that come or go meanwhile may be left out or seen. */
  *[Symbol.iterator](): Generator<Entry> {
    if (this.#entered === 0) return;
    for (const held of this.#held) if (held instanceof Entry) yield held;
  }

  /** Entries made of those bare wishes for which `test` is true. */
  *enteredWhere(test: (wish: DesiredRow) => boolean): Generator<Entry> {
    for (let place = 1; place < this.#held.length; place++) {
      const wish = this.wish(place);
      if (wish !== undefined && test(wish)) yield this.at(place);
    }
  }
}
