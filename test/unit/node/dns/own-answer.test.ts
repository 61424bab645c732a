import { assert, constantFrom, integer, property, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { readAnswered } from '../../../../src/node/dns/dns-message.ts';
import {
  CODE,
  ownAnswer,
  readAsked,
  type Asked,
  type OwnAnswer,
} from '../../../../src/node/dns/own-answer.ts';
import {
  nameBytes,
  pointer,
  queryOf,
  readRecords,
  withEdns,
} from '../../../support/run/dns-messages.ts';

const askedOf = (query: Buffer): Asked => {
  const asking = readAsked(query);
  return asking?.kind === 'asked' ? asking.asked : expect.unreachable();
};
const codeOf = (query: Buffer): number | undefined => {
  const asking = readAsked(query);
  return asking?.kind === 'refused' ? asking.code : undefined;
};
/** A question with other bytes in some places. */
const changed = (
  query: Buffer,
  ...changes: readonly (readonly [at: number, byte: number])[]
): Buffer => {
  const other = Buffer.from(query);
  for (const [at, byte] of changes) other[at] = byte;
  return other;
};

const query = queryOf('Web.Blue.svc.cluster.local');
const records = (count: number): OwnAnswer => ({
  code: CODE.good,
  zone: 'cluster.local',
  records: Array.from({ length: count }, (_, at) => ({
    name: 'web.blue.svc.cluster.local',
    type: 'A' as const,
    address: `10.0.${at >> 8}.${at & 255}`,
  })),
  additional: [],
});

test('a question is read with what it says of EDNS', () => {
  expect(askedOf(query)).toEqual({
    name: 'web.blue.svc.cluster.local',
    type: 1,
    end: query.length,
  });
  expect(askedOf(withEdns(query, { size: 4096, flags: 0x8000 })).edns).toEqual({
    version: 0,
    size: 4096,
    flags: 0x8000,
  });
  expect(askedOf(queryOf('', 'NS'))).toMatchObject({ name: '', type: 2 });
});

test('what could be read in two ways is not asked', () => {
  expect(codeOf(changed(query, [5, 2]))).toBe(CODE.malformed);
  expect(codeOf(changed(query, [5, 0]))).toBe(CODE.malformed);
  expect(codeOf(changed(query, [2, 0x28]))).toBe(CODE.notImplemented);
  expect(codeOf(changed(query, [query.length - 1, 3]))).toBe(CODE.refused);
  expect(codeOf(changed(query, [query.length - 1, 255]))).toBe(CODE.refused);
  expect(codeOf(queryOf('cluster.local', 'AXFR'))).toBe(CODE.refused);
  expect(codeOf(query.subarray(0, -1))).toBe(CODE.malformed);
  const pointing = Buffer.concat([
    query.subarray(0, 12),
    Buffer.from('\x03web'),
    pointer(4),
    query.subarray(-4),
  ]);
  expect(codeOf(pointing)).toBe(CODE.malformed);
  const twice = withEdns(withEdns(query, { size: 512 }), { size: 512 });
  expect(codeOf(twice)).toBe(CODE.malformed);
});

test('what is no question is not answered', () => {
  expect(readAsked(Buffer.alloc(11))).toBeUndefined();
  expect(readAsked(changed(query, [2, 0x80]))).toBeUndefined();
});

test('an answer has the question as it was asked, and counts for 5 s', () => {
  const answer = ownAnswer(query, askedOf(query), records(2), 'UDP');
  expect(answer.subarray(12, query.length)).toEqual(query.subarray(12));
  expect(answer.readUInt16BE(0)).toBe(query.readUInt16BE(0));
  expect(answer.readUInt16BE(2)).toBe(0x8580);
  expect(readAnswered(answer)?.answers.v4).toEqual([
    { address: '10.0.0.0', ttl: 5 },
    { address: '10.0.0.1', ttl: 5 },
  ]);
});

test('each time another one of several records comes first', () => {
  const first = (turn: number): string | undefined =>
    readAnswered(ownAnswer(query, askedOf(query), records(3), 'UDP', turn))?.answers.v4[0]?.address;
  expect([first(0), first(1), first(2), first(3)]).toEqual([
    '10.0.0.0',
    '10.0.0.1',
    '10.0.0.2',
    '10.0.0.0',
  ]);
});

test('that there is nothing comes with how long that counts', () => {
  for (const code of [CODE.good, CODE.missing]) {
    const answer = ownAnswer(query, askedOf(query), { ...records(0), code }, 'UDP');
    expect(answer.readUInt16BE(2) & 15).toBe(code);
    expect(readRecords(answer)).toMatchObject([
      { section: 'authority', name: 'cluster.local', type: 6, ttl: 5 },
    ]);
  }
});

test('what does not fit is cut off, and says so; over TCP there is room', () => {
  const of = (asked: Buffer, protocol: 'UDP' | 'TCP' = 'UDP'): Buffer =>
    ownAnswer(asked, askedOf(asked), records(100), protocol);
  const isCut = (answer: Buffer): boolean => (answer.readUInt16BE(2) & 0x0200) !== 0;
  const small = of(query);
  expect(small.length).toBeLessThanOrEqual(512);
  expect(isCut(small)).toBe(true);
  expect(readAnswered(small)?.answers.v4).toHaveLength(29);
  const wide = of(withEdns(query, { size: 4096 }));
  expect(wide.length).toBeLessThanOrEqual(1232);
  expect(wide.length).toBeGreaterThan(1200);
  expect(of(withEdns(query, { size: 100 })).length).toBeLessThanOrEqual(512);
  const whole = of(query, 'TCP');
  expect(isCut(whole)).toBe(false);
  expect(readAnswered(whole)?.answers.v4).toHaveLength(100);
  expect(ownAnswer(query, askedOf(query), records(9000), 'TCP').length).toBeLessThanOrEqual(65_535);
});

test('who speaks EDNS is answered in EDNS; another version is not spoken', () => {
  const asked = withEdns(query, { size: 1232, version: 1, flags: 0x8000 });
  const answer = ownAnswer(
    asked,
    askedOf(asked),
    { code: CODE.badVersion, records: [], additional: [] },
    'UDP',
  );
  expect(answer.readUInt16BE(2) & 15).toBe(0);
  expect(readRecords(answer)).toEqual([
    {
      section: 'additional',
      name: '',
      type: 41,
      class: 1232,
      ttl: 0x01008000,
      data: Buffer.alloc(0),
    },
  ]);
});

test('records lead to names; only addresses of these are left out where there is no room', () => {
  const target = 'web-0.web.blue.svc.cluster.local';
  const many = Array.from({ length: 40 }, (_, at) => ({
    name: target,
    type: 'AAAA' as const,
    address: `fd00::${at.toString(16)}`,
  }));
  const answer = ownAnswer(
    query,
    askedOf(query),
    {
      code: CODE.good,
      zone: 'cluster.local',
      records: [
        { name: 'web.blue.svc.cluster.local', type: 'CNAME', target: 'a\\046b.example' },
        { name: 'web.blue.svc.cluster.local', type: 'SRV', weight: 50, port: 8080, target },
        { name: 'web.blue.svc.cluster.local', type: 'PTR', target },
      ],
      additional: many,
    },
    'UDP',
  );
  expect(answer.readUInt16BE(2) & 0x0200).toBe(0);
  const [alias, srv, ptr, first] = readRecords(answer);
  expect(alias).toMatchObject({ type: 5, data: Buffer.from('\x03a.b\x07example\0') });
  expect(srv).toMatchObject({
    type: 33,
    data: Buffer.concat([Buffer.from('000000321f90', 'hex'), nameBytes(target)]),
  });
  // It points to the name before it.
  expect(ptr?.data).toHaveLength(2);
  expect(first).toMatchObject({ section: 'additional', name: target, type: 28 });
});

test('whatever the question and however long the answer, it can be read again', () => {
  assert(
    property(
      integer({ min: 0, max: 300 }),
      constantFrom('UDP' as const, 'TCP' as const),
      integer({ min: 0, max: 5000 }),
      (count, protocol, size) => {
        const asked = withEdns(query, { size });
        const answer = ownAnswer(asked, askedOf(asked), records(count), protocol, count);
        const found = readAnswered(answer)?.answers.v4.length;
        expect(found).toBe(readRecords(answer).filter(({ type }) => type === 1).length);
        if (protocol === 'TCP') expect(found).toBe(count);
        else expect(answer.length).toBeLessThanOrEqual(Math.max(512, size));
      },
    ),
    { numRuns: 200 },
  );
});

test('whatever comes, it is a question, refused, or nothing', () => {
  assert(
    property(uint8Array({ maxLength: 300 }), (bytes) => {
      const asking = readAsked(Buffer.from(bytes));
      if (asking?.kind === 'asked') expect(asking.asked.end).toBeLessThanOrEqual(bytes.length);
    }),
    { numRuns: 3000 },
  );
});
