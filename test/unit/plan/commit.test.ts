import { beforeEach, describe, expect, test } from 'vitest';
import type { DesiredRow } from '../../../src/ovsdb/plan/desired.ts';
import type { Operation, Outcome, Transactor } from '../../../src/ovsdb/data/operation.ts';
import type { BatchLimits } from '../../../src/ovsdb/plan/plan-change.ts';
import { commitPlan } from '../../../src/ovsdb/plan/plan-commit.ts';
import { plan } from '../../../src/ovsdb/plan/plan.ts';
import { MemoryDatabase } from '../../support/memory-database.ts';
import {
  aclRow,
  insert,
  northboundSchema,
  portRow,
  remove,
  row,
  RULES,
  switchRow,
} from './northbound.ts';

const schema = northboundSchema();
let database: MemoryDatabase;

beforeEach(() => {
  database = new MemoryDatabase(schema);
});

const EACH: BatchLimits = { rows: 1, bytes: 1 };
const planned = (units: Readonly<Record<string, readonly DesiredRow[]>>, limits?: BatchLimits) =>
  plan(new Map(Object.entries(units)), database, RULES, limits === undefined ? {} : { limits });

const names = (table: string): readonly string[] =>
  database
    .rows(table)
    .map((candidate) => candidate.column('name') as string)
    .toSorted();

/** Inserted names of each transaction that was asked for. */
const asked = (): readonly (readonly string[])[] =>
  database.transactions.map((operations) =>
    operations.flatMap((operation) =>
      operation.op === 'insert' ? [(operation.row['name'] ?? operation.table) as string] : [],
    ),
  );

describe('a lock', () => {
  test('is asserted in every transaction', async () => {
    database.lock = 'heddle';
    const result = planned({ a: [switchRow('a')], b: [switchRow('b')] }, EACH);
    expect(await commitPlan(database, result, { lock: 'heddle', comment: 'why' })).toMatchObject({
      kind: 'success',
      committed: 2,
      transactions: 2,
    });
    for (const operations of database.transactions) {
      expect(operations.slice(0, 2)).toEqual([
        { op: 'assert', lock: 'heddle' },
        { op: 'comment', comment: 'why' },
      ]);
    }
  });

  test('that is not ours ends the commit before anything is written', async () => {
    const result = planned({ a: [switchRow('a')], b: [switchRow('b')] }, EACH);
    expect(await commitPlan(database, result, { lock: 'heddle', window: 1 })).toMatchObject({
      kind: 'not-locked',
      reason: 'the lock heddle is held by somebody else',
      committed: 0,
    });
    expect(database.transactions).toHaveLength(1);
  });
});

describe('a refused row', () => {
  /** Refuses whatever inserts a row of this name, as a constraint of the server would. */
  const refuse = (...guilty: readonly string[]): void => {
    database.intercept = (operations): Outcome | undefined => {
      const name = guilty.find((candidate) =>
        operations.some((o) => o.op === 'insert' && o.row['name'] === candidate),
      );
      return name === undefined
        ? undefined
        : { kind: 'error', error: 'constraint violation', details: `${name} is bad` };
    };
  };

  test('is found, reported with its values, and the rest is committed', async () => {
    refuse('p5');
    const ports = Array.from({ length: 16 }, (_, i) =>
      portRow(`p${i}`, 'blue', { addresses: ['a'] }),
    );
    const outcome = await commitPlan(database, planned({ network: [switchRow('blue'), ...ports] }));
    expect(outcome).toMatchObject({ kind: 'success', committed: 16 });
    expect(outcome.refused).toEqual([
      {
        kind: 'refused',
        table: 'Logical_Switch_Port',
        key: 'p5',
        unit: 'network',
        message:
          'Logical_Switch_Port "p5": the server refused to insert it: constraint violation: p5 is bad ' +
          '(name="p5" external_ids=["map",[["owner","heddle"]]] addresses="a")',
      },
    ]);
    expect(database.size('Logical_Switch_Port')).toBe(15);
    expect(database.transactions.length).toBeLessThan(12);
  });

  test.each([0, 3, 250, 499])('is found among 500 with few transactions: number %i', async (at) => {
    refuse(`s${at}`);
    const rows = Array.from({ length: 500 }, (_, i) => switchRow(`s${i}`));
    const outcome = await commitPlan(database, planned({ network: rows }));
    expect(outcome).toMatchObject({ kind: 'success', committed: 499 });
    expect(outcome.refused.map(({ key }) => key)).toEqual([`s${at}`]);
    expect(database.transactions.length).toBeLessThan(2 + 2 * Math.log2(500));
  });

  test('that is alone is not sent again', async () => {
    refuse('blue');
    const outcome = await commitPlan(database, planned({ network: [switchRow('blue')] }));
    expect(outcome.refused.map(({ key }) => key)).toEqual(['blue']);
    expect(database.transactions).toHaveLength(1);
  });

  test('takes what needs it along, also from later transactions', async () => {
    refuse('blue');
    const units = {
      '1': [switchRow('blue')],
      '2': [portRow('p', 'blue')],
      '3': [switchRow('red'), portRow('q', 'red')],
    };
    const outcome = await commitPlan(database, planned(units, { rows: 1, bytes: 1 }));
    expect(
      outcome.refused.map(({ kind, message }) => [kind, message.replace(/ \(name.*/, '')]),
    ).toEqual([
      [
        'refused',
        'Logical_Switch "blue": the server refused to insert it: constraint violation: blue is bad',
      ],
      [
        'blocked',
        'Logical_Switch_Port "p": left out, because it needs Logical_Switch "blue", which was refused',
      ],
    ]);
    expect([names('Logical_Switch'), names('Logical_Switch_Port')]).toEqual([['red'], ['q']]);
  });

  test('several in one transaction are all found', async () => {
    refuse('b', 'd');
    const outcome = await commitPlan(
      database,
      planned({ all: ['a', 'b', 'c', 'd', 'e'].map((n) => switchRow(n)) }),
    );
    expect(outcome.refused.map((problem) => problem.key)).toEqual(['b', 'd']);
    expect(names('Logical_Switch')).toEqual(['a', 'c', 'e']);
  });

  test('rows that can not live without each other are tried together', async () => {
    const meter: DesiredRow = {
      table: 'Meter',
      key: 'ours-m',
      columns: { name: 'ours-m', unit: 'pktps' },
      containers: [],
    };
    const band: DesiredRow = {
      table: 'Meter_Band',
      key: 'ours-m drop',
      columns: { action: 'drop', rate: 20 },
      containers: [{ table: 'Meter', key: 'ours-m', column: 'bands' }],
    };
    refuse('bad');
    const outcome = await commitPlan(
      database,
      planned({ all: [meter, band, switchRow('bad'), switchRow('good')] }),
    );
    expect(outcome.refused.map((problem) => problem.key)).toEqual(['bad']);
    expect(database.size('Meter_Band')).toBe(1);
    expect(names('Logical_Switch')).toEqual(['good']);
  });
});

describe('what may be sent again', () => {
  const answer = (outcome: Outcome): void => {
    database.intercept = () => outcome;
  };
  const units = { a: [switchRow('a')], b: [switchRow('b')] };

  test('a stale read ends the commit with retry', async () => {
    answer({ kind: 'try-again', reason: 'timed out' });
    expect(await commitPlan(database, planned(units, EACH), { window: 1 })).toMatchObject({
      kind: 'retry',
      reason: 'timed out',
      committed: 0,
    });
    expect(database.transactions).toHaveLength(1);
  });

  test('a lost connection ends it with unknown', async () => {
    answer({ kind: 'unknown', reason: 'connection closed' });
    expect(await commitPlan(database, planned(units))).toMatchObject({
      kind: 'unknown',
      reason: 'connection closed',
    });
  });

  test('another writer that made the same row first: retry, and then there is nothing to do', async () => {
    const result = planned({ a: [switchRow('a')] });
    const other = planned({ a: [switchRow('a')] });
    await commitPlan(database, other);
    expect(await commitPlan(database, result)).toMatchObject({ kind: 'retry', committed: 0 });
    expect(planned({ a: [switchRow('a')] }).isEmpty).toBe(true);
    expect(names('Logical_Switch')).toEqual(['a']);
  });

  test('a server that does not write: retry, and no row is blamed', async () => {
    database.intercept = () => ({ kind: 'error', error: 'not allowed', details: 'read only' });
    expect(
      await commitPlan(database, planned({ a: [switchRow('a'), switchRow('b')] })),
    ).toMatchObject({
      kind: 'retry',
      reason: 'the server does not write: read only',
      refused: [],
    });
    expect(database.transactions).toHaveLength(1);
  });

  test('a row that vanished between plan and commit: retry', async () => {
    await commitPlan(database, planned({ a: [switchRow('a')] }));
    const result = planned({ a: [switchRow('a'), portRow('p', 'a')] });
    database.write(remove('Logical_Switch', database.rows('Logical_Switch')[0]?.uuid ?? ''));
    expect(await commitPlan(database, result)).toMatchObject({
      kind: 'retry',
      reason: 'a row of Logical_Switch that was to be changed is gone',
    });
  });

  test('an abort ends it with unknown, a fault of the transactor is thrown; what is under way is waited for', async () => {
    const failing = (error: Error): Transactor => ({
      async transact() {
        throw error;
      },
    });
    const abort = AbortSignal.abort(new Error('stop'));
    expect(
      await commitPlan(failing(new Error('stop')), planned(units, EACH), { signal: abort }),
    ).toMatchObject({ kind: 'unknown', reason: 'stop' });
    await expect(commitPlan(failing(new Error('broken')), planned(units, EACH))).rejects.toThrow(
      'broken',
    );
  });

  test('an empty plan sends nothing', async () => {
    expect(await commitPlan(database, planned({}))).toEqual({
      kind: 'unchanged',
      reason: undefined,
      committed: 0,
      transactions: 0,
      refused: [],
    });
    expect(database.transactions).toEqual([]);
  });
});

describe('transactions under way together', () => {
  /** Answers in its own time; remembers how many were under way at most. */
  class SlowServer implements Transactor {
    underWay = 0;
    most = 0;
    readonly order: string[] = [];

    async transact(operations: readonly Operation[]): Promise<Outcome> {
      this.underWay += 1;
      this.most = Math.max(this.most, this.underWay);
      const name = operations
        .flatMap((o) => (o.op === 'insert' ? [o.row['name'] as string] : []))
        .join('+');
      this.order.push(`> ${name}`);
      await new Promise(setImmediate);
      this.order.push(`< ${name}`);
      this.underWay -= 1;
      return database.transact(operations);
    }
  }

  test('are as many as the window', async () => {
    const server = new SlowServer();
    const units = Object.fromEntries(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((n) => [n, [switchRow(n)]]),
    );
    await commitPlan(server, planned(units, EACH), { window: 3 });
    expect(server.most).toBe(3);
    expect(names('Logical_Switch')).toHaveLength(6);
  });

  test('do not build upon each other', async () => {
    const server = new SlowServer();
    await commitPlan(
      server,
      planned({ '1': [switchRow('blue')], '2': [portRow('p', 'blue')] }, EACH),
    );
    expect(server.order).toEqual(['> blue', '< blue', '> p', '< p']);
  });
});

test('a commit cut short at any transaction is finished by the next plan', async () => {
  const units = {
    network: [switchRow('blue'), switchRow('red')],
    policy: [row('Port_Group', 'pg'), aclRow('acl', 'pg')],
    pods: ['p', 'q', 'r'].map((name) =>
      row(
        'Logical_Switch_Port',
        name,
        {},
        ['Logical_Switch', 'blue', 'ports'],
        ['Port_Group', 'pg', 'ports'],
      ),
    ),
  };
  const whole = planned(units, EACH).batches.length;
  for (let cut = 0; cut < whole; cut++) {
    database = new MemoryDatabase(schema);
    database.write(insert('Logical_Switch', { name: 'theirs' }));
    let left = cut;
    database.intercept = () => (left-- > 0 ? undefined : { kind: 'unknown', reason: 'killed' });
    expect(await commitPlan(database, planned(units, EACH), { window: 1 })).toMatchObject({
      kind: 'unknown',
    });
    database.intercept = undefined;
    await commitPlan(database, planned(units, EACH));
    expect(planned(units)).toMatchObject({ isEmpty: true, problems: [] });
    expect(asked().length).toBeGreaterThan(0);
    expect(names('Logical_Switch')).toEqual(['blue', 'red', 'theirs']);
    expect(names('Logical_Switch_Port')).toEqual(['p', 'q', 'r']);
  }
});
