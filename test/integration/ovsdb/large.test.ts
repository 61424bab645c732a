import { describe, expect, test } from 'vitest';
import { OvsdbClient, type ClientOptions, type Operation } from 'ovsdb-client-ts';
import { OvsdbServer } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';

/** Messages so large that timers and other sockets have many turns before they are shown. */

const soon = (): AbortSignal => AbortSignal.timeout(30_000);

const northbound = (server: OvsdbServer, options: Partial<ClientOptions> = {}): OvsdbClient =>
  new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    timing: { minBackoff: 10, maxBackoff: 50 },
    ...options,
  }).start();

const ROWS = 20_000;

const inserts: readonly Operation[] = Array.from({ length: ROWS }, (_, n): Operation => ({
  op: 'insert',
  table: 'Address_Set',
  row: { name: `set-${n}`, addresses: `10.0.${n >> 8}.${n & 255}` },
}));

const update: Operation = {
  op: 'update',
  table: 'Address_Set',
  where: [],
  row: { addresses: '10.9.9.9', external_ids: ['map', [['owner', 'me']]] },
};

/** Looks at each turn of the event loop, until `isEnough`. */
async function watch(look: () => void, isEnough: () => boolean): Promise<void> {
  const limit = soon();
  while (!isEnough()) {
    limit.throwIfAborted();
    look();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a message of very many rows', () => {
  test('is seen whole or not at all, by every way of asking, and told of afterwards', async () => {
    await using server = await OvsdbServer.start();
    await using client = northbound(server);
    await using writer = northbound(server, { tables: {} });
    await Promise.all([client.ready(soon()), writer.ready(soon())]);
    const { replica } = client;
    let told = 0;
    const sizes = new Set<number>();
    const found = new Set<number>();
    replica.subscribe(({ tables }) => {
      told = tables.get('Address_Set')?.rows.length ?? 0;
      expect(replica.find('Address_Set', ['addresses'], [['10.9.9.9']]).length % ROWS).toBe(0);
    });
    const look = (): void => {
      sizes.add(replica.size('Address_Set'));
      found.add(replica.find('Address_Set', ['addresses'], [['10.9.9.9']]).length);
    };
    for (const operations of [
      inserts,
      [update],
      [{ op: 'delete', table: 'Address_Set', where: [] }],
    ]) {
      told = 0;
      const outcome = writer.transact(operations as readonly Operation[]);
      await watch(look, () => told > 0);
      expect(told).toBe(ROWS);
      expect((await outcome).kind).toBe('success');
    }
    expect(sizes).toEqual(new Set([0, ROWS]));
    expect(found).toEqual(new Set([0, ROWS]));
  });

  test('is in the replica before the outcome of the transaction that caused it', async () => {
    await using server = await OvsdbServer.start();
    await using client = northbound(server);
    await client.ready(soon());
    await client.transact(inserts);
    expect(client.replica.size('Address_Set')).toBe(ROWS);
    const outcome = await client.transact([
      update,
      { op: 'select', table: 'Address_Set', where: [] },
    ]);
    expect(outcome).toMatchObject({ kind: 'success', results: [{ count: ROWS }, {}] });
    if (outcome.kind === 'success') expect(outcome.results[1]?.rows).toHaveLength(ROWS);
    expect(client.replica.find('Address_Set', ['addresses'], [['10.9.9.9']])).toHaveLength(ROWS);
  });

  test('that is cut off by the end of the connection leaves the old state, and comes again', async () => {
    await using server = await OvsdbServer.start();
    await using client = northbound(server);
    await using writer = northbound(server, { tables: {} });
    await Promise.all([client.ready(soon()), writer.ready(soon())]);
    await writer.transact(inserts);
    const { replica } = client;
    await until('the rows', () => replica.size('Address_Set') === ROWS);
    const changed = (): number => replica.find('Address_Set', ['addresses'], [['10.9.9.9']]).length;
    let told = 0;
    replica.subscribe(({ tables }) => {
      told += tables.get('Address_Set')?.rows.length ?? 0;
    });
    const before = client.traffic?.bytesReceived ?? 0;
    const outcome = writer.transact([update]);
    await watch(
      () => {},
      () => (client.traffic?.bytesReceived ?? 0) > before + 1_000_000,
    );
    // A quick machine may have all of it in one turn.
    const seen = changed();
    expect([0, ROWS]).toContain(seen);
    client.reconnect();
    expect(changed()).toBe(seen);
    await client.ready(soon());
    expect((await outcome).kind).toBe('success');
    await until('the change', () => changed() === ROWS);
    expect(told).toBe(ROWS);
  });

  test('that is under way when the client is closed is not shown any more', async () => {
    await using server = await OvsdbServer.start();
    await using client = northbound(server);
    await using writer = northbound(server, { tables: {} });
    await Promise.all([client.ready(soon()), writer.ready(soon())]);
    const outcome = writer.transact(inserts);
    await watch(
      () => {},
      () => (client.traffic?.bytesReceived ?? 0) > 1_000_000,
    );
    // A quick machine may have all of it in one turn.
    const seen = client.replica.size('Address_Set');
    expect([0, ROWS]).toContain(seen);
    client.close();
    expect(client.replica.size('Address_Set')).toBe(seen);
    expect((await outcome).kind).toBe('success');
    expect(client.replica.size('Address_Set')).toBe(seen);
  });
});
