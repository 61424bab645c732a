import { PendingBytes } from './pending-bytes.ts';

/** Bytes of messages that are put off at most: as much as is read without making anybody wait. */
const MOST_BYTES = 128 * 1024;

/** Complete messages that are read later, in the order in which they came. */
export class PutOffMessages {
  readonly #bytes = new PendingBytes();
  #lengths: number[] = [];

  get isEmpty(): boolean {
    return this.#lengths.length === 0;
  }

  /** Copies a message. False, with nothing done, when there is no room for it. */
  add(message: Buffer): boolean {
    if (this.#bytes.length + message.length > MOST_BYTES) return false;
    this.#bytes.append(message);
    this.#lengths.push(message.length);
    return true;
  }

  /** All of them, which are then put off no more. Good until others are taken. */
  take(): readonly Buffer[] {
    const bytes = this.#bytes.take();
    let end = 0;
    const messages = this.#lengths.map((length) => bytes.subarray(end, (end += length)));
    this.#lengths = [];
    return messages;
  }

  clear(): void {
    this.#bytes.clear();
    this.#lengths = [];
  }
}
