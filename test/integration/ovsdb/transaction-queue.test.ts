import { expect, test } from 'vitest';
import {
  commitAnew,
  OvsdbClient,
  Transaction,
  uuidFromName,
  ZERO_UUID,
  type Operation,
  type Outcome,
  type Uuid,
} from '../../../src/ovsdb/index.ts';
import type { Northbound } from '../../../src/ovsdb/schema/northbound.generated.ts';
import { OvsdbProxy } from '../../support/ovsdb-proxy.ts';
import { OvsdbServer } from '../../support/ovsdb-server.ts';
import { until } from '../../support/until.ts';

const soon = (): AbortSignal => AbortSignal.timeout(15_000);

async function connected(remotes: string): Promise<OvsdbClient> {
  const client = new OvsdbClient({
    remotes,
    database: 'OVN_Northbound',
    timing: { minBackoff: 10, maxBackoff: 100 },
  }).start();
  await client.ready(soon());
  return client;
}

const sent = (client: OvsdbClient): number => client.traffic?.messagesSent ?? 0;
const own = (name: string): Uuid => uuidFromName(ZERO_UUID, name);
const where = (name: string) => [['_uuid', '==', ['uuid', own(name)]]] as const;
const insert = (table: string, name: string, row: object = {}): Operation => ({
  op: 'insert',
  table,
  uuid: own(name),
  row: { name, ...row },
});
const set = (...names: readonly string[]) =>
  ['set', names.map((name) => ['uuid', own(name)])] as const;
/** A port of a switch that a group knows, too: the group loses it when the switch lets it go. */
const PLUGGED: readonly Operation[] = [
  insert('Logical_Switch_Port', 'port'),
  insert('Logical_Switch', 'switch', { ports: set('port') }),
  insert('Port_Group', 'group', { ports: set('port') }),
];
const numbered = (count: number, prefix = 'n'): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}${n}`);
const names = (client: OvsdbClient, table: string): readonly string[] =>
  [...client.replica.rows(table)].map((row) => row.column('name') as string).toSorted();
const kinds = (outcomes: readonly Outcome[]): readonly string[] => [
  ...new Set(outcomes.map(({ kind }) => kind)),
];

test('many small transactions are a few requests, and others hear of each request at once', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server.remote);
  await using other = await connected(server.remote);
  const told: number[] = [];
  other.replica.subscribe(({ tables }) => {
    told.push(tables.get('Address_Set')?.rows.length ?? 0);
  });
  const queue = client.queue({ maxOperations: 100 });
  const before = sent(client);
  const outcomes = await Promise.all(
    numbered(500).map((name) => queue.transact([insert('Address_Set', name)])),
  );
  expect(
    outcomes.map((outcome) => (outcome.kind === 'success' ? outcome.results : outcome)),
  ).toEqual(numbered(500).map((name) => [{ uuid: ['uuid', own(name)] }]));
  // What was written is in the replica by then.
  expect(client.replica.size('Address_Set')).toBe(500);
  expect(sent(client) - before).toBe(6);
  await until(
    'the other client to have everything',
    () => other.replica.size('Address_Set') === 500,
  );
  expect(told.reduce((sum, rows) => sum + rows)).toBe(500);
  expect(told.length).toBeLessThanOrEqual(6);
});

test('one that is refused among many is told why; the others are committed', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server.remote);
  await client.transact([insert('Address_Set', 'taken')]);
  const queue = client.queue({ maxOperations: 1000 });
  const before = sent(client);
  const outcomes = await Promise.all(
    numbered(500).map((name, n) => {
      const operations = [insert('Address_Set', name)];
      // Refused by its commit, by its second operation, and by a guard.
      if (n === 123)
        operations.push({ op: 'insert', table: 'Address_Set', row: { name: 'taken' } });
      if (n === 300)
        operations.push({ op: 'insert', table: 'Logical_Switch_Port', row: { tag: 5000 } });
      if (n === 400)
        operations.push({
          op: 'wait',
          table: 'Address_Set',
          where: [['name', '==', 'taken']],
          columns: ['name'],
          until: '==',
          rows: [],
          timeout: 0,
        });
      return queue.transact(operations);
    }),
  );
  const bad = outcomes.flatMap((outcome, n) => (outcome.kind === 'success' ? [] : [[n, outcome]]));
  expect(bad).toEqual([
    [
      123,
      {
        kind: 'error',
        error: 'constraint violation',
        details: expect.stringContaining('(taken)') as string,
      },
    ],
    [
      300,
      {
        kind: 'error',
        error: 'constraint violation',
        details: expect.stringContaining('5000') as string,
        operation: 1,
        table: 'Logical_Switch_Port',
      },
    ],
    [
      400,
      { kind: 'try-again', reason: expect.stringContaining('timed out') as string, operation: 1 },
    ],
  ]);
  expect(client.replica.size('Address_Set')).toBe(498);
  // A search of at most 2 + log2(500) requests for the first, 3 for each of the others, and those between them.
  expect(sent(client) - before).toBeLessThan(30);
  const plain = await client.transact([
    { op: 'insert', table: 'Logical_Switch_Port', row: { tag: 5000 } },
  ]);
  const queued = await Promise.all([
    queue.transact([]),
    queue.transact([{ op: 'comment', comment: 'x' }]),
    queue.transact([{ op: 'insert', table: 'Logical_Switch_Port', row: { tag: 5000 } }]),
  ]);
  // To the letter, though the server's words count operations.
  expect(queued[2]).toEqual(plain);
});

test('each reads what those before it left, and its own changes', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server.remote);
  await client.transact([{ op: 'insert', table: 'NB_Global', row: {} }]);
  const [global] = client.replica.rows('NB_Global');
  if (global === undefined) throw new Error('it was just inserted');
  const queue = client.queue();
  const counters = numbered(50).map(() => {
    const transaction = new Transaction<Northbound>(client.replica);
    const counter = transaction.increment('NB_Global', global.uuid, 'nb_cfg');
    return { counter, outcome: transaction.commit(queue) };
  });
  expect(kinds(await Promise.all(counters.map(({ outcome }) => outcome)))).toEqual(['success']);
  expect(counters.map(({ counter }) => counter.newValue)).toEqual(counters.map((_, n) => n + 1));
  expect(global.column('nb_cfg')).toBe(50);
});

test('rows that each transaction names for itself refer to each other', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server.remote);
  const queue = client.queue();
  const before = sent(client);
  const built = numbered(40).map((name) => {
    const transaction = new Transaction<Northbound>(client.replica);
    const port = transaction.insert('Logical_Switch_Port', { name: `${name}-port` });
    const row = transaction.insert('Logical_Switch', { name, ports: [port] });
    return { name, port, row, outcome: transaction.commit(queue) };
  });
  expect(kinds(await Promise.all(built.map(({ outcome }) => outcome)))).toEqual(['success']);
  expect(sent(client) - before).toBe(2);
  for (const { name, port, row } of built) {
    expect(client.replica.row('Logical_Switch', row.uuid)?.column('name')).toBe(name);
    expect(client.replica.row('Logical_Switch', row.uuid)?.column('ports')).toEqual([port.uuid]);
    expect(client.replica.row('Logical_Switch_Port', port.uuid)?.column('name')).toBe(
      `${name}-port`,
    );
  }
});

test('writers that verify and try again do not stand in the way of others', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server.remote);
  await client.transact([insert('Address_Set', 'pods')]);
  const queue = client.queue();
  const outcomes = await Promise.all(
    numbered(10, '10.0.0.').map((address) =>
      commitAnew<Northbound>(
        client,
        (transaction) => {
          const row = client.replica.row('Address_Set', own('pods'));
          const addresses = row?.column('addresses') as readonly string[];
          transaction.verify('Address_Set', own('pods'), 'addresses');
          transaction.update('Address_Set', own('pods'), { addresses: [...addresses, address] });
        },
        { queue, signal: soon() },
      ),
    ),
  );
  expect(kinds(outcomes)).toEqual(['success']);
  expect(client.replica.row('Address_Set', own('pods'))?.column('addresses')).toHaveLength(10);
});

test('a transaction sees no rows and references that would be removed if it was alone', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server.remote);
  await client.transact(PLUGGED);
  const queue = client.queue();
  const [, , ports, group, , again] = await Promise.all([
    queue.transact([]),
    queue.transact([
      {
        op: 'mutate',
        table: 'Logical_Switch',
        where: where('switch'),
        mutations: [['ports', 'delete', set('port')]],
      },
    ]),
    queue.transact([{ op: 'select', table: 'Logical_Switch_Port', where: [], columns: ['name'] }]),
    queue.transact([{ op: 'select', table: 'Port_Group', where: [], columns: ['ports'] }]),
    queue.transact([{ op: 'delete', table: 'Logical_Switch', where: where('switch') }]),
    // The server takes no UUID that was deleted in the same transaction: it is then tried alone.
    queue.transact([insert('Logical_Switch', 'switch')]),
  ]);
  expect(ports).toEqual({ kind: 'success', results: [{ rows: [] }] });
  expect(group).toEqual({ kind: 'success', results: [{ rows: [{ ports: ['set', []] }] }] });
  expect(again.kind).toBe('success');
});

test('references do not outlive the rows that they refer to, when the referring row is changed, too', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server.remote);
  await client.transact(PLUGGED);
  const queue = client.queue();
  const change: Operation = {
    op: 'update',
    table: 'Port_Group',
    where: where('group'),
    row: { external_ids: ['map', [['a', '1']]] },
  };
  const outcomes = await Promise.all([
    queue.transact([]),
    queue.transact([change]),
    queue.transact([{ op: 'delete', table: 'Logical_Switch', where: where('switch') }]),
  ]);
  expect(kinds(outcomes)).toEqual(['success']);
  expect(client.replica.row('Port_Group', own('group'))?.column('ports')).toEqual([]);
});

test('constraints and references are those at the end of a request', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server.remote);
  await client.transact([
    insert('Logical_Switch_Port', 'port'),
    insert('Logical_Switch', 'old', { ports: set('port') }),
    insert('Address_Set', 'taken'),
  ]);
  const queue = client.queue();
  const moved = await Promise.all([
    queue.transact([]),
    // The reference is before the row.
    queue.transact([insert('Logical_Switch', 'early', { ports: set('later') })]),
    queue.transact([insert('Logical_Switch_Port', 'later')]),
    // The last reference goes, and the row has another one at the end.
    queue.transact([{ op: 'delete', table: 'Logical_Switch', where: where('old') }]),
    queue.transact([insert('Logical_Switch', 'new', { ports: set('port') })]),
    // A name is given twice, and once at the end.
    queue.transact([{ op: 'insert', table: 'Address_Set', row: { name: 'taken' } }]),
    queue.transact([{ op: 'delete', table: 'Address_Set', where: where('taken') }]),
  ]);
  expect(kinds(moved)).toEqual(['success']);
  expect(names(client, 'Logical_Switch')).toEqual(['early', 'new']);
  expect(names(client, 'Logical_Switch_Port')).toEqual(['later', 'port']);
  expect(client.replica.size('Address_Set')).toBe(1);
});

test('a wait that the server holds back holds up nobody', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server.remote);
  const queue = client.queue();
  const held = queue.transact([
    {
      op: 'wait',
      table: 'Address_Set',
      where: [['name', '==', 'n4']],
      columns: ['name'],
      until: '==',
      rows: [{ name: 'n4' }],
      timeout: 15_000,
    },
    insert('Address_Set', 'behind'),
  ]);
  const controller = new AbortController();
  const forEver = queue.transact(
    [
      {
        op: 'wait',
        table: 'Address_Set',
        where: [],
        columns: ['name'],
        until: '==',
        rows: [{ name: 'never' }],
      },
    ],
    { signal: controller.signal },
  );
  const first = await Promise.all(
    numbered(4).map((name) => queue.transact([insert('Address_Set', name)])),
  );
  expect(kinds(first)).toEqual(['success']);
  expect(queue.pending).toBe(2);
  await queue.transact([insert('Address_Set', 'n4')]);
  expect((await held).kind).toBe('success');
  controller.abort(new Error('enough'));
  await expect(forEver).rejects.toThrow('enough');
});

test('dry runs, durable transactions and locks have requests of their own', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server.remote);
  const lock = client.lock('zone');
  await lock.held(soon());
  const queue = client.queue();
  const build = (name: string): Transaction<Northbound> => {
    const transaction = new Transaction<Northbound>(client.replica);
    transaction.insert('Address_Set', { name });
    return transaction;
  };
  const before = sent(client);
  const outcomes = await Promise.all([
    build('a').commit(queue),
    build('b').dryRun().commit(queue),
    build('c').commit(queue),
    build('d').durable().commit(queue),
    build('e').durable().commit(queue),
    build('f').commit(queue, { lock: 'zone' }),
    build('g').commit(queue, { lock: 'zone' }),
    build('h').commit(queue, { lock: 'other' }),
  ]);
  expect(outcomes.map(({ kind }) => kind)).toEqual([
    'success',
    'aborted',
    'success',
    'success',
    'success',
    'success',
    'success',
    'not-locked',
  ]);
  expect(outcomes.map((outcome) => ('results' in outcome ? outcome.results.length : 0))).toEqual([
    1, 1, 1, 2, 2, 1, 1, 0,
  ]);
  expect(sent(client) - before).toBe(5);
  expect(names(client, 'Address_Set')).toEqual(['a', 'c', 'd', 'e', 'f', 'g']);
  lock.release();
  const late = await Promise.all(
    ['i', 'j', 'k'].map((name) => build(name).commit(queue, { lock: 'zone' })),
  );
  expect(kinds(late)).toEqual(['not-locked']);
});

test('a server that ends while a joint request is under way: nothing is applied twice', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server.remote);
  const queue = client.queue();
  // A name may be that of several switches: whoever writes twice is seen.
  const write = (name: string): Promise<Outcome> =>
    queue.transact([{ op: 'insert', table: 'Logical_Switch', row: { name } }]);
  const before = sent(client);
  const first = write('first');
  const joint = numbered(100).map(write);
  await first;
  // The joint request goes to a server that does not get to it.
  server.suspend('SIGSTOP');
  await until('the joint request to be sent', () => sent(client) === before + 2);
  const waiting = numbered(100, 'w').map(write);
  await server.stop('SIGKILL');
  expect(kinds(await Promise.all(joint))).toEqual(['unknown']);
  expect(kinds(await Promise.all(waiting))).toEqual(['try-again']);
  await server.launch();
  await client.ready(soon());
  expect(names(client, 'Logical_Switch')).toEqual(['first']);
  expect((await write('last')).kind).toBe('success');
});

test('an answer that is lost: all are told so, and what was applied is not sent again', async () => {
  await using server = await OvsdbServer.start();
  await using proxy = await OvsdbProxy.start(server.socket);
  await using client = await connected(proxy.remote);
  await using observer = await connected(server.remote);
  const queue = client.queue();
  const write = (name: string): Promise<Outcome> =>
    queue.transact([{ op: 'insert', table: 'Logical_Switch', row: { name } }]);
  const first = write('first');
  const joint = numbered(100).map(write);
  await first;
  proxy.passing = 'none';
  await until('the server to have it', () => observer.replica.size('Logical_Switch') === 101);
  proxy.heal();
  const outcomes = await Promise.all(joint);
  expect(kinds(outcomes)).toEqual(['unknown']);
  await client.ready(soon());
  expect(names(client, 'Logical_Switch')).toEqual(['first', ...numbered(100)].toSorted());
  expect((await write('last')).kind).toBe('success');
  expect(client.replica.size('Logical_Switch')).toBe(102);
});

test('a client that is closed: what was sent is unknown, what waits was not', async () => {
  await using server = await OvsdbServer.start();
  const client = await connected(server.remote);
  const queue = client.queue({ maxOperations: 1 });
  const asked = numbered(3).map((name) => queue.transact([insert('Address_Set', name)]));
  client.close();
  const [under, ...waiting] = await Promise.all(asked);
  expect(under?.kind).toBe('unknown');
  expect(waiting).toEqual(await Promise.all([client.transact([]), client.transact([])]));
  expect(kinds(waiting)).toEqual(['try-again']);
  expect(await queue.transact([])).toEqual(await client.transact([]));
});
