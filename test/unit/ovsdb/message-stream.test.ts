import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Framer, jsonEquals, parseColumnType, parseDatum, parseJson } from 'ovsdb-client-ts/values';
import { Replica, stringify, type JsonValue, type OvsdbError } from 'ovsdb-client-ts';
import type { TakenUpdates } from '../../../src/ovsdb/wire/message.ts';
import { MessageStream } from '../../../src/ovsdb/wire/message-stream.ts';
import { VALUES_SCHEMA } from '../../support/ovsdb/ovsdb-values.ts';

/** The bytes cut at these places (anywhere, also inside of a character). */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => bytes.subarray(from, places[i] ?? bytes.length));
}

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

const cutting = fc.array(fc.nat(), { maxLength: 12 });

describe('framing', () => {
  test('every split of a stream gives the same messages', () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.constant('}{"\\"[\u{1d11e}'),
    );
    const message = fc.record({ id: fc.integer(), params: fc.array(text) });
    const messages = fc.array(message, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(messages, cutting, fc.constantFrom('', ' ', '\n\t '), (given, cuts, space) => {
        const bytes = Buffer.from(given.map((item) => JSON.stringify(item)).join(space));
        const framer = new Framer();
        const seen = pieces(bytes, cuts).flatMap((piece) => framer.push(piece));
        expect(seen.map((item) => JSON.parse(item.toString('utf8')) as unknown)).toEqual(given);
        expect(framer.isIdle).toBe(true);
      }),
    );
  });

  test.each([
    ['["array"]', 'must start with "{"'],
    ['{"a":1}x', 'must start with "{"'],
    ['}', 'must start with "{"'],
    [`{"a":${'['.repeat(1001)}`, 'nested more than 1000 levels'],
  ])('%.20s breaks the stream for good', (text, problem) => {
    const framer = new Framer();
    expect(() => framer.push(Buffer.from(text))).toThrow(problem);
    expect(() => framer.push(Buffer.from('{}'))).toThrow(problem);
  });

  test('a message larger than the limit breaks the stream before it is complete', () => {
    const framer = new Framer({ maxBytes: 100 });
    expect(() => framer.push(Buffer.from(`{"a":"${'x'.repeat(100)}`))).toThrow(
      'larger than 100 bytes',
    );
    expect(() => framer.push(Buffer.from('{}'))).toThrow('larger than 100 bytes');
  });

  test('nothing of the bytes that are given is kept: they may be overwritten', () => {
    const framer = new Framer();
    const chunk = Buffer.from('{"id":1}{"id":2');
    const messages = framer.push(chunk);
    chunk.fill('x');
    messages.push(...framer.push(Buffer.from('}')));
    expect(messages.map(String)).toEqual(['{"id":1}', '{"id":2}']);
  });
});

const json: fc.Arbitrary<JsonValue> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string(),
    fc.boolean(),
    fc.constant(null),
    fc.maxSafeInteger(),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => x + 0),
    fc.array(tie('value')),
    fc.dictionary(fc.string(), tie('value')),
  ),
})).value as fc.Arbitrary<JsonValue>;

describe('JSON', () => {
  test('what is written is read back, integers of 64 bits exactly', () => {
    fc.assert(
      fc.property(json, (value) => {
        const read = parseJson(stringify(value));
        expect(stringify(read)).toBe(stringify(value));
      }),
    );
  });

  test.each([
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9007199254740993', 9007199254740993n],
    ['9007199254740991', 9007199254740991],
    ['9223372036854775808', 9223372036854775808],
    ['-0', 0],
    ['-0.0', 0],
    ['1e3', 1000],
    ['1e+37', 1e37],
    ['1.79769313486232e+308', Number.MAX_VALUE],
    ['"\\ud834\\udd1e\\u0041\\/"', '\u{1d11e}A/'],
    ['{"a":1,"a":2}', { a: 2 }],
    [' [ 1 , 2 ] ', [1, 2]],
  ])('%s', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  test.each([
    ['01', 'must not start with 0'],
    ['1.', 'digit after the decimal point'],
    ['1e', 'digit of the exponent'],
    ['1e400', 'outside of the valid range'],
    ['"\\u0000"', 'null character'],
    ['"\\ud834"', 'half a surrogate pair'],
    ['"\\udd1e"', 'half a surrogate pair'],
    ['"\\x"', 'an escape'],
    ['"a\nb"', 'control character'],
    ['"a', 'the end of a string'],
    ['{"a" 1}', '":"'],
    ['[1,]', 'a number'],
    ['tru', 'true'],
    ['1 2', 'nothing more'],
    ['', 'a number'],
  ])('%s is refused', (text, problem) => {
    expect(() => parseJson(text)).toThrow(problem);
  });

  test.each([
    [[0xc0], '0xc0'],
    [[0x61, 0xed, 0xa0, 0x80], '0xed 0xa0'],
    [[0xf5, 0x80, 0x80, 0x80], '0xf5'],
    [[0xe0, 0x80, 0x80], '0xe0 0x80'],
    [[0xf4, 0x90, 0x80, 0x80], '0xf4 0x90'],
    [[0xed, 0x80, 0x7f], '0xed 0x80 0x7f'],
    [[0xe1, 0x80], '0xe1 0x80 0x00'],
    [[0xc3], '0xc3 0x00'],
    [[0x80], '0x80'],
  ])('bytes %j are refused with the words of ovsdb-server', (bytes, sequence) => {
    const refused = expect.objectContaining({
      code: 'constraint violation',
      details: `not a valid UTF-8 string: invalid UTF-8 sequence ${sequence}`,
    }) as Error;
    expect(() => parseJson(Uint8Array.from([0x22, ...bytes, 0x22]))).toThrow(refused);
    // The same with an escape before it, and as the value of a row.
    expect(() => parseJson(Uint8Array.from([0x22, 0x5c, 0x6e, ...bytes, 0x22]))).toThrow(refused);
    const replica = new Replica(VALUES_SCHEMA);
    const reader = replica.reader('update2', 'contents');
    const [before = '', after = ''] = `{"T":{"${uuid(1)}":{"initial":{"s":"*"}}}}`.split('*');
    const update = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
    expect(() => reader.push(update, 0, update.length)).toThrow(refused);
  });

  describe('a fraction that is lost in rounding makes no integer', () => {
    const [integer, real] = [parseColumnType('integer'), parseColumnType('real')];

    test.each([
      ['9007199254740993.5', 9007199254740994],
      ['4503599627370497.5', 4503599627370498],
      ['0.99999999999999999', 1],
      ['-1.00000000000000000001', -1],
      ['123456789012345678.5', 123456789012345680],
      ['-9223372036854775808.5', -(2 ** 63)],
      ['1e-400', 0],
    ])('%s', (text, value) => {
      const read = parseJson(text);
      expect(() => parseDatum(integer, read)).toThrow('expected integer');
      expect(parseDatum(real, read)).toBe(value);
      expect(stringify([read])).toBe(`[${value}]`);
      expect(jsonEquals(read, parseJson(text))).toBe(true);
      expect(jsonEquals([read], [value])).toBe(true);
      expect(jsonEquals(read, value + 2 ** 60)).toBe(false);
      const replica = new Replica(VALUES_SCHEMA);
      const update = (column: string): Buffer =>
        Buffer.from(`{"T":{"${uuid(1)}":{"initial":{"${column}":${text}}}}}`);
      const reals = replica.reader('update2', 'contents');
      reals.push(update('r'), 0, update('r').length);
      replica.show(reals, true);
      expect(replica.row('T', uuid(1))?.column('r')).toBe(value);
      const integers = replica.reader('update2', 'contents');
      expect(() => integers.push(update('i'), 0, update('i').length)).toThrow(
        `${text} is not an integer`,
      );
    });

    test.each([
      ['9007199254740993.0', 9007199254740993n],
      ['0.3e1', 3],
      ['1234567890123456.70e1', 12345678901234567n],
      ['0.000', 0],
      ['0e-400', 0],
    ])('%s is one', (text, value) => {
      expect(parseDatum(integer, parseJson(text))).toBe(value);
    });
  });
});

describe('plain values in a stream', () => {
  /** The messages of a stream whose replies bring no table updates. */
  function receive(bytes: Buffer, places: readonly number[], largeRow: number): unknown[] {
    const messages: unknown[] = [];
    const stream = new MessageStream(
      {
        sinkForReply: () => undefined,
        sinkForUpdate: () => undefined,
        message: ({ id, result, error }) => {
          messages.push({ id, result, error });
        },
      },
      { largeRow },
    );
    for (const piece of pieces(bytes, places)) stream.push(piece);
    return messages;
  }

  test('are the same whatever the pieces, and however large', () => {
    fc.assert(
      fc.property(
        fc.array(json, { minLength: 1, maxLength: 3 }),
        cutting,
        fc.constantFrom(1, 20, 100),
        fc.constantFrom('', ' \n'),
        (values, places, largeRow, space) => {
          const replies = values.map((result, id) => ({ id, result, error: null }));
          const bytes = Buffer.from(
            replies.map((reply) => stringify(reply).replace(/^\{/, `{${space}`)).join(space),
          );
          const read = replies.map((reply) => parseJson(stringify(reply)));
          expect(receive(bytes, places, largeRow)).toEqual(read);
          const everywhere = Array.from({ length: bytes.length }, (_, at) => at);
          expect(receive(bytes, everywhere, 1)).toEqual(read);
        },
      ),
    );
  });

  test.each([
    ['{"id":1,"result":[1,],"error":null}', 'a number'],
    ['{"id":1,"result":[1 2],"error":null}', '","'],
    ['{"id":1,"result":{"a":1,},"error":null}', 'a string'],
    ['{"id":1,"result":{"a" 1},"error":null}', '":"'],
    ['{"id":1,"result":[01],"error":null}', 'must not start with 0'],
    ['{"id":1,"result":["\\ud834"],"error":null}', 'half a surrogate pair'],
    ['{"id":1,"result":[nul],"error":null}', 'null'],
    ['{"id":1,"result":[1],"sort":2}', 'unexpected member "sort"'],
  ])('%s is refused', (text, problem) => {
    const bytes = Buffer.from(text);
    const everywhere = Array.from({ length: bytes.length }, (_, at) => at);
    for (const places of [[], [9], everywhere]) {
      expect(() => receive(bytes, places, 1)).toThrow(problem);
      expect(() => receive(bytes, places, 1e9)).toThrow(problem);
    }
  });
});

describe('updates in a stream', () => {
  const rows = fc.array(
    fc.record({
      i: fc.integer(),
      s: fc.string({ unit: 'binary' }),
      s_set: fc.uniqueArray(fc.string()),
    }),
    {
      maxLength: 30,
    },
  );
  const wellFormed = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

  /** Contents of a replica that reads these bytes, cut here, and the plain messages around the updates. */
  function receive(bytes: Buffer, cuts: readonly number[], largeRow: number) {
    const replica = new Replica(VALUES_SCHEMA);
    const messages: JsonValue[] = [];
    const stream = new MessageStream(
      {
        sinkForReply: (head) =>
          head.id === undefined || head.id === 7
            ? replica.reader('update2', 'contents')
            : undefined,
        sinkForUpdate: (head) =>
          head.monitor === 'm' ? replica.reader('update2', 'changes') : undefined,
        message: (message, { sink, head, failure }: Partial<TakenUpdates> = {}) => {
          if (failure !== undefined) throw failure;
          if (sink !== undefined) replica.show(sink as ReturnType<Replica['reader']>, true);
          messages.push({ id: message.id ?? null, lastId: head?.lastId ?? null });
        },
      },
      { largeRow },
    );
    for (const piece of pieces(bytes, cuts)) stream.push(piece);
    const contents = [...replica.rows('T')]
      .sort((a, b) => a.uuid.localeCompare(b.uuid))
      .map((row) => [row.uuid, row.column('i'), row.column('s'), row.column('s_set')]);
    return { contents, messages };
  }

  test('arrive whole, whatever the pieces and however large', () => {
    fc.assert(
      fc.property(
        rows,
        cutting,
        fc.constantFrom(1, 40, 300, 1e9),
        fc.boolean(),
        (given, cuts, largeRow, idFirst) => {
          const clean = given.filter((row) => wellFormed(row.s) && row.s_set.every(wellFormed));
          const table = Object.fromEntries(
            clean.map((row, n) => [
              uuid(n + 1),
              { initial: { i: row.i, s: row.s, s_set: ['set', row.s_set] } },
            ]),
          );
          const result = [false, uuid(0), { T: table }];
          const reply = idFirst ? { id: 7, result, error: null } : { error: null, result, id: 7 };
          const update = {
            method: 'update3',
            id: null,
            params: ['m', uuid(99), { T: { [uuid(500)]: { insert: { s: '}]{"' } } } }],
          };
          const bytes = Buffer.from(
            `${JSON.stringify(reply)}${JSON.stringify(update)}{"id":8,"result":{},"error":null}`,
          );
          const received = receive(bytes, cuts, largeRow);
          expect(received).toEqual(receive(bytes, [], 1e9));
          expect(received.contents).toHaveLength(clean.length + 1);
          expect(received.messages).toEqual([
            { id: 7, lastId: uuid(0) },
            { id: null, lastId: uuid(99) },
            { id: 8, lastId: null },
          ]);
        },
      ),
    );
  });

  test('that are of no use do not disturb what follows', () => {
    const bad = {
      id: 7,
      result: [false, uuid(0), { T: { [uuid(1)]: { initial: { i: 'no number' } } } }],
      error: null,
    };
    for (const largeRow of [1, 1e9]) {
      const failures: string[] = [];
      const replica = new Replica(VALUES_SCHEMA);
      const stream = new MessageStream(
        {
          sinkForReply: () => replica.reader('update2', 'contents'),
          sinkForUpdate: () => undefined,
          message: (message, { failure }: Partial<TakenUpdates> = {}) => {
            failures.push(`${JSON.stringify(message.id)} ${failure?.code ?? 'fine'}`);
          },
        },
        { largeRow },
      );
      const bytes = Buffer.from(`${JSON.stringify(bad)}{"id":8,"result":{},"error":null}`);
      for (const piece of pieces(bytes, [10, 40, 70, 100])) stream.push(piece);
      expect(failures).toEqual(['7 syntax error', '8 fine']);
      expect(replica.size('T')).toBe(0);
    }
  });

  test.each([
    ['before them', (text: string) => text.replace('{', '{"sort":2,')],
    ['behind them', (text: string) => text.replace(/\}$/, ',"sort":2}')],
  ])('a message with an unexpected member %s is refused, however large', (_where, change) => {
    const row = `"${uuid(1)}":{"initial":{"s":"a"}}`;
    const reply = `{"id":7,"result":[false,"${uuid(0)}",{"T":{${row}}}],"error":null}`;
    const bytes = Buffer.from(change(reply));
    for (const largeRow of [1, 40, 1e9]) {
      for (const cuts of [[], [60]])
        expect(() => receive(bytes, cuts, largeRow)).toThrow('unexpected member "sort"');
    }
  });

  describe('that arrive with much of them at once', () => {
    const rows = Array.from(
      { length: 300 },
      (_, n) => `"${uuid(n + 1)}":{"insert":{"s":"row ${n}"}}`,
    );
    const update = `{"method":"update3","id":null,"params":["m","${uuid(9)}",{"T":{${rows.join(',')}}}]}`;

    /** What the replica has and what was told after each piece; the error that ends the stream. */
    function follow(given: readonly string[]) {
      const replica = new Replica(VALUES_SCHEMA);
      const seen: string[] = [];
      const stream = new MessageStream({
        sinkForReply: () => undefined,
        sinkForUpdate: () => replica.reader('update2', 'changes'),
        message: (message, { sink, failure }: Partial<TakenUpdates> = {}) => {
          if (sink !== undefined && failure === undefined)
            replica.show(sink as ReturnType<Replica['reader']>, true);
          seen.push(`${JSON.stringify(message.id ?? null)} ${failure?.details ?? 'fine'}`);
        },
      });
      const errors = given.map((piece) => {
        try {
          stream.push(Buffer.from(piece));
          return undefined;
        } catch (error) {
          return (error as Error).message;
        }
      });
      return { rows: replica.size('T'), seen, errors };
    }

    test('are read before they are complete, with what follows', () => {
      const text = `${update}{"id":8,"result":{},"error":null}`;
      const all = { rows: 300, seen: ['null fine', '8 fine'] };
      expect(follow([text])).toMatchObject(all);
      for (let cut = 9000; cut < text.length; cut += 37) {
        expect(follow([text.slice(0, cut), text.slice(cut)])).toMatchObject(all);
      }
    });

    test('are not read from a stream that is broken', () => {
      const { rows: read, errors } = follow(['nonsense', update]);
      expect(read).toBe(0);
      expect(errors).toEqual([
        expect.stringContaining('must start with "{"'),
        expect.stringContaining('must start with "{"'),
      ]);
    });

    test('break the stream when a value follows a row without a comma, also at the end of a piece', () => {
      const cut = update.lastIndexOf('}}') + 2;
      const bad = `${update.slice(0, cut - 1)}{${update.slice(cut)}`;
      for (const pieces of [[bad], [bad.slice(0, cut - 1), bad.slice(cut - 1)]])
        expect(follow(pieces).errors.at(-1)).toContain("byte 0x7b can't follow a value");
    });

    test('are told as a failure when one row is bad, and what follows is read', () => {
      const bad = update.replace('"row 3"', '3');
      const { rows: read, seen } = follow([
        bad.slice(0, 10_000),
        `${bad.slice(10_000)}{"id":8,"result":{}}`,
      ]);
      expect(read).toBe(0);
      expect(seen).toEqual([expect.stringContaining('a string'), '8 fine']);
    });
  });
});

describe('the limit of what is kept of a message', () => {
  const rows = Array.from(
    { length: 100 },
    (_, n) => `"${uuid(n + 1)}":{"insert":{"s":"row ${n}"}}`,
  );
  const updateOf = (members: readonly string[]): string =>
    `{"method":"update3","id":null,"params":["m","${uuid(9)}",{"T":{${members.join(',')}}}]}`;

  /** What is told of a stream that comes in pieces of 100 bytes. */
  function follow(text: string): string[] {
    const replica = new Replica(VALUES_SCHEMA);
    const seen: string[] = [];
    const stream = new MessageStream(
      {
        sinkForReply: () => undefined,
        sinkForUpdate: () => replica.reader('update2', 'changes'),
        message: (_message, { sink, failure }: Partial<TakenUpdates> = {}) => {
          if (failure !== undefined) throw failure;
          if (sink !== undefined) replica.show(sink as ReturnType<Replica['reader']>, true);
          seen.push(`${replica.size('T')} rows`);
        },
      },
      { maxMessageBytes: 1000, largeRow: 300 },
    );
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 100) stream.push(bytes.subarray(at, at + 100));
    return seen;
  }

  test('is for a row of table updates, not for all of them', () => {
    expect(follow(updateOf(rows))).toEqual(['100 rows']);
    const long = `"${uuid(1)}":{"insert":{"s":"${'x'.repeat(800)}"}}`;
    expect(follow(updateOf([...rows.slice(1), long]))).toEqual(['100 rows']);
  });

  test.each([
    [
      'a row',
      updateOf([`"${uuid(1)}":{"insert":{"s":"${'x'.repeat(2000)}"}}`]),
      'a row of a message',
    ],
    ['a reply', `{"id":1,"result":["${'x'.repeat(2000)}"],"error":null}`, 'a message'],
    ['what is not even a message', `{"${'x'.repeat(2000)}`, 'a message'],
  ])(
    '%s that is larger is refused before it is complete, with the name of the setting',
    (_, text, what) => {
      const error = `${what} is larger than 1000 bytes; the option maxMessageBytes would allow more`;
      expect(() => follow(text)).toThrow(error);
      expect(() => follow(text.slice(0, 1300))).toThrow(error);
    },
  );

  test('does not count what follows updates of no use', () => {
    const bad = updateOf(['"no uuid":{}', ...rows]);
    expect(() => follow(bad)).toThrow('is not the UUID of a row');
  });
});

test('a damaged stream is understood in the same way wherever it is cut', () => {
  const updates = fc
    .array(
      fc.record({
        row: fc.integer({ min: 1, max: 4 }),
        kind: fc.constantFrom('insert', 'modify', 'delete', 'initial'),
        s: fc.constantFrom('a', '}]{"', 'x'.repeat(40)),
      }),
      { maxLength: 4 },
    )
    .map((rows) => ({
      T: Object.fromEntries(
        rows.map(({ row, kind, s }) => [uuid(row), { [kind]: { s, s_set: ['set', ['b{']] } }]),
      ),
    }));
  const message = updates.chain((tables) =>
    fc.constantFrom<JsonValue>(
      { id: 1, result: [false, uuid(9), tables], error: null },
      { error: null, result: [false, uuid(9), tables], id: 1 },
      { id: null, method: 'update3', params: ['m', uuid(7), tables] },
      { params: ['m', uuid(7), tables], id: null, method: 'update3' },
      { id: 8, result: [{ a: [1, 2, {}] }], error: null },
    ),
  );
  const damage = fc.array(
    fc.record({ at: fc.nat(), byte: fc.constantFrom(...Buffer.from('{}[]",:\\x\u0001 ')) }),
    { maxLength: 3 },
  );
  /** What is told, and what the replica has then. */
  function receive(bytes: Buffer, cuts: readonly number[], largeRow: number): string[] {
    const seen: string[] = [];
    const replica = new Replica(VALUES_SCHEMA);
    const stream = new MessageStream(
      {
        sinkForReply: ({ id }) =>
          id === 1 || id === undefined ? replica.reader('update2', 'contents') : undefined,
        sinkForUpdate: ({ monitor }) =>
          monitor === 'm' ? replica.reader('update2', 'changes') : undefined,
        message: ({ id, method }, { sink, failure }: Partial<TakenUpdates> = {}) => {
          let outcome = failure?.code ?? 'fine';
          try {
            if (sink !== undefined && failure === undefined)
              replica.show(sink as ReturnType<Replica['reader']>, true);
          } catch (error) {
            outcome = (error as OvsdbError).code;
          }
          replica.discard();
          const rows = [...replica.rows('T')].map((row) => JSON.stringify(row)).sort();
          seen.push(stringify([id ?? null, method ?? null, outcome, rows]));
        },
      },
      { largeRow },
    );
    try {
      for (const piece of pieces(bytes, cuts)) stream.push(piece);
    } catch (error) {
      seen.push(`broken: ${(error as OvsdbError).code}`);
    }
    return seen;
  }
  fc.assert(
    fc.property(
      fc.array(message, { minLength: 1, maxLength: 3 }),
      damage,
      cutting,
      fc.constantFrom(1, 10, 100),
      (messages, damages, cuts, largeRow) => {
        const bytes = Buffer.from(messages.map(stringify).join(''));
        for (const { at, byte } of damages) bytes[at % bytes.length] = byte;
        expect(receive(bytes, cuts, largeRow)).toEqual(receive(bytes, [], 1e9));
      },
    ),
    { numRuns: 1000 },
  );
});
