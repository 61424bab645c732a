/** DNS messages in a stream, each behind its length (RFC 1035 §4.2.2). */

export class DnsStream {
  readonly #onMessage: (message: Buffer) => void;
  #rest: Buffer = Buffer.alloc(0);

  constructor(onMessage: (message: Buffer) => void) {
    this.#onMessage = onMessage;
  }

  static framed(message: Buffer): Buffer {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(message.length);
    return Buffer.concat([length, message]);
  }

  /** Takes what came. It keeps one message that is not whole at most. */
  push(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    while (this.#rest.length >= 2) {
      const end = 2 + this.#rest.readUInt16BE(0);
      if (this.#rest.length < end) return;
      const message = this.#rest.subarray(2, end);
      this.#rest = this.#rest.subarray(end);
      this.#onMessage(message);
    }
  }
}
