/**
 * HalfSipHash-1-3: a hash of bytes under a key that nobody outside of the process knows, so that whoever chooses texts can't choose where they
 * fall. A secret start of a plain hash is not enough: differences in the highest bits of two words cancel out under every start.
 */

/** Two words. */
export type HashKey = readonly [number, number];

/** Another key for each pool. */
export function randomHashKey(): HashKey {
  const [first = 0, second = 0] = crypto.getRandomValues(new Uint32Array(2));
  return [first | 0, second | 0];
}

/** Hash of `bytes` from `start` to before `end`, a word without a sign. */
export function keyedHash(key: HashKey, bytes: Uint8Array, start: number, end: number): number {
  let v0 = key[0];
  let v1 = key[1];
  let v2 = key[0] ^ 0x6c796765;
  let v3 = key[1] ^ 0x74656462;
  let at = start;
  // The last word has what is left of the bytes, and their number: it ends the loop.
  for (let isLast = false; !isLast; at += 4) {
    let word: number;
    if (at + 4 <= end)
      word =
        (bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24);
    else {
      isLast = true;
      word = (end - start) << 24;
      if (at < end) word |= bytes[at] as number;
      if (at + 1 < end) word |= (bytes[at + 1] as number) << 8;
      if (at + 2 < end) word |= (bytes[at + 2] as number) << 16;
    }
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  v2 ^= 0xff;
  for (let round = 0; round < 3; round++) {
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
  }
  return (v1 ^ v3) >>> 0;
}

/** The bytes of arrays of words, made once for each. */
const views = new WeakMap<Uint32Array, Uint8Array>();

/** Hash of `length` words from `offset` on. */
export function keyedWordHash(
  key: HashKey,
  words: Uint32Array,
  offset: number,
  length: number,
): number {
  let bytes = views.get(words);
  if (bytes === undefined) {
    bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
    views.set(words, bytes);
  }
  return keyedHash(key, bytes, offset * 4, (offset + length) * 4);
}
