import { OvsdbError } from '../error.ts';
import type { JsonValue } from '../value.ts';
import { MessageScanner, type FramerLimits } from './framer.ts';
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  JsonCursor,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-cursor.ts';

/** What a message is about, as far as it was read before its table updates. */
export interface UpdateHead {
  readonly id: JsonValue | undefined;
  /** The monitor that a notification names. */
  readonly monitor: JsonValue | undefined;
  /** Of a reply to `monitor_cond_since`: whether the server still knew the last transaction. */
  readonly found: boolean | undefined;
  readonly lastId: string | undefined;
}

/** Takes table updates as bytes, in pieces cut anywhere. */
export interface UpdateSink {
  /**
   * Returns where it stopped: behind the closing brace when `isDone`, otherwise behind the last thing that was complete.
   * What follows is to be given again, with more.
   */
  push(bytes: Buffer, position: number, end: number): number;
  readonly isDone: boolean;
  /** Braces of the updates that are open where it stopped. */
  readonly depth: number;
}

/** A message in whole: what is absent in the JSON is undefined. Updates that went to a sink are not repeated here. */
export interface Message {
  readonly id: JsonValue | undefined;
  readonly method: JsonValue | undefined;
  readonly params: JsonValue | undefined;
  readonly result: JsonValue | undefined;
  readonly error: JsonValue | undefined;
}

export interface MessageHandler {
  /** Whether a reply with this id (undefined: not known yet) or a notification of this monitor brings table updates. */
  sinkForReply(head: UpdateHead): UpdateSink | undefined;
  sinkForUpdate(head: UpdateHead): UpdateSink | undefined;
  /** A whole message; `sink` took its updates, unless `failure` says why it could not. */
  message(
    message: Message,
    sink: UpdateSink | undefined,
    head: UpdateHead | undefined,
    failure: OvsdbError | undefined,
  ): void;
}

/** Names and methods as they are written. */
const ID = Buffer.from('id');
const METHOD = Buffer.from('method');
const PARAMS = Buffer.from('params');
const RESULT = Buffer.from('result');
const ERROR = Buffer.from('error');
const UPDATES = ['update3', 'update2', 'update'].map((text) => ({
  text,
  bytes: Buffer.from(text),
}));

/** First letters of `false` and `true`. */
const LETTER_F = 0x66;
const LETTER_T = 0x74;

/** Messages larger than this are read while they arrive. */
const STREAM_FROM = 128 * 1024;

/** The sink of the message that is arriving, and what belongs to it. */
interface Streaming {
  readonly head: UpdateHead;
  readonly sink: UpdateSink;
  /** Whether the updates are the last member of an array. */
  readonly inArray: boolean;
  readonly before: Partial<Message>;
  failure: OvsdbError | undefined;
  /** `waiting`: for the end of a row that is larger than what arrives at once. */
  phase: 'reading' | 'waiting' | 'done' | 'failed';
}

/**
 * Bytes of a connection in, messages out, in order. Table updates never become JSON values: they go to a sink as they
 * arrive, so that a message of any size takes little memory and never holds up the event loop.
 */
export class MessageStream {
  readonly #scanner: MessageScanner;
  readonly #handler: MessageHandler;
  readonly #streamFrom: number;
  /** The incomplete message, as far as no sink has taken it. */
  #parts: Buffer[] = [];
  #length = 0;
  #streaming: Streaming | undefined;
  #sniffed = false;
  /** For complete messages: one is read at a time. */
  readonly #cursor = new JsonCursor();
  /** Where the updates ended that a sink has taken last. */
  #updatesEnd = 0;

  /** Messages larger than `streamFrom` bytes are read while they arrive. */
  constructor(handler: MessageHandler, limits?: FramerLimits, streamFrom = STREAM_FROM) {
    this.#streamFrom = streamFrom;
    this.#handler = handler;
    this.#scanner = new MessageScanner(limits);
  }

  /** Throws `protocol` or `syntax error` when the peer sends what is no message; the connection is then to be dropped. */
  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#streaming?.phase === 'reading') {
        this.#append(rest);
        if (!this.#feed(this.#streaming)) return;
        // The sink has what it wanted; what follows is the end of the message.
        rest = this.#joined();
        this.#parts = [];
        this.#length = 0;
      }
      const end = this.#scanner.scan(rest, 0);
      if (end === -1) {
        this.#keep(rest);
        return;
      }
      this.#append(rest.subarray(0, end));
      rest = rest.subarray(end);
      this.#complete();
    }
  }

  #append(part: Buffer): void {
    this.#parts.push(part);
    this.#length += part.length;
  }

  #joined(): Buffer {
    return this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
  }

  /** More of an incomplete message that no sink reads (yet). */
  #keep(part: Buffer): void {
    if (!this.#scanner.isInside) return;
    const streaming = this.#streaming;
    if (streaming?.phase === 'failed') return;
    this.#append(part);
    if (streaming?.phase === 'waiting') {
      // One row larger than all that arrived at once: read again when it is complete.
      if (this.#scanner.lastClose !== -1) {
        streaming.phase = 'reading';
        this.#resumeReading(streaming);
      }
      return;
    }
    if (streaming !== undefined || this.#sniffed || this.#length < this.#streamFrom) return;
    this.#sniffed = true;
    const joined = this.#joined();
    const found = this.#sniff(joined);
    if (found === undefined) {
      this.#parts = [joined];
      return;
    }
    this.#streaming = found.streaming;
    this.#drop(joined, found.position);
    this.#resumeReading(found.streaming);
  }

  #resumeReading(streaming: Streaming): void {
    if (!this.#feed(streaming)) return;
    const rest = this.#joined();
    this.#parts = [];
    this.#length = 0;
    this.push(rest);
  }

  #drop(bytes: Buffer, position: number): void {
    const rest = bytes.subarray(position);
    this.#parts = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
  }

  /**
   * Gives what is there to the sink. True when the sink needs no more, or is of no use any more: then the scanner goes on where it stopped.
   */
  #feed(streaming: Streaming): boolean {
    const bytes = this.#joined();
    const before = streaming.sink.depth;
    const position = this.#pushTo(streaming, bytes, 0, bytes.length);
    this.#scanner.count(position);
    this.#drop(bytes, position);
    const around = streaming.inArray ? 2 : 1;
    if (streaming.failure !== undefined) {
      streaming.phase = 'failed';
      this.#scanner.resume(around + before, 1 + before);
      return true;
    }
    const { depth, isDone } = streaming.sink;
    if (isDone) streaming.phase = 'done';
    else if (position === 0 && bytes.length >= this.#streamFrom) streaming.phase = 'waiting';
    else return false;
    this.#scanner.resume(around + depth, 1 + depth);
    return true;
  }

  /** What the sink can't use makes the whole update useless, but not the connection. */
  #pushTo(streaming: Streaming, bytes: Buffer, position: number, end: number): number {
    try {
      return streaming.sink.push(bytes, position, end);
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      streaming.failure = error;
      return position;
    }
  }

  /** Reads the head of a large message up to its table updates; undefined when it has none or can't be told yet. */
  #sniff(bytes: Buffer): { streaming: Streaming; position: number } | undefined {
    const cursor = new JsonCursor(bytes);
    const before: { -readonly [K in keyof Message]?: Message[K] } = {};
    try {
      cursor.expect(OPEN_BRACE);
      for (;;) {
        cursor.string();
        const name = cursor.lastText;
        cursor.expect(COLON);
        const isParams = name === 'params';
        if (isParams || name === 'result') {
          const found = this.#updatesIn(cursor, isParams, before.id);
          if (found === undefined) return undefined;
          return {
            streaming: { ...found, before, failure: undefined, phase: 'reading' },
            position: cursor.position,
          };
        }
        const value = cursor.value();
        if (name === 'id' || name === 'method' || name === 'error') before[name] = value;
        cursor.expect(COMMA);
      }
    } catch (error) {
      if (error instanceof OvsdbError) return undefined;
      throw error;
    }
  }

  /** Steps to the table updates in `params` or `result`; the cursor then stands before their brace. */
  #updatesIn(
    cursor: JsonCursor,
    isParams: boolean,
    id: JsonValue | undefined,
  ): { head: UpdateHead; sink: UpdateSink; inArray: boolean } | undefined {
    let monitor: JsonValue | undefined;
    let found: boolean | undefined;
    let lastId: string | undefined;
    const inArray = cursor.peek() === OPEN_BRACKET;
    if (inArray) {
      cursor.expect(OPEN_BRACKET);
      const byte = cursor.peek();
      // The result of a transaction begins with an object: that is told without reading it.
      if (!isParams && byte !== LETTER_F && byte !== LETTER_T) return undefined;
      const first = cursor.value();
      cursor.expect(COMMA);
      if (isParams) monitor = first;
      else found = first === true;
      if (cursor.peek() === QUOTE) {
        cursor.string();
        lastId = cursor.lastText;
        cursor.expect(COMMA);
      }
    }
    if (cursor.peek() !== OPEN_BRACE || (isParams && !inArray)) return undefined;
    const head: UpdateHead = { id, monitor, found, lastId };
    const sink = isParams ? this.#handler.sinkForUpdate(head) : this.#handler.sinkForReply(head);
    return sink === undefined ? undefined : { head, sink, inArray };
  }

  #complete(): void {
    const bytes = this.#joined();
    const streaming = this.#streaming;
    this.#parts = [];
    this.#length = 0;
    this.#streaming = undefined;
    this.#sniffed = false;
    if (streaming === undefined) {
      if (!this.#inOrder(bytes)) this.#anyOrder(bytes);
      return;
    }
    let position = 0;
    if (streaming.phase === 'waiting') {
      position = this.#pushTo(streaming, bytes, 0, bytes.length);
      streaming.phase = streaming.sink.isDone ? 'done' : 'failed';
    }
    // When the updates were of no use, nobody knows where they ended: what came before them must do.
    const after = streaming.phase === 'done' ? tail(bytes, position, streaming.inArray) : {};
    if (streaming.phase !== 'done') streaming.failure ??= tooShort();
    this.#deliver({ ...streaming.before, ...after }, streaming);
  }

  /**
   * A complete message in the order in which servers write it, read in one go: `id` and `method` before what belongs to them. False, with
   * nothing done, when it is in another.
   */
  #inOrder(bytes: Buffer): boolean {
    const cursor = this.#cursor;
    cursor.reset(bytes);
    const parts: { -readonly [K in keyof Message]?: Message[K] } = {};
    cursor.expect(OPEN_BRACE);
    do {
      if (take(cursor, ID)) {
        if (parts.id !== undefined) return false;
        parts.id = cursor.value();
      } else if (take(cursor, METHOD)) {
        if (parts.method !== undefined) return false;
        parts.method = methodOf(cursor);
      } else if (take(cursor, ERROR)) {
        if (parts.error !== undefined) return false;
        parts.error = cursor.value();
      } else {
        const isParams = take(cursor, PARAMS);
        if (!isParams && !take(cursor, RESULT)) return false;
        const name = isParams ? 'params' : 'result';
        if (parts[name] !== undefined || parts[isParams ? 'method' : 'id'] === undefined)
          return false;
        if (isParams ? isUpdate(parts.method) : !isTransactionResult(bytes, cursor.position)) {
          const streaming = this.#updatesFrom(
            bytes,
            cursor.position,
            bytes.length,
            isParams,
            parts,
          );
          if (streaming !== undefined) {
            const after =
              streaming.failure === undefined
                ? tail(bytes, this.#updatesEnd, streaming.inArray)
                : {};
            this.#deliver({ ...parts, ...after }, streaming);
            return true;
          }
        }
        parts[name] = cursor.value();
      }
    } while (cursor.take(COMMA));
    cursor.expect(CLOSE_BRACE);
    this.#deliver(parts, undefined);
    return true;
  }

  #deliver(parts: Partial<Message>, streaming: Streaming | undefined): void {
    const { id, method, params, result, error } = parts;
    this.#handler.message(
      { id, method, params, result, error },
      streaming?.sink,
      streaming?.head,
      streaming?.failure,
    );
  }

  /** A complete message in any order: its members are found first, then updates go to their sink. */
  #anyOrder(bytes: Buffer): void {
    const cursor = new JsonCursor(bytes);
    const parts: { -readonly [K in keyof Message]?: Message[K] } = {};
    const ranges = new Map<string, [number, number]>();
    cursor.object(() => {
      const name = cursor.lastText;
      if (name === 'params' || name === 'result') {
        if (name === 'result' && isTransactionResult(bytes, cursor.position)) {
          ranges.delete(name);
          parts.result = cursor.value();
          return;
        }
        delete parts[name];
        const from = cursor.position;
        cursor.skip();
        ranges.set(name, [from, cursor.position]);
      } else {
        const value = cursor.value();
        if (name === 'id' || name === 'method' || name === 'error') parts[name] = value;
        else throw new OvsdbError('protocol', `a message has an unexpected member "${name}"`);
      }
    });
    for (const [name, [from, to]] of ranges) {
      const isParams = name === 'params';
      if (!isParams || isUpdate(parts.method)) {
        const streaming = this.#updatesFrom(bytes, from, to, isParams, parts);
        if (streaming !== undefined) {
          this.#deliver(parts, streaming);
          return;
        }
      }
      const value = new JsonCursor(bytes, from, to).value();
      if (isParams) parts.params = value;
      else parts.result = value;
    }
    this.#deliver(parts, undefined);
  }

  #updatesFrom(
    bytes: Buffer,
    from: number,
    to: number,
    isParams: boolean,
    before: Partial<Message>,
  ): Streaming | undefined {
    const cursor = new JsonCursor(bytes, from, to);
    let found: { head: UpdateHead; sink: UpdateSink; inArray: boolean } | undefined;
    try {
      found = this.#updatesIn(cursor, isParams, before.id);
    } catch (error) {
      // An array that is not one of updates: read as a plain value.
      if (!(error instanceof OvsdbError)) throw error;
    }
    if (found === undefined) return undefined;
    const { head, sink, inArray } = found;
    const streaming: Streaming = { head, sink, inArray, before, failure: undefined, phase: 'done' };
    this.#updatesEnd = this.#pushTo(streaming, bytes, cursor.position, to);
    if (streaming.failure === undefined && !streaming.sink.isDone) {
      streaming.failure = tooShort();
    }
    return streaming;
  }
}

/** Steps over the name of a member and its colon if it is this one, written without escapes. */
function take(cursor: JsonCursor, name: Buffer): boolean {
  if (cursor.peek() !== QUOTE || !cursor.takeText(name, 0, name.length)) return false;
  cursor.expect(COLON);
  return true;
}

/** The value of `method`: most often that of an update. */
function methodOf(cursor: JsonCursor): JsonValue {
  for (const { text, bytes } of UPDATES) if (cursor.takeText(bytes, 0, bytes.length)) return text;
  return cursor.value();
}

const isUpdate = (method: JsonValue | undefined): boolean =>
  method === 'update3' || method === 'update2' || method === 'update';

/** True for what can't hold table updates: an array that begins with an object. */
const isTransactionResult = (bytes: Buffer, at: number): boolean =>
  bytes[at] === OPEN_BRACKET && bytes[at + 1] === OPEN_BRACE;

const tooShort = (): OvsdbError => new OvsdbError('syntax error', 'table updates end too early');

/** Members of a message behind its table updates. */
function tail(bytes: Buffer, position: number, inArray: boolean): Partial<Message> {
  const cursor = new JsonCursor(bytes, position);
  const parts: { -readonly [K in keyof Message]?: Message[K] } = {};
  if (inArray) cursor.expect(CLOSE_BRACKET);
  while (cursor.take(COMMA)) {
    cursor.string();
    const name = cursor.lastText;
    cursor.expect(COLON);
    const value = cursor.value();
    if (name === 'id' || name === 'method' || name === 'error') parts[name] = value;
  }
  cursor.expect(CLOSE_BRACE);
  return parts;
}
