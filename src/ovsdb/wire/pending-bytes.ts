/** Room that is kept while nothing is pending. */
const KEPT = 1 << 20;

/** Bytes that wait for more, copied: what they came in is used again for what comes next. */
export class PendingBytes {
  #bytes = Buffer.alloc(0);
  /** What was taken last: to be used again when the next ones are taken. */
  #taken = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** All of them, until the next change. */
  get view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** All of them, which are then pending no more. Good until bytes are taken again. */
  take(): Buffer {
    const { view } = this;
    const free = this.#taken;
    this.#taken = this.#bytes.length > KEPT ? Buffer.alloc(0) : this.#bytes;
    this.#bytes = free;
    this.#length = 0;
    return view;
  }

  append(part: Buffer): void {
    const needed = this.#length + part.length;
    if (needed > this.#bytes.length) {
      const from = this.view;
      // Slow to allocate, so not for each piece; of its own, since Node's pool is shared with others.
      this.#bytes = Buffer.allocUnsafeSlow(Math.max(needed * 2, 4096));
      from.copy(this.#bytes);
    }
    part.copy(this.#bytes, this.#length);
    this.#length = needed;
  }
}
