import type { AtomicType } from '../data/column-type.ts';
import { syntaxError } from '../data/error.ts';
import { CLOSE_BRACKET, COMMA, OPEN_BRACKET, QUOTE, type JsonCursor } from '../wire/json-cursor.ts';
import { numericValue } from '../data/json.ts';
import type { Atom } from '../data/value.ts';
import type { NumberPool } from './number-pool.ts';
import type { Turn, Work } from '../turn.ts';
import type { SortKey } from './sort-slots.ts';
import type { StringPool } from './string-pool.ts';
import type { UuidPool } from './uuid-pool.ts';

/** How atoms of one type become codes of 32 bits and back. Equal atoms have equal codes; code 0 is the default. */
export interface AtomCodec {
  /**
   * Reads an atom in wire form; throws `syntax error` when it is of another type. Neighbouring rows are alike: what was read
   * is noted in `guesses` for place `at`, and looked for there first the next time.
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
  compare(a: number, b: number): number;
  retain(code: number): void;
  release(code: number): void;
  /** Whether there ever was an atom that is better decoded in pieces, whether this is one, and how that is done; absent: there are none. */
  readonly hasLong?: boolean;
  isLong?(code: number): boolean;
  atomInPieces?(code: number, turn: Turn): Work<Atom>;
  /** Code of an atom of another codec of the same type. */
  copied?(from: AtomCodec, code: number): number;
  /** What atoms are sorted by, as `SortKey`, by their codes. */
  readonly sortKey: SortKey;
  /** As `Entries.touch`, where atoms are kept outside of their codes. */
  touch?(codes: Uint32Array, count: number): number;
}

/** Places for guesses of one column; members of a larger set or map share them. */
export const GUESSES = 32;

class StringCodec implements AtomCodec {
  readonly #pool: StringPool;

  constructor(pool: StringPool) {
    this.#pool = pool;
  }

  get sweeps(): number {
    return this.#pool.sweeps;
  }

  read(cursor: JsonCursor, guesses: Uint32Array, at: number): number {
    const place = at & (GUESSES - 1);
    const guess = guesses[place] as number;
    if (guess !== 0 && this.#pool.takeNext(cursor, guess)) return guess;
    cursor.string();
    // Only what is written as it is kept can be recognised by its bytes.
    const isPlain = cursor.text === cursor.bytes;
    const long = isPlain ? undefined : cursor.lastElsewhere;
    const id =
      long === undefined
        ? this.#pool.internBytes(cursor.text, cursor.textStart, cursor.textEnd)
        : this.#pool.adopt(long.bytes, long.hash);
    guesses[place] = isPlain ? id : 0;
    return id;
  }

  readonly sortKey: SortKey = {
    word: (code, place) => this.#pool.word(code, place),
    // A byte that is zero stands behind the end.
    isEnd: (word) => (word & 0xff) === 0,
  };

  get hasLong(): boolean {
    return this.#pool.hasLong;
  }

  isLong(code: number): boolean {
    return this.#pool.isLong(code);
  }

  atomInPieces(code: number, turn: Turn): Work<Atom> {
    return this.#pool.textInPieces(code, turn);
  }

  copied(from: AtomCodec, code: number): number {
    return from instanceof StringCodec
      ? this.#pool.adoptFrom(from.#pool, code)
      : this.intern(from.atom(code));
  }

  intern(atom: Atom): number {
    return this.#pool.intern(atom as string);
  }

  find(atom: Atom): number {
    return this.#pool.find(atom as string);
  }

  equals(code: number, atom: Atom): boolean {
    return this.#pool.equals(code, atom as string);
  }

  touch(codes: Uint32Array, count: number): number {
    return this.#pool.touch(codes, count);
  }

  atom(code: number): Atom {
    return this.#pool.text(code);
  }

  compare(a: number, b: number): number {
    return this.#pool.compare(a, b);
  }

  retain(code: number): void {
    if (code !== 0) this.#pool.retain(code);
  }

  release(code: number): void {
    if (code !== 0) this.#pool.release(code);
  }
}

export const TAG = Buffer.from('uuid');
const TAGGED = Buffer.from('["uuid","');
/** Bytes of `["uuid","…"]`. */
const TAGGED_LENGTH = TAGGED.length + 36 + 2;

/** True when the cursor's last string is this ASCII word. */
export function lastIs(cursor: JsonCursor, word: Buffer): boolean {
  const { text, textStart, textEnd } = cursor;
  if (textEnd - textStart !== word.length) return false;
  for (let i = 0; i < word.length; i++) if (text[textStart + i] !== word[i]) return false;
  return true;
}

class UuidCodec implements AtomCodec {
  readonly #pool: UuidPool;

  constructor(pool: UuidPool) {
    this.#pool = pool;
  }

  readonly sweeps = 0;

  read(cursor: JsonCursor): number {
    const { bytes, position } = cursor;
    const close = position + TAGGED_LENGTH;
    // As every server writes it, without white space.
    if (close <= cursor.end && bytes[close - 1] === CLOSE_BRACKET && bytes[close - 2] === QUOTE) {
      let i = 0;
      while (i < TAGGED.length && bytes[position + i] === TAGGED[i]) i++;
      if (i === TAGGED.length) {
        const id = this.#pool.internBytes(bytes, position + i, close - 2);
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
    const id = this.#pool.internBytes(cursor.text, cursor.textStart, cursor.textEnd);
    if (id === -1) throw syntaxError(`"${cursor.lastText}" is not a valid UUID`);
    cursor.expect(CLOSE_BRACKET);
    return id;
  }

  readonly sortKey: SortKey = {
    word: (code, place) => this.#pool.word(code, place),
    isEnd: (_word, place) => place === 3,
  };

  intern(atom: Atom): number {
    return this.#pool.intern(atom as string);
  }

  find(atom: Atom): number {
    return this.#pool.find(atom as string);
  }

  equals(code: number, atom: Atom): boolean {
    return this.find(atom) === code;
  }

  atom(code: number): Atom {
    return this.#pool.text(code);
  }

  compare(a: number, b: number): number {
    return this.#pool.compare(a, b);
  }

  retain(code: number): void {
    if (code !== 0) this.#pool.retain(code);
  }

  release(code: number): void {
    if (code !== 0) this.#pool.release(code);
  }
}

class NumberCodec implements AtomCodec {
  readonly #pool: NumberPool;
  readonly #kind: 'integer' | 'real';

  constructor(pool: NumberPool, kind: 'integer' | 'real') {
    this.#pool = pool;
    this.#kind = kind;
  }

  readonly sweeps = 0;

  read(cursor: JsonCursor): number {
    const value = cursor.number();
    if (typeof value === 'number' && Number.isSafeInteger(value)) return this.#pool.intern(value);
    const normal = numericValue(value, this.#kind);
    if (normal === undefined) throw syntaxError(`${value} is not an integer of 64 bits`);
    return this.#pool.intern(normal);
  }

  readonly sortKey: SortKey = {
    word: (code, place) =>
      this.#kind === 'integer'
        ? this.#pool.integerWord(code, place)
        : this.#pool.realWord(code, place),
    isEnd: (_word, place) => place === 1,
  };

  intern(atom: Atom): number {
    return this.#pool.intern(atom as number | bigint);
  }

  find(atom: Atom): number {
    return this.#pool.find(atom as number | bigint);
  }

  equals(code: number, atom: Atom): boolean {
    return this.find(atom) === code;
  }

  atom(code: number): Atom {
    return this.#pool.value(code);
  }

  compare(a: number, b: number): number {
    return this.#pool.compare(a, b);
  }

  retain(code: number): void {
    this.#pool.retain(code);
  }

  release(code: number): void {
    this.#pool.release(code);
  }
}

class BooleanCodec implements AtomCodec {
  readonly sweeps = 0;

  read(cursor: JsonCursor): number {
    const byte = cursor.peek();
    if (byte === 0x74) {
      cursor.literal('true');
      return 1;
    }
    if (byte !== 0x66) cursor.fail('true or false');
    cursor.literal('false');
    return 0;
  }

  readonly sortKey: SortKey = { word: (code) => code, isEnd: () => true };

  intern(atom: Atom): number {
    return atom === true ? 1 : 0;
  }

  find(atom: Atom): number {
    return atom === true ? 1 : 0;
  }

  equals(code: number, atom: Atom): boolean {
    return this.find(atom) === code;
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

export interface AtomPools {
  readonly strings: StringPool;
  readonly uuids: UuidPool;
  readonly numbers: NumberPool;
}

export function atomCodec(type: AtomicType, pools: AtomPools): AtomCodec {
  switch (type) {
    case 'string':
      return new StringCodec(pools.strings);
    case 'uuid':
      return new UuidCodec(pools.uuids);
    case 'integer':
    case 'real':
      return new NumberCodec(pools.numbers, type);
    case 'boolean':
      return new BooleanCodec();
  }
}
