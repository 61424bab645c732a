import { grown, IdTable } from './id-table.ts';

/** Units (bytes or words) in one chunk of an arena: large enough to waste little, small enough to be reused. */
export const CHUNK_BITS = 16;
const CHUNK_SIZE = 1 << CHUNK_BITS;
export const OFFSET_MASK = CHUNK_SIZE - 1;

/** Entries of more units have a chunk of their own. */
const OWN_CHUNK = CHUNK_SIZE >> 2;

/** Empty space that may be left before an arena is compacted. */
const SLACK = 16 * CHUNK_SIZE;

/** Empty chunks kept for what comes next; the rest go back to the system. */
const SPARE_CHUNKS = 16;

/**
 * Interned values: each distinct one is stored once, in an arena, and known by an id. Entries have reference counts; `sweep` frees those
 * without references, so that what a message brings is not freed before its rows are applied. Id 0 is the default value, which is always there. A subclass defines
 * what an entry is and finds it by its contents.
 */
export abstract class Interner<A extends Uint8Array | Uint32Array> {
  protected readonly table = new IdTable();
  protected chunks: A[] = [];
  /** Of each entry: chunk number above `CHUNK_BITS`, offset in the chunk below. */
  protected start: Uint32Array = new Uint32Array(64);
  protected sizes: Uint32Array = new Uint32Array(64);
  protected uses: Uint32Array = new Uint32Array(64);
  #top = 1;
  #free: number[] = [];
  /** Ids from here on were handed out for the first time since the last sweep. */
  #swept = 1;
  /** Ids below that may be without references. */
  #candidates: number[] = [];
  #current = -1;
  #fill = CHUNK_SIZE;
  /** Units in use, by chunk. */
  #live: number[] = [];
  #freeChunks: number[] = [];
  #used = 0;
  #liveTotal = 0;
  #sweeps = 0;

  /** A chunk of so many units. */
  protected abstract make(size: number): A;
  protected abstract hashOf(id: number): number;
  /** Called when an entry is freed: releases what it refers to. */
  protected forget?(id: number): void;

  /** Entries in use or not yet swept. */
  get count(): number {
    return this.#top - 1 - this.#free.length;
  }

  /** Bytes reserved. */
  get reserved(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  }

  /** Grows whenever ids may be given to other values. */
  get sweeps(): number {
    return this.#sweeps;
  }

  protected chunkOf(id: number): A {
    return this.chunks[(this.start[id] as number) >>> CHUNK_BITS] as A;
  }

  protected offsetOf(id: number): number {
    return (this.start[id] as number) & OFFSET_MASK;
  }

  retain(id: number): void {
    if (id !== 0) this.uses[id] = (this.uses[id] as number) + 1;
  }

  release(id: number): void {
    if (id === 0) return;
    const uses = (this.uses[id] as number) - 1;
    this.uses[id] = uses;
    if (uses === 0) this.#candidates.push(id);
  }

  /** A new entry without references. The caller writes its contents. */
  protected add(size: number, hash: number): number {
    const free = this.#free.pop();
    const id = free ?? this.#top++;
    if (id >= this.start.length) {
      this.start = grown(this.start, id + 1);
      this.sizes = grown(this.sizes, id + 1);
      this.uses = grown(this.uses, id + 1);
    }
    this.start[id] = this.#allocate(size);
    this.sizes[id] = size;
    this.uses[id] = 0;
    if (free !== undefined) this.#candidates.push(id);
    this.table.add(id, hash);
    return id;
  }

  #allocate(size: number): number {
    this.#used += size;
    this.#liveTotal += size;
    if (size > OWN_CHUNK) {
      const chunk = this.#newChunk(size);
      this.#live[chunk] = size;
      return chunk * CHUNK_SIZE;
    }
    if (this.#fill + size > CHUNK_SIZE) {
      const left = this.#current;
      if (left !== -1 && this.#live[left] === 0) this.#recycle(left);
      this.#current = this.#freeChunks.pop() ?? this.#newChunk(CHUNK_SIZE);
      this.#fill = 0;
    }
    const at = this.#current * CHUNK_SIZE + this.#fill;
    this.#fill += size;
    this.#live[this.#current] = (this.#live[this.#current] ?? 0) + size;
    return at;
  }

  #newChunk(size: number): number {
    const empty = this.chunks.findIndex((chunk) => chunk.length === 0);
    const at = empty === -1 ? this.chunks.length : empty;
    this.chunks[at] = this.make(size);
    this.#live[at] = 0;
    return at;
  }

  /** Frees entries without references. Only when no id is held that was not retained. */
  sweep(): void {
    this.#sweeps++;
    for (; this.#swept < this.#top; this.#swept++) this.#sweepOne(this.#swept);
    // Freeing one entry may release others, which then join the list.
    for (let id = this.#candidates.pop(); id !== undefined; id = this.#candidates.pop())
      this.#sweepOne(id);
    if (this.#used > 2 * this.#liveTotal + SLACK) this.#compact();
  }

  #sweepOne(id: number): void {
    if (this.uses[id] !== 0 || this.sizes[id] === 0) return;
    this.table.remove(id, this.hashOf(id));
    this.forget?.(id);
    const size = this.sizes[id] as number;
    const chunk = (this.start[id] as number) >>> CHUNK_BITS;
    this.#live[chunk] = (this.#live[chunk] as number) - size;
    this.#liveTotal -= size;
    this.sizes[id] = 0;
    this.#free.push(id);
    if (this.#live[chunk] === 0 && chunk !== this.#current) this.#recycle(chunk);
  }

  #recycle(chunk: number): void {
    const length = this.chunks[chunk]?.length ?? 0;
    if (length === CHUNK_SIZE) this.#freeChunks.push(chunk);
    else this.chunks[chunk] = this.make(0);
    this.#used = Math.max(this.#liveTotal, this.#used - length);
  }

  /** Moves what is left in sparse chunks together. */
  #compact(): void {
    const sparse = new Set<number>();
    this.chunks.forEach((chunk, i) => {
      const isHalf = (this.#live[i] as number) * 2 < CHUNK_SIZE;
      if (chunk.length === CHUNK_SIZE && i !== this.#current && isHalf) sparse.add(i);
    });
    for (const free of this.#freeChunks) sparse.delete(free);
    for (let id = 1; id < this.#top; id++) {
      const size = this.sizes[id] as number;
      if (size !== 0 && sparse.has((this.start[id] as number) >>> CHUNK_BITS)) this.#move(id, size);
    }
    for (const chunk of sparse) {
      this.#live[chunk] = 0;
      if (this.#freeChunks.length < SPARE_CHUNKS) this.#freeChunks.push(chunk);
      else this.chunks[chunk] = this.make(0);
    }
    this.#used = this.#liveTotal;
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
