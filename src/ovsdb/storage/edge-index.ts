import { grown } from './id-table.ts';
import type { CellFollower, StoredColumn } from './table-store.ts';
import type { SequencePool } from './sequence-pool.ts';

const bucketOf = (target: number, mask: number): number =>
  (Math.imul(target, 0x9e3779b1) >>> 7) & mask;

/** Where a sequence is, from where on, and how long it is. */
const wordsOf = (sequences: SequencePool, id: number): readonly [Uint32Array, number, number] => [
  sequences.words(id),
  sequences.offset(id),
  sequences.length(id),
];

/** Rows by the rows that one of their sets or maps refers to. */
export class EdgeIndex implements CellFollower {
  readonly #column: StoredColumn;
  /** First member of a sequence to look at, and the distance to the next: keys or values of a map, members of a set. */
  readonly #first: number;
  readonly #step: number;
  #heads = new Uint32Array(64);
  #target: Uint32Array = new Uint32Array(64);
  #source: Uint32Array = new Uint32Array(64);
  #next: Uint32Array = new Uint32Array(64);
  #top = 1;
  readonly #free: number[] = [];

  constructor(column: StoredColumn, part: 'key' | 'value') {
    this.#column = column;
    this.#step = column.codec.kind === 'map' ? 2 : 1;
    this.#first = part === 'value' ? 1 : 0;
  }

  changed(slot: number, before: number, after: number): void {
    const { sequences } = this.#column.codec;
    const [old, oldAt, oldLength] = wordsOf(sequences, before);
    const [now, nowAt, nowLength] = wordsOf(sequences, after);
    // Nearly all members of a large set stay: what both begin and end with is passed over.
    const shorter = Math.min(oldLength, nowLength);
    let head = 0;
    while (head < shorter && old[oldAt + head] === now[nowAt + head]) head++;
    let tail = 0;
    while (
      tail < shorter - head &&
      old[oldAt + oldLength - 1 - tail] === now[nowAt + nowLength - 1 - tail]
    )
      tail++;
    head -= head % this.#step;
    tail -= tail % this.#step;
    for (let i = head + this.#first; i < oldLength - tail; i += this.#step)
      this.#remove(slot, old[oldAt + i] as number);
    for (let i = head + this.#first; i < nowLength - tail; i += this.#step)
      this.#add(slot, now[nowAt + i] as number);
  }

  #add(slot: number, target: number): void {
    const edge = this.#free.pop() ?? this.#top++;
    if (edge >= this.#target.length) {
      this.#target = grown(this.#target, edge + 1);
      this.#source = grown(this.#source, edge + 1);
      this.#next = grown(this.#next, edge + 1);
    }
    if (this.#top > this.#heads.length) this.#rehash();
    this.#target[edge] = target;
    this.#source[edge] = slot;
    this.#link(edge);
  }

  #link(edge: number): void {
    const bucket = bucketOf(this.#target[edge] as number, this.#heads.length - 1);
    this.#next[edge] = this.#heads[bucket] as number;
    this.#heads[bucket] = edge;
  }

  #rehash(): void {
    const old = this.#heads;
    this.#heads = new Uint32Array(old.length * 2);
    for (const head of old) {
      for (let edge = head; edge !== 0;) {
        const next = this.#next[edge] as number;
        this.#link(edge);
        edge = next;
      }
    }
  }

  #remove(slot: number, target: number): void {
    const bucket = bucketOf(target, this.#heads.length - 1);
    let previous = 0;
    let edge = this.#heads[bucket] as number;
    while (edge !== 0 && !(this.#target[edge] === target && this.#source[edge] === slot)) {
      previous = edge;
      edge = this.#next[edge] as number;
    }
    if (edge === 0) return;
    if (previous === 0) this.#heads[bucket] = this.#next[edge] as number;
    else this.#next[previous] = this.#next[edge] as number;
    this.#free.push(edge);
  }

  /** Slots of the rows that refer to this one. */
  sources(target: number): number[] {
    const result: number[] = [];
    let edge = this.#heads[bucketOf(target, this.#heads.length - 1)] as number;
    for (; edge !== 0; edge = this.#next[edge] as number) {
      if (this.#target[edge] === target) result.push(this.#source[edge] as number);
    }
    return result;
  }
}
