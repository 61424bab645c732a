/** Messages of DNS that a node answers itself: what is asked, and the answer as bytes (RFC 1035 §4, RFC 6891). */
import { parseAddress } from '../../allocators/addresses.ts';
import { TYPE, type NameRecord } from '../../model/rules/network-names.ts';
import { CLASS_IN, FLAG_RESPONSE, HEADER, Reader, unlessMalformed } from './dns-message.ts';

/** Codes of answers (RFC 1035 §4.1.1, RFC 6891 §9). */
export const CODE = {
  good: 0,
  malformed: 1,
  missing: 3,
  notImplemented: 4,
  refused: 5,
  badVersion: 16,
} as const;

export interface Asked {
  /** In lower case, without the dot at its end; a byte that is no letter of a host's name is `\ddd`. */
  readonly name: string;
  readonly type: number;
  /** Where the question ends in the message. */
  readonly end: number;
  /** Undefined without EDNS. */
  readonly edns?: { readonly version: number; readonly size: number; readonly flags: number };
}

/** What is asked, or the code of the answer to what can't be. */
export type Asking =
  | { readonly kind: 'asked'; readonly asked: Asked }
  | { readonly kind: 'refused'; readonly code: number };

const OPCODES = 0x7800;
const TYPE_OPT = 41;
/** Transfers of zones, whole or by differences. */
const TRANSFERS: readonly number[] = [251, 252];

const refused = (code: number): Asking => ({ kind: 'refused', code });

/**
 * What a client asks. Stricter than the cluster's DNS: what that could read in another way than we do it is not asked. Undefined for what is
 * no question.
 */
export function readAsked(message: Buffer): Asking | undefined {
  if (message.length < HEADER) return undefined;
  const flags = message.readUInt16BE(2);
  if ((flags & FLAG_RESPONSE) !== 0) return undefined;
  if ((flags & OPCODES) !== 0) return refused(CODE.notImplemented);
  return (
    unlessMalformed(() => {
      if (message.readUInt16BE(4) !== 1) return undefined;
      const reader = new Reader(message);
      const name = reader.name();
      const length = name === '' ? 1 : lengthOf(name);
      // Names of questions have nothing to point to.
      if (reader.at !== HEADER + length) return undefined;
      const type = reader.number(2);
      if (reader.number(2) !== CLASS_IN || TRANSFERS.includes(type)) return refused(CODE.refused);
      const end = reader.at;
      const edns = readEdns(reader, message);
      return edns === 'twice'
        ? undefined
        : { kind: 'asked' as const, asked: { name, type, end, ...(edns && { edns }) } };
    }) ?? refused(CODE.malformed)
  );
}

/** Bytes of a name that no pointer shortens. */
const lengthOf = (name: string): number =>
  name.split('.').reduce((sum, label) => sum + bytesOf(label).length + 1, 1);

const bytesOf = (label: string): Buffer =>
  Buffer.from(
    label.replaceAll(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(Number(code))),
    'latin1',
  );

function readEdns(reader: Reader, message: Buffer): Asked['edns'] | 'twice' {
  let found: Asked['edns'];
  const others = message.readUInt16BE(6) + message.readUInt16BE(8);
  for (let left = others + message.readUInt16BE(10); left > 0; left -= 1) {
    reader.name();
    const type = reader.number(2);
    const size = reader.number(2);
    reader.number(1);
    const version = reader.number(1);
    const flags = reader.number(2);
    reader.take(reader.number(2));
    if (type !== TYPE_OPT) continue;
    if (found !== undefined) return 'twice';
    found = { version, size, flags };
  }
  return found;
}

/** Bytes that a datagram may have: less is asked for by many, more does not pass every network (DNS flag day 2020). */
const LEAST_DATAGRAM = 512;
const MOST_DATAGRAM = 1232;
const MOST_STREAM = 65_535;
/** Seconds for which what a node says may be kept: as the cluster's DNS does by itself. */
const TTL = 5;
const FLAGS_OWN = FLAG_RESPONSE | 0x0400 | 0x0080;
const FLAG_TRUNCATED = 0x0200;
const TYPE_SOA = 6;
const DNSSEC_OK = 0x8000;

/** A record, or an alias that somebody else told. */
export type AnswerRecord =
  | NameRecord
  | { readonly name: string; readonly type: 'CNAME'; readonly target: string };

export interface OwnAnswer {
  readonly code: number;
  readonly records: readonly AnswerRecord[];
  readonly additional: readonly NameRecord[];
  /** Zone that the name is in; undefined where none is told. */
  readonly zone?: string;
}

/** The answer to `query`, within what the protocol and the client can take. `turn`: which of several records comes first. */
export function ownAnswer(
  query: Buffer,
  asked: Asked,
  { code, records, additional, zone }: OwnAnswer,
  protocol: 'UDP' | 'TCP',
  turn = 0,
): Buffer {
  const most =
    protocol === 'TCP'
      ? MOST_STREAM
      : Math.min(MOST_DATAGRAM, Math.max(LEAST_DATAGRAM, asked.edns?.size ?? 0));
  const out = new Writer(query, asked, most - (asked.edns === undefined ? 0 : 11));
  const aliases = records.filter(({ type }) => type === 'CNAME');
  const others = rotated(
    records.filter(({ type }) => type !== 'CNAME'),
    turn,
  );
  const all = [...aliases, ...others];
  let isWhole = true;
  for (const one of all) isWhole &&= out.add('answers', one);
  if (isWhole && others.length === 0 && zone !== undefined) isWhole = out.addSoa(zone);
  if (isWhole) for (const one of additional) if (!out.add('additional', one)) break;
  return out.end(code, isWhole);
}

/** Begins with another one each time. */
function rotated<T>(list: readonly T[], turn: number): readonly T[] {
  const at = list.length === 0 ? 0 : turn % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}

const number = (value: number, bytes: 1 | 2 | 4): Buffer => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
};

class Writer {
  readonly #query: Buffer;
  readonly #asked: Asked;
  readonly #most: number;
  readonly #parts: Buffer[];
  readonly #counts = { answers: 0, authority: 0, additional: 0 };
  /** Where names stand that others may point to. */
  readonly #names = new Map<string, number>();
  /** Those of the record that is being written. */
  readonly #added: string[] = [];
  #length: number;

  constructor(query: Buffer, asked: Asked, most: number) {
    this.#query = query;
    this.#asked = asked;
    this.#most = most;
    this.#parts = [query.subarray(HEADER, asked.end)];
    this.#length = asked.end;
    this.#note(asked.name, HEADER);
  }

  /** Returns false where it does not fit any more. */
  add(section: 'answers' | 'additional', record: AnswerRecord): boolean {
    return this.#put(section, record.name, TYPE[record.type], (at) => this.#dataOf(record, at));
  }

  addSoa(zone: string): boolean {
    return this.#put('authority', zone, TYPE_SOA, (at) => {
      const server = this.#name(`ns.dns.${zone}`, at);
      const who = this.#name(`hostmaster.${zone}`, at + server.length);
      // Serial, refresh, retry, expire, and how long one may remember that there is nothing.
      const numbers = [1, 7200, 1800, 86_400, TTL].map((value) => number(value, 4));
      return Buffer.concat([server, who, ...numbers]);
    });
  }

  end(code: number, isWhole: boolean): Buffer {
    const { edns } = this.#asked;
    const header = Buffer.from(this.#query.subarray(0, HEADER));
    // Whether recursion was asked for stays.
    const flags = (this.#query.readUInt16BE(2) & 0x0100) | FLAGS_OWN | (code & 15);
    header.writeUInt16BE(isWhole ? flags : flags | FLAG_TRUNCATED, 2);
    const { answers, authority, additional } = this.#counts;
    const counts = [1, answers, authority, additional + (edns === undefined ? 0 : 1)];
    for (const [index, count] of counts.entries()) header.writeUInt16BE(count, 4 + 2 * index);
    const options =
      edns === undefined
        ? []
        : [
            number(0, 1),
            number(TYPE_OPT, 2),
            number(MOST_DATAGRAM, 2),
            number(code >> 4, 1),
            number(0, 1),
            number(edns.flags & DNSSEC_OK, 2),
            number(0, 2),
          ];
    return Buffer.concat([header, ...this.#parts, ...options]);
  }

  #put(
    section: 'answers' | 'authority' | 'additional',
    name: string,
    type: number,
    dataAt: (at: number) => Buffer,
  ): boolean {
    this.#added.length = 0;
    const owner = this.#name(name, this.#length);
    const fixed = 10;
    const data = dataAt(this.#length + owner.length + fixed);
    const length = owner.length + fixed + data.length;
    if (this.#length + length > this.#most) {
      for (const one of this.#added) this.#names.delete(one);
      return false;
    }
    const head = [number(type, 2), number(CLASS_IN, 2), number(TTL, 4), number(data.length, 2)];
    this.#parts.push(owner, ...head, data);
    this.#length += length;
    this.#counts[section] += 1;
    return true;
  }

  #dataOf(record: AnswerRecord, at: number): Buffer {
    switch (record.type) {
      case 'A':
      case 'AAAA': {
        const hex = (parseAddress(record.address)?.value ?? 0n).toString(16);
        return Buffer.from(hex.padStart(record.type === 'A' ? 8 : 32, '0'), 'hex');
      }
      case 'SRV':
        // Its target is written as a whole (RFC 2782).
        return Buffer.concat([
          number(0, 2),
          number(record.weight, 2),
          number(record.port, 2),
          this.#name(record.target, at + 6, false),
        ]);
      case 'PTR':
      case 'CNAME':
        return this.#name(record.target, at);
    }
  }

  /** A name as bytes, which begin at an offset of the message. */
  #name(name: string, at: number, mayPoint = true): Buffer {
    const labels = name === '' ? [] : name.split('.');
    const parts: Buffer[] = [];
    let offset = at;
    for (const [index, label] of labels.entries()) {
      const rest = labels.slice(index).join('.');
      const known = this.#names.get(rest);
      if (mayPoint && known !== undefined) {
        parts.push(number(0xc000 | known, 2));
        return Buffer.concat(parts);
      }
      if (known === undefined) this.#noteOne(rest, offset);
      const bytes = bytesOf(label);
      parts.push(number(bytes.length, 1), bytes);
      offset += bytes.length + 1;
    }
    parts.push(number(0, 1));
    return Buffer.concat(parts);
  }

  #note(name: string, at: number): void {
    const labels = name === '' ? [] : name.split('.');
    let offset = at;
    for (const [index, label] of labels.entries()) {
      this.#noteOne(labels.slice(index).join('.'), offset);
      offset += bytesOf(label).length + 1;
    }
  }

  /** A pointer has 14 bits. */
  #noteOne(name: string, offset: number): void {
    if (offset >= 0x4000 || this.#names.has(name)) return;
    this.#names.set(name, offset);
    this.#added.push(name);
  }
}
