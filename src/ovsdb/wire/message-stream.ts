import { OvsdbError } from '../error.ts';
import type { Work } from '../turn.ts';
import type { JsonObject, JsonValue } from '../value.ts';
import { MessageScanner, type FramerLimits } from './framer.ts';
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  JsonCursor,
  NEED_MORE,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-cursor.ts';
import { HeldWork } from './held-work.ts';
import { JsonReader } from './json-reader.ts';
import { PendingBytes } from './pending-bytes.ts';

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

/** Why a large message is not read by a sink: it has no updates, its beginning does not tell yet, or whose they are comes behind them. */
type NoUpdates = 'none' | 'cut off' | 'whose';

/** Table updates, and the sink that takes them. */
interface FoundUpdates {
  readonly head: UpdateHead;
  readonly sink: UpdateSink;
  /** Whether the updates are the last member of an array. */
  readonly inArray: boolean;
}

/** The sink of the message that is arriving, and what belongs to it. */
interface Streaming extends FoundUpdates {
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
  readonly #pending = new PendingBytes();
  #streaming: Streaming | undefined;
  /** Reads a large message that brings no table updates. */
  #reader: JsonReader | undefined;
  /** Bytes of an incomplete message at which its head is looked at. */
  #sniffAt: number;
  /** What the last message brought, until it is done. */
  readonly #work = new HeldWork();
  #isReading = false;
  /** What arrived while something was read, or behind a message that is not done. */
  #waiting: Buffer[] = [];
  /** For complete messages: one is read at a time. */
  readonly #cursor = new JsonCursor();
  /** Where the updates ended that a sink has taken last. */
  #updatesEnd = 0;

  /** Messages larger than `streamFrom` bytes are read while they arrive. */
  constructor(handler: MessageHandler, limits?: FramerLimits, streamFrom = STREAM_FROM) {
    this.#streamFrom = streamFrom;
    this.#sniffAt = streamFrom;
    this.#handler = handler;
    this.#scanner = new MessageScanner(limits);
  }

  /**
   * Takes bytes, which may be overwritten afterwards. Throws `protocol` or `syntax error` when the peer sends what is no message; the
   * connection is then to be dropped.
   */
  push(chunk: Buffer): void {
    if (this.#isReading || this.isHeld) {
      this.#waiting.push(Buffer.from(chunk));
      return;
    }
    this.#whileReading(() => {
      this.#read(chunk);
    });
  }

  /** Reads, then what arrived meanwhile. */
  #whileReading(read: () => void): void {
    this.#isReading = true;
    try {
      read();
      while (!this.isHeld && this.#waiting.length > 0) this.#read(this.#waiting.shift() as Buffer);
    } finally {
      this.#isReading = false;
    }
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.isHeld) {
        this.#waiting.unshift(Buffer.from(rest));
        return;
      }
      if (this.#streaming?.phase === 'reading') {
        this.#pending.append(rest);
        if (!this.#feed(this.#streaming)) return;
        // The sink has what it wanted; what follows is the end of the message.
        rest = this.#takePending();
      }
      const end = this.#scanner.scan(rest, 0);
      if (end === -1) {
        this.#keep(rest);
        return;
      }
      let message = rest.subarray(0, end);
      if (this.#pending.length > 0) {
        this.#pending.append(message);
        message = this.#pending.view;
      }
      rest = rest.subarray(end);
      this.#complete(message);
      this.#pending.clear();
      this.#work.goOn();
    }
  }

  /** Work that the message which is just told brings: no later one is looked at until it is done. */
  hold(work: Work): void {
    this.#work.add(work);
  }

  /** True while a message is not done: `resume` is to be called in another turn. */
  get isHeld(): boolean {
    return !this.#work.isDone;
  }

  /** Goes on with the message that is not done, then with what arrived behind it. */
  resume(): void {
    this.#whileReading(() => {
      this.#work.goOn();
    });
  }

  /** Nothing more is wanted: what is not done will not be. */
  abandon(): void {
    this.#work.abandon();
    this.#waiting = [];
  }

  /** Bytes that were kept, to be looked at again as if they had just arrived. */
  #takePending(): Buffer {
    const bytes = Buffer.from(this.#pending.view);
    this.#pending.clear();
    return bytes;
  }

  /** More of an incomplete message that no sink reads (yet). */
  #keep(part: Buffer): void {
    if (!this.#scanner.isInside) return;
    const streaming = this.#streaming;
    if (streaming?.phase === 'failed') return;
    const pending = this.#pending;
    pending.append(part);
    if (streaming?.phase === 'waiting') {
      // One row larger than all that arrived at once: read again when it is complete.
      if (this.#scanner.lastClose !== -1) {
        streaming.phase = 'reading';
        this.#resumeReading(streaming);
      }
      return;
    }
    if (this.#reader !== undefined) {
      this.#readOn(this.#reader);
      return;
    }
    if (streaming !== undefined || pending.length < this.#sniffAt) return;
    const found = this.#sniff(pending.view);
    if (found === 'cut off' || found === 'whose') {
      this.#sniffAt = found === 'whose' ? Infinity : pending.length * 2;
      return;
    }
    if (found === 'none') {
      this.#reader = new JsonReader();
      this.#readOn(this.#reader);
      return;
    }
    this.#streaming = found.streaming;
    pending.drop(found.position);
    this.#resumeReading(found.streaming);
  }

  #resumeReading(streaming: Streaming): void {
    if (this.#feed(streaming)) this.#read(this.#takePending());
  }

  /** Reads of a plain value what has arrived. */
  #readOn(reader: JsonReader): void {
    if (this.#pending.length >= reader.wants) this.#pending.drop(reader.push(this.#pending.view));
  }

  /**
   * Gives what is there to the sink. True when the sink needs no more, or is of no use any more: then the scanner goes on where it stopped.
   */
  #feed(streaming: Streaming): boolean {
    const bytes = this.#pending.view;
    const before = streaming.sink.depth;
    const position = this.#pushTo(streaming, bytes, 0, bytes.length);
    this.#scanner.count(position);
    this.#pending.drop(position);
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

  /** Reads the head of a large message up to its table updates, or says why it does not. */
  #sniff(bytes: Buffer): { streaming: Streaming; position: number } | NoUpdates {
    const cursor = new JsonCursor(bytes);
    cursor.isPartial = true;
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
          if (found === 'none' || found === 'whose') return found;
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
      if (error === NEED_MORE) return 'cut off';
      if (error instanceof OvsdbError) return 'none';
      throw error;
    }
  }

  /** Steps to the table updates in `params` or `result`; the cursor then stands before their brace. */
  #updatesIn(
    cursor: JsonCursor,
    isParams: boolean,
    id: JsonValue | undefined,
  ): FoundUpdates | 'none' | 'whose' {
    let monitor: JsonValue | undefined;
    let found: boolean | undefined;
    let lastId: string | undefined;
    const inArray = cursor.first() === OPEN_BRACKET;
    if (inArray) {
      cursor.expect(OPEN_BRACKET);
      const byte = cursor.first();
      // The result of a transaction begins with an object: that is told without reading it.
      if (!isParams && byte !== LETTER_F && byte !== LETTER_T) return 'none';
      const first = cursor.value();
      cursor.expect(COMMA);
      if (isParams) monitor = first;
      else found = first === true;
      if (cursor.first() === QUOTE) {
        cursor.string();
        lastId = cursor.lastText;
        cursor.expect(COMMA);
      }
    }
    if (cursor.first() !== OPEN_BRACE || (isParams && !inArray)) return 'none';
    const head: UpdateHead = { id, monitor, found, lastId };
    const sink = isParams ? this.#handler.sinkForUpdate(head) : this.#handler.sinkForReply(head);
    if (sink === undefined) return isParams || id !== undefined ? 'none' : 'whose';
    return { head, sink, inArray };
  }

  #complete(bytes: Buffer): void {
    const streaming = this.#streaming;
    const reader = this.#reader;
    this.#streaming = undefined;
    this.#reader = undefined;
    this.#sniffAt = this.#streamFrom;
    if (reader !== undefined) {
      reader.push(bytes);
      this.#deliver(partsOf(reader.value), undefined);
      return;
    }
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
    let found: FoundUpdates | 'none' | 'whose' = 'none';
    try {
      found = this.#updatesIn(cursor, isParams, before.id);
    } catch (error) {
      // An array that is not one of updates: read as a plain value.
      if (!(error instanceof OvsdbError)) throw error;
    }
    if (found === 'none' || found === 'whose') return undefined;
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
/** The members of a message that was read as a plain value. */
function partsOf(message: JsonValue): Partial<Message> {
  const parts: { -readonly [K in keyof Message]?: Message[K] } = {};
  for (const [name, value] of Object.entries(message as JsonObject)) {
    if (!isMember(name))
      throw new OvsdbError('protocol', `a message has an unexpected member "${name}"`);
    parts[name] = value;
  }
  return parts;
}

const MEMBERS: readonly string[] = ['id', 'method', 'params', 'result', 'error'];

const isMember = (name: string): name is keyof Message => MEMBERS.includes(name);

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
