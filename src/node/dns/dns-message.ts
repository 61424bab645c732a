/**
 * What a DNS message says of the name that was asked for (RFC 1035 §4, RFC 9460 §2.2). Only question and answers are read: what else a message has is
 * the resolver's, and passes unread.
 */
import { formatAddress, type Family } from '../../allocators/addresses.ts';
import type { Answer } from './held-answers.ts';

export interface Question {
  /** In lower case, without the dot at its end; a byte that is no letter of a host's name is `\ddd`. */
  readonly name: string;
  readonly type: number;
}

export const HEADER = 12;
export const FLAG_RESPONSE = 0x8000;
const TYPE_A = 1;
const TYPE_CNAME = 5;
const TYPE_AAAA = 28;
const TYPE_SVCB = 64;
const TYPE_HTTPS = 65;
export const CLASS_IN = 1;
const SERVFAIL = 2;
/** Keys of parameters of SVCB and HTTPS with addresses (RFC 9460 §14.3.2), each with the bytes of one. */
const HINTS: ReadonlyMap<number, number> = new Map([
  [4, 4],
  [6, 16],
]);
const LONGEST_NAME = 255;

/** A message that ends too early, or whose names go in circles. */
class MalformedError extends Error {}

export class Reader {
  readonly #bytes: Buffer;
  at = HEADER;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  take(count: number): Buffer {
    if (this.at + count > this.#bytes.length) throw new MalformedError('it ends too early');
    this.at += count;
    return this.#bytes.subarray(this.at - count, this.at);
  }

  number(bytes: 1 | 2 | 4): number {
    return this.take(bytes).readUIntBE(0, bytes);
  }

  /** A name, where it stands or at what it points to: always further ahead in the message than the pointer. */
  name(): string {
    const labels: string[] = [];
    let length = 0;
    let behind: number | undefined;
    let before = this.at;
    for (;;) {
      const size = this.number(1);
      if (size === 0) break;
      if (size >= 0xc0) {
        const to = ((size & 0x3f) << 8) | this.number(1);
        behind ??= this.at;
        if (to >= before) throw new MalformedError('a name points ahead');
        before = to;
        this.at = to;
        continue;
      }
      if (size > 63) throw new MalformedError('a label has an unknown form');
      length += size + 1;
      if (length >= LONGEST_NAME) throw new MalformedError('a name is too long');
      labels.push(labelText(this.take(size)));
    }
    if (behind !== undefined) this.at = behind;
    return labels.join('.');
  }
}

/** Bytes that could be taken for something else in a name are written as numbers: `a\046b` is one label. */
const labelText = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]/g, (byte) => `\\${String(byte.charCodeAt(0)).padStart(3, '0')}`);

function questionOf(reader: Reader, count: number): Question | undefined {
  if (count !== 1) return undefined;
  const name = reader.name();
  const type = reader.number(2);
  return reader.number(2) === CLASS_IN ? { name, type } : undefined;
}

/** What is asked; undefined for what is no question with one name, and for malformed ones. */
export function readQuestion(message: Buffer): Question | undefined {
  if (message.length < HEADER || (message.readUInt16BE(2) & FLAG_RESPONSE) !== 0) return undefined;
  return unlessMalformed(() => questionOf(new Reader(message), message.readUInt16BE(4)));
}

export interface Answered {
  readonly question: Question;
  /** By family: what the name is known by, over whatever other names that leads. */
  readonly answers: { readonly [family in Family]: readonly Answer[] };
}

interface Found extends Answer {
  readonly family: Family;
}

/** What is answered; undefined for what is no answer about one name, and for malformed ones. */
export function readAnswered(message: Buffer): Answered | undefined {
  if (message.length < HEADER || (message.readUInt16BE(2) & FLAG_RESPONSE) === 0) return undefined;
  return unlessMalformed(() => {
    const reader = new Reader(message);
    const question = questionOf(reader, message.readUInt16BE(4));
    if (question === undefined) return undefined;
    const addresses = new Map<string, Found[]>();
    const aliases = new Map<string, { readonly to: string; readonly ttl: number }>();
    for (let left = message.readUInt16BE(6); left > 0; left -= 1) {
      const owner = reader.name();
      const type = reader.number(2);
      const isInternet = reader.number(2) === CLASS_IN;
      const ttl = ttlOf(reader.number(4));
      const length = reader.number(2);
      const end = reader.at + length;
      if (end > message.length) throw new MalformedError('it ends too early');
      if (isInternet) {
        if (type === TYPE_CNAME) aliases.set(owner, { to: reader.name(), ttl });
        else {
          const found = addressesOf(type, message.subarray(reader.at, end));
          const known = addresses.get(owner) ?? [];
          addresses.set(owner, [...known, ...found.map((one) => ({ ...one, ttl }))]);
        }
      }
      reader.at = end;
    }
    const found = alongAliases(question.name, aliases, addresses);
    const ofFamily = (family: Family): readonly Answer[] =>
      found.filter((one) => one.family === family).map(({ address, ttl }) => ({ address, ttl }));
    return { question, answers: { v4: ofFamily('v4'), v6: ofFamily('v6') } };
  });
}

/** Of one with the highest bit set nobody knows what is meant: no time at all (RFC 2181 §8). */
const ttlOf = (seconds: number): number => (seconds > 0x7fff_ffff ? 0 : seconds);

/** What a name comes to; an address counts no longer than the aliases that lead to it. */
function alongAliases(
  start: string,
  aliases: ReadonlyMap<string, { readonly to: string; readonly ttl: number }>,
  addresses: ReadonlyMap<string, readonly Found[]>,
): readonly Found[] {
  const found: Found[] = [];
  const seen = new Set<string>();
  let ttl = Infinity;
  for (let name: string | undefined = start; name !== undefined && !seen.has(name);) {
    seen.add(name);
    for (const one of addresses.get(name) ?? [])
      found.push({ ...one, ttl: Math.min(ttl, one.ttl) });
    const alias = aliases.get(name);
    if (alias !== undefined) ttl = Math.min(ttl, alias.ttl);
    name = alias?.to;
  }
  return found;
}

type Located = Pick<Found, 'family' | 'address'>;

function addressesOf(type: number, data: Buffer): readonly Located[] {
  if (type === TYPE_A || type === TYPE_AAAA) {
    const size = type === TYPE_A ? 4 : 16;
    if (data.length !== size) throw new MalformedError('an address has another length');
    return [addressOf(data)];
  }
  return type === TYPE_SVCB || type === TYPE_HTTPS ? hintsOf(data) : [];
}

/** Addresses that clients may use before they ask for those of the name. */
function hintsOf(data: Buffer): readonly Located[] {
  const found: Located[] = [];
  let at = 2;
  // The name of the target is never written as a pointer (RFC 9460 §2.2).
  while (at < data.length && data[at] !== 0) at += (data[at] ?? 0) + 1;
  at += 1;
  while (at + 4 <= data.length) {
    const size = HINTS.get(data.readUInt16BE(at));
    const length = data.readUInt16BE(at + 2);
    const value = data.subarray(at + 4, at + 4 + length);
    if (value.length !== length) throw new MalformedError('it ends too early');
    if (size !== undefined)
      for (let start = 0; start + size <= length; start += size)
        found.push(addressOf(value.subarray(start, start + size)));
    at += 4 + length;
  }
  return found;
}

function addressOf(bytes: Buffer): Located {
  const family = bytes.length === 4 ? 'v4' : 'v6';
  return {
    family,
    address: formatAddress({ family, value: BigInt(`0x${bytes.toString('hex')}`) }),
  };
}

/** The answer that there is none: now, so that who asked asks again, or for what `code` (RFC 1035 §4.1.1) says. */
export function failureFor(query: Buffer, code = SERVFAIL): Buffer {
  const reader = new Reader(query);
  const isWhole = unlessMalformed(() => questionOf(reader, query.readUInt16BE(4))) !== undefined;
  const answer = Buffer.from(query.subarray(0, isWhole ? reader.at : HEADER));
  // The question's opcode and whether recursion was asked for stay.
  answer.writeUInt16BE((query.readUInt16BE(2) & 0x7900) | FLAG_RESPONSE | 0x80 | code, 2);
  answer.writeUInt16BE(isWhole ? 1 : 0, 4);
  for (const section of [6, 8, 10]) answer.writeUInt16BE(0, section);
  return answer;
}

export function unlessMalformed<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedError) return undefined;
    throw error;
  }
}
