import type { Turn } from '../turn.ts';
import type { AtomCodec } from './atom-codec.ts';
import { Entries } from './entries.ts';
import { IdTable } from './id-table.ts';

/** Sequences of more words are gone through in pieces. */
export const LONG = 4096;

function hashWords(words: Uint32Array, offset: number, length: number): number {
  let hash = 0x9e3779b9 ^ length;
  for (let i = 0; i < length; i++) {
    hash = Math.imul(hash ^ (words[offset + i] as number), 0x85ebca6b);
    hash = (hash << 13) | (hash >>> 19);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0xc2b2ae35);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/**
 * Each distinct sequence of codes once: the members of a set in order, or key, value, key, value … of a map.
 * A sequence in the pool holds its members; id 0 is the empty one.
 */
export class SequencePool {
  readonly #entries: Entries<Uint32Array>;
  readonly #table = new IdTable();
  readonly #keys: AtomCodec;
  readonly #values: AtomCodec;
  /** Whether there ever was a long one. */
  hasLong = false;

  /** Members in even places are of `keys`, those in odd places of `values`: of a set both are the same. */
  constructor(keys: AtomCodec, values: AtomCodec) {
    this.#keys = keys;
    this.#values = values;
    this.#entries = new Entries(
      (size) => new Uint32Array(size),
      (id) => {
        const chunk = this.#entries.chunkOf(id);
        const offset = this.#entries.offsetOf(id);
        const length = this.#entries.length[id] as number;
        this.#table.remove(id, hashWords(chunk, offset, length));
        for (let i = 0; i < length; i++)
          (i & 1 ? values : keys).release(chunk[offset + i] as number);
      },
    );
  }

  get count(): number {
    return this.#entries.count;
  }

  get reserved(): number {
    return this.#entries.reserved * 4;
  }

  retain(id: number): void {
    this.#entries.retain(id);
  }

  release(id: number): void {
    this.#entries.release(id);
  }

  /** False when the turn ended first: call it again. */
  sweep(turn: Turn): boolean {
    return this.#entries.sweep(turn);
  }

  /** As `Entries.touch`. */
  touch(ids: Uint32Array, count: number): number {
    return this.#entries.touch(ids, count);
  }

  length(id: number): number {
    return id === 0 ? 0 : (this.#entries.length[id] as number);
  }

  /** The arena that holds this sequence, from `offset(id)` on. */
  words(id: number): Uint32Array {
    return this.#entries.chunkOf(id);
  }

  offset(id: number): number {
    return this.#entries.offsetOf(id);
  }

  #find(words: Uint32Array, length: number, hash: number): number {
    const { slots, mask } = this.#table;
    const entries = this.#entries;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const id = slots[at * 2] as number;
      if (id === 0) return -1;
      if (slots[at * 2 + 1] !== hash || entries.length[id] !== length) continue;
      const chunk = entries.chunkOf(id);
      const offset = entries.offsetOf(id);
      let i = 0;
      while (i < length && chunk[offset + i] === words[i]) i++;
      if (i === length) return id;
    }
  }

  /** Id of the sequence of the first `length` words, or -1. */
  find(words: Uint32Array, length: number): number {
    return length === 0 ? 0 : this.#find(words, length, hashWords(words, 0, length));
  }

  intern(words: Uint32Array, length: number): number {
    if (length === 0) return 0;
    const hash = hashWords(words, 0, length);
    const found = this.#find(words, length, hash);
    if (found !== -1) return found;
    const id = this.#entries.add(length);
    if (length > LONG) this.hasLong = true;
    const chunk = this.#entries.chunkOf(id);
    const offset = this.#entries.offsetOf(id);
    const keys = this.#keys;
    const values = this.#values;
    for (let i = 0; i < length; i++) {
      chunk[offset + i] = words[i] as number;
      (i & 1 ? values : keys).retain(words[i] as number);
    }
    this.#table.add(id, hash);
    return id;
  }
}
