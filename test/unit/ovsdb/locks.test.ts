import { expect, test } from 'vitest';
import { OvsdbClient } from 'ovsdb-client-ts';
import { ScriptedOvsdbServer, smallDatabase } from '../../support/ovsdb/scripted-ovsdb-server.ts';

/** What a server says of a lock while the client gives it up and asks anew. Answers to `lock` are given by hand. */

const soon = (): AbortSignal => AbortSignal.timeout(15_000);

async function queued(): Promise<{
  readonly server: ScriptedOvsdbServer;
  readonly client: OvsdbClient;
}> {
  const server = await ScriptedOvsdbServer.start({
    ...smallDatabase(),
    lock: () => undefined,
    steal: () => undefined,
    unlock: () => ({}),
  });
  const client = new OvsdbClient({ remotes: server.remote, database: 'Small' }).start();
  await client.ready(soon());
  return { server, client };
}

/** The id of the n-th request for the lock, once it was heard. */
async function heard(server: ScriptedOvsdbServer, method: string, n: number): Promise<number> {
  const requests = (): readonly unknown[] =>
    server.heard.filter((message) => message.method === method).map(({ id }) => id);
  await expect.poll(() => requests().length).toBe(n);
  return requests().at(-1) as number;
}

test('a lock that is won while it is given up is not the one that is asked for next', async () => {
  const { server, client } = await queued();
  await using _server = server;
  await using _client = client;
  const first = client.lock('zone');
  server.peer?.reply(await heard(server, 'lock', 1), { locked: false });
  first.release();
  const second = client.lock('zone');
  const told: boolean[] = [];
  second.onChange((isHeld) => {
    told.push(isHeld);
  });
  const id = await heard(server, 'lock', 2);
  // The server said so before it heard that the first was given up; then others had it.
  server.peer?.notify('locked', 'zone');
  server.peer?.reply(id, { locked: false });
  await client.call('get_schema', ['Small'], soon());
  expect([second.isHeld, told]).toEqual([false, []]);
  server.peer?.notify('locked', 'zone');
  await second.held(soon());
  server.peer?.notify('stolen', 'zone');
  await expect.poll(() => told).toEqual([true, false]);
});

test('what was asked before a lock is stolen does not tell who has it', async () => {
  const { server, client } = await queued();
  await using _server = server;
  await using _client = client;
  const lock = client.lock('zone');
  const told: boolean[] = [];
  lock.onChange((isHeld) => {
    told.push(isHeld);
  });
  const asked = await heard(server, 'lock', 1);
  client.lock('zone', { steal: true });
  const stealing = await heard(server, 'steal', 1);
  // It is ours for a moment, until the server reads that it is given up.
  server.peer?.reply(asked, { locked: true });
  server.peer?.notify('stolen', 'zone');
  await client.call('get_schema', ['Small'], soon());
  expect(told).toEqual([]);
  server.peer?.reply(stealing, { locked: true });
  await lock.held(soon());
  expect(told).toEqual([true]);
});

test('a lock that is lost with the connection is asked for anew, whatever had no answer', async () => {
  const { server, client } = await queued();
  await using _server = server;
  await using _client = client;
  const lock = client.lock('zone');
  await heard(server, 'lock', 1);
  server.peer?.hangUp();
  await expect.poll(() => client.status).not.toBe('ready');
  await client.ready(soon());
  server.peer?.reply(await heard(server, 'lock', 2), { locked: false });
  server.peer?.notify('locked', 'zone');
  await lock.held(soon());
  expect(lock.isHeld).toBe(true);
});

test('a lock that was had by stealing, and is stolen, is asked for again: the server does not queue us for it', async () => {
  const { server, client } = await queued();
  await using _server = server;
  await using _client = client;
  const lock = client.lock('zone', { steal: true });
  server.peer?.reply(await heard(server, 'steal', 1), { locked: true });
  await lock.held(soon());
  server.peer?.notify('stolen', 'zone');
  const id = await heard(server, 'lock', 1);
  expect([lock.isHeld, server.asked('unlock')]).toEqual([false, [['zone']]]);
  server.peer?.reply(id, { locked: false });
  server.peer?.notify('locked', 'zone');
  await lock.held(soon());
  // Now it was not by stealing: the server goes on to queue us.
  server.peer?.notify('stolen', 'zone');
  await expect.poll(() => lock.isHeld).toBe(false);
  await client.call('get_schema', ['Small'], soon());
  expect(server.asked('lock')).toHaveLength(1);
});

test('a theft that the server may have heard of is not repeated', async () => {
  const { server, client } = await queued();
  await using _server = server;
  await using _client = client;
  client.lock('zone', { steal: true });
  await heard(server, 'steal', 1);
  client.reconnect();
  await heard(server, 'lock', 1);
  expect(server.asked('steal')).toHaveLength(1);
});
