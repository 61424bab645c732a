import { expect, test } from 'vitest';
import { keyedHash, randomHashKey } from '../../../src/ovsdb/storage/keyed-hash.ts';
import { WordPool } from '../../../src/ovsdb/storage/word-pool.ts';

const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => i);

/**
 * Texts of UTF-8 whose words differ where a product of 32 bits keeps a difference as it is: bit 31 of one word, and the bit of the next one
 * to which that is turned. In a hash that multiplies and turns they are one text under every start.
 */
function* lookAlikes(pairs: number): Generator<Uint8Array> {
  for (let choice = 0; choice < 1 << pairs; choice++) {
    const text = new Uint8Array(8 * pairs).fill(0x61);
    for (let pair = 0; pair < pairs; pair++) {
      if ((choice & (1 << pair)) === 0) continue;
      text[8 * pair + 3] = 0xe1;
      text[8 * pair + 5] = 0x71;
    }
    yield text;
  }
}

test('texts that somebody chose to fall together do not, under any key', () => {
  for (let run = 0; run < 4; run++) {
    const key = randomHashKey();
    const places = new Set<number>();
    for (const text of lookAlikes(12)) places.add(keyedHash(key, text, 0, text.length));
    // 4,096 texts on 2^32 places: more than a few in one place would be no chance.
    expect(places.size).toBeGreaterThan(4090);
  }
});

test('every byte, the length and the key count, and bytes around the text do not', () => {
  const key = [0x03020100, 0x07060504] as const;
  const text = bytes(40);
  const seen = new Set<number>();
  for (let end = 0; end <= 40; end++) seen.add(keyedHash(key, text, 0, end));
  for (let at = 0; at < 40; at++) {
    const other = text.slice();
    other[at] = 0xff;
    seen.add(keyedHash(key, other, 0, 40));
  }
  seen.add(keyedHash([0x03020100, 0x07060505], text, 0, 40));
  expect(seen.size).toBe(41 + 40 + 1);
  for (let length = 0; length < 10; length++)
    expect(keyedHash(key, text, 7, 7 + length)).toBe(
      keyedHash(key, text.slice(7, 7 + length), 0, length),
    );
  expect(randomHashKey()).not.toEqual(randomHashKey());
});

test('sequences of words that somebody chose to fall together do not', () => {
  class Seen extends WordPool {
    placeOf(id: number): number {
      return this.hashOf(id);
    }
  }
  const pool = new Seen();
  const places = new Set<number>();
  for (let choice = 0; choice < 1 << 12; choice++) {
    // As above: bit 31 of one word, and the bit of the next one to which a turn by 13 takes it.
    const words = Uint32Array.from({ length: 24 }, (_, i) =>
      (choice & (1 << (i >> 1))) === 0 ? 0 : i % 2 === 0 ? 0x8000_0000 : 1 << 12,
    );
    places.add(pool.placeOf(pool.internWords(words, 24)));
  }
  expect(places.size).toBeGreaterThan(4090);
});
