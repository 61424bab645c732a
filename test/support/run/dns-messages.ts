/** DNS messages, written byte by byte for tests (RFC 1035 §4). */

const number = (value: number, bytes: 1 | 2 | 4): Buffer => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
};

export const nameBytes = (name: string): Buffer =>
  Buffer.concat([
    ...name
      .split('.')
      .filter((label) => label !== '')
      .map((label) => Buffer.concat([number(label.length, 1), Buffer.from(label, 'latin1')])),
    number(0, 1),
  ]);

export const TYPES = {
  A: 1,
  NS: 2,
  CNAME: 5,
  PTR: 12,
  AAAA: 28,
  SRV: 33,
  HTTPS: 65,
  AXFR: 252,
} as const;

export interface TestRecord {
  readonly name: Buffer;
  readonly type: keyof typeof TYPES;
  readonly ttl: number;
  readonly data: Buffer;
}

export const record = (
  name: string | Buffer,
  type: keyof typeof TYPES,
  data: Buffer,
  ttl = 30,
): TestRecord => ({ name: typeof name === 'string' ? nameBytes(name) : name, type, ttl, data });

/** A pointer to an offset in the message. */
export const pointer = (offset: number): Buffer => number(0xc000 | offset, 2);

const header = (id: number, flags: number, questions: number, answers: number): Buffer =>
  Buffer.concat([id, flags, questions, answers, 0, 0].map((value) => number(value, 2)));

const question = (name: string, type: keyof typeof TYPES): Buffer =>
  Buffer.concat([nameBytes(name), number(TYPES[type], 2), number(1, 2)]);

export const queryOf = (name: string, type: keyof typeof TYPES = 'A', id = 7): Buffer =>
  Buffer.concat([header(id, 0x0100, 1, 0), question(name, type)]);

export const answerOf = (
  name: string,
  records: readonly TestRecord[],
  type: keyof typeof TYPES = 'A',
): Buffer =>
  Buffer.concat([
    header(7, 0x8180, 1, records.length),
    question(name, type),
    ...records.map((one) =>
      Buffer.concat([
        one.name,
        number(TYPES[one.type], 2),
        number(1, 2),
        number(one.ttl, 4),
        number(one.data.length, 2),
        one.data,
      ]),
    ),
  ]);

export const ipv4 = (address: string): Buffer => Buffer.from(address.split('.').map(Number));

/** The message with an OPT record behind it (RFC 6891 §6.1.2). */
export function withEdns(
  message: Buffer,
  { size, version = 0, flags = 0 }: { size: number; version?: number; flags?: number },
): Buffer {
  const fields = [
    number(41, 2),
    number(size, 2),
    number(0, 1),
    number(version, 1),
    number(flags, 2),
  ];
  const whole = Buffer.concat([message, number(0, 1), ...fields, number(0, 2)]);
  whole.writeUInt16BE(message.readUInt16BE(10) + 1, 10);
  return whole;
}

export interface ReadRecord {
  readonly section: 'answer' | 'authority' | 'additional';
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly data: Buffer;
}

/** A name as text, with dots between its labels whatever is in them, and where it ends; by pointers to anywhere. */
export function nameAt(
  message: Buffer,
  start: number,
): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let end: number | undefined;
  let at = start;
  for (let jumps = 0; ;) {
    const size = message.readUInt8(at);
    if (size >= 0xc0) {
      end ??= at + 2;
      at = message.readUInt16BE(at) & 0x3fff;
      if ((jumps += 1) > 126) throw new Error('a name goes in circles');
      continue;
    }
    if (size === 0) return { name: labels.join('.'), end: end ?? at + 1 };
    labels.push(message.toString('latin1', at + 1, at + 1 + size));
    at += size + 1;
  }
}

/** All records of a message with one question. */
export function readRecords(message: Buffer): readonly ReadRecord[] {
  const found: ReadRecord[] = [];
  let at = nameAt(message, 12).end + 4;
  for (const [index, section] of (['answer', 'authority', 'additional'] as const).entries())
    for (let left = message.readUInt16BE(6 + 2 * index); left > 0; left -= 1) {
      const { name, end } = nameAt(message, at);
      const length = message.readUInt16BE(end + 8);
      found.push({
        section,
        name,
        type: message.readUInt16BE(end),
        class: message.readUInt16BE(end + 2),
        ttl: message.readUInt32BE(end + 4),
        data: message.subarray(end + 10, end + 10 + length),
      });
      at = end + 10 + length;
    }
  return found;
}
