import { describe, expect, test } from 'vitest';
import { parseJson, stringify, type JsonValue } from '../../../src/ovsdb/index.ts';
import type { Work } from '../../../src/ovsdb/turn.ts';
import { MessageStream } from '../../../src/ovsdb/wire/message-stream.ts';
import {
  carriedOut,
  connected,
  FIRST,
  inserted,
  MANY,
  reply,
  SCHEMA,
  update,
  uuidOf,
  type Answer,
} from '../../support/overtaken-updates.ts';

/** What a program holds or asks when the outcome of its transaction was told before the update in front of it was read. */

describe('what a program holds of the replica', () => {
  test('a loop over rows goes on with those that there are', async () => {
    const second = uuidOf(1);
    const contents = { [FIRST]: { initial: { name: 'a' } }, [second]: { initial: { name: 'b' } } };
    await using client = await connected(
      (id, peer) => {
        peer.send(update({ ...inserted(MANY, 2), [second]: { delete: null } }), reply(id));
      },
      {},
      { monitor_cond_since: [false, uuidOf(76), { T: contents }] },
    );
    const seen: unknown[] = [];
    for (const row of client.replica.rows('T')) {
      seen.push(row.column('name'));
      if (seen.length === 1) await carriedOut(client);
    }
    expect(seen).toHaveLength(MANY + 1);
    expect(seen).not.toContain('b');
  });

  test('a loop that was not begun, too', async () => {
    await using client = await connected((id, peer) => {
      peer.send(update({ ...inserted(MANY), [FIRST]: { delete: null } }), reply(id));
    });
    const rows = client.replica.rows('T');
    await carriedOut(client);
    expect([...rows].map((row) => row.column('name'))).toHaveLength(MANY);
  });

  test('a row that was not looked at since the schema was another one', async () => {
    const replies: { [method: string]: JsonValue } = {};
    let n = 0;
    await using client = await connected(
      (id, peer) => {
        if (n++ === 0) peer.hangUp();
        else
          peer.send(update({ ...inserted(MANY), [FIRST]: { modify: { name: 'new' } } }), reply(id));
      },
      {},
      replies,
    );
    const row = client.replica.row('T', FIRST);
    replies['get_schema'] = {
      ...SCHEMA,
      tables: { T: { columns: { ...SCHEMA.tables.T.columns, more: { type: 'string' } } } },
    };
    await client.transact([{ op: 'comment', comment: 'the server ends the connection' }]);
    await client.ready();
    expect(client.replica.hasColumn('T', 'more')).toBe(true);
    await carriedOut(client);
    expect(row?.column('name')).toBe('new');
  });
});

/** An update that does not fit the rows: the contents have to be loaded anew. */
const useless: Answer = (id, peer) => {
  peer.send(update({ ...inserted(MANY), [uuidOf(500)]: { delete: null } }), reply(id));
};

describe('what a program asks when the update is of no use', () => {
  test('ready resolves when the contents were loaded anew', async () => {
    const told: string[] = [];
    await using client = await connected(useless, { onEvent: ({ kind }) => told.push(kind) });
    await carriedOut(client);
    await client.ready();
    expect(told.filter((kind) => kind.endsWith('loaded'))).toEqual([
      'loaded',
      'unloaded',
      'loaded',
    ]);
  });

  test('the status is that of a client that loads, and so is that of each monitor', async () => {
    await using client = await connected((id, peer) => {
      peer.send(update({ ...inserted(MANY), [uuidOf(500)]: { delete: null } }, 2), reply(id));
    });
    using monitor = client.monitor({ T: true });
    await monitor.ready();
    await carriedOut(client);
    expect([client.status, monitor.isReady]).toEqual(['ready', false]);
    await using other = await connected(useless);
    await carriedOut(other);
    expect(other.status).toBe('loading');
  });

  test('a condition that there is already is in effect when the contents were loaded anew', async () => {
    const told: string[] = [];
    await using client = await connected(useless, { onEvent: ({ kind }) => told.push(kind) });
    await carriedOut(client);
    await client.setCondition('T', []);
    expect(told.filter((kind) => kind.endsWith('loaded'))).toEqual([
      'loaded',
      'unloaded',
      'loaded',
    ]);
  });

  test('the end of following the contents is told once', async () => {
    const told: string[] = [];
    await using client = await connected(
      (id, peer) => {
        useless(id, peer);
        peer.hangUp();
      },
      { onEvent: ({ kind }) => told.push(kind) },
    );
    await carriedOut(client);
    client.reconnect();
    await client.ready();
    expect(told.filter((kind) => kind === 'unloaded')).toHaveLength(1);
  });
});

test('what the server said of itself in front of the reply is known', async () => {
  const database = uuidOf(900);
  const described = { name: 'Small', model: 'standalone', connected: true, schema: '{}' };
  await using client = await connected(
    (id, peer) => {
      const rows = { Database: { [database]: { modify: { sid: ['uuid', uuidOf(5)] } } } };
      const said = { id: null, method: 'update2', params: ['_Server', rows] };
      peer.send(update(inserted(MANY)), said, reply(id));
    },
    {},
    { monitor_cond: { Database: { [database]: { initial: described } } } },
  );
  await carriedOut(client);
  expect(client.databaseStatus?.server).toBe(uuidOf(5));
});

test('whoever was told that updates are put off is told that they are read, whatever has them read', () => {
  const told: boolean[] = [];
  let mayOvertake = true;
  const stream = new MessageStream({
    sinkForReply: () => undefined,
    sinkForUpdate: () => undefined,
    message() {
      told.push(stream.isBehind);
    },
    mayOvertake: () => mayOvertake,
    behind: (isBehind) => told.push(isBehind),
  });
  const bytes = Buffer.from(stringify(update(inserted(MANY))));
  stream.push(bytes);
  mayOvertake = false;
  stream.push(Buffer.from(stringify(parseJson('{"id":null,"method":"locked","params":["a"]}'))));
  expect(told).toEqual([true, false, false, false]);
  mayOvertake = true;
  stream.push(bytes);
  stream.abandon();
  expect(told.slice(4)).toEqual([true, false]);
});

test('who looks waits for what he sees, not for what is tidied up afterwards', () => {
  const done: string[] = [];
  function* work(what: string): Work {
    yield;
    yield;
    done.push(what);
  }
  let mayOvertake = true;
  const stream = new MessageStream({
    sinkForReply: () => undefined,
    sinkForUpdate: () => undefined,
    message({ method }) {
      done.push(method as string);
      if (method !== 'update3') return;
      stream.hold(work('shown'));
      stream.hold(work('tidy'), true);
    },
    mayOvertake: () => mayOvertake,
  });
  const bytes = Buffer.from(stringify(update(inserted(MANY))));
  stream.push(bytes);
  stream.push(bytes);
  expect(done).toEqual([]);
  stream.catchUp();
  expect(done).toEqual(['update3', 'shown', 'tidy', 'update3', 'shown']);
  mayOvertake = false;
  const later = Buffer.from(stringify({ id: null, method: 'locked', params: ['a'] }));
  stream.push(later);
  expect([stream.isHeld, done.length]).toEqual([true, 5]);
  stream.resume();
  stream.resume();
  expect(done.slice(5)).toEqual(['tidy', 'locked']);
});
