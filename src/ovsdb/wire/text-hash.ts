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
