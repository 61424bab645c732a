import { LANE_BLOCKS, sha1Lanes, type Lanes } from './sha1-lanes.ts';
import type { Uuid } from '../data/value.ts';

const LANES = 4;

/** The state of SHA-1 before the first block. */
const INITIAL: readonly [number, number, number, number, number] = [
  0x67452301,
  0xefcdab89 | 0,
  0x98badcfe | 0,
  0x10325476,
  0xc3d2e1f0 | 0,
];

/** The beginning of names that is in the lanes. */
let beginning: Uint32Array | undefined;

/** Makes a UUID of what a lane's state has become. */
function readLane(state: Uint32Array, lane: number, words: Uint32Array, at: number): void {
  words[at] = state[lane] as number;
  words[at + 1] = ((state[LANES + lane] as number) & 0xffff0fff) | 0x5000;
  words[at + 2] = ((state[2 * LANES + lane] as number) & 0x3fffffff) | 0x80000000;
  words[at + 3] = state[3 * LANES + lane] as number;
}

/**
 * Deterministic UUIDs (RFC 9562 version 5) of many names with one beginning, as four words each: nothing is allocated.
 * The hash is SHA-1 (RFC 3174) with its eighty steps on words.
 */
export class NameHash {
  /** The UUID made last. */
  readonly words = new Uint32Array(4);
  /** What is hashed: the namespace, the beginning of the names, the rest of the name, padding. */
  #bytes: Uint8Array;
  readonly #start: number;
  /** The whole words of the beginning, and the bytes after them as one number. */
  readonly #head: Uint32Array;
  readonly #rest: number;
  readonly #schedule = new Int32Array(80);

  constructor(namespace: Uuid, beginning: string) {
    const head = Buffer.concat([
      Buffer.from(namespace.replaceAll('-', ''), 'hex'),
      Buffer.from(beginning),
    ]);
    this.#start = head.length;
    this.#bytes = new Uint8Array(roomFor(head.length + 256));
    this.#bytes.set(head);
    this.#head = Uint32Array.from({ length: head.length >> 2 }, (_, i) => head.readUInt32BE(i * 4));
    this.#rest = head.subarray(head.length & ~3).reduce((word, byte) => (word << 8) | byte, 0);
  }

  /** Makes the UUID of the beginning followed by this text. */
  make(rest: string): Uint32Array {
    const end = this.#write(rest);
    this.#digest(end);
    return this.words;
  }

  /** Makes the UUIDs of the first `count` of these texts, four words each, into `words`. Faster than one by one. */
  makeAll(rests: readonly string[], count: number, words: Uint32Array): void {
    const lanes = sha1Lanes();
    const blocks = [0, 0, 0, 0];
    for (let first = 0; first < count; first += LANES) {
      const used = Math.min(LANES, count - first);
      this.#begin(lanes);
      let most = 0;
      for (let lane = 0; lane < used; lane++) {
        const size = this.#writeLane(lanes.messages, lane, rests[first + lane] as string);
        blocks[lane] = size;
        most = Math.max(most, size);
      }
      for (let block = 0; block < most; block++) {
        lanes.compress(block);
        for (let lane = 0; lane < used; lane++) {
          if (blocks[lane] === block + 1) readLane(lanes.state, lane, words, (first + lane) * 4);
        }
      }
      for (let lane = 0; lane < used; lane++) {
        if (blocks[lane] !== 0) continue;
        const made = this.make(rests[first + lane] as string);
        for (let i = 0; i < 4; i++) words[(first + lane) * 4 + i] = made[i] as number;
      }
    }
  }

  /** Four fresh states, and the beginning of the names in front of each message. */
  #begin({ state, messages }: Lanes): void {
    for (let i = 0; i < state.length; i++) state[i] = INITIAL[i >> 2] as number;
    const head = this.#head;
    if (beginning === head) return;
    beginning = head;
    for (let i = 0; i < head.length * LANES; i++) messages[i] = head[i >> 2] as number;
  }

  /** Writes a message into a lane; returns its number of blocks, 0 if it is not ASCII or too long for a lane. */
  #writeLane(messages: Uint32Array, lane: number, rest: string): number {
    const end = this.#start + rest.length;
    const size = roomFor(end);
    if (size > LANE_BLOCKS * 64) return 0;
    let at = (this.#start >> 2) * LANES + lane;
    let filled = this.#start & 3;
    let word = this.#rest;
    for (let i = 0; i < rest.length; i++) {
      const unit = rest.charCodeAt(i);
      if (unit >= 0x80) return 0;
      word = (word << 8) | unit;
      if (++filled === 4) {
        messages[at] = word;
        at += LANES;
        filled = 0;
      }
    }
    messages[at] = ((word << 8) | 0x80) << ((3 - filled) * 8);
    const last = (size >> 2) * LANES - LANES + lane;
    for (at += LANES; at < last; at += LANES) messages[at] = 0;
    messages[last] = end * 8;
    return size >> 6;
  }

  /** Puts the text behind the beginning; returns where it ends. */
  #write(rest: string): number {
    const most = this.#start + rest.length * 3;
    if (roomFor(most) > this.#bytes.length) {
      const larger = new Uint8Array(roomFor(most));
      larger.set(this.#bytes.subarray(0, this.#start));
      this.#bytes = larger;
    }
    const bytes = this.#bytes;
    let at = this.#start;
    for (let i = 0; i < rest.length; i++) {
      const unit = rest.charCodeAt(i);
      if (unit >= 0x80) {
        return this.#start + encoder.encodeInto(rest, bytes.subarray(this.#start)).written;
      }
      bytes[at++] = unit;
    }
    return at;
  }

  #digest(end: number): void {
    const bytes = this.#bytes;
    const size = roomFor(end);
    bytes[end] = 0x80;
    bytes.fill(0, end + 1, size);
    // The length in bits; names of 512 MB and more do not occur in a database.
    const bits = end * 8;
    bytes[size - 4] = bits >>> 24;
    bytes[size - 3] = bits >>> 16;
    bytes[size - 2] = bits >>> 8;
    bytes[size - 1] = bits;
    let [h0, h1, h2, h3, h4] = INITIAL;
    const w = this.#schedule;
    for (let block = 0; block < size; block += 64) {
      for (let i = 0, at = block; i < 16; i++, at += 4) {
        w[i] =
          ((bytes[at] as number) << 24) |
          ((bytes[at + 1] as number) << 16) |
          ((bytes[at + 2] as number) << 8) |
          (bytes[at + 3] as number);
      }
      for (let i = 16; i < 80; i++) {
        const x =
          (w[i - 3] as number) ^
          (w[i - 8] as number) ^
          (w[i - 14] as number) ^
          (w[i - 16] as number);
        w[i] = (x << 1) | (x >>> 31);
      }
      let a = h0;
      let b = h1;
      let c = h2;
      let d = h3;
      let e = h4;
      // Five steps at a time: every variable is back in its place after them.
      let i = 0;
      for (; i < 20; i += 5) {
        e =
          (((((a << 5) | (a >>> 27)) + (d ^ (b & (c ^ d)))) | 0) +
            ((((e + 0x5a827999) | 0) + (w[i] as number)) | 0)) |
          0;
        b = (b << 30) | (b >>> 2);
        d =
          (((((e << 5) | (e >>> 27)) + (c ^ (a & (b ^ c)))) | 0) +
            ((((d + 0x5a827999) | 0) + (w[i + 1] as number)) | 0)) |
          0;
        a = (a << 30) | (a >>> 2);
        c =
          (((((d << 5) | (d >>> 27)) + (b ^ (e & (a ^ b)))) | 0) +
            ((((c + 0x5a827999) | 0) + (w[i + 2] as number)) | 0)) |
          0;
        e = (e << 30) | (e >>> 2);
        b =
          (((((c << 5) | (c >>> 27)) + (a ^ (d & (e ^ a)))) | 0) +
            ((((b + 0x5a827999) | 0) + (w[i + 3] as number)) | 0)) |
          0;
        d = (d << 30) | (d >>> 2);
        a =
          (((((b << 5) | (b >>> 27)) + (e ^ (c & (d ^ e)))) | 0) +
            ((((a + 0x5a827999) | 0) + (w[i + 4] as number)) | 0)) |
          0;
        c = (c << 30) | (c >>> 2);
      }
      for (; i < 40; i += 5) {
        e =
          (((((a << 5) | (a >>> 27)) + (b ^ c ^ d)) | 0) +
            ((((e + 0x6ed9eba1) | 0) + (w[i] as number)) | 0)) |
          0;
        b = (b << 30) | (b >>> 2);
        d =
          (((((e << 5) | (e >>> 27)) + (a ^ b ^ c)) | 0) +
            ((((d + 0x6ed9eba1) | 0) + (w[i + 1] as number)) | 0)) |
          0;
        a = (a << 30) | (a >>> 2);
        c =
          (((((d << 5) | (d >>> 27)) + (e ^ a ^ b)) | 0) +
            ((((c + 0x6ed9eba1) | 0) + (w[i + 2] as number)) | 0)) |
          0;
        e = (e << 30) | (e >>> 2);
        b =
          (((((c << 5) | (c >>> 27)) + (d ^ e ^ a)) | 0) +
            ((((b + 0x6ed9eba1) | 0) + (w[i + 3] as number)) | 0)) |
          0;
        d = (d << 30) | (d >>> 2);
        a =
          (((((b << 5) | (b >>> 27)) + (c ^ d ^ e)) | 0) +
            ((((a + 0x6ed9eba1) | 0) + (w[i + 4] as number)) | 0)) |
          0;
        c = (c << 30) | (c >>> 2);
      }
      for (; i < 60; i += 5) {
        e =
          (((((a << 5) | (a >>> 27)) + ((b & c) | (d & (b | c)))) | 0) +
            ((((e - 0x70e44324) | 0) + (w[i] as number)) | 0)) |
          0;
        b = (b << 30) | (b >>> 2);
        d =
          (((((e << 5) | (e >>> 27)) + ((a & b) | (c & (a | b)))) | 0) +
            ((((d - 0x70e44324) | 0) + (w[i + 1] as number)) | 0)) |
          0;
        a = (a << 30) | (a >>> 2);
        c =
          (((((d << 5) | (d >>> 27)) + ((e & a) | (b & (e | a)))) | 0) +
            ((((c - 0x70e44324) | 0) + (w[i + 2] as number)) | 0)) |
          0;
        e = (e << 30) | (e >>> 2);
        b =
          (((((c << 5) | (c >>> 27)) + ((d & e) | (a & (d | e)))) | 0) +
            ((((b - 0x70e44324) | 0) + (w[i + 3] as number)) | 0)) |
          0;
        d = (d << 30) | (d >>> 2);
        a =
          (((((b << 5) | (b >>> 27)) + ((c & d) | (e & (c | d)))) | 0) +
            ((((a - 0x70e44324) | 0) + (w[i + 4] as number)) | 0)) |
          0;
        c = (c << 30) | (c >>> 2);
      }
      for (; i < 80; i += 5) {
        e =
          (((((a << 5) | (a >>> 27)) + (b ^ c ^ d)) | 0) +
            ((((e - 0x359d3e2a) | 0) + (w[i] as number)) | 0)) |
          0;
        b = (b << 30) | (b >>> 2);
        d =
          (((((e << 5) | (e >>> 27)) + (a ^ b ^ c)) | 0) +
            ((((d - 0x359d3e2a) | 0) + (w[i + 1] as number)) | 0)) |
          0;
        a = (a << 30) | (a >>> 2);
        c =
          (((((d << 5) | (d >>> 27)) + (e ^ a ^ b)) | 0) +
            ((((c - 0x359d3e2a) | 0) + (w[i + 2] as number)) | 0)) |
          0;
        e = (e << 30) | (e >>> 2);
        b =
          (((((c << 5) | (c >>> 27)) + (d ^ e ^ a)) | 0) +
            ((((b - 0x359d3e2a) | 0) + (w[i + 3] as number)) | 0)) |
          0;
        d = (d << 30) | (d >>> 2);
        a =
          (((((b << 5) | (b >>> 27)) + (c ^ d ^ e)) | 0) +
            ((((a - 0x359d3e2a) | 0) + (w[i + 4] as number)) | 0)) |
          0;
        c = (c << 30) | (c >>> 2);
      }
      h0 = (h0 + a) | 0;
      h1 = (h1 + b) | 0;
      h2 = (h2 + c) | 0;
      h3 = (h3 + d) | 0;
      h4 = (h4 + e) | 0;
    }
    const words = this.words;
    words[0] = h0;
    words[1] = (h1 & 0xffff0fff) | 0x5000;
    words[2] = (h2 & 0x3fffffff) | 0x80000000;
    words[3] = h3;
  }
}

const encoder = new TextEncoder();

/** Whole blocks of 64 bytes that hold so many, a mark and the length. */
const roomFor = (length: number): number => ((length + 9 + 63) >> 6) << 6;
