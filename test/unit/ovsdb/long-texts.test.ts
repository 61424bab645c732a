import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  datumToJson,
  parseSchema,
  type JsonValue,
  type Replica,
} from '../../../src/ovsdb/index.ts';
import { difference, parseRow, rowToJson } from '../../../src/ovsdb/values.ts';
import type { UpdateFormat } from '../../../src/ovsdb/replica/update-reader.ts';
import { ENDLESS, LATER } from '../../../src/ovsdb/turn.ts';
import { LongText } from '../../../src/ovsdb/wire/long-text.ts';
import { MessageStream } from '../../../src/ovsdb/wire/message-stream.ts';
import { textHash } from '../../../src/ovsdb/wire/text-hash.ts';
import {
  cuts,
  Follower,
  keptValues,
  pieces,
  turnLengths,
  turns,
} from '../../support/sliced-replica.ts';

/** Strings so long that each of their bytes is looked at once, when it arrives. */

const SCHEMA = parseSchema({
  name: 'D',
  tables: {
    T: {
      columns: {
        name: { type: 'string' },
        alias: { type: { key: 'string', min: 0 } },
        members: { type: { key: 'string', min: 0, max: 'unlimited' } },
        tags: { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } },
        tail: { type: 'integer' },
      },
    },
  },
});
const TABLE = SCHEMA.tables.get('T') as NonNullable<ReturnType<typeof SCHEMA.tables.get>>;

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** Of letters that take one to four bytes, and of what has to be escaped. */
const piece = fc
  .record({
    letters: fc.constantFrom('a', 'é', '€', '\u{1d11e}', '"', '\\', '\n', '\u0001', '\\u00e9'),
    times: fc.oneof(fc.nat(40), fc.integer({ min: 2000, max: 20_000 })),
  })
  .map(({ letters, times }) => letters.repeat(times));
const text = fc.array(piece, { maxLength: 3 }).map((parts) => parts.join('b'));

const row = fc
  .record({
    name: text,
    alias: fc.oneof(
      fc.constant<JsonValue>(['set', []]),
      text.map((alias): JsonValue => ['set', [alias]]),
    ),
    members: fc.uniqueArray(text, { maxLength: 3 }).map((members): JsonValue => ['set', members]),
    tags: fc
      .uniqueArray(fc.tuple(text, text), { maxLength: 3, selector: ([key]) => key })
      .map((tags): JsonValue => ['map', tags]),
    tail: fc.nat(3),
  })
  .map((json) => parseRow(TABLE, json));
type Row = ReturnType<typeof parseRow>;

const step = fc.record({
  row: fc.option(row, { nil: undefined }),
  of: fc.integer({ min: 1, max: 2 }),
});

/** What a server tells of a row that was another. */
function told(format: UpdateFormat, before: Row | undefined, now: Row | undefined): JsonValue {
  if (format === 'update') {
    return {
      ...(before === undefined ? {} : { old: rowToJson(TABLE, before) }),
      ...(now === undefined ? {} : { new: rowToJson(TABLE, now) }),
    };
  }
  if (now === undefined) return { delete: null };
  if (before === undefined) return { insert: rowToJson(TABLE, now) };
  const changed = [...TABLE.columns.values()].flatMap(({ name, type }) => {
    const found = difference(type, before.get(name), now.get(name));
    return found === undefined ? [] : [[name, datumToJson(type, found.datum)] as const];
  });
  return { modify: Object.fromEntries(changed) };
}

type Steps = readonly { readonly row: Row | undefined; readonly of: number }[];

/** A first reply and an update for each step, and the rows there are at the end. */
function story(format: UpdateFormat, steps: Steps): [string, ReadonlyMap<number, Row>] {
  const rows = new Map<number, Row>();
  const messages: JsonValue[] = [{ id: 1, result: [false, uuid(0), {}], error: null }];
  for (const { row: now, of } of steps) {
    const before = rows.get(of);
    if (before === undefined && now === undefined) continue;
    if (now === undefined) rows.delete(of);
    else rows.set(of, now);
    const params: JsonValue[] = [{ T: { [uuid(of)]: told(format, before, now) } }];
    messages.push({ method: 'update3', id: null, params: ['m', uuid(0), ...params] });
  }
  return [messages.map((message) => JSON.stringify(message)).join(''), rows];
}

/** The same JSON without letters that are not ASCII. */
const escaped = (json: string): string =>
  json.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const everything = (replica: Replica): unknown =>
  [...replica.rows('T')].map((found) => JSON.stringify(found)).sort();

/** A cut about every so many bytes. */
const regular = fc
  .constantFrom(1, 2, 3, 5)
  .map((n) => Array.from({ length: 400 }, (_, i) => Math.floor((i * 10_007) / n)));

describe.each<UpdateFormat>(['update2', 'update'])('rows of %s with long strings', (format) => {
  test('are the same, and told the same, whatever the pieces and the turns', () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 4 }),
        fc.oneof(cuts, regular),
        turnLengths,
        fc.constantFrom(1, 1000, 1e9),
        fc.boolean(),
        (steps, places, ends, streamFrom, isEscaped) => {
          const [json, rows] = story(format, steps);
          const bytes = Buffer.from(isEscaped ? escaped(json) : json);
          const whole = new Follower(SCHEMA, ENDLESS, 1e9, everything, format);
          whole.push(bytes);
          const sliced = new Follower(SCHEMA, turns(ends), streamFrom, everything, format);
          for (const part of pieces(bytes, places)) sliced.push(part);
          expect(sliced.seen).toEqual(whole.seen);
          expect(keptValues(sliced.replica)).toEqual(keptValues(whole.replica));
          for (const [n, now] of rows) {
            const found = sliced.replica.row('T', uuid(n));
            for (const name of TABLE.columns.keys())
              expect(found?.column(name)).toEqual(now.get(name));
            expect(sliced.replica.find('T', ['name'], [now.get('name')])).not.toEqual([]);
          }
          expect(sliced.replica.size('T')).toBe(rows.size);
        },
      ),
      { numRuns: 60 },
    );
  });
});

test('a long string is decoded once and hashed as if it were short, wherever it is cut', () => {
  fc.assert(
    fc.property(text, cuts, turnLengths, fc.boolean(), (rest, places, ends, isEscaped) => {
      const given = `x${rest}`;
      const json = JSON.stringify(given).slice(1);
      const bytes = Buffer.from(isEscaped ? escaped(json) : json);
      const [read, plain] = [new LongText('bytes'), new LongText('text')];
      for (const part of pieces(bytes, places).filter(({ length }) => length > 0)) {
        expect(read.push(part, 0, part.length)).toBe(part.length);
        plain.push(part, 0, part.length);
      }
      expect([read.isComplete, plain.isComplete]).toEqual([true, true]);
      const turn = turns(ends);
      for (const work = read.finishing(turn); work.next().done !== true;);
      const expected = Buffer.from(given);
      expect(read.bytes.equals(expected)).toBe(true);
      expect(read.hash).toBe(textHash(expected, 0, expected.length));
      expect([read.text, plain.text]).toEqual([given, given]);
    }),
  );
});

describe('a long string with a mistake', () => {
  const long = 'é'.repeat(10_000);
  const bytesOf = (...parts: readonly (string | readonly number[] | Buffer)[]): Buffer =>
    Buffer.concat(
      parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Uint8Array.from(part))),
    );
  const mistakes: readonly (readonly [string, Buffer, string])[] = [
    ['a byte that is no UTF-8', bytesOf(long, [0xff], long), 'invalid UTF-8 sequence 0xff'],
    ['half a letter', bytesOf(long, [0xe1, 0x80], long), 'invalid UTF-8 sequence 0xe1 0x80 0xc3'],
    ['half a letter at its end', bytesOf(long, [0xc3]), 'invalid UTF-8 sequence 0xc3 0x00'],
    ['no such escape', bytesOf(long, '\\x', long), 'an escape'],
    ['half a pair', bytesOf(long, '\\ud834', long), 'half a surrogate pair'],
    ['a null character', bytesOf(long, '\\u0000', long), 'null character'],
    ['a control character', bytesOf(long, [0x0a], long), 'a control character'],
    ['our own sign at its beginning', bytesOf([0x01], '1', long), 'a control character'],
  ];

  test.each(mistakes)(
    '(%s) makes the update useless, and what follows is read',
    (_, wrong, why) => {
      const good = `"T":{"${uuid(1)}":{"insert":{"name":"${long}"}}}`;
      const update = (name: Buffer): Buffer =>
        bytesOf(
          '{"id":null,"method":"update3","params":["m","x",{"T":{',
          `"${uuid(2)}":{"insert":{"name":"${long}","alias":"`,
          name,
          `","tail":1}}}}]}{"id":null,"method":"update3","params":["m","x",{${good}}]}`,
        );
      const bytes = update(wrong);
      for (const size of [997, 9000, 20_011, bytes.length]) {
        const replies: (string | undefined)[] = [];
        const follower = new Follower(SCHEMA, LATER, 1000, () => undefined);
        const stream: MessageStream = new MessageStream(
          {
            sinkForReply: () => undefined,
            sinkForUpdate: () => follower.replica.reader('update2', 'changes'),
            message: (_message, _sink, _head, failure) => {
              replies.push(failure?.details);
            },
          },
          {},
          1000,
          LATER,
        );
        for (let at = 0; at < bytes.length; at += size) {
          stream.push(bytes.subarray(at, at + size));
          while (stream.isHeld) stream.resume();
        }
        expect(replies).toEqual([expect.stringContaining(why), undefined]);
      }
    },
  );

  test.each(mistakes)('(%s) is refused in a plain reply', (_, wrong, why) => {
    const bytes = bytesOf('{"id":1,"result":["', wrong, '"],"error":null}');
    for (const size of [997, 9000, 20_011]) {
      const stream = new MessageStream(
        { sinkForReply: () => undefined, sinkForUpdate: () => undefined, message: () => {} },
        {},
        1000,
      );
      expect(() => {
        for (let at = 0; at < bytes.length; at += size) stream.push(bytes.subarray(at, at + size));
      }).toThrow(why);
    }
  });
});

test('replies with strings of any length are the same whatever the pieces', () => {
  fc.assert(
    fc.property(
      fc.array(text, { maxLength: 12 }),
      fc.constantFrom(700, 3000, 5000, 9000),
      fc.constantFrom(1, 1000),
      (texts, size, streamFrom) => {
        const results: unknown[] = [];
        const stream = new MessageStream(
          {
            sinkForReply: () => undefined,
            sinkForUpdate: () => undefined,
            message: ({ result }) => results.push(result),
          },
          {},
          streamFrom,
        );
        const bytes = Buffer.from(JSON.stringify({ id: 1, result: texts, error: null }));
        for (let at = 0; at < bytes.length; at += size) stream.push(bytes.subarray(at, at + size));
        expect(results).toEqual([texts]);
      },
    ),
    { numRuns: 60 },
  );
});

test('the end of a long string with a mistake is found wherever it is cut', () => {
  const bytes = Buffer.concat([
    Buffer.of(0xff),
    Buffer.from(String.raw`\\\"\u12\"\ud834\udd1e\"""`),
  ]);
  for (let first = 1; first < bytes.length - 1; first++) {
    for (let second = first + 1; second < bytes.length; second++) {
      const text = new LongText('bytes');
      const stopped = [
        text.push(bytes, 0, first),
        text.push(bytes, first, second),
        text.isComplete ? undefined : text.push(bytes, second, bytes.length),
      ];
      expect(stopped).toEqual([
        first,
        second,
        second === bytes.length - 1 ? undefined : bytes.length - 1,
      ]);
      expect(() => text.bytes).toThrow();
    }
  }
});

test('what a peer sends is never taken for a string that is kept elsewhere', () => {
  const long = 'x'.repeat(30_000);
  const sign = '"\u00011"';
  const given = [
    `{"id":1,"result":["${long}",${sign},"${long}"],"error":null}`,
    // Whose this is comes at its end: until then it is only kept.
    `{"result":{${sign}:1,"b":"${long}"},"error":null,"id":1}`,
  ].map((json) => Buffer.from(json));
  const sizes = [5000, 9000, 100_000];
  for (const [bytes, size] of given.flatMap((one) => sizes.map((n) => [one, n] as const))) {
    const stream = new MessageStream(
      { sinkForReply: () => undefined, sinkForUpdate: () => undefined, message: () => {} },
      {},
      1000,
    );
    expect(() => {
      for (let at = 0; at < bytes.length; at += size) stream.push(bytes.subarray(at, at + size));
    }).toThrow('a control character');
  }
});

test('a limit of the size of a message counts long strings', () => {
  const update = JSON.stringify({
    id: null,
    method: 'update3',
    params: ['m', 'x', { T: { [uuid(1)]: { insert: { name: 'é'.repeat(50_000) } } } }],
  });
  const bytes = Buffer.from(update);
  const receive = (maxBytes: number): void => {
    const follower = new Follower(SCHEMA, ENDLESS, 1000, () => undefined);
    const stream = new MessageStream(
      {
        sinkForReply: () => undefined,
        sinkForUpdate: () => follower.replica.reader('update2', 'changes'),
        message: () => {},
      },
      { maxBytes },
    );
    for (let at = 0; at < bytes.length; at += 9000) stream.push(bytes.subarray(at, at + 9000));
  };
  receive(bytes.length);
  expect(() => {
    receive(bytes.length - 1);
  }).toThrow('larger than');
});

test('long strings are put together, and told as old values, in many turns', () => {
  const name = 'größe '.repeat(1_000_000);
  const follower = new Follower(SCHEMA, LATER, 1000, () => undefined);
  follower.push(Buffer.from(JSON.stringify({ id: 1, result: [false, uuid(0), {}] })));
  let pauses = 0;
  follower.onPause = () => pauses++;
  const push = (update: JsonValue): number => {
    pauses = 0;
    const params = ['m', uuid(0), { T: { [uuid(1)]: update } }];
    const bytes = Buffer.from(JSON.stringify({ id: null, method: 'update3', params }));
    for (let at = 0; at < bytes.length; at += 65_536)
      follower.push(bytes.subarray(at, at + 65_536));
    return pauses;
  };
  expect(push({ insert: { name } })).toBeGreaterThan(200);
  expect(push({ delete: null })).toBeGreaterThan(25);
  expect(follower.seen).toHaveLength(3);
  expect(JSON.stringify(follower.seen.at(-1))).toContain('"kind":"deleted"');
});

test('so are those of messages whose beginning does not tell what they are', () => {
  const long = 'größe '.repeat(1_000_000);
  const contents = [false, uuid(0), { T: { [uuid(1)]: { initial: { name: long } } } }];
  const messages: readonly JsonValue[] = [
    // Whose contents these are comes behind them.
    { result: contents, error: null, id: 1 },
    { error: long, id: 2, result: null },
    { id: 3, result: 'short', error: null },
  ];
  const follower = new Follower(SCHEMA, ENDLESS, 1000, () => undefined);
  const { replica } = follower;
  const told: unknown[] = [];
  const stream = new MessageStream(
    {
      sinkForReply: ({ id }) => (id === 1 ? replica.reader('update2', 'contents') : undefined),
      sinkForUpdate: () => undefined,
      message: ({ id, result, error }, sink) => {
        if (sink !== undefined) replica.show(sink as ReturnType<Replica['reader']>, true);
        told.push([id, result, error === long ? 'long' : error]);
      },
    },
    {},
    1000,
    LATER,
  );
  const bytes = Buffer.from(messages.map((message) => JSON.stringify(message)).join(''));
  let pauses = 0;
  for (let at = 0; at < bytes.length; at += 65_536) {
    stream.push(bytes.subarray(at, at + 65_536));
    for (; stream.isHeld; pauses++) stream.resume();
  }
  expect(told).toEqual([
    [1, undefined, null],
    [2, null, 'long'],
    [3, 'short', null],
  ]);
  expect(replica.row('T', uuid(1))?.column('name')).toBe(long);
  expect(pauses).toBeGreaterThan(400);
});
