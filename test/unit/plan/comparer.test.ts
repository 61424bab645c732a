import { expect, test } from 'vitest';
import { OvsdbError, parseSchema, Replica, type JsonValue } from '../../../src/ovsdb/index.ts';
import { uuidWords } from '../../../src/ovsdb/data/uuid.ts';

/** Comparing many rows of a replica with wanted ones, by number. */

const schema = parseSchema({
  name: 'Test',
  version: '1.0.0',
  tables: {
    Holder: {
      columns: {
        members: { type: { key: { type: 'uuid', refTable: 'Row' }, min: 0, max: 'unlimited' } },
      },
      isRoot: true,
    },
    Row: {
      columns: {
        name: { type: 'string' },
        number: { type: 'integer' },
        limit: { type: { key: 'integer', min: 0, max: 1 } },
        ids: { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } },
        holder: {
          type: { key: { type: 'uuid', refTable: 'Holder', refType: 'weak' }, min: 0, max: 1 },
        },
        seen: { type: 'boolean' },
      },
      isRoot: true,
    },
  },
});

const uuidOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

function filled(tables: Readonly<Record<string, Readonly<Record<string, JsonValue>>>>): Replica {
  const replica = new Replica(schema);
  const update = Object.fromEntries(
    Object.entries(tables).map(([table, rows]) => [
      table,
      Object.fromEntries(Object.entries(rows).map(([uuid, initial]) => [uuid, { initial }])),
    ]),
  );
  replica.apply(update, 'update2', 'contents');
  return replica;
}

const COMPARED = ['name', 'number', 'limit', 'ids', 'holder'];

test('a row equals what has its values, and the default where nothing is given', () => {
  const replica = filled({
    Row: {
      [uuidOf(1)]: { name: 'a', ids: ['map', [['k', 'v']]], seen: true },
      [uuidOf(2)]: { name: 'a', number: 7, limit: 3, holder: ['uuid', uuidOf(9)] },
    },
  });
  const comparer = replica.comparer('Row', COMPARED, ['seen']);
  const row = comparer.find(uuidWords(uuidOf(1)), 0);
  const other = comparer.find(uuidWords(uuidOf(2)), 0);
  expect(new Set([row, other])).toEqual(new Set([1, 2]));
  expect(comparer.find(uuidWords(uuidOf(3)), 0)).toBe(0);
  const found = new Uint32Array(3);
  const words = [2, 3, 1].flatMap((n) => [...uuidWords(uuidOf(n))]);
  comparer.findAll(Uint32Array.of(0, ...words), 1, 3, found);
  expect([...found]).toEqual([other, 0, row]);
  expect(comparer.equals(row, { name: 'a', ids: { k: 'v' } })).toBe(true);
  expect(comparer.equals(row, { name: 'a', ids: new Map([['k', 'v']]), number: 0 })).toBe(true);
  expect(comparer.equals(row, { name: 'a', ids: { k: 'v' }, limit: undefined })).toBe(true);
  // What is ignored may have any value, given or not.
  expect(comparer.equals(row, { name: 'a', ids: { k: 'v' }, seen: false })).toBe(true);
  expect(comparer.equals(row, { name: 'a' })).toBe(false);
  expect(comparer.equals(row, { name: 'a', ids: { k: 'v', l: 'v' } })).toBe(false);
  expect(comparer.equals(row, { name: 'a', ids: { k: 'v' }, number: 1 })).toBe(false);
  expect(comparer.equals(row, { name: 'a', ids: { k: 'v' }, unknown: 1 })).toBe(false);
  expect(comparer.equals(other, { name: 'a', number: 7, limit: [3], holder: uuidOf(9) })).toBe(
    true,
  );
  expect(comparer.equals(other, { name: 'a', number: 7, limit: 3 })).toBe(false);
  // What the column could never hold.
  expect(comparer.equals(other, { name: 7, number: 7, limit: 3, holder: uuidOf(9) })).toBe(false);
});

test('one value given for many rows is compared with each of them', () => {
  const replica = filled({
    Row: {
      [uuidOf(1)]: { ids: ['map', [['k', 'v']]] },
      [uuidOf(2)]: { ids: ['map', [['k', 'w']]] },
      [uuidOf(3)]: { ids: ['map', [['k', 'v']]] },
    },
  });
  const comparer = replica.comparer('Row', COMPARED, ['seen']);
  const ids = { k: 'v' };
  const answers = [1, 2, 3].map((n) =>
    comparer.equals(comparer.find(uuidWords(uuidOf(n)), 0), { ids }),
  );
  expect(answers).toEqual([true, false, true]);
});

test('membership is told right however often it is asked, also of a row that is in several sets', () => {
  const numbers = Array.from({ length: 40 }, (_, n) => n + 1);
  const setOf = (members: readonly number[]): JsonValue => [
    'set',
    members.map((n): JsonValue => ['uuid', uuidOf(n)]),
  ];
  const [even, small] = [numbers.filter((n) => n % 2 === 0), numbers.filter((n) => n < 10)];
  const replica = filled({
    Row: Object.fromEntries(numbers.map((n) => [uuidOf(n), { name: `row ${n}` }])),
    Holder: {
      [uuidOf(101)]: { members: setOf(even) },
      [uuidOf(102)]: { members: setOf(small) },
      [uuidOf(103)]: {},
    },
  });
  const rows = replica.comparer('Row', COMPARED, []);
  const holders = replica.comparer('Holder', [], []);
  const members = holders.members('members');
  const number = (comparer: typeof rows, n: number) => comparer.find(uuidWords(uuidOf(n)), 0);
  // More often than a set is looked through.
  for (let round = 0; round < 40; round++) {
    for (const [holder, expected] of [
      [101, even],
      [102, small],
      [103, []],
    ] as const) {
      const found = numbers.filter((n) =>
        members.includes(number(holders, holder), rows, number(rows, n)),
      );
      expect(found).toEqual(expected);
      expect(members.size(number(holders, holder))).toBe(expected.length);
    }
  }
});

test('rows are numbered from 1 on', () => {
  const replica = filled({ Row: { [uuidOf(1)]: { name: 'a' }, [uuidOf(2)]: { name: 'b' } } });
  const comparer = replica.comparer('Row', COMPARED, []);
  const names = Array.from({ length: comparer.top - 1 }, (_, i) =>
    comparer.row(i + 1)?.column('name'),
  );
  expect(new Set(names)).toEqual(new Set(['a', 'b']));
  expect(() => replica.comparer('Nothing', [], [])).toThrow(OvsdbError);
});
