import type { AtomCodec } from './atom-codec.ts';
import type { SequencePool } from './sequence-pool.ts';
import { lowerBound } from './sort-in-pieces.ts';

/** Members looked at or copied between two questions whether the turn is over. */
const STEP = 4096;

/** The members of a set or map after a difference, which has those that come and those that go, in order. */
export class MemberMerge {
  /** The members so far. */
  words: Uint32Array = new Uint32Array(1024);
  length = 0;
  #keys: AtomCodec | undefined;
  #width = 1;
  #a: Uint32Array = this.words;
  #b: Uint32Array = this.words;
  // What is left of both.
  #i = 0;
  #n = 0;
  #j = 0;
  #m = 0;

  /** `width`: words of a member, 2 in maps. The difference must not be empty. */
  begin(
    keys: AtomCodec,
    sequences: SequencePool,
    width: 1 | 2,
    value: number,
    difference: number,
  ): void {
    this.#keys = keys;
    this.#width = width;
    this.length = 0;
    const [n, m] = [sequences.length(value), sequences.length(difference)];
    if (n + m > this.words.length) this.words = new Uint32Array((n + m) * 2);
    this.#a = n === 0 ? this.words : sequences.words(value);
    this.#i = n === 0 ? 0 : sequences.offset(value);
    this.#n = this.#i + n;
    this.#b = sequences.words(difference);
    this.#j = sequences.offset(difference);
    this.#m = this.#j + m;
  }

  /** Goes on for a while; true when the members are complete. */
  step(limit: number = STEP): boolean {
    for (let left = limit; this.#j < this.#m; left--) {
      if (left <= 0) return false;
      this.#next();
    }
    this.#copy(this.#a, this.#i, this.#n);
    this.#i = this.#n;
    return true;
  }

  /** Up to the next member of the difference, and that one. */
  #next(): void {
    const [a, b, width] = [this.#a, this.#b, this.#width];
    const member = b[this.#j] as number;
    const keys = this.#keys as AtomCodec;
    const end = lowerBound(
      this.#i,
      this.#n,
      width,
      (at) => keys.compare(a[at] as number, member) < 0,
    );
    this.#copy(a, this.#i, end);
    this.#i = end;
    const isThere = end < this.#n && a[end] === member;
    // A member that is there goes, unless it is a key with another value.
    if (!isThere || (width === 2 && a[end + 1] !== b[this.#j + 1]))
      this.#copy(b, this.#j, this.#j + width);
    if (isThere) this.#i += width;
    this.#j += width;
  }

  #copy(from: Uint32Array, start: number, end: number): void {
    const { words } = this;
    if (end - start > 64) words.set(from.subarray(start, end), this.length);
    else for (let at = start; at < end; at++) words[this.length + at - start] = from[at] as number;
    this.length += end - start;
  }
}
