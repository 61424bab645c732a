import { constants } from 'node:buffer';
import { OvsdbError, unlessRefused } from '../data/error.ts';
import type { JsonValue } from '../data/value.ts';
import { isSpace, MessageScanner } from './framer.ts';
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  JsonCursor,
  LETTER_F,
  LETTER_T,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  TRUNCATED,
} from './json-cursor.ts';
import {
  isUpdate,
  type Message,
  type MessageHandler,
  type TakenUpdates,
  type UpdateHead,
} from './message.ts';
import { PendingBytes } from './pending-bytes.ts';

/**
 * What a message may take by default: half of what a string of V8 can hold, so that whatever is in it can become one. Only what has to be kept until it can be
 * used counts, so that a database of any size is loaded.
 */
const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;

/** Limits in which `maxMessageBytes` makes sense: beyond the upper one a string in a message could not become one of V8. */
const LEAST_LIMIT = 4096;
const { MAX_STRING_LENGTH } = constants;

/** Throws `bad argument` for a limit that can't be meant. */
export function checkMessageLimit(bytes: number | undefined): void {
  if (bytes === undefined) return;
  if (Number.isInteger(bytes) && bytes >= LEAST_LIMIT && bytes <= MAX_STRING_LENGTH) return;
  throw new OvsdbError(
    'bad argument',
    `maxMessageBytes must be a number of bytes from ${LEAST_LIMIT} to ${MAX_STRING_LENGTH}, not ${bytes}`,
  );
}

/** Where the updates of a message begin has been seen by then, or it is read as an ordinary one. */
const HEAD_LIMIT = 4096;

/** A row of which so much has come without its end is read again when that has come, too. */
const LARGE_ROW = 128 * 1024;

const NOTHING = Buffer.alloc(0);

/** Members of a message as they are found, one after the other. */
type MessageParts = { -readonly [K in keyof Message]?: Message[K] };

/** Table updates, and the sink that takes them. */
interface FoundUpdates extends Omit<TakenUpdates, 'failure'> {
  /** Whether the updates are the last member of an array. */
  readonly inArray: boolean;
}

/** The updates of the message that is arriving, and what came before them. */
interface Streaming extends FoundUpdates {
  readonly before: Partial<Message>;
  failure: OvsdbError | undefined;
  /** The last byte that the sink used; undefined when it used none. */
  last: number | undefined;
  /** `waiting`: for the end of a large row. */
  phase: 'reading' | 'waiting' | 'done' | 'failed';
}

export interface StreamLimits {
  /** Bytes of one message that are kept until they can be used: of table updates one row, of any other message all of it. */
  readonly maxMessageBytes?: number | undefined;
  /** Bytes of a row without its end from which on its end is looked for; for tests. */
  readonly largeRow?: number | undefined;
}

/**
 * Bytes of a connection in, messages out, in order. Table updates never become JSON values: they go to a sink row by row as they
 * arrive, so that a message of any size takes little memory and reading can pause between any two chunks.
 */
export class MessageStream {
  readonly #scanner = new MessageScanner();
  readonly #handler: MessageHandler;
  readonly #maxBytes: number;
  readonly #largeRow: number;
  readonly #cursor = new JsonCursor();
  /** The part of the incomplete message that was not used yet. */
  readonly #pending = new PendingBytes();
  #streaming: Streaming | undefined;
  /** The message that is arriving is read when it is complete. */
  #isOrdinary = false;
  #isReading = false;
  #isAbandoned = false;
  /** The stream is broken for good. */
  #failure: OvsdbError | undefined;
  /** What arrived while something was read. */
  #queued: Buffer[] = [];

  constructor(handler: MessageHandler, limits: StreamLimits = {}) {
    this.#handler = handler;
    this.#maxBytes = limits.maxMessageBytes ?? MAX_MESSAGE_BYTES;
    this.#largeRow = Math.min(limits.largeRow ?? LARGE_ROW, this.#maxBytes);
  }

  /**
   * Takes bytes, which may be overwritten afterwards. Throws `protocol` or `syntax error` when the peer sends what is no message; the
   * connection is then to be dropped.
   */
  push(chunk: Buffer): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isReading) {
      this.#queued.push(Buffer.from(chunk));
      return;
    }
    this.#isReading = true;
    try {
      this.#read(chunk);
      for (let next = this.#queued.shift(); next !== undefined; next = this.#queued.shift())
        this.#read(next);
    } catch (error) {
      if (error instanceof OvsdbError) this.#failure = error;
      throw error;
    } finally {
      this.#isReading = false;
    }
  }

  /** Stops reading; called from a handler, the messages behind the one that is being handled are dropped, too. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#queued = [];
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0 && !this.#isAbandoned) {
      const streaming = this.#streaming;
      rest =
        streaming?.phase === 'reading' ? this.#readUpdates(streaming, rest) : this.#readOther(rest);
    }
  }

  /** Throws when too much waits for its end. */
  #checkLimit(): void {
    if (this.#pending.length <= this.#maxBytes) return;
    const what = this.#streaming === undefined ? 'a message' : 'a row of a message';
    throw new OvsdbError(
      'protocol',
      `${what} is larger than ${this.#maxBytes} bytes; the option maxMessageBytes would allow more`,
    );
  }

  /** Gives bytes to the sink, with those that it could not use before. Returns what follows the updates. */
  #readUpdates(streaming: Streaming, bytes: Buffer): Buffer {
    const { sink } = streaming;
    const pending = this.#pending;
    let all = bytes;
    if (pending.length > 0) {
      pending.append(bytes);
      all = pending.take();
    }
    const around = streaming.inArray ? 2 : 1;
    const before = sink.depth;
    const stopped = pushTo(streaming, all, 0, all.length);
    if (streaming.failure !== undefined) {
      streaming.phase = 'failed';
      this.#scanner.resume(around + before, 1 + before, streaming.last);
      return all;
    }
    if (stopped > 0) streaming.last = all[stopped - 1];
    const rest = all.subarray(stopped);
    if (!sink.isDone && rest.length < this.#largeRow) {
      pending.append(rest);
      return NOTHING;
    }
    const { depth } = sink;
    this.#scanner.resume(around + depth, 1 + depth, streaming.last);
    streaming.phase = sink.isDone ? 'done' : 'waiting';
    return rest;
  }

  /** Looks for the end of a message, or of a large row. Returns what follows. */
  #readOther(bytes: Buffer): Buffer {
    let from = 0;
    if (!this.#scanner.isInside) {
      while (from < bytes.length && isSpace(bytes[from])) from++;
      const position = this.#begin(bytes.subarray(from));
      if (position !== -1) return bytes.subarray(from + position);
    } else if (this.#streaming === undefined && !this.#isOrdinary) {
      const head = Buffer.concat([this.#pending.view, bytes.subarray(0, HEAD_LIMIT)]);
      const position = this.#begin(head);
      if (position !== -1) {
        this.#pending.append(bytes);
        return this.#pending.take().subarray(position);
      }
    }
    const end = this.#scanner.scan(bytes, from);
    if (end === -1) return this.#incomplete(bytes.subarray(from));
    let message = bytes.subarray(from, end);
    if (this.#pending.length > 0) {
      this.#pending.append(message);
      message = this.#pending.take();
    }
    this.#complete(message);
    return bytes.subarray(end);
  }

  /** More of a message or row whose end has not come. Returns what is to be read again. */
  #incomplete(bytes: Buffer): Buffer {
    const streaming = this.#streaming;
    // The rest of a message that failed is skipped.
    if (streaming?.phase === 'failed' || bytes.length === 0) return NOTHING;
    const pending = this.#pending;
    pending.append(bytes);
    if (streaming?.phase === 'waiting' && this.#scanner.lastClose !== -1) {
      streaming.phase = 'reading';
      return pending.take();
    }
    this.#checkLimit();
    return NOTHING;
  }

  /** Looks at the beginning of a message whether it brings table updates: then returns where they begin, otherwise -1. */
  #begin(bytes: Buffer): number {
    const cursor = this.#cursor;
    cursor.reset(bytes);
    cursor.isPartial = true;
    try {
      const streaming = this.#updates(cursor);
      this.#isOrdinary = streaming === undefined;
      this.#streaming = streaming;
      return streaming === undefined ? -1 : cursor.position;
    } catch (error) {
      if (error !== TRUNCATED && !(error instanceof OvsdbError)) throw error;
      // A syntax error is reported when the message is complete.
      this.#isOrdinary = error !== TRUNCATED || bytes.length > HEAD_LIMIT;
      return -1;
    } finally {
      cursor.isPartial = false;
    }
  }

  /** Reads a message up to its table updates; undefined when it has none, or names its method only behind them. */
  #updates(cursor: JsonCursor): Streaming | undefined {
    const before: MessageParts = {};
    cursor.expect(OPEN_BRACE);
    for (;;) {
      cursor.string();
      const name = cursor.lastName;
      cursor.expect(COLON);
      if (name === 'params' || name === 'result') {
        if (name === 'params' && !isUpdate(before.method)) return undefined;
        const found = this.#updatesIn(cursor, name === 'params', before.id);
        return found && { ...found, before, failure: undefined, last: undefined, phase: 'reading' };
      }
      if (!isMember(name)) return undefined;
      before[name] = cursor.value();
      cursor.expect(COMMA);
    }
  }

  /** Steps to the table updates in `params` or `result`; the cursor then stands before their brace. Undefined when they have no sink. */
  #updatesIn(
    cursor: JsonCursor,
    isParams: boolean,
    id: JsonValue | undefined,
  ): FoundUpdates | undefined {
    let monitor: JsonValue | undefined;
    let found: boolean | undefined;
    let lastId: string | undefined;
    const inArray = cursor.first() === OPEN_BRACKET;
    if (inArray) {
      cursor.expect(OPEN_BRACKET);
      const byte = cursor.first();
      // The result of a transaction begins with an object.
      if (!isParams && byte !== LETTER_F && byte !== LETTER_T) return undefined;
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
    if (cursor.first() !== OPEN_BRACE || (isParams && !inArray)) return undefined;
    const head: UpdateHead = { id, monitor, found, lastId };
    const sink = isParams ? this.#handler.sinkForUpdate(head) : this.#handler.sinkForReply(head);
    return sink && { head, sink, inArray };
  }

  /** The bytes are a message, or what follows the part of it that was read. */
  #complete(bytes: Buffer): void {
    const streaming = this.#streaming;
    this.#streaming = undefined;
    this.#isOrdinary = false;
    if (streaming === undefined) {
      this.#whole(bytes);
      return;
    }
    let position = 0;
    if (streaming.phase === 'waiting') {
      position = pushTo(streaming, bytes, 0, bytes.length);
      streaming.phase = streaming.sink.isDone ? 'done' : 'failed';
    }
    if (streaming.phase === 'done') {
      const after = this.#tail(bytes, position, streaming.inArray);
      this.#deliver({ ...streaming.before, ...after }, streaming);
    } else {
      // Where the updates end is unknown, so that the members behind them are missing.
      streaming.failure ??= tooShort();
      this.#deliver(streaming.before, streaming);
    }
  }

  /** Members of a message behind its table updates. */
  #tail(bytes: Buffer, position: number, inArray: boolean): Partial<Message> {
    const cursor = this.#cursor;
    cursor.reset(bytes, position);
    const parts: MessageParts = {};
    if (inArray) cursor.expect(CLOSE_BRACKET);
    while (cursor.take(COMMA)) {
      cursor.string();
      const name = cursor.lastName;
      if (!isMember(name)) throw unexpected(name);
      cursor.expect(COLON);
      const value = cursor.value();
      if (name !== 'params' && name !== 'result') parts[name] = value;
    }
    cursor.expect(CLOSE_BRACE);
    return parts;
  }

  /** A complete message, its members in any order: one whose table updates came before its id or method is recognised only now. */
  #whole(bytes: Buffer): void {
    const cursor = this.#cursor;
    cursor.reset(bytes);
    const parts: MessageParts = {};
    let params = 0;
    let result = 0;
    cursor.object(() => {
      const name = cursor.lastName;
      if (name === 'params') params = cursor.position;
      if (name === 'result') result = cursor.position;
      const value = cursor.value();
      if (!isMember(name)) throw unexpected(name);
      parts[name] = value;
    });
    const isParams = isUpdate(parts.method);
    const from = isParams ? params : result;
    let streaming: Streaming | undefined;
    if (from > 0) {
      cursor.reset(bytes, from);
      streaming = this.#updatesFrom(cursor, isParams, parts);
    }
    this.#deliver(parts, streaming);
  }

  #updatesFrom(
    cursor: JsonCursor,
    isParams: boolean,
    before: Partial<Message>,
  ): Streaming | undefined {
    // An array that is not one of updates is read as a plain value.
    const found = unlessRefused(() => this.#updatesIn(cursor, isParams, before.id), undefined);
    if (found === undefined) return undefined;
    const streaming: Streaming = {
      ...found,
      before,
      failure: undefined,
      last: undefined,
      phase: 'done',
    };
    pushTo(streaming, cursor.bytes, cursor.position, cursor.end);
    if (!found.sink.isDone) streaming.failure ??= tooShort();
    return streaming;
  }

  #deliver(parts: Partial<Message>, streaming: Streaming | undefined): void {
    const { id, method, params, result, error } = parts;
    this.#handler.message({ id, method, params, result, error }, streaming);
  }
}

/** What the sink can't use makes the whole update useless, but not the connection. */
function pushTo(streaming: Streaming, bytes: Buffer, position: number, end: number): number {
  try {
    return streaming.sink.push(bytes, position, end);
  } catch (error) {
    if (!(error instanceof OvsdbError)) throw error;
    streaming.failure = error;
    return position;
  }
}

const MEMBERS: readonly string[] = ['id', 'method', 'params', 'result', 'error'];

const isMember = (name: string): name is keyof Message => MEMBERS.includes(name);

const unexpected = (name: string): OvsdbError =>
  new OvsdbError('protocol', `a message has an unexpected member "${name}"`);

const tooShort = (): OvsdbError => new OvsdbError('syntax error', 'table updates end too early');
