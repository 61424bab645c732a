import { describe, expect, test } from 'vitest';
import { OvsdbClient, type MonitorSelect, type OpenSocket } from '../../../src/ovsdb/index.ts';
import { MONITOR_METHODS, olderServer } from '../../support/older-server.ts';
import { OvsdbCluster } from '../../support/ovsdb-cluster.ts';
import { OvsdbServer } from '../../support/ovsdb-server.ts';

/** Tables of which a real server is asked not to tell everything. */

const soon = (): AbortSignal => AbortSignal.timeout(30_000);

/** A client of address sets, and what its subscriber was told. */
function follow(remotes: string, select: MonitorSelect, openSocket: OpenSocket) {
  const told: string[] = [];
  const loads: string[] = [];
  const client = new OvsdbClient({
    remotes,
    database: 'OVN_Northbound',
    timing: { minBackoff: 10, maxBackoff: 100 },
    tables: { Address_Set: { columns: ['name', 'addresses'], select } },
    openSocket,
    onEvent: (event) => {
      if (event.kind === 'warning') told.push(event.text);
      if (event.kind === 'loaded') loads.push(`${event.method} ${event.found}`);
    },
  }).start();
  const subscribe = (): void => {
    client.replica.subscribe(({ tables }) => {
      for (const { kind, uuid, old } of tables.get('Address_Set')?.rows ?? []) {
        const name = client.replica.row('Address_Set', uuid)?.column('name') ?? old?.get('name');
        told.push(`${kind} ${name as string}`);
      }
    });
  };
  const sets = (): string[] =>
    [...client.replica.rows('Address_Set')]
      .map(
        (row) => `${row.column('name') as string} ${(row.column('addresses') as string[]).join()}`,
      )
      .toSorted();
  return { client, told, loads, subscribe, sets };
}

async function writerTo(server: OvsdbServer): Promise<OvsdbClient> {
  const client = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    tables: {},
  }).start();
  await client.ready(soon());
  return client;
}

const where = (name: string) => [['name', '==', name] as const];
const insert = (name: string) =>
  ({ op: 'insert', table: 'Address_Set', row: { name, addresses: '1' } }) as const;
const extend = (name: string) =>
  ({
    op: 'mutate',
    table: 'Address_Set',
    where: where(name),
    mutations: [['addresses', 'insert', '2']],
  }) as const;
const remove = (name: string) =>
  ({ op: 'delete', table: 'Address_Set', where: where(name) }) as const;

interface Case {
  readonly select: MonitorSelect;
  readonly told: readonly string[];
  readonly left: readonly string[];
  /** After everything was loaded anew. */
  readonly toldThen: readonly string[];
  readonly leftThen: readonly string[];
}

const CASES: readonly Case[] = [
  {
    select: { initial: false },
    told: ['inserted young', 'modified young', 'inserted brief', 'deleted brief'],
    left: ['young 1,2'],
    toldThen: ['deleted young'],
    leftThen: [],
  },
  {
    select: { insert: false },
    told: ['modified old', 'deleted gone'],
    left: ['old 1,2'],
    toldThen: ['inserted young'],
    leftThen: ['old 1,2', 'young 1,2'],
  },
  {
    select: { modify: false },
    told: ['inserted young', 'inserted brief', 'deleted brief', 'deleted gone'],
    left: ['old 1', 'young 1'],
    toldThen: ['modified old', 'modified young'],
    leftThen: ['old 1,2', 'young 1,2'],
  },
];

describe.each(MONITOR_METHODS)('%s (the server does not know %j)', (method, unknown) => {
  test.each(CASES)('$select', async ({ select, told, left, toldThen, leftThen }) => {
    await using server = await OvsdbServer.start();
    await using writer = await writerTo(server);
    await writer.transact([insert('old'), insert('gone')]);
    const it = follow(server.remote, select, olderServer(server, unknown));
    await using _ = it.client;
    await it.client.ready(soon());
    it.subscribe();
    for (const operation of [
      insert('young'),
      extend('old'),
      extend('young'),
      insert('brief'),
      remove('brief'),
      remove('gone'),
    ]) {
      await writer.transact([operation]);
      await it.client.call('echo', [], soon());
    }
    expect([it.sets(), it.told]).toEqual([left, told]);
    it.client.reconnect();
    await it.client.ready(soon());
    expect([it.sets(), it.told.slice(told.length).toSorted()]).toEqual([leftThen, toldThen]);
    expect(it.loads).toEqual([`${method} false`, `${method} false`]);
  });
});

test('rows that came while there was no connection are told by a server that knows what changed', async () => {
  await using cluster = await OvsdbCluster.start(undefined, undefined, 1);
  const [server] = cluster.servers as [OvsdbServer];
  await using writer = await writerTo(server);
  // A server keeps a history that is no larger than the database.
  await writer.transact(Array.from({ length: 100 }, (_, n) => insert(`filler${n}`)));
  const gate = { opens: Promise.resolve() };
  const behindGate: OpenSocket = (remote, tls, handlers) => {
    const opening = new AbortController();
    void (async () => {
      await gate.opens;
      if (!opening.signal.aborted) olderServer(server, [])(remote, tls, handlers);
    })();
    return {
      cancel() {
        opening.abort();
      },
    };
  };
  const it = follow(server.remote, { initial: false }, behindGate);
  await using _ = it.client;
  await it.client.ready(soon());
  it.subscribe();
  await writer.transact([insert('young'), insert('gone')]);
  await it.client.call('echo', [], soon());
  const { promise, resolve } = Promise.withResolvers<void>();
  gate.opens = promise;
  it.client.reconnect();
  await writer.transact([
    insert('younger'),
    extend('young'),
    extend('filler1'),
    remove('gone'),
    remove('filler2'),
  ]);
  resolve();
  await it.client.ready(soon());
  expect(it.loads).toEqual(['monitor_cond_since false', 'monitor_cond_since true']);
  expect(it.sets()).toEqual(['young 1,2', 'younger 1']);
  expect(it.told.slice(2).toSorted()).toEqual([
    'deleted gone',
    'inserted younger',
    'modified young',
  ]);
});

test('rows that begin to match a condition have come', async () => {
  await using server = await OvsdbServer.start();
  await using writer = await writerTo(server);
  await writer.transact([insert('old'), insert('other')]);
  const it = follow(server.remote, { initial: false }, olderServer(server, []));
  await using _ = it.client;
  await it.client.ready(soon());
  await it.client.setCondition('Address_Set', where('nobody'), soon());
  expect(it.sets()).toEqual([]);
  await it.client.setCondition('Address_Set', where('old'), soon());
  expect(it.sets()).toEqual(['old 1']);
});
