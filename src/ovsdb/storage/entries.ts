import type { Turn } from '../turn.ts';
import { grown } from './id-table.ts';

/** Units (bytes or words) in one chunk of an arena: large enough to waste little, small enough to be reused. */
const CHUNK_BITS = 16;
const CHUNK_SIZE = 1 << CHUNK_BITS;
const OFFSET_MASK = CHUNK_SIZE - 1;

/** Entries of more units have a chunk of their own. */
export const OWN_CHUNK = CHUNK_SIZE >> 2;

/** Empty space that may be left before an arena is compacted. */
const SLACK = 16 * CHUNK_SIZE;

/** Empty chunks kept for what comes next; the rest go back to the system. */
const SPARE_CHUNKS = 16;

/** Used entries that are passed over between two questions whether the turn is over. */
const LOOKED_AT = 64;

/** Sparse chunks, and the id of the first entry not yet looked at. */
interface Compaction {
  readonly sparse: ReadonlySet<number>;
  next: number;
}

/**
 * Where each interned entry lies, how often it is used, and which space is free. An entry larger than a chunk has a
 * chunk of its own. Entries nobody uses are given back by `sweep`, so that what a message brings can be used first.
 */
export class Entries<A extends Uint8Array | Uint32Array> {
  chunks: A[] = [];
  /** Chunk number above `CHUNK_BITS`, offset in the chunk below. */
  start: Uint32Array = new Uint32Array(64);
  length: Uint32Array = new Uint32Array(64);
  uses: Uint32Array = new Uint32Array(64);
  /** Ids handed out so far; id 0 is the empty entry, which is always there. */
  #top = 1;
  #free: number[] = [];
  /** Ids from here on were handed out for the first time since the last sweep. */
  #swept = 1;
  /** Ids below that perhaps nobody uses. */
  #fresh: number[] = [];
  #current = -1;
  #fill = CHUNK_SIZE;
  #live: number[] = [];
  #freeChunks: number[] = [];
  #used = 0;
  #liveTotal = 0;
  #compaction: Compaction | undefined;
  readonly #make: (size: number) => A;
  readonly #forget: (id: number) => void;

  /** `forget` is told of each entry that goes: it leaves its table and gives up what it holds. */
  constructor(make: (size: number) => A, forget: (id: number) => void) {
    this.#make = make;
    this.#forget = forget;
  }

  /** Entries in use or not yet swept. */
  get count(): number {
    return this.#top - 1 - this.#free.length;
  }

  /** Bytes or words reserved. */
  get reserved(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  }

  chunkOf(id: number): A {
    return this.chunks[(this.start[id] as number) >>> CHUNK_BITS] as A;
  }

  /** True when its chunk is never used for another entry. */
  isAlone(id: number): boolean {
    const { length } = this.chunkOf(id);
    return (this.length[id] as number) > OWN_CHUNK && length !== CHUNK_SIZE;
  }

  offsetOf(id: number): number {
    return (this.start[id] as number) & OFFSET_MASK;
  }

  /**
   * Touches the first `count` of these entries, so that they are in the processor's cache when they are compared: it waits
   * for many of them at once then. Returns a number that means nothing.
   */
  touch(ids: Uint32Array, count: number): number {
    const { chunks, start, length } = this;
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const id = ids[i] as number;
      sum ^= (start[id] as number) ^ (length[id] as number);
    }
    for (let i = 0; i < count; i++) {
      const id = ids[i] as number;
      const place = start[id] as number;
      const chunk = chunks[place >>> CHUNK_BITS];
      if (id === 0 || chunk === undefined) continue;
      const offset = place & OFFSET_MASK;
      sum ^= (chunk[offset] as number) ^ (chunk[offset + (length[id] as number) - 1] as number);
    }
    return sum;
  }

  /** A new entry of this many units, used by nobody yet. The caller fills its place. */
  add(size: number): number {
    return this.#add(size, undefined);
  }

  /** The same with what it holds, of more than `OWN_CHUNK` units: to be left alone afterwards. */
  adopt(own: A): number {
    return this.#add(own.length, own);
  }

  #add(size: number, own: A | undefined): number {
    const free = this.#free.pop();
    const id = free ?? this.#top++;
    if (id >= this.start.length) {
      this.start = grown(this.start, id + 1);
      this.length = grown(this.length, id + 1);
      this.uses = grown(this.uses, id + 1);
    }
    this.start[id] = this.#allocate(size, own);
    this.length[id] = size;
    this.uses[id] = 0;
    if (free !== undefined) this.#fresh.push(id);
    return id;
  }

  #allocate(size: number, own?: A): number {
    this.#used += size;
    this.#liveTotal += size;
    if (size > OWN_CHUNK) {
      const chunk = this.#newChunk(own ?? this.#make(size));
      this.#live[chunk] = size;
      return chunk * CHUNK_SIZE;
    }
    if (this.#fill + size > CHUNK_SIZE) {
      const left = this.#current;
      if (left !== -1 && this.#live[left] === 0) this.#recycle(left);
      this.#current = this.#freeChunks.pop() ?? this.#newChunk(this.#make(CHUNK_SIZE));
      this.#fill = 0;
    }
    const at = this.#current * CHUNK_SIZE + this.#fill;
    this.#fill += size;
    this.#live[this.#current] = (this.#live[this.#current] ?? 0) + size;
    return at;
  }

  #newChunk(made: A): number {
    const empty = this.chunks.findIndex((chunk) => chunk.length === 0);
    const at = empty === -1 ? this.chunks.length : empty;
    this.chunks[at] = made;
    this.#live[at] = 0;
    return at;
  }

  retain(id: number): void {
    this.uses[id] = (this.uses[id] as number) + 1;
  }

  release(id: number): void {
    const uses = (this.uses[id] as number) - 1;
    this.uses[id] = uses;
    if (uses === 0) this.#fresh.push(id);
  }

  /**
   * Gives back what nobody uses. Call when no id is held outside of counted places. False when the turn ended first: call it again.
   */
  sweep(turn: Turn): boolean {
    if (this.#compaction !== undefined && !this.#compact(this.#compaction, turn)) return false;
    while (this.#swept < this.#top) {
      const id = this.#swept++;
      const isUsed = this.uses[id] !== 0 || this.length[id] === 0;
      if (!isUsed) this.#remove(id);
      if ((!isUsed || id % LOOKED_AT === 0) && turn.isOver()) return false;
    }
    // Giving up one entry may release others, which then join the list.
    for (let id = this.#fresh.pop(); id !== undefined; id = this.#fresh.pop()) {
      if (id !== 0 && this.uses[id] === 0 && this.length[id] !== 0) this.#remove(id);
      if (turn.isOver()) return false;
    }
    if (this.#used <= 2 * this.#liveTotal + SLACK) return true;
    this.#compaction = this.#beginCompaction();
    return this.#compact(this.#compaction, turn);
  }

  #remove(id: number): void {
    this.#forget(id);
    const size = this.length[id] as number;
    const chunk = (this.start[id] as number) >>> CHUNK_BITS;
    this.#live[chunk] = (this.#live[chunk] as number) - size;
    this.#liveTotal -= size;
    this.length[id] = 0;
    this.#free.push(id);
    if (this.#live[chunk] === 0 && chunk !== this.#current) this.#recycle(chunk);
  }

  #recycle(chunk: number): void {
    const length = this.chunks[chunk]?.length ?? 0;
    if (length === CHUNK_SIZE) {
      this.#freeChunks.push(chunk);
      this.#used = Math.max(this.#liveTotal, this.#used - CHUNK_SIZE);
    } else {
      this.chunks[chunk] = this.#make(0);
      this.#used = Math.max(this.#liveTotal, this.#used - length);
    }
  }

  #beginCompaction(): Compaction {
    const sparse = new Set<number>();
    this.chunks.forEach((chunk, i) => {
      if (
        chunk.length === CHUNK_SIZE &&
        i !== this.#current &&
        (this.#live[i] as number) * 2 < CHUNK_SIZE
      ) {
        sparse.add(i);
      }
    });
    for (const free of this.#freeChunks) sparse.delete(free);
    return { sparse, next: 1 };
  }

  /** Moves what is left in sparse chunks together. */
  #compact(compaction: Compaction, turn: Turn): boolean {
    const { sparse } = compaction;
    while (compaction.next < this.#top) {
      const id = compaction.next++;
      const size = this.length[id] as number;
      if (size !== 0 && sparse.has((this.start[id] as number) >>> CHUNK_BITS)) this.#move(id, size);
      if (turn.isOver()) return false;
    }
    for (const chunk of sparse) {
      this.#live[chunk] = 0;
      if (this.#freeChunks.length < SPARE_CHUNKS) this.#freeChunks.push(chunk);
      else this.chunks[chunk] = this.#make(0);
    }
    this.#used = this.#liveTotal;
    this.#compaction = undefined;
    return true;
  }

  #move(id: number, size: number): void {
    const [from, offset] = [this.chunkOf(id), this.offsetOf(id)];
    const place = this.#allocate(size);
    const to = this.chunks[place >>> CHUNK_BITS] as A;
    to.set(from.subarray(offset, offset + size), place & OFFSET_MASK);
    this.start[id] = place;
    this.#liveTotal -= size;
  }
}
