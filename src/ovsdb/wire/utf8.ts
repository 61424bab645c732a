/** UTF-8 as ovsdb-server checks it. */
import { OvsdbError } from '../data/error.ts';

/** Writes a code point; returns the position behind it. There must be room for four bytes. */
export function writeUtf8(out: Buffer, at: number, code: number): number {
  let to = at;
  if (code < 0x80) out[to++] = code;
  else if (code < 0x800) {
    out[to++] = 0xc0 | (code >> 6);
    out[to++] = 0x80 | (code & 0x3f);
  } else if (code < 0x10000) {
    out[to++] = 0xe0 | (code >> 12);
    out[to++] = 0x80 | ((code >> 6) & 0x3f);
    out[to++] = 0x80 | (code & 0x3f);
  } else {
    out[to++] = 0xf0 | (code >> 18);
    out[to++] = 0x80 | ((code >> 12) & 0x3f);
    out[to++] = 0x80 | ((code >> 6) & 0x3f);
    out[to++] = 0x80 | (code & 0x3f);
  }
  return to;
}

/** Bytes that follow this one in a sequence; 0 when none begins with it. */
const following = (byte: number): number =>
  byte >= 0xc2 && byte < 0xe0
    ? 1
    : byte >= 0xe0 && byte < 0xf0
      ? 2
      : byte >= 0xf0 && byte < 0xf5
        ? 3
        : 0;

/** Whether a byte may follow `first` in its sequence, right behind it or later. */
function mayFollow(first: number, byte: number, isSecond: boolean): boolean {
  const low = isSecond && first === 0xe0 ? 0xa0 : isSecond && first === 0xf0 ? 0x90 : 0x80;
  const high = isSecond && first === 0xed ? 0x9f : isSecond && first === 0xf4 ? 0x8f : 0xbf;
  return byte >= low && byte <= high;
}

/**
 * The first sequence that is not valid UTF-8 (overlong forms and surrogates included), as ovsdb-server writes it: its bytes up to the first
 * that is wrong, where 0 stands for the end of the string. Undefined when all of it is valid.
 */
function invalidUtf8(bytes: Uint8Array, start: number, end: number): string | undefined {
  let at = start;
  while (at < end) {
    const byte = bytes[at] as number;
    if (byte < 0x80) {
      at++;
      continue;
    }
    const more = following(byte);
    if (more === 0 || at + more >= end) return sequenceAt(bytes, at, end);
    for (let i = 1; i <= more; i++) {
      if (!mayFollow(byte, bytes[at + i] as number, i === 1)) return sequenceAt(bytes, at, end);
    }
    at += more + 1;
  }
  return undefined;
}

/** What is wrong with a string that is not valid UTF-8; undefined when it is. */
export function invalidUtf8Error(
  bytes: Uint8Array,
  start: number,
  end: number,
): OvsdbError | undefined {
  const sequence = invalidUtf8(bytes, start, end);
  if (sequence === undefined) return undefined;
  return new OvsdbError(
    'constraint violation',
    `not a valid UTF-8 string: invalid UTF-8 sequence ${sequence}`,
  );
}

function sequenceAt(bytes: Uint8Array, at: number, end: number): string {
  const first = bytes[at] as number;
  const sequence = [first];
  for (let i = 1; i <= following(first); i++) {
    const byte = at + i < end ? (bytes[at + i] as number) : 0;
    sequence.push(byte);
    if (!mayFollow(first, byte, i === 1)) break;
  }
  return sequence.map((byte) => `0x${byte.toString(16).padStart(2, '0')}`).join(' ');
}
