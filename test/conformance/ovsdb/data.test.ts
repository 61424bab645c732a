import { describe, expect, test } from 'vitest';
import {
  datumToJson,
  defaultDatum,
  NamedUuid,
  stringify,
  ZERO_UUID,
  type Datum,
  type JsonValue,
} from 'ovsdb-client-ts';
import {
  compareAtoms,
  compareDatums,
  parseColumnType,
  parseDatum,
  parseJson,
  writableToJson,
  type AtomicType,
} from 'ovsdb-client-ts/values';
import { outcome, refused } from '../../support/run/outcome.ts';

const SYNTAX = refused('syntax error');
const CONSTRAINT = refused('constraint violation');
const DUPLICATE = refused('ovsdb error');

/** Text of a value in, canonical text of it out. */
const canonical = (type: JsonValue, text: string): unknown =>
  outcome(() => {
    const column = parseColumnType(type);
    return stringify(datumToJson(column, parseDatum(column, parseJson(text))));
  });

const A = '["uuid","550e8400-e29b-41d4-a716-446655440000"]';
const B = '["uuid","90558331-09af-4d2f-a572-509cad2e9088"]';
const C = '["uuid","c5051240-30ff-43ed-b4b9-93cf3f050813"]';

describe('defaults', () => {
  const ATOMS: Readonly<Record<AtomicType, JsonValue>> = {
    integer: 0,
    real: 0,
    boolean: false,
    string: '',
    uuid: ['uuid', ZERO_UUID],
  };
  const names = Object.keys(ATOMS) as AtomicType[];

  test.each(names)('%s', (name) => {
    const of = (json: JsonValue): JsonValue => {
      const type = parseColumnType(json);
      return datumToJson(type, defaultDatum(type));
    };
    expect(of(name)).toEqual(ATOMS[name]);
    expect(of({ key: name, max: 5 })).toEqual(ATOMS[name]);
    expect(of({ key: name, min: 0 })).toEqual(['set', []]);
    expect(of({ key: name, min: 0, max: 'unlimited' })).toEqual(['set', []]);
    for (const value of names) {
      expect(of({ key: name, value })).toEqual(['map', [[ATOMS[name], ATOMS[value]]]]);
      expect(of({ key: name, value, min: 0, max: 3 })).toEqual(['map', []]);
    }
  });
});

describe('atoms', () => {
  test.each<[JsonValue, string, string]>([
    ['integer', '0', '0'],
    ['integer', '-1', '-1'],
    ['integer', '-0', '0'],
    ['integer', '1e3', '1000'],
    ['integer', '2.5E2', '250'],
    ['integer', '1.0', '1'],
    ['integer', '9007199254740993', '9007199254740993'],
    ['integer', '-9007199254740993', '-9007199254740993'],
    ['integer', '9223372036854775807', '9223372036854775807'],
    ['integer', '-9223372036854775808', '-9223372036854775808'],
    ['integer', '9223372036854775807.0', '9223372036854775807'],
    ['integer', '92233720.36854775807e11', '9223372036854775807'],
    ['integer', '-9.223372036854775808e18', '-9223372036854775808'],
    ['real', '0', '0'],
    ['real', '0.0', '0'],
    ['real', '-0.0', '0'],
    ['real', '-1.25', '-1.25'],
    ['real', '1e3', '1000'],
    ['real', '1e37', '1e+37'],
    ['real', '1e-9999', '0'],
    ['real', '0.00390625', '0.00390625'],
    ['real', '1.7976931348623157e308', '1.7976931348623157e+308'],
    ['boolean', 'true', 'true'],
    ['boolean', 'false', 'false'],
    ['string', '""', '""'],
    ['string', '"true"', '"true"'],
    ['string', String.raw`"\"\\\/\b\f\n\r\t"`, String.raw`"\"\\/\b\f\n\r\t"`],
    ['string', String.raw`"\ud834\udd1e"`, '"\u{1d11e}"'],
    ['string', '"set"', '"set"'],
    ['uuid', A, A],
    ['uuid', A.toUpperCase().replace('UUID', 'uuid'), A],
  ])('%j: %s is %s', (type, text, expected) => {
    expect(canonical(type, text)).toBe(expected);
    expect(canonical(type, `["set",[${text}]]`)).toBe(expected);
    expect(canonical({ key: type, min: 0 }, text)).toBe(expected);
    expect(canonical({ key: type, max: 'unlimited' }, text)).toBe(expected);
  });

  test.each<[JsonValue, string]>([
    ['integer', '0.5'],
    ['integer', '"1"'],
    ['integer', 'true'],
    ['integer', 'null'],
    ['integer', '9223372036854775808'],
    ['integer', '-9223372036854775809'],
    ['integer', '1e19'],
    ['integer', '[]'],
    ['integer', '{}'],
    ['integer', A],
    ['real', '"1.5"'],
    ['real', 'false'],
    ['real', 'null'],
    ['real', '1e9999'],
    ['boolean', '"true"'],
    ['boolean', '1'],
    ['boolean', 'null'],
    ['string', '1'],
    ['string', 'true'],
    ['string', 'null'],
    ['string', String.raw`"\u0000"`],
    ['string', '["x"]'],
    ['uuid', '"550e8400-e29b-41d4-a716-446655440000"'],
    ['uuid', '["uuid"]'],
    ['uuid', '["uuid","550e8400"]'],
    ['uuid', '["uuid","550e8400e29b41d4a716446655440000"]'],
    ['uuid', '["uuid","550e8400-e29b-41d4-a716-44665544000g"]'],
    ['uuid', '["uuid",5]'],
    ['uuid', '["uuid","550e8400-e29b-41d4-a716-446655440000",1]'],
    ['uuid', '["named-uuid","x"]'],
  ])('%j refuses %s', (type, text) => {
    expect(canonical(type, text)).toEqual(SYNTAX);
    expect(canonical({ key: type, min: 0, max: 'unlimited' }, text)).toEqual(SYNTAX);
  });

  test.each(['"\\ud834"', '"\\udd1e"', '"\\ud834\\u1234"'])(
    'no half surrogate pair: %s',
    (text) => {
      expect(canonical('string', text)).toEqual(SYNTAX);
    },
  );

  test.each([
    [0xc0],
    [0xed, 0xa0, 0x80],
    [0xed, 0x80, 0x7f],
    [0xf5, 0x80, 0x80, 0x80],
    [0xe0, 0x80, 0x80],
    [0x80],
    [0xc3],
  ])('no invalid UTF-8: %j %j %j', (...bytes) => {
    const json = Buffer.concat([
      Buffer.from('"'),
      Buffer.from(bytes.filter((b) => b !== undefined)),
      Buffer.from('"'),
    ]);
    expect(outcome(() => parseJson(json))).toEqual(CONSTRAINT);
  });

  test('a text in memory must be one that the database can hold', () => {
    const type = parseColumnType('string');
    expect(outcome(() => parseDatum(type, 'a\0b'))).toEqual(SYNTAX);
    expect(outcome(() => parseDatum(type, '\ud834'))).toEqual(CONSTRAINT);
    expect(outcome(() => writableToJson(type, 'a\0b'))).toEqual(SYNTAX);
    expect(outcome(() => writableToJson(type, '\ud834'))).toEqual(CONSTRAINT);
  });
});

describe('limits of atoms', () => {
  const cases: readonly (readonly [JsonValue, readonly string[], readonly string[]])[] = [
    [
      { type: 'integer', enum: ['set', [1, 6, 8, 10]] },
      ['1', '6', '8', '10'],
      ['0', '2', '3', '7', '9', '11'],
    ],
    [{ type: 'real', enum: ['set', [-1.5, 1.5]] }, ['-1.5', '1.5'], ['-2', '-1', '0', '1', '2']],
    [{ type: 'boolean', enum: false }, ['false'], ['true']],
    [
      { type: 'string', enum: ['set', ['abc', 'def']] },
      ['"abc"', '"def"'],
      ['""', '"ab"', '"defg"', '"DEF"'],
    ],
    [{ type: 'uuid', enum: ['set', [parseJson(A), parseJson(B)]] }, [A, B], [C]],
    [{ type: 'integer', minInteger: 5 }, ['5', '6', '12345'], ['0', '4', '-9223372036854775808']],
    [{ type: 'integer', maxInteger: -1 }, ['-1', '-2', '-123'], ['0', '9223372036854775807']],
    [
      { type: 'integer', minInteger: -10, maxInteger: 10 },
      ['-10', '-9', '1', '9', '10'],
      ['-20', '-11', '11', '123576'],
    ],
    [
      { type: 'integer', minInteger: 9007199254740993n },
      ['9007199254740993', '9007199254740994'],
      ['9007199254740992'],
    ],
    [{ type: 'real', minReal: 5 }, ['5', '6', '12345'], ['0', '4', '4.9999']],
    [{ type: 'real', maxReal: -1 }, ['-1', '-2', '-123'], ['0', '-0.999']],
    [
      { type: 'real', minReal: -10, maxReal: 10 },
      ['-10', '-9', '1', '9', '10'],
      ['-20', '-11', '11', '123576'],
    ],
    [
      { type: 'string', minLength: 2 },
      ['"ab"', '"abc"', '"\u{1d11e}\u{1d11e}"'],
      ['""', '"a"', '"\u{1d11e}"'],
    ],
    [
      { type: 'string', maxLength: 2 },
      ['""', '"a"', '"ab"', '"de"', '"\u{1d11e}\u{1d11e}"', '"\u00e9\u00e9"'],
      ['"abc"'],
    ],
    [
      { type: 'string', minLength: 1, maxLength: 1 },
      ['"a"', '"\u{1d11e}"'],
      ['""', '"ab"', '"e\u0301"'],
    ],
  ];

  test.each(cases.flatMap(([type, good]) => good.map((text) => [type, text] as const)))(
    '%o allows %s',
    (type, text) => {
      expect(canonical({ key: type }, text)).toBe(text);
    },
  );

  test.each(cases.flatMap(([type, , bad]) => bad.map((text) => [type, text] as const)))(
    '%o refuses %s',
    (type, text) => {
      expect(canonical({ key: type }, text)).toEqual(CONSTRAINT);
      expect(canonical({ key: type, min: 0, max: 'unlimited' }, text)).toEqual(CONSTRAINT);
      expect(canonical({ key: 'integer', value: type }, `["map",[[1,${text}]]]`)).toEqual(
        CONSTRAINT,
      );
      expect(canonical({ key: type, value: 'integer' }, `["map",[[${text},1]]]`)).toEqual(
        CONSTRAINT,
      );
    },
  );
});

describe('order of atoms', () => {
  const uuids = Array.from({ length: 32 }, (_, digit) => {
    const digits = '0'.repeat(digit) + '1' + '0'.repeat(31 - digit);
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  }).toReversed();

  test.each<[string, readonly (string | number | bigint | boolean)[]]>([
    ['integers', [-9223372036854775808n, -1, 0, 1, 2, 55, 9007199254740993n, 9223372036854775807n]],
    ['reals', [-1e99, 0, 1.23, 1.25]],
    ['booleans', [false, true]],
    ['strings', ['', '\b', 'ABC', 'abc', 'abd', 'xxx', '\u00e9', '\u20ac', '\uffff', '\u{1d11e}']],
    ['uuids', uuids],
  ])('%s', (_name, sorted) => {
    expect(sorted.toReversed().sort(compareAtoms)).toEqual(sorted);
  });
});

const SET = (key: JsonValue): JsonValue => ({ key, min: 0, max: 'unlimited' });

describe('sets', () => {
  test.each<[JsonValue, string, string]>([
    [{ key: 'boolean', min: 0 }, '["set",[false]]', 'false'],
    [{ key: 'boolean', min: 0 }, '["set",[]]', '["set",[]]'],
    [SET('integer'), '["set",[0]]', '0'],
    [SET('integer'), '["set",[0,1]]', '["set",[0,1]]'],
    [SET('integer'), '["set",[10,9,8,7,6,5,4,3,2,1,0]]', '["set",[0,1,2,3,4,5,6,7,8,9,10]]'],
    [
      SET('integer'),
      '["set",[9223372036854775807,-9223372036854775808,0]]',
      '["set",[-9223372036854775808,0,9223372036854775807]]',
    ],
    [SET('real'), '["set",[1.5,-1,1e10]]', '["set",[-1,1.5,10000000000]]'],
    [SET('boolean'), '["set",[true,false]]', '["set",[false,true]]'],
    [{ key: 'uuid', max: 3 }, `["set",[${C},${B},${A}]]`, `["set",[${A},${B},${C}]]`],
    [{ key: 'uuid', max: 3 }, `["set",[${A}]]`, A],
    [
      { key: 'string', min: 0, max: 3 },
      '["set",["zzz","short string","a relatively long string"]]',
      '["set",["a relatively long string","short string","zzz"]]',
    ],
    [
      SET('string'),
      '["set",["\uffff","\u{1d11e}","Z","a",""]]',
      '["set",["","Z","a","\uffff","\u{1d11e}"]]',
    ],
    [SET('string'), '["set",["set"]]', '"set"'],
  ])('%o: %s is %s', (type, text, expected) => {
    expect(canonical(type, text)).toBe(expected);
  });

  test.each<[JsonValue, string]>([
    ['boolean', '[true,true]'],
    ['integer', '[1,2,3,1]'],
    ['integer', '[9223372036854775807,9223372036854775807]'],
    ['real', '[0.0,-0.0]'],
    ['real', '[1,1.0]'],
    ['string', '["asdf","ASDF","asdf"]'],
    ['uuid', `[${A},${B},${A}]`],
    ['uuid', `[${B},["uuid","90558331-09AF-4D2F-A572-509CAD2E9088"]]`],
  ])('%o: no duplicates in %s', (key, members) => {
    expect(canonical({ key, max: 5 }, `["set",${members}]`)).toEqual(DUPLICATE);
  });

  test.each<[JsonValue, string]>([
    ['integer', '["set",[]]'],
    ['integer', '["set",[1,2]]'],
    [{ key: 'integer', min: 0 }, '["set",[1,2]]'],
    [{ key: 'integer', max: 3 }, '["set",[]]'],
    [{ key: 'integer', max: 3 }, '["set",[1,2,3,4]]'],
    [SET('integer'), '["set"]'],
    [SET('integer'), '["set",1]'],
    [SET('integer'), '["set",[1],2]'],
    [SET('integer'), '["set",[["set",[1]]]]'],
    [SET('integer'), '["SET",[1]]'],
    [SET('integer'), '[1,2]'],
    [SET('integer'), '["map",[]]'],
    [SET('integer'), '["set",[1,"a"]]'],
    [SET('integer'), '["set",[null]]'],
    [SET('integer'), '{"set":[1]}'],
    [SET('integer'), 'null'],
  ])('%o refuses %s', (type, text) => {
    expect(canonical(type, text)).toEqual(SYNTAX);
  });
});

describe('maps', () => {
  const MAP = (key: JsonValue, value: JsonValue): JsonValue => ({
    key,
    value,
    min: 0,
    max: 'unlimited',
  });

  test.each<[JsonValue, string, string]>([
    [{ key: 'integer', value: 'boolean' }, '[[1,true]]', '[[1,true]]'],
    [{ key: 'boolean', value: 'integer' }, '[[true,1]]', '[[true,1]]'],
    [MAP('integer', 'boolean'), '[]', '[]'],
    [MAP('integer', 'boolean'), '[[3,false],[0,true],[4,false]]', '[[0,true],[3,false],[4,false]]'],
    [
      { key: 'uuid', value: 'real', max: 5 },
      `[[${C},1.0],[${A},2.5],[${B},3.0]]`,
      `[[${A},2.5],[${B},3],[${C},1]]`,
    ],
    [
      MAP('string', 'string'),
      '[["2 gills","1 chopin"],["2 chopins","1 pint"],["","x"]]',
      '[["","x"],["2 chopins","1 pint"],["2 gills","1 chopin"]]',
    ],
    [
      MAP('string', 'integer'),
      '[["10",1],["9",2],["__proto__",3],["constructor",4]]',
      '[["10",1],["9",2],["__proto__",3],["constructor",4]]',
    ],
    [
      MAP('integer', 'integer'),
      '[[9223372036854775807,9007199254740993],[-1,0]]',
      '[[-1,0],[9223372036854775807,9007199254740993]]',
    ],
    [MAP('string', 'uuid'), `[["b",${A}],["a",${A}]]`, `[["a",${A}],["b",${A}]]`],
  ])('%o: %s is %s', (type, text, expected) => {
    expect(canonical(type, `["map",${text}]`)).toBe(`["map",${expected}]`);
  });

  test.each<[JsonValue, string]>([
    [{ key: 'integer', value: 'boolean', max: 5 }, '[[1,true],[2,false],[1,false]]'],
    [{ key: 'integer', value: 'boolean', max: 5 }, '[[1,true],[1,true]]'],
    [MAP('real', 'boolean'), '[[0.0,true],[-0.0,true]]'],
    [MAP('string', 'string'), '[["a","1"],["b","2"],["a","3"]]'],
  ])('%o: no key twice in %s', (type, text) => {
    expect(canonical(type, `["map",${text}]`)).toEqual(DUPLICATE);
  });

  test.each<[JsonValue, string]>([
    [{ key: 'integer', value: 'boolean' }, '["map",[]]'],
    [{ key: 'integer', value: 'boolean' }, '["map",[[1,true],[2,true]]]'],
    [{ key: 'integer', value: 'boolean', max: 2 }, '["map",[[1,true],[2,true],[3,true]]]'],
    [MAP('integer', 'boolean'), '["map",[[1]]]'],
    [MAP('integer', 'boolean'), '["map",[[1,true,2]]]'],
    [MAP('integer', 'boolean'), '["map",[1,true]]'],
    [MAP('integer', 'boolean'), '["map",[["a",true]]]'],
    [MAP('integer', 'boolean'), '["map",[[1,"a"]]]'],
    [MAP('integer', 'boolean'), '["map",{"1":true}]'],
    [MAP('integer', 'boolean'), '["map"]'],
    [MAP('integer', 'boolean'), '["set",[]]'],
    [MAP('integer', 'boolean'), '[[1,true]]'],
    [MAP('integer', 'boolean'), '{}'],
    [MAP('integer', 'boolean'), '1'],
    [MAP('integer', 'boolean'), '["map",[[["set",[1]],true]]]'],
  ])('%o refuses %s', (type, text) => {
    expect(canonical(type, text)).toEqual(SYNTAX);
  });
});

describe('values to be written', () => {
  const references = parseColumnType({
    key: { type: 'uuid', refTable: 'T' },
    min: 0,
    max: 'unlimited',
  });

  test('rows of the same transaction are named', () => {
    expect(writableToJson(references, new NamedUuid('row_1'))).toEqual(['named-uuid', 'row_1']);
    expect(writableToJson(references, [new NamedUuid('a'), new NamedUuid('b')])).toEqual([
      'set',
      [
        ['named-uuid', 'a'],
        ['named-uuid', 'b'],
      ],
    ]);
    expect(
      writableToJson(parseColumnType({ key: 'string', value: 'uuid', min: 0, max: 2 }), {
        k: new NamedUuid('a'),
      }),
    ).toEqual(['map', [['k', ['named-uuid', 'a']]]]);
  });

  test.each(['', '1a', 'a-b', 'a b', '\u00e9'])('a row can not be named %j', (name) => {
    expect(outcome(() => writableToJson(references, new NamedUuid(name)))).toEqual(SYNTAX);
  });

  test('only rows are named', () => {
    expect(outcome(() => writableToJson(parseColumnType('string'), new NamedUuid('a')))).toEqual(
      SYNTAX,
    );
  });
});

describe('order of values: by number of members, then keys, then values', () => {
  test.each<[JsonValue, readonly string[]]>([
    ['integer', ['-1', '0', '9223372036854775807']],
    [{ key: 'integer', min: 0 }, ['["set",[]]', '-5', '0']],
    [SET('integer'), ['["set",[]]', '5', '6', '["set",[1,2]]', '["set",[1,3]]', '["set",[0,1,2]]']],
    [
      { key: 'string', value: 'integer', min: 0, max: 3 },
      [
        '["map",[]]',
        '["map",[["a",1]]]',
        '["map",[["a",2]]]',
        '["map",[["b",0]]]',
        '["map",[["a",0],["b",0]]]',
        '["map",[["a",0],["b",1]]]',
      ],
    ],
  ])('%o', (json, texts) => {
    const type = parseColumnType(json);
    const data = texts.map((text): Datum => parseDatum(type, parseJson(text)));
    data.forEach((a, i) => {
      data.forEach((b, j) => {
        expect(Math.sign(compareDatums(a, b))).toBe(Math.sign(i - j));
      });
    });
  });
});
