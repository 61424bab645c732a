import { afterEach, describe, expect, expectTypeOf, test } from 'vitest';
import {
  isRetryable,
  OutcomeError,
  OvsdbClient,
  type JsonValue,
  type Operation,
  type Outcome,
  type ReplicaChanges,
} from 'ovsdb-client-ts';
import { changes, transact, type Transaction } from 'ovsdb-client-ts/extras';
import { checked } from '../../../src/ovsdb/data/outcome.ts';
import type { Northbound } from '../../support/ovsdb/northbound.generated.ts';
import {
  DATABASE_ID,
  ScriptedOvsdbServer,
  smallDatabase,
} from '../../support/ovsdb/scripted-ovsdb-server.ts';

const soon = (): AbortSignal => AbortSignal.timeout(10_000);
const A = '00000000-0000-4000-8000-000000000001';
const B = '00000000-0000-4000-8000-000000000002';

const strings = { key: 'string', min: 0, max: 'unlimited' } as const;
const SCHEMA: JsonValue = {
  name: 'Small',
  version: '1.0.0',
  tables: {
    Logical_Switch_Port: {
      isRoot: true,
      columns: {
        name: { type: 'string' },
        tag: { type: { key: 'integer', min: 0, max: 1 } },
        addresses: { type: strings },
        external_ids: { type: { ...strings, value: 'string' } },
      },
    },
  },
};

const open: AsyncDisposable[] = [];

afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each[Symbol.asyncDispose]();
});

/** A client of a database with two ports, whose server answers transactions so. */
async function connected(...replies: readonly JsonValue[]) {
  const rows = {
    [A]: { initial: { name: 'a', tag: 7, external_ids: ['map', [['owner', 'me']]] } },
    [B]: { initial: { name: 'b' } },
  };
  const server = await ScriptedOvsdbServer.start({
    ...smallDatabase(),
    get_schema: () => SCHEMA,
    monitor_cond_since: () => [false, DATABASE_ID, { Logical_Switch_Port: rows }],
    transact: () => replies[server.asked('transact').length - 1] ?? null,
  });
  open.push(server);
  const client = new OvsdbClient<Northbound>({ remotes: server.remote, database: 'Small' });
  open.push(client);
  await client.start().ready(soon());
  const update = (changes: JsonValue): void => {
    const monitor = server.asked('monitor_cond_since').at(-1)?.[1] ?? null;
    server.peer?.notify('update3', monitor, DATABASE_ID, { Logical_Switch_Port: changes });
  };
  return { server, client, update };
}

describe('rows of a client with types', () => {
  test('are read by property', async () => {
    const { client } = await connected();
    const port = client.row('Logical_Switch_Port', A);
    expectTypeOf(port?.tag).toEqualTypeOf<number | undefined>();
    expect([port?.name, port?.tag, port?.uuid]).toEqual(['a', 7, A]);
    expect([...client.rows('Logical_Switch_Port')].map(({ name }) => name)).toEqual(['a', 'b']);
    const inOrder = client.ordered('Logical_Switch_Port', ['name']).range(['b']);
    expectTypeOf(inOrder[0]?.tag).toEqualTypeOf<number | undefined>();
    expect(inOrder.map(({ name }) => name)).toEqual(['b']);
    // @ts-expect-error there is no such table
    expect(() => client.rows('Logical_Swich')).toThrow('has no table');
  });

  test('are found by the values of columns', async () => {
    const { client } = await connected();
    const names = (columns: Parameters<typeof client.find<'Logical_Switch_Port'>>[1]): string[] =>
      client.find('Logical_Switch_Port', columns).map(({ name }) => name);
    expect(names({ name: 'a' })).toEqual(['a']);
    expect(names({ tag: 7, name: 'a' })).toEqual(['a']);
    expect(names({ tag: 7, name: 'b' })).toEqual([]);
    expect(names({ tag: undefined })).toEqual(['b']);
    expect(names({ external_ids: { owner: 'me' } })).toEqual(['a']);
    // @ts-expect-error there is no such column
    expect(() => names({ nam: 'a' })).toThrow('nam');
    // @ts-expect-error a value of another type
    expect(names({ name: 7 })).toEqual([]);
    expect(() => names({})).toThrow('at least one');
  });

  test('without types any table and column is taken, and checked when it runs', async () => {
    const { client: typed } = await connected();
    const client = typed as unknown as OvsdbClient;
    expect(client.find('Logical_Switch_Port', { name: 'a' })[0]?.column('tag')).toBe(7);
    expect(() => client.rows('none')).toThrow('has no table none');
  });

  test('of no contents yet throw', () => {
    const client = new OvsdbClient({ remotes: 'unix:/nowhere', database: 'Small' });
    expect(() => client.rows('T')).toThrow('disconnected');
    expect(() => changes(client)).toThrow('disconnected');
    client.close();
  });
});

describe('transact with a function', () => {
  const insertion: Operation = {
    op: 'insert',
    table: 'Logical_Switch_Port',
    row: { name: 'c' },
    'uuid-name': 'row0',
  };

  test('sends what it builds, with the types of the client', async () => {
    const { server, client } = await connected([{ uuid: ['uuid', B] }]);
    let uuid: string | undefined;
    const outcome = await transact(client, (t) => {
      expectTypeOf(t).toEqualTypeOf<Transaction<Northbound>>();
      const port = t.insert('Logical_Switch_Port', { name: 'c' });
      expect(() => port.uuid).toThrow('not committed');
      // @ts-expect-error there is no such column
      expect(() => t.insert('Logical_Switch_Port', { nam: 'c' })).toThrow('nam');
    });
    for (const result of outcome.orThrow()) [, uuid] = result.uuid as readonly [string, string];
    expect(uuid).toBe(B);
    expect(server.asked('transact')).toEqual([['Small', insertion]]);
  });

  test('waits for one that is asynchronous', async () => {
    const { server, client } = await connected([{ uuid: ['uuid', B] }]);
    await transact(client, async (t) => {
      await new Promise((resolve) => setImmediate(resolve));
      t.insert('Logical_Switch_Port', { name: 'c' });
    });
    expect(server.asked('transact')).toHaveLength(1);
  });

  test('sends nothing when there is nothing to do, or the function throws', async () => {
    const { server, client } = await connected();
    expect((await transact(client, () => undefined)).orThrow()).toEqual([]);
    const failing = transact(client, (t) => {
      t.delete('Logical_Switch_Port', A);
      throw new Error('on second thoughts');
    });
    await expect(failing).rejects.toThrow('on second thoughts');
    expect(server.asked('transact')).toEqual([]);
  });

  test('never sends twice', async () => {
    const { server, client } = await connected([{ error: 'timed out', details: 'why' }]);
    const outcome = await transact(client, (t) => t.delete('Logical_Switch_Port', A));
    expect(outcome).toEqual({ kind: 'try-again', reason: 'timed out: why', operation: 0 });
    expect(server.asked('transact')).toHaveLength(1);
  });

  test('asserts a lock', async () => {
    const { client } = await connected();
    const outcome = await transact(client, (t) => t.delete('Logical_Switch_Port', A), {
      lock: 'zone',
    });
    expect(() => outcome.orThrow()).toThrow('not owner: the lock zone is not held');
  });
});

describe('orThrow', () => {
  const failures: readonly (readonly [Outcome, string, string, boolean])[] = [
    [
      { kind: 'try-again', reason: 'timed out: x', operation: 0 },
      'timed out',
      'timed out: x',
      true,
    ],
    [{ kind: 'try-again', reason: 'not connected' }, 'disconnected', 'not connected', true],
    [{ kind: 'unknown', reason: 'lost' }, 'disconnected', 'committed or not: lost', true],
    [{ kind: 'not-locked', lock: 'l' }, 'not owner', 'the lock l is not held', false],
    [{ kind: 'aborted', results: [] }, 'aborted', 'the transaction was aborted on request', false],
    [
      { kind: 'error', error: 'constraint violation', details: 'why', operation: 2, table: 'T' },
      'rpc error',
      'constraint violation: why (operation 2, table T)',
      false,
    ],
    [
      { kind: 'error', error: 'range error', details: 'why' },
      'rpc error',
      'range error: why',
      false,
    ],
  ];
  test.each(failures)('of %j', (outcome, code, details, mayBeRetried) => {
    let thrown: unknown;
    try {
      checked(outcome).orThrow();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(OutcomeError);
    expect(thrown).toMatchObject({ code, details, outcome });
    expect(isRetryable(thrown)).toBe(mayBeRetried);
  });

  test('of a success gives the results', () => {
    expect(checked({ kind: 'success', results: [{ count: 1 }] }).orThrow()).toEqual([{ count: 1 }]);
    expect(checked({ kind: 'unchanged' }).orThrow()).toEqual([]);
  });

  test('is no part of what an outcome is printed or compared as', () => {
    const outcome: Outcome = { kind: 'unchanged' };
    expect(JSON.stringify(checked(outcome))).toBe(JSON.stringify(outcome));
    expect(Object.keys(checked(outcome))).toEqual(['kind']);
  });
});

describe('a loop over changes', () => {
  const namesIn = ({ tables }: ReplicaChanges): readonly string[] =>
    (tables.get('Logical_Switch_Port')?.rows ?? []).map(({ kind, uuid }) => `${kind} ${uuid}`);

  test('sees each change since it was made, also those that came while it was busy', async () => {
    const { client, update } = await connected();
    const seen: (readonly string[])[] = [];
    const stream = changes(client);
    update({ [A]: { modify: { name: 'a2' } } });
    await expect.poll(() => client.row('Logical_Switch_Port', A)?.name).toBe('a2');
    for await (const change of stream) {
      seen.push(namesIn(change));
      if (seen.length === 1) {
        update({ [A]: { modify: { name: 'a3' } } });
        update({ [B]: { delete: null } });
        await expect.poll(() => client.row('Logical_Switch_Port', B)).toBeUndefined();
      }
      if (seen.length === 3) break;
    }
    expect(seen).toEqual([[`modified ${A}`], [`modified ${A}`], [`deleted ${B}`]]);
  });

  test('ends with its signal, and hears no more', async () => {
    const { client, update } = await connected();
    const controller = new AbortController();
    let count = 0;
    const loop = (async () => {
      for await (const change of changes(client, controller.signal)) count += change.tables.size;
    })();
    update({ [A]: { modify: { name: 'a2' } } });
    await expect.poll(() => count).toBe(1);
    controller.abort();
    await loop;
    update({ [A]: { modify: { name: 'a3' } } });
    await expect.poll(() => client.row('Logical_Switch_Port', A)?.name).toBe('a3');
    expect(count).toBe(1);
    for await (const _ of changes(client, controller.signal)) count++;
    expect(count).toBe(1);
  });

  test('ends with the client, whatever waits', async () => {
    const { client, update } = await connected();
    const stream = changes(client);
    update({ [A]: { modify: { name: 'a2' } } });
    await expect.poll(() => client.row('Logical_Switch_Port', A)?.name).toBe('a2');
    client.close();
    for await (const change of stream) expect(namesIn(change)).toEqual([]);
  });

  test('hears of the tables that it names', async () => {
    const { client, update } = await connected();
    expect(() => changes(client, undefined, { tables: ['none'] })).toThrow('has no table none');
    const stream = changes(client, soon(), { tables: ['Logical_Switch_Port'] });
    update({ [A]: { modify: { name: 'a2' } } });
    for await (const change of stream) {
      expect(namesIn(change)).toEqual([`modified ${A}`]);
      break;
    }
  });
});

describe('what is to be followed', () => {
  test.each<[string, unknown, string]>([
    ['a misspelt key', { T: { colums: ['name'] } }, 'tables.T has no "colums"; known are columns'],
    ['a list', { T: ['name'] }, 'tables.T must be true or an object'],
    ['false', { T: false }, 'tables.T must be true or an object'],
    ['a misspelt index', { T: { indexes: { fnd: ['name'] } } }, 'tables.T.indexes has no "fnd"'],
  ])('%s is refused, and not taken for the whole table', (_name, tables, message) => {
    const remotes = 'unix:/nowhere';
    expect(() => new OvsdbClient({ remotes, database: 'Small', tables: tables as never })).toThrow(
      message,
    );
  });

  test('a function that says something else is refused where it is asked', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase(SCHEMA));
    const tables = (): never => ({ Logical_Switch_Port: { colums: ['name'] } }) as never;
    await using client = new OvsdbClient({
      remotes: server.remote,
      database: 'Small',
      tables,
    }).start();
    await expect(client.ready(soon())).rejects.toThrow(
      'tables.Logical_Switch_Port has no "colums"',
    );
  });
});
