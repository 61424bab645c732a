import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  OvsdbClient,
  type ClientEvent,
  type Operation,
  type ReplicaChanges,
} from 'ovsdb-client-ts';
import { OvsdbCluster } from '../../support/ovsdb/ovsdb-cluster.ts';
import { OvsdbServer, runOvs, temporaryFolder } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';

const soon = (): AbortSignal => AbortSignal.timeout(30_000);
const quick = { minBackoff: 20, maxBackoff: 200 };

const insert = (name: string): Operation => ({
  op: 'insert',
  table: 'Logical_Switch',
  row: { name },
});

/** Sends until it is known to have happened: looks into the replica after a lost reply. */
async function surely(client: OvsdbClient, name: string): Promise<void> {
  for (;;) {
    await client.ready(soon());
    if (client.replica.find('Logical_Switch', ['name'], [name]).length > 0) return;
    const guard: Operation = {
      op: 'wait',
      table: 'Logical_Switch',
      timeout: 0,
      where: [['name', '==', name]],
      columns: ['name'],
      until: '!=',
      rows: [{ name }],
    };
    await client.transact([guard, insert(name)]);
  }
}

test('a client of the leader follows it through transfers and a killed leader, and loses nothing', async () => {
  await using cluster = await OvsdbCluster.start();
  const events: ClientEvent[] = [];
  await using client = new OvsdbClient({
    remotes: cluster.remotes,
    database: 'OVN_Northbound',
    timing: quick,
    onEvent: (event) => events.push(event),
  }).start();
  await surely(client, 'first');
  expect(client.databaseStatus).toMatchObject({
    model: 'clustered',
    leader: true,
    connected: true,
  });
  const inserted: string[] = [];
  client.replica.subscribe((changes: ReplicaChanges) => {
    for (const change of changes.tables.get('Logical_Switch')?.rows ?? []) {
      expect(change.kind).toBe('inserted');
      inserted.push(change.uuid);
    }
  });
  const leader = await cluster.leader();
  await leader.control('cluster/failure-test', 'transfer-leadership').catch(() => '');
  await surely(client, 'second');
  const killed = await cluster.leader();
  await killed.stop('SIGKILL');
  await surely(client, 'third');
  await surely(client, 'fourth');
  expect(client.remote).not.toBe(killed.remote);
  expect(
    [...client.replica.rows('Logical_Switch')]
      .map((row) => row.column('name') as string)
      .toSorted(),
  ).toEqual(['first', 'fourth', 'second', 'third']);
  expect(new Set(inserted).size).toBe(3);
  expect(inserted).toHaveLength(3);
  // The members share the history: after the loss only what is new was sent.
  const reloads = events.filter((event) => event.kind === 'loaded').slice(1);
  expect(reloads.length).toBeGreaterThan(0);
  expect(reloads.every((event) => event.kind === 'loaded' && event.found)).toBe(true);
}, 120_000);

test('a relay serves readers; who wants the leader leaves it', async () => {
  await using origin = await OvsdbServer.start();
  using folder = temporaryFolder();
  await using relay = await OvsdbServer.start({
    folder: folder.path,
    name: 'relay',
    databases: [`relay:OVN_Northbound:${origin.remote}`],
  });
  const reader = new OvsdbClient({
    remotes: relay.remote,
    database: 'OVN_Northbound',
    leaderOnly: false,
    timing: quick,
  });
  await using client = reader.start();
  await client.ready(soon());
  expect(client.databaseStatus).toMatchObject({ model: 'relay' });
  expect((await client.transact([insert('through the relay')])).kind).toBe('success');
  expect(client.replica.size('Logical_Switch')).toBe(1);
  await using strict = new OvsdbClient({
    remotes: relay.remote,
    database: 'OVN_Northbound',
    timing: quick,
  }).start();
  await expect(strict.ready(AbortSignal.timeout(500))).rejects.toThrow('the server is a relay');
});

test('only the cluster that was asked for is good enough', async () => {
  await using cluster = await OvsdbCluster.start(undefined, undefined, 1);
  const file = join(cluster.servers[0]?.folder ?? '', 'member0.db');
  const id = (await runOvs('ovsdb-tool', ['db-cid', file])).trim();
  await using right = new OvsdbClient({
    remotes: `${cluster.remotes},cid:${id}`,
    database: 'OVN_Northbound',
  }).start();
  await right.ready(soon());
  const other = 'cid:11111111-2222-4333-8444-555555555555';
  await using wrong = new OvsdbClient({
    remotes: `${cluster.remotes},${other}`,
    database: 'OVN_Northbound',
    timing: quick,
  }).start();
  await expect(wrong.ready(AbortSignal.timeout(500))).rejects.toThrow('belongs to cluster');
});

test('a server with older data than was seen is not used, until the guard is reset', async () => {
  await using cluster = await OvsdbCluster.start(undefined, undefined, 1);
  await using client = new OvsdbClient({
    remotes: cluster.remotes,
    database: 'OVN_Northbound',
    timing: quick,
  }).start();
  for (let n = 0; n < 20; n++) await surely(client, `switch${n}`);
  await using young = await OvsdbCluster.start(undefined, undefined, 1);
  client.setRemotes(young.remotes);
  await expect(client.ready(AbortSignal.timeout(500))).rejects.toThrow('is stale');
  client.resetMinIndex();
  await client.ready(soon());
  expect(client.replica.size('Logical_Switch')).toBe(0);
  await until('the connection', () => client.status === 'ready');
});
