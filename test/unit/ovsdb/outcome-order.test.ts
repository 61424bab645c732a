import { describe, expect, test } from 'vitest';
import { OvsdbClient, type JsonObject, type JsonValue } from 'ovsdb-client-ts';
import { scriptedTransport } from 'ovsdb-client-ts/testing';

const SCHEMA = {
  name: 'Small',
  version: '1.0.0',
  tables: { T: { columns: { name: { type: 'string' } }, isRoot: true } },
};

const uuidOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

const update = (monitor: number, from: number, count: number): JsonObject => ({
  id: null,
  method: 'update3',
  params: [
    `Small/${monitor}`,
    uuidOf(77),
    {
      T: Object.fromEntries(
        Array.from({ length: count }, (_, n) => [
          uuidOf(from + n),
          { insert: { name: `row ${from + n} ${'x'.repeat(150)}` } },
        ]),
      ),
    },
  ],
});

/** A client of an empty database whose server sends `answer` for a transaction, messages or bytes. */
async function connected(
  answer: (id: JsonValue) => readonly (JsonObject | string)[],
): Promise<OvsdbClient> {
  const replies: { readonly [method: string]: JsonValue } = {
    get_schema: SCHEMA,
    monitor_cond_since: [false, uuidOf(76), {}],
  };
  const client = new OvsdbClient({
    remotes: 'tcp:recorded',
    database: 'Small',
    openSocket: scriptedTransport({
      message({ id, method }, peer) {
        if (typeof method !== 'string' || id === undefined || id === null) return;
        const result = replies[method];
        if (method === 'transact') {
          for (const item of answer(id))
            peer.sendBytes(typeof item === 'string' ? item : JSON.stringify(item));
        } else if (result === undefined) peer.send({ id, result: null, error: 'unknown method' });
        else peer.send({ id, result, error: null });
      },
    }),
  }).start();
  await client.ready();
  return client;
}

const reply = (id: JsonValue): JsonObject => ({ id, result: [{}], error: null });
const transact = (client: OvsdbClient): Promise<{ readonly kind: string }> =>
  client.transact([{ op: 'comment', comment: 'any' }]);

describe('an outcome is reported after the updates that came before it', () => {
  for (const rows of [1, 100, 3000, 20_000]) {
    test(`${rows} rows are in every replica, and were reported to subscribers`, async () => {
      await using client = await connected((id) => [
        update(1, 1, rows),
        update(2, 1, rows),
        reply(id),
      ]);
      using monitor = client.monitor({ T: { columns: ['name'] } });
      await monitor.ready();
      const heard: number[] = [];
      monitor.replica.subscribe(({ tables }) => heard.push(tables.get('T')?.rows.length ?? 0));
      const before = client.traffic?.messagesReceived ?? 0;
      expect((await transact(client)).kind).toBe('success');
      expect(client.traffic?.messagesReceived).toBe(before + 3);
      expect(client.replica.size('T')).toBe(rows);
      expect(monitor.replica.size('T')).toBe(rows);
      expect(heard).toEqual([rows]);
    });
  }

  test('updates behind it are not waited for', async () => {
    await using client = await connected((id) => [
      update(1, 1, 1),
      reply(id),
      // Its end never comes.
      JSON.stringify(update(1, 2, 20_000)).slice(0, -1),
    ]);
    expect((await transact(client)).kind).toBe('success');
    expect(client.replica.size('T')).toBe(1);
  });

  test('looking at the replica or the client reports nothing', async () => {
    await using client = await connected((id) => [update(1, 1, 3000), reply(id)]);
    let isLooking = false;
    const reported: boolean[] = [];
    client.replica.subscribe(() => reported.push(isLooking));
    const outcome = transact(client);
    while (client.replica.size('T') === 0) {
      isLooking = true;
      expect([client.status, client.databaseStatus, client.replica.sequence].length).toBe(3);
      expect(client.replica.find('T', ['name'], ['none'])).toEqual([]);
      isLooking = false;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await outcome;
    expect(reported).toEqual([false]);
  });
});
