import { expect, onTestFinished, test } from 'vitest';
import { multiNetworkPolicies, namespaces, networkPolicies, pods } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { Informers } from '../../../src/store/informers.ts';
import type { Changes } from '../../../src/verify/kept/kept-proof.ts';
import { NORTHBOUND_COLUMNS, readTables } from '../../../src/verify/read/databases.ts';
import { list, pairs, rowsOf, uuidOf, type Row } from '../../../src/verify/rows.ts';
import { ProofChanges, proofObjects, proofPolicies } from '../../../src/zone/proof-changes.ts';
import { ZoneController } from '../../../src/zone/zone-controller.ts';
import { OvsdbClient, type Clause } from 'ovsdb-client-ts';
import { northboundTables } from '../../../src/zone/monitored-columns.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import { OvsdbServer } from '../../support/ovsdb/ovsdb-server.ts';
import { exampleZone, factsOf } from '../../support/zone/zones.ts';

const log = createLogger('silent');
const never = new AbortController().signal;
const by = { fieldManager: 'test' };

/** Northbound of the worked example, and the objects of a store. */
async function bed() {
  const server = await OvsdbServer.start();
  const client = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    tables: northboundTables,
  }).start();
  onTestFinished(async () => {
    await client[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  await client.ready(AbortSignal.timeout(30_000));
  const { replica } = client;
  const controller = new ZoneController({
    facts: factsOf(exampleZone, { renderEverywhere: true }),
    northbound: { replica, transactor: client, unavailable: () => undefined },
    log,
  });
  controller.update();
  await controller.flush(never);
  const store = new MemoryStore();
  const informers = new Informers({ store, log });
  const stop = new AbortController();
  const changes = new ProofChanges({
    replica,
    objects: proofObjects(informers, informers.of(pods)),
    policies: proofPolicies(informers),
    onChange: () => void (heard += 1),
  });
  let heard = 0;
  const running = informers.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  return { client, replica, store, informers, changes, heard: () => heard };
}

const taken = (changes: ProofChanges): readonly Changes[] => {
  const found: Changes[] = [];
  for (let one = changes.take(); one !== undefined; one = changes.take()) found.push(one);
  return found;
};

const rowsIn = (all: readonly Changes[]): ReadonlyMap<string, Row | undefined> =>
  new Map(all.flatMap(({ rows }) => [...(rows?.values() ?? [])].flatMap((of) => [...of])));

/** Each column as checks read it. */
const readings = (table: string, row: Row | undefined): unknown =>
  row &&
  (NORTHBOUND_COLUMNS[table] ?? []).map((name) => {
    const map = Object.entries(pairs(row, name));
    const value = row[name];
    // An empty map and one that is not there are the same.
    return Array.isArray(value) && value[0] === 'map' ? map : list(row, name);
  });

test('all rows are taken at first, each as a proof from nothing reads it, ports before what lists them', async () => {
  const { client, replica, changes } = await bed();
  changes.all();
  const all = taken(changes);
  const rows = rowsIn(all);
  // As the server has them, followed or not.
  const { tables: served } = replica.schema;
  const has = (table: string, column?: string): boolean =>
    column === undefined ? served.has(table) : served.get(table)?.columns.has(column) === true;
  const tables = await readTables('OVN_Northbound', client, has, never);
  let count = 0;
  for (const table of tables.keys()) {
    for (const row of rowsOf(tables, table)) {
      count += 1;
      if (table === 'NB_Global') {
        // Its name and the numbers of ovn-northd are not followed.
        expect(pairs(rows.get(uuidOf(row)) ?? {}, 'options')).toEqual(pairs(row, 'options'));
        continue;
      }
      expect(readings(table, rows.get(uuidOf(row)))).toEqual(readings(table, row));
    }
  }
  expect(rows.size).toBe(count);
  expect(count).toBeGreaterThan(100);
  const order = all.flatMap(({ rows: of }) => [...(of?.keys() ?? [])]);
  expect(order.lastIndexOf('Logical_Switch_Port')).toBeLessThan(order.indexOf('Logical_Switch'));
  expect(order.lastIndexOf('Logical_Router_Port')).toBeLessThan(order.indexOf('Logical_Router'));
});

test('then those that change, as they are when they are taken, also where one is gone', async () => {
  const { client, replica, changes, heard } = await bed();
  changes.all();
  taken(changes);
  expect(taken(changes)).toEqual([]);
  const [router] = replica.rows('Logical_Router');
  const where: readonly Clause[] = [['_uuid', '==', ['uuid', router?.uuid ?? '']]];
  const before = heard();
  await client.transact([
    {
      op: 'insert',
      table: 'Logical_Router_Port',
      'uuid-name': 'port',
      row: { name: 'by hand', mac: '0a:58:00:00:00:01', networks: '192.0.2.1/30' },
    },
    {
      op: 'mutate',
      table: 'Logical_Router',
      where,
      mutations: [['ports', 'insert', ['set', [['named-uuid', 'port']]]]],
    },
  ]);
  expect(heard()).toBeGreaterThan(before);
  const rows = [...rowsIn(taken(changes)).values()];
  expect(rows.map((row) => row && list(row, 'name'))).toEqual([
    ['by hand'],
    [router?.column('name')],
  ]);
  const [port] = rows;
  const uuid = port === undefined ? '' : uuidOf(port);
  await client.transact([
    {
      op: 'mutate',
      table: 'Logical_Router',
      where,
      mutations: [['ports', 'delete', ['set', [['uuid', uuid]]]]],
    },
  ]);
  expect(rowsIn(taken(changes)).get(uuid)).toBeUndefined();
});

test('objects come first, few at a time where one has all read again, and one that is gone is told', async () => {
  const { store, informers, changes } = await bed();
  for (let n = 0; n < 60; n += 1)
    await store.create(
      namespaces,
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `n${n}` } },
      by,
    );
  await expect.poll(() => informers.of(namespaces).list().length).toBe(60);
  changes.all();
  const all = taken(changes);
  const sizes = all.map(({ objects }) => objects?.namespaces?.size ?? 0);
  expect(sizes.slice(0, 4)).toEqual([25, 25, 10, 0]);
  expect(all.slice(3).every(({ objects }) => objects === undefined)).toBe(true);
  await store.delete(namespaces, 'n7');
  await expect.poll(() => informers.of(namespaces).list().length).toBe(59);
  const [gone] = taken(changes);
  expect([...(gone?.objects?.namespaces ?? [])]).toEqual([['n7', undefined]]);
});

test('policies of two kinds that have one name are two, and one that is gone is told', async () => {
  const { store, informers, changes } = await bed();
  const policyOf = (kind: string, apiVersion: string): KubeObject => ({
    apiVersion,
    kind,
    metadata: { namespace: 'blue', name: 'one' },
    spec: { podSelector: {} },
  });
  await store.create(networkPolicies, policyOf('NetworkPolicy', 'networking.k8s.io/v1'), by);
  await store.create(
    multiNetworkPolicies,
    policyOf('MultiNetworkPolicy', 'k8s.cni.cncf.io/v1beta1'),
    by,
  );
  await expect.poll(() => informers.of(multiNetworkPolicies).list().length).toBe(1);
  await expect.poll(() => informers.of(networkPolicies).list().length).toBe(1);
  changes.all();
  const keys = (all: readonly Changes[]): readonly string[] =>
    all.flatMap(({ policies }) => [...(policies?.namespaced?.keys() ?? [])]);
  expect(keys(taken(changes))).toEqual(['NetworkPolicy blue/one', 'MultiNetworkPolicy blue/one']);
  await store.delete(networkPolicies, 'blue/one');
  await expect.poll(() => informers.of(networkPolicies).list().length).toBe(0);
  const [gone] = taken(changes);
  expect(gone?.policies?.namespaced).toEqual(new Map([['NetworkPolicy blue/one', undefined]]));
});
