import { describe, expect, test } from 'vitest';
import {
  compareConditions,
  conditionToJson,
  evaluateCondition,
  evaluateMonitorCondition,
  parseCondition,
  parseDatum,
  parseTableSchema,
  UUID_COLUMN,
} from 'ovsdb-client-ts/values';
import { ZERO_UUID, type Datum, type JsonValue, type TableSchema } from 'ovsdb-client-ts';
import { outcome, refused } from '../../support/run/outcome.ts';

const SYNTAX = refused('syntax error');
const FUNCTIONS = ['==', '!=', '<', '<=', '>', '>=', 'includes', 'excludes'];
const RELATIONAL = ['<', '<=', '>', '>='];
const U1: JsonValue = ['uuid', '11111111-0000-4000-8000-000000000000'];
const U2: JsonValue = ['uuid', '22222222-0000-4000-8000-000000000000'];

const ATOMS: Readonly<Record<string, JsonValue>> = {
  integer: 1,
  real: 1.5,
  boolean: true,
  string: 'a',
  uuid: U1,
};
const names = Object.keys(ATOMS);

const columns: Record<string, JsonValue> = {};
for (const name of names) {
  columns[name] = { type: name };
  columns[`${name}_optional`] = { type: { key: name, min: 0 } };
  columns[`${name}_set`] = { type: { key: name, min: 0, max: 'unlimited' } };
  columns[`${name}_map`] = { type: { key: name, value: 'integer', min: 0, max: 'unlimited' } };
}
const TABLE: TableSchema = parseTableSchema({ columns }, 'T');

const canonical = (where: JsonValue): unknown =>
  outcome(() => conditionToJson(parseCondition(TABLE, where)));

/** Which of the rows a `where` selects: T for those that match. */
function matches(where: JsonValue, column: string, values: readonly JsonValue[]): string {
  const condition = parseCondition(TABLE, where);
  const type = TABLE.columns.get(column)?.type ?? UUID_COLUMN.type;
  return values
    .map((json) => {
      const datum = parseDatum(type, json);
      return evaluateCondition(condition, (): Datum => datum) ? 'T' : '-';
    })
    .join('');
}

describe('which function applies to which column', () => {
  describe.each(names)('%s', (name) => {
    const isNumber = name === 'integer' || name === 'real';
    const atom = ATOMS[name] as JsonValue;

    test.each(FUNCTIONS)('%s', (fn) => {
      const ordered = RELATIONAL.includes(fn);
      const scalar = [[name, fn, atom]];
      expect(canonical(scalar)).toEqual(ordered && !isNumber ? SYNTAX : scalar);
      const optional = [[`${name}_optional`, fn, atom]];
      expect(canonical(optional)).toEqual(ordered && !isNumber ? SYNTAX : optional);
      const set = [[`${name}_set`, fn, atom]];
      expect(canonical(set)).toEqual(ordered ? SYNTAX : set);
      const map = [[`${name}_map`, fn, ['map', [[atom, 1]]]]];
      expect(canonical(map)).toEqual(ordered ? SYNTAX : map);
    });
  });
});

describe('conditions are read', () => {
  test.each<[JsonValue, JsonValue]>([
    [[], []],
    [[['integer_set', '==', ['set', [3, 1, 2]]]], [['integer_set', '==', ['set', [1, 2, 3]]]]],
    [[['integer_set', '!=', ['set', [1]]]], [['integer_set', '!=', 1]]],
    [
      [['boolean_set', 'excludes', ['set', [true, false]]]],
      [['boolean_set', 'excludes', ['set', [false, true]]]],
    ],
    [[['uuid_set', '==', ['set', [U2, U1]]]], [['uuid_set', '==', ['set', [U1, U2]]]]],
    [[['_uuid', '==', U1]], [['_uuid', '==', U1]]],
    [[['_version', '!=', U1]], [['_version', '!=', U1]]],
    [[true], [true]],
    [[false], [false]],
  ])('%j as %j', (where, expected) => {
    expect(canonical(where)).toEqual(expected);
  });

  test('the most selective clause first', () => {
    expect(
      canonical([
        ['integer', 'excludes', 7],
        ['integer', '!=', 8],
        ['integer', '==', 1],
        ['integer', 'includes', 2],
        ['integer', '<=', 3],
        ['integer', '<', 4],
        ['integer', '>', 6],
        ['integer', '>=', 5],
        ['_uuid', '==', U1],
      ]),
    ).toEqual([
      ['_uuid', '==', U1],
      ['integer', '==', 1],
      ['integer', 'includes', 2],
      ['integer', '<=', 3],
      ['integer', '<', 4],
      ['integer', '>=', 5],
      ['integer', '>', 6],
      ['integer', 'excludes', 7],
      ['integer', '!=', 8],
    ]);
  });

  test.each<[string, JsonValue, string]>([
    ['not an array', { column: 'integer' }, 'syntax error'],
    ['a clause that is no array', ['integer'], 'syntax error'],
    ['a clause that is too short', [['integer', '==']], 'syntax error'],
    ['a clause that is too long', [['integer', '==', 1, 2]], 'syntax error'],
    ['a column that is no string', [[1, '==', 1]], 'syntax error'],
    ['a function that is no string', [['integer', 1, 1]], 'syntax error'],
    ['null', [null], 'syntax error'],
    ['an unknown column', [['nothing', '==', 1]], 'unknown column'],
    ['an unknown function', [['integer', '===', 1]], 'unknown function'],
    ['an argument of another type', [['integer', '==', 'a']], 'syntax error'],
    ['a real for an integer', [['integer', '<', 1.5]], 'syntax error'],
    ['two members for a scalar', [['integer', '==', ['set', [1, 2]]]], 'syntax error'],
    ['no member for a scalar', [['integer', 'includes', ['set', []]]], 'syntax error'],
    ['a set for a map', [['integer_map', '==', ['set', [1]]]], 'syntax error'],
    ['a map for a set', [['integer_set', '==', ['map', [[1, 1]]]]], 'syntax error'],
    ['a duplicate', [['integer_set', 'includes', ['set', [1, 1]]]], 'ovsdb error'],
    [
      'a key twice',
      [
        [
          'integer_map',
          'includes',
          [
            'map',
            [
              [1, 1],
              [1, 2],
            ],
          ],
        ],
      ],
      'ovsdb error',
    ],
  ])('refused: %s', (_name, where, code) => {
    expect(canonical(where)).toEqual(refused(code));
  });
});

describe('scalars', () => {
  const NUMBERS: readonly [string, string][] = [
    ['<', 'T--'],
    ['<=', 'TT-'],
    ['==', '-T-'],
    ['!=', 'T-T'],
    ['>=', '-TT'],
    ['>', '--T'],
    ['includes', '-T-'],
    ['excludes', 'T-T'],
  ];
  test.each(NUMBERS)('integers %s 1', (fn, expected) => {
    expect(matches([['integer', fn, 1]], 'integer', [0, 1, 2])).toBe(expected);
    expect(matches([['integer_optional', fn, 1]], 'integer_optional', [0, 1, 2])).toBe(expected);
  });
  test.each(NUMBERS)('integers beyond 2^53 %s 9007199254740993', (fn, expected) => {
    const near = [9007199254740992n, 9007199254740993n, 9007199254740994n];
    expect(matches([['integer', fn, 9007199254740993n]], 'integer', near)).toBe(expected);
  });
  test.each(NUMBERS)('reals %s 5.0', (fn, expected) => {
    expect(matches([['real', fn, 5]], 'real', [0, 5, 5.1])).toBe(expected);
    expect(matches([['real_optional', fn, 5]], 'real_optional', [0, 5, 5.1])).toBe(expected);
  });
  test.each(RELATIONAL)('nothing is %s than nothing', (fn) => {
    expect(matches([['integer_optional', fn, 1]], 'integer_optional', [['set', []]])).toBe('-');
    expect(matches([['real_optional', fn, -1]], 'real_optional', [['set', []]])).toBe('-');
  });

  test.each<[string, string, JsonValue, string]>([
    ['boolean', '==', true, 'T-'],
    ['boolean', '!=', true, '-T'],
    ['boolean', 'includes', true, 'T-'],
    ['boolean', 'excludes', true, '-T'],
    ['boolean', '==', false, '-T'],
    ['boolean', '!=', false, 'T-'],
    ['boolean', 'includes', false, '-T'],
    ['boolean', 'excludes', false, 'T-'],
  ])('%s %s %j', (column, fn, argument, expected) => {
    expect(matches([[column, fn, argument]], column, [true, false])).toBe(expected);
  });

  test.each<[string, JsonValue, string]>([
    ['==', '', 'T--'],
    ['!=', '', '-TT'],
    ['includes', '', 'T--'],
    ['excludes', '', '-TT'],
    ['==', 'foo', '-T-'],
    ['!=', 'foo', 'T-T'],
    ['includes', 'foo', '-T-'],
    ['excludes', 'foo', 'T-T'],
  ])('strings %s %j', (fn, argument, expected) => {
    expect(matches([['string', fn, argument]], 'string', ['', 'foo', 'xxx'])).toBe(expected);
  });

  test.each<[string, string]>([
    ['==', 'T-'],
    ['!=', '-T'],
    ['includes', 'T-'],
    ['excludes', '-T'],
  ])('uuids %s, whatever their case', (fn, expected) => {
    const upper: JsonValue = ['uuid', 'ABCDEF00-0000-4000-8000-000000000000'];
    expect(
      matches([['uuid', fn, upper]], 'uuid', [
        ['uuid', 'abcdef00-0000-4000-8000-000000000000'],
        U2,
      ]),
    ).toBe(expected);
  });
});

/** Every subset of {0, 1, 2}. */
const SUBSETS: readonly (readonly number[])[] = [
  [],
  [0],
  [1],
  [0, 1],
  [2],
  [2, 0],
  [2, 1],
  [2, 1, 0],
];

describe('sets and maps', () => {
  const pairs = (keys: readonly number[]): JsonValue => ['map', keys.map((key) => [key, key * 10])];
  const set = (keys: readonly number[]): JsonValue => ['set', keys];

  test.each(SUBSETS.map((argument) => [argument]))('against %j', (argument) => {
    const same = (value: readonly number[]): boolean =>
      value.length === argument.length && argument.every((member) => value.includes(member));
    const expected: Record<string, (value: readonly number[]) => boolean> = {
      '==': same,
      '!=': (value) => !same(value),
      includes: (value) => argument.every((member) => value.includes(member)),
      excludes: (value) => !argument.some((member) => value.includes(member)),
    };
    for (const [fn, isTrue] of Object.entries(expected)) {
      const row = SUBSETS.map((value) => (isTrue(value) ? 'T' : '-')).join('');
      expect(
        matches([['integer_set', fn, set(argument)]], 'integer_set', SUBSETS.map(set)),
        fn,
      ).toBe(row);
      expect(
        matches([['integer_map', fn, pairs(argument)]], 'integer_map', SUBSETS.map(pairs)),
        fn,
      ).toBe(row);
    }
  });

  test.each<[string, string]>([
    ['==', '--'],
    ['!=', 'TT'],
    ['includes', '--'],
    ['excludes', 'TT'],
  ])('a pair %s one of the same key and another value', (fn, expected) => {
    const values: JsonValue[] = [
      ['map', [[1, 20]]],
      [
        'map',
        [
          [1, 30],
          [2, 20],
        ],
      ],
    ];
    expect(matches([['integer_map', fn, ['map', [[1, 10]]]]], 'integer_map', values)).toBe(
      expected,
    );
  });

  test.each<[string, string]>([
    ['includes', '---'],
    ['excludes', 'TTT'],
  ])('an optional %s two members that it can not both hold', (fn, expected) => {
    const values: JsonValue[] = [['set', []], 3, 4];
    expect(
      matches(
        [['integer_optional', fn, fn === 'includes' ? 1 : ['set', [1, 2]]]],
        'integer_optional',
        values,
      ),
    ).toBe(expected);
  });
});

test('members of a value may be in any order', () => {
  const condition = parseCondition(TABLE, [['integer_set', '==', ['set', [1, 2, 3]]]]);
  expect(evaluateCondition(condition, () => [3, 1, 2])).toBe(true);
  expect(evaluateCondition(condition, () => [3, 1])).toBe(false);
});

describe('several clauses', () => {
  test.each<[JsonValue, string, string]>([
    [[], 'TTT', 'TTT'],
    [[true], 'TTT', 'TTT'],
    [[false], '---', '---'],
    [[['integer', '==', 1], true], '-T-', 'TTT'],
    [[['integer', '==', 1], false], '---', '-T-'],
    [
      [
        ['integer', '>', 0],
        ['integer', '<', 2],
      ],
      '-T-',
      'TTT',
    ],
    [
      [
        ['integer', '==', 0],
        ['integer', '==', 2],
      ],
      '---',
      'T-T',
    ],
    [[true, false], '---', 'TTT'],
  ])('%j: all of them in a transaction (%s), one of them in a monitor (%s)', (where, all, one) => {
    expect(matches(where, 'integer', [0, 1, 2])).toBe(all);
    const condition = parseCondition(TABLE, where);
    expect(
      [0, 1, 2]
        .map((value) => (evaluateMonitorCondition(condition, () => value) ? 'T' : '-'))
        .join(''),
    ).toBe(one);
  });
});

describe('a column that has no value has its default', () => {
  const table = parseTableSchema(
    {
      columns: {
        i: { type: 'integer' },
        s: { type: 'string' },
        u: { type: 'uuid' },
        o: { type: { key: 'integer', min: 0 } },
        set: { type: { key: 'integer', min: 0, max: 'unlimited' } },
        some: { type: { key: 'integer', max: 3 } },
        map: { type: { key: 'string', value: 'integer', min: 0, max: 'unlimited' } },
      },
    },
    'T',
  );
  test.each<[JsonValue, boolean]>([
    [['i', '==', 0], true],
    [['i', '<', 0], false],
    [['i', '<=', 0], true],
    [['s', '==', ''], true],
    [['s', '!=', ''], false],
    [['u', 'includes', ['uuid', ZERO_UUID]], true],
    [['_uuid', '==', ['uuid', ZERO_UUID]], true],
    [['o', '==', ['set', []]], true],
    [['o', '<', 1], false],
    [['set', '==', ['set', []]], true],
    [['set', 'excludes', 1], true],
    [['some', '==', 0], true],
    [['map', '==', ['map', []]], true],
    [['map', 'includes', ['map', [['a', 1]]]], false],
    [['map', 'excludes', ['map', [['a', 1]]]], true],
  ])('%j is %j', (clause, expected) => {
    const condition = parseCondition(table, [clause]);
    expect(evaluateCondition(condition, () => undefined)).toBe(expected);
    expect(evaluateMonitorCondition(condition, () => undefined)).toBe(expected);
  });
});

describe('a map of exactly one pair is no scalar', () => {
  const table = parseTableSchema(
    { columns: { m: { type: { key: 'string', value: 'integer' } } } },
    'T',
  );
  const value: Datum = new Map([['a', 1]]);
  test.each<[string, JsonValue, boolean]>([
    ['includes', ['map', []], true],
    ['includes', ['map', [['a', 1]]], true],
    ['includes', ['map', [['a', 2]]], false],
    ['excludes', ['map', []], true],
    [
      'excludes',
      [
        'map',
        [
          ['a', 2],
          ['b', 1],
        ],
      ],
      true,
    ],
    [
      'excludes',
      [
        'map',
        [
          ['a', 1],
          ['b', 1],
        ],
      ],
      false,
    ],
  ])('%s %j is %j', (name, argument, expected) => {
    const condition = parseCondition(table, [['m', name, argument]]);
    expect(evaluateCondition(condition, () => value)).toBe(expected);
  });

  test.each<[string, JsonValue, string]>([
    [
      'includes',
      [
        'map',
        [
          ['a', 1],
          ['b', 1],
        ],
      ],
      'map must have 0 to 1 members but 2 are present',
    ],
    ['==', ['map', []], 'map must have exactly one member but 0 are present'],
  ])('%s %j is refused', (name, argument, problem) => {
    expect(() => parseCondition(table, [['m', name, argument]])).toThrow(problem);
  });
});

test('what is wrong with a clause is said in the words of the server', () => {
  const table = parseTableSchema({ columns: { i: { type: 'integer' } } }, 'T');
  expect(() => parseCondition(table, [['x', '==', 9223372036854775807n]])).toThrow(
    'syntax "["x","==",9223372036854775807]": unknown column: No column x in table T.',
  );
  expect(() => parseCondition(table, [['i', '==', { b: 1, a: 2 }]])).toThrow(
    'syntax "{"a":2,"b":1}": syntax error: expected integer',
  );
});

describe('conditions in order', () => {
  const table = parseTableSchema(
    {
      columns: {
        i: { type: 'integer' },
        j: { type: 'integer' },
        s: { type: { key: 'integer', min: 0, max: 5 } },
      },
    },
    'T',
  );
  const compared = (a: JsonValue, b: JsonValue): number =>
    Math.sign(compareConditions(parseCondition(table, a), parseCondition(table, b)));

  test.each<[JsonValue, JsonValue, number]>([
    [[], [], 0],
    [[['i', '==', 4], true, ['i', '==', 2]], [true, ['i', '==', 2], ['i', '==', 4]], 0],
    [
      [
        ['i', '==', 1],
        ['j', '<', 0],
      ],
      [
        ['j', '<', 0],
        ['i', '==', 1],
      ],
      0,
    ],
    [[['s', '==', ['set', [2, 1]]]], [['s', '==', ['set', [1, 2]]]], 0],
    [[], [true], -1],
    [
      [
        ['i', '==', 9],
        ['j', '==', 9],
      ],
      [['i', '==', 1]],
      1,
    ],
    [[false], [true], -1],
    [[true], [['i', '==', 1]], -1],
    [[['i', '==', 1]], [['i', '>=', 1]], -1],
    [[['i', '==', 1]], [['i', '==', 2]], -1],
    [[['i', '!=', 1]], [['j', '==', 1]], 1],
    [[['i', '==', 5]], [['j', '==', 1]], -1],
    [[['_uuid', '==', ['uuid', ZERO_UUID]]], [['i', '==', 1]], -1],
    [[['s', '==', 3]], [['s', '==', ['set', [0, 1]]]], -1],
  ])('%j and %j', (a, b, order) => {
    expect(compared(a, b)).toBe(order);
    expect(compared(b, a)).toBe(order === 0 ? 0 : -order);
  });

  test('clauses of one column and function are in the order of their values', () => {
    const condition = parseCondition(table, [
      ['i', '==', 3],
      ['i', '==', -1],
      ['i', '==', 2],
    ]);
    expect(conditionToJson(condition)).toEqual([
      ['i', '==', -1],
      ['i', '==', 2],
      ['i', '==', 3],
    ]);
  });
});
