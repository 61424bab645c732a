/** The wire between us and the command server in a virtual machine (lab/guest/agent.py). Pure. */

/** What a frame is; see agent.py. */
export type FrameKind = 'H' | 'X' | 'I' | 'E' | 'W' | 'O' | 'R' | 'C';

export interface Frame {
  readonly kind: FrameKind;
  readonly payload: Buffer;
}

const HEADER = 5;

export function encodeFrame(kind: FrameKind, payload: Buffer | string = ''): Buffer {
  const body = typeof payload === 'string' ? Buffer.from(payload) : payload;
  const header = Buffer.alloc(HEADER);
  header.write(kind, 0, 'latin1');
  header.writeUInt32BE(body.length, 1);
  return Buffer.concat([header, body]);
}

/** Cuts a byte stream into frames; what is before the greeting with our nonce is left over from someone else's session. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);
  #greeting: Buffer | undefined;

  constructor(nonce: string) {
    this.#greeting = encodeFrame('H', nonce);
  }

  /** Whether the greeting has come back. */
  get greeted(): boolean {
    return this.#greeting === undefined;
  }

  push(bytes: Buffer): Frame[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    if (this.#greeting !== undefined) {
      const at = this.#rest.indexOf(this.#greeting);
      if (at < 0) {
        this.#rest = this.#rest.subarray(Math.max(0, this.#rest.length - this.#greeting.length));
        return [];
      }
      this.#rest = this.#rest.subarray(at + this.#greeting.length);
      this.#greeting = undefined;
    }
    const frames: Frame[] = [];
    while (this.#rest.length >= HEADER) {
      const length = this.#rest.readUInt32BE(1);
      if (this.#rest.length < HEADER + length) break;
      const kind = this.#rest.toString('latin1', 0, 1) as FrameKind;
      frames.push({ kind, payload: this.#rest.subarray(HEADER, HEADER + length) });
      this.#rest = this.#rest.subarray(HEADER + length);
    }
    return frames;
  }
}
