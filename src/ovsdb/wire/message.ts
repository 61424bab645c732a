/** Messages of JSON-RPC as OVSDB has them, and the table updates in them, which go to a sink instead of becoming values. */
import { OvsdbError } from '../data/error.ts';
import type { JsonObject, JsonValue } from '../data/value.ts';
import { atOnce, ENDLESS, type Turn, type Work } from '../turn.ts';
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
import type { TextsElsewhere } from './text-elsewhere.ts';

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
   * What follows is to be given again, with more. `texts`: strings of theirs that are kept elsewhere; whoever gives them asks for `takeWork`
   * afterwards.
   */
  push(bytes: Buffer, position: number, end: number, texts?: TextsElsewhere): number;
  /** Work that is to be done before more is given; undefined when there is none. May throw as `push`. */
  takeWork?(turn: Turn): Work | undefined;
  readonly isDone: boolean;
  /** Braces of the updates that are open where it stopped. */
  readonly depth: number;
  /** Brackets of the updates that are open there. */
  readonly brackets: number;
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

/** Members of a message as they are found, one after the other. */
export type MessageParts = { -readonly [K in keyof Message]?: Message[K] };

/** First letters of `false` and `true`. */
const LETTER_F = 0x66;
const LETTER_T = 0x74;

/** Why a large message is not read by a sink: it has no updates, its beginning does not tell yet, or whose they are comes behind them. */
export type NoUpdates = 'none' | 'cut off' | 'whose';

/** Table updates, and the sink that takes them. */
export interface FoundUpdates {
  readonly head: UpdateHead;
  readonly sink: UpdateSink;
  /** Whether the updates are the last member of an array. */
  readonly inArray: boolean;
}

/** The sink of the message that is arriving, and what belongs to it. */
export interface Streaming extends FoundUpdates {
  readonly before: Partial<Message>;
  failure: OvsdbError | undefined;
  /** `waiting`: for the end of a row that is larger than what arrives at once. */
  phase: 'reading' | 'waiting' | 'done' | 'failed';
}

/** What the sink can't use makes the whole update useless, but not the connection. */
export function pushTo(
  streaming: Streaming,
  bytes: Buffer,
  position: number,
  end: number,
  texts?: TextsElsewhere,
): number {
  try {
    return streaming.sink.push(bytes, position, end, texts);
  } catch (error) {
    streaming.failure = asFailure(error);
    return position;
  }
}

/** As `pushTo`, with all the work that the sink has to do. */
export function pushAtOnce(
  streaming: Streaming,
  bytes: Buffer,
  position: number,
  end: number,
  texts: TextsElsewhere | undefined,
): number {
  let stopped = pushTo(streaming, bytes, position, end, texts);
  for (;;) {
    const work = sinkWork(streaming, ENDLESS);
    if (work === undefined) return stopped;
    atOnce(work);
    if (streaming.failure === undefined) stopped = pushTo(streaming, bytes, stopped, end, texts);
  }
}

/** What the sink has to do before it takes more; undefined when there is nothing. */
export function sinkWork(streaming: Streaming, turn: Turn): Work | undefined {
  const work = streaming.failure === undefined ? streaming.sink.takeWork?.(turn) : undefined;
  return work === undefined ? undefined : guarded(streaming, work);
}

function* guarded(streaming: Streaming, work: Work): Work {
  try {
    yield* work;
  } catch (error) {
    streaming.failure = asFailure(error);
  }
}

function asFailure(error: unknown): OvsdbError {
  if (error instanceof OvsdbError) return error;
  throw error;
}

/** Steps to the table updates in `params` or `result`; the cursor then stands before their brace. */
export function updatesIn(
  handler: MessageHandler,
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
  const sink = isParams ? handler.sinkForUpdate(head) : handler.sinkForReply(head);
  if (sink === undefined) return isParams || id !== undefined ? 'none' : 'whose';
  return { head, sink, inArray };
}

/** Tells the handler of a whole message. */
export function deliver(
  handler: MessageHandler,
  parts: Partial<Message>,
  streaming: Streaming | undefined,
): void {
  const { id, method, params, result, error } = parts;
  handler.message(
    { id, method, params, result, error },
    streaming?.sink,
    streaming?.head,
    streaming?.failure,
  );
}

/** The members of a message that was read as a plain value. */
export function partsOf(message: JsonValue): Partial<Message> {
  const parts: MessageParts = {};
  for (const [name, value] of Object.entries(message as JsonObject)) {
    if (!isMember(name)) throw unexpected(name);
    parts[name] = value;
  }
  return parts;
}

export const isUpdate = (method: JsonValue | undefined): boolean =>
  method === 'update3' || method === 'update2' || method === 'update';

const MEMBERS: readonly string[] = ['id', 'method', 'params', 'result', 'error'];

export const isMember = (name: string): name is keyof Message => MEMBERS.includes(name);

export const unexpected = (name: string): OvsdbError =>
  new OvsdbError('protocol', `a message has an unexpected member "${name}"`);

export const tooShort = (): OvsdbError =>
  new OvsdbError('syntax error', 'table updates end too early');

/** Members of a message behind its table updates. */
export function tail(
  bytes: Buffer,
  position: number,
  inArray: boolean,
  texts?: TextsElsewhere,
): Partial<Message> {
  const cursor = new JsonCursor(bytes, position);
  cursor.texts = texts;
  const parts: MessageParts = {};
  if (inArray) cursor.expect(CLOSE_BRACKET);
  while (cursor.take(COMMA)) {
    cursor.string();
    const name = cursor.lastText;
    if (!isMember(name)) throw unexpected(name);
    cursor.expect(COLON);
    const value = cursor.value();
    if (name === 'id' || name === 'method' || name === 'error') parts[name] = value;
  }
  cursor.expect(CLOSE_BRACE);
  return parts;
}
