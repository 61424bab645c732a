/** The wire between a virtual machine (lab/guest/agent.py), who holds it, and those who run commands in it. Pure. */

/** What a frame is; see agent.py. */
export type FrameKind = 'S' | 'A' | 'X' | 'I' | 'E' | 'W' | 'K' | 'O' | 'R' | 'C';

export interface Frame {
  readonly kind: FrameKind;
  /** Which command in the machine; 0 on a connection that has only one. */
  readonly session: number;
  readonly payload: Buffer;
}

const HEADER = 9;

export function encodeFrame(
  kind: FrameKind,
  payload: Buffer | string = '',
  session = 0,
): Buffer<ArrayBuffer> {
  const body = typeof payload === 'string' ? Buffer.from(payload) : payload;
  const header = Buffer.alloc(HEADER);
  header.write(kind, 0, 'latin1');
  header.writeUInt32BE(session, 1);
  header.writeUInt32BE(body.length, 5);
  return Buffer.concat([header, body]);
}

/** Cuts a byte stream into frames. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  push(bytes: Buffer): Frame[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const frames: Frame[] = [];
    while (this.#rest.length >= HEADER) {
      const end = HEADER + this.#rest.readUInt32BE(5);
      if (this.#rest.length < end) break;
      const kind = this.#rest.toString('latin1', 0, 1) as FrameKind;
      const payload = this.#rest.subarray(HEADER, end);
      frames.push({ kind, session: this.#rest.readUInt32BE(1), payload });
      this.#rest = this.#rest.subarray(end);
    }
    return frames;
  }
}
