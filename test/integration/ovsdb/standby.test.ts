import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OvsdbClient, type ClientEvent, type Operation } from 'ovsdb-client-ts';
import { OvsdbServer, temporaryFolder } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';

const soon = (): AbortSignal => AbortSignal.timeout(20_000);
const timing = { minBackoff: 10, maxBackoff: 100 };
const insert = (name: string): Operation => ({
  op: 'insert',
  table: 'Logical_Switch',
  row: { name },
});

/** An active server and one that copies it and refuses to write. */
async function pair(): Promise<{ active: OvsdbServer; standby: OvsdbServer }> {
  const active = await OvsdbServer.start();
  const standby = await OvsdbServer.start({
    args: [`--sync-from=unix:${active.socket}`],
  });
  return { active, standby };
}

test('a standby refuses to write: the outcome says so, and the client writes through the active server', async () => {
  const { active, standby } = await pair();
  await using _active = active;
  await using _standby = standby;
  await using client = new OvsdbClient({
    remotes: `${standby.remote},${active.remote}`,
    database: 'OVN_Northbound',
    timing,
    // Leaves the remotes in their order.
    random: () => 0.999,
  }).start();
  await client.ready(soon());
  expect(client.remote).toBe(standby.remote);
  expect(await client.transact([insert('a')])).toMatchObject({
    kind: 'error',
    error: 'not allowed',
  });
  await until('the active server', () => client.remote === active.remote);
  await client.ready(soon());
  expect(await client.transact([insert('a')])).toMatchObject({ kind: 'success' });
});

test('each of many transactions that a standby gets at once is refused, none is unknown', async () => {
  const { active, standby } = await pair();
  await using _active = active;
  await using _standby = standby;
  await using client = new OvsdbClient({
    remotes: `${standby.remote},${active.remote}`,
    database: 'OVN_Northbound',
    timing,
    random: () => 0.999,
  }).start();
  await client.ready(soon());
  const names = Array.from({ length: 200 }, (_, n) => `s${n}`);
  const outcomes = await Promise.all(names.map((name) => client.transact([insert(name)])));
  expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['error']));
  await client.ready(soon());
  expect(client.remote).toBe(active.remote);
  expect(client.replica.size('Logical_Switch')).toBe(0);
});

test('a standby that is all there is stays connected for reading', async () => {
  const { active, standby } = await pair();
  await using _active = active;
  await using _standby = standby;
  const events: ClientEvent['kind'][] = [];
  await using client = new OvsdbClient({
    remotes: standby.remote,
    database: 'OVN_Northbound',
    timing,
    onEvent: ({ kind }) => events.push(kind),
  }).start();
  await client.ready(soon());
  expect(await client.transact([insert('a')])).toMatchObject({ error: 'not allowed' });
  await standby.control('ovsdb-server/disconnect-active-ovsdb-server');
  await until('it to become active', async () => {
    await client.ready(soon());
    return (await client.transact([insert('a')])).kind === 'success';
  });
  expect(events.filter((kind) => kind === 'disconnected')).toEqual([]);
});

test('the server may connect to a client that listens on a unix socket, again after an end', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'client.sock');
  await using client = new OvsdbClient({
    remotes: `punix:${path}`,
    database: 'OVN_Northbound',
    timing,
  }).start();
  await using _server = await OvsdbServer.start({ remotes: [`unix:${path}`] });
  await client.ready(soon());
  expect(await client.transact([insert('a')])).toMatchObject({ kind: 'success' });
  client.reconnect();
  expect(client.status).not.toBe('ready');
  await client.ready(soon());
  expect(client.replica.size('Logical_Switch')).toBe(1);
});

test('an exception of a listener is told, and stops nothing', async () => {
  await using server = await OvsdbServer.start();
  const thrown: unknown[] = [];
  const fail = (what: string) => (): never => {
    throw new Error(what);
  };
  await using client = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    timing,
    onEvent: fail('event'),
    onListenerError: (error) => thrown.push((error as Error).message),
  }).start();
  await client.ready(soon());
  expect(new Set(thrown)).toEqual(new Set(['event']));
  const lock = client.lock('zone');
  const heard: boolean[] = [];
  lock.onChange(fail('lock'));
  lock.onChange((isHeld) => heard.push(isHeld));
  await lock.held(soon());
  expect(thrown).toContain('lock');
  expect(heard).toEqual([true]);
  expect(await client.transact([insert('a')], { lock: 'zone' })).toMatchObject({ kind: 'success' });
});
