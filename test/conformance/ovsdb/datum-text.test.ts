import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  atomText,
  datumText,
  parseAtomRange,
  parseAtomText,
  parseBaseType,
  parseColumnType,
  parseDatum,
  parseDatumText,
  realText,
} from 'ovsdb-client-ts/values';
import { datumEquals, type JsonValue } from 'ovsdb-client-ts';
import { outcome, refused } from '../../support/run/outcome.ts';
import { valueJson, VALUES_SCHEMA } from '../../support/ovsdb/ovsdb-values.ts';

const atom = (type: JsonValue, text: string): string => {
  const base = parseBaseType(type);
  return atomText(base.type, parseAtomText(base, text));
};
const datum = (json: JsonValue, text: string): string => {
  const type = parseColumnType(json);
  return datumText(type, parseDatumText(type, text));
};

const A = '550e8400-e29b-41d4-a716-446655440000';
const B = '90558331-09af-4d2f-a572-509cad2e9088';

describe('atoms as people write them', () => {
  test.each<[JsonValue, string, string]>([
    ['integer', '0', '0'],
    ['integer', '-1', '-1'],
    ['integer', '+1000', '1000'],
    ['integer', '9223372036854775807', '9223372036854775807'],
    ['integer', '-9223372036854775808', '-9223372036854775808'],
    ['real', '-0.0', '0'],
    ['real', '-1.25', '-1.25'],
    ['real', '1e3', '1000'],
    ['real', '1e37', '1e+37'],
    ['real', '0.00390625', '0.00390625'],
    ['boolean', 'true', 'true'],
    ['boolean', 'off', 'false'],
    ['string', 'unquoted', 'unquoted'],
    ['string', '"quoted-string"', 'quoted-string'],
    ['string', '"needs quotes"', '"needs quotes"'],
    ['string', '""', '""'],
    ['string', '"true"', '"true"'],
    ['string', String.raw`"\"\\\/\b\f\n\r\t"`, String.raw`"\"\\/\b\f\n\r\t"`],
    ['string', `"f${A.slice(1)}"`, `"f${A.slice(1)}"`],
    ['uuid', A.toUpperCase(), A],
  ])('%j: %s is %s', (type, text, expected) => {
    expect(atom(type, text)).toBe(expected);
  });

  test.each<[JsonValue, string, string]>([
    ['integer', '0.5', '"0.5" is not a valid integer or range'],
    ['integer', '1-2', '"1-2" is not a valid integer or range'],
    ['integer', '9223372036854775808', '"9223372036854775808" is not a valid integer or range'],
    ['real', '1e999', '"1e999" is not a valid real number'],
    ['boolean', '"true"', '""true"" is not a valid boolean (use "true" or "false")'],
    ['string', '', 'An empty string is not valid as input; use "" to represent the empty string'],
    ['string', '"asdf', '"asdf: missing quote at end of quoted string'],
    ['string', '"as"df"', '"as"df": quoted string may not include unescaped "'],
    ['string', String.raw`"asdf\"`, String.raw`"asdf\": quoted string may not end with backslash`],
    ['uuid', '1234-5678', '"1234-5678" is not a valid UUID'],
    [{ type: 'integer', maxInteger: 5 }, '6', '6 is greater than maximum allowed value 5'],
  ])('%j does not take %s', (type, text, problem) => {
    expect(() => atom(type, text)).toThrow(problem);
  });

  test.each<[JsonValue, string, readonly (string | number | bigint)[]]>([
    ['integer', '7', [7, 7]],
    ['integer', '2-2', [2, 2]],
    ['integer', '0-4095', [0, 4095]],
    ['integer', '-4--1', [-4, -1]],
    ['integer', '+3-+8', [3, 8]],
    [
      'integer',
      '-9223372036854775808--9223372036854775807',
      [-9223372036854775808n, -9223372036854775807n],
    ],
    [{ type: 'integer', enum: ['set', [1, 2, 3, 9]] }, '1-3', [1, 3]],
    [{ type: 'integer', minInteger: 1, maxInteger: 4 }, '1-4', [1, 4]],
    ['string', '1-2', ['1-2', '1-2']],
  ])('%j: integers of a range, %s', (json, text, range) => {
    expect(parseAtomRange(parseBaseType(json), text)).toEqual(range);
  });

  test.each<[JsonValue, string, string]>([
    ['integer', '8-7', '"8-7" is not a valid range. Range end cannot be before start.'],
    ['integer', '-1--2', '"-1--2" is not a valid range. Range end cannot be before start.'],
    [
      'integer',
      '0-4096',
      'constraint violation: Range "0-4096" is too big. Maximum allowed size is 4096.',
    ],
    ['integer', '0-9223372036854775807', 'is too big. Maximum allowed size is 4096.'],
    ['integer', '0-9223372036854775808', 'is not a valid integer or range'],
    ['integer', '1-2-3', 'is not a valid integer or range'],
    ['integer', '1-', 'is not a valid integer or range'],
    ['real', '1-2', '"1-2" is not a valid real number'],
    [
      { type: 'integer', enum: ['set', [1, 3]] },
      '1-3',
      '2 is not one of the allowed values ([1, 3])',
    ],
    [
      { type: 'integer', minInteger: 1, maxInteger: 4 },
      '0-4',
      '0 is not in the valid range 1 to 4',
    ],
    [{ type: 'integer', maxInteger: 4 }, '0-9', '9 is greater than maximum allowed value 4'],
  ])('%j: no range, %s', (json, text, problem) => {
    expect(() => parseAtomRange(parseBaseType(json), text)).toThrow(problem);
  });

  test.each<[number, string]>([
    [0, '0'],
    [-0, '0'],
    [1.7976931348623157e308, '1.79769313486232e+308'],
    [1e15, '1e+15'],
    [123456789012345, '123456789012345'],
    [0.0001, '0.0001'],
    [0.00001, '1e-05'],
    [1 / 3, '0.333333333333333'],
    [-2.5, '-2.5'],
  ])('the real %d has 15 digits: %s', (value, text) => {
    expect(realText(value)).toBe(text);
  });
});

describe('values as people write them', () => {
  const SET = { key: 'integer', min: 0, max: 'unlimited' };
  const MAP = { key: 'integer', value: 'boolean', max: 'unlimited' };
  test.each<[JsonValue, string, string]>([
    ['integer', '+1', '1'],
    ['string', '"x"', 'x'],
    [{ key: 'boolean', min: 0 }, 'true', 'true'],
    [{ key: 'boolean', min: 0 }, '[]', '[]'],
    [SET, '0', '[0]'],
    [SET, '0, 1, 2', '[0, 1, 2]'],
    [SET, '[4, 1,2, 3 0]', '[0, 1, 2, 3, 4]'],
    [SET, '3-5', '[3, 4, 5]'],
    [SET, '[9, -2-+1 5-5]', '[-2, -1, 0, 1, 5, 9]'],
    [SET, '-7--5', '[-7, -6, -5]'],
    [
      { key: 'integer', max: 2 },
      '9007199254740991-9007199254740992',
      '[9007199254740991, 9007199254740992]',
    ],
    [{ key: 'uuid', max: 3 }, `[${B},\n      ${A}]`, `[${A}, ${B}]`],
    [
      { key: 'string', min: 0, max: 3 },
      '"zzz","short string","a longer one"',
      '["a longer one", "short string", zzz]',
    ],
    [{ key: 'string', max: 3 }, String.raw`a\ b, c\,d, "e\\f"`, String.raw`["a b", "c,d", "e\\f"]`],
    [{ key: 'string', value: 'string', max: 2 }, String.raw`a\=b=c\,d`, '{"a=b"="c,d"}'],
    [{ key: 'integer', value: 'boolean' }, '1=true', '1=true'],
    [MAP, '0=true 1=false 2=true, 3=true 4=true,', '{0=true, 1=false, 2=true, 3=true, 4=true}'],
    [MAP, '3=false,0=true ,4=false', '{0=true, 3=false, 4=false}'],
    [
      { key: 'string', value: 'string', max: 10 },
      '{"2 gills"="1 chopin",\n      "2 chopins"= "1 pint"}',
      '{"2 chopins"="1 pint", "2 gills"="1 chopin"}',
    ],
  ])('%j: %s is %s', (type, text, expected) => {
    expect(datum(type, text)).toBe(expected);
  });

  test.each<[JsonValue, string, string, string]>([
    [{ key: 'integer', max: 5 }, '[1, 2, 3, 1]', 'ovsdb error', 'set contains duplicate value'],
    [{ key: 'real', max: 5 }, '0.0, -0.0', 'ovsdb error', 'set contains duplicate value'],
    [MAP, '1=true 2=false 1=false', 'ovsdb error', 'map contains duplicate key'],
    [SET, '[1, 2', 'syntax error', 'missing "]" at end of data'],
    [SET, '[1] 2', 'syntax error', 'trailing garbage after "]"'],
    [SET, ',1', 'syntax error', 'unexpected "," parsing set of integers'],
    [MAP, '1', 'syntax error', 'expecting "="'],
    ['integer', '[]', 'syntax error', '0 value(s) specified but the minimum number is 1'],
    [SET, '', 'syntax error', 'use "[]" to specify the empty set'],
    [SET, ' ', 'syntax error', 'use "[]" to specify the empty set'],
    [{ key: 'boolean', min: 0 }, '', 'syntax error', 'use "[]" to specify the empty set'],
    [{ ...MAP, min: 0 }, '', 'syntax error', 'use "{}" to specify the empty map'],
    [SET, '1-3, 3', 'ovsdb error', 'set contains duplicate value'],
    [
      { key: 'integer', max: 3 },
      '1-4',
      'syntax error',
      '4 value(s) specified but the maximum number is 3',
    ],
    [MAP, '1-2=true', 'syntax error', '"1-2" is not a valid integer or range'],
    ['integer', '1 2', 'syntax error', '2 value(s) specified but the maximum number is 1'],
    ['string', '"a b', 'syntax error', 'quoted string extends past end of argument'],
    ['string', 'a\\', 'syntax error', 'backslash at end of argument'],
    [
      { key: 'string', value: 'string', max: 2 },
      '{a=b, c}',
      'syntax error',
      ': c}: syntax error at "}" expecting "="',
    ],
  ])('%j does not take %s', (type, text, code, problem) => {
    expect(outcome(() => datum(type, text))).toEqual(refused(code));
    expect(() => datum(type, text)).toThrow(problem);
  });

  test('what is written is read back', () => {
    const columns = [...(VALUES_SCHEMA.tables.get('T')?.columns.values() ?? [])];
    const pair = fc
      .constantFrom(...columns)
      .chain(({ type }) => fc.tuple(fc.constant(type), valueJson(type.key.type, type.value?.type)));
    fc.assert(
      fc.property(pair, ([type, json]) => {
        const value = outcome(() => parseDatum(type, json));
        if (typeof value === 'object' && 'refused' in value) return;
        expect(datumEquals(parseDatumText(type, datumText(type, value)), value)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
