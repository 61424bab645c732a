import { assert, property, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { failureFor, readAnswered, readQuestion } from '../../../../src/node/dns/dns-message.ts';
import {
  answerOf,
  ipv4,
  nameBytes,
  pointer,
  queryOf,
  record,
} from '../../../support/run/dns-messages.ts';

const addressesOf = (message: Buffer): readonly string[] | undefined => {
  const answered = readAnswered(message);
  return answered && [...answered.answers.v4, ...answered.answers.v6].map(({ address }) => address);
};

test('a question is its name in lower case, and its type', () => {
  expect(readQuestion(queryOf('WWW.Example.org'))).toEqual({ name: 'www.example.org', type: 1 });
  expect(readQuestion(queryOf('', 'NS'))).toEqual({ name: '', type: 2 });
  expect(readQuestion(answerOf('a.example', []))).toBe(undefined);
});

test('a dot in a label is no end of it', () => {
  const query = Buffer.concat([
    queryOf('x').subarray(0, 12),
    Buffer.from('\x0bwww.example\x03org\0\0\x01\0\x01', 'latin1'),
  ]);
  expect(readQuestion(query)?.name).toBe('www\\046example.org');
});

test('an answer is what the name of the question is known by, by family, over its aliases', () => {
  const at = pointer(12);
  const message = answerOf('www.example.org', [
    record(at, 'CNAME', nameBytes('cdn.example.net'), 20),
    record('cdn.example.net', 'A', ipv4('192.0.2.1'), 60),
    record('cdn.example.net', 'AAAA', Buffer.from('20010db8000000000000000000000001', 'hex'), 10),
  ]);
  expect(readAnswered(message)).toEqual({
    question: { name: 'www.example.org', type: 1 },
    answers: { v4: [{ address: '192.0.2.1', ttl: 20 }], v6: [{ address: '2001:db8::1', ttl: 10 }] },
  });
});

test('what else a message says, of other names, is nothing of this one', () => {
  const message = answerOf('evil.example', [
    record('evil.example', 'A', ipv4('192.0.2.1')),
    record('www.example.org', 'A', ipv4('192.0.2.2')),
  ]);
  expect(addressesOf(message)).toEqual(['192.0.2.1']);
});

test('aliases in circles end', () => {
  const message = answerOf('a.example', [
    record('a.example', 'CNAME', nameBytes('b.example')),
    record('b.example', 'CNAME', nameBytes('a.example')),
    record('b.example', 'A', ipv4('192.0.2.1')),
  ]);
  expect(addressesOf(message)).toEqual(['192.0.2.1']);
});

test('hints of HTTPS records are addresses, too', () => {
  const parameters = Buffer.concat([
    Buffer.from('0001000302683200', 'hex').subarray(0, 7),
    Buffer.from('00040008', 'hex'),
    ipv4('192.0.2.1'),
    ipv4('192.0.2.2'),
    Buffer.from('0006001020010db8000000000000000000000002', 'hex'),
  ]);
  const data = Buffer.concat([Buffer.from('0001', 'hex'), Buffer.from([0]), parameters]);
  expect(addressesOf(answerOf('a.example', [record('a.example', 'HTTPS', data)], 'HTTPS'))).toEqual(
    ['192.0.2.1', '192.0.2.2', '2001:db8::2'],
  );
});

test('malformed messages are nothing: cut off, pointers in circles, addresses of another length', () => {
  const whole = answerOf('a.example', [record('a.example', 'A', ipv4('192.0.2.1'))]);
  for (let length = 0; length < whole.length; length += 1)
    expect(readAnswered(whole.subarray(0, length)), String(length)).toBe(undefined);
  expect(readAnswered(answerOf('a.example', [record(pointer(27), 'A', ipv4('1.2.3.4'))]))).toBe(
    undefined,
  );
  expect(readAnswered(answerOf('a.example', [record('a.example', 'A', Buffer.alloc(5))]))).toBe(
    undefined,
  );
});

test('a TTL with its highest bit set is none', () => {
  const message = answerOf('a.example', [record('a.example', 'A', ipv4('192.0.2.1'), 0xffff_ffff)]);
  expect(readAnswered(message)?.answers.v4).toEqual([{ address: '192.0.2.1', ttl: 0 }]);
});

test('a failure has the id and the question, and nothing else', () => {
  const query = queryOf('www.example.org', 'AAAA', 0x1234);
  const answer = failureFor(query);
  expect(answer.readUInt16BE(0)).toBe(0x1234);
  expect(answer.readUInt16BE(2)).toBe(0x8182);
  expect(readAnswered(answer)).toEqual({
    question: { name: 'www.example.org', type: 28 },
    answers: { v4: [], v6: [] },
  });
  expect(failureFor(query.subarray(0, 14))).toHaveLength(12);
});

test('whatever bytes there are, nothing is thrown', () => {
  assert(
    property(uint8Array({ minLength: 0, maxLength: 80 }), (bytes) => {
      const message = Buffer.from(bytes);
      readQuestion(message);
      readAnswered(message);
      if (message.length >= 12) failureFor(message);
    }),
    { numRuns: 2000 },
  );
  const whole = answerOf('www.example.org', [
    record(pointer(12), 'CNAME', nameBytes('b.example')),
    record('b.example', 'A', ipv4('192.0.2.1')),
  ]);
  assert(
    property(uint8Array({ minLength: 3, maxLength: 3 }), ([at = 0, to = 0, more = 0]) => {
      const message = Buffer.from(whole);
      message[at % whole.length] = to;
      message[(at * more) % whole.length] = more;
      readAnswered(message);
    }),
    { numRuns: 2000 },
  );
});
