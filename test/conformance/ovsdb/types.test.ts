import { describe, expect, test } from 'vitest';
import {
  baseTypeToJson,
  columnTypeToJson,
  parseBaseType,
  parseColumnType,
  parseJson,
} from 'ovsdb-client-ts/values';
import { stringify, type JsonValue } from 'ovsdb-client-ts';
import { outcome, refused } from '../../support/run/outcome.ts';

const SYNTAX = refused('syntax error');
const DUPLICATE = refused('ovsdb error');
const U1 = ['uuid', '11111111-0000-0000-0000-000000000000'];
const U2 = ['uuid', '22222222-0000-0000-0000-000000000000'];

/** Written and read back as JSON, so that no type depends on JavaScript's own idea of equality. */
const base = (json: JsonValue): unknown =>
  outcome(() => parseJson(stringify(baseTypeToJson(parseBaseType(json)))));
const column = (json: JsonValue): unknown =>
  outcome(() => parseJson(stringify(columnTypeToJson(parseColumnType(json)))));

const ATOMIC = ['integer', 'real', 'boolean', 'string', 'uuid'];

describe('atomic types', () => {
  test.each(ATOMIC)('%s', (name) => {
    expect(base(name)).toBe(name);
    expect(base({ type: name })).toBe(name);
    expect(column(name)).toBe(name);
    expect(column({ key: name })).toBe(name);
    expect(column({ key: { type: name }, min: 1, max: 1 })).toBe(name);
  });

  test.each<JsonValue>(['void', 'Integer', '', 'int', 1, true, null, [], ['integer']])(
    '%j is none',
    (json) => {
      expect(base(json)).toEqual(SYNTAX);
      expect(column(json)).toEqual(SYNTAX);
      expect(base({ type: json })).toEqual(SYNTAX);
      expect(column({ key: json })).toEqual(SYNTAX);
    },
  );
});

describe('base types', () => {
  test.each<JsonValue>([
    { type: 'integer', minInteger: 5 },
    { type: 'integer', maxInteger: 7 },
    { type: 'integer', minInteger: -5, maxInteger: 10 },
    { type: 'integer', minInteger: 5, maxInteger: 5 },
    { type: 'integer', minInteger: -9007199254740993n, maxInteger: 9223372036854775806n },
    { type: 'real', minReal: -1.5 },
    { type: 'real', maxReal: 100000 },
    { type: 'real', minReal: -2.5, maxReal: 3.75 },
    { type: 'string', minLength: 1 },
    { type: 'string', maxLength: 5 },
    { type: 'string', minLength: 1, maxLength: 5 },
    { type: 'string', maxLength: 0 },
    { type: 'uuid', refTable: 'myTable' },
    { type: 'uuid', refTable: 'myTable', refType: 'weak' },
    { type: 'integer', enum: 3 },
    { type: 'integer', enum: ['set', [-4, 10, 9223372036854775807n]] },
    { type: 'real', enum: ['set', [-1.5, 1.5]] },
    { type: 'boolean', enum: false },
    { type: 'string', enum: ['set', ['abc', 'def']] },
    { type: 'uuid', enum: ['set', [U1, U2]] },
  ])('%o is written as it was read', (json) => {
    expect(base(json)).toEqual(json);
    expect(column({ key: json, min: 0 })).toEqual({ key: json, min: 0 });
  });

  test.each<[JsonValue, JsonValue]>([
    [
      { type: 'real', maxReal: 1e5 },
      { type: 'real', maxReal: 100000 },
    ],
    [{ type: 'integer', minInteger: -9223372036854775808n }, 'integer'],
    [{ type: 'integer', maxInteger: 9223372036854775807n }, 'integer'],
    [{ type: 'string', minLength: 0 }, 'string'],
    [{ type: 'string', maxLength: 4294967295 }, 'string'],
    [
      { type: 'uuid', refTable: 'T', refType: 'strong' },
      { type: 'uuid', refTable: 'T' },
    ],
    [
      { type: 'integer', enum: ['set', [7]] },
      { type: 'integer', enum: 7 },
    ],
    [
      { type: 'integer', enum: ['set', [10, 8, 1, 6]] },
      { type: 'integer', enum: ['set', [1, 6, 8, 10]] },
    ],
    [
      { type: 'string', enum: ['set', ['b', 'B', 'a']] },
      { type: 'string', enum: ['set', ['B', 'a', 'b']] },
    ],
    [
      { type: 'boolean', enum: ['set', [true, false]] },
      { type: 'boolean', enum: ['set', [false, true]] },
    ],
    [
      { type: 'uuid', enum: ['set', [U2, U1]] },
      { type: 'uuid', enum: ['set', [U1, U2]] },
    ],
  ])('%o in canonical form is %o', (json, canonical) => {
    expect(base(json)).toEqual(canonical);
  });

  test.each<[string, JsonValue]>([
    ['no type', {}],
    ['minInteger above maxInteger', { type: 'integer', minInteger: 5, maxInteger: 3 }],
    ['minInteger with a fraction', { type: 'integer', minInteger: 0.5 }],
    ['minInteger as text', { type: 'integer', minInteger: '5' }],
    ['maxInteger beyond 64 bits', { type: 'integer', maxInteger: 9223372036854775808n }],
    ['minReal above maxReal', { type: 'real', minReal: 555, maxReal: 444 }],
    ['minReal as text', { type: 'real', minReal: '1' }],
    ['minLength above maxLength', { type: 'string', minLength: 5, maxLength: 3 }],
    ['a negative maxLength', { type: 'string', maxLength: -1 }],
    ['a negative minLength', { type: 'string', minLength: -1 }],
    ['maxLength beyond 32 bits', { type: 'string', maxLength: 4294967296 }],
    ['maxLength with a fraction', { type: 'string', maxLength: 1.5 }],
    ['refTable that is no id', { type: 'uuid', refTable: 'a-b-c' }],
    ['refTable that is no string', { type: 'uuid', refTable: 1 }],
    ['refType unknown', { type: 'uuid', refTable: 'T', refType: 'soft' }],
    ['refType without refTable', { type: 'uuid', refType: 'weak' }],
    ['limits of another type', { type: 'string', minInteger: 1 }],
    ['limits of reals on integers', { type: 'integer', minReal: 1 }],
    ['lengths of integers', { type: 'integer', maxLength: 1 }],
    ['limits on booleans', { type: 'boolean', minInteger: 0 }],
    ['references from strings', { type: 'string', refTable: 'T' }],
    ['enum and limits', { type: 'integer', enum: 1, minInteger: 0 }],
    ['enum and refTable', { type: 'uuid', enum: ['uuid', U1[1] ?? ''], refTable: 'T' }],
    ['empty enum', { type: 'integer', enum: ['set', []] }],
    ['enum of another type', { type: 'integer', enum: 'one' }],
    ['enum with a member of another type', { type: 'integer', enum: ['set', [1, 'one']] }],
    ['unknown member', { type: 'integer', step: 2 }],
  ])('refused: %s', (_name, json) => {
    expect(base(json)).toEqual(SYNTAX);
    expect(column({ key: json })).toEqual(SYNTAX);
    expect(column({ key: 'string', value: json, min: 0, max: 'unlimited' })).toEqual(SYNTAX);
  });

  test.each<JsonValue>([
    { type: 'integer', enum: ['set', [1, 2, 1]] },
    { type: 'real', enum: ['set', [0, -0]] },
    { type: 'string', enum: ['set', ['a', 'a']] },
    { type: 'uuid', enum: ['set', [U1, U1]] },
  ])('refused: an enum with a duplicate, %o', (json) => {
    expect(base(json)).toEqual(DUPLICATE);
  });
});

describe('column types', () => {
  test.each<JsonValue>([
    { key: 'boolean', min: 0 },
    { key: 'uuid', max: 3 },
    { key: 'string', min: 0, max: 3 },
    { key: 'integer', min: 0, max: 'unlimited' },
    { key: 'real', max: 'unlimited' },
    { key: 'integer', value: 'boolean' },
    { key: 'uuid', value: 'real', max: 5 },
    { key: 'string', value: 'uuid', min: 0, max: 10 },
    { key: 'real', value: 'string', max: 20 },
    { key: 'string', value: 'real', min: 0, max: 'unlimited' },
    { key: { type: 'uuid', refTable: 'b' }, value: { type: 'uuid', refTable: 'a' } },
    { key: { type: 'integer', minInteger: 1 } },
    { key: 'integer', max: 4294967294 },
  ])('%o is written as it was read', (json) => {
    expect(column(json)).toEqual(json);
  });

  test.each<[JsonValue, JsonValue]>([
    [
      { key: 'uuid', min: 1, max: 3 },
      { key: 'uuid', max: 3 },
    ],
    [
      { key: 'boolean', value: 'integer', min: 1, max: 1 },
      { key: 'boolean', value: 'integer' },
    ],
    [
      { key: { type: 'string' }, value: { type: 'real' } },
      { key: 'string', value: 'real' },
    ],
    [
      { key: { type: 'integer' }, min: 0, max: 1 },
      { key: 'integer', min: 0 },
    ],
  ])('%o in canonical form is %o', (json, canonical) => {
    expect(column(json)).toEqual(canonical);
  });

  test.each<[string, JsonValue]>([
    ['no key', {}],
    ['a value without key', { value: 'integer' }],
    ['max below min', { key: 'real', min: 5, max: 3 }],
    ['max 0', { key: 'real', min: 0, max: 0 }],
    ['a negative max', { key: 'real', max: -1 }],
    ['a negative min', { key: 'real', min: -1 }],
    ['min above one', { key: 'real', min: 10, max: 'unlimited' }],
    ['min 2', { key: 'real', min: 2, max: 2 }],
    ['min unlimited', { key: 'real', min: 'unlimited', max: 'unlimited' }],
    ['max as other text', { key: 'real', max: 'many' }],
    ['max with a fraction', { key: 'real', max: 1.5 }],
    ['max as boolean', { key: 'real', max: true }],
    ['an unknown member', { key: 'real', type: 'real' }],
    ['a limit outside of the key', { key: 'integer', minInteger: 1 }],
    ['an unknown value type', { key: 'integer', value: 'void' }],
  ])('refused: %s', (_name, json) => {
    expect(column(json)).toEqual(SYNTAX);
  });
});

test.each<[JsonValue, string]>([
  [{}, `syntax "{}": syntax error: Parsing ovsdb type failed: Required 'key' member is missing.`],
  [
    { key: 1 },
    `syntax "{"key":1}": syntax error: Parsing ovsdb type failed: Type mismatch for member 'key'.`,
  ],
  // The members of the type come before what is inside of them.
  [
    { min: 'x', key: 'void' },
    `syntax "{"key":"void","min":"x"}": syntax error: Parsing ovsdb type failed: Type mismatch for member 'min'.`,
  ],
  [
    { key: 'void', b: 1, a: 1 },
    `Parsing ovsdb type failed: Member 'b' and 1 other member are present but not allowed here.`,
  ],
  [{ key: 'integer', max: -1 }, 'syntax "-1": syntax error: bad min or max value'],
  [
    { key: 'integer', max: 0 },
    'syntax "{"key":"integer","max":0}": syntax error: ovsdb type fails constraint checks',
  ],
  [
    { key: { type: 'string', maxLength: -1 } },
    'syntax "-1": syntax error: maxLength out of valid range 0 to 4294967295',
  ],
  [
    { key: { type: 'integer', minInteger: 9007199254740993n, maxInteger: 1 } },
    'syntax "{"maxInteger":1,"minInteger":9007199254740993,"type":"integer"}": syntax error: minInteger exceeds maxInteger',
  ],
  [
    { key: { type: 'string', enum: ['set', []] } },
    'syntax "["set",[]]": syntax error: set must have 1 to 4294967295 members but 0 are present',
  ],
  [{ key: { type: 'string', enum: ['set', ['a', 'a']] } }, 'ovsdb error: set contains duplicate'],
])('what is wrong is said in the words of the server: %o', (json, problem) => {
  expect(() => parseColumnType(json)).toThrow(problem);
});
