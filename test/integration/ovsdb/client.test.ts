import { expect, test } from 'vitest';
import { OvsdbClient, type ReplicaChanges } from '../../../src/ovsdb/index.ts';
import { OvsdbServer, until } from '../../support/ovsdb-server.ts';

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
