import { CHUNK_BITS, Interner, OFFSET_MASK } from './interner.ts';
import { keyedWordHash, randomHashKey } from './keyed-hash.ts';

/** Sequences of 32-bit words, interned. Id 0 is the empty one. */
export class WordPool extends Interner<Uint32Array> {
  readonly #key = randomHashKey();

  protected make(size: number): Uint32Array {
    return new Uint32Array(size);
  }

  protected hashOf(id: number): number {
    return keyedWordHash(this.#key, this.chunkOf(id), this.offsetOf(id), this.sizes[id] as number);
  }

  length(id: number): number {
    return id === 0 ? 0 : (this.sizes[id] as number);
  }

  /** The arena that holds this sequence, from `offset(id)` on. */
  words(id: number): Uint32Array {
    return this.chunkOf(id);
  }

  offset(id: number): number {
    return this.offsetOf(id);
  }

  #find(words: Uint32Array, length: number, hash: number): number {
    const { start, sizes, chunks } = this;
    const { slots, mask } = this.table;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const id = slots[at * 2] as number;
      if (id === 0) return -1;
      if (slots[at * 2 + 1] !== hash || sizes[id] !== length) continue;
      const place = start[id] as number;
      const chunk = chunks[place >>> CHUNK_BITS] as Uint32Array;
      const offset = place & OFFSET_MASK;
      let i = 0;
      while (i < length && chunk[offset + i] === words[i]) i++;
      if (i === length) return id;
    }
  }

  /** Id of the sequence of the first `length` words, or -1. */
  findWords(words: Uint32Array, length: number): number {
    return length === 0 ? 0 : this.#find(words, length, keyedWordHash(this.#key, words, 0, length));
  }

  internWords(words: Uint32Array, length: number): number {
    if (length === 0) return 0;
    const hash = keyedWordHash(this.#key, words, 0, length);
    const found = this.#find(words, length, hash);
    if (found !== -1) return found;
    const id = this.add(length, hash);
    const chunk = this.chunkOf(id);
    const offset = this.offsetOf(id);
    for (let i = 0; i < length; i++) chunk[offset + i] = words[i] as number;
    this.added?.(id);
    return id;
  }

  /** A new sequence takes hold of its members. */
  protected added?(id: number): void;
}
