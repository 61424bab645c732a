import type { Turn } from '../turn.ts';
import type { Uuid } from '../data/value.ts';
import { grown, IdTable } from './id-table.ts';

/** Value of a hexadecimal digit by its ASCII code; 65536 for anything else, so that no sum of digits hides it. */
const DIGIT = new Uint32Array(256).fill(65_536);
for (let i = 0; i < 10; i++) DIGIT[48 + i] = i;
for (let i = 0; i < 6; i++) DIGIT[97 + i] = DIGIT[65 + i] = 10 + i;

const DASH = 45;

/** Ids that are looked at between two questions whether the turn is over. */
const LOOKED_AT = 64;

/** Four hexadecimal digits; 65536 or more when one is none. */
function hex4(bytes: Uint8Array, at: number): number {
  return (
    (DIGIT[bytes[at] as number] as number) * 4096 +
    (DIGIT[bytes[at + 1] as number] as number) * 256 +
    (DIGIT[bytes[at + 2] as number] as number) * 16 +
    (DIGIT[bytes[at + 3] as number] as number)
  );
}

/** Each distinct UUID once, as four words. Id 0 is the zero UUID. */
export class UuidPool {
  #words: Uint32Array = new Uint32Array(256);
  #uses: Uint32Array = new Uint32Array(64);
  #top = 1;
  #free: number[] = [];
  /** Ids from here on were handed out for the first time since the last sweep. */
  #swept = 1;
  /** Ids below that perhaps nobody uses. */
  #fresh: number[] = [];
  readonly #table = new IdTable();
  readonly #parsed = new Uint32Array(4);
  readonly #text = new Uint8Array(36);

  #hashOf(id: number): number {
    const words = this.#words;
    return hashOf(
      words[id * 4] as number,
      words[id * 4 + 1] as number,
      words[id * 4 + 2] as number,
      words[id * 4 + 3] as number,
    );
  }

  get count(): number {
    return this.#top - 1 - this.#free.length;
  }

  retain(id: number): void {
    this.#uses[id] = (this.#uses[id] as number) + 1;
  }

  release(id: number): void {
    const uses = (this.#uses[id] as number) - 1;
    this.#uses[id] = uses;
    if (uses === 0) this.#fresh.push(id);
  }

  /** False when the turn ended first: call it again. */
  sweep(turn: Turn): boolean {
    while (this.#swept < this.#top) {
      this.#sweepOne(this.#swept++);
      if (this.#swept % LOOKED_AT === 0 && turn.isOver()) return false;
    }
    for (let id = this.#fresh.pop(); id !== undefined; id = this.#fresh.pop()) {
      this.#sweepOne(id);
      if (turn.isOver()) return false;
    }
    return true;
  }

  #sweepOne(id: number): void {
    const at = id * 4;
    const words = this.#words;
    const present = words[at] || words[at + 1] || words[at + 2] || words[at + 3];
    if (id === 0 || this.#uses[id] !== 0 || !present) return;
    this.#table.remove(id, this.#hashOf(id));
    words[at] = words[at + 1] = words[at + 2] = words[at + 3] = 0;
    this.#free.push(id);
  }

  /** Reads 36 characters of text into `#parsed`; false when they are no UUID. */
  #parse(bytes: Uint8Array, start: number): boolean {
    const a = hex4(bytes, start);
    const b = hex4(bytes, start + 4);
    const c = hex4(bytes, start + 9);
    const d = hex4(bytes, start + 14);
    const e = hex4(bytes, start + 19);
    const f = hex4(bytes, start + 24);
    const g = hex4(bytes, start + 28);
    const h = hex4(bytes, start + 32);
    const isDashed =
      bytes[start + 8] === DASH &&
      bytes[start + 13] === DASH &&
      bytes[start + 18] === DASH &&
      bytes[start + 23] === DASH;
    this.#parsed[0] = (a << 16) | b;
    this.#parsed[1] = (c << 16) | d;
    this.#parsed[2] = (e << 16) | f;
    this.#parsed[3] = (g << 16) | h;
    return isDashed && (a | b | c | d | e | f | g | h) < 0x10000;
  }

  #lookup(create: boolean): number {
    const parsed = this.#parsed;
    const a = parsed[0] as number;
    const b = parsed[1] as number;
    const c = parsed[2] as number;
    const d = parsed[3] as number;
    if ((a | b | c | d) === 0) return 0;
    const hash = hashOf(a, b, c, d);
    const { slots, mask } = this.#table;
    const words = this.#words;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const id = slots[at * 2] as number;
      if (id === 0) break;
      if (slots[at * 2 + 1] !== hash) continue;
      const w = id * 4;
      if (words[w] === a && words[w + 1] === b && words[w + 2] === c && words[w + 3] === d)
        return id;
    }
    return create ? this.#add(hash) : -1;
  }

  #add(hash: number): number {
    const free = this.#free.pop();
    const id = free ?? this.#top++;
    if (id >= this.#uses.length) {
      this.#uses = grown(this.#uses, id + 1);
      this.#words = grown(this.#words, this.#uses.length * 4);
    }
    const [parsed, words] = [this.#parsed, this.#words];
    for (let i = 0; i < 4; i++) words[id * 4 + i] = parsed[i] as number;
    this.#uses[id] = 0;
    if (free !== undefined) this.#fresh.push(id);
    this.#table.add(id, hash);
    return id;
  }

  /** Id of the UUID written in 36 ASCII characters from `start` on; -1 when it is none. */
  internBytes(bytes: Uint8Array, start: number, end: number): number {
    return end - start === 36 && this.#parse(bytes, start) ? this.#lookup(true) : -1;
  }

  #parseText(text: string): boolean {
    if (text.length !== 36) return false;
    for (let i = 0; i < 36; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0xff) return false;
      this.#text[i] = unit;
    }
    return this.#parse(this.#text, 0);
  }

  /** Id of a UUID; -1 for a text that is none. */
  intern(text: string): number {
    return this.#parseText(text) ? this.#lookup(true) : -1;
  }

  /** Id of the UUID in four words from `at` on. */
  internWords(words: Uint32Array, at: number): number {
    const parsed = this.#parsed;
    for (let i = 0; i < 4; i++) parsed[i] = words[at + i] as number;
    return this.#lookup(true);
  }

  /** Id of the UUID in four words from `at` on; -1 when it is not known. */
  findWords(words: Uint32Array, at: number): number {
    const parsed = this.#parsed;
    for (let i = 0; i < 4; i++) parsed[i] = words[at + i] as number;
    return this.#lookup(false);
  }

  /** Ids are below this. */
  get top(): number {
    return this.#top;
  }

  find(text: string): number {
    return this.#parseText(text) ? this.#lookup(false) : -1;
  }

  text(id: number): Uuid {
    return uuidText(this.#words, id * 4);
  }

  /** Copies the four words of a UUID: they stay right when its id is given to another. */
  copyWords(id: number, to: Uint32Array, at: number): void {
    for (let k = 0; k < 4; k++) to[at + k] = this.#words[id * 4 + k] as number;
  }

  /** One of the four words of a UUID: they are in its order. */
  word(id: number, place: number): number {
    return this.#words[id * 4 + place] as number;
  }

  compare(a: number, b: number): number {
    for (let i = 0; i < 4; i++) {
      const order = (this.#words[a * 4 + i] as number) - (this.#words[b * 4 + i] as number);
      if (order !== 0) return order;
    }
    return 0;
  }
}

/** Where the bytes of a UUID stand in its text, and that text: made in one piece, since one that is put together has to be joined later. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;
const written: number[] = Array.from({ length: 36 }, () => DASH);
const DIGITS = Buffer.from('0123456789abcdef');

/** The UUID in four words from `at` on. */
export function uuidText(words: Uint32Array, at: number): Uuid {
  for (let i = 0; i < 16; i++) {
    const byte = (words[at + (i >> 2)] as number) >>> (24 - (i & 3) * 8);
    const place = PLACES[i] as number;
    written[place] = DIGITS[(byte >> 4) & 15] as number;
    written[place + 1] = DIGITS[byte & 15] as number;
  }
  return String.fromCharCode(...written) as Uuid;
}

function hashOf(a: number, b: number, c: number, d: number): number {
  const hash = Math.imul(a ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35) ^ d, 0x9e3779b1);
  return (hash ^ (hash >>> 15)) >>> 0;
}
