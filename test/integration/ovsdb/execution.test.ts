import { describe, expect, test } from 'vitest';
import type { JsonValue, Operation } from 'ovsdb-client-ts';
import type { WireRow } from '../../../src/ovsdb/data/operation.ts';
import { History } from '../../support/ovsdb/ovsdb-history.ts';

/** Histories on a real server. After each transaction the replica is compared with what the server has. */

const references = (table: string, refType: 'strong' | 'weak', min = 0): JsonValue => ({
  type: {
    key: { type: 'uuid', refTable: table, ...(refType === 'weak' ? { refType } : {}) },
    min,
    max: 'unlimited',
  },
});
const named = (...names: string[]): JsonValue => [
  'set',
  names.map((name): JsonValue => ['named-uuid', name]),
];
const insert = (table: string, row: WireRow, name?: string): Operation => ({
  op: 'insert',
  table,
  row,
  ...(name === undefined ? {} : { 'uuid-name': name }),
});
const update = (table: string, row: WireRow, where: Where = []): Operation => ({
  op: 'update',
  table,
  where,
  row,
});
type Where = Extract<Operation, { op: 'update' }>['where'];
type Mutations = Extract<Operation, { op: 'mutate' }>['mutations'];
const mutate = (table: string, mutations: Mutations, where: Where = []): Operation => ({
  op: 'mutate',
  table,
  where,
  mutations,
});
const remove = (table: string, where: Where = []): Operation => ({ op: 'delete', table, where });
const select = (table: string, columns: readonly string[], where: Where = []): Operation => ({
  op: 'select',
  table,
  where,
  columns,
  sort: columns,
});
const is = (column: string, value: JsonValue): Where => [[column, '==', value]];

const ORDINALS: JsonValue = {
  ordinals: {
    columns: { number: { type: 'integer' }, name: { type: 'string' } },
    indexes: [['number'], ['number', 'name']],
  },
};
const ordinal = (number: number, name: string): Operation => insert('ordinals', { number, name });
const inserted = (n: number): object => ({ uuid: ['uuid', `<${n}>`] });

describe.each(['monitor_cond_since', 'monitor'] as const)('followed by %s', (method) => {
  const start = (name: string, tables: JsonValue): Promise<History> =>
    History.start(name, tables, method);

  test('rows come, are found by every way of asking, change and go', async () => {
    await using history = await start('ordinals', ORDINALS);
    expect(await history.run(insert('ordinals', {}))).toEqual([inserted(0)]);
    expect(await history.run(select('ordinals', ['_uuid', 'name', 'number']))).toEqual([
      { rows: [{ _uuid: ['uuid', '<0>'], name: '', number: 0 }] },
    ]);
    expect(await history.run(ordinal(1, 'one'), ordinal(2, 'two'))).toEqual([
      inserted(1),
      inserted(2),
    ]);
    expect(
      await history.run(
        select('ordinals', ['name'], is('number', 2)),
        select(
          'ordinals',
          ['number'],
          [
            ['name', '==', 'two'],
            ['number', '==', 2],
          ],
        ),
        select('ordinals', ['number'], is('name', 'none')),
        select('ordinals', ['number'], [['number', '>', 0]]),
        remove('ordinals', is('number', 2)),
        select('ordinals', ['number'], is('number', 2)),
        mutate('ordinals', [['number', '+=', 4]], is('number', 1)),
        select('ordinals', ['number']),
      ),
    ).toEqual([
      { rows: [{ name: 'two' }] },
      { rows: [{ number: 2 }] },
      { rows: [] },
      { rows: [{ number: 1 }, { number: 2 }] },
      { count: 1 },
      { rows: [] },
      { count: 1 },
      { rows: [{ number: 0 }, { number: 5 }] },
    ]);
    expect(await history.run(remove('ordinals', is('name', 'none')))).toEqual([{ count: 0 }]);
    expect(await history.run(mutate('ordinals', []))).toEqual([{ count: 2 }]);
    expect(await history.run(remove('ordinals'))).toEqual([{ count: 2 }]);
  });

  test('a row of the transaction itself is found by its name, and may come and go', async () => {
    await using history = await start('ordinals', ORDINALS);
    const self: Where = [['_uuid', '==', ['named-uuid', 'first']]];
    expect(
      await history.run(
        insert('ordinals', { number: 0, name: 'zero' }, 'first'),
        insert('ordinals', { number: 1, name: 'one' }),
        select('ordinals', ['name'], self),
        remove('ordinals', self),
        select('ordinals', ['name']),
      ),
    ).toEqual([
      inserted(0),
      inserted(1),
      { rows: [{ name: 'zero' }] },
      { count: 1 },
      { rows: [{ name: 'one' }] },
    ]);
    // An index is only broken if it still is at the commit.
    expect(
      await history.run(
        insert('ordinals', { number: 1, name: 'double' }, 'first'),
        select('ordinals', ['name'], is('number', 1)),
        remove('ordinals', self),
      ),
    ).toEqual([inserted(2), { rows: [{ name: 'double' }, { name: 'one' }] }, { count: 1 }]);
  });

  test('a row of an own UUID; the same UUID twice', async () => {
    await using history = await start('ordinals', ORDINALS);
    const own = (number: number): Operation => ({
      op: 'insert',
      table: 'ordinals',
      uuid: 'ffffffff-971b-4cba-bf42-520515973b7e',
      row: { number },
    });
    const duplicate =
      'duplicate uuid: This UUID would duplicate a UUID already present within the table or deleted within the same transaction.';
    expect(await history.run(own(0))).toEqual([inserted(0)]);
    expect(history.uuid('<0>')).toBe('ffffffff-971b-4cba-bf42-520515973b7e');
    expect(await history.run(own(1))).toEqual({ at: 0, error: duplicate });
    expect(await history.run(remove('ordinals'), own(1))).toEqual({ at: 1, error: duplicate });
    expect(await history.run(remove('ordinals'))).toEqual([{ count: 1 }]);
    expect(await history.run(own(2))).toEqual([inserted(0)]);
  });

  test('waits compare sets of rows', async () => {
    await using history = await start('ordinals', ORDINALS);
    await history.run(ordinal(0, 'zero'), ordinal(1, 'one'));
    const rows = (...names: string[]): readonly WireRow[] =>
      names.map((name) => ({ name, number: ['zero', 'one', 'two'].indexOf(name) }));
    const wait = (until: '==' | '!=', ...names: string[]): Operation => ({
      op: 'wait',
      timeout: 0,
      table: 'ordinals',
      where: [],
      columns: ['name', 'number'],
      until,
      rows: rows(...names),
    });
    const failed = { at: 0, tryAgain: 'timed out: "where" clause test failed' };
    expect(await history.run(wait('==', 'zero', 'one'))).toEqual([{}]);
    expect(await history.run(wait('==', 'one', 'zero', 'one'))).toEqual([{}]);
    expect(await history.run(wait('==', 'zero', 'one', 'two'))).toEqual(failed);
    expect(await history.run(wait('==', 'one'))).toEqual(failed);
    expect(await history.run(wait('!=', 'zero', 'one'))).toEqual(failed);
    expect(await history.run(wait('!=', 'zero', 'one', 'two'))).toEqual([{}]);
    expect(await history.run(wait('!=', 'one'))).toEqual([{}]);
  });

  test('limits of columns and tables', async () => {
    await using history = await start('limits', {
      constrained: {
        columns: { positive: { type: { key: { type: 'integer', minInteger: 1 } } } },
        maxRows: 1,
      },
      b: { columns: { b: { type: 'integer' }, x: { type: { key: 'integer', min: 1, max: 2 } } } },
      fixed: { columns: { i: { type: 'integer', mutable: false } } },
    });
    const below = (value: number): object => ({
      at: 0,
      error: `constraint violation: ${value} is less than minimum allowed value 1`,
    });
    expect(await history.run(insert('constrained', {}))).toEqual(below(0));
    expect(await history.run(insert('constrained', { positive: -1 }))).toEqual(below(-1));
    expect(await history.run(update('constrained', { positive: -2 }))).toEqual(below(-2));
    expect(await history.run(insert('constrained', { positive: 1 }))).toEqual([inserted(0)]);
    expect(await history.run(insert('constrained', { positive: 2 }))).toMatchObject({
      at: 'commit',
      error: expect.stringContaining('greater than the schema-defined limit of 1 row(s)') as string,
    });
    // A set that must have one or two members.
    const wrong = (n: number): object => ({
      at: 0,
      error: `constraint violation: Attempted to store ${n} elements in set of 1 to 2 integers.`,
    });
    await history.run(insert('b', { b: 1 }));
    expect(await history.run(mutate('b', [['x', 'delete', 0]]))).toEqual(wrong(0));
    expect(await history.run(mutate('b', [['x', 'insert', 1]]))).toEqual([{ count: 1 }]);
    expect(await history.run(update('b', { x: ['set', [3, 4]] }))).toEqual([{ count: 1 }]);
    expect(await history.run(mutate('b', [['x', 'insert', 5]]))).toEqual(wrong(3));
    expect(
      await history.run(
        mutate('b', [
          ['x', 'delete', 4],
          ['x', 'insert', 5],
        ]),
      ),
    ).toEqual([{ count: 1 }]);
    // A column that never changes.
    await history.run(insert('fixed', { i: 5 }));
    for (const operation of [update('fixed', { i: 10 }), update('fixed', { i: 5 })]) {
      expect(await history.run(operation)).toEqual({
        at: 0,
        error: 'constraint violation: Cannot update immutable column i in table fixed.',
      });
    }
    expect(await history.run(mutate('fixed', [['i', '*=', 1]]))).toEqual({
      at: 0,
      error: 'constraint violation: Cannot mutate immutable column i in table fixed.',
    });
  });

  test('indexes are kept by the commit, not by each operation', async () => {
    await using history = await start('ordinals', ORDINALS);
    const collides = {
      at: 'commit',
      error: expect.stringContaining('for index on column "number"') as string,
    };
    await history.run(ordinal(1, 'one'));
    expect(await history.run(ordinal(1, 'another one'))).toEqual(collides);
    expect(
      await history.run(ordinal(1, 'another one'), remove('ordinals', is('name', 'one'))),
    ).toEqual([inserted(2), { count: 1 }]);
    expect(
      await history.run(remove('ordinals'), ordinal(1, 'one'), ordinal(1, 'still another one')),
    ).toEqual(collides);
    await history.run(ordinal(2, 'two'));
    expect(await history.run(update('ordinals', { number: 3 }))).toEqual(collides);
    // Rows swap their values.
    expect(
      await history.run(
        update('ordinals', { number: 2, name: 'old two' }, is('number', 1)),
        update('ordinals', { number: 1, name: 'old one' }, is('name', 'two')),
      ),
    ).toEqual([{ count: 1 }, { count: 1 }]);
    expect(
      await history.run(
        mutate('ordinals', [['number', '*=', 10]]),
        ordinal(1, 'new one'),
        ordinal(2, 'new two'),
        select('ordinals', ['number', 'name']),
      ),
    ).toMatchObject({
      3: {
        rows: [
          { name: 'new one', number: 1 },
          { name: 'new two', number: 2 },
          { name: 'old one', number: 10 },
          { name: 'old two', number: 20 },
        ],
      },
    });
  });

  const STRONG: JsonValue = {
    a: {
      columns: {
        a: { type: 'integer' },
        a2a: references('a', 'strong'),
        a2b: references('b', 'strong'),
      },
    },
    b: {
      columns: {
        b: { type: 'integer' },
        b2a: references('a', 'strong'),
        b2b: references('b', 'strong'),
      },
    },
  };

  test('a row that is referred to stays', async () => {
    await using history = await start('strong', STRONG);
    await history.run(
      insert('b', { b: 1 }, 'brow'),
      insert('a', { a: 0, a2b: named('brow') }),
      insert('a', { a: 1, a2b: named('brow') }),
    );
    const kept = (n: number): object => ({
      at: 'commit',
      error: `referential integrity violation: cannot delete b row <0> because of ${n} remaining reference(s)`,
    });
    expect(await history.run(remove('b'))).toEqual(kept(2));
    expect(await history.run(remove('a', is('a', 0)))).toEqual([{ count: 1 }]);
    expect(await history.run(remove('b'))).toEqual(kept(1));
    expect(await history.run(remove('a', is('a', 1)), remove('b'))).toEqual([
      { count: 1 },
      { count: 1 },
    ]);
    // Rows that refer to each other go together or not at all; a row's references to itself do not keep it.
    await history.run(
      insert('a', { a: 0, a2b: named('row2'), a2a: named('row1') }, 'row1'),
      insert('b', { b: 1, b2b: named('row2'), b2a: named('row1') }, 'row2'),
    );
    expect(await history.run(remove('a'))).toMatchObject({ at: 'commit' });
    expect(await history.run(remove('b'))).toMatchObject({ at: 'commit' });
    expect(await history.run(remove('a'), remove('b'))).toEqual([{ count: 1 }, { count: 1 }]);
    expect(
      await history.run(insert('a', { a2b: ['uuid', 'b516b960-5b19-4fc2-bb82-fe1cbd6d0241'] })),
    ).toMatchObject({
      at: 'commit',
      error: expect.stringContaining('references nonexistent row') as string,
    });
  });

  test('weak references go with what they refer to', async () => {
    await using history = await start('weak', {
      a: {
        columns: {
          a: { type: 'integer' },
          a2a: references('a', 'weak'),
          a2a1: { type: { key: { type: 'uuid', refTable: 'a', refType: 'weak' } } },
          a2b: { type: { key: { type: 'uuid', refTable: 'b', refType: 'weak' } } },
        },
      },
      b: { columns: { b: { type: 'integer' }, b2a: references('a', 'weak') } },
    });
    await history.run(
      insert(
        'a',
        {
          a: 0,
          a2a: [
            'set',
            [
              ['named-uuid', 'row1'],
              ['named-uuid', 'row2'],
              ['uuid', '0e767b36-6822-4044-8307-d58467e04669'],
            ],
          ],
          a2a1: ['named-uuid', 'row1'],
          a2b: ['named-uuid', 'row3'],
        },
        'row1',
      ),
      insert(
        'a',
        {
          a: 1,
          a2a: named('row1', 'row2'),
          a2a1: ['named-uuid', 'row2'],
          a2b: ['named-uuid', 'row3'],
        },
        'row2',
      ),
      insert('a', {
        a: 2,
        a2a: named('row1', 'row2'),
        a2a1: ['named-uuid', 'row2'],
        a2b: ['named-uuid', 'row4'],
      }),
      insert('b', { b: 2, b2a: ['named-uuid', 'row1'] }, 'row3'),
      insert('b', { b: 3, b2a: ['named-uuid', 'row2'] }, 'row4'),
    );
    const members = (a: number): unknown =>
      [...history.client.replica.rows('a')].find((row) => row.holds('a', a))?.memberCount('a2a');
    // The row that never was is not referred to.
    expect(members(0)).toBe(2);
    const empty = (column: string): object => ({
      at: 'commit',
      error: expect.stringMatching(
        `column "${column}" in "a" row .* caused this column to become empty`,
      ) as string,
    });
    expect(await history.run(remove('b', is('b', 3)))).toEqual(empty('a2b'));
    expect(await history.run(remove('a', is('a', 1)))).toEqual(empty('a2a1'));
    expect(await history.run(insert('a', { a2a1: ['named-uuid', 'me'] }, 'me'))).toMatchObject({
      at: 'commit',
      error: expect.stringContaining('contained all-zeros UUID') as string,
    });
    expect(await history.run(remove('a', is('a', 2)))).toEqual([{ count: 1 }]);
    expect(await history.run(remove('a', is('a', 0)))).toEqual([{ count: 1 }]);
    expect(members(1)).toBe(1);
    expect(
      [...history.client.replica.rows('b')]
        .map((row) => row.memberCount('b2a'))
        .toSorted((a, b) => a - b),
    ).toEqual([0, 1]);
    expect(await history.run(remove('a', is('a', 1)))).toEqual([{ count: 1 }]);
  });

  test('rows of a table that is no root live while somebody strong refers to them', async () => {
    await using history = await start('gc', {
      root: { columns: { a: references('a', 'strong') }, isRoot: true },
      a: {
        columns: {
          a: { type: 'integer' },
          a2a: references('a', 'strong'),
          wa2a: references('a', 'weak'),
        },
      },
    });
    const left = (): number[] =>
      [...history.client.replica.rows('a')]
        .map((row) => row.column('a') as number)
        .toSorted((a, b) => a - b);
    // One that nobody refers to, a chain, one that refers to itself, a weak circle: gone at the commit.
    await history.run(insert('a', { a: 0 }));
    await history.run(
      insert('a', { a: 1, a2a: named('two') }),
      insert('a', { a: 2, a2a: named('three') }, 'two'),
      insert('a', { a: 3 }, 'three'),
    );
    await history.run(insert('a', { a: 4, a2a: named('self') }, 'self'));
    await history.run(
      insert('a', { a: 6, wa2a: named('row7') }, 'row6'),
      insert('a', { a: 7, wa2a: named('row6') }, 'row7'),
    );
    expect(left()).toEqual([]);
    // A circle stays until it is broken.
    await history.run(
      insert('a', { a: 7, a2a: named('row8') }, 'row7'),
      insert('a', { a: 8, a2a: named('row9') }, 'row8'),
      insert('a', { a: 9, a2a: named('row7') }, 'row9'),
    );
    expect(left()).toEqual([7, 8, 9]);
    expect(await history.run(update('a', { a2a: ['set', []] }, is('a', 8)))).toEqual([
      { count: 1 },
    ]);
    expect(left()).toEqual([]);
    await history.run(
      insert('root', { a: named('one') }),
      insert('a', { a: 1, a2a: named('two') }, 'one'),
      insert('a', { a: 2 }, 'two'),
    );
    expect(left()).toEqual([1, 2]);
    await history.run(update('root', { a: ['set', []] }));
    expect(left()).toEqual([]);
  });

  test('what can not be understood is refused by the operation', async () => {
    await using history = await start('strong', STRONG);
    const refused = async (operation: Operation): Promise<unknown> =>
      ((await history.run(insert('a', {}), operation)) as { error: string }).error;
    expect(await refused(insert('a', {}, '0'))).toContain("Type mismatch for member 'uuid-name'.");
    expect(await refused(insert('a', { a2a: ['named-uuid', '0'] }))).toBe(
      'syntax error: named-uuid string is not a valid <id>',
    );
    expect(await refused(insert('c', {}))).toContain('No table named c.');
    expect(await refused(insert('a', { c: 1 }))).toBe('unknown column: No column c in table a.');
    expect(await refused({ op: 'jump' } as unknown as Operation)).toContain('No operation "jump"');
    expect(await refused(select('a', ['a', 'a']))).toContain(
      'array of distinct column names expected',
    );
  });
});
