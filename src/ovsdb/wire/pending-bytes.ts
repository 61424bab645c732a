/** Room that is kept while nothing is pending. */
const KEPT = 1 << 20;

/** Bytes that wait for more, copied: what they came in is used again for what comes next. */
export class PendingBytes {
  #bytes = Buffer.alloc(0);
  /** What was taken last: to be used again when the next ones are taken. */
  #taken = Buffer.alloc(0);
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  /** All of them, until the next change. */
  get view(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  /** All of them, which are then pending no more. Good until bytes are taken again. */
  take(): Buffer {
    const { view } = this;
    const free = this.#taken;
    this.#taken = this.#bytes.length > KEPT ? Buffer.alloc(0) : this.#bytes;
    this.#bytes = free;
    this.#start = 0;
    this.#end = 0;
    return view;
  }

  append(part: Buffer): void {
    if (this.#end + part.length > this.#bytes.length) this.#makeRoom(part.length);
    part.copy(this.#bytes, this.#end);
    this.#end += part.length;
  }

  #makeRoom(more: number): void {
    const { length } = this;
    const needed = length + more;
    const from = this.#bytes;
    // Slow to allocate, so not for each piece; of its own, since Node's pool is shared with others.
    if (needed > from.length) this.#bytes = Buffer.allocUnsafeSlow(Math.max(needed * 2, 4096));
    from.copy(this.#bytes, 0, this.#start, this.#end);
    this.#start = 0;
    this.#end = length;
  }

  /** Forgets the first `count`. */
  drop(count: number): void {
    this.#start += count;
    if (this.#start === this.#end) this.clear();
  }

  clear(): void {
    this.#start = 0;
    this.#end = 0;
    if (this.#bytes.length > KEPT) this.#bytes = Buffer.alloc(0);
  }
}
