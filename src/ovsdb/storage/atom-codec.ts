import { syntaxError } from '../data/error.ts';
import { normalInteger, numericValue } from '../data/json.ts';
import type { Atom } from '../data/value.ts';
import { LETTER_F, LETTER_T, type JsonCursor } from '../wire/json-cursor.ts';
import { WordPool } from './word-pool.ts';

/** How atoms of one type become codes of 32 bits and back. Equal atoms have equal codes; code 0 is the default. */
export interface AtomCodec {
  /**
   * Reads an atom in wire form; throws `syntax error` when it is of another type. Neighbouring rows are alike: what was read
   * is noted in `guesses` for place `at`, and compared with what comes there the next time.
   */
  read(cursor: JsonCursor, guesses: Uint32Array, at: number): number;
  /** Guesses noted when this was another number are void. */
  readonly sweeps: number;
  intern(atom: Atom): number;
  /** Code of an atom, -1 if it is nowhere in the replica. */
  find(atom: Atom): number;
  /** True when the code is this atom's, which must be of the codec's type. */
  equals(code: number, atom: Atom): boolean;
  atom(code: number): Atom;
  /** Copies what these codes stand for now; the function makes the atoms of it. For types whose atoms take long to make. */
  copies?(codes: Uint32Array): () => Atom[];
  compare(a: number, b: number): number;
  retain(code: number): void;
  release(code: number): void;
}

/** Places for guesses of one column; members of a larger set or map share them. */
export const GUESSES = 32;

export const TAG = Buffer.from('uuid');

/** True when the cursor's last string is this ASCII word. */
export function lastIs(cursor: JsonCursor, word: Buffer): boolean {
  const { text, textStart, textEnd } = cursor;
  if (textEnd - textStart !== word.length) return false;
  for (let i = 0; i < word.length; i++) if (text[textStart + i] !== word[i]) return false;
  return true;
}

/** Largest number whose code is itself, doubled: most integers in a database are small. */
const INLINE_LIMIT = 2 ** 30;

/** Integers or reals. Small whole numbers are their own code (2n); every other one is kept once, as 64 bits (2·id + 1). Code 0 is zero. */
export class NumberCodec implements AtomCodec {
  readonly pool = new WordPool();
  readonly #kind: 'integer' | 'real';
  readonly #words = new Uint32Array(2);
  readonly #double = new Float64Array(this.#words.buffer);
  readonly #integer = new BigInt64Array(this.#words.buffer);

  constructor(kind: 'integer' | 'real') {
    this.#kind = kind;
  }

  readonly sweeps = 0;

  read(cursor: JsonCursor): number {
    const value = cursor.number();
    if (typeof value === 'number' && Number.isSafeInteger(value)) return this.intern(value);
    const normal = numericValue(value, this.#kind);
    if (normal === undefined) throw syntaxError(`${value} is not an integer of 64 bits`);
    return this.intern(normal);
  }

  /** The code when the number is its own, otherwise -1 with its bits in `#words`. */
  #inline(value: number | bigint): number {
    if (typeof value === 'number') {
      if (value >= 0 && value < INLINE_LIMIT && Number.isInteger(value)) return value * 2;
      if (this.#kind === 'real') this.#double[0] = value;
      else this.#integer[0] = BigInt(value);
    } else this.#integer[0] = value;
    return -1;
  }

  intern(atom: Atom): number {
    const code = this.#inline(atom as number | bigint);
    return code === -1 ? this.pool.internWords(this.#words, 2) * 2 + 1 : code;
  }

  find(atom: Atom): number {
    const code = this.#inline(atom as number | bigint);
    if (code !== -1) return code;
    const id = this.pool.findWords(this.#words, 2);
    return id === -1 ? -1 : id * 2 + 1;
  }

  equals(code: number, atom: Atom): boolean {
    return this.find(atom) === code;
  }

  atom(code: number): number | bigint {
    if ((code & 1) === 0) return code / 2;
    const id = code >>> 1;
    const [words, offset] = [this.pool.words(id), this.pool.offset(id)];
    this.#words[0] = words[offset] as number;
    this.#words[1] = words[offset + 1] as number;
    return this.#kind === 'real'
      ? (this.#double[0] as number)
      : normalInteger(this.#integer[0] as bigint);
  }

  compare(a: number, b: number): number {
    if (a === b) return 0;
    return this.atom(a) < this.atom(b) ? -1 : 1;
  }

  retain(code: number): void {
    if (code & 1) this.pool.retain(code >>> 1);
  }

  release(code: number): void {
    if (code & 1) this.pool.release(code >>> 1);
  }
}

export class BooleanCodec implements AtomCodec {
  readonly sweeps = 0;

  read(cursor: JsonCursor): number {
    const byte = cursor.peek();
    if (byte === LETTER_T) {
      cursor.literal('true');
      return 1;
    }
    if (byte !== LETTER_F) cursor.fail('true or false');
    cursor.literal('false');
    return 0;
  }

  intern(atom: Atom): number {
    return atom === true ? 1 : 0;
  }

  find(atom: Atom): number {
    return this.intern(atom);
  }

  equals(code: number, atom: Atom): boolean {
    return this.intern(atom) === code;
  }

  atom(code: number): Atom {
    return code === 1;
  }

  compare(a: number, b: number): number {
    return a - b;
  }

  retain(): void {
    // Nothing is kept for the two of them.
  }

  release(): void {
    // Nothing is kept for the two of them.
  }
}
