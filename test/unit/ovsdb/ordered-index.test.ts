import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Replica, type JsonValue } from 'ovsdb-client-ts';
import { ChangeTracker } from 'ovsdb-client-ts/extras';
import { compareDatums } from 'ovsdb-client-ts/values';
import { VALUES_SCHEMA } from '../../support/ovsdb/ovsdb-values.ts';

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

const filled = (rows: readonly { i: number; s: string }[]): Replica => {
  const replica = new Replica(VALUES_SCHEMA);
  const table = Object.fromEntries(rows.map((row, n) => [uuid(n + 1), { initial: row }]));
  replica.apply({ T: table }, 'update2', 'contents');
  return replica;
};

test('rows come in order, within bounds, through every change', () => {
  const row = fc.record({ i: fc.integer({ min: -3, max: 3 }), s: fc.constantFrom('', 'a', 'b') });
  const change = fc.record({ at: fc.nat(9), row, isDelete: fc.boolean() });
  fc.assert(
    fc.property(
      fc.array(row, { maxLength: 10 }),
      fc.array(change),
      fc.integer({ min: -3, max: 3 }),
      (rows, changes, from) => {
        const replica = filled(rows);
        const ordered = replica.ordered('T', ['i', { column: 's', descending: true }]);
        const naive = new Map(rows.map((values, n) => [uuid(n + 1), values]));
        const check = (): void => {
          const expected = [...naive].sort(
            ([a, x], [b, y]) =>
              x.i - y.i || (x.s < y.s ? 1 : x.s > y.s ? -1 : 0) || (a < b ? -1 : 1),
          );
          expect(ordered.rows().map((found) => found.uuid)).toEqual(expected.map(([id]) => id));
          expect(ordered.range([from], [from + 1]).map((found) => found.uuid)).toEqual(
            expected.filter(([, { i }]) => i >= from && i <= from + 1).map(([id]) => id),
          );
          expect(ordered.find(from, 'a').map((found) => found.uuid)).toEqual(
            expected.filter(([, { i, s }]) => i === from && s === 'a').map(([id]) => id),
          );
        };
        check();
        for (const { at, row: values, isDelete } of changes) {
          const id = uuid(at + 1);
          const update: JsonValue = isDelete
            ? { delete: null }
            : naive.has(id)
              ? { modify: { ...values } }
              : { insert: { ...values } };
          if (isDelete && !naive.has(id)) continue;
          replica.apply({ T: { [id]: update } }, 'update2');
          if (isDelete) naive.delete(id);
          else naive.set(id, values);
          if (at % 2 === 0) check();
        }
        check();
      },
    ),
    { numRuns: 60 },
  );
});

test('an own order of values', () => {
  const replica = filled([
    { i: 1, s: 'aaa' },
    { i: 2, s: 'b' },
    { i: 3, s: 'cc' },
  ]);
  const byLength = replica.ordered('T', [
    { column: 's', compare: (a, b) => (a as string).length - (b as string).length },
  ]);
  expect(byLength.rows().map((row) => row.column('s'))).toEqual(['b', 'cc', 'aaa']);
  expect(byLength.range(['xx'], ['xx']).map((row) => row.column('s'))).toEqual(['cc']);
});

test('a tracker merges what happened until it is asked', async () => {
  const replica = filled([
    { i: 1, s: 'a' },
    { i: 2, s: 'b' },
  ]);
  using tracker = new ChangeTracker(replica);
  const waiting = Promise.all([1, 2].map(() => tracker.changed(AbortSignal.timeout(5000))));
  replica.apply(
    { T: { [uuid(1)]: { modify: { s: 'x' } }, [uuid(9)]: { insert: { i: 9 } } } },
    'update2',
  );
  await waiting;
  replica.apply(
    {
      T: {
        [uuid(1)]: { modify: { s: 'y', i: 7 } },
        [uuid(9)]: { delete: null },
        [uuid(2)]: { delete: null },
      },
    },
    'update2',
  );
  replica.apply({ T: { [uuid(2)]: { insert: { s: 'back' } } } }, 'update2');
  expect([tracker.lastChange('T'), tracker.lastChange('Other')]).toEqual([replica.sequence, 0]);
  const [changes] = [...tracker.take().values()];
  expect(changes?.map(({ sequence }) => replica.sequence - sequence)).toEqual([1, 0]);
  expect(changes?.map(({ kind, uuid: id, old }) => [kind, id, old.get('s'), old.get('i')])).toEqual(
    [
      ['modified', uuid(1), 'a', 1],
      ['modified', uuid(2), 'b', 2],
    ],
  );
  expect(tracker.isEmpty).toBe(true);
  // There and back again.
  replica.apply(
    { T: { [uuid(1)]: { modify: { s: 'z' } }, [uuid(2)]: { delete: null } } },
    'update2',
  );
  replica.apply(
    { T: { [uuid(1)]: { modify: { s: 'y', i: 8 } }, [uuid(2)]: { insert: { s: 'back' } } } },
    'update2',
  );
  expect([...tracker.take()]).toEqual([
    [
      'T',
      [{ kind: 'modified', uuid: uuid(1), old: new Map([['i', 7]]), sequence: replica.sequence }],
    ],
  ]);
  await expect(tracker.changed(AbortSignal.timeout(1))).rejects.toThrow('timeout');
  const waitingStill = tracker.changed();
  tracker[Symbol.dispose]();
  await expect(waitingStill).rejects.toThrow('disposed of');
});

/** Many with the same beginning, and such as end where others go on. */
const name = fc
  .array(fc.constantFrom('port-', '1', '12', 'é', '\u{1d11e}', 'aaaaaaaaa'), { maxLength: 4 })
  .map((parts) => parts.join(''));
const integer = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(2 ** 32, -(2 ** 32), 2 ** 33 + 1, 2 ** 53 - 1),
  // Many of them are the same as doubles.
  fc.bigInt({ min: 2n ** 62n, max: 2n ** 62n + 3n }),
  fc.bigInt({ min: -(2n ** 62n) - 3n, max: -(2n ** 62n) }),
);
const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
const set = (value: JsonValue | undefined): JsonValue => [
  'set',
  value === undefined ? [] : [value],
];

test('very many rows come in the order in which their values compare', () => {
  const wide = fc.record({
    s: name,
    s_optional: optional(name),
    i: integer,
    i_optional: optional(integer),
    r: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(0, 1, -1)),
    b: fc.boolean(),
    u: fc.nat(5).map((n): JsonValue => ['uuid', `${n}${uuid(n).slice(1)}`]),
    s_set: fc.uniqueArray(name, { maxLength: 2 }).map((names): JsonValue => ['set', names]),
  });
  const columns = ['s', 's_optional', 'i', 'i_optional', 'r', 'b', 'u', 's_set'] as const;
  const spec = fc.record({
    column: fc.constantFrom(...columns),
    descending: fc.boolean(),
    isOwn: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.array(wide, { minLength: 100, maxLength: 200 }),
      fc.array(spec, { minLength: 1, maxLength: 3 }),
      (rows, specs) => {
        const replica = new Replica(VALUES_SCHEMA);
        const table = rows.map((row, n) => [
          `${(n * 7) % 10}${uuid(n + 1).slice(1)}`,
          {
            initial: {
              ...row,
              r: row.r + 0,
              s_optional: set(row.s_optional),
              i_optional: set(row.i_optional),
            },
          },
        ]);
        const json = Object.fromEntries(table) as JsonValue;
        replica.apply({ T: json }, 'update2', 'contents');
        const order = specs.map(({ column, descending, isOwn }) => ({
          column,
          descending,
          ...(isOwn ? { compare: compareDatums } : {}),
        }));
        const expected = [...replica.rows('T')].sort((a, b) => {
          for (const { column, descending } of specs) {
            const sign = compareDatums(a.column(column), b.column(column));
            if (sign !== 0) return descending ? -sign : sign;
          }
          return a.uuid < b.uuid ? -1 : 1;
        });
        expect(
          replica
            .ordered('T', order)
            .rows()
            .map((row) => row.uuid),
        ).toEqual(expected.map((row) => row.uuid));
      },
    ),
    { numRuns: 200 },
  );
});
