import { describe, expect, test } from 'vitest';
import { datumToJson, type JsonValue } from 'ovsdb-client-ts';
import {
  mutateRow,
  mutationsToJson,
  parseColumnSchema,
  parseDatum,
  parseMutations,
  parseTableSchema,
} from 'ovsdb-client-ts/values';
import { outcome, refused } from '../../support/run/outcome.ts';

const SYNTAX = refused('syntax error');
const RANGE = refused('range error');
const DOMAIN = refused('domain error');
const CONSTRAINT = refused('constraint violation');
const MAX = 9223372036854775807n;
const MIN = -9223372036854775808n;
const U1: JsonValue = ['uuid', '11111111-0000-4000-8000-000000000000'];
const U2: JsonValue = ['uuid', '22222222-0000-4000-8000-000000000000'];

/** Value of a column of this type after one mutation. */
function mutated(type: JsonValue, value: JsonValue, mutator: string, argument: JsonValue): unknown {
  return outcome(() => {
    const table = parseTableSchema({ columns: { c: { type } } }, 'T');
    const column = parseColumnSchema({ type }, 'c').type;
    const before = parseDatum(column, value);
    const after = mutateRow(parseMutations(table, [['c', mutator, argument]]), () => before);
    return datumToJson(column, after.get('c'));
  });
}

const parsed = (type: JsonValue, mutator: string, argument: JsonValue): unknown =>
  outcome(() =>
    mutationsToJson(
      parseMutations(parseTableSchema({ columns: { c: { type } } }, 'T'), [
        ['c', mutator, argument],
      ]),
    ),
  );

const ARITHMETIC = ['+=', '-=', '*=', '/=', '%='];
const ATOMS: readonly (readonly [string, JsonValue])[] = [
  ['integer', 1],
  ['real', 1.5],
  ['boolean', true],
  ['string', 'a'],
  ['uuid', U1],
];

describe('which mutator applies to which column', () => {
  describe.each(ATOMS)('%s', (name, atom) => {
    test.each([...ARITHMETIC, 'insert', 'delete'])('%s', (mutator) => {
      const isArithmetic = ARITHMETIC.includes(mutator);
      const counts = name === 'integer' || (name === 'real' && mutator !== '%=');
      const read = [['c', mutator, atom]];
      expect(parsed(name, mutator, atom)).toEqual(isArithmetic && counts ? read : SYNTAX);
      const set = { key: name, min: 0, max: 'unlimited' };
      expect(parsed(set, mutator, atom)).toEqual(!isArithmetic || counts ? read : SYNTAX);
      const map = { key: name, value: 'integer', min: 0, max: 'unlimited' };
      const pairs: JsonValue = ['map', [[atom, 1]]];
      expect(parsed(map, mutator, pairs)).toEqual(isArithmetic ? SYNTAX : [['c', mutator, pairs]]);
      expect(parsed(map, mutator, atom)).toEqual(mutator === 'delete' ? read : SYNTAX);
    });
  });

  test('an immutable column, an unknown one, an unknown mutator', () => {
    const table = parseTableSchema(
      { columns: { fixed: { type: 'integer', mutable: false }, i: { type: 'integer' } } },
      'T',
    );
    const read = (mutation: JsonValue): unknown => outcome(() => parseMutations(table, [mutation]));
    expect(read(['fixed', '+=', 1])).toEqual(CONSTRAINT);
    expect(read(['_uuid', 'insert', U1])).toEqual(CONSTRAINT);
    expect(read(['nothing', '+=', 1])).toEqual(refused('unknown column'));
    expect(read(['i', 'xxx', 1])).toEqual(refused('unknown mutator'));
    expect(read(['i', '+='])).toEqual(SYNTAX);
    expect(read(['i', '+=', 1, 1])).toEqual(SYNTAX);
    expect(read(['i', '+=', 'a'])).toEqual(SYNTAX);
    expect(read(['i', '+=', 1.5])).toEqual(SYNTAX);
    expect(read(['i', '+=', ['set', [1, 2]]])).toEqual(SYNTAX);
    expect(read('i')).toEqual(SYNTAX);
    expect(outcome(() => parseMutations(table, {}))).toEqual(SYNTAX);
    expect(outcome(() => parseMutations(table, []))).toEqual([]);
  });
});

describe('integers', () => {
  test.each<[JsonValue, string, JsonValue, unknown]>([
    [0, '+=', 1, 1],
    [2, '-=', 2, 0],
    [0, '-=', 2, -2],
    [2, '*=', 3, 6],
    [7, '/=', 2, 3],
    [-7, '/=', 2, -3],
    [7, '%=', 4, 3],
    [-7, '%=', 4, -3],
    [7, '%=', -4, 3],
    [0, '+=', MAX, MAX],
    [1, '+=', MAX, RANGE],
    [-1, '+=', MAX, 9223372036854775806n],
    [MAX, '+=', MAX, RANGE],
    [MIN, '+=', MAX, -1],
    [3037000500, '+=', MAX, RANGE],
    [-3037000500, '+=', MAX, 9223372033817775307n],
    [0, '+=', MIN, MIN],
    [1, '+=', MIN, -9223372036854775807n],
    [-1, '+=', MIN, RANGE],
    [MAX, '+=', MIN, -1],
    [MIN, '+=', MIN, RANGE],
    [0, '-=', MIN, RANGE],
    [1, '-=', MIN, RANGE],
    [-1, '-=', MIN, MAX],
    [MIN, '-=', MIN, 0],
    [-3037000500, '-=', MIN, 9223372033817775308n],
    [0, '-=', MAX, -9223372036854775807n],
    [-1, '-=', MAX, MIN],
    [MAX, '-=', MAX, 0],
    [MIN, '-=', MAX, RANGE],
    [0, '*=', 3037000500, 0],
    [1, '*=', 3037000500, 3037000500],
    [-1, '*=', 3037000500, -3037000500],
    [MAX, '*=', 3037000500, RANGE],
    [MIN, '*=', 3037000500, RANGE],
    [3037000500, '*=', 3037000500, RANGE],
    [-3037000500, '*=', 3037000500, RANGE],
    [1, '/=', -1, -1],
    [MAX, '/=', -1, -9223372036854775807n],
    [MIN, '/=', -1, RANGE],
    [9007199254740993n, '+=', 0, 9007199254740993n],
    [9007199254740991, '+=', 2, 9007199254740993n],
    [9007199254740993n, '-=', 2, 9007199254740991],
    ...[0, 1, -1, MAX, MIN].flatMap((value): [JsonValue, string, JsonValue, unknown][] => [
      [value, '/=', 0, DOMAIN],
      [value, '%=', 0, DOMAIN],
    ]),
  ])('%s %s %s', (value, mutator, argument, expected) => {
    expect(mutated('integer', value, mutator, argument)).toEqual(expected);
    expect(mutated({ key: 'integer', min: 0 }, value, mutator, argument)).toEqual(expected);
    expect(mutated({ key: 'integer', min: 0, max: 3 }, value, mutator, argument)).toEqual(expected);
  });

  test.each<[number, string, number, unknown]>([
    [0, '+=', 1, 1],
    [2, '+=', 1, CONSTRAINT],
    [0, '-=', 2, CONSTRAINT],
    [1, '-=', 2, CONSTRAINT],
    [2, '-=', 2, 0],
    [0, '*=', 3, 0],
    [1, '*=', 3, CONSTRAINT],
    [2, '/=', 4, 0],
    [2, '%=', 2, 0],
  ])('from 0 to 2: %s %s %s', (value, mutator, argument, expected) => {
    const type = { key: { type: 'integer', minInteger: 0, maxInteger: 2 } };
    expect(mutated(type, value, mutator, argument)).toEqual(expected);
  });
});

describe('reals', () => {
  const LARGEST = Number.MAX_VALUE;
  test.each<[number, string, number, unknown]>([
    [0, '+=', 0.5, 0.5],
    [-2.5, '+=', 0.5, -2],
    [0, '-=', 1.5, -1.5],
    [1.25, '-=', 1.5, -0.25],
    [-2.5, '*=', 2.5, -6.25],
    [0, '*=', -2, 0],
    [1.25, '/=', 4, 0.3125],
    [0, '+=', LARGEST, LARGEST],
    [LARGEST, '+=', LARGEST, RANGE],
    [-LARGEST, '+=', LARGEST, 0],
    [-LARGEST, '-=', LARGEST, RANGE],
    [LARGEST, '*=', 2, RANGE],
    [-LARGEST, '*=', 2, RANGE],
    [LARGEST, '/=', 4, LARGEST / 4],
    [LARGEST, '/=', 0.5, RANGE],
    [0, '/=', 0, DOMAIN],
    [1, '/=', 0, DOMAIN],
    [-LARGEST, '/=', 0, DOMAIN],
  ])('%s %s %s', (value, mutator, argument, expected) => {
    expect(mutated('real', value, mutator, argument)).toEqual(expected);
  });

  test.each<[number, string, number, unknown]>([
    [-2.5, '-=', 1.5, CONSTRAINT],
    [1.25, '+=', 0.5, 1.75],
    [1.25, '*=', 2.5, CONSTRAINT],
    [-2.5, '/=', 4, -0.625],
  ])('from -2.5 to 1.75: %s %s %s', (value, mutator, argument, expected) => {
    expect(
      mutated({ key: { type: 'real', minReal: -2.5, maxReal: 1.75 } }, value, mutator, argument),
    ).toEqual(expected);
  });
});

const set = (...members: readonly JsonValue[]): JsonValue =>
  members.length === 1 ? (members[0] as JsonValue) : ['set', members];
const map = (...pairs: readonly JsonValue[]): JsonValue => ['map', pairs];

describe('sets', () => {
  const UP_TO_5 = { key: { type: 'integer', maxInteger: 5 }, min: 0, max: 'unlimited' };
  const SOME = { key: 'integer', min: 1, max: 2 };
  const REALS = { key: { type: 'real', maxReal: 6 }, min: 0, max: 'unlimited' };
  const any = (key: string): JsonValue => ({ key, min: 0, max: 'unlimited' });

  test.each<[JsonValue, JsonValue, string, JsonValue, unknown]>([
    [UP_TO_5, set(), '+=', 1, set()],
    [UP_TO_5, set(0, 1, 2), '+=', 1, set(1, 2, 3)],
    [UP_TO_5, set(0, 1, 2), '-=', 2, set(-2, -1, 0)],
    [UP_TO_5, set(0, 1), '*=', 3, set(0, 3)],
    [UP_TO_5, set(0, 1, 2), '*=', 3, CONSTRAINT],
    [UP_TO_5, set(0, 1), '*=', -1, set(-1, 0)],
    [UP_TO_5, set(0, 1), '/=', 4, CONSTRAINT],
    [UP_TO_5, set(0, 1), '%=', 2, set(0, 1)],
    [UP_TO_5, set(0, 1, 2), '%=', 2, CONSTRAINT],
    [UP_TO_5, set(), '/=', 0, set()],
    [UP_TO_5, set(0), '/=', 0, DOMAIN],
    [UP_TO_5, set(), 'insert', 1, 1],
    [UP_TO_5, set(0), 'insert', set(1), set(0, 1)],
    [UP_TO_5, set(0, 1), 'insert', set(3, 2), set(0, 1, 2, 3)],
    [UP_TO_5, set(0, 1), 'insert', set(), set(0, 1)],
    [UP_TO_5, set(0, 1), 'insert', 6, CONSTRAINT],
    [UP_TO_5, set(0, 1), 'insert', set(2, 2), refused('ovsdb error')],
    [UP_TO_5, set(0, 1, 2), 'delete', 1, set(0, 2)],
    [UP_TO_5, set(0, 1, 2), 'delete', set(2, 3), set(0, 1)],
    [UP_TO_5, set(0), 'delete', 0, set()],
    [SOME, 0, 'insert', 1, set(0, 1)],
    [SOME, set(0, 1), 'insert', 1, set(0, 1)],
    [SOME, set(0, 1), 'insert', 2, CONSTRAINT],
    [SOME, 2, 'delete', 2, CONSTRAINT],
    [SOME, set(0, 1), 'delete', set(0, 1), CONSTRAINT],
    [SOME, set(0, 1), 'delete', set(1, 2, 3), 0],
    [REALS, set(0.5, 1.5), '+=', 0.5, set(1, 2)],
    [REALS, set(0.5, 1.5, 2.5), '*=', 2.5, CONSTRAINT],
    [REALS, set(0.5, 1.5), '/=', 4, set(0.125, 0.375)],
    [REALS, set(0.5, 1.5), '*=', 0, CONSTRAINT],
    [REALS, 0.5, '*=', 0, 0],
    [REALS, set(0.5, 1.5), 'delete', set(1.5, 3.5), 0.5],
    [any('boolean'), false, 'insert', set(false, true), set(false, true)],
    [any('boolean'), set(false, true), 'delete', set(false), true],
    [any('string'), set('a', 'b'), 'insert', set('d', 'c'), set('a', 'b', 'c', 'd')],
    [any('string'), set('a', 'b', 'c', 'd'), 'delete', set('c', 'd'), set('a', 'b')],
    [any('uuid'), U2, 'insert', U1, set(U1, U2)],
    [any('uuid'), set(U1, U2), 'delete', set(U1), U2],
    [{ key: 'integer', min: 0 }, set(), 'insert', 5, 5],
    [{ key: 'integer', min: 0 }, 4, 'insert', 5, CONSTRAINT],
    [{ key: 'integer', min: 0 }, 5, 'delete', set(4, 5), set()],
  ])('%o: %j %s %j', (type, value, mutator, argument, expected) => {
    expect(mutated(type, value, mutator, argument)).toEqual(expected);
  });
});

describe('maps', () => {
  const ANY = { key: 'integer', value: 'integer', min: 0, max: 'unlimited' };
  const ONE_OR_TWO = { key: 'integer', value: 'integer', max: 2 };
  test.each<[JsonValue, JsonValue, string, JsonValue, unknown]>([
    [ANY, map(), 'insert', map([1, 2]), map([1, 2])],
    [ANY, map([1, 3], [2, 3]), 'insert', map([1, 2]), map([1, 3], [2, 3])],
    [ANY, map([3, 5]), 'insert', map([1, 2]), map([1, 2], [3, 5])],
    [ANY, map([1, 3], [2, 3]), 'insert', map([2, 4], [3, 5]), map([1, 3], [2, 3], [3, 5])],
    [ANY, map([1, 2]), 'delete', map([1, 2]), map()],
    [ANY, map([1, 3], [2, 3]), 'delete', map([1, 2]), map([1, 3], [2, 3])],
    [ANY, map([1, 3], [2, 3]), 'delete', map([2, 3]), map([1, 3])],
    [ANY, map([1, 3], [2, 3]), 'delete', ['set', [1]], map([2, 3])],
    [ANY, map([1, 3], [2, 3]), 'delete', 1, map([2, 3])],
    [ANY, map([3, 5]), 'delete', ['set', [2, 3]], map()],
    [ANY, map([3, 5]), 'delete', ['set', []], map([3, 5])],
    [ANY, map([3, 5]), 'insert', ['set', [1]], SYNTAX],
    [ONE_OR_TWO, map([1, 1]), 'insert', map([2, 2]), map([1, 1], [2, 2])],
    [ONE_OR_TWO, map([1, 1], [2, 2]), 'insert', map([3, 3]), CONSTRAINT],
    [ONE_OR_TWO, map([1, 1]), 'delete', 1, CONSTRAINT],
  ])('%o: %j %s %j', (type, value, mutator, argument, expected) => {
    expect(mutated(type, value, mutator, argument)).toEqual(expected);
  });
});

test('mutations of one row apply in order', () => {
  const table = parseTableSchema(
    { columns: { i: { type: 'integer' }, s: { type: { key: 'integer', min: 0, max: 2 } } } },
    'T',
  );
  const mutations = parseMutations(table, [
    ['i', '+=', 2],
    ['s', 'delete', 1],
    ['i', '*=', 3],
    ['s', 'insert', ['set', [7]]],
  ]);
  const after = mutateRow(mutations, (name) => (name === 'i' ? 1 : [1, 2]));
  expect([...after]).toEqual([
    ['i', 9],
    ['s', [2, 7]],
  ]);
});

test.each<[JsonValue, string, JsonValue, JsonValue]>([
  ['integer', '-=', 3, -3],
  ['real', '+=', 0.5, 0.5],
  [{ key: 'integer', max: 3 }, '+=', 2, 2],
  [{ key: 'integer', min: 0 }, '+=', 2, ['set', []]],
  [{ key: 'integer', min: 0, max: 'unlimited' }, 'insert', 1, 1],
  [
    { key: 'string', value: 'integer', min: 0, max: 2 },
    'insert',
    ['map', [['a', 1]]],
    ['map', [['a', 1]]],
  ],
  [{ key: 'string', value: 'integer', min: 0, max: 2 }, 'delete', 'a', ['map', []]],
])('a column that has no value has its default: %j %s %j', (type, mutator, argument, expected) => {
  const table = parseTableSchema({ columns: { c: { type } } }, 'T');
  const after = mutateRow(parseMutations(table, [['c', mutator, argument]]), () => undefined);
  expect(datumToJson(parseColumnSchema({ type }, 'c').type, after.get('c'))).toEqual(expected);
});

test('a column that is not there is named with the mutation', () => {
  const table = parseTableSchema({ columns: { c: { type: 'integer' } } }, 'T');
  expect(() => parseMutations(table, [['x', '+=', 1]])).toThrow(
    'syntax "["x","+=",1]": unknown column: No column x in table T.',
  );
});
