import { describe, expect, test } from 'vitest';
import {
  canonicalText,
  Framer,
  jsonEquals,
  parseJson,
  parseJsonText,
  type FramerLimits,
} from 'ovsdb-client-ts/values';
import { stringify, type JsonValue } from 'ovsdb-client-ts';
import { outcome, refused } from '../../support/run/outcome.ts';

const SYNTAX = refused('syntax error');
const BROKEN = refused('protocol');

describe('JSON', () => {
  test.each<[string, string]>([
    [' [   ] ', '[]'],
    [' [ 1 ] ', '[1]'],
    ['[1, 2, 3,\t4,\r\n5]', '[1,2,3,4,5]'],
    ['[""]', '[""]'],
    [String.raw`[" \" \\ \/ \b \f \n \r \t"]`, String.raw`[" \" \\ / \b \f \n \r \t"]`],
    [
      String.raw`[" \u0022 \u005c \u002F \u0008 \u000c \u000A \u000d \u0009"]`,
      String.raw`[" \" \\ / \b \f \n \r \t"]`,
    ],
    [String.raw`["\ud834\udd1e\u20AC\u00e9\u0001"]`, '["\u{1d11e}\u20ac\u00e9\\u0001"]'],
    ['["\u{1d11e}\u20ac"]', '["\u{1d11e}\u20ac"]'],
    ['{ }', '{}'],
    ['{"b": 2, "a": 1, "c": {"d":[]}}', '{"b":2,"a":1,"c":{"d":[]}}'],
    ['{"a":1,"a":2}', '{"a":2}'],
    ['{"__proto__":1,"toString":2}', '{"__proto__":1,"toString":2}'],
    ['[null,false,true]', '[null,false,true]'],
    [
      '[1.0000000000,2.00000000000000000000000000000000000,2e5,2.1234e4,2.1230e3,0e-10000,0e10000]',
      '[1,2,200000,21234,2123,0,0]',
    ],
    ['[9223372036854775807,-9223372036854775808]', '[9223372036854775807,-9223372036854775808]'],
    [
      '[9223372036854775807.0,-9223372036854775808.0,92233720.36854775807e11,-9.223372036854775808e18]',
      '[9223372036854775807,-9223372036854775808,9223372036854775807,-9223372036854775808]',
    ],
    ['[-0,-0.0,1e-9999,-1e-9999]', '[0,0,0,0]'],
    ['[0.0,1.0,3.5,81.250]', '[0,1,3.5,81.25]'],
    ['[1e3,1E3,2.5E2,1e+3,125e-3,3.125e-2,3125e-05]', '[1000,1000,250,1000,0.125,0.03125,0.03125]'],
    ['[-1e3,-2.5E2,-125e-3,-8.1250]', '[-1000,-250,-0.125,-8.125]'],
    [
      '[999999999999999,9999999999999999,9007199254740993]',
      '[999999999999999,9999999999999999,9007199254740993]',
    ],
  ])('%s is %s', (text, expected) => {
    expect(stringify(parseJson(text))).toBe(expected);
    expect(stringify(parseJson(Buffer.from(text)))).toBe(expected);
    expect(jsonEquals(parseJson(expected), parseJson(text))).toBe(true);
  });

  test('integers too large for 64 bits are reals', () => {
    expect(parseJson('[9223372036854775807000,-92233720368547758080000]')).toEqual([
      9.223372036854776e21, -9.223372036854776e22,
    ]);
  });

  test.each([
    '',
    '   ',
    '[1, 2, 3 4, 5]',
    '[1,2,]',
    '[1,,2]',
    '[,1]',
    '[',
    '[1',
    ']',
    '"xxx',
    '["xxx\n"]',
    '["xxx\f"]',
    String.raw`["\x12"]`,
    String.raw`["\u1x"]`,
    String.raw`["\u12"]`,
    String.raw`["\ud834xxx"]`,
    String.raw`["\ud834\u1234"]`,
    String.raw`["\udd1e"]`,
    String.raw`["\u0000"]`,
    '{"a": }, "b": 2}',
    '{"b": 2, "a" 1}',
    '{"b": 2 "a": 1}',
    '{"b": 2, "a": 1, }',
    '{"b": 2, "a": 1,, "c": 3}',
    '{1: 2}',
    '{null: 2}',
    '{',
    '{"a"',
    '{"a":',
    '[nullify]',
    '[nubs]',
    '[xxx]',
    '[True]',
    '[NaN]',
    '[Infinity]',
    '[0123]',
    '[-01]',
    '[+1]',
    '[.5]',
    '[-]',
    '[0x10]',
    '[1e9999]',
    '[-1e9999]',
    '[1e9999999999999999999]',
    '[1e-9999999999999999999]',
    '[-0.5e-2147483648]',
    '[1.]',
    '[1.e5]',
    '[1e]',
    '[1e+]',
    '[1e-]',
    '[1]null',
    '[1][2]',
    '{}x',
    '\f[]',
    '\u00a0[]',
    '\ufeff[]',
    ';',
    "['a']",
    '[1] // one',
  ])('%j is none', (text) => {
    expect(outcome(() => parseJson(text))).toEqual(SYNTAX);
  });

  test.each([
    ['arrays', '[', ']'],
    ['objects', '{"x":', '}'],
  ])('1000 levels of %s and no more', (_name, open, close) => {
    const nested = (levels: number): string =>
      open.repeat(levels - 1) + (open === '[' ? '[]' : '{}') + close.repeat(levels - 1);
    expect(stringify(parseJson(nested(1000)))).toBe(nested(1000));
    expect(outcome(() => parseJson(nested(1001)))).toEqual(SYNTAX);
    expect(outcome(() => parseJson(nested(100_000)))).toEqual(SYNTAX);
  });
});

/** All messages of a stream that arrives in these pieces, as text. */
function framed(pieces: readonly (string | Uint8Array)[], limits?: FramerLimits): unknown {
  const framer = new Framer(limits);
  return outcome(() =>
    pieces.flatMap((piece) => framer.push(Buffer.from(piece as string)).map(String)),
  );
}

const bytewise = (text: string): Uint8Array[] =>
  [...Buffer.from(text)].map((byte) => Uint8Array.of(byte));

describe('framing', () => {
  test.each<[string, readonly string[]]>([
    ['{}', ['{}']],
    ['{}{}{}', ['{}', '{}', '{}']],
    ['{}  {}\n{}\r\n\t{} ', ['{}', '{}', '{}', '{}']],
    ['{"a":"}"}{"b":"{"}', ['{"a":"}"}', '{"b":"{"}']],
    [String.raw`{"a":"\"}"}{"b":"\\"}{}`, [String.raw`{"a":"\"}"}`, String.raw`{"b":"\\"}`, '{}']],
    ['{"a":[{"b":"]"},{}]}{}', ['{"a":[{"b":"]"},{}]}', '{}']],
    ['{"\u{1d11e}":"\u20ac}"}{}', ['{"\u{1d11e}":"\u20ac}"}', '{}']],
    ['', []],
    [' \n', []],
    ['{}{"a":', ['{}']],
  ])('%j, however it is cut', (text, expected) => {
    const bytes = Buffer.from(text);
    expect(framed([bytes])).toEqual(expected);
    expect(framed(bytewise(text))).toEqual(expected);
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(framed([bytes.subarray(0, cut), bytes.subarray(cut)]), `cut at ${cut}`).toEqual(
        expected,
      );
    }
  });

  test.each([
    'x',
    '[]',
    '{}x{}',
    '{},{}',
    '"a"',
    '1',
    'null',
    '{}}',
    ']',
    '\0{}',
    '\ufeff{}',
    'GET / HTTP/1.1',
    // A bracket or a quotation mark is missing, and the next message would become part of this one.
    '{"a":{"b":1}{"c":1}',
    '{"a":[[1]{"c":1}',
    '{"a":"b}{"c":1}',
    '{"a:"b"}',
    '{"a":[1]"b"}',
  ])('%j is a broken stream', (text) => {
    expect(framed([text])).toEqual(BROKEN);
    expect(framed(bytewise(text))).toEqual(BROKEN);
  });

  test('a stream that is broken stays broken', () => {
    const framer = new Framer();
    expect(outcome(() => framer.push(Buffer.from('x')))).toEqual(BROKEN);
    expect(outcome(() => framer.push(Buffer.from('{}')))).toEqual(BROKEN);
  });

  test('a stream may only end between messages', () => {
    const framer = new Framer();
    expect(framer.isIdle).toBe(true);
    framer.push(Buffer.from('{"a":"'));
    expect(framer.isIdle).toBe(false);
    framer.push(Buffer.from('}"} '));
    expect(framer.isIdle).toBe(true);
  });

  test.each<[string, FramerLimits, boolean]>([
    ['{"a":1}', { maxBytes: 7 }, true],
    ['{"a":1}', { maxBytes: 6 }, false],
    ['{}{}{}{}', { maxBytes: 2 }, true],
    ['{"a":[[]]}', { maxDepth: 3 }, true],
    ['{"a":[[]]}', { maxDepth: 2 }, false],
    [`{"a":${'['.repeat(999)}${']'.repeat(999)}}`, {}, true],
    [`{"a":${'['.repeat(1000)}${']'.repeat(1000)}}`, {}, false],
    [`{"a":"${'['.repeat(5000)}"}`, {}, true],
  ])('limits of size and nesting: %.20s %o', (text, limits, isWithin) => {
    const expected = isWithin ? framed([text], { maxDepth: 10_000 }) : BROKEN;
    expect(framed([text], limits)).toEqual(expected);
    expect(framed(bytewise(text), limits)).toEqual(expected);
  });

  test('a message that never ends is refused before it is complete', () => {
    const framer = new Framer({ maxBytes: 1000 });
    const push = (): JsonValue => {
      for (let i = 0; i < 50; i++) framer.push(Buffer.from(i === 0 ? '{"a":"' : 'x'.repeat(50)));
      return 'accepted';
    };
    expect(outcome(push)).toEqual(BROKEN);
  });
});

test.each(['1', '"xxx"', 'null', 'true', ' -1.5 '])(
  '%s by itself is a value but no text',
  (text) => {
    expect(outcome(() => parseJsonText(text))).toEqual(refused('syntax error'));
    expect(parseJson(text)).toEqual(JSON.parse(text));
  },
);

test.each<[string, string]>([
  ['{"b":1,"a":{"d":[{"z":0,"y":1}],"c":2}}', '{"a":{"c":2,"d":[{"y":1,"z":0}]},"b":1}'],
  // In the order of their text, also where JavaScript has another one.
  ['{"9":1,"10":2,"__proto__":3,"":4}', '{"":4,"10":2,"9":1,"__proto__":3}'],
  ['{"\u{1d11e}":1,"\uffff":2}', '{"\uffff":2,"\u{1d11e}":1}'],
  [
    '[1e-5,-0.00015,1.525878906e-5,2.5e-10,1e-100,1e21,0.5,-0]',
    '[1e-05,-0.00015,1.525878906e-05,2.5e-10,1e-100,1e+21,0.5,0]',
  ],
  ['[9223372036854775807,0.30000000000000004]', '[9223372036854775807,0.30000000000000004]'],
])('canonical text of %s', (text, canonical) => {
  expect(canonicalText(parseJson(text))).toBe(canonical);
  expect(jsonEquals(parseJson(canonicalText(parseJson(text))), parseJson(text))).toBe(true);
});

test.each<[JsonValue, JsonValue, boolean]>([
  [0.5, 9223372036854775807n, false],
  [9007199254740992, 9007199254740992n, true],
  [9007199254740994, 9007199254740993n, false],
  ['1', 1n, false],
  [[1, { a: 2n ** 60n }], [1, { a: 2n ** 60n }], true],
])('%o and %o are equal: %j', (a, b, expected) => {
  expect(jsonEquals(a, b)).toBe(expected);
  expect(jsonEquals(b, a)).toBe(expected);
});
