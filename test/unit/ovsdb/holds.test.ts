import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseColumnType } from 'ovsdb-client-ts/values';
import { toDatum, type ColumnType, type Writable } from 'ovsdb-client-ts';
import { matches } from '../../../src/ovsdb/storage/cell-match.ts';
import { Pools } from '../../../src/ovsdb/storage/pools.ts';

/** Comparing a stored value in place gives what comparing it in canonical form gives. */

const text = fc.oneof(
  fc.constantFrom('', 'a', 'b', 'ab', 'é', '𝄞', 'a\u0080'),
  fc.string({ maxLength: 4 }),
);
const cases: readonly (readonly [string, ColumnType, fc.Arbitrary<Writable>])[] = [
  ['a text', parseColumnType('string'), text],
  [
    'an optional text',
    parseColumnType({ key: 'string', min: 0 }),
    fc.option(text, { nil: undefined }),
  ],
  ['a number', parseColumnType('integer'), fc.constantFrom(0, 1, -1, 2 ** 40, 7n)],
  ['a truth value', parseColumnType('boolean'), fc.boolean()],
  [
    'a set of texts',
    parseColumnType({ key: 'string', min: 0, max: 'unlimited' }),
    fc.array(text, { maxLength: 4 }),
  ],
  [
    'a map of texts',
    parseColumnType({ key: 'string', value: 'string', min: 0, max: 'unlimited' }),
    fc.dictionary(text, text, { maxKeys: 10, noNullPrototype: true }),
  ],
];

test.each(cases)('of %s', (_name, type, values) => {
  const codec = new Pools().column(type);
  fc.assert(
    fc.property(values, values, (stored, wanted) => {
      const cell = codec.cell(toDatum(type, stored));
      const inPlace = matches(codec, cell, wanted);
      if (inPlace === undefined) return;
      expect(inPlace).toBe(codec.find(toDatum(type, wanted)) === cell);
      expect(matches(codec, cell, stored)).not.toBe(false);
    }),
  );
});
