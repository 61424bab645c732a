import { expect, test } from 'vitest';
import { OvsdbClient, type ReplicaChanges } from 'ovsdb-client-ts';
import { OvsdbServer } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';

const soon = (): AbortSignal => AbortSignal.timeout(15_000);

const northbound = (server: OvsdbServer): OvsdbClient =>
  new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    timing: { minBackoff: 10, maxBackoff: 50 },
  }).start();

test('what a transaction wrote is in the replica when its outcome is known', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server);
  await client.ready(soon());
  const outcome = await client.transact([
    { op: 'insert', table: 'Logical_Switch', row: { name: 'blue', ports: ['named-uuid', 'port'] } },
    { op: 'insert', table: 'Logical_Switch_Port', 'uuid-name': 'port', row: { name: 'pod' } },
  ]);
  expect(outcome.kind).toBe('success');
  const [blue] = client.replica.find('Logical_Switch', ['name'], ['blue']);
  const [pod] = client.replica.find('Logical_Switch_Port', ['name'], ['pod']);
  expect(blue?.column('ports')).toEqual([pod?.uuid]);
  expect(client.replica.referrers('Logical_Switch_Port', pod?.uuid ?? '')).toEqual([
    { table: 'Logical_Switch', column: 'ports', uuid: blue?.uuid },
  ]);
});

test('a server that restarts with unchanged data causes no event', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server);
  await client.ready(soon());
  await client.transact([{ op: 'insert', table: 'Logical_Switch', row: { name: 'blue' } }]);
  const seen: ReplicaChanges[] = [];
  client.replica.subscribe((changes) => {
    seen.push(changes);
  });
  await server.stop('SIGKILL');
  await until('the client to notice', () => client.status !== 'ready');
  await server.launch();
  await client.ready(soon());
  expect(seen).toEqual([]);
  expect(client.replica.size('Logical_Switch')).toBe(1);
});

test('a lock is lost with the connection and comes back with the next', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server);
  await client.ready(soon());
  const lock = client.lock('zone');
  await lock.held(soon());
  const history: boolean[] = [];
  lock.onChange((isHeld) => {
    history.push(isHeld);
  });
  client.reconnect();
  expect(await client.transact([], { lock: 'zone' })).toMatchObject({ kind: 'try-again' });
  await client.ready(soon());
  await lock.held(soon());
  expect(history).toEqual([false, true]);
});

test('remotes are replaced at run time: kept if it is the same server, otherwise tried at once', async () => {
  await using server = await OvsdbServer.start();
  const connections: string[] = [];
  await using client = new OvsdbClient({
    remotes: 'unix:/nowhere.sock',
    database: 'OVN_Northbound',
    timing: { minBackoff: 600_000, maxBackoff: 600_000 },
    onEvent: (event) => {
      if (event.kind === 'connected') connections.push(event.remote);
    },
  }).start();
  await until('the pause after the first failure', () => client.status === 'disconnected');
  client.setRemotes(server.remote);
  await client.ready(soon());
  client.setRemotes(`unix:/nowhere.sock,${server.remote}`);
  expect(client.status).toBe('ready');
  client.setRemotes('unix:/nowhere.sock');
  expect(client.status).not.toBe('ready');
  await until('the pause after the second failure', () => client.status === 'disconnected');
  client.setRemotes(server.remote);
  client.reconnect();
  await client.ready(soon());
  expect(new Set(connections)).toEqual(new Set([server.remote]));
});

test('contents read anew on request are compared: what is right causes no event', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server);
  await client.ready(soon());
  await client.transact([{ op: 'insert', table: 'Logical_Switch', row: { name: 'blue' } }]);
  const seen: ReplicaChanges[] = [];
  client.replica.subscribe((changes) => {
    seen.push(changes);
  });
  await client.reload(soon());
  await client.reload(soon());
  await client.reload(soon());
  expect(seen).toEqual([]);
  expect(client.replica.size('Logical_Switch')).toBe(1);
});

test('a monitor that the server has lost is noticed and made anew', async () => {
  await using server = await OvsdbServer.start();
  await using writer = northbound(server);
  const warnings: string[] = [];
  await using client = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    timing: { checkInterval: 20 },
    onEvent: (event) => {
      if (event.kind === 'warning') warnings.push(event.text);
    },
  }).start();
  await Promise.all([client.ready(soon()), writer.ready(soon())]);
  await client.call('monitor_cancel', ['OVN_Northbound/1']);
  await writer.transact([{ op: 'insert', table: 'Logical_Switch', row: { name: 'blue' } }]);
  await until('the row', () => client.replica.size('Logical_Switch') === 1);
  expect(warnings).toEqual([expect.stringContaining('the server has lost a monitor')]);
  // From now on it is known.
  await writer.transact([{ op: 'insert', table: 'Logical_Switch', row: { name: 'red' } }]);
  await until('the other row', () => client.replica.size('Logical_Switch') === 2);
  expect(warnings).toHaveLength(1);
});

test('a lock can be stolen before there is a connection; names that no server takes are refused', async () => {
  await using server = await OvsdbServer.start();
  await using owner = northbound(server);
  const owned = owner.lock('zone_1');
  await owned.held(soon());
  await using thief = new OvsdbClient({ remotes: server.remote, database: 'OVN_Northbound' });
  const stolen = thief.lock('zone_1', { steal: true });
  thief.start();
  await stolen.held(soon());
  await until('the owner to hear of it', () => !owned.isHeld);
  for (const name of ['my-lock', '', '1st', 'a b'])
    expect(() => thief.lock(name)).toThrow("can't name a lock");
});
