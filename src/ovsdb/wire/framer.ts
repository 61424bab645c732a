import { OvsdbError } from '../data/error.ts';
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  MAX_DEPTH,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-cursor.ts';

/** What the bytes are inside of. */
const OUTSIDE = 0;
const STRUCTURE = 1;
const STRING = 2;
const ESCAPE = 3;

/** Braces open around the update of a row: the message, the tables, the table. */
const WATCHED = 3;

export const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Bytes that may follow a string, an array or an object inside of a message: 1. */
const FOLLOWS = new Uint8Array(256);
for (const byte of [COMMA, COLON, CLOSE_BRACE, CLOSE_BRACKET, 0x20, 0x0a, 0x0d, 0x09])
  FOLLOWS[byte] = 1;

export interface FramerLimits {
  /** Bytes of one message; none by default. */
  readonly maxBytes?: number;
  /** Levels of nesting; 1000 by default, as in ovsdb-server. */
  readonly maxDepth?: number;
}

/**
 * Finds where the messages of a stream end: a message is one JSON object, and nothing but white space may stand between two. When a
 * quotation mark or a bracket is missing, the messages behind it would become part of a message without end: that shows in what follows a string, an
 * array or an object.
 * `scan` is given each chunk once and remembers across chunk borders. Once it has thrown, the stream is broken for good.
 */
export class MessageScanner {
  #state = OUTSIDE;
  #depth = 0;
  /** The last byte of the last chunk ended a string, an array or an object inside of a message. */
  #valueEnded = false;
  #broken: OvsdbError | undefined;
  readonly #maxDepth: number;
  /** Behind the last `}` in the scanned bytes that left three braces open, as the end of a row's update does; -1: none. */
  lastClose = -1;
  #braces = 0;

  constructor(maxDepth = MAX_DEPTH) {
    this.#maxDepth = maxDepth;
  }

  /** True while a message is incomplete. */
  get isInside(): boolean {
    return this.#state !== OUTSIDE;
  }

  #fail(details: string): never {
    this.#broken = new OvsdbError('protocol', details);
    throw this.#broken;
  }

  /** Position behind the message that ends first in `bytes` from `from` on; -1 if none ends there. */
  scan(bytes: Uint8Array, from: number): number {
    if (this.#broken !== undefined) throw this.#broken;
    this.lastClose = -1;
    let at = from;
    if (this.#state === OUTSIDE) {
      at = this.#begin(bytes, from);
      if (at === -1) return -1;
    }
    return this.#scanInside(bytes, at);
  }

  #begin(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (byte === OPEN_BRACE) {
        this.#state = STRUCTURE;
        return at;
      }
      if (!isSpace(byte)) {
        this.#fail(`a message must start with "{", not with byte 0x${byte.toString(16)}`);
      }
    }
    return -1;
  }

  #scanInside(bytes: Uint8Array, from: number): number {
    const { length } = bytes;
    let state = this.#state;
    let depth = this.#depth;
    let braces = this.#braces;
    let close = -1;
    let at = from;
    if (this.#valueEnded && at < length) {
      this.#valueEnded = false;
      this.#checkAfterValue(bytes[at] as number);
    }
    while (at < length) {
      if (state === STRING) {
        let byte = bytes[at++] as number;
        while (byte !== QUOTE && byte !== BACKSLASH && at < length) byte = bytes[at++] as number;
        if (byte === QUOTE) {
          state = STRUCTURE;
          if (at === length) this.#valueEnded = true;
          else if (FOLLOWS[bytes[at] as number] === 0) this.#checkAfterValue(bytes[at] as number);
        } else if (byte === BACKSLASH) state = ESCAPE;
        continue;
      }
      const byte = bytes[at++] as number;
      if (state === ESCAPE) state = STRING;
      else if (byte === QUOTE) state = STRING;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (byte === OPEN_BRACE) braces++;
        if (++depth > this.#maxDepth) {
          this.#fail(`JSON is nested more than ${this.#maxDepth} levels deep`);
        }
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        depth--;
        if (byte === CLOSE_BRACE && --braces === WATCHED) close = at;
        if (depth === 0) {
          this.#state = OUTSIDE;
          this.#depth = 0;
          this.#braces = 0;
          this.lastClose = close;
          return at;
        }
        if (at === length) this.#valueEnded = true;
        else if (FOLLOWS[bytes[at] as number] === 0) this.#checkAfterValue(bytes[at] as number);
      }
    }
    this.#state = state;
    this.#depth = depth;
    this.#braces = braces;
    this.lastClose = close;
    return -1;
  }

  #checkAfterValue(byte: number): void {
    if (FOLLOWS[byte] === 0) this.#fail(`byte 0x${byte.toString(16)} can't follow a value`);
  }

  /** Continues behind bytes that were read otherwise, `last` at their end: `depth` brackets are open there, `braces` of them braces. */
  resume(depth: number, braces: number, last: number | undefined): void {
    this.#state = STRUCTURE;
    this.#valueEnded = last === CLOSE_BRACE || last === CLOSE_BRACKET || last === QUOTE;
    this.#depth = depth;
    this.#braces = braces;
  }
}

/** Cuts a stream into messages: bytes in, whole messages out. Nothing of the bytes that it is given is kept: they may be overwritten. */
export class Framer {
  readonly #scanner: MessageScanner;
  readonly #maxBytes: number;
  /** The beginning of an incomplete message. */
  #parts: Buffer[] = [];
  #length = 0;
  #broken: OvsdbError | undefined;

  constructor(limits: FramerLimits = {}) {
    this.#scanner = new MessageScanner(limits.maxDepth);
    this.#maxBytes = limits.maxBytes ?? Infinity;
  }

  /** The messages that this chunk completes. Throws `protocol` when the stream can't be one of OVSDB; it stays broken then. */
  push(chunk: Uint8Array): Buffer[] {
    if (this.#broken !== undefined) throw this.#broken;
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const messages: Buffer[] = [];
    let start = 0;
    for (;;) {
      // White space between messages belongs to none, wherever the chunks are cut.
      if (!this.#scanner.isInside) while (isSpace(bytes[start])) start++;
      const end = this.#scanner.scan(bytes, start);
      if (end === -1) break;
      this.#keep(bytes.subarray(start, end));
      messages.push(
        this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts),
      );
      this.#parts = [];
      this.#length = 0;
      start = end;
    }
    if (this.#scanner.isInside && start < bytes.length) this.#keep(bytes.subarray(start));
    return messages;
  }

  #keep(part: Buffer): void {
    this.#length += part.length;
    if (this.#length > this.#maxBytes) {
      this.#broken = new OvsdbError(
        'protocol',
        `a message is larger than ${this.#maxBytes} bytes; maxBytes of the framer would allow more`,
      );
      throw this.#broken;
    }
    this.#parts.push(Buffer.from(part));
  }

  /** True between messages: a stream may end here. */
  get isIdle(): boolean {
    return !this.#scanner.isInside;
  }
}
