import {
  block,
  type Code,
  constant,
  constantBytes,
  constantWords,
  get,
  I32,
  jump,
  jumpIf,
  loop,
  memory,
  set,
  simd,
  V128,
  wasmInstance,
  when,
} from '../wasm.ts';
import { textHashCode } from '../wire/text-hash.ts';

/**
 * Compares texts with a shape: fixed parts, byte by byte the same in all of them, and holes between these, where each has something of its own. In
 * WebAssembly, which looks at sixteen bytes at once.
 */

/** What is behind a fixed part of a shape. */
export const END = 0;
/** A string without escapes, all ASCII: found are the addresses of its first byte and of the quote behind it, and its `textHash`. */
export const TEXT_HOLE = 1;
/** The 36 characters of a UUID: found are its four words. */
export const UUID_HOLE = 2;
/** One to nine digits of an integer without needless zeros: found is the integer. */
export const INTEGER_HOLE = 3;

/** A fixed part and what is behind it. */
export interface ShapePart {
  readonly fixed: Uint8Array;
  readonly hole: number;
}

/** Words that are found for each hole. */
export const FOUND_WORDS = 4;

const PAGE = 64 * 1024;
/** Addresses: where the last match stopped; what was found; the shapes; the text. */
const STOPPED = 0;
const FOUND = 1024;
const FOUND_SIZE = PAGE - FOUND;
const SHAPES = PAGE;
const SHAPE_SIZE = 4096;
const SHAPE_PLACES = 64;
const TEXT = SHAPES + SHAPE_SIZE * SHAPE_PLACES;
/** Bytes of text that are looked at without copying anew. */
const TEXT_SIZE = 4 * PAGE;
/** More can be read behind the text: vectors are not cut off. */
const PAGES = (TEXT + TEXT_SIZE) / PAGE + 1;

/** The length of a fixed part, what is behind it, then its bytes, filled up to whole vectors. */
const HEAD = 16;

// Parameters and locals.
const SHAPE = 0;
const AT = 1;
const LAST = 2;
const ROWS = 3;
const PART = 4;
const PLACE = 5;
const OUT = 6;
const LENGTH = 7;
const HOLE = 8;
const OFFSET = 9;
const MASK = 10;
const START = 11;
const HASH = 12;
const WORD = 13;
const DONE = 14;
const FIRST = 15;
const SECOND = 16;
const THIRD = 17;

const EQUAL = 0x46;
const NOT_EQUAL = 0x47;
const LESS = 0x49;
const GREATER = 0x4b;
const NOT_LESS = 0x4f;
const TRAILING_ZEROS = 0x68;
const ADD = 0x6a;
const SUBTRACT = 0x6b;
const MULTIPLY = 0x6c;
const AND = 0x71;
const OR = 0x72;
const SHIFT_LEFT = 0x74;

const loadWord = (offset = 0): Code => [0x28, memory(offset)];
const loadByte = (offset = 0): Code => [0x2d, memory(offset)];
const storeWord = (offset = 0): Code => [0x36, memory(offset)];
const loadVector = (offset = 0): Code => [simd(0x00), memory(offset)];
const storeVector = (offset = 0): Code => [simd(0x0b), memory(offset)];
const shuffle = (bytes: readonly number[]): Code => [simd(0x0d), ...bytes];
const bytesEqual = simd(0x23);
const bytesLess = simd(0x26);
const vectorAnd = simd(0x4e);
const vectorOr = simd(0x50);
/** Bits of the first operand where the third has ones, of the second where it has zeros. */
const select = simd(0x52);
const allTrue = simd(0x63);
const bitmask = simd(0x64);
const narrow = simd(0x66);
const bytesAdd = simd(0x6e);
const bytesSubtract = simd(0x71);
const shortsLeft = simd(0x8b);
const shortsRight = simd(0x8d);

const increase = (local: number, by: number): Code => [get(local), constant(by), ADD, set(local)];

/** Compares the fixed part with what stands in its place. */
const compareFixed: Code = [
  [get(PLACE), get(LENGTH), ADD, get(LAST), GREATER],
  jumpIf('no match'),
  [constant(0), set(OFFSET)],
  block('compared', [
    loop('vector', [
      [get(OFFSET), get(LENGTH), NOT_LESS],
      jumpIf('compared'),
      [get(PLACE), get(OFFSET), ADD, loadVector()],
      [get(PART), get(OFFSET), ADD, loadVector()],
      [bytesEqual, bitmask, set(MASK)],
      [get(LENGTH), get(OFFSET), SUBTRACT, constant(16), LESS],
      when('last vector', [
        // What is behind the fixed part may differ.
        [constant(-1), get(LENGTH), get(OFFSET), SUBTRACT, SHIFT_LEFT],
        [get(MASK), OR, set(MASK)],
      ]),
      [get(MASK), constant(0xffff), AND, constant(0xffff), NOT_EQUAL],
      jumpIf('no match'),
      increase(OFFSET, 16),
      jump('vector'),
    ]),
  ]),
  [get(PLACE), get(LENGTH), ADD, set(PLACE)],
  [get(PART), get(LENGTH), constant(15), ADD, constant(-16), AND, ADD, set(PART)],
];

/** Finds the end of a string; no match when a byte comes first that needs a closer look. */
const readText: Code = [
  [get(PLACE), set(START)],
  loop('text', [
    [get(PLACE), loadVector(), set(FIRST)],
    [get(FIRST), constantBytes(0x22), bytesEqual],
    [get(FIRST), constantBytes(0x5c), bytesEqual, vectorOr],
    [get(FIRST), constantBytes(0x20), bytesLess, vectorOr],
    // Bytes that are not ASCII have their highest bit, which is the one in the mask.
    [get(FIRST), vectorOr, bitmask, set(MASK)],
    [get(MASK), 0x45],
    when('goes on', [
      increase(PLACE, 16),
      [get(PLACE), get(LAST), NOT_LESS],
      jumpIf('no match'),
      jump('text'),
    ]),
  ]),
  [get(PLACE), get(MASK), TRAILING_ZEROS, ADD, set(PLACE)],
  [get(PLACE), get(LAST), NOT_LESS],
  jumpIf('no match'),
  [get(PLACE), loadByte(), constant(0x22), NOT_EQUAL],
  jumpIf('no match'),
  textHashCode(START, PLACE, { hash: HASH, at: OFFSET, word: WORD }),
  [get(OUT), get(START), storeWord()],
  [get(OUT), get(PLACE), storeWord(4)],
  [get(OUT), get(HASH), storeWord(8)],
];

/** Sixteen hexadecimal digits in a local become their values; no match when one is none. */
const digits = (local: number): Code => [
  // The letters, whatever their case, from 0 on.
  [get(local), constantBytes(0x20), vectorOr],
  [constantBytes(0x61), bytesSubtract, set(THIRD)],
  [get(local), constantBytes(0x30), bytesSubtract, set(local)],
  [get(local), constantBytes(10), bytesLess],
  [get(THIRD), constantBytes(6), bytesLess, vectorOr],
  [allTrue, 0x45],
  jumpIf('no match'),
  [get(local), get(THIRD), constantBytes(10), bytesAdd],
  [get(local), constantBytes(10), bytesLess, select, set(local)],
];

/** Two digits beside each other as one byte, in half as many lanes. */
const pairs = (local: number): Code => [
  [get(local), constant(4), shortsLeft],
  [get(local), constant(8), shortsRight, vectorOr],
  [constantWords(0x00ff_00ff), vectorAnd],
];

const span = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, i) => from + i);

const readUuid: Code = [
  [get(PLACE), constant(36), ADD, get(LAST), GREATER],
  jumpIf('no match'),
  [8, 13, 18, 23].map((dash): Code => [
    [get(PLACE), loadByte(dash), constant(0x2d), NOT_EQUAL],
    jumpIf('no match'),
  ]),
  [get(PLACE), loadVector(0), get(PLACE), loadVector(16)],
  [shuffle([...span(0, 8), ...span(9, 13), ...span(14, 18)]), set(FIRST)],
  [get(PLACE), loadVector(19), get(PLACE), loadVector(20)],
  [shuffle([...span(0, 4), ...span(5, 16), 31]), set(SECOND)],
  digits(FIRST),
  digits(SECOND),
  [get(OUT), pairs(FIRST), pairs(SECOND), narrow, set(FIRST)],
  // A word's first byte is its highest.
  [get(FIRST), get(FIRST)],
  shuffle([0, 4, 8, 12].flatMap((word) => [word + 3, word + 2, word + 1, word])),
  storeVector(),
  increase(PLACE, 36),
];

const readInteger: Code = [
  [get(PLACE), set(START), constant(0), set(WORD)],
  block('digits', [
    loop('digit', [
      [get(PLACE), get(LAST), NOT_LESS],
      jumpIf('no match'),
      [get(PLACE), loadByte(), constant(0x30), SUBTRACT, set(MASK)],
      [get(MASK), constant(10), NOT_LESS],
      jumpIf('digits'),
      [get(WORD), constant(10), MULTIPLY, get(MASK), ADD, set(WORD)],
      increase(PLACE, 1),
      jump('digit'),
    ]),
  ]),
  [get(PLACE), get(START), SUBTRACT, set(MASK)],
  // None, or more than a word holds for sure.
  [get(MASK), constant(1), SUBTRACT, constant(9), NOT_LESS],
  jumpIf('no match'),
  [get(START), loadByte(), constant(0x30), EQUAL],
  [get(MASK), constant(1), GREATER, AND],
  jumpIf('no match'),
  [get(OUT), get(WORD), storeWord()],
];

/** `match(shape, at, end, rows)`: see `ShapeScan.match`. */
const matchCode: Code = [
  [constant(FOUND), set(OUT)],
  block('no match', [
    loop('row', [
      [get(SHAPE), set(PART), get(AT), set(PLACE)],
      block('whole', [
        loop('part', [
          [get(PART), loadWord(), set(LENGTH)],
          [get(PART), loadWord(4), set(HOLE)],
          increase(PART, HEAD),
          compareFixed,
          [get(HOLE), 0x45],
          jumpIf('whole'),
          block('hole', [
            [get(HOLE), constant(TEXT_HOLE), EQUAL],
            when('a text', [readText, jump('hole')]),
            [get(HOLE), constant(UUID_HOLE), EQUAL],
            when('a UUID', [readUuid, jump('hole')]),
            readInteger,
          ]),
          increase(OUT, FOUND_WORDS * 4),
          jump('part'),
        ]),
      ]),
      increase(DONE, 1),
      [get(PLACE), set(AT)],
      [get(AT), get(LAST), NOT_LESS],
      jumpIf('no match'),
      [get(AT), loadByte(), constant(0x2c), NOT_EQUAL],
      jumpIf('no match'),
      increase(AT, 1),
      [get(DONE), get(ROWS), LESS],
      jumpIf('row'),
    ]),
  ]),
  [constant(STOPPED), get(AT), storeWord()],
  get(DONE),
];

/** Finds where texts have the same shape as others before. */
export class ShapeScan {
  /** All of the memory: what is found of texts are addresses in it. */
  readonly bytes: Buffer;
  /** What was found in the holes of the first row, then of the second and so on, `FOUND_WORDS` for each. */
  readonly found: Uint32Array;
  readonly #words: Uint32Array;
  readonly #match: (shape: number, at: number, end: number, rows: number) => number;
  /** Shapes that were put here so far; the last ones are still here. */
  #count = 0;
  /** The text that is here: which bytes, from where to where. */
  #text: Buffer | undefined;
  #from = 0;
  #to = 0;

  constructor() {
    const { buffer, functions } = wasmInstance(PAGES, [
      {
        name: 'match',
        parameters: 4,
        hasResult: true,
        locals: [
          [FIRST - PART, I32],
          [3, V128],
        ],
        code: matchCode,
      },
    ]);
    this.bytes = Buffer.from(buffer);
    this.found = new Uint32Array(buffer, FOUND, FOUND_SIZE / 4);
    this.#words = new Uint32Array(buffer, 0, 1);
    this.#match = functions['match'] as (...parameters: number[]) => number;
  }

  /** Puts a shape where it can be matched, and gives it a number; -1 when it is too large. It stays there until `has` denies it. */
  add(parts: readonly ShapePart[]): number {
    const size = parts.reduce((sum, { fixed }) => sum + HEAD + ((fixed.length + 15) & ~15), 0);
    if (size > SHAPE_SIZE) return -1;
    const number = this.#count++;
    let at = addressOf(number);
    for (const { fixed, hole } of parts) {
      this.bytes.writeUInt32LE(fixed.length, at);
      this.bytes.writeUInt32LE(hole, at + 4);
      this.bytes.set(fixed, at + HEAD);
      at += HEAD + ((fixed.length + 15) & ~15);
    }
    return number;
  }

  has(shape: number): boolean {
    return shape >= 0 && shape >= this.#count - SHAPE_PLACES;
  }

  /** As `beginText`. */
  forget(): void {
    this.#text = undefined;
  }

  /**
   * Goes on from `at` as long as what stands there is of this shape: rows with a comma behind each, `limit` of them at most, for which there is
   * room in `found`. Returns how many there are; `stopped` tells where they end, behind a comma or without one. All of it has to be
   * before `end`.
   */
  match(shape: number, text: Buffer, at: number, end: number, limit: number): number {
    if (this.#text !== text || at < this.#from || at >= this.#to) this.#copy(text, at, end);
    const rows = this.#matchHere(shape, at, end, limit);
    if (rows > 0 || this.#to >= end || at === this.#from) return rows;
    // Perhaps cut off where the copy ends.
    this.#copy(text, at, end);
    return this.#matchHere(shape, at, end, limit);
  }

  #copy(text: Buffer, at: number, end: number): void {
    this.#text = text;
    this.#from = at;
    this.#to = Math.min(end, at + TEXT_SIZE);
    this.bytes.set(text.subarray(at, this.#to), TEXT);
  }

  #matchHere(shape: number, at: number, end: number, limit: number): number {
    const shift = TEXT - this.#from;
    return this.#match(addressOf(shape), at + shift, Math.min(end, this.#to) + shift, limit);
  }

  /** Where the last match stopped. */
  get stopped(): number {
    return (this.#words[STOPPED] as number) - TEXT + this.#from;
  }
}

const addressOf = (shape: number): number => SHAPES + (shape % SHAPE_PLACES) * SHAPE_SIZE;

/** Most rows of so many holes for which there is room in `found`. */
export const mostRows = (holes: number): number =>
  Math.floor(FOUND_SIZE / 4 / FOUND_WORDS / Math.max(1, holes));

/** What was copied for the last match is of no use any more: other bytes will be looked at, even if the buffer is the same. */
export function beginText(): void {
  made?.forget();
}

let made: ShapeScan | undefined;

/** The only one of the program: whoever uses it takes what was found before anybody else does. */
export const shapeScan = (): ShapeScan => (made ??= new ShapeScan());
