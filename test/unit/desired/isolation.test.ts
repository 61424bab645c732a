import { beforeEach, describe, expect, test } from 'vitest';
import { RowReference } from '../../../src/desired/rows.ts';
import { aclRow, insert, portRow, row, switchRow, textMap } from './northbound.ts';
import { batchesOf, changesOf, EACH, problemsOf, World } from './world.ts';

/** What keeps networks apart is in the database before what it keeps apart, and leaves it after that. */

let world: World;

const policy = () => [row('Port_Group', 'pg'), aclRow('acl', 'pg')];

beforeEach(() => {
  world = new World({ limits: EACH });
});

/** Refuses transactions with an operation on this table. */
function refuse(table: string, op: string): void {
  world.database.intercept = (operations) =>
    operations.some((one) => one.op === op && 'table' in one && one.table === table)
      ? { kind: 'error', error: 'constraint violation', details: `no ${op} in table "${table}"` }
      : undefined;
}

describe('order', () => {
  test('isolation comes before connectivity, whatever the units are called', () => {
    world.set('1 pod', [portRow('pod', 'blue', {}, 'pg')]);
    world.set('2 network', [switchRow('blue')]);
    world.set('3 policy', policy());
    expect(batchesOf(world.plan())).toEqual([['3 policy'], ['2 network'], ['1 pod']]);
  });

  test('and goes after it', async () => {
    world.set('1 policy', policy());
    world.set('2 pod', [switchRow('blue'), portRow('pod', 'blue', {}, 'pg')]);
    await world.settle();
    world.remove('1 policy');
    world.remove('2 pod');
    expect(batchesOf(world.plan())).toEqual([['2 pod'], ['1 policy']]);
  });

  test('units are never cut, and share a transaction where they fit', () => {
    world = new World({ limits: { rows: 10, bytes: 1e6 } });
    for (const name of ['a', 'b', 'c'])
      world.set(name, [switchRow(name), ...[1, 2, 3].map((i) => portRow(`${name}${i}`, name))]);
    expect(batchesOf(world.plan())).toEqual([['a', 'b'], ['c']]);
  });

  test('units that need each other in a circle go together', () => {
    world.set('a', [switchRow('a'), portRow('a1', 'b')]);
    world.set('b', [switchRow('b'), portRow('b1', 'a')]);
    expect(batchesOf(world.plan()).map((units) => units.toSorted())).toEqual([['a', 'b']]);
  });

  test('a chain of 20,000 units is put in order', () => {
    const length = 20_000;
    for (let i = 0; i < length; i++)
      world.set(`u${i}`, [switchRow(`s${i}`), portRow(`p${i}`, `s${Math.min(i + 1, length - 1)}`)]);
    const order = batchesOf(world.plan()).flat();
    expect(order.slice(0, 2)).toEqual([`u${length - 1}`, `u${length - 2}`]);
  });
});

describe('a row whose text names another one', () => {
  const naming = () => ({
    ...aclRow('acl', 'pg'),
    names: [new RowReference('Address_Set', 'set')],
  });

  test('is written after that one, and not without it', () => {
    world.set('1 rules', [row('Port_Group', 'pg'), naming()]);
    expect(problemsOf(world.plan())).toEqual(['missing-row acl']);
    world.set('2 peers', [row('Address_Set', 'set')]);
    expect(batchesOf(world.plan())).toEqual([['2 peers'], ['1 rules']]);
  });

  test('stays as it is while that one can’t be written', async () => {
    refuse('Address_Set', 'insert');
    world.set('1 rules', [row('Port_Group', 'pg'), naming()]);
    world.set('2 peers', [row('Address_Set', 'set')]);
    const { result } = await world.settle();
    expect(result.refused.map(({ kind, unit }) => `${kind} ${unit}`)).toEqual([
      'refused 2 peers',
      'blocked 1 rules',
    ]);
    expect(world.database.size('ACL')).toBe(0);
  });
});

describe('a port group with our key that is somebody else’s', () => {
  beforeEach(() => {
    world.database.write(insert('Port_Group', { name: 'pg', external_ids: textMap({ a: 'b' }) }));
  });

  test('blocks the unit whose it is: not even its switch is written', async () => {
    world.set('network', [switchRow('blue'), ...policy(), portRow('p', 'blue', {}, 'pg')]);
    const { plan } = await world.settle();
    expect([changesOf(plan), problemsOf(plan)[0]]).toEqual([[], 'held-by-other pg']);
    expect(world.database.size('Logical_Switch')).toBe(0);
  });

  test('blocks every unit whose ports belong into it', () => {
    world.set('network', [switchRow('blue')]);
    world.set('policy', policy());
    world.set('pod', [portRow('p', 'blue', {}, 'pg')]);
    world.set('free', [portRow('q', 'blue')]);
    const plan = world.plan();
    expect(changesOf(plan).toSorted()).toEqual(['insert blue', 'insert q']);
    expect(plan.problems.map(({ kind, unit }) => `${kind} ${unit}`).toSorted()).toEqual([
      'blocked pod',
      'held-by-other policy',
    ]);
  });
});

describe('isolation that is not in the database yet', () => {
  test('refused: ports that need it are not written, nor with the next pass', async () => {
    refuse('ACL', 'insert');
    world.set('network', [switchRow('blue')]);
    world.set('policy', policy());
    world.set('pod', [portRow('p', 'blue', {}, 'pg')]);
    const { result } = await world.settle();
    expect(result.refused.map(({ kind, unit }) => `${kind} ${unit}`)).toEqual([
      'refused policy',
      'blocked pod',
    ]);
    expect(problemsOf((await world.settle()).plan)).toEqual(['refused acl', 'blocked p']);
    expect(world.database.size('Logical_Switch_Port')).toBe(0);
  });

  test('a change of it is refused: ports that are new wait, those that are there stay', async () => {
    world.set('network', [switchRow('blue')]);
    world.set('policy', policy());
    world.set('pod p', [portRow('p', 'blue', {}, 'pg')]);
    await world.settle();
    refuse('ACL', 'insert');
    world.set('policy', [...policy(), aclRow('second', 'pg')]);
    world.set('pod q', [portRow('q', 'blue', {}, 'pg')]);
    await world.settle();
    expect(world.names('Logical_Switch_Port')).toEqual(['p']);
    expect(problemsOf((await world.settle()).plan)).toEqual(['refused second', 'blocked q']);
    expect(world.names('Logical_Switch_Port')).toEqual(['p']);
    world.database.intercept = undefined;
    world.now = 30_000;
    await world.settle();
    expect(world.names('Logical_Switch_Port')).toEqual(['p', 'q']);
  });

  test('answered with retry: no connectivity is sent behind it', async () => {
    world.set('network', [switchRow('blue')]);
    world.set('policy', policy());
    world.set('pod', [portRow('p', 'blue', {}, 'pg')]);
    world.database.intercept = () => ({ kind: 'try-again', reason: 'cluster' });
    expect((await world.settle()).result.kind).toBe('retry');
    expect(world.database.transactions).toHaveLength(1);
    world.database.intercept = undefined;
    await world.settle();
    expect(world.names('Logical_Switch_Port')).toEqual(['p']);
  });
});

describe('isolation that goes', () => {
  beforeEach(async () => {
    world.set('policy', policy());
    world.set('network', [switchRow('blue'), portRow('p', 'blue', {}, 'pg')]);
    await world.settle();
    world.plan();
  });

  test('stays as long as the removal of what it isolates is refused', async () => {
    refuse('Logical_Switch', 'delete');
    world.remove('network');
    world.remove('policy');
    for (let pass = 0; pass < 3; pass++) {
      await world.settle();
      expect(world.names('Port_Group')).toEqual(['pg']);
      expect(world.database.size('ACL')).toBe(1);
    }
    expect(problemsOf(world.plan())).toEqual(['refused blue', 'blocked pg']);
    world.database.intercept = undefined;
    world.now = 30_000;
    await world.settle();
    expect([world.names('Port_Group'), world.names('Logical_Switch')]).toEqual([[], []]);
    expect(world.plan()).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('stays as long as a port that is wanted belongs into it', () => {
    world.remove('policy');
    const plan = world.plan();
    expect([plan.isEmpty, problemsOf(plan).toSorted()]).toEqual([
      true,
      ['blocked pg', 'missing-row p'],
    ]);
  });

  test('goes behind the ports that change over to another group', () => {
    world.set('other', [row('Port_Group', 'pg2'), aclRow('acl2', 'pg2')]);
    world.set('network', [switchRow('blue'), portRow('p', 'blue', {}, 'pg2')]);
    world.remove('policy');
    expect(batchesOf(world.plan())).toEqual([['other'], ['network'], ['policy']]);
  });

  test('of units that no longer exist after a restart, the ports go first', async () => {
    world.units.clear();
    world.set('new', [row('Port_Group', 'pg'), aclRow('acl', 'pg')]);
    world.restart();
    await world.settle();
    expect([world.names('Port_Group'), world.names('Logical_Switch')]).toEqual([['pg'], []]);
  });
});
