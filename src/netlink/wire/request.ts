/** What is asked of the kernel, as values: nothing here opens anything. */
import type { NetlinkMessage } from './message.ts';

/** Something to be done; the kernel acknowledges it. */
export interface Request {
  readonly type: number;
  /** Beside those that every request has. */
  readonly flags: number;
  readonly body: Uint8Array;
  /** In words, for errors: `add address 10.0.0.1/24 to device 7`. */
  readonly what: string;
}

/** Something to be shown: all objects of a kind, or those that the kernel chooses by what the request says. */
export interface Query<T> extends Request {
  /** Undefined for a message that is not of this kind. Throws MalformedMessage. */
  readonly read: (message: NetlinkMessage) => T | undefined;
  /** Number of the error by which the kernel says that there is nothing to show. */
  readonly none?: number;
}
