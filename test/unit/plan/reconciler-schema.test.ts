import { expect, test } from 'vitest';
import { parseSchema, Reconciler, Replica, type DatabaseRules } from '../../../src/ovsdb/index.ts';

/** A reconciler of a replica whose server comes back, with the same schema or another version of it. */

const schema = (version: string) =>
  parseSchema({
    name: 'D',
    version,
    tables: {
      Switch: {
        columns: {
          name: { type: 'string' },
          ports: { type: { key: { type: 'uuid', refTable: 'Port' }, min: 0, max: 'unlimited' } },
        },
        isRoot: true,
      },
      Port: { columns: { name: { type: 'string' } } },
    },
  });
const named = {
  keyOf: (row: { column(name: string): unknown }) => row.column('name') as string,
  isOurs: () => true,
};
const rules: DatabaseRules = { Switch: named, Port: named };
const uuid = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;
const wish = (key: string) => ({ table: 'Switch', key, columns: { name: key }, containers: [] });

function followed() {
  const replica = new Replica(schema('1.0.0'));
  const initial = { name: 'a', ports: ['set', []] };
  replica.apply({ Switch: { [uuid(1)]: { initial } } }, 'update2', 'contents');
  const reconciler = new Reconciler(replica, rules);
  reconciler.follow();
  reconciler.setUnit('x', []);
  reconciler.plan();
  return { replica, reconciler };
}

const monitored = new Map([
  ['Switch', new Set(['name', 'ports'])],
  ['Port', new Set(['name'])],
]);

test('a row that went after the schema was another one is not looked for', () => {
  const { replica, reconciler } = followed();
  expect(replica.redefine(schema('1.0.1'), { monitored })).toBe(true);
  replica.apply({ Switch: { [uuid(1)]: { delete: null } } }, 'update2');
  reconciler.setUnit('x', [wish('a')]);
  expect(reconciler.plan().changes.map(({ action }) => action)).toEqual(['insert']);
});

test('the same schema once more, as after each reconnect, costs no full pass', () => {
  const { replica, reconciler } = followed();
  reconciler.setUnit('x', [wish('a')]);
  expect(reconciler.plan().isEmpty).toBe(true);
  expect(reconciler.plan().examined).toBe(0);
  expect(replica.redefine(schema('1.0.0'), { monitored })).toBe(true);
  expect(reconciler.plan().examined).toBe(0);
  replica.apply({ Switch: { [uuid(1)]: { delete: null } } }, 'update2');
  expect(reconciler.plan().changes.map(({ action }) => action)).toEqual(['insert']);
});
