import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { datumEquals, datumToJson, toDatum, type JsonValue } from 'ovsdb-client-ts';
import { parseColumnType, parseDatum } from 'ovsdb-client-ts/values';

/** What a program writes is the value that the server would send for it, in whatever form and order it is given. */

const text = fc.string({
  unit: fc.constantFrom('a', 'b', 'c', 'é', '\uffff', '\u{1f600}'),
  maxLength: 3,
});
const texts = fc.uniqueArray(text, { maxLength: 6 });
const pairs = fc.uniqueArray(fc.tuple(text, text), { maxLength: 12, selector: ([key]) => key });

const MAP = parseColumnType({ key: 'string', value: 'string', min: 0, max: 'unlimited' });
const SET = parseColumnType({ key: 'string', min: 0, max: 'unlimited' });
const OPTIONAL = parseColumnType({ key: 'string', min: 0, max: 1 });

test('a map given as a record or as a Map', () => {
  fc.assert(
    fc.property(pairs, (given) => {
      const wanted = parseDatum(MAP, ['map', given]);
      for (const value of [new Map(given), Object.fromEntries(given)]) {
        const datum = toDatum(MAP, value);
        // The order of the keys counts as well.
        expect([...(datum as ReadonlyMap<string, string>)]).toEqual([
          ...(wanted as ReadonlyMap<string, string>),
        ]);
        expect(parseDatum(MAP, datumToJson(MAP, datum))).toEqual(wanted);
      }
    }),
  );
});

test('a set given as an array, as a Set, or as its only member', () => {
  fc.assert(
    fc.property(texts, (given) => {
      const wanted = parseDatum(SET, ['set', given]);
      const forms = [given, new Set(given), ...(given.length === 1 ? given : [])];
      for (const value of forms) {
        expect(toDatum(SET, value)).toEqual(wanted);
        expect(parseDatum(SET, datumToJson(SET, toDatum(SET, value)))).toEqual(wanted);
      }
    }),
  );
});

test('an optional value', () => {
  expect(toDatum(OPTIONAL, 'a')).toBe('a');
  expect(toDatum(OPTIONAL, ['a'])).toBe('a');
  expect(toDatum(OPTIONAL, [])).toBeUndefined();
  expect(datumToJson(OPTIONAL, undefined)).toEqual(['set', []]);
  expect(datumToJson(OPTIONAL, 'a')).toBe('a');
});

test('two values are equal when the server would send the same for both', () => {
  const values = fc.oneof(
    fc.tuple(
      fc.constant(MAP),
      pairs.map((given): JsonValue => ['map', given]),
    ),
    fc.tuple(
      fc.constant(SET),
      texts.map((given): JsonValue => ['set', given]),
    ),
  );
  fc.assert(
    fc.property(values, values, ([type, a], [otherType, b]) => {
      fc.pre(type === otherType);
      const [x, y] = [parseDatum(type, a), parseDatum(type, b)];
      const isSame = JSON.stringify(datumToJson(type, x)) === JSON.stringify(datumToJson(type, y));
      expect(datumEquals(x, y)).toBe(isSame);
      expect(datumEquals(x, parseDatum(type, a))).toBe(true);
    }),
  );
});
