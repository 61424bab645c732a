import { isUtf8 } from 'node:buffer';
import { OvsdbError, syntaxError } from '../data/error.ts';
import { atOnce, ENDLESS, type Turn, type Work } from '../turn.ts';
import { BACKSLASH, JsonCursor, NEED_MORE, QUOTE } from './json-cursor.ts';
import { beginTextHash, endTextHash, goOnTextHash } from './text-hash.ts';
import { invalidUtf8Error, unfinishedUtf8, writeUtf8 } from './utf8.ts';
import type { TextElsewhere } from './text-elsewhere.ts';

const NOTHING = Buffer.alloc(0);

/** Bytes that are copied or hashed between two questions whether the turn is over; a multiple of four. */
const STEP = 64 * 1024;

/** What a string is wanted as: UTF-8 with its hash, or a string of JavaScript. */
export type TextForm = 'bytes' | 'text';

/** A string of a message that is decoded as it arrives, each byte once. */
export class LongText implements TextElsewhere {
  readonly #form: TextForm;
  /** Decoded bytes, cut between two characters. */
  #blocks: Buffer[] = [];
  #text = '';
  #length = 0;
  /** What has come of an escape that is cut off. */
  #escape: Buffer = NOTHING;
  /** What has come of a character that is cut off, decoded. */
  #character: Buffer = NOTHING;
  /** Why the string is of no use. */
  #failure: OvsdbError | undefined;
  /** Of a string that is of no use: its last byte was a backslash. */
  #isEscaped = false;
  #isComplete = false;
  /** All of the bytes, of which so many are copied and so many hashed. */
  #bytes: Buffer | undefined;
  #copied = 0;
  #hashed = 0;
  #hash = 0;
  readonly #cursor = new JsonCursor();

  constructor(form: TextForm) {
    this.#form = form;
    this.#cursor.isPartial = true;
  }

  /** True once the quotation mark behind it has come. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** True while its bytes have to be put together. */
  get isUnfinished(): boolean {
    return this.#form === 'bytes' && this.#failure === undefined && this.#hashed < this.#length;
  }

  /** Takes what comes behind the opening quotation mark. Returns where it stopped: at the end, or behind the closing quotation mark. */
  push(bytes: Buffer, from: number, end: number): number {
    if (this.#failure !== undefined) return this.#pass(bytes, from, end);
    const before = this.#escape;
    if (before.length === 0) return this.#decode(bytes, from, end);
    const joined = Buffer.concat([before, bytes.subarray(from, end)]);
    this.#escape = NOTHING;
    return this.#decode(joined, 0, joined.length) - before.length + from;
  }

  #decode(bytes: Buffer, from: number, end: number): number {
    const out = Buffer.allocUnsafeSlow(this.#character.length + end - from);
    let length = this.#character.copy(out);
    let wide = length === 0 ? 0 : 0x80;
    let at = from;
    for (; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        const code = this.#code(bytes, at + 1, end);
        if (code === undefined) break;
        length = writeUtf8(out, length, code);
        wide |= code;
        at = this.#cursor.position - 1;
        continue;
      }
      if (byte < 0x20) {
        this.#failure = syntaxError('bad JSON: a control character in a string was not escaped');
        break;
      }
      wide |= byte;
      out[length++] = byte;
    }
    if (this.#failure !== undefined) return this.#pass(bytes, at, end);
    this.#isComplete = bytes[at] === QUOTE && at < end;
    this.#add(out, length, wide > 0x7f);
    if (this.#isComplete) return at + 1;
    this.#escape = Buffer.from(bytes.subarray(at, end));
    this.#isEscaped = this.#escape.at(-1) === BACKSLASH;
    return end;
  }

  /** The code point of an escape; undefined when it is cut off, or wrong. */
  #code(bytes: Buffer, at: number, end: number): number | undefined {
    const cursor = this.#cursor;
    cursor.reset(bytes, at, end);
    try {
      return cursor.escape();
    } catch (error) {
      if (error === NEED_MORE) return undefined;
      if (!(error instanceof OvsdbError)) throw error;
      this.#failure = error;
      return undefined;
    }
  }

  #add(out: Buffer, length: number, isWide: boolean): void {
    const whole = this.#isComplete || !isWide ? length : length - unfinishedUtf8(out, length);
    const block = out.subarray(0, whole);
    this.#character = whole === length ? NOTHING : Buffer.from(out.subarray(whole, length));
    if (isWide && !isUtf8(block)) this.#failure = invalidUtf8Error(block, 0, whole);
    this.#length += whole;
    if (this.#form === 'text') this.#text += block.toString();
    else this.#blocks.push(block);
  }

  /** Looks for the end of a string that is of no use. */
  #pass(bytes: Buffer, from: number, end: number): number {
    this.#blocks = [];
    this.#text = '';
    for (let at = from; at < end; at++) {
      const byte = bytes[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) {
        this.#isComplete = true;
        return at + 1;
      }
    }
    return end;
  }

  /** Puts the bytes of a string that is complete together, in pieces. */
  *finishing(turn: Turn): Work {
    if (!this.isUnfinished) return;
    if (this.#bytes === undefined) {
      this.#bytes = Buffer.allocUnsafeSlow(this.#length);
      this.#hash = beginTextHash(this.#length);
      this.#blocks.reverse();
    }
    for (let next = this.#blocks.pop(); next !== undefined; next = this.#blocks.pop()) {
      this.#copied += next.copy(this.#bytes, this.#copied);
      if (turn.isOver()) yield;
    }
    while (this.#hashed < this.#length) {
      const [from, to] = [this.#hashed, this.#hashed + STEP];
      this.#hash =
        to < this.#length
          ? goOnTextHash(this.#hash, this.#bytes, from, to)
          : endTextHash(this.#hash, this.#bytes, from, this.#length);
      this.#hashed = to;
      if (turn.isOver()) yield;
    }
  }

  /** Its UTF-8; none when it was wanted as a string. Throws what is wrong with it. */
  get bytes(): Buffer {
    this.check();
    atOnce(this.finishing(ENDLESS));
    return this.#bytes ?? NOTHING;
  }

  /** `textHash` of its UTF-8. */
  get hash(): number {
    atOnce(this.finishing(ENDLESS));
    return this.#hash;
  }

  /** Throws what is wrong with it. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  get length(): number {
    return this.#length;
  }

  get text(): string {
    return this.#form === 'text' ? this.#text : this.bytes.toString();
  }
}
