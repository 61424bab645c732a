import { describe, expect, test } from 'vitest';
import {
  columnSchemaToJson,
  parseColumnSchema,
  parseRow,
  rowToJson,
  parseTableSchema,
  schemaToJson,
  tableSchemaToJson,
} from 'ovsdb-client-ts/values';
import { parseSchema, type JsonObject, type JsonValue } from 'ovsdb-client-ts';
import { outcome, refused } from '../../support/run/outcome.ts';

const SYNTAX = refused('syntax error');
const column = (json: JsonValue): unknown =>
  outcome(() => columnSchemaToJson(parseColumnSchema(json, 'c')));
const table = (json: JsonValue, isRoot = false): unknown =>
  outcome(() => tableSchemaToJson(parseTableSchema(json, 'T'), isRoot));
const schema = (json: JsonValue): unknown => outcome(() => schemaToJson(parseSchema(json)));

describe('columns', () => {
  test.each<[JsonValue, JsonValue]>([
    [{ type: 'integer' }, { type: 'integer' }],
    [
      { type: 'real', mutable: false },
      { type: 'real', mutable: false },
    ],
    [
      { type: 'uuid', ephemeral: true },
      { type: 'uuid', ephemeral: true },
    ],
    [{ type: 'string', mutable: true, ephemeral: false }, { type: 'string' }],
    [
      { type: { key: { type: 'uuid', refTable: 'T', refType: 'weak' }, min: 0 }, mutable: false },
      { type: { key: { type: 'uuid', refTable: 'T', refType: 'weak' }, min: 0 } },
    ],
  ])('%o is %o', (json, canonical) => {
    expect(column(json)).toEqual(canonical);
  });

  test.each<JsonValue>([
    {},
    { type: 'void' },
    { type: null },
    { type: 'integer', mutable: 1 },
    { type: 'integer', ephemeral: 'yes' },
    { type: 'integer', extra: true },
    'integer',
    null,
    [],
  ])('%j is none', (json) => {
    expect(column(json)).toEqual(SYNTAX);
  });
});

const NAME = { name: { type: 'string' } };
const A_B = { a: { type: 'integer' }, b: { type: 'string' } };

describe('tables', () => {
  test.each<JsonValue>([
    { columns: NAME },
    { columns: NAME, mutable: false },
    { columns: NAME, isRoot: true },
    { columns: NAME, maxRows: 2 },
    { columns: A_B, indexes: [['b', 'a']] },
    { columns: A_B, indexes: [['a'], ['b']] },
  ])('%o is written as it was read', (json) => {
    expect(table(json)).toEqual(json);
  });

  test('isRoot is written where it is not what tables are anyway', () => {
    expect(table({ columns: NAME }, true)).toEqual({ columns: NAME, isRoot: false });
    expect(table({ columns: NAME, isRoot: true }, true)).toEqual({ columns: NAME });
    expect(table({ columns: NAME, isRoot: false })).toEqual({ columns: NAME });
  });

  test.each<[string, JsonValue]>([
    ['no columns', {}],
    ['an empty list of columns', { columns: {} }],
    ['columns that are no object', { columns: [] }],
    ['maxRows 0', { columns: NAME, maxRows: 0 }],
    ['maxRows -1', { columns: NAME, maxRows: -1 }],
    ['maxRows 1.5', { columns: NAME, maxRows: 1.5 }],
    ['maxRows as text', { columns: NAME, maxRows: 'many' }],
    ['isRoot as number', { columns: NAME, isRoot: 1 }],
    ['a column name that starts with _', { columns: { _column: { type: 'integer' } } }],
    ['a column called _uuid', { columns: { _uuid: { type: 'uuid' } } }],
    ['a column name with a dash', { columns: { 'a-b': { type: 'integer' } } }],
    ['a column name that starts with a digit', { columns: { '1a': { type: 'integer' } } }],
    ['an empty column name', { columns: { '': { type: 'integer' } } }],
    ['a column without type', { columns: { name: {} } }],
    ['an unknown member', { columns: NAME, rows: 5 }],
    ['an index of numbers', { columns: A_B, indexes: [['b', 'a'], [0]] }],
    ['an empty index', { columns: A_B, indexes: [[]] }],
    ['an index of an unknown column', { columns: A_B, indexes: [['c']] }],
    ['an index that names a column twice', { columns: A_B, indexes: [['a', 'a']] }],
    ['an index of an implicit column', { columns: A_B, indexes: [['_uuid']] }],
    ['an index that is no list', { columns: A_B, indexes: ['a'] }],
    ['indexes that are no list', { columns: A_B, indexes: 'a' }],
    [
      'an index of an ephemeral column',
      { columns: { a: { type: 'integer', ephemeral: true } }, indexes: [['a']] },
    ],
  ])('refused: %s', (_name, json) => {
    expect(table(json)).toEqual(SYNTAX);
    expect(schema({ name: 'db', tables: { T: json } })).toEqual(SYNTAX);
  });
});

const reference = (refTable: string, refType?: string): JsonValue => ({
  key: { type: 'uuid', refTable, ...(refType === undefined ? {} : { refType }) },
  min: 0,
});

describe('schemas', () => {
  test.each<JsonValue>([
    { name: 'db', tables: { T: { columns: NAME } } },
    { name: 'db', version: '1.2.3', cksum: '12345678 9', tables: { T: { columns: NAME } } },
    { name: 'db', tables: {} },
    { name: 'db', tables: { T: { columns: NAME, isRoot: true }, U: { columns: NAME } } },
    {
      name: 'mydb',
      tables: {
        a: {
          columns: {
            map: {
              type: {
                key: { type: 'uuid', refTable: 'b' },
                value: { type: 'uuid', refTable: 'a' },
              },
            },
          },
        },
        b: { columns: { aRef: { type: { key: { type: 'uuid', refTable: 'a' } } } } },
      },
    },
  ])('%o is written as it was read', (json) => {
    expect(schema(json)).toEqual(json);
  });

  test('without a root table every table is one', () => {
    const roots = (tables: JsonValue): boolean[] =>
      [...parseSchema({ name: 'db', tables }).tables.values()].map(({ isRoot }) => isRoot);
    expect(roots({ a: { columns: NAME }, b: { columns: NAME } })).toEqual([true, true]);
    expect(roots({ a: { columns: NAME, isRoot: true }, b: { columns: NAME } })).toEqual([
      true,
      false,
    ]);
  });

  test('a strong reference that keeps a row alive is stored', () => {
    const tables = (refType: string): JsonValue => ({
      root: {
        columns: { child: { type: reference('child', refType), ephemeral: true } },
        isRoot: true,
      },
      child: { columns: NAME },
    });
    const isEphemeral = (refType: string): boolean | undefined =>
      parseSchema({ name: 'db', tables: tables(refType) })
        .tables.get('root')
        ?.columns.get('child')?.ephemeral;
    expect(isEphemeral('strong')).toBe(false);
    expect(isEphemeral('weak')).toBe(true);
  });

  test.each<[string, JsonValue]>([
    ['no name', { tables: {} }],
    ['a name that is no id', { name: 'my-db', tables: {} }],
    ['no tables', { name: 'db' }],
    ['tables that are no object', { name: 'db', tables: [] }],
    ['a version of two numbers', { name: 'db', version: '1.2', tables: {} }],
    ['a version of letters', { name: 'db', version: 'a.b.c', tables: {} }],
    ['a version that is no string', { name: 'db', version: 1, tables: {} }],
    ['cksum that is no string', { name: 'db', cksum: 5, tables: {} }],
    ['a table name that starts with _', { name: 'db', tables: { _T: { columns: NAME } } }],
    ['a table name with a space', { name: 'db', tables: { 'a b': { columns: NAME } } }],
    ['a table that is no object', { name: 'db', tables: { T: 1 } }],
    [
      'a reference to no table',
      { name: 'db', tables: { T: { columns: { r: { type: reference('U') } } } } },
    ],
    ['an unknown member', { name: 'db', tables: {}, owner: 'me' }],
    ['an array', []],
    ['null', null],
  ])('refused: %s', (_name, json) => {
    expect(schema(json)).toEqual(SYNTAX);
  });
});

describe('rows', () => {
  const table = parseTableSchema(
    {
      columns: {
        vswitch: { type: 'uuid' },
        name: { type: 'string' },
        datapath_id: { type: { key: 'string', min: 0 } },
        mirrors: { type: { key: 'integer', min: 0, max: 'unlimited' } },
        few: { type: { key: 'integer', min: 1, max: 2 } },
        pairs: { type: { key: 'integer', value: 'uuid', min: 1, max: 2 } },
        cost: { type: { key: { type: 'real', minReal: 0 } } },
      },
    },
    'T',
  );
  const nil: JsonValue = ['uuid', '00000000-0000-0000-0000-000000000000'];
  const empty = {
    vswitch: nil,
    name: '',
    datapath_id: ['set', []],
    mirrors: ['set', []],
    few: 0,
    pairs: ['map', [[0, nil]]],
    cost: 0,
  };

  test('have their default where nothing is said', () => {
    expect(rowToJson(table, parseRow(table, {}))).toEqual(empty);
  });

  test.each<[JsonObject, JsonObject]>([
    [
      { name: 'br0', datapath_id: 'x' },
      { name: 'br0', datapath_id: 'x' },
    ],
    [{ mirrors: ['set', [3, 1]] }, { mirrors: ['set', [1, 3]] }],
    [
      { mirrors: ['set', [3]], cost: 2e10 },
      { mirrors: 3, cost: 20_000_000_000 },
    ],
    [{ datapath_id: ['set', ['y']] }, { datapath_id: 'y' }],
  ])('%j in canonical form has %j', (json, expected) => {
    const row = parseRow(table, json);
    expect([...row.keys()]).toEqual(Object.keys(json));
    expect(rowToJson(table, row)).toEqual({ ...empty, ...expected });
  });

  test.each<[JsonValue, string]>([
    [['name'], 'syntax error: row must be JSON object'],
    [{ nam: 'x' }, 'unknown column: No column nam in table T.'],
    [{ name: 5 }, 'syntax "5": syntax error: expected string (column name)'],
    [{ cost: -1 }, 'constraint violation: -1 is less than minimum allowed value 0 (column cost)'],
    [{ mirrors: ['set', [1, 1]] }, 'ovsdb error: set contains duplicate (column mirrors)'],
  ])('%j is refused', (json, problem) => {
    expect(() => parseRow(table, json)).toThrow(problem);
  });
});

test.each<[JsonValue, string]>([
  [{ columns: A_B, maxRows: 0 }, 'syntax error: maxRows must be at least 1 (table T)'],
  [{ columns: {} }, 'syntax error: table must have at least one column (table T)'],
  [{ columns: A_B, indexes: [[]] }, 'syntax error: index must have at least one column (table T)'],
  [
    { columns: { _a: { type: 'string' } } },
    'syntax error: names beginning with "_" are reserved (column _a of table T)',
  ],
  [
    { columns: { 'a-b': { type: 'string' } } },
    'syntax error: name must be a valid id (a letter or _, then letters, digits and _) (column a-b of table T)',
  ],
  [
    { columns: { a: { type: { key: { type: 'integer', minInteger: 5, maxInteger: 3 } } } } },
    'syntax "{"maxInteger":3,"minInteger":5,"type":"integer"}": syntax error: minInteger exceeds maxInteger (column a of table T)',
  ],
])('what is wrong is said in the words of the server, then where: %j', (json, problem) => {
  expect(() => parseTableSchema(json, 'T')).toThrow(problem);
});

test.each<[JsonValue, string]>([
  [[['z']], 'syntax "["z"]": syntax error: z is not a valid column name (table T)'],
  [[['a', 1]], 'syntax "["a",1]": syntax error: array of distinct column names expected (table T)'],
  [[1], 'syntax "1": syntax error: array of distinct column names expected (table T)'],
])('an index that is none: %j', (indexes, problem) => {
  expect(() => parseTableSchema({ columns: A_B, indexes }, 'T')).toThrow(problem);
});

test('a limit of rows beyond 32 bits is none', () => {
  for (const maxRows of [4294967295, 4294967296])
    expect(table({ columns: A_B, maxRows })).toEqual(table({ columns: A_B }));
});

test('a reference to a table that is not there names column and table', () => {
  const tables = { a: { columns: { x: { type: { key: { type: 'uuid', refTable: 'z' } } } } } };
  expect(() => parseSchema({ name: 'db', tables })).toThrow(
    'syntax error: column x key refers to undefined table z (table a)',
  );
});
