import { expect, test } from 'vitest';
import { Reconciler } from '../../../src/desired/ovsdb/reconciler.ts';
import type { TableClaim } from '../../../src/desired/rows.ts';
import { parseSchema, Replica } from 'ovsdb-client-ts';
import { keyed, TestUnit } from './northbound.ts';

/** A reconciler of a replica whose server comes back, with the same schema or another version of it. */

const schema = (version: string, ...columns: readonly string[]) =>
  parseSchema({
    name: 'D',
    version,
    tables: {
      Switch: {
        isRoot: true,
        columns: {
          name: { type: 'string' },
          external_ids: { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } },
          ...Object.fromEntries(columns.map((name) => [name, { type: 'string' }])),
        },
      },
    },
  });

const CLAIM: TableClaim = {
  database: 'D',
  table: 'Switch',
  keyOf: (row) => row.column('name') as string,
};
const uuid = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;
const monitored = (...columns: readonly string[]) => ({
  monitored: new Map([['Switch', new Set(['name', 'external_ids', ...columns])]]),
});

function world() {
  const replica = new Replica(schema('1.0.0'));
  const initial = { name: 'a', external_ids: ['map', [['heddle', 'Test one']]] };
  replica.apply({ Switch: { [uuid(1)]: { initial } } }, 'update2', 'contents');
  const reconciler = new Reconciler(replica, new Map([['Switch', CLAIM]]));
  reconciler.follow();
  const unit = new TestUnit('unit');
  unit.wanted = [keyed('Switch', 'a', { name: 'a', extra: 'x' })];
  reconciler.set(unit, unit.wanted);
  const plan = () => reconciler.plan({ now: 0, isComplete: true });
  return { replica, unit, plan };
}

const CONVERTED = schema('1.0.1', 'extra');

test('under another schema everything is looked at anew: a column that there is now is written', () => {
  const { replica, plan } = world();
  expect(plan()).toMatchObject({
    isEmpty: true,
    unsupported: [
      "the server's schema D 1.0.0 has no column extra in table Switch: its values are left out",
    ],
  });
  replica.redefine(CONVERTED, monitored('extra'));
  replica.apply(
    {
      Switch: {
        [uuid(1)]: { initial: { name: 'a', external_ids: ['map', [['heddle', 'Test one']]] } },
      },
    },
    'update2',
    'contents',
  );
  expect(plan().changes.map(({ action, columns }) => [action, columns.map((c) => c.name)])).toEqual(
    [['update', ['extra']]],
  );
});

test('a unit that can not be built under another schema keeps its rows, and nothing else is removed for it', () => {
  const { replica, unit, plan } = world();
  plan();
  unit.error = new Error('RangeError');
  replica.redefine(CONVERTED, monitored('extra'));
  replica.apply(
    {
      Switch: {
        [uuid(1)]: { initial: { name: 'a', external_ids: ['map', [['heddle', 'Test one']]] } },
      },
    },
    'update2',
    'contents',
  );
  const { isEmpty, problems } = plan();
  expect([isEmpty, problems.map(({ kind, key }) => `${kind} ${key}`)]).toEqual([
    true,
    ['not-built a'],
  ]);
  unit.error = undefined;
  expect(plan().changes.map(({ action, key }) => `${action} ${key}`)).toEqual(['update a']);
});

test('a row that went after the schema was another one is not looked for', () => {
  const { replica, plan } = world();
  plan();
  replica.redefine(CONVERTED, monitored('extra'));
  replica.apply({}, 'update2', 'contents');
  expect(plan().changes.map(({ action }) => action)).toEqual(['insert']);
});

test('the same schema once more, as after each reconnect, costs no full pass', () => {
  const { replica, plan } = world();
  expect(plan()).toMatchObject({ isEmpty: true, examined: 1 });
  replica.redefine(schema('1.0.0'), monitored());
  expect(plan().examined).toBe(0);
  replica.apply({ Switch: { [uuid(1)]: { delete: null } } }, 'update2');
  expect(plan().changes.map(({ action }) => action)).toEqual(['insert']);
});
