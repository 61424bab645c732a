import { BACKSLASH, QUOTE } from './json-cursor.ts';
import type { TextForm } from './long-text.ts';
import { LongTexts } from './long-texts.ts';
import { ELSEWHERE } from './text-elsewhere.ts';

/** Room that is kept while nothing is pending. */
const KEPT = 1 << 20;

/** A string of which so many bytes have come, and that still goes on, is kept elsewhere. */
const LONG = 8 * 1024;

/** In place of a byte of the peer's that would be taken for our sign of a string that is kept elsewhere; as little allowed in JSON as that. */
const NOT_OURS = 0x02;

/**
 * Bytes of a message that is not complete, copied: what they came in is used again for what comes next. Long strings can be kept elsewhere, so that
 * nobody has to look at their beginning again when more of them has come.
 */
export class PendingBytes {
  #bytes = Buffer.alloc(0);
  /** What was taken last: to be used again when the next ones are taken. */
  #taken = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  /** How many there were before those that are pending. */
  #before = 0;
  /** How many of those that are pending were searched for a long string. */
  #searched = 0;
  /** Where the string begins that is open there; -1: none. */
  #quote = -1;
  /** A backslash came right before that. */
  #isEscaped = false;
  /** Strings that are kept elsewhere. */
  readonly texts = new LongTexts();

  get length(): number {
    return this.#end - this.#start;
  }

  /** All of them, until the next change. */
  get view(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  /** All of them, which are then pending no more. Good until bytes are taken again. */
  take(): Buffer {
    const { view } = this;
    const free = this.#taken;
    this.#taken = this.#bytes.length > KEPT ? Buffer.alloc(0) : this.#bytes;
    this.#bytes = free;
    this.#forget();
    return view;
  }

  /** Returns how many of them are not pending now, since they are kept elsewhere. */
  append(part: Buffer): number {
    if (this.texts.isEmpty) {
      this.#copy(part);
      return 0;
    }
    let from = 0;
    if (this.texts.isOpen) {
      from = this.texts.push(part, 0, part.length);
      // The quotation mark behind it is as before.
      if (this.texts.isOpen) return from;
      this.#copy(part.subarray(--from));
      this.#searched = this.length - (part.length - from) + 1;
    } else this.#copy(part);
    this.#disown(this.#end - (part.length - from));
    return from;
  }

  #copy(part: Buffer): void {
    if (this.#end + part.length > this.#bytes.length) this.#makeRoom(part.length);
    part.copy(this.#bytes, this.#end);
    this.#end += part.length;
  }

  #makeRoom(more: number): void {
    const { length } = this;
    const needed = length + more;
    const from = this.#bytes;
    // Slow to allocate, so not for each piece; of its own, since Node's pool is shared with others.
    if (needed > from.length) this.#bytes = Buffer.allocUnsafeSlow(Math.max(needed * 2, 4096));
    from.copy(this.#bytes, 0, this.#start, this.#end);
    this.#start = 0;
    this.#end = length;
  }

  /** What the peer sent must not look as what stands for a string that is kept elsewhere. */
  #disown(from: number): void {
    const bytes = this.#bytes;
    let at = bytes.indexOf(ELSEWHERE, from);
    for (; at !== -1 && at < this.#end; at = bytes.indexOf(ELSEWHERE, at + 1)) bytes[at] = NOT_OURS;
  }

  /**
   * Keeps a long string elsewhere in whose middle the bytes end. The first of them must be in no string, and so must any be up to which some are
   * dropped. Returns how many are not pending any more.
   */
  putAside(form: TextForm): number {
    if (this.length < LONG || this.texts.isOpen) return 0;
    this.#search();
    const quote = this.#quote;
    if (quote === -1 || this.length - quote < LONG) return 0;
    const from = this.#start + quote + 1;
    if (this.texts.isEmpty) this.#disown(this.#start);
    const number = this.texts.open(this.#before + quote, form);
    this.texts.push(this.#bytes, from, this.#end);
    const before = this.length;
    this.#end = from;
    this.#copy(Buffer.from(`${String.fromCharCode(ELSEWHERE)}${number}`));
    this.#searched = this.length;
    this.#quote = -1;
    this.#isEscaped = false;
    return before - this.length;
  }

  /** Looks where the string begins in which the bytes end. */
  #search(): void {
    const bytes = this.#bytes;
    let at = this.#start + this.#searched;
    for (; at < this.#end; at++) {
      const byte = bytes[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === QUOTE) this.#quote = this.#quote === -1 ? at - this.#start : -1;
      else if (byte === BACKSLASH) this.#isEscaped = this.#quote !== -1;
    }
    this.#searched = this.length;
  }

  /** Forgets the first `count`. */
  drop(count: number): void {
    this.#start += count;
    this.#before += count;
    if (this.#searched <= count) {
      this.#searched = 0;
      this.#quote = -1;
      this.#isEscaped = false;
    } else {
      this.#searched -= count;
      if (this.#quote !== -1) this.#quote -= count;
    }
    if (!this.texts.isEmpty) this.texts.forgetBefore(this.#before);
    if (this.#start === this.#end) this.clear();
  }

  clear(): void {
    this.#forget();
    if (this.#bytes.length > KEPT) this.#bytes = Buffer.alloc(0);
  }

  #forget(): void {
    this.#start = 0;
    this.#end = 0;
    this.#searched = 0;
    this.#quote = -1;
    this.#isEscaped = false;
    if (!this.texts.isEmpty) this.texts.clear();
  }
}
