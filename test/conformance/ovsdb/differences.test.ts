import { describe, expect, test } from 'vitest';
import {
  applyDifference,
  difference,
  mergeDifferences,
  parseColumnType,
  parseDatum,
  parseDifference,
} from 'ovsdb-client-ts/values';
import { datumToJson, stringify, type JsonValue } from 'ovsdb-client-ts';
import { outcome, refused } from '../../support/run/outcome.ts';

test('members may be given in any order', () => {
  const type = parseColumnType({ key: 'string', min: 0, max: 'unlimited' });
  const before = ['foo', 'bar', 'foobar', 'baz'];
  const after = ['qux', 'foo', 'quux', 'baz', 'waldo'];
  const diff = ['bar', 'foobar', 'quux', 'qux', 'waldo'];
  expect(difference(type, before, after)?.datum).toEqual(diff);
  expect(difference(type, before, before.toReversed())).toBeUndefined();
  expect(applyDifference(type, before, diff.toReversed())).toEqual(after.toSorted());
});

test.each<[string, object, object, object, object]>([
  [
    'nothing before',
    {},
    { a: 'b', b: 'c', q: 'w' },
    { b: 'c', q: 'f', x: 'x' },
    { a: 'b', q: 'f', x: 'x' },
  ],
  ['changed and changed back', { x: 'x' }, { a: 'b', x: 'y' }, { x: 'x' }, { a: 'b' }],
  ['changed, then removed', { x: 'x' }, { a: 'b', x: 'y' }, { x: 'y' }, { a: 'b', x: 'x' }],
  ['removed, then added as it was', { x: 'x' }, { a: 'b', x: 'x' }, { x: 'x' }, { a: 'b' }],
  [
    'removed, then added as another',
    { x: 'x' },
    { a: 'b', x: 'x' },
    { x: 'y' },
    { a: 'b', x: 'y' },
  ],
])('two differences of a map as one: %s', (_name, before, first, second, expected) => {
  const type = parseColumnType({ key: 'string', value: 'string', min: 0, max: 'unlimited' });
  const asMap = (pairs: object): ReadonlyMap<string, string> => new Map(Object.entries(pairs));
  expect(mergeDifferences(type, asMap(before), asMap(first), asMap(second))?.datum).toEqual(
    asMap(expected),
  );
});

const WRONG_SIZE = refused('ovsdb error');
const ANY_SET = { key: 'integer', min: 0, max: 'unlimited' };
const SOME = { key: 'integer', max: 3 };
const ANY_MAP = { key: 'string', value: 'integer', min: 0, max: 'unlimited' };
const set = (...members: readonly JsonValue[]): JsonValue =>
  members.length === 1 ? (members[0] as JsonValue) : ['set', members];
const map = (...pairs: readonly JsonValue[]): JsonValue => ['map', pairs];

const diff = (json: JsonValue, before: JsonValue, after: JsonValue): JsonValue | undefined => {
  const type = parseColumnType(json);
  const found = difference(type, parseDatum(type, before), parseDatum(type, after));
  return found && datumToJson(type, found.datum);
};

const apply = (json: JsonValue, before: JsonValue, change: JsonValue): unknown =>
  outcome(() => {
    const type = parseColumnType(json);
    return datumToJson(
      type,
      applyDifference(type, parseDatum(type, before), parseDifference(type, change)),
    );
  });

/** Type, before, after, difference. */
const CASES: readonly (readonly [JsonValue, JsonValue, JsonValue, JsonValue])[] = [
  ['integer', 0, 2, 2],
  ['integer', 9007199254740992n, 9007199254740993n, 9007199254740993n],
  ['real', 0, 2.5, 2.5],
  ['boolean', true, false, false],
  ['string', 'AAA', 'BBB', 'BBB'],
  ['string', 'AAA', '', ''],
  [
    'uuid',
    ['uuid', '11111111-0000-4000-8000-000000000000'],
    ['uuid', '22222222-0000-4000-8000-000000000000'],
    ['uuid', '22222222-0000-4000-8000-000000000000'],
  ],
  [{ key: 'integer', min: 0 }, set(), 1, 1],
  [{ key: 'integer', min: 0 }, 1, set(), set()],
  [{ key: 'integer', min: 0 }, 1, 2, 2],
  [ANY_SET, set(), set(0, 2), set(0, 2)],
  [ANY_SET, set(0, 1), set(0, 2), set(1, 2)],
  [ANY_SET, set(0, 1), set(), set(0, 1)],
  [ANY_SET, set(0, 1, 2), set(1, 2), 0],
  [ANY_SET, set(1, 3), set(2, 4), set(1, 2, 3, 4)],
  [ANY_SET, set(-5), set(9223372036854775807n), set(-5, 9223372036854775807n)],
  [SOME, set(1, 2, 3), set(4, 5, 6), set(1, 2, 3, 4, 5, 6)],
  [
    { key: 'string', min: 0, max: 'unlimited' },
    set('b', '\u{1d11e}'),
    set('b', '\uffff'),
    set('\uffff', '\u{1d11e}'),
  ],
  [ANY_MAP, map(), map(['1', 1]), map(['1', 1])],
  [ANY_MAP, map(['1', 1]), map(), map(['1', 1])],
  [ANY_MAP, map(['1', 1]), map(['1', 2]), map(['1', 2])],
  [ANY_MAP, map(['1', 1]), map(['2', 2]), map(['1', 1], ['2', 2])],
  [
    ANY_MAP,
    map(['a', 1], ['b', 2], ['c', 3]),
    map(['b', 2], ['c', 4], ['d', 5]),
    map(['a', 1], ['c', 4], ['d', 5]),
  ],
  [
    { key: 'string', value: 'string', max: 2 },
    map(['a', 'x'], ['b', 'x']),
    map(['c', 'x'], ['d', 'x']),
    map(['a', 'x'], ['b', 'x'], ['c', 'x'], ['d', 'x']),
  ],
  [{ key: 'string', value: 'integer' }, map(['a', 1]), map(['a', 2]), map(['a', 2])],
  [{ key: 'string', value: 'integer' }, map(['a', 1]), map(['b', 1]), map(['b', 1])],
  [{ key: 'string', value: 'integer', min: 0 }, map(['a', 1]), map(), map()],
];

const NAMED = CASES.map((each) => [stringify(each), ...each] as const);

describe('a difference', () => {
  test.each(NAMED)('%s', (_name, type, before, after, change) => {
    expect(diff(type, before, after)).toEqual(change);
    expect(apply(type, before, change)).toEqual(after);
    expect(diff(type, before, before)).toBeUndefined();
    expect(diff(type, after, after)).toBeUndefined();
  });

  test.each(NAMED)('and back is nothing: %s', (_name, type, before, after) => {
    const back = diff(type, after, before) as JsonValue;
    expect(apply(type, after, back)).toEqual(before);
  });

  test.each<[JsonValue, JsonValue, JsonValue]>([
    [ANY_SET, set(1, 2), set()],
    [ANY_MAP, map(['a', 1]), map()],
  ])('that is empty changes nothing: %o %j', (type, before, none) => {
    expect(apply(type, before, none)).toEqual(before);
  });

  test.each<[JsonValue, JsonValue, JsonValue]>([
    [SOME, 1, 1],
    [SOME, set(1, 2, 3), 4],
    [SOME, set(1, 2), set(1, 2)],
    [{ key: 'string', value: 'integer', max: 2 }, map(['a', 1], ['b', 1]), map(['c', 1])],
    [{ key: 'string', value: 'integer', max: 2 }, map(['a', 1]), map(['a', 1])],
  ])('that leaves too few or too many members is refused: %o %j %j', (type, before, change) => {
    expect(apply(type, before, change)).toEqual(WRONG_SIZE);
  });

  test.each<[string, JsonValue, JsonValue, string]>([
    ['nothing for a scalar', 'integer', set(), 'syntax error'],
    ['two for a scalar', 'integer', set(1, 2), 'syntax error'],
    ['another type', ANY_SET, 'a', 'syntax error'],
    ['a set for a map', ANY_MAP, set(1, 2), 'syntax error'],
    ['a duplicate', ANY_SET, ['set', [1, 1]], 'ovsdb error'],
    ['a key twice', ANY_MAP, map(['a', 1], ['a', 2]), 'ovsdb error'],
  ])('is refused: %s', (_name, type, change, code) => {
    const column = parseColumnType(type);
    expect(outcome(() => parseDifference(column, change))).toEqual(refused(code));
  });
});

test('a value that is undefined is the default of its type', () => {
  const map = parseColumnType({ key: 'string', value: 'integer', min: 0, max: 'unlimited' });
  const one = new Map([['a', 1]]);
  expect(difference(map, undefined, one)?.datum).toEqual(one);
  expect(difference(map, one, undefined)?.datum).toEqual(one);
  expect(difference(map, undefined, undefined)).toBeUndefined();
  expect(applyDifference(map, undefined, one)).toEqual(one);
  expect(mergeDifferences(map, undefined, one, new Map([['b', 2]]))?.datum).toEqual(
    new Map([...one, ['b', 2]]),
  );
  expect(mergeDifferences(map, undefined, one, one)).toBeUndefined();
  const some = parseColumnType({ key: 'integer', max: 3 });
  expect(difference(some, undefined, [1])?.datum).toEqual([0, 1]);
  expect(applyDifference(some, undefined, [0, 2])).toEqual([2]);
  const scalar = parseColumnType('string');
  expect(difference(scalar, undefined, '')).toBeUndefined();
  expect(difference(scalar, 'x', undefined)?.datum).toBe('');
});
