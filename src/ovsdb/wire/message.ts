/** Messages of JSON-RPC as OVSDB has them, and the table updates in them, which go to a sink instead of becoming values. */
import type { OvsdbError } from '../data/error.ts';
import type { JsonValue } from '../data/value.ts';

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
   * Reads the bytes from `position` to `end`; returns where it stopped: behind the closing brace when `isDone`, otherwise behind the last row
   * that was complete. What follows is to be given again, with more. Throws `OvsdbError` when the updates are of no use.
   */
  push(bytes: Buffer, position: number, end: number): number;
  readonly isDone: boolean;
  /** Braces of the updates that are open where it stopped. */
  readonly depth: number;
}

/** Table updates of a message, which a sink has taken. */
export interface TakenUpdates {
  readonly head: UpdateHead;
  readonly sink: UpdateSink;
  /** Why they can't be used. */
  readonly failure: OvsdbError | undefined;
}

/** A message in whole: what is absent in the JSON is undefined. Updates that went to a sink while they arrived are not repeated here. */
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
  /** A whole message. */
  message(message: Message, updates: TakenUpdates | undefined): void;
}

export const isUpdate = (method: JsonValue | undefined): boolean =>
  method === 'update3' || method === 'update2' || method === 'update';
