import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  OvsdbClient,
  parseSchema,
  type ClientEvent,
  type ClientOptions,
  type JsonValue,
  type Operation,
  type ReplicaChanges,
} from 'ovsdb-client-ts';
import { Transaction } from 'ovsdb-client-ts/extras';
import {
  NORTHBOUND_SCHEMA,
  OvsdbServer,
  runOvs,
  temporaryFolder,
} from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';
import { OvsdbProxy } from '../../support/ovsdb/ovsdb-proxy.ts';
import { networkOperations } from '../../support/ovsdb/ovsdb-workload.ts';

const soon = (): AbortSignal => AbortSignal.timeout(20_000);

const northbound = (server: OvsdbServer, options: Partial<ClientOptions> = {}): OvsdbClient =>
  new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    timing: { minBackoff: 10, maxBackoff: 100 },
    ...options,
  }).start();

const insert = (name: string): Operation => ({
  op: 'insert',
  table: 'Logical_Switch',
  row: { name },
});

/** `name` is inserted unless there is one. */
const insertOnce = (name: string): Operation[] => [
  {
    op: 'wait',
    table: 'Logical_Switch',
    timeout: 0,
    where: [['name', '==', name]],
    columns: ['name'],
    until: '!=',
    rows: [{ name }],
  },
  insert(name),
];

interface SchemaFile {
  name: string;
  version: string;
  cksum?: string;
  tables: {
    [table: string]: {
      columns: { [column: string]: JsonValue };
      [member: string]: JsonValue | object;
    };
  };
}

/** The Northbound schema, changed. */
function changedSchema(change: (schema: SchemaFile) => void): SchemaFile {
  const schema = JSON.parse(readFileSync(NORTHBOUND_SCHEMA, 'utf8')) as SchemaFile;
  delete schema.cksum;
  change(schema);
  return schema;
}

test('a server killed in the middle of transactions: outcomes are unknown, nothing is applied twice', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server);
  await client.ready(soon());
  for (let round = 0; round < 5; round++) {
    const sent = Array.from({ length: 40 }, (_, n) => client.transact(insertOnce(`${round}-${n}`)));
    if (round % 2 === 0) server.suspend('SIGSTOP');
    await server.stop('SIGKILL');
    const outcomes = await Promise.all(sent);
    expect(
      new Set(outcomes.map((outcome) => outcome.kind)).isSubsetOf(
        new Set(['success', 'unknown', 'try-again']),
      ),
    ).toBe(true);
    await server.launch();
    await client.ready(soon());
    outcomes.forEach((outcome, n) => {
      const found = client.replica.find('Logical_Switch', ['name'], [`${round}-${n}`]).length;
      if (outcome.kind === 'success') expect(found).toBe(1);
      if (outcome.kind === 'try-again') expect(found).toBe(0);
      expect(found).toBeLessThanOrEqual(1);
    });
  }
});

test('writing goes on through a loop of disconnections, each row once', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server);
  let inserted = 0;
  await client.ready(soon());
  client.replica.subscribe((changes) => {
    inserted += changes.tables.get('Logical_Switch')?.rows.length ?? 0;
  });
  const stop = new AbortController();
  const disturb = (async () => {
    while (!stop.signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 7));
      client.reconnect();
      await client.ready(soon());
    }
  })();
  for (let n = 0; n < 60; n++) {
    for (;;) {
      await client.ready(soon());
      if (client.replica.find('Logical_Switch', ['name'], [`s${n}`]).length === 1) break;
      await client.transact(insertOnce(`s${n}`));
    }
  }
  stop.abort();
  await disturb;
  expect(client.replica.size('Logical_Switch')).toBe(60);
  expect(inserted).toBe(60);
});

test('a database converted while it is used: the new column is there, unchanged rows cause no event', async () => {
  await using server = await OvsdbServer.start();
  const events: ClientEvent[] = [];
  await using client = northbound(server, { onEvent: (event) => events.push(event) });
  await client.ready(soon());
  await client.transact([insert('kept')]);
  const [row] = client.replica.find('Logical_Switch', ['name'], ['kept']);
  const seen: ReplicaChanges[] = [];
  client.replica.subscribe((changes) => {
    seen.push(changes);
  });
  const schema = changedSchema((next) => {
    next.version = '99.0.0';
    (next.tables['Logical_Switch'] as { columns: { [column: string]: JsonValue } }).columns[
      'colour'
    ] = { type: 'string' };
  });
  const file = join(server.folder, 'new.ovsschema');
  writeFileSync(file, JSON.stringify(schema));
  await runOvs('ovsdb-client', ['convert', server.remote, file]);
  await until(
    'the new schema',
    () => client.status === 'ready' && client.replica.schema.version === '99.0.0',
  );
  expect(seen.flatMap((changes) => [...changes.tables.keys()])).toEqual([]);
  expect(client.replica.find('Logical_Switch', ['name'], ['kept'])).toHaveLength(1);
  // The row that was found before has the new column, too.
  expect(row?.column('colour')).toBe('');
  await new Transaction(client.replica)
    .update('Logical_Switch', row?.uuid ?? '', { colour: 'blue' })
    .commit(client);
  expect(row?.column('colour')).toBe('blue');
  expect(events.filter((event) => event.kind === 'disconnected')).toEqual([]);
});

test('a database that is removed and added again is found again', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server);
  await client.ready(soon());
  await client.transact([insert('gone')]);
  await server.control('ovsdb-server/remove-db', 'OVN_Northbound');
  await until('the client to notice', () => client.status !== 'ready');
  expect(await client.transact([insert('x')])).toMatchObject({ kind: 'try-again' });
  expect(client.replica.size('Logical_Switch')).toBe(1);
  await server.control('ovsdb-server/add-db', join(server.folder, 'server.db'));
  await client.ready(soon());
  expect(client.replica.size('Logical_Switch')).toBe(1);
});

test('an emptied database is reported row by row', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server);
  await client.ready(soon());
  await client.transact([insert('a'), insert('b')]);
  const kinds: string[] = [];
  client.replica.subscribe((changes) => {
    for (const change of changes.tables.get('Logical_Switch')?.rows ?? [])
      kinds.push(`${change.kind} ${JSON.stringify(change.old.get('name'))}`);
  });
  await server.stop();
  await until('the client to notice', () => client.status !== 'ready');
  const file = join(server.folder, 'server.db');
  rmSync(file);
  await runOvs('ovsdb-tool', ['create', file, NORTHBOUND_SCHEMA]);
  await server.launch();
  await client.ready(soon());
  expect(kinds.toSorted()).toEqual(['deleted "a"', 'deleted "b"']);
});

test('a server older or newer than the program: what it lacks reads as default and can not be written', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'old.ovsschema');
  const old = changedSchema((schema) => {
    delete schema.tables['Network_Function'];
    delete schema.tables['Sampling_App'];
    const columns = (
      schema.tables['Logical_Switch_Port'] as { columns: { [column: string]: JsonValue } }
    ).columns;
    delete columns['enabled'];
    columns['future'] = { type: 'integer' };
    schema.tables['Future'] = { columns: { x: { type: 'string' } }, isRoot: true };
  });
  writeFileSync(file, JSON.stringify(old));
  await using server = await OvsdbServer.start({ schema: file });
  const warnings: string[] = [];
  const known = parseSchema(JSON.parse(readFileSync(NORTHBOUND_SCHEMA, 'utf8')) as JsonValue);
  await using client = northbound(server, {
    schema: known,
    onEvent: (event) => {
      if (event.kind === 'warning') warnings.push(event.text);
    },
  });
  await client.ready(soon());
  expect(warnings.join('\n')).toContain('no table Sampling_App');
  expect(warnings.join('\n')).toContain('no column enabled in table Logical_Switch_Port');
  expect(client.replica.hasColumn('Logical_Switch_Port', 'enabled')).toBe(false);
  const transaction = new Transaction(client.replica);
  const port = transaction.insert('Logical_Switch_Port', { name: 'p' });
  transaction.insert('Logical_Switch', { name: 's', ports: [port] });
  expect((await transaction.commit(client)).kind).toBe('success');
  expect(client.replica.row('Logical_Switch_Port', port.uuid)?.column('enabled')).toBeUndefined();
  expect([...client.replica.rows('Sampling_App')]).toEqual([]);
  expect(() =>
    new Transaction(client.replica).insert('Logical_Switch_Port', { enabled: true }),
  ).toThrow('the server has no column enabled');
});

test('only the rows that are wanted are followed, and that can change', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server, {
    tables: { Logical_Switch: { columns: ['name'], where: [['name', '==', 'blue']] } },
  });
  await client.ready(soon());
  await client.transact([insert('blue'), insert('red'), insert('green')]);
  const names = (): string[] =>
    [...client.replica.rows('Logical_Switch')]
      .map((row) => row.column('name') as string)
      .toSorted();
  expect(names()).toEqual(['blue']);
  await client.setCondition(
    'Logical_Switch',
    [
      ['name', '==', 'red'],
      ['name', '==', 'green'],
    ],
    soon(),
  );
  expect(names()).toEqual(['green', 'red']);
  client.reconnect();
  await client.ready(soon());
  expect(names()).toEqual(['green', 'red']);
  const changing = [
    client.setCondition('Logical_Switch', [false], soon()),
    client.setCondition('Logical_Switch', [], soon()),
  ];
  client.reconnect();
  const [replaced, last] = await Promise.allSettled(changing);
  // The server never had the first.
  expect(replaced).toMatchObject({ status: 'rejected', reason: { code: 'aborted' } });
  expect(last).toMatchObject({ status: 'fulfilled' });
  expect(names()).toEqual(['blue', 'green', 'red']);
  await expect(client.setCondition('ACL', [], soon())).rejects.toThrow(
    'not among those that this client monitors',
  );
  await expect(
    client.setCondition('Logical_Switch', [['nonsense', '==', 1]], soon()),
  ).rejects.toThrow('condition of table Logical_Switch, column nonsense');
});

test('a lock is stolen, and comes back when the thief gives it up', async () => {
  await using server = await OvsdbServer.start();
  await using owner = northbound(server);
  await using thief = northbound(server);
  await Promise.all([owner.ready(soon()), thief.ready(soon())]);
  const mine = owner.lock('zone');
  await mine.held(soon());
  const theirs = thief.lock('zone', { steal: true });
  await theirs.held(soon());
  await until('the loss', () => !mine.isHeld);
  expect(await owner.transact([insert('x')], { lock: 'zone' })).toEqual({
    kind: 'not-locked',
    lock: 'zone',
  });
  // The server refuses, too, should the loss not have been heard yet.
  expect(await owner.transact([{ op: 'assert', lock: 'zone' }, insert('x')])).toEqual({
    kind: 'not-locked',
    lock: 'zone',
  });
  theirs.release();
  await mine.held(soon());
  expect(await owner.transact([insert('x')], { lock: 'zone' })).toMatchObject({ kind: 'success' });
});

test('every wait ends with its signal or with the client', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server);
  await client.ready(soon());
  const blocked: Operation[] = [
    { op: 'wait', table: 'Logical_Switch', where: [], columns: [], until: '!=', rows: [] },
    {
      op: 'wait',
      table: 'NB_Global',
      where: [['name', '==', 'never']],
      columns: ['name'],
      until: '==',
      rows: [{ name: 'never' }],
    },
  ];
  await expect(client.transact(blocked, { signal: AbortSignal.timeout(50) })).rejects.toThrow(
    'timeout',
  );
  expect(await client.transact([insert('goes on')])).toMatchObject({ kind: 'success' });
  await expect(
    client.call('get_schema', ['X'], AbortSignal.abort(new Error('no'))),
  ).rejects.toThrow('no');
  const controller = new AbortController();
  const call = client.call(
    'transact',
    ['OVN_Northbound', ...blocked] as JsonValue[],
    controller.signal,
  );
  controller.abort(new Error('enough'));
  await expect(call).rejects.toThrow('enough');
  expect(await client.call('list_dbs', [], soon())).toContain('OVN_Northbound');
  const pending = client.transact(blocked);
  await using other = new OvsdbClient({ remotes: 'unix:/does/not/exist', database: 'X' }).start();
  await expect(other.ready(AbortSignal.timeout(50))).rejects.toThrow(
    /waiting for the database to be loaded.*ENOENT/,
  );
  const forever = [other.ready(), other.lock('zone').held()];
  other.close();
  for (const wait of forever) await expect(wait).rejects.toThrow(/was closed|was given up/);
  client.close();
  expect(await pending).toMatchObject({ kind: 'unknown' });
  expect(client.status).toBe('closed');
});

test('a peer that talks nonsense is left, and tried again', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'nonsense.sock');
  const answers = [
    'HTTP/1.1 400 Bad Request',
    '{"id":77,"result":[],"error":null}',
    `{"x":${'['.repeat(2000)}`,
    '{"method":5,"params":[],"id":null}',
  ];
  let connections = 0;
  const server = createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    socket.write(answers[connections++ % answers.length] ?? '');
  }).listen(path);
  await once(server, 'listening');
  const errors: string[] = [];
  await using client = new OvsdbClient({
    remotes: `unix:${path}`,
    database: 'X',
    timing: { minBackoff: 5, maxBackoff: 10 },
    onEvent: (event) => {
      if (event.kind === 'disconnected') errors.push(event.error.code);
    },
  }).start();
  await until('all answers', () => errors.length >= 4);
  expect(errors.slice(0, 4)).toEqual(['protocol', 'protocol', 'protocol', 'protocol']);
  client.close();
  server.close();
});

test('a silent server is probed and left; an answering one is kept', async () => {
  await using server = await OvsdbServer.start();
  const errors: string[] = [];
  await using client = northbound(server, {
    timing: { minBackoff: 10, maxBackoff: 20, probeInterval: 100 },
    onEvent: (event) => {
      if (event.kind === 'disconnected') errors.push(event.error.message);
    },
  });
  await client.ready(soon());
  const before = client.traffic?.messagesSent ?? 0;
  await until('some probes', () => (client.traffic?.messagesSent ?? 0) > before + 3);
  expect(errors).toEqual([]);
  server.suspend('SIGSTOP');
  await until('the client to give up', () => client.status !== 'ready');
  expect(errors[0]).toContain('no answer in time');
  server.suspend('SIGCONT');
  await client.ready(soon());
});

test('a peer that never says a word is left after two probe intervals, for the next remote', async () => {
  await using server = await OvsdbServer.start();
  await using proxy = await OvsdbProxy.start(server.socket);
  proxy.passing = 'none';
  const errors: string[] = [];
  await using client = new OvsdbClient({
    remotes: `${proxy.remote},${server.remote}`,
    database: 'OVN_Northbound',
    timing: { minBackoff: 10, maxBackoff: 20, probeInterval: 100 },
    // Keeps the order of the remotes.
    random: () => 0.99,
    onEvent: (event) => {
      if (event.kind === 'disconnected') errors.push(event.error.message);
    },
  }).start();
  await client.ready(AbortSignal.timeout(5000));
  expect(errors).toEqual([expect.stringContaining('no answer in time')]);
});

test('a client that was busy takes its own silence for nobody else’s', async () => {
  await using server = await OvsdbServer.start();
  const errors: string[] = [];
  await using client = northbound(server, {
    timing: { minBackoff: 10, maxBackoff: 20, probeInterval: 20 },
    onEvent: (event) => {
      if (event.kind === 'disconnected') errors.push(event.error.message);
    },
  });
  await client.ready(soon());
  for (let n = 0; n < 20; n++) {
    const end = performance.now() + 50;
    while (performance.now() < end);
    // Timers have their turn, and then the socket.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  expect(errors).toEqual([]);
});

test('a slow consumer sees merged, complete states', async () => {
  await using server = await OvsdbServer.start();
  await using writer = northbound(server);
  await using slow = northbound(server);
  await Promise.all([writer.ready(soon()), slow.ready(soon())]);
  let broken = 0;
  slow.replica.subscribe((changes) => {
    const until_ = performance.now() + 5;
    while (performance.now() < until_);
    for (const change of changes.tables.get('Logical_Switch')?.rows ?? []) {
      const row = slow.replica.row('Logical_Switch', change.uuid);
      for (const port of (row?.column('ports') ?? []) as readonly string[]) {
        if (slow.replica.row('Logical_Switch_Port', port) === undefined) broken++;
      }
    }
  });
  for (let n = 0; n < 50; n++)
    expect((await writer.transact(networkOperations(n, 5))).kind).toBe('success');
  await until(
    'everything to arrive',
    () => slow.replica.statistics.rows === writer.replica.statistics.rows,
  );
  expect(broken).toBe(0);
});
