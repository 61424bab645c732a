import { expect, test } from 'vitest';
import {
  OvsdbClient,
  Transaction,
  type ClientOptions,
  type JsonValue,
  type Selection,
} from '../../../src/ovsdb/index.ts';
import { MONITOR_METHODS, olderServer } from '../../support/older-server.ts';
import { OvsdbCluster } from '../../support/ovsdb-cluster.ts';
import { OvsdbServer } from '../../support/ovsdb-server.ts';
import { until } from '../../support/until.ts';

/** `_version`, which a server gives each row anew whenever a transaction changes it (RFC 7047 §3.2). */

const soon = (): AbortSignal => AbortSignal.timeout(30_000);
const insert = (name: string) => ({ op: 'insert', table: 'Address_Set', row: { name } }) as const;
const change = (name: string, addresses: JsonValue) =>
  ({
    op: 'update',
    table: 'Address_Set',
    where: [['name', '==', name]],
    row: { addresses },
  }) as const;

const VERSIONED: Selection = { Address_Set: { columns: ['name', '_version'] } };

const follow = (
  remotes: string,
  tables: Selection = VERSIONED,
  more: Partial<ClientOptions> = {},
): OvsdbClient =>
  new OvsdbClient({
    remotes,
    database: 'OVN_Northbound',
    leaderOnly: false,
    timing: { minBackoff: 10, maxBackoff: 100 },
    tables,
    ...more,
  }).start();

/** Versions by name, as the replica has them. */
const versions = (client: OvsdbClient): Record<string, unknown> =>
  Object.fromEntries(
    [...client.replica.rows('Address_Set')].map((row) => [
      row.column('name') as string,
      row.column('_version'),
    ]),
  );

/** The same, as the server has them now. */
async function serverVersions(client: OvsdbClient): Promise<Record<string, unknown>> {
  const outcome = await client.transact([
    { op: 'select', table: 'Address_Set', where: [], columns: ['name', '_version'] },
  ]);
  if (outcome.kind !== 'success') throw new Error(outcome.kind);
  return Object.fromEntries(
    (outcome.results[0]?.rows ?? []).map((row) => [
      row['name'] as string,
      (row['_version'] as readonly [string, string])[1],
    ]),
  );
}

test.each(MONITOR_METHODS)(
  'the replica has what the server has, by %s',
  async (_method, unknown) => {
    await using server = await OvsdbServer.start();
    await using client = follow(server.remote, VERSIONED, {
      openSocket: olderServer(server, unknown),
    });
    await client.ready(soon());
    await client.transact([insert('a'), insert('b')]);
    const before = versions(client);
    expect(before).toEqual(await serverVersions(client));
    const told: unknown[] = [];
    client.replica.subscribe(({ tables }) => {
      for (const { old } of tables.get('Address_Set')?.rows ?? [])
        told.push(Object.fromEntries(old ?? []));
    });
    // A column that is not followed: nothing but the version tells of it.
    await client.transact([change('a', '10.0.0.1')]);
    await client.transact([change('a', '10.0.0.1')]);
    const after = versions(client);
    expect(after).toEqual(await serverVersions(client));
    expect([after['a'] === before['a'], after['b']]).toEqual([false, before['b']]);
    expect(told).toEqual([{ _version: before['a'] }]);
  },
);

test('it can be kept true without being told of, found, and is none of what can be written', async () => {
  await using server = await OvsdbServer.start();
  await using client = follow(server.remote, {
    Address_Set: { columns: ['name'], omitAlert: ['_version'] },
  });
  await client.ready(soon());
  await client.transact([insert('a')]);
  const told: unknown[] = [];
  client.replica.subscribe((changes) => {
    told.push(changes);
  });
  const [row] = client.replica.rows('Address_Set');
  const before = row?.column('_version');
  await client.transact([
    { op: 'mutate', table: 'Address_Set', where: [], mutations: [['addresses', 'insert', 'x']] },
  ]);
  expect(told).toEqual([]);
  expect(row?.column('_version')).not.toBe(before);
  const [found] = client.replica.find('Address_Set', ['_version'], [row?.column('_version')]);
  expect(found?.uuid).toBe(row?.uuid);
  expect(client.replica.access('Address_Set', '_version')).toBe('followed');
  const transaction = new Transaction(client.replica);
  const refused = 'column _version of table Address_Set is immutable';
  const version = before as string;
  expect(() => transaction.insert('Address_Set', { name: 'b', _version: version })).toThrow(
    refused,
  );
  expect(() => transaction.update('Address_Set', row?.uuid ?? '', { _version: version })).toThrow(
    refused,
  );
});

test('a transaction that verifies it is carried out only if nobody has changed anything of the row', async () => {
  await using server = await OvsdbServer.start();
  await using client = follow(server.remote);
  await using other = follow(server.remote, { Address_Set: { columns: ['name'] } });
  await Promise.all([client.ready(soon()), other.ready(soon())]);
  await client.transact([insert('a'), insert('b')]);
  const rename = (to: string): Transaction => {
    const transaction = new Transaction(client.replica);
    const [row] = client.replica.find('Address_Set', ['name'], ['a']);
    transaction.verify('Address_Set', row?.uuid ?? '', '_version');
    return transaction.update('Address_Set', row?.uuid ?? '', { external_ids: { to } });
  };
  const late = rename('x');
  await other.transact([change('a', 'x')]);
  expect((await late.commit(client)).kind).toBe('try-again');
  await client.call('echo', [], soon());
  expect((await rename('y').commit(client)).kind).toBe('success');
});

test('each server of a cluster has versions of its own, and those of the one that is connected are shown', async () => {
  await using cluster = await OvsdbCluster.start(undefined, undefined, 2);
  const [first, second] = cluster.servers as [OvsdbServer, OvsdbServer];
  await using client = follow(first.remote);
  await client.ready(soon());
  // So many that the servers have a history: they would tell only what changed.
  await client.transact(Array.from({ length: 100 }, (_, n) => insert(`set${n}`)));
  expect(versions(client)).toEqual(await serverVersions(client));
  const before = versions(client);
  client.setRemotes(second.remote);
  await until(
    'the other server',
    () => client.remote === second.remote && client.status === 'ready',
  );
  const after = versions(client);
  expect(after).toEqual(await serverVersions(client));
  expect(after['set0']).not.toBe(before['set0']);
});
