import { expect, test } from 'vitest';
import { parseSchema, Replica, type Datum } from 'ovsdb-client-ts';

const uuid = '00000000-0000-4000-8000-000000000001';

const schema = (columns: { readonly [column: string]: string }) =>
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

/** Longer and longer, so that each needs more room than all before it. */
const LENGTHS = [1365, 1366, 5000, 20_000, 100_000];

test('a row is found by a string of any length', () => {
  for (const length of LENGTHS) {
    const replica = new Replica(schema({ name: 'string' }));
    const name = 'é'.repeat(length);
    replica.apply({ T: { [uuid]: { initial: { name } } } }, 'update2', 'contents');
    expect(replica.find('T', ['name'], [name]).map((row) => row.uuid)).toEqual([uuid]);
    expect(replica.row('T', uuid)?.holds('name', name)).toBe(true);
    expect(replica.find('T', ['name'], [`${name}x`])).toEqual([]);
  }
});

test('a string of any length survives a conversion of the schema, which is no event', () => {
  const strings = LENGTHS.map((length) => 'x'.repeat(length));
  const rows = (kind: string) => ({
    T: Object.fromEntries(
      strings.map((name, n) => [uuid.slice(0, -1) + String(n + 1), { [kind]: { name } }]),
    ),
  });
  const replica = new Replica(schema({ name: 'string' }));
  replica.apply(rows('initial'), 'update2', 'contents');
  const told: Datum[] = [];
  replica.subscribe(({ tables }) => {
    for (const change of tables.get('T')?.rows ?? []) told.push(change.old.get('name'));
  });
  replica.redefine(schema({ name: 'string', other: 'string' }), {
    monitored: new Map([['T', new Set(['name', 'other'])]]),
  });
  replica.apply(rows('initial'), 'update2', 'contents');
  expect(told).toEqual([]);
  expect([...replica.rows('T')].map((row) => row.column('name'))).toEqual(strings);
});
