import { expect, test } from 'vitest';
import { parseSchema, Replica, type Atom, type JsonValue } from 'ovsdb-client-ts';

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

const map = (key: string): JsonValue => ({
  type: { key, value: 'string', min: 0, max: 'unlimited' },
});

/** Two keys of each type, as a program and as the wire writes them. */
const KEYS: readonly (readonly [string, Atom, JsonValue, Atom, JsonValue])[] = [
  ['string', 'owner', 'owner', '7', '7'],
  ['integer', 7, 7, -7, -7],
  ['integer', 2n ** 62n, 2n ** 62n, 2n ** 62n + 1n, 2n ** 62n + 1n],
  ['real', 0.5, 0.5, 2, 2],
  ['boolean', true, true, false, false],
  ['uuid', uuid(1), ['uuid', uuid(1)], uuid(2), ['uuid', uuid(2)]],
];

test.each(KEYS)('rows are found by a map key: %s %s', (type, first, onWire, other, otherOnWire) => {
  const replica = new Replica(
    parseSchema({ name: 'D', tables: { T: { columns: { m: map(type) } } } }),
  );
  const row = (...pairs: JsonValue[][]): JsonValue => ({ m: ['map', pairs] });
  const by = (key: Atom, value: string): readonly string[] =>
    replica.find('T', [{ column: 'm', key }], [value]).map((found) => found.uuid);
  expect(by(first, 'a')).toEqual([]);
  replica.apply(
    {
      T: {
        [uuid(1)]: { initial: row([onWire, 'a']) },
        [uuid(2)]: { initial: row([onWire, 'b'], [otherOnWire, 'a']) },
      },
    },
    'update2',
    'contents',
  );
  expect([by(first, 'a'), by(first, 'b'), by(other, 'a'), by(other, 'b')]).toEqual([
    [uuid(1)],
    [uuid(2)],
    [uuid(2)],
    [],
  ]);
  replica.apply({ T: { [uuid(1)]: { modify: row([onWire, 'b']) } } }, 'update2');
  expect([by(first, 'a'), by(first, 'b').toSorted()]).toEqual([[], [uuid(1), uuid(2)]]);
});

test('one key written in two ways is one index; a key of another type is refused', () => {
  const replica = new Replica(
    parseSchema({ name: 'D', tables: { T: { columns: { m: map('integer') } } } }),
  );
  replica.apply(
    { T: { [uuid(1)]: { initial: { m: ['map', [[7, 'a']]] } } } },
    'update2',
    'contents',
  );
  expect(replica.find('T', [{ column: 'm', key: 7n }], ['a'])).toHaveLength(1);
  expect(replica.find('T', [{ column: 'm', key: 7 }], ['a'])).toHaveLength(1);
  expect(() => replica.find('T', [{ column: 'm', key: '7' }], ['a'])).toThrow(
    /no key of column m of table T, a map from integer: 7 is not an integer/,
  );
});
