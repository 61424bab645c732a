import { syntaxError } from '../data/error.ts';
import type { JsonValue } from '../data/value.ts';
import { exactNumber } from './json-number.ts';
import { invalidUtf8Error, writeUtf8 } from './utf8.ts';

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const COLON = 0x3a;
export const COMMA = 0x2c;
/** First letters of `false` and `true`. */
export const LETTER_F = 0x66;
export const LETTER_T = 0x74;
const MINUS = 0x2d;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

/** Nesting that ovsdb-server itself allows. */
export const MAX_DEPTH = 1000;

const ESCAPES: Readonly<Record<number, number>> = {
  0x22: 0x22,
  0x5c: 0x5c,
  0x2f: 0x2f,
  0x62: 0x08,
  0x66: 0x0c,
  0x6e: 0x0a,
  0x72: 0x0d,
  0x74: 0x09,
};

const NOTHING = Buffer.alloc(0);

/** Thrown by a cursor over the beginning of a text when it comes to its end: what it was reading is to be read again when there is more. */
export const TRUNCATED = new Error('the text goes on');

/** Numbers of a common form: an integer that a double holds exactly. */
const SHORT_INTEGER = 15;

/**
 * Reads JSON from bytes, one token at a time. Text of a string is left where it is: `text`, `start` and `end` say where
 * its UTF-8 lies (in the input, or in a scratch buffer when it had escapes).
 */
export class JsonCursor {
  bytes: Buffer;
  position: number;
  end: number;
  /** Where the last string's UTF-8 bytes are. */
  text: Buffer;
  textStart = 0;
  textEnd = 0;
  /** Strings with escapes, decoded. */
  #scratch: Buffer = NOTHING;
  /** More bytes may follow: reaching the end throws `TRUNCATED` and not an error. */
  isPartial = false;
  /** Names of members that were read last, by a number made of their letters. */
  #names: KnownName[] | undefined;

  constructor(bytes: Buffer = NOTHING, position = 0, end = bytes.length) {
    this.bytes = bytes;
    this.text = bytes;
    this.position = position;
    this.end = end;
  }

  reset(bytes: Buffer, position = 0, end = bytes.length): void {
    this.bytes = bytes;
    this.position = position;
    this.end = end;
  }

  fail(expected: string): never {
    if (this.isPartial && this.position >= this.end) throw TRUNCATED;
    const from = Math.max(0, this.position - 20);
    const near = this.bytes.toString('utf8', from, Math.min(this.end, this.position + 20));
    throw syntaxError(
      this.position >= this.end
        ? `JSON ends where ${expected} was expected, after "${near}"`
        : `bad JSON: ${expected} was expected at byte ${this.position - from} of "${near}"`,
    );
  }

  /** The next byte that is not white space; -1 at the end. Stays before it. */
  peek(): number {
    while (this.position < this.end) {
      const byte = this.bytes[this.position] as number;
      if (byte > 0x20) return byte;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) this.fail('a value');
      this.position++;
    }
    return -1;
  }

  /** The next byte that is not white space, which there must be. Stays before it. */
  first(): number {
    const byte = this.peek();
    if (byte === -1) this.fail('a value');
    return byte;
  }

  /** Steps over the byte if it is next. */
  take(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.position++;
    return true;
  }

  expect(byte: number): void {
    if (this.peek() !== byte) this.fail(`"${String.fromCharCode(byte)}"`);
    this.position++;
  }

  /** Reads a string; its UTF-8 is then at `text`, `textStart`, `textEnd`. */
  string(): void {
    if (this.peek() !== QUOTE) this.fail('a string');
    const { bytes, end } = this;
    let at = this.position + 1;
    const start = at;
    let wide = 0;
    for (; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        this.position = at + 1;
        this.text = bytes;
        this.textStart = start;
        this.textEnd = at;
        if (wide > 0x7f) this.#checkUtf8();
        return;
      }
      if (byte === BACKSLASH) {
        this.#escaped(start, at);
        return;
      }
      if (byte < 0x20) {
        this.position = at;
        this.fail('a control character to be escaped');
      }
      wide |= byte;
    }
    this.position = end;
    this.fail('the end of a string');
  }

  /**
   * Steps over the next string if it is written with exactly these bytes, among which there must be no quote, backslash or
   * control character. False, without having moved, when it is another one or written otherwise.
   */
  takeText(known: Uint8Array, offset: number, length: number): boolean {
    const { bytes } = this;
    const from = this.position + 1;
    const close = from + length;
    if (close >= this.end || bytes[close] !== QUOTE || bytes[from - 1] !== QUOTE) return false;
    for (let i = 0; i < length; i++) if (bytes[from + i] !== known[offset + i]) return false;
    this.position = close + 1;
    return true;
  }

  #checkUtf8(): void {
    const error = invalidUtf8Error(this.text, this.textStart, this.textEnd);
    if (error !== undefined) throw error;
  }

  /** The slow way: a string with escapes, decoded into the scratch buffer. */
  #escaped(start: number, firstEscape: number): void {
    const { bytes, end } = this;
    let out = firstEscape - start;
    this.#room(out + 8);
    bytes.copy(this.#scratch, 0, start, firstEscape);
    let at = firstEscape;
    for (;;) {
      if (at >= end) {
        this.position = end;
        this.fail('the end of a string');
      }
      const byte = bytes[at++] as number;
      if (byte === QUOTE) break;
      this.#room(out + 8);
      if (byte === BACKSLASH) {
        this.position = at;
        const code = this.#escape();
        at = this.position;
        out = writeUtf8(this.#scratch, out, code);
      } else {
        if (byte < 0x20) {
          this.position = at - 1;
          this.fail('a control character to be escaped');
        }
        this.#scratch[out++] = byte;
      }
    }
    this.position = at;
    this.text = this.#scratch;
    this.textStart = 0;
    this.textEnd = out;
    this.#checkUtf8();
  }

  #room(size: number): void {
    if (size <= this.#scratch.length) return;
    const larger = Buffer.alloc(size * 2);
    this.#scratch.copy(larger);
    this.#scratch = larger;
  }

  /** The code point of an escape; stands behind the backslash. */
  #escape(): number {
    const kind = this.position < this.end ? (this.bytes[this.position++] as number) : 0;
    if (kind !== 0x75) {
      const simple = ESCAPES[kind];
      if (simple === undefined) this.fail('an escape such as \\n');
      return simple;
    }
    const unit = this.#hex4();
    if (unit === 0) throw syntaxError('a string contains the null character \\u0000');
    if (unit < 0xd800 || unit > 0xdfff) return unit;
    if (this.isPartial && this.position + 6 > this.end) throw TRUNCATED;
    const isPair =
      unit < 0xdc00 &&
      this.bytes[this.position] === BACKSLASH &&
      this.bytes[this.position + 1] === 0x75;
    if (!isPair) throw syntaxError('half a surrogate pair in a string');
    this.position += 2;
    const low = this.#hex4();
    if (low < 0xdc00 || low > 0xdfff) throw syntaxError('half a surrogate pair in a string');
    return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
  }

  #hex4(): number {
    const text = this.bytes.toString(
      'latin1',
      this.position,
      Math.min(this.end, this.position + 4),
    );
    if (this.isPartial && text.length < 4) throw TRUNCATED;
    if (!/^[0-9a-fA-F]{4}$/.test(text)) this.fail('four hexadecimal digits');
    this.position += 4;
    return Number.parseInt(text, 16);
  }

  /** The last string read, as text. */
  get lastText(): string {
    return this.text.toString('utf8', this.textStart, this.textEnd);
  }

  /**
   * Reads a number: an integer in 64 bits exactly (`bigint` beyond 2^53), otherwise a double; a `RoundedReal` when that double is an integer.
   */
  number(): number | bigint {
    this.peek();
    const { bytes, end } = this;
    const start = this.position;
    let at = start;
    const negative = bytes[at] === MINUS;
    if (negative) at++;
    const first = at;
    let value = 0;
    while (at < end) {
      const digit = (bytes[at] as number) - DIGIT_0;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
      at++;
    }
    const digits = at - first;
    if (digits === 0) {
      this.position = at;
      this.fail('a number');
    }
    if (digits > 1 && bytes[first] === DIGIT_0) throw syntaxError('a number must not start with 0');
    const next = at < end ? (bytes[at] as number) : 0;
    const isInteger = next !== 0x2e && next !== 0x65 && next !== 0x45;
    if (isInteger && digits <= SHORT_INTEGER) {
      this.position = at;
      return negative && value !== 0 ? -value : value;
    }
    return this.#longNumber(start, at);
  }

  #digits(from: number, what: string): number {
    let at = from;
    while (
      at < this.end &&
      (this.bytes[at] as number) >= DIGIT_0 &&
      (this.bytes[at] as number) <= DIGIT_9
    )
      at++;
    if (at === from) {
      this.position = at;
      this.fail(what);
    }
    return at;
  }

  #longNumber(start: number, from: number): number | bigint {
    let at = from;
    if (this.bytes[at] === 0x2e) at = this.#digits(at + 1, 'a digit after the decimal point');
    if (this.bytes[at] === 0x65 || this.bytes[at] === 0x45) {
      at++;
      if (this.bytes[at] === 0x2b || this.bytes[at] === MINUS) at++;
      at = this.#digits(at, 'a digit of the exponent');
    }
    this.position = at;
    return exactNumber(this.bytes.toString('latin1', start, at));
  }

  literal(word: string): void {
    for (let i = 0; i < word.length; i++) {
      if (this.position >= this.end || this.bytes[this.position] !== word.charCodeAt(i))
        this.fail(word);
      this.position++;
    }
  }

  #scalar(byte: number): JsonValue {
    if (byte === LETTER_T) {
      this.literal('true');
      return true;
    }
    if (byte === LETTER_F) {
      this.literal('false');
      return false;
    }
    if (byte === 0x6e) {
      this.literal('null');
      return null;
    }
    return this.number();
  }

  /** Calls `member` before each value of an object, its name being the last string. */
  object(member: () => void): void {
    this.expect(OPEN_BRACE);
    if (this.take(CLOSE_BRACE)) return;
    for (;;) {
      this.string();
      this.expect(COLON);
      member();
      if (this.take(CLOSE_BRACE)) return;
      this.expect(COMMA);
    }
  }

  /** Reads any value. Of members given twice the last one counts. */
  value(depth = 0): JsonValue {
    const byte = this.peek();
    checkDepth(byte, depth);
    if (byte === QUOTE) {
      this.string();
      return this.textEnd - this.textStart <= SHORT_TEXT ? this.lastName : this.lastText;
    }
    if (byte === OPEN_BRACKET) return this.#items(depth);
    if (byte === OPEN_BRACE) return this.#members(depth);
    return this.#scalar(byte);
  }

  #items(depth: number): JsonValue {
    const items: JsonValue[] = [];
    this.position++;
    if (this.take(CLOSE_BRACKET)) return items;
    for (;;) {
      items.push(this.value(depth + 1));
      if (this.take(CLOSE_BRACKET)) return items;
      this.expect(COMMA);
    }
  }

  #members(depth: number): JsonValue {
    const result: { [key: string]: JsonValue } = {};
    this.position++;
    if (this.take(CLOSE_BRACE)) return result;
    for (;;) {
      this.string();
      const name = this.lastName;
      this.expect(COLON);
      const value = this.value(depth + 1);
      setMember(result, name, value);
      if (this.take(CLOSE_BRACE)) return result;
      this.expect(COMMA);
    }
  }

  /** The last string, which is the name of a member: most likely one that was read before. */
  get lastName(): string {
    const { text, textStart, textEnd } = this;
    const length = textEnd - textStart;
    if (length === 0 || length > LONGEST_NAME) return this.lastText;
    const names = (this.#names ??= []);
    const place =
      (length * 31 + (text[textStart] as number) * 7 + (text[textStart + 2] ?? 0)) % NAMES;
    const known = names[place];
    if (known?.bytes.length === length) {
      let i = 0;
      while (i < length && known.bytes[i] === text[textStart + i]) i++;
      if (i === length) return known.name;
    }
    const name = this.lastText;
    names[place] = { bytes: Uint8Array.prototype.slice.call(text, textStart, textEnd), name };
    return name;
  }
}

interface KnownName {
  readonly bytes: Uint8Array;
  readonly name: string;
}

const NAMES = 256;
const LONGEST_NAME = 32;

/** Values that are as short are most often words that come again and again, such as `uuid`. */
const SHORT_TEXT = 8;

/** Sets a member of an object, whatever its name. */
function setMember(members: { [name: string]: JsonValue }, name: string, value: JsonValue): void {
  if (name === '__proto__') {
    Object.defineProperty(members, name, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  } else members[name] = value;
}

/** Throws when `byte` opens one level of nesting too many; `depth` are open around it. */
function checkDepth(byte: number, depth: number): void {
  if (depth >= MAX_DEPTH && (byte === OPEN_BRACKET || byte === OPEN_BRACE)) {
    throw syntaxError(`JSON is nested more than ${MAX_DEPTH} levels deep`);
  }
}
