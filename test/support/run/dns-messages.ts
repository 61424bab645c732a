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

export const TYPES = { A: 1, CNAME: 5, AAAA: 28, HTTPS: 65, NS: 2 } as const;

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
