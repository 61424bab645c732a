import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseSchema, Replica, type JsonValue } from 'ovsdb-client-ts';
import { ChangeTracker } from 'ovsdb-client-ts/extras';

/** What a program holds of a replica while the database is converted to another schema. */

const uuid = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;

type Columns = { readonly [column: string]: JsonValue };

/** A replica of two tables, and how it is converted. */
function database(): {
  readonly replica: Replica;
  readonly convert: (tables: { readonly [table: string]: Columns }, contents: JsonValue) => void;
} {
  const schema = (tables: { readonly [table: string]: Columns }) =>
    parseSchema({
      name: 'D',
      tables: Object.fromEntries(
        Object.entries(tables).map(([table, columns]) => [
          table,
          {
            columns: Object.fromEntries(
              Object.entries(columns).map(([column, type]) => [column, { type }]),
            ),
          },
        ]),
      ),
    });
  const replica = new Replica(schema({ T: { a: 'string', b: 'string' }, U: { e: 'string' } }));
  replica.apply(
    { T: { [uuid(1)]: { initial: { a: 'x', b: 'y' } } }, U: { [uuid(2)]: { initial: {} } } },
    'update2',
    'contents',
  );
  return {
    replica,
    convert(tables, contents) {
      const monitored = new Map(
        Object.entries(tables).map(([table, columns]) => [table, new Set(Object.keys(columns))]),
      );
      expect(replica.redefine(schema(tables), { monitored })).toBe(false);
      replica.apply(contents, 'update2', 'contents');
    },
  };
}

test('a tracker tells the old value of a column that went with the conversion', () => {
  const { replica, convert } = database();
  using tracker = new ChangeTracker(replica);
  replica.apply({ T: { [uuid(1)]: { modify: { a: 'x2', b: 'y2' } } } }, 'update2');
  convert({ T: { a: 'string' } }, { T: { [uuid(1)]: { initial: { a: 'x' } } } });
  const taken = tracker.take();
  // `a` has its old value again, nobody can say so of `b`.
  expect(taken.get('T')).toMatchObject([
    { kind: 'modified', uuid: uuid(1), old: new Map([['b', 'y']]) },
  ]);
  expect(taken.get('U')).toMatchObject([{ kind: 'deleted', uuid: uuid(2) }]);
  expect(tracker.isEmpty).toBe(true);
});

test('a row that somebody holds is the same row after a conversion, with its new columns', () => {
  const { replica, convert } = database();
  const [row] = replica.find('T', ['a'], ['x']);
  const before = JSON.stringify(row);
  convert(
    { T: { z: 'integer', b: 'string', a: 'string' } },
    {
      T: {
        [uuid(3)]: { initial: { a: 'other' } },
        [uuid(1)]: { initial: { a: 'x', b: 'y2', z: 7 } },
      },
    },
  );
  expect(before).toBe(`{"_uuid":"${uuid(1)}","a":"x","b":"y"}`);
  expect(row).toMatchObject({ exists: true, uuid: uuid(1), a: 'x', b: 'y2' });
  expect(row?.column('z')).toBe(7);
  replica.apply({ T: { [uuid(1)]: { modify: { a: 'x3' } } } }, 'update2');
  expect(row?.holds('a', 'x3')).toBe(true);
  replica.apply({ T: { [uuid(1)]: { delete: null } } }, 'update2');
  expect(row?.exists).toBe(false);
});

test('a row that somebody holds is gone when the conversion took it, its table, or when it was gone before', () => {
  const { replica, convert } = database();
  const [first, other] = [replica.row('T', uuid(1)), replica.row('U', uuid(2))];
  replica.apply({ T: { [uuid(4)]: { insert: { a: 'short' } } } }, 'update2');
  const short = replica.row('T', uuid(4));
  replica.apply({ T: { [uuid(4)]: { delete: null } } }, 'update2');
  convert({ T: { a: 'string' } }, { T: { [uuid(5)]: { initial: { a: 'new' } } } });
  // The same UUID again is another row.
  replica.apply({ T: { [uuid(4)]: { insert: { a: 'again' } } } }, 'update2');
  for (const row of [first, other, short]) {
    expect(row?.exists).toBe(false);
    expect(() => row?.column('a')).toThrow('not in the database any more');
  }
});

test('a loop over rows goes on with those that there are after the conversion, as they are then', () => {
  const { replica, convert } = database();
  const rows = Object.fromEntries(
    [6, 7].map((n) => [uuid(n), { insert: { a: `${n}`, b: 'old' } }]),
  );
  replica.apply({ T: rows }, 'update2');
  const seen: unknown[] = [];
  for (const row of replica.rows('T')) {
    if (seen.length === 0)
      convert(
        { T: { b: 'string' } },
        { T: { [uuid(1)]: { initial: {} }, [uuid(7)]: { initial: { b: 'new' } } } },
      );
    seen.push([row.uuid, row.column('b')]);
  }
  expect(seen).toEqual([
    [uuid(1), ''],
    [uuid(7), 'new'],
  ]);
});

test('a row that nobody read for two conversions', () => {
  const { replica, convert } = database();
  const row = replica.row('T', uuid(1));
  convert({ T: { b: 'string' } }, { T: { [uuid(1)]: { initial: { b: 'y' } } } });
  convert({ T: { a: 'integer' } }, { T: { [uuid(1)]: { initial: { a: 5 } } } });
  expect(row?.column('a')).toBe(5);
  expect(() => row?.column('b')).toThrow('has no column b');
});

test('a row that somebody holds by its properties has properties for new columns, and says which one is gone', () => {
  const { replica, convert } = database();
  const held = replica.row('T', uuid(1)) as unknown as {
    readonly a: string;
    readonly b: string;
    readonly z: number;
    readonly y: string;
  };
  expect(held.z).toBeUndefined();
  convert(
    { T: { z: 'integer', a: 'string' } },
    { T: { [uuid(1)]: { initial: { a: 'x', z: 7 } } } },
  );
  const read = ({ a, z }: { a: string; z: number }): unknown => ({ a, z });
  expect(read(held)).toEqual({ a: 'x', z: 7 });
  expect(() => held.b).toThrow('table T has no column b');
  // Columns at other places than before, twice.
  convert(
    { T: { y: 'string', a: 'string', z: 'integer', b: 'string' } },
    { T: { [uuid(1)]: { initial: { a: 'x', z: 8, y: 'new', b: 'again' } } } },
  );
  const [found] = replica.find('T', ['a'], ['x']);
  for (const row of [held, found])
    expect(row).toMatchObject({ a: 'x', b: 'again', y: 'new', z: 8 });
  expect(JSON.stringify(held)).toBe(
    JSON.stringify({ _uuid: uuid(1), y: 'new', a: 'x', z: 8, b: 'again' }),
  );
});

/** A database whose set, map and scalar have other types in each of its schemas, with rows that a part of them can express. */
const TYPES: readonly Columns[] = [
  {
    set: { key: 'string', min: 0, max: 'unlimited' },
    map: { key: 'string', value: 'integer', min: 0, max: 'unlimited' },
    one: 'integer',
  },
  {
    set: { key: 'string', min: 0, max: 2 },
    map: { key: 'string', value: 'string', min: 0, max: 'unlimited' },
    one: { key: 'integer', min: 0 },
  },
  { one: 'string', set: { key: 'string' } },
];

const schemaOf = (columns: Columns) =>
  parseSchema({
    name: 'D',
    tables: {
      T: {
        columns: Object.fromEntries(
          Object.entries(columns).map(([name, type]) => [name, { type }]),
        ),
      },
    },
  });

test('a conversion that another one replaced before its contents came leaves nothing behind', () => {
  const row = fc.record({
    set: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 4 }),
    map: fc.uniqueArray(fc.constantFrom('k', 'l', 'm'), { maxLength: 3 }),
    one: fc.nat(2),
  });
  const index = fc.integer({ min: 1, max: 2 });
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 9 }), index, index, (rows, to, before) => {
      const contents = Object.fromEntries(
        rows.map(({ set, map, one }, n) => [
          uuid(n),
          { initial: { set: ['set', set], map: ['map', map.map((key) => [key, one])], one } },
        ]),
      );
      const converted = (steps: readonly number[]): unknown => {
        const replica = new Replica(schemaOf(TYPES[0] ?? {}));
        replica.apply({ T: contents }, 'update2', 'contents');
        const shown = JSON.stringify([...replica.rows('T')]);
        const told: unknown[] = [];
        replica.subscribe(({ tables }) =>
          told.push([...tables.values()].map((table) => table.rows)),
        );
        for (const step of steps) {
          const columns = TYPES[step] ?? {};
          const monitored = new Map([['T', new Set(Object.keys(columns))]]);
          replica.redefine(schemaOf(columns), { monitored });
          expect(JSON.stringify([...replica.rows('T')])).toBe(shown);
        }
        replica.apply({ T: { [uuid(0)]: { initial: {} } } }, 'update2', 'contents');
        const { bytes: _bytes, ...statistics } = replica.statistics;
        return { told, rows: JSON.stringify([...replica.rows('T')]), statistics };
      };
      expect(converted([before, to])).toEqual(converted([to]));
    }),
  );
});

test('a column that is not followed can be written as soon as the server has it', () => {
  const replica = new Replica(
    parseSchema({
      name: 'D',
      tables: { T: { columns: { a: { type: 'string' }, b: { type: 'string' } } } },
    }),
    { monitored: new Map([['T', new Set(['a'])]]) },
  );
  expect(replica.access('T', 'b')).toBe('missing');
  const columns = {
    monitored: new Map([['T', new Set(['a'])]]),
    unseen: new Map([['T', new Set(['b'])]]),
  };
  replica.redefine(replica.schema, columns);
  replica.apply({ T: {} }, 'update2', 'contents');
  expect(replica.access('T', 'b')).toBe('unseen');
});
