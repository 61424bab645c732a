import { expect, test } from 'vitest';
import { OvsdbClient, ZERO_UUID, type JsonValue } from 'ovsdb-client-ts';
import {
  DATABASE_ID,
  ScriptedOvsdbServer,
  smallDatabase,
  type Answer,
} from '../../support/ovsdb/scripted-ovsdb-server.ts';

/**
 * A server may tell of a change before it answers the request to monitor, when it looks at what there is, sends, and hears of
 * changes in different threads: what is told is not in the contents then.
 */

const soon = (): AbortSignal => AbortSignal.timeout(10_000);
const A = '00000000-0000-4000-8000-000000000001';
const B = '00000000-0000-4000-8000-000000000002';
const LATER_ID = '99999999-0000-4000-8000-000000000001';

const UPDATE = {
  monitor_cond_since: 'update3',
  monitor_cond: 'update2',
  monitor: 'update',
} as const;

const CONTENTS = {
  monitor_cond_since: [
    false,
    ZERO_UUID,
    { T: { [A]: { initial: { name: 'a', members: ['set', ['x', 'y']] } } } },
  ],
  monitor_cond: { T: { [A]: { initial: { name: 'a' } } } },
  monitor: { T: { [A]: { new: { name: 'a' } } } },
} as const;

/** `early`: updates in front of each reply to a request to monitor; the last ones are repeated. */
async function play(
  early: readonly (readonly JsonValue[])[],
  method: keyof typeof UPDATE = 'monitor_cond_since',
) {
  const answers = smallDatabase();
  const refuse: Answer = () => ({ refuse: 'unknown method' });
  const asked: (readonly JsonValue[])[] = [];
  const tell: Answer = (message, peer) => {
    const [database, monitor = null] = message.params;
    if (database === '_Server') return answers['monitor_cond']?.(message, peer);
    for (const updates of early[asked.length] ?? early.at(-1) ?? [])
      peer.notify(
        UPDATE[method],
        monitor,
        ...(method === 'monitor_cond_since' ? [LATER_ID] : []),
        updates,
      );
    asked.push(message.params);
    return CONTENTS[method];
  };
  const server = await ScriptedOvsdbServer.start({
    ...answers,
    monitor_cond_since: refuse,
    [method]: tell,
  });
  const told: string[] = [];
  const client = new OvsdbClient({
    remotes: server.remote,
    database: 'Small',
    timing: { minBackoff: 1, maxBackoff: 5 },
    onEvent: (event) => {
      if (event.kind === 'warning' || event.kind === 'loaded') told.push(event.kind);
      if (event.kind === 'disconnected') told.push(event.error.code);
    },
  }).start();
  return { server, client, told, asked };
}

const rows = (client: OvsdbClient): string[] =>
  [...client.replica.rows('T')]
    .map((row) =>
      `${row.column('name') as string} ${(row.column('members') as string[]).join()}`.trim(),
    )
    .toSorted();

test('what was told before the contents is shown behind them, in order', async () => {
  const { server, client, told } = await play([
    [
      {
        T: {
          [A]: { modify: { members: ['set', ['y', 'z']] } },
          [B]: { insert: { name: 'b' } },
        },
      },
      { T: { [B]: { modify: { name: 'c' } } } },
    ],
  ]);
  await using _server = server;
  await using _client = client;
  await client.ready(soon());
  expect(rows(client)).toEqual(['a x,z', 'c']);
  expect(told).toEqual(['loaded']);
});

test.each([
  ['monitor_cond', { [A]: { modify: { name: 'b' } } }, { [B]: { insert: { name: 'c' } } }],
  ['monitor', { [A]: { old: { name: 'a' }, new: { name: 'b' } } }, { [B]: { new: { name: 'c' } } }],
] as const)('the same with %s', async (method, ...updates) => {
  const { server, client, told } = await play([updates.map((T) => ({ T }))], method);
  await using _server = server;
  await using _client = client;
  await client.ready(soon());
  expect([rows(client), told]).toEqual([['b', 'c'], ['loaded']]);
});

const NEW_ROW = { T: { [B]: { insert: { name: 'b' } } } };
const KNOWN_ROW = { T: { [A]: { insert: { name: 'a' } } } };

test('the next connection goes on behind the last of them', async () => {
  const { server, client, asked } = await play([[NEW_ROW], []]);
  await using _server = server;
  await using _client = client;
  await client.ready(soon());
  client.reconnect();
  await client.ready(soon());
  expect(asked.map((params) => params[3])).toEqual([ZERO_UUID, LATER_ID]);
});

test('what the server tells of itself before it describes its databases is heeded, too', async () => {
  const joining = smallDatabase({}, { connected: false });
  await using server = await ScriptedOvsdbServer.start({
    ...joining,
    monitor_cond: (message, peer) => {
      const [, monitor = null] = message.params;
      const joined = { [DATABASE_ID]: { modify: { connected: true } } };
      peer.notify('update2', monitor, { Database: joined });
      return joining['monitor_cond']?.(message, peer);
    },
  });
  await using client = new OvsdbClient({ remotes: server.remote, database: 'Small' }).start();
  await client.ready(soon());
  expect([client.databaseStatus?.connected, server.connections]).toEqual([true, 1]);
});

test('one that does not fit, as the contents have it already, has them loaded anew', async () => {
  const { server, client, told } = await play([[KNOWN_ROW], []]);
  await using _server = server;
  await using _client = client;
  await client.ready(soon());
  expect([rows(client), told]).toEqual([['a x,y'], ['warning', 'loaded']]);
});

test('a server of which none ever fits is left', async () => {
  const { server, client, told } = await play([[KNOWN_ROW]]);
  await using _server = server;
  await using _client = client;
  await expect.poll(() => told.slice(0, 3)).toEqual(['warning', 'warning', 'inconsistent']);
});

test('an update that brings no rows has the contents loaded anew, before them and behind them', async () => {
  const { server, client, told, asked } = await play([['nonsense'], []]);
  await using _server = server;
  await using _client = client;
  await client.ready(soon());
  expect(told).toEqual(['warning', 'loaded']);
  server.peer?.notify('update3', asked.at(-1)?.[1] ?? null, LATER_ID, 'nonsense');
  await expect.poll(() => told).toEqual(['warning', 'loaded', 'warning', 'loaded']);
});
