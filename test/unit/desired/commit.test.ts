import { beforeEach, describe, expect, test } from 'vitest';
import type { Plan } from '../../../src/desired/ovsdb/changes.ts';
import { commitPlan } from '../../../src/desired/ovsdb/commit.ts';
import type { Outcome, Transactor } from 'ovsdb-client-ts';
import {
  aclRow,
  bandRow,
  insert,
  meterRow,
  portRow,
  remove,
  row,
  switchRow,
} from './northbound.ts';
import { EACH, World } from './world.ts';

/** A plan on its way to a server. */

let world: World;

beforeEach(() => {
  world = new World();
});

const each = (): void => {
  world = new World({ limits: EACH });
};

const commit = (plan: Plan = world.plan(), lock?: string) =>
  commitPlan(world.database, plan, lock === undefined ? {} : { lock, comment: 'why' });

/** Refuses whatever inserts a row of this name, as a constraint of the server would. */
function refuse(...names: readonly string[]): void {
  world.database.intercept = (operations): Outcome | undefined => {
    const name = names.find((candidate) =>
      operations.some((o) => o.op === 'insert' && o.row['name'] === candidate),
    );
    return name === undefined
      ? undefined
      : { kind: 'error', error: 'constraint violation', details: `${name} is bad` };
  };
}

describe('a lock', () => {
  test('is asserted in every transaction', async () => {
    each();
    world.database.lock = 'heddle';
    world.set('a', [switchRow('a')]);
    world.set('b', [switchRow('b')]);
    expect(await commit(world.plan(), 'heddle')).toMatchObject({
      kind: 'success',
      committed: 2,
      transactions: 2,
    });
    for (const operations of world.database.transactions) {
      expect(operations.slice(0, 2)).toEqual([
        { op: 'assert', lock: 'heddle' },
        { op: 'comment', comment: 'why' },
      ]);
    }
  });

  test('that is not ours ends the commit before anything is written', async () => {
    each();
    world.set('a', [switchRow('a')]);
    world.set('b', [switchRow('b')]);
    expect(await commit(world.plan(), 'heddle')).toMatchObject({
      kind: 'not-locked',
      reason: 'the lock heddle is held by somebody else',
      committed: 0,
    });
    expect(world.database.transactions).toHaveLength(1);
  });
});

describe('a refused unit', () => {
  test('is not in the database at all, is reported with values, and the others are committed', async () => {
    refuse('p5');
    for (let i = 0; i < 16; i++)
      world.set(`pod ${i}`, [portRow(`p${i}`, 'blue', { addresses: ['a'] })]);
    world.set('pod 5', [portRow('p5', 'blue', { addresses: ['a'] }), switchRow('beside')]);
    world.set('network', [switchRow('blue')]);
    const outcome = await commit();
    expect(outcome).toMatchObject({ kind: 'success', committed: 16 });
    expect(outcome.refused).toEqual([
      {
        kind: 'refused',
        table: 'Logical_Switch_Port',
        key: 'p5',
        object: 'Test one',
        unit: 'pod 5',
        message:
          'Logical_Switch_Port "p5": the server refused 2 rows that belong together: constraint violation: p5 is bad ' +
          '(name="p5" addresses="a" external_ids=["map",[["heddle","Test one"]]])',
      },
    ]);
    expect(world.names('Logical_Switch')).toEqual(['blue']);
    expect(world.names('Logical_Switch_Port')).not.toContain('p5');
  });

  test.each([0, 3, 250, 499])('is found among 500 with few transactions: number %i', async (at) => {
    refuse(`s${at}`);
    for (let i = 0; i < 500; i++) world.set(`s${i}`, [switchRow(`s${i}`)]);
    const outcome = await commit();
    expect(outcome).toMatchObject({ kind: 'success', committed: 499 });
    expect(outcome.refused.map(({ key }) => key)).toEqual([`s${at}`]);
    expect(world.database.transactions.length).toBeLessThan(3 + 2 * Math.log2(500));
  });

  test('that is alone is not sent again', async () => {
    refuse('blue');
    world.set('a', [switchRow('blue')]);
    expect((await commit()).refused.map(({ key }) => key)).toEqual(['blue']);
    expect(world.database.transactions).toHaveLength(1);
  });

  test('takes what needs it along, also from later transactions', async () => {
    each();
    refuse('blue');
    world.set('1', [switchRow('blue')]);
    world.set('2', [portRow('p', 'blue')]);
    world.set('3', [switchRow('red'), portRow('q', 'red')]);
    const outcome = await commit();
    expect(outcome.refused.map(({ kind, unit }) => [kind, unit])).toEqual([
      ['refused', '1'],
      ['blocked', '2'],
    ]);
    expect(outcome.refused[1]?.message).toBe(
      'Logical_Switch_Port "p": left out, because it needs Logical_Switch "blue", which was refused',
    );
    expect([world.names('Logical_Switch'), world.names('Logical_Switch_Port')]).toEqual([
      ['red'],
      ['q'],
    ]);
  });

  test('several in one transaction are all found', async () => {
    refuse('b', 'd');
    for (const name of ['a', 'b', 'c', 'd', 'e']) world.set(name, [switchRow(name)]);
    expect((await commit()).refused.map(({ key }) => key)).toEqual(['b', 'd']);
    expect(world.names('Logical_Switch')).toEqual(['a', 'c', 'e']);
  });

  test('whose row the server names by its UUID is reported with that row', async () => {
    world.set('a', [switchRow('a'), switchRow('b')]);
    const plan = world.plan();
    const guilty = plan.changes.find(({ key }) => key === 'b')?.uuid ?? '';
    world.database.intercept = () => ({
      kind: 'error',
      error: 'referential integrity violation',
      details: `row ${guilty} is in the way`,
    });
    expect((await commit(plan)).refused.map(({ key }) => key)).toEqual(['b']);
  });

  test('rows that can not live without each other are tried together', async () => {
    refuse('bad');
    world.set('meter', [meterRow('m'), bandRow('m')]);
    world.set('bad', [switchRow('bad')]);
    world.set('good', [switchRow('good')]);
    expect((await commit()).refused.map(({ key }) => key)).toEqual(['bad']);
    expect(world.database.size('Meter_Band')).toBe(1);
    expect(world.names('Logical_Switch')).toEqual(['good']);
  });
});

describe('what may be sent again', () => {
  const two = (): void => {
    each();
    world.set('a', [switchRow('a')]);
    world.set('b', [switchRow('b')]);
  };

  test.each([
    [{ kind: 'try-again', reason: 'timed out' }, 'retry', 'timed out'],
    [{ kind: 'unknown', reason: 'connection closed' }, 'unknown', 'connection closed'],
    [
      { kind: 'error', error: 'not allowed', details: 'read only' },
      'retry',
      'the server does not write: read only',
    ],
    [{ kind: 'aborted' }, 'retry', 'the transaction was aborted'],
  ] as const)('nothing is sent behind %j, and no row is blamed', async (answer, kind, reason) => {
    two();
    world.database.intercept = () => answer as Outcome;
    expect(await commit()).toEqual({ kind, reason, committed: 0, transactions: 0, refused: [] });
    expect(world.database.transactions).toHaveLength(1);
  });

  test('nothing is sent before the answer to what was sent before', async () => {
    two();
    const order: string[] = [];
    const slow: Transactor = {
      async transact(operations) {
        order.push('>');
        await new Promise(setImmediate);
        order.push('<');
        return world.database.transact(operations);
      },
    };
    await commitPlan(slow, world.plan());
    expect(order).toEqual(['>', '<', '>', '<']);
  });

  test('another writer that made the same row first: retry, and then there is nothing to do', async () => {
    world.set('a', [switchRow('a')]);
    const [plan, other] = [world.plan(), world.full()];
    await commit(other);
    expect(await commit(plan)).toMatchObject({ kind: 'retry', committed: 0 });
    expect(world.plan().isEmpty).toBe(true);
    expect(world.names('Logical_Switch')).toEqual(['a']);
  });

  test('a row that vanished between plan and commit: retry', async () => {
    world.set('a', [switchRow('a')]);
    await world.settle();
    world.set('a', [switchRow('a'), portRow('p', 'a')]);
    const plan = world.plan();
    world.database.write(remove('Logical_Switch', world.found('Logical_Switch', 'a').uuid));
    expect(await commit(plan)).toMatchObject({
      kind: 'retry',
      reason: 'a row of Logical_Switch that was to be changed is gone',
    });
  });

  test('an abort ends it with unknown, a fault of the transactor is thrown', async () => {
    two();
    const failing = (error: Error): Transactor => ({
      async transact() {
        throw error;
      },
    });
    const abort = AbortSignal.abort(new Error('stop'));
    expect(
      await commitPlan(failing(new Error('stop')), world.plan(), { signal: abort }),
    ).toMatchObject({ kind: 'unknown', reason: 'stop' });
    await expect(commitPlan(failing(new Error('broken')), world.plan())).rejects.toThrow('broken');
  });

  test('an empty plan sends nothing', async () => {
    expect(await commit()).toEqual({
      kind: 'unchanged',
      reason: undefined,
      committed: 0,
      transactions: 0,
      refused: [],
    });
    expect(world.database.transactions).toEqual([]);
  });
});

test('a commit cut short at any transaction is finished by the next plan', async () => {
  const units = {
    network: [switchRow('blue'), switchRow('red')],
    policy: [row('Port_Group', 'pg'), aclRow('acl', 'pg')],
    'pod p': [portRow('p', 'blue', {}, 'pg')],
    'pod q': [portRow('q', 'blue', {}, 'pg')],
  };
  const begin = (): void => {
    each();
    for (const [unit, rows] of Object.entries(units)) world.set(unit, rows);
  };
  begin();
  const whole = world.plan().batches.length;
  expect(whole).toBe(4);
  for (let cut = 0; cut < whole; cut++) {
    begin();
    world.database.write(insert('Logical_Switch', { name: 'theirs' }));
    let left = cut;
    world.database.intercept = () =>
      left-- > 0 ? undefined : { kind: 'unknown', reason: 'killed' };
    expect(await commit()).toMatchObject({ kind: 'unknown', transactions: cut });
    world.database.intercept = undefined;
    await commit();
    expect(world.plan()).toMatchObject({ isEmpty: true, problems: [] });
    expect(world.names('Logical_Switch')).toEqual(['blue', 'red', 'theirs']);
    expect(world.names('Logical_Switch_Port')).toEqual(['p', 'q']);
  }
});
