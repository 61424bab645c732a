import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, describe, expect, test } from 'vitest';
import { Reconciler } from '../../../src/desired/ovsdb/reconciler.ts';
import { RowIndex } from '../../../src/desired/ovsdb/row-index.ts';
import {
  aclRow,
  CLAIMS,
  globalRow,
  insert,
  MARKED,
  mutate,
  portRow,
  reference,
  remove,
  routeRow,
  routerRow,
  row,
  switchRow,
  TestUnit,
  textMap,
  update,
  uuidSet,
} from './northbound.ts';
import type { Plan } from '../../../src/desired/ovsdb/changes.ts';
import { changesOf, EACH, problemsOf, World } from './world.ts';

/** Which units are looked at, and what becomes of rows as units come, go and fail. */

let world: World;

beforeEach(() => {
  world = new World();
});

describe('a change costs what it touches', () => {
  beforeEach(async () => {
    world.set('network', [switchRow('blue'), routerRow('r')]);
    for (let i = 0; i < 50; i++) world.set(`pod ${i}`, [portRow(`pod${i}`, 'blue')]);
    await world.settle();
    // Its own rows come back through the replica and are looked at once.
    expect(world.plan()).toMatchObject({ isEmpty: true, examined: 52 });
    expect(world.plan().examined).toBe(0);
    for (const unit of world.units.values()) unit.builds = 0;
  });

  const builds = (): number =>
    [...world.units.values()].reduce((sum, unit) => sum + unit.builds, 0);

  test('one pod more', async () => {
    world.set('pod 50', [portRow('pod50', 'blue')]);
    const { plan } = await world.settle();
    expect([plan.examined, plan.changes.length]).toEqual([1, 1]);
    expect(world.database.transactions.at(-1)?.map((operation) => operation.op)).toEqual([
      'insert',
      'mutate',
    ]);
    expect(world.plan()).toMatchObject({ isEmpty: true, examined: 1 });
    expect(builds()).toBe(0);
  });

  test('one pod less', async () => {
    world.remove('pod 7');
    const { plan } = await world.settle();
    expect([plan.examined, changesOf(plan)]).toEqual([1, ['delete pod7']]);
    expect(world.plan()).toMatchObject({ isEmpty: true, examined: 0 });
    expect(builds()).toBe(0);
  });

  test('a port edited by somebody else: its unit is built again, and no other', async () => {
    const { uuid } = world.found('Logical_Switch_Port', 'pod3');
    world.database.write(update('Logical_Switch_Port', uuid, { type: 'router' }));
    const { plan } = await world.settle();
    expect([plan.examined, changesOf(plan)]).toEqual([1, ['update pod3']]);
    expect(builds()).toBe(1);
  });

  test('a port taken out of its switch by somebody else', async () => {
    world.database.write(
      mutate(
        'Logical_Switch',
        world.found('Logical_Switch', 'blue').uuid,
        'ports',
        'delete',
        uuidSet(world.found('Logical_Switch_Port', 'pod3').uuid),
      ),
    );
    expect(changesOf((await world.settle()).plan)).toEqual(['insert pod3']);
    expect(world.plan().isEmpty).toBe(true);
  });

  test('a row that moves to another unit is not touched', async () => {
    world.set('pod 3 again', [portRow('pod3', 'blue')]);
    world.remove('pod 3');
    expect((await world.settle()).plan).toMatchObject({ isEmpty: true, problems: [] });
  });
});

describe('after a start on a right database', () => {
  beforeEach(async () => {
    world.set('network', [switchRow('blue'), routerRow('r')]);
    world.set('routes', [
      routeRow('r', '10.0.0.0/8', '1.1.1.1'),
      routeRow('r', '11.0.0.0/8', '1.1.1.1'),
    ]);
    world.set(
      'pods',
      ['p1', 'p2', 'p3'].map((name) => portRow(name, 'blue')),
    );
    await world.apply();
    world.restart();
    expect(world.plan()).toMatchObject({ isEmpty: true, examined: 7, problems: [] });
    expect(world.plan()).toMatchObject({ isEmpty: true, examined: 0 });
  });

  test('what somebody edits is repaired', async () => {
    const { uuid } = world.found('Logical_Switch_Port', 'p2');
    world.database.write(update('Logical_Switch_Port', uuid, { type: 'router' }));
    expect(world.reconciler.dirtyCount).toBe(1);
    expect(changesOf((await world.settle()).plan)).toEqual(['update p2']);
    expect(world.plan().isEmpty).toBe(true);
  });

  test('what somebody deletes comes back with all that it held', async () => {
    world.database.write(remove('Logical_Router', world.found('Logical_Router', 'r').uuid));
    expect(changesOf((await world.settle()).plan).toSorted()).toEqual([
      'insert r',
      'insert r 10.0.0.0/8',
      'insert r 11.0.0.0/8',
    ]);
    expect(world.plan().isEmpty).toBe(true);
  });

  test('what is wanted no more goes, what is wanted otherwise changes', async () => {
    world.remove('routes');
    world.set('pods', [portRow('p1', 'blue'), portRow('p2', 'blue', { type: 'router' })]);
    expect(changesOf((await world.settle()).plan).toSorted()).toEqual([
      'delete p3',
      'delete r 10.0.0.0/8',
      'delete r 11.0.0.0/8',
      'update p2',
    ]);
    expect(world.plan().isEmpty).toBe(true);
  });

  test('a row that refers to one whose name another row has now follows the name', async () => {
    world.set('copps', [row('Copp', 'a'), row('Copp', 'b')]);
    world.set('red', [routerRow('red', { copp: reference('Copp', 'a') })]);
    await world.settle();
    expect(world.plan().isEmpty).toBe(true);
    const [a, b] = [world.found('Copp', 'a').uuid, world.found('Copp', 'b').uuid];
    world.database.write(update('Copp', a, { name: 'b' }), update('Copp', b, { name: 'a' }));
    expect(changesOf((await world.settle()).plan)).toEqual(['update red']);
    expect(world.found('Logical_Router', 'red').column('copp')).toBe(b);
  });

  test('a row that moves to another switch is taken out of the one before', async () => {
    world.set('network', [switchRow('blue'), switchRow('red'), routerRow('r')]);
    world.set('pods', [portRow('p1', 'red'), portRow('p2', 'blue'), portRow('p3', 'blue')]);
    await world.settle();
    const moved = world.found('Logical_Switch_Port', 'p1').uuid;
    expect(world.found('Logical_Switch', 'red').column('ports')).toEqual([moved]);
    expect(world.found('Logical_Switch', 'blue').column('ports')).not.toContain(moved);
    expect(world.plan().isEmpty).toBe(true);
  });
});

describe('rows that no unit knows', () => {
  beforeEach(async () => {
    world.set('old', [switchRow('old'), portRow('p', 'old'), row('Load_Balancer_Group', 'old-g')]);
    await world.apply();
    world.units.delete('old');
    world.restart();
  });

  test('go when they carry our mark, and those that are ours by it', async () => {
    await world.settle();
    expect(
      ['Logical_Switch', 'Logical_Switch_Port', 'Load_Balancer_Group'].map((t) => world.names(t)),
    ).toEqual([[], [], []]);
    expect(world.plan()).toMatchObject({ isEmpty: true, heldBack: 0 });
    expect(world.reconciler.dirtyCount).toBe(0);
  });

  test('stay until every unit has been built', async () => {
    world.isComplete = false;
    expect(world.plan()).toMatchObject({ isEmpty: true, heldBack: 3 });
    world.set('new', [switchRow('old'), portRow('p', 'old')]);
    expect(world.plan()).toMatchObject({ isEmpty: true, heldBack: 1 });
    world.isComplete = true;
    expect(changesOf(world.plan())).toEqual(['delete old-g']);
  });

  test('are named by the object that they are marked with', () => {
    expect(world.plan().changes.map(({ unit, reason }) => [unit, reason])).toEqual([
      ['["unwanted","Test one"]', 'unwanted'],
      ['["unwanted","Test one"]', 'unwanted'],
      ['["unwanted","Test one"]', 'unwanted'],
    ]);
  });

  test('lose what left them meanwhile, when a unit wants them again', async () => {
    world.set('policy', [row('Port_Group', 'pg')]);
    world.set('pod', [switchRow('blue'), portRow('q', 'blue', {}, 'pg')]);
    await world.apply();
    world.units.delete('policy');
    world.unit('pod').wanted = [switchRow('blue'), portRow('q', 'blue')];
    world.restart();
    world.isComplete = false;
    expect(world.plan().isEmpty).toBe(true);
    world.set('policy', [row('Port_Group', 'pg')]);
    expect(changesOf(world.plan())).toEqual(['update q']);
  });

  test('belong to a unit again that comes to want them', async () => {
    world.plan();
    world.set('new', [switchRow('old')]);
    expect(changesOf(world.plan()).toSorted()).toEqual(['delete old-g', 'delete p']);
  });

  test('without our mark they stay, until they are given to us by name', async () => {
    world.database.write(
      insert('Logical_Switch', { name: 'theirs', external_ids: textMap({ network: 'x' }) }),
      insert('Logical_Switch', { name: 'alien' }),
    );
    await world.settle();
    expect(world.plan().isEmpty).toBe(true);
    const unmarked = world.reconciler.unmarked((found) => found.column('name') === 'theirs');
    expect(unmarked).toEqual([
      {
        table: 'Logical_Switch',
        key: 'theirs',
        uuid: world.found('Logical_Switch', 'theirs').uuid,
      },
    ]);
    world.reconciler.takeOver(unmarked);
    await world.settle();
    expect(world.names('Logical_Switch')).toEqual(['alien']);
    expect(world.plan().isEmpty).toBe(true);
  });
});

describe('a unit whose builder throws', () => {
  beforeEach(async () => {
    world.set('network', [switchRow('blue'), portRow('p', 'blue')]);
    world.set('pod', [portRow('q', 'blue')]);
    await world.settle();
    world.plan();
    world.unit('network').error = new Error('RangeError');
  });

  test('keeps the rows that it has, and says so when somebody edits them', async () => {
    expect(world.plan()).toMatchObject({ isEmpty: true, problems: [] });
    const { uuid } = world.found('Logical_Switch', 'blue');
    world.database.write(update('Logical_Switch', uuid, { other_config: textMap({ x: '1' }) }));
    const plan = world.plan();
    expect(plan.isEmpty).toBe(true);
    expect(plan.problems.map(({ message }) => message)).toEqual([
      `Logical_Switch "blue": what it should be can't be built again: RangeError`,
    ]);
    world.unit('network').error = undefined;
    expect(world.plan()).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('holds up no unit that needs none of what is missing', async () => {
    const { uuid } = world.found('Logical_Switch', 'blue');
    world.database.write(
      update('Logical_Switch', uuid, { copp: ['set', []], external_ids: textMap({}) }),
    );
    world.set('other', [portRow('r', 'blue')]);
    expect(changesOf(world.plan())).toEqual(['insert r']);
  });

  test('blocks units that need a row of it which is gone', async () => {
    world.database.write(remove('Logical_Switch', world.found('Logical_Switch', 'blue').uuid));
    const plan = world.plan();
    expect([plan.isEmpty, problemsOf(plan)]).toEqual([true, ['not-built blue', 'blocked q']]);
    world.unit('network').error = undefined;
    await world.settle();
    expect(world.names('Logical_Switch_Port')).toEqual(['p', 'q']);
  });
});

describe('what depends on a row follows it', () => {
  test('a port group deleted by somebody else comes back with its ports', async () => {
    world.set('policy', [row('Port_Group', 'pg'), aclRow('acl', 'pg')]);
    world.set('pod', [switchRow('blue'), portRow('p', 'blue', {}, 'pg')]);
    await world.settle();
    world.plan();
    world.database.write(remove('Port_Group', world.found('Port_Group', 'pg').uuid));
    await world.settle();
    expect(world.found('Port_Group', 'pg').column('ports')).toEqual([
      world.found('Logical_Switch_Port', 'p').uuid,
    ]);
    expect(world.database.size('ACL')).toBe(1);
    expect(world.plan().isEmpty).toBe(true);
  });

  test('a row that others refer to and that is wanted no more is a problem of those', async () => {
    world.set('copp', [row('Copp', 'defence')]);
    world.set('switch', [switchRow('blue', { copp: reference('Copp', 'defence') })]);
    await world.settle();
    world.plan();
    world.remove('copp');
    const plan = world.plan();
    expect([plan.isEmpty, problemsOf(plan)]).toEqual([
      true,
      ['missing-row blue', 'blocked defence'],
    ]);
    world.set('copp', [row('Copp', 'defence')]);
    expect(world.plan()).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('keys of others that were wanted once stay with whoever has the row', async () => {
    world.database.write(insert('NB_Global', { options: textMap({ theirs: '1' }) }));
    world.set('global', [globalRow({ a: '1' })]);
    await world.settle();
    world.set('global', [globalRow({ b: '2' })]);
    await world.settle();
    const [global] = world.database.rows('NB_Global');
    expect(Object.fromEntries(global?.column('options') as Map<string, string>)).toEqual({
      theirs: '1',
      a: '1',
      b: '2',
    });
  });

  test('a problem stays until it is solved, and is solved by the event that solves it', async () => {
    world.database.write(
      insert('Logical_Switch', { name: 'blue', external_ids: textMap({ a: 'b' }) }),
    );
    world.set('network', [switchRow('blue')]);
    world.set('pod', [portRow('p', 'blue')]);
    for (let round = 0; round < 2; round++)
      expect(problemsOf((await world.settle()).plan)).toEqual(['held-by-other blue', 'blocked p']);
    world.database.write(remove('Logical_Switch', world.found('Logical_Switch', 'blue').uuid));
    expect((await world.settle()).plan.problems).toEqual([]);
    expect(world.database.size('Logical_Switch_Port')).toBe(1);
  });

  test('a row that somebody renamed and whose unit goes is removed under its new name', async () => {
    world.set('network', [switchRow('blue')]);
    await world.settle();
    world.plan();
    const { uuid } = world.found('Logical_Switch', 'blue');
    world.database.write(update('Logical_Switch', uuid, { name: 'stolen' }));
    expect(changesOf(world.plan())).toEqual(['update blue']);
    world.remove('network');
    await world.settle();
    expect(world.database.size('Logical_Switch')).toBe(0);
  });

  test('a route of ours that somebody puts into another router too stays ours', async () => {
    world.set('router', [routerRow('r'), routeRow('r', '10.0.0.0/8', '1.1.1.1')]);
    await world.settle();
    world.plan();
    const [route] = world.database.rows('Logical_Router_Static_Route');
    for (const name of ['a', 'z'])
      world.database.write(
        insert('Logical_Router', { name, static_routes: uuidSet(route?.uuid ?? '') }),
      );
    const full = world.full();
    expect(changesOf(world.plan())).toEqual(changesOf(full));
    await world.settle();
    expect(world.found('Logical_Router', 'r').column('static_routes')).toEqual([route?.uuid]);
    expect(world.found('Logical_Router', 'a').column('static_routes')).toEqual([]);
  });
});

describe('a name that two units want', () => {
  const claims = (name: string): void => {
    world.set(name, [switchRow('blue', { other_config: { by: name } }), switchRow(name)]);
  };

  test('the first in rank has it; the other one gets nothing and says so', async () => {
    claims('b');
    claims('a');
    expect(problemsOf((await world.settle()).plan)).toEqual(['name-taken blue']);
    expect(world.names('Logical_Switch')).toEqual(['a', 'blue']);
    expect(world.plan().problems.map(({ unit, message }) => [unit, message])).toEqual([
      ['b', 'Logical_Switch "blue": a has this name already: rename one of the two'],
    ]);
  });

  test('it goes to the other one when the first wants it no more', async () => {
    claims('a');
    claims('b');
    await world.settle();
    world.remove('a');
    await world.settle();
    expect(world.names('Logical_Switch')).toEqual(['b', 'blue']);
    expect(world.found('Logical_Switch', 'blue').includes('other_config', 'by', 'b')).toBe(true);
    expect(world.plan()).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('a unit that comes later and is first in rank takes it over, rows and all', async () => {
    claims('b');
    await world.settle();
    world.plan();
    claims('a');
    await world.settle();
    expect(world.names('Logical_Switch')).toEqual(['a', 'blue']);
    expect(problemsOf(world.plan())).toEqual(['name-taken blue']);
  });

  test('a rank that changes decides anew', async () => {
    claims('a');
    claims('b');
    await world.settle();
    world.unit('b').rank = -1;
    claims('b');
    await world.settle();
    expect(world.names('Logical_Switch')).toEqual(['b', 'blue']);
  });

  test('who has lost everything takes nothing from others', async () => {
    world.set('a', [switchRow('x')]);
    world.set('b', [switchRow('x'), switchRow('y')]);
    world.set('c', [switchRow('y')]);
    const { plan } = await world.settle();
    expect(world.names('Logical_Switch')).toEqual(['x', 'y']);
    expect(plan.problems.map(({ unit }) => unit)).toEqual(['b']);
  });
});

describe('what a server refused', () => {
  const refuse = (name: string): void => {
    world.database.intercept = (operations) =>
      operations.some((o) => o.op === 'insert' && o.row['name'] === name)
        ? { kind: 'error', error: 'constraint violation', details: `${name} is bad` }
        : undefined;
  };
  const sent = (): number => world.database.transactions.length;

  beforeEach(async () => {
    world = new World({ limits: EACH });
    refuse('bad');
    world.set('a', [switchRow('bad')]);
    await world.settle();
    expect(sent()).toBe(1);
  });

  test('is not sent again because of changes of something else', async () => {
    world.set('b', [switchRow('good')]);
    expect(problemsOf((await world.settle()).plan)).toEqual(['refused bad']);
    world.database.write(insert('Logical_Switch', { name: 'theirs' }));
    expect(problemsOf((await world.settle()).plan)).toEqual(['refused bad']);
    expect(sent()).toBe(2);
    expect(world.names('Logical_Switch')).toEqual(['good', 'theirs']);
  });

  test('is sent again after a rest', async () => {
    world.now = 29_999;
    await world.settle();
    expect(sent()).toBe(1);
    world.now = 30_000;
    await world.settle();
    expect(sent()).toBe(2);
  });

  test('is sent again when its unit wants something else, not when it is built as before', async () => {
    world.set('a', [switchRow('bad')]);
    await world.settle();
    expect(sent()).toBe(1);
    world.set('a', [switchRow('bad', { other_config: { a: '1' } })]);
    await world.settle();
    expect(sent()).toBe(2);
  });

  test('is sent again when somebody touches a row of its keys', async () => {
    world.database.intercept = undefined;
    world.database.write(insert('Logical_Switch', { name: 'bad' }));
    await world.settle();
    expect(world.plan()).toMatchObject({ isEmpty: true, problems: [] });
    expect(world.found('Logical_Switch', 'bad').includes('external_ids', 'heddle')).toBe(true);
  });

  test('blocks what needs it, and is followed by it when it is accepted', async () => {
    world.set('pod', [portRow('p', 'bad')]);
    expect(problemsOf((await world.settle()).plan)).toEqual(['refused bad', 'blocked p']);
    world.database.intercept = undefined;
    world.now = 30_000;
    await world.settle();
    expect(world.names('Logical_Switch_Port')).toEqual(['p']);
    expect(world.plan()).toMatchObject({ isEmpty: true, problems: [] });
  });
});

describe('memory', () => {
  test('of a plan that came true nothing is kept', async () => {
    world.set('first', [switchRow('blue')]);
    await world.settle();
    async function remembered(): Promise<readonly WeakRef<object>[]> {
      const unit = world.unit('later');
      // A unit's rows are its own to keep or not: what it is asked for here is not kept by the test either.
      unit.wanted = [];
      const rows = [switchRow('red'), portRow('a', 'blue'), portRow('b', 'red')];
      const references = rows.map((one) => new WeakRef<object>(one));
      world.reconciler.set(unit, rows);
      const { plan } = await world.settle();
      expect(plan.changes.length).toBe(3);
      return [...plan.changes.map((change) => new WeakRef<object>(change)), ...references];
    }
    const kept = await remembered();
    world.unit('later').wanted = [switchRow('red'), portRow('a', 'blue'), portRow('b', 'red')];
    expect(world.plan().isEmpty).toBe(true);
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await expect
      .poll(() => {
        collect();
        return kept.filter((one) => one.deref() !== undefined).length;
      })
      .toBe(0);
  });

  test('of keys that came and went nothing is kept', async () => {
    const { database } = world;
    const index = new RowIndex(database, CLAIMS);
    index.found.fill();
    database.subscribe((changes) => index.found.observe(changes));
    database.write(insert('Logical_Switch', { name: 'theirs' }));
    const unit = new TestUnit('pod');
    for (let i = 0; i < 5; i++) {
      index.set(unit, [switchRow(`s${i}`)]);
      const [uuid] = database.write(insert('Logical_Switch', { name: `s${i}` }));
      index.set(unit, [switchRow(`t${i}`)]);
      database.write(remove('Logical_Switch', uuid ?? ''));
    }
    index.set(unit, []);
    for (const owned of index.dirty) index.settle(owned);
    expect([...index.tables.values()].flatMap((table) => [...table.entries.keys()])).toEqual([
      'theirs',
    ]);
    expect([index.owners.size, index.dirty.size]).toEqual([0, 0]);
  });
});

test('a mark that somebody takes away and a twin that has it: whoever hangs on the row follows', async () => {
  world.set('group', [row('Port_Group', 'pg')]);
  world.set('pod', [switchRow('blue'), portRow('p', 'blue', {}, 'pg')]);
  await world.settle();
  world.plan();
  const { uuid } = world.found('Port_Group', 'pg');
  world.database.write(
    update('Port_Group', uuid, { external_ids: textMap({ theirs: '1' }), name: 'other' }),
    insert('Port_Group', { name: 'pg', external_ids: textMap(MARKED) }),
  );
  expect(changesOf(world.plan())).toEqual(changesOf(world.full()));
  await world.settle();
  expect(world.found('Port_Group', 'pg').column('ports')).toHaveLength(1);
  expect(world.plan().isEmpty).toBe(true);
});

describe('a row that a fault of ours keeps from being read', () => {
  /** Claims whose key of a switch called `bad` can't be told while `fails` says so. */
  function faulty(): { claims: typeof CLAIMS; let: (fails: boolean) => void } {
    let fails = true;
    const claim = CLAIMS.get('Logical_Switch');
    if (claim === undefined) throw new Error('no claim of switches');
    const keyOf: typeof claim.keyOf = (found, container) => {
      if (fails && found.column('name') === 'bad') throw new TypeError('x is undefined');
      return claim.keyOf(found, container);
    };
    return {
      claims: new Map([...CLAIMS, ['Logical_Switch', { ...claim, keyOf }]]),
      let: (value) => (fails = value),
    };
  }
  const message =
    "a fault of Heddle's own keeps it from being read, so it is left alone and tried again: x is undefined";

  test('is a problem with its name, stays, and stops nobody; it is read as soon as that works', async () => {
    world.set('one', [switchRow('bad'), routerRow('r')]);
    await world.settle();
    const { uuid } = world.found('Logical_Switch', 'bad');
    const { claims, let: set } = faulty();
    const reconciler = new Reconciler(world.database, claims);
    reconciler.follow();
    const plan = (now: number): Plan => reconciler.plan({ now, isComplete: true });
    // Nobody wants any of it: what can be read goes.
    expect(plan(0).problems).toEqual([
      {
        kind: 'not-read',
        table: 'Logical_Switch',
        key: uuid,
        unit: '',
        object: undefined,
        message: `Logical_Switch "${uuid}": ${message}`,
      },
    ]);
    expect(changesOf(plan(0))).toEqual(['delete r']);
    // Changes come meanwhile, of it and of others.
    world.database.write(update('Logical_Switch', uuid, { other_config: ['map', [['a', 'b']]] }));
    world.database.write(
      insert('Logical_Switch', { name: 'other', external_ids: textMap(MARKED) }),
    );
    expect(changesOf(plan(60_000))).toContain('delete other');
    expect(problemsOf(plan(60_000))).toEqual([`not-read ${uuid}`]);
    set(false);
    // Not before its rest is over.
    expect(problemsOf(plan(60_001))).toEqual([`not-read ${uuid}`]);
    const read = plan(120_000);
    expect(read.problems).toEqual([]);
    expect(changesOf(read)).toContain('delete bad');
  });

  test('is no problem any more when it is gone', () => {
    const [uuid = ''] = world.database.write(insert('Logical_Switch', { name: 'bad' }));
    const reconciler = new Reconciler(world.database, faulty().claims);
    reconciler.follow();
    expect(problemsOf(reconciler.plan({ now: 0, isComplete: true }))).toEqual([`not-read ${uuid}`]);
    world.database.write(remove('Logical_Switch', uuid));
    expect(reconciler.plan({ now: 0, isComplete: true }).problems).toEqual([]);
  });

  test('comes while others are followed: the process goes on', () => {
    const { claims } = faulty();
    const reconciler = new Reconciler(world.database, claims);
    reconciler.follow();
    reconciler.plan({ now: 0, isComplete: true });
    const [uuid = ''] = world.database.write(insert('Logical_Switch', { name: 'bad' }));
    expect(problemsOf(reconciler.plan({ now: 0, isComplete: true }))).toEqual([`not-read ${uuid}`]);
  });
});

describe('what somebody else changed', () => {
  beforeEach(async () => {
    world.set('network', [switchRow('blue'), routerRow('r')]);
    world.set('pod', [portRow('pod', 'blue')]);
    await world.settle();
    expect(world.plan().drifted.size).toBe(0);
  });

  test('is told from what is wanted anew', async () => {
    world.database.write(remove('Logical_Router', world.found('Logical_Router', 'r').uuid));
    world.set('pod', [portRow('pod', 'blue', { enabled: false })]);
    const plan = world.plan();
    expect([...plan.drifted]).toEqual([world.unit('network').id]);
    expect(plan.changes).toHaveLength(2);
    await world.settle();
    expect(world.plan().drifted.size).toBe(0);
  });

  test('is not known of a database that was not seen before', () => {
    world.database.write(remove('Logical_Router', world.found('Logical_Router', 'r').uuid));
    const plan = world.full();
    expect([plan.changes.length, plan.drifted.size]).toEqual([1, 0]);
  });

  test('is none of a row that another unit had in the meantime', async () => {
    world.set('another', [portRow('pod', 'blue', { enabled: false })]);
    await world.settle();
    await world.settle();
    expect(world.found('Logical_Switch_Port', 'pod').column('enabled')).toBe(false);
    world.set('another', []);
    const plan = world.plan();
    expect([plan.changes.length, plan.drifted.size]).toEqual([1, 0]);
  });
});

describe('who wants a row', () => {
  test('the unit, with the row as it builds it again, once it was found right', async () => {
    world.set('network', [switchRow('blue')]);
    await world.settle();
    const { uuid } = world.found('Logical_Switch', 'blue');
    const wanted = world.reconciler.wantedBy('Logical_Switch', uuid);
    expect(wanted?.key).toBe('blue');
    expect(wanted?.owner.id).toBe('network');
    expect(wanted?.row?.rule).toBe(switchRow('blue').rule);
    expect([...world.reconciler.rowsWithKey('blue')]).toEqual([{ table: 'Logical_Switch', uuid }]);
  });

  test('nobody, of a row without our mark; its mark alone, of one that no unit wants', async () => {
    // It stays: something may come that wants it.
    world.isComplete = false;
    world.database.write(insert('Logical_Switch', { name: 'theirs' }));
    world.database.write(insert('Logical_Switch', { name: 'left', external_ids: textMap(MARKED) }));
    await world.settle();
    const said = ['theirs', 'left'].map((name) => {
      const { uuid } = world.found('Logical_Switch', name);
      return [
        world.reconciler.wantedBy('Logical_Switch', uuid),
        world.reconciler.markOf('Logical_Switch', uuid),
      ];
    });
    expect(said).toEqual([
      [undefined, undefined],
      [undefined, MARKED.heddle],
    ]);
  });
});
