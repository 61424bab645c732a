import type { Atom } from '../data/value.ts';
import type { JsonCursor } from '../wire/json-cursor.ts';
import { GUESSES, type AtomCodec } from './atom-codec.ts';
import { CHUNK_BITS, Interner, OFFSET_MASK } from './interner.ts';
import { keyedHash, randomHashKey } from './keyed-hash.ts';

/** Texts of more bytes are compared by one native call. */
const NATIVE_COMPARE = 4 * 1024;

/** Texts are decoded once when they are used this often (map keys, network names), up to a limit. */
const CACHED_FROM_USES = 8;
const CACHED_LIMIT = 4096;

/** Strings as UTF-8, interned. Id 0 is the empty string. */
export class StringPool extends Interner<Buffer> implements AtomCodec {
  readonly #key = randomHashKey();
  readonly #encoder = new TextEncoder();
  readonly #scratch = Buffer.alloc(4096);
  #encoded = 0;
  readonly #texts = new Map<number, string>();

  protected make(size: number): Buffer {
    // A buffer of its own: a slice of Node's shared pool would keep that alive.
    return Buffer.from(new ArrayBuffer(size));
  }

  protected hashOf(id: number): number {
    const at = this.offsetOf(id);
    return keyedHash(this.#key, this.chunkOf(id), at, at + (this.sizes[id] as number));
  }

  protected override forget(id: number): void {
    this.#texts.delete(id);
  }

  read(cursor: JsonCursor, guesses: Uint32Array, at: number): number {
    const place = at & (GUESSES - 1);
    const guess = guesses[place] as number;
    if (guess !== 0) {
      const from = this.start[guess] as number;
      const chunk = this.chunks[from >>> CHUNK_BITS] as Buffer;
      if (cursor.takeText(chunk, from & OFFSET_MASK, this.sizes[guess] as number)) return guess;
    }
    cursor.string();
    const id = this.internBytes(cursor.text, cursor.textStart, cursor.textEnd);
    // Only what is written as it is kept can be recognised by its bytes.
    guesses[place] = cursor.text === cursor.bytes ? id : 0;
    return id;
  }

  #find(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const { slots, mask } = this.table;
    const length = end - start;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const id = slots[at * 2] as number;
      if (id === 0) return -1;
      if (slots[at * 2 + 1] !== hash || this.sizes[id] !== length) continue;
      const from = this.start[id] as number;
      const chunk = this.chunks[from >>> CHUNK_BITS] as Buffer;
      const offset = from & OFFSET_MASK;
      if (length > NATIVE_COMPARE) {
        if (chunk.compare(bytes, start, end, offset, offset + length) === 0) return id;
        continue;
      }
      let i = 0;
      while (i < length && chunk[offset + i] === bytes[start + i]) i++;
      if (i === length) return id;
    }
  }

  /** Id of the string with these UTF-8 bytes, which must be valid. */
  internBytes(bytes: Uint8Array, start: number, end: number): number {
    if (start === end) return 0;
    const hash = keyedHash(this.#key, bytes, start, end);
    const found = this.#find(bytes, start, end, hash);
    if (found !== -1) return found;
    const id = this.add(end - start, hash);
    const chunk = this.chunkOf(id);
    const offset = this.offsetOf(id);
    if (end - start < 48) {
      for (let i = start; i < end; i++) chunk[offset + i - start] = bytes[i] as number;
    } else chunk.set(bytes.subarray(start, end), offset);
    return id;
  }

  intern(atom: Atom): number {
    const bytes = this.#encode(atom as string);
    return this.internBytes(bytes, 0, this.#encoded);
  }

  find(atom: Atom): number {
    const bytes = this.#encode(atom as string);
    const length = this.#encoded;
    return length === 0 ? 0 : this.#find(bytes, 0, length, keyedHash(this.#key, bytes, 0, length));
  }

  /** UTF-8 of a text, of which `#encoded` bytes count: in the scratch buffer, unless it is long. */
  #encode(text: string): Buffer {
    if (text.length * 3 <= this.#scratch.length) {
      this.#encoded = this.#encoder.encodeInto(text, this.#scratch).written;
      return this.#scratch;
    }
    const bytes = Buffer.from(text);
    this.#encoded = bytes.length;
    return bytes;
  }

  /** Compares in place: nothing is decoded or looked up. */
  equals(id: number, atom: Atom): boolean {
    const text = atom as string;
    const { length } = text;
    if (id === 0) return length === 0;
    const bytes = this.sizes[id] as number;
    if (bytes < length) return false;
    const chunk = this.chunkOf(id);
    const offset = this.offsetOf(id);
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit >= 0x80) return this.find(text) === id;
      if (chunk[offset + i] !== unit) return false;
    }
    return bytes === length;
  }

  atom(id: number): string {
    if (id === 0) return '';
    const often = (this.uses[id] as number) >= CACHED_FROM_USES;
    if (often) {
      const cached = this.#texts.get(id);
      if (cached !== undefined) return cached;
    }
    const offset = this.offsetOf(id);
    const text = this.chunkOf(id).toString('utf8', offset, offset + (this.sizes[id] as number));
    if (often) {
      if (this.#texts.size >= CACHED_LIMIT) this.#texts.clear();
      this.#texts.set(id, text);
    }
    return text;
  }

  copies(ids: Uint32Array): () => string[] {
    let size = 0;
    for (const id of ids) if (id !== 0) size += this.sizes[id] as number;
    const bytes = this.make(size);
    const ends = new Uint32Array(ids.length);
    let end = 0;
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] as number;
      if (id !== 0) {
        const [chunk, from, length] = [
          this.chunkOf(id),
          this.offsetOf(id),
          this.sizes[id] as number,
        ];
        for (let k = 0; k < length; k++) bytes[end + k] = chunk[from + k] as number;
        end += length;
      }
      ends[i] = end;
    }
    return () => Array.from(ends, (to, i) => bytes.toString('utf8', ends[i - 1] ?? 0, to));
  }

  /** Order by bytes. */
  compare(a: number, b: number): number {
    if (a === b) return 0;
    const x = a === 0 ? 0 : (this.sizes[a] as number);
    const y = b === 0 ? 0 : (this.sizes[b] as number);
    const length = Math.min(x, y);
    if (length === 0) return x - y;
    const [left, right] = [this.chunkOf(a), this.chunkOf(b)];
    const [i, j] = [this.offsetOf(a), this.offsetOf(b)];
    if (length > NATIVE_COMPARE) return left.compare(right, j, j + y, i, i + x);
    for (let k = 0; k < length; k++) {
      const order = (left[i + k] as number) - (right[j + k] as number);
      if (order !== 0) return order;
    }
    return x - y;
  }
}
