import { type Code, constant, get, jump, jumpIf, block, loop, memory, set, when } from '../wasm.ts';

const SEED = 0x811c9dc5;
const FACTOR = 0x85ebca6b;
const LAST_FACTOR = 0xc2b2ae35;

/** Hash of bytes, a word without a sign. Four at a time, the last ones filled up with zeros: one multiplication each. */
export const textHash = (bytes: Uint8Array, start: number, end: number): number =>
  endTextHash(beginTextHash(end - start), bytes, start, end);

/** The same in pieces: first this, of the number of bytes in all. */
export const beginTextHash = (length: number): number => SEED ^ length;

/** Then the bytes; of each piece but the last one a multiple of four. */
export function goOnTextHash(from: number, bytes: Uint8Array, start: number, end: number): number {
  let hash = from;
  for (let at = start; at + 4 <= end; at += 4) {
    const word =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    hash = Math.imul(hash ^ word, FACTOR);
    hash = (hash << 13) | (hash >>> 19);
  }
  return hash;
}

/** The last piece, which gives the hash. */
export function endTextHash(from: number, bytes: Uint8Array, start: number, end: number): number {
  let hash = goOnTextHash(from, bytes, start, end);
  const at = end - ((end - start) & 3);
  if (at < end) {
    let word = bytes[at] as number;
    if (at + 1 < end) word |= (bytes[at + 1] as number) << 8;
    if (at + 2 < end) word |= (bytes[at + 2] as number) << 16;
    hash = Math.imul(hash ^ word, FACTOR);
    hash = (hash << 13) | (hash >>> 19);
  }
  hash = Math.imul(hash ^ (hash >>> 16), LAST_FACTOR);
  return (hash ^ (hash >>> 13)) >>> 0;
}

const ADD = 0x6a;
const SUBTRACT = 0x6b;
const MULTIPLY = 0x6c;
const AND = 0x71;
const XOR = 0x73;
const SHIFT_LEFT = 0x74;
const SHIFT_RIGHT = 0x76;
const ROTATE_LEFT = 0x77;
const GREATER = 0x4b;
const LOAD = 0x28;

/** The same in WebAssembly, from and to addresses in locals; three more locals are used. Three bytes behind the text must be readable. */
export function textHashCode(
  start: number,
  end: number,
  { hash, at, word }: { readonly hash: number; readonly at: number; readonly word: number },
): Code {
  const mixIn = [
    get(word),
    get(hash),
    XOR,
    constant(FACTOR),
    MULTIPLY,
    constant(13),
    ROTATE_LEFT,
    set(hash),
  ];
  const load = [get(at), LOAD, memory(0), set(word)];
  return [
    [get(end), get(start), SUBTRACT, constant(SEED), XOR, set(hash)],
    [get(start), set(at)],
    block('whole words', [
      loop('word', [
        [get(at), constant(4), ADD, get(end), GREATER],
        jumpIf('whole words'),
        load,
        mixIn,
        [get(at), constant(4), ADD, set(at)],
        jump('word'),
      ]),
    ]),
    [get(end), get(at), GREATER],
    when('rest', [
      load,
      // As many bytes as are left.
      [constant(1), get(end), get(at), SUBTRACT, constant(3), SHIFT_LEFT],
      [SHIFT_LEFT, constant(1), SUBTRACT, get(word), AND, set(word)],
      mixIn,
    ]),
    [get(hash), get(hash), constant(16), SHIFT_RIGHT, XOR],
    [constant(LAST_FACTOR), MULTIPLY, set(hash)],
    [get(hash), get(hash), constant(13), SHIFT_RIGHT, XOR, set(hash)],
  ];
}
