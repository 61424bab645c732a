import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  integer,
  record as recordOf,
  tuple,
  oneof,
  constant,
  type Arbitrary,
  uint8Array,
  boolean,
} from 'fast-check';
import { expect, test } from 'vitest';
import { NetworkAnswers, type NetworkAnswer } from '../../../../src/node/dns/network-answers.ts';
import {
  answerOf,
  ipv4,
  nameAt,
  nameBytes,
  pointer,
  queryOf,
  readRecords,
  record,
  TYPES,
  withEdns,
} from '../../../support/run/dns-messages.ts';
import { viewOf } from '../../../support/zone/named-networks.ts';

const view = viewOf();
const answers = new NetworkAnswers();
const answered = (
  query: Buffer,
  cluster: (query: Buffer) => Buffer | undefined = () => undefined,
): Promise<NetworkAnswer | undefined> =>
  answers.answer(query, 'UDP', view, (asked) => Promise.resolve(cluster(asked)));
const codeOf = (answer: NetworkAnswer | undefined): number | undefined =>
  answer && answer.message.readUInt16BE(2) & 15;

test('what the node knows it answers without asking anybody', async () => {
  const answer = await answered(queryOf('web-0.web.blue.svc.cluster.local'));
  expect(answer?.by).toBe('node');
  expect(readRecords(answer?.message ?? Buffer.alloc(0))).toMatchObject([
    { type: 1, data: ipv4('103.103.0.5') },
  ]);
});

test("all else is what the cluster's DNS says, byte by byte, or nothing", async () => {
  const said = answerOf('www.example.org', [record('www.example.org', 'A', ipv4('192.0.2.1'))]);
  expect(await answered(queryOf('www.example.org'), () => said)).toEqual({
    by: 'cluster',
    message: said,
  });
  expect(await answered(queryOf('www.example.org'))).toBeUndefined();
});

test('an answer that can not be read, or is to something else, is not given', async () => {
  const other = answerOf('evil.example.org', [record('evil.example.org', 'A', ipv4('192.0.2.1'))]);
  for (const said of [other, other.subarray(0, -1), Buffer.alloc(3)]) {
    const answer = await answered(queryOf('www.example.org'), () => said);
    expect([answer?.by, codeOf(answer)]).toEqual(['nobody', 2]);
  }
});

test("an alias that leads to a name of the own network leads to what that is there, one that leads to another tenant's to nothing", async () => {
  const aliased = (target: string): Promise<NetworkAnswer | undefined> =>
    answered(queryOf('alias.blue.svc.cluster.local'), () =>
      answerOf('alias.blue.svc.cluster.local', [
        record('alias.blue.svc.cluster.local', 'CNAME', nameBytes('next.example.org')),
        record('next.example.org', 'CNAME', nameBytes(target)),
        record(target, 'A', ipv4('10.244.0.5')),
      ]),
    );
  const own = await aliased('web-1.web.blue.svc.cluster.local');
  expect(own?.by).toBe('node');
  expect(
    readRecords(own?.message ?? Buffer.alloc(0)).map(({ name, type }) => `${name} ${type}`),
  ).toEqual([
    'alias.blue.svc.cluster.local 5',
    'next.example.org 5',
    'web-1.web.blue.svc.cluster.local 1',
  ]);
  expect(readRecords(own?.message ?? Buffer.alloc(0)).at(-1)?.data).toEqual(ipv4('103.103.1.5'));
  const other = await aliased('web-1.web.red.svc.cluster.local');
  expect([other?.by, codeOf(other)]).toEqual(['nobody', 3]);
  expect(readRecords(other?.message ?? Buffer.alloc(0)).map(({ type }) => type)).toEqual([6]);
  expect((await aliased('www.example.net'))?.by).toBe('cluster');
});

test('aliases in circles end', async () => {
  const circle = await answered(queryOf('a.example.org'), () =>
    answerOf('a.example.org', [
      record('a.example.org', 'CNAME', nameBytes('b.example.org')),
      record('b.example.org', 'CNAME', nameBytes('a.example.org')),
    ]),
  );
  expect(circle?.by).toBe('cluster');
});

test("names of addresses outside that the cluster's DNS knows as another tenant's are not told", async () => {
  const name = '9.2.0.192.in-addr.arpa';
  const said = (target: string): Promise<NetworkAnswer | undefined> =>
    answered(queryOf(name, 'PTR'), () =>
      answerOf(name, [record(name, 'PTR', nameBytes(target))], 'PTR'),
    );
  expect((await said('host.example.org'))?.by).toBe('cluster');
  const other = await said('web-0.web.red.svc.cluster.local');
  expect([other?.by, codeOf(other)]).toEqual(['nobody', 3]);
});

test('another version of EDNS is not spoken, and what is no question not answered', async () => {
  const own = queryOf('web.blue.svc.cluster.local');
  const answer = await answered(withEdns(own, { size: 1232, version: 3 }));
  expect(readRecords(answer?.message ?? Buffer.alloc(0))).toMatchObject([
    { type: 41, ttl: 0x01000000 },
  ]);
  expect(await answered(answerOf('www.example.org', []))).toBeUndefined();
});

const SECRET = ipv4('10.244.66.66');
const HIDDEN = 'hidden-service.red.svc.cluster.local';

/** A server that knows the other tenant, and takes every question for one about him that could be read so. */
function talkative(query: Buffer): Buffer | undefined {
  try {
    const { name, end } = nameAt(query, 12);
    const text = name.toLowerCase();
    const question = query.subarray(12, end + 4);
    const about =
      /(^|\.)red\.(svc|pod)\.cluster\.local$/.test(text) ||
      text.startsWith('alias.') ||
      text.endsWith('.arpa');
    const told = about
      ? Buffer.concat([
          pointer(12),
          Buffer.from([0, 1, 0, 1, 0, 0, 0, 5, 0, 4]),
          SECRET,
          pointer(12),
          Buffer.from([
            0,
            text.endsWith('.arpa') ? 12 : 5,
            0,
            1,
            0,
            0,
            0,
            5,
            0,
            nameBytes(HIDDEN).length,
          ]),
          nameBytes(HIDDEN),
        ])
      : Buffer.alloc(0);
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(about ? 0x8580 : 0x8583, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(about ? 2 : 0, 6);
    return Buffer.concat([header, question, told]);
  } catch {
    return undefined;
  }
}

const label = constantFrom(
  'web',
  'WEB-0',
  'api',
  'red',
  'rED',
  'blue',
  'svc',
  'pod',
  'SVC',
  'cluster',
  'local',
  'cluster.local',
  'red.svc',
  '*',
  'any',
  '_http',
  '_tcp',
  '103-103-0-5',
  'web.red',
  'red\0',
  '\\',
  'alias',
  'example',
  'in-addr',
  'arpa',
  '5',
  '0',
  '103',
  '10',
  '66',
);
const endings = constantFrom(
  ['red', 'svc', 'cluster', 'local'],
  ['Red', 'SVC', 'CLUSTER', 'local'],
  ['red', 'pod', 'cluster', 'local'],
  ['web', 'red', 'svc', 'cluster', 'local'],
  ['web.red', 'svc', 'cluster', 'local'],
  ['web', 'red.svc', 'cluster', 'local'],
  ['web', 'red', 'svc.cluster.local'],
  ['web.red.svc.cluster.local'],
  ['red', 'svc', 'cluster', 'local', 'blue', 'svc', 'cluster', 'local'],
  ['103', '103', 'in-addr', 'arpa'],
  ['IP6', 'ARPA'],
  [],
);
const bytesOf = (labels: readonly string[]): Buffer =>
  Buffer.concat([
    ...labels.map((text) =>
      Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')]),
    ),
    Buffer.from([0]),
  ]);
/** The usual one mostly, else one of the others. */
const odd = <T>(usual: T, ...others: readonly T[]): Arbitrary<T> =>
  oneof(
    { weight: 9, arbitrary: constant(usual) },
    { weight: 1, arbitrary: constantFrom(...others) },
  );
/** A question in one of the forms in which a tenant may put it. */
const question = recordOf({
  front: array(label, { maxLength: 3 }),
  ending: endings,
  type: constantFrom(...Object.values(TYPES), 6, 16, 255, 251, 0, 65_535),
  of: odd(1, 3, 4, 254, 255, 0),
  flags: odd(0x0100, 0, 0x0110, 0x2100, 0x2800, 0x0900, 0x7800),
  counts: tuple(odd(1, 0, 2), odd(0, 1), odd(0, 1), odd(0, 1, 2)),
  /** The name ends in a pointer to a copy of its end that stands elsewhere. */
  points: odd('no', 'ahead', 'header'),
  behind: uint8Array({ maxLength: 12 }),
  edns: boolean(),
  version: integer({ min: 0, max: 2 }),
});
type Question = typeof question extends Arbitrary<infer T> ? T : never;

function written({
  front,
  ending,
  type,
  of,
  flags,
  counts,
  points,
  behind,
  edns,
  version,
}: Question): Buffer {
  const header = Buffer.alloc(12);
  for (const [index, value] of [0x1234, flags, ...counts].entries())
    header.writeUInt16BE(value, 2 * index);
  const tail = Buffer.alloc(4);
  tail.writeUInt16BE(type, 0);
  tail.writeUInt16BE(of, 2);
  const start = bytesOf(front).subarray(0, -1);
  const name =
    points === 'no'
      ? bytesOf([...front, ...ending])
      : Buffer.concat([start, pointer(points === 'header' ? 2 : 12 + start.length + 6)]);
  const body = Buffer.concat([header, name, tail, points === 'ahead' ? bytesOf(ending) : behind]);
  return edns ? withEdns(body, { size: 4096, version }) : body;
}

test('of another tenant nothing is told, in whatever form one asks', async () => {
  let asked = 0;
  await assert(
    asyncProperty(question, async (one) => {
      const query = written(one);
      const shouted = Buffer.from(query.toString('latin1').toUpperCase(), 'latin1');
      const at = 12 + ((query.length * 7) % Math.max(1, query.length - 12));
      const bitten = [1, 0x20, 0x40, 0x80, 0xc0].map((bits) => {
        const changed = Buffer.from(query);
        changed[at] = (changed[at] ?? 0) ^ bits;
        return changed;
      });
      for (const other of [query, shouted, query.subarray(0, -3), ...bitten]) {
        const { message = Buffer.alloc(0) } =
          (await answered(other, (relayed) => {
            asked += 1;
            return talkative(relayed);
          })) ?? {};
        if (message.includes(SECRET) || message.includes('hidden-service'))
          expect.unreachable(`told of another tenant by ${other.toString('hex')}`);
        // What is told can be read.
        if (message.length > 0 && message.readUInt16BE(4) === 1) readRecords(message);
      }
    }),
    { numRuns: 12_500 },
  );
  // Many of them do get to the server.
  expect(asked).toBeGreaterThan(1000);
});
