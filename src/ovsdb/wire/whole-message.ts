/** Messages that have arrived completely, read in one go. */
import { OvsdbError } from '../data/error.ts';
import type { JsonValue } from '../data/value.ts';
import {
  CLOSE_BRACE,
  COLON,
  COMMA,
  JsonCursor,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-cursor.ts';
import {
  deliver,
  isUpdate,
  pushAtOnce,
  tail,
  tooShort,
  unexpected,
  updatesIn,
  type FoundUpdates,
  type Message,
  type MessageHandler,
  type MessageParts,
  type Streaming,
} from './message.ts';
import type { TextsElsewhere } from './text-elsewhere.ts';

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

/** Reads complete messages and tells a handler of them. */
export class WholeMessageReader {
  readonly #handler: MessageHandler;
  /** One message is read at a time. */
  readonly #cursor = new JsonCursor();
  /** Where the updates ended that a sink has taken last. */
  #updatesEnd = 0;
  /** Strings of the message that are kept elsewhere. */
  #texts: TextsElsewhere | undefined;

  constructor(handler: MessageHandler) {
    this.#handler = handler;
  }

  /** Throws `protocol` or `syntax error` for what is no message. `texts`: strings of it that are kept elsewhere. */
  read(bytes: Buffer, texts?: TextsElsewhere): void {
    this.#texts = texts;
    if (!this.#inOrder(bytes)) this.#anyOrder(bytes);
  }

  /**
   * A complete message in the order in which servers write it, read in one go: `id` and `method` before what belongs to them. False, with
   * nothing done, when it is in another.
   */
  #inOrder(bytes: Buffer): boolean {
    const cursor = this.#cursor;
    cursor.reset(bytes);
    cursor.texts = this.#texts;
    const parts: MessageParts = {};
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
                ? tail(bytes, this.#updatesEnd, streaming.inArray, this.#texts)
                : {};
            deliver(this.#handler, { ...parts, ...after }, streaming);
            return true;
          }
        }
        parts[name] = cursor.value();
      }
    } while (cursor.take(COMMA));
    cursor.expect(CLOSE_BRACE);
    deliver(this.#handler, parts, undefined);
    return true;
  }

  /** A complete message in any order: its members are found first, then updates go to their sink. */
  #anyOrder(bytes: Buffer): void {
    const cursor = this.#cursorAt(bytes, 0, bytes.length);
    const parts: MessageParts = {};
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
        else throw unexpected(name);
      }
    });
    for (const [name, [from, to]] of ranges) {
      const isParams = name === 'params';
      if (!isParams || isUpdate(parts.method)) {
        const streaming = this.#updatesFrom(bytes, from, to, isParams, parts);
        if (streaming !== undefined) {
          deliver(this.#handler, parts, streaming);
          return;
        }
      }
      const value = this.#cursorAt(bytes, from, to).value();
      if (isParams) parts.params = value;
      else parts.result = value;
    }
    deliver(this.#handler, parts, undefined);
  }

  #cursorAt(bytes: Buffer, from: number, to: number): JsonCursor {
    const cursor = new JsonCursor(bytes, from, to);
    cursor.texts = this.#texts;
    return cursor;
  }

  #updatesFrom(
    bytes: Buffer,
    from: number,
    to: number,
    isParams: boolean,
    before: Partial<Message>,
  ): Streaming | undefined {
    const cursor = this.#cursorAt(bytes, from, to);
    let found: FoundUpdates | 'none' | 'whose' = 'none';
    try {
      found = updatesIn(this.#handler, cursor, isParams, before.id);
    } catch (error) {
      // An array that is not one of updates: read as a plain value.
      if (!(error instanceof OvsdbError)) throw error;
    }
    if (found === 'none' || found === 'whose') return undefined;
    const { head, sink, inArray } = found;
    const streaming: Streaming = { head, sink, inArray, before, failure: undefined, phase: 'done' };
    this.#updatesEnd = pushAtOnce(streaming, bytes, cursor.position, to, this.#texts);
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

/** True for what can't hold table updates: an array that begins with an object. */
const isTransactionResult = (bytes: Buffer, at: number): boolean =>
  bytes[at] === OPEN_BRACKET && bytes[at + 1] === OPEN_BRACE;
