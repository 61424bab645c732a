import { syntaxError } from '../data/error.ts';
import type { Atom, Uuid } from '../data/value.ts';
import { CLOSE_BRACKET, COMMA, OPEN_BRACKET, QUOTE, type JsonCursor } from '../wire/json-cursor.ts';
import { lastIs, TAG, type AtomCodec } from './atom-codec.ts';
import { WordPool } from './word-pool.ts';

/** Value of a hexadecimal digit by its ASCII code; 65536 for anything else, so that no sum of digits hides it. */
const DIGIT = new Uint32Array(256).fill(65_536);
for (let i = 0; i < 10; i++) DIGIT[48 + i] = i;
for (let i = 0; i < 6; i++) DIGIT[97 + i] = DIGIT[65 + i] = 10 + i;

const DASH = 45;

const TAGGED = Buffer.from('["uuid","');
/** Bytes of `["uuid","…"]`. */
const TAGGED_LENGTH = TAGGED.length + 36 + 2;

/** Four hexadecimal digits; 65536 or more when one is none. */
function hex4(bytes: Uint8Array, at: number): number {
  return (
    (DIGIT[bytes[at] as number] as number) * 4096 +
    (DIGIT[bytes[at + 1] as number] as number) * 256 +
    (DIGIT[bytes[at + 2] as number] as number) * 16 +
    (DIGIT[bytes[at + 3] as number] as number)
  );
}

/** UUIDs as four words each, interned. Id 0 is the zero UUID. */
export class UuidPool extends WordPool implements AtomCodec {
  readonly #parsed = new Uint32Array(4);
  /** Room for the text of one UUID. */
  readonly #text = Buffer.alloc(36);

  read(cursor: JsonCursor): number {
    const { bytes, position } = cursor;
    const close = position + TAGGED_LENGTH;
    // As every server writes it, without white space.
    if (close <= cursor.end && bytes[close - 1] === CLOSE_BRACKET && bytes[close - 2] === QUOTE) {
      let i = 0;
      while (i < TAGGED.length && bytes[position + i] === TAGGED[i]) i++;
      if (i === TAGGED.length) {
        const id = this.internBytes(bytes, position + i, close - 2);
        if (id !== -1) {
          cursor.position = close;
          return id;
        }
      }
    }
    return this.#readAnyhow(cursor);
  }

  #readAnyhow(cursor: JsonCursor): number {
    cursor.expect(OPEN_BRACKET);
    cursor.string();
    if (!lastIs(cursor, TAG)) throw syntaxError(`expected ["uuid", "…"], not "${cursor.lastText}"`);
    cursor.expect(COMMA);
    cursor.string();
    const id = this.internBytes(cursor.text, cursor.textStart, cursor.textEnd);
    if (id === -1) throw syntaxError(`"${cursor.lastText}" is not a valid UUID`);
    cursor.expect(CLOSE_BRACKET);
    return id;
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

  #isZero(): boolean {
    const [a, b, c, d] = this.#parsed;
    return a === 0 && b === 0 && c === 0 && d === 0;
  }

  /** Id of the UUID written in ASCII characters from `start` to `end`; -1 when they are none. */
  internBytes(bytes: Uint8Array, start: number, end: number): number {
    if (end - start !== 36 || !this.#parse(bytes, start)) return -1;
    return this.#isZero() ? 0 : this.internWords(this.#parsed, 4);
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
  intern(atom: Atom): number {
    if (!this.#parseText(atom as string)) return -1;
    return this.#isZero() ? 0 : this.internWords(this.#parsed, 4);
  }

  find(atom: Atom): number {
    if (!this.#parseText(atom as string)) return -1;
    return this.#isZero() ? 0 : this.findWords(this.#parsed, 4);
  }

  equals(code: number, atom: Atom): boolean {
    return this.find(atom) === code;
  }

  atom(id: number): Uuid {
    return id === 0 ? this.#textOf(ZERO, 0) : this.#textOf(this.words(id), this.offset(id));
  }

  copies(ids: Uint32Array): () => Uuid[] {
    const copy = new Uint32Array(4 * ids.length);
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] as number;
      if (id === 0) continue;
      const [words, at] = [this.words(id), this.offset(id)];
      for (let k = 0; k < 4; k++) copy[4 * i + k] = words[at + k] as number;
    }
    return () => Array.from(ids, (_id, i) => this.#textOf(copy, 4 * i));
  }

  #textOf(words: Uint32Array, at: number): Uuid {
    const text = this.#text;
    for (let i = 0; i < 16; i++) {
      const byte = (words[at + (i >> 2)] as number) >>> (24 - (i & 3) * 8);
      const place = PLACES[i] as number;
      text[place] = DIGITS[(byte >> 4) & 15] as number;
      text[place + 1] = DIGITS[byte & 15] as number;
    }
    for (const place of [8, 13, 18, 23]) text[place] = DASH;
    // In one piece: a string that is put together has to be joined later.
    return text.toString('latin1') as Uuid;
  }

  compare(a: number, b: number): number {
    if (a === b) return 0;
    const [x, y] = [a === 0 ? ZERO : this.words(a), b === 0 ? ZERO : this.words(b)];
    const [i, j] = [a === 0 ? 0 : this.offset(a), b === 0 ? 0 : this.offset(b)];
    for (let k = 0; k < 4; k++) {
      const order = (x[i + k] as number) - (y[j + k] as number);
      if (order !== 0) return order;
    }
    return 0;
  }
}

const ZERO: Uint32Array = new Uint32Array(4);

/** Where the bytes of a UUID stand in its text. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;
const DIGITS = Buffer.from('0123456789abcdef');
