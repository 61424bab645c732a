import type { Turn, Work } from '../turn.ts';
import type { JsonCursor } from '../wire/json-cursor.ts';
import { Entries, OWN_CHUNK } from './entries.ts';
import { IdTable } from './id-table.ts';
import { textHash } from '../wire/text-hash.ts';
import { unfinishedUtf8 } from '../wire/utf8.ts';

const encoder = new TextEncoder();

/** Texts of more bytes are compared in one go and decoded in pieces; their hashes are kept. */
const LONG_TEXT = 4 * 1024;

/** Bytes that are decoded between two questions whether the turn is over: a string so large is never moved by the garbage collector. */
const DECODED_AT_ONCE = 256 * 1024;

/** Texts are decoded once when they are used this often (map keys, network names), up to a limit. */
const CACHED_FROM_USES = 8;
const CACHED_LIMIT = 4096;

/** Each distinct string once, as UTF-8. Id 0 is the empty string. */
export class StringPool {
  readonly #entries: Entries<Buffer>;
  readonly #table = new IdTable();
  #scratch = Buffer.alloc(4096);
  #texts = new Map<number, string>();
  /** Hashes of long texts: to find them out again would take long. */
  readonly #hashes = new Map<number, number>();
  #sweeps = 0;
  /** Whether there ever was a long one. */
  hasLong = false;

  constructor() {
    this.#entries = new Entries(
      // A buffer of its own: a slice of Node's shared pool would keep that alive.
      (size) => Buffer.from(new ArrayBuffer(size)),
      (id) => {
        const at = this.#entries.offsetOf(id);
        const end = at + (this.#entries.length[id] as number);
        const hash = this.#hashes.get(id) ?? textHash(this.#entries.chunkOf(id), at, end);
        this.#table.remove(id, hash);
        this.#hashes.delete(id);
        this.#texts.delete(id);
      },
    );
  }

  get count(): number {
    return this.#entries.count;
  }

  get reserved(): number {
    return this.#entries.reserved;
  }

  retain(id: number): void {
    this.#entries.retain(id);
  }

  release(id: number): void {
    this.#entries.release(id);
  }

  /** Grows whenever ids may be given to other strings. */
  get sweeps(): number {
    return this.#sweeps;
  }

  /** False when the turn ended first: call it again. */
  sweep(turn: Turn): boolean {
    this.#sweeps++;
    return this.#entries.sweep(turn);
  }

  /** Id of the string with these UTF-8 bytes, or -1. */
  findBytes(bytes: Uint8Array, start: number, end: number): number {
    if (start === end) return 0;
    return this.#find(bytes, start, end, textHash(bytes, start, end));
  }

  #find(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const { slots, mask } = this.#table;
    const entries = this.#entries;
    const length = end - start;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const id = slots[at * 2] as number;
      if (id === 0) return -1;
      if (slots[at * 2 + 1] !== hash || entries.length[id] !== length) continue;
      const chunk = entries.chunkOf(id);
      const offset = entries.offsetOf(id);
      if (length > LONG_TEXT) {
        // A row that is read again has the same bytes.
        if (
          (chunk === bytes && offset === start) ||
          chunk.compare(bytes, start, end, offset, offset + length) === 0
        )
          return id;
        continue;
      }
      let i = 0;
      while (i < length && chunk[offset + i] === bytes[start + i]) i++;
      if (i === length) return id;
    }
  }

  /** Steps over the cursor's next string if it is written just as this one is kept, which must need no escapes in JSON. */
  takeNext(cursor: JsonCursor, id: number): boolean {
    const entries = this.#entries;
    return cursor.takeText(entries.chunkOf(id), entries.offsetOf(id), entries.length[id] as number);
  }

  /** Id of the string with these UTF-8 bytes, which must be valid. */
  internBytes(bytes: Uint8Array, start: number, end: number): number {
    return this.internHashed(bytes, start, end, textHash(bytes, start, end));
  }

  /** The same when their `textHash` is known. */
  internHashed(bytes: Uint8Array, start: number, end: number, hash: number): number {
    if (start === end) return 0;
    const found = this.#find(bytes, start, end, hash);
    if (found !== -1) return found;
    const id = this.#entries.add(end - start);
    const chunk = this.#entries.chunkOf(id);
    const offset = this.#entries.offsetOf(id);
    if (end - start < 48) {
      for (let i = start; i < end; i++) chunk[offset + i - start] = bytes[i] as number;
    } else {
      chunk.set(bytes.subarray(start, end), offset);
      if (end - start > LONG_TEXT) this.#noteLong(id, hash);
    }
    this.#table.add(id, hash);
    return id;
  }

  #noteLong(id: number, hash: number): void {
    this.hasLong = true;
    this.#hashes.set(id, hash);
  }

  /** The same, for bytes that nobody changes afterwards: many are not copied. */
  adopt(bytes: Buffer, hash: number): number {
    const { length } = bytes;
    if (length <= OWN_CHUNK) return this.internHashed(bytes, 0, length, hash);
    const found = this.#find(bytes, 0, length, hash);
    if (found !== -1) return found;
    const id = this.#entries.adopt(bytes);
    this.#noteLong(id, hash);
    this.#table.add(id, hash);
    return id;
  }

  /** The id of a text of another pool. */
  adoptFrom(other: StringPool, id: number): number {
    if (id === 0) return 0;
    const entries = other.#entries;
    const [bytes, start] = [entries.chunkOf(id), entries.offsetOf(id)];
    const end = start + (entries.length[id] as number);
    const hash = other.#hashes.get(id) ?? textHash(bytes, start, end);
    return entries.isAlone(id)
      ? this.adopt(bytes, hash)
      : this.internHashed(bytes, start, end, hash);
  }

  /** True for a text that is better decoded in pieces. */
  isLong(id: number): boolean {
    return this.hasLong && id !== 0 && (this.#entries.length[id] as number) > LONG_TEXT;
  }

  /** Writes the text into the scratch buffer, which may be another one afterwards; returns its length. */
  #encode(text: string): number {
    if (text.length * 3 > this.#scratch.length) this.#scratch = Buffer.alloc(text.length * 3);
    return encoder.encodeInto(text, this.#scratch).written;
  }

  intern(text: string): number {
    const length = this.#encode(text);
    return this.internBytes(this.#scratch, 0, length);
  }

  find(text: string): number {
    const length = this.#encode(text);
    return this.findBytes(this.#scratch, 0, length);
  }

  /** True when this is the string with the id. Compares in place: nothing is decoded or looked up. */
  equals(id: number, text: string): boolean {
    const { length } = text;
    if (id === 0) return length === 0;
    const entries = this.#entries;
    const bytes = entries.length[id] as number;
    if (bytes < length) return false;
    const chunk = entries.chunkOf(id);
    const offset = entries.offsetOf(id);
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit >= 0x80) return this.find(text) === id;
      if (chunk[offset + i] !== unit) return false;
    }
    return bytes === length;
  }

  /** As `Entries.touch`. */
  touch(ids: Uint32Array, count: number): number {
    return this.#entries.touch(ids, count);
  }

  text(id: number): string {
    if (id === 0) return '';
    const entries = this.#entries;
    const often = (entries.uses[id] as number) >= CACHED_FROM_USES;
    if (often) {
      const cached = this.#texts.get(id);
      if (cached !== undefined) return cached;
    }
    const offset = entries.offsetOf(id);
    const text = entries
      .chunkOf(id)
      .toString('utf8', offset, offset + (entries.length[id] as number));
    if (often) {
      if (this.#texts.size >= CACHED_LIMIT) this.#texts.clear();
      this.#texts.set(id, text);
    }
    return text;
  }

  /** As `text`, in pieces. */
  *textInPieces(id: number, turn: Turn): Work<string> {
    if (!this.isLong(id)) return this.text(id);
    const entries = this.#entries;
    const [bytes, start] = [entries.chunkOf(id), entries.offsetOf(id)];
    const end = start + (entries.length[id] as number);
    let text = '';
    for (let at = start; at < end;) {
      const next = Math.min(end, at + DECODED_AT_ONCE);
      const to = next === end ? end : next - unfinishedUtf8(bytes, next);
      text += bytes.toString('utf8', at, to);
      at = to;
      if (turn.isOver()) yield;
    }
    return text;
  }

  /** Four bytes from four times `place` on, the first one the highest, with zeros behind the end: in the order of the texts. */
  word(id: number, place: number): number {
    if (id === 0) return 0;
    const entries = this.#entries;
    const bytes = entries.chunkOf(id);
    const offset = entries.offsetOf(id);
    const at = offset + place * 4;
    const left = offset + (entries.length[id] as number) - at;
    if (left <= 0) return 0;
    let word = (bytes[at] as number) << 24;
    if (left > 1) word |= (bytes[at + 1] as number) << 16;
    if (left > 2) word |= (bytes[at + 2] as number) << 8;
    if (left > 3) word |= bytes[at + 3] as number;
    return word >>> 0;
  }

  /** Order by bytes. */
  compare(a: number, b: number): number {
    if (a === b) return 0;
    const entries = this.#entries;
    const [x, y] = [
      a === 0 ? 0 : (entries.length[a] as number),
      b === 0 ? 0 : (entries.length[b] as number),
    ];
    const length = Math.min(x, y);
    if (length === 0) return x - y;
    const [left, right] = [entries.chunkOf(a), entries.chunkOf(b)];
    const [i, j] = [entries.offsetOf(a), entries.offsetOf(b)];
    if (length > LONG_TEXT) return left.compare(right, j, j + y, i, i + x);
    for (let k = 0; k < length; k++) {
      const order = (left[i + k] as number) - (right[j + k] as number);
      if (order !== 0) return order;
    }
    return x - y;
  }
}
