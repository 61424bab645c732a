import { beforeEach, describe, expect, test } from 'vitest';
import { CountedSet, type SetVersion } from '../../../src/facts/counted-set.ts';
import { ComparedSets } from '../../../src/desired/ovsdb/compared-sets.ts';
import { planToJson } from '../../../src/views/plan-text.ts';
import type { ReplicaRow } from 'ovsdb-client-ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import {
  insert,
  keyed,
  MARKED,
  mutate,
  northboundSchema,
  remove,
  row,
  textMap,
  update,
} from './northbound.ts';
import { problemsOf, World } from './world.ts';

/** Sets of a row that facts keep member by member. */

const MEMBERS = Array.from({ length: 20 }, (_, i) => `10.0.0.${i}`);

const setOf = (...members: readonly string[]): CountedSet => {
  const set = new CountedSet();
  for (const member of members) set.add(member);
  return set;
};

describe('in a plan', () => {
  let world: World;
  let set: CountedSet;
  const build = (): void => {
    world.set('peers', [row('Address_Set', 'as', { addresses: set.version })]);
  };
  const uuid = (): string => world.found('Address_Set', 'as').uuid;
  const found = (): unknown => world.found('Address_Set', 'as').column('addresses');

  beforeEach(async () => {
    world = new World();
    set = setOf(...MEMBERS);
    build();
    await world.apply();
    await world.apply();
  });

  test('members that come and go are sent alone', async () => {
    set.add('10.0.1.1');
    set.remove('10.0.0.3');
    build();
    expect(await world.apply()).toBe(`Address_Set: 1 to change
  ~ as
      addresses: -10.0.0.3 +10.0.1.1
`);
    expect(world.database.transactions.at(-1)).toMatchObject([
      {
        op: 'mutate',
        mutations: [
          ['addresses', 'insert', '10.0.1.1'],
          ['addresses', 'delete', '10.0.0.3'],
        ],
      },
    ]);
    expect(world.plan().isEmpty).toBe(true);
    expect(found()).toEqual([...set.version].sort());
  });

  test('the plan names the unit, the rule and the object, and both values', () => {
    set.add('10.0.1.1');
    build();
    const [change] = world.plan().changes;
    expect(change).toMatchObject({ unit: 'peers', rule: 'rule', object: 'Test one' });
    expect(planToJson(world.plan())).toMatchObject({
      changes: [
        {
          columns: {
            addresses: {
              before: MEMBERS.toSorted(),
              after: [...MEMBERS, '10.0.1.1'].sort(),
            },
          },
        },
      ],
    });
  });

  test('what somebody adds goes, what somebody takes out comes back', async () => {
    world.database.write(
      mutate('Address_Set', uuid(), 'addresses', 'insert', '1.1.1.1'),
      mutate('Address_Set', uuid(), 'addresses', 'delete', '10.0.0.3'),
    );
    expect(await world.apply()).toContain('addresses: -1.1.1.1 +10.0.0.3');
    expect(found()).toEqual(MEMBERS.toSorted());
  });

  test('what moves on both sides is nothing to do', async () => {
    set.add('10.0.1.1');
    build();
    world.database.write(mutate('Address_Set', uuid(), 'addresses', 'insert', '10.0.1.1'));
    expect(world.plan().isEmpty).toBe(true);
    set.remove('10.0.1.1');
    build();
    expect(await world.apply()).toContain('addresses: -10.0.1.1');
  });

  test('a set that somebody empties, or replaces by a row with the same UUID, is filled', async () => {
    world.database.write(update('Address_Set', uuid(), { addresses: ['set', []] }));
    await world.apply();
    expect(found()).toEqual(MEMBERS.toSorted());
    const same = uuid();
    world.database.write(remove('Address_Set', same));
    const ids = { external_ids: textMap(MARKED) };
    world.database.write(insert('Address_Set', { name: 'as', addresses: '1.1.1.1', ...ids }, same));
    await world.apply();
    expect(found()).toEqual(MEMBERS.toSorted());
  });

  test('what was refused is sent again when the set is another one', async () => {
    set.add('bad');
    build();
    world.database.intercept = () => ({
      kind: 'error',
      error: 'constraint violation',
      details: '',
    });
    await world.settle();
    build();
    world.database.intercept = undefined;
    expect(problemsOf((await world.settle()).plan)).toEqual(['refused as']);
    set.remove('bad');
    set.add('good');
    build();
    await world.settle();
    expect(found()).toEqual([...set.version].sort());
  });

  test('while a unit is not built again its set stays what it was', async () => {
    set.remove('10.0.0.3');
    world.database.write(mutate('Address_Set', uuid(), 'addresses', 'insert', '1.1.1.1'));
    await world.apply();
    expect(found()).toEqual(MEMBERS.toSorted());
  });

  test('one that does not fit its column is a problem of the unit', () => {
    world.set('bad', [
      keyed('Logical_Switch_Port', 'p', { name: 'p', tag_request: setOf('x').version }),
    ]);
    expect(problemsOf(world.plan())).toEqual(['bad-value p']);
  });
});

test('of a set that was compared only members are looked at that moved on either side', () => {
  const database = new MemoryDatabase(northboundSchema());
  database.write(insert('Address_Set', { name: 'as', addresses: ['set', MEMBERS] }));
  const [row] = [...database.rows('Address_Set')] as [ReplicaRow];
  const asked: string[] = [];
  const looked: ReplicaRow = {
    uuid: row.uuid,
    table: row.table,
    exists: true,
    column: (name) => {
      asked.push('all');
      return row.column(name);
    },
    includes: (column, member) => {
      asked.push(member as string);
      return row.includes(column, member);
    },
    holds: () => false,
    memberCount: () => 0,
  };
  const sets = new ComparedSets();
  const set = setOf(...MEMBERS);
  const difference = (version: SetVersion) => {
    asked.length = 0;
    return { ...sets.difference(looked, 'addresses', version), asked: [...asked] };
  };
  expect(difference(set.version)).toEqual({ add: [], remove: [], asked: ['all'] });
  set.add('a');
  expect(difference(set.version)).toEqual({ add: ['a'], remove: [], asked: ['a'] });
  database.write(mutate('Address_Set', row.uuid, 'addresses', 'insert', ['set', ['a', 'b']]));
  sets.moved(row.uuid, 'addresses', ['a', 'b']);
  expect(difference(set.version)).toEqual({ add: [], remove: ['b'], asked: ['a', 'b'] });
  sets.forget(row.uuid);
  expect(difference(set.version)).toEqual({ add: [], remove: ['b'], asked: ['all'] });
});
