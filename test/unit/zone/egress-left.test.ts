/** What arrives from other nodes to leave with egress addresses, while it is not known whether this node may have them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSchema, type JsonValue } from 'ovsdb-client-ts';
import { expect, test } from 'vitest';
import { MARK } from '../../../src/desired/rows.ts';
import type { EgressLeaseState } from '../../../src/model/zone/egress-lease.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { ZoneController } from '../../../src/zone/zone-controller.ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import { SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import {
  bluePod,
  bluePodDefault,
  exampleZone,
  factsOf,
  type Zone,
} from '../../support/zone/zones.ts';

const signal = new AbortController().signal;

/** A pod of the default network and one of another one, both on another node, that leave with an address of this one. */
const pods = [{ ...bluePodDefault, namespace: 'default', role: 'primary' as const }, bluePod];
const zone: Zone = {
  ...exampleZone,
  namespaces: [...exampleZone.namespaces, 'default'],
  attachments: [],
  remoteAttachments: pods.map((pod, n) => ({
    ...pod,
    node: 'ovn-worker2',
    addresses: [['10.244.1.5/24', '103.103.1.3/24'][n] ?? ''],
  })),
  pods: pods.map(({ namespace, pod }) => ({
    namespace,
    name: pod,
    node: 'ovn-worker2',
    labels: {},
    namedPorts: [],
  })),
  egressIps: [
    {
      name: 'out',
      created: '2026-01-01T00:00:00Z',
      namespaceSelector: {},
      podSelector: {},
      mark: 50_000,
      families: ['v4'],
      items: [{ node: 'ovn-worker', address: '172.18.0.200' }],
      isHere: true,
    },
  ],
};

const emptyDatabase = (): MemoryDatabase =>
  new MemoryDatabase(
    parseSchema(JSON.parse(readFileSync(join(SCHEMAS, 'ovn-nb.ovsschema'), 'utf8')) as JsonValue),
  );

/** Starts a daemon on what is there, and lets it know of its lease. Returns what then drops and passes, by network, in the order of these states. */
async function startOn(
  database: MemoryDatabase,
  states: readonly EgressLeaseState[],
  now: Zone = zone,
): Promise<readonly (readonly string[])[]> {
  const facts = factsOf(now);
  const controller = new ZoneController({
    facts,
    northbound: { replica: database, transactor: database, unavailable: () => undefined },
    log: createLogger('silent'),
    now: () => 0,
  });
  const seen: (readonly string[])[] = [];
  for (const state of states) {
    facts.egressLease.put([], { state });
    controller.update();
    await controller.flush(signal);
    seen.push(arrivals(database));
  }
  controller.close();
  return seen;
}

const idsOf = (row: { column(name: string): unknown }) =>
  row.column('external_ids') as ReadonlyMap<string, string>;

const arrivals = (database: MemoryDatabase): readonly string[] =>
  database
    .rows('Logical_Router_Policy')
    .flatMap((row) =>
      /:EgressIP:(97|98):(?!EIP-Arrival)/.test(idsOf(row).get('k8s.ovn.org/id') ?? '')
        ? [`${row.column('action') as string} ${idsOf(row).get('network')}`]
        : [],
    )
    .toSorted();

/** As an ovn-kubernetes would have left it: it drops nothing, and need not let anything pass. */
async function leftByReference(): Promise<MemoryDatabase> {
  const database = emptyDatabase();
  await startOn(database, ['held']);
  for (const router of database.rows('Logical_Router')) {
    const own = database
      .rows('Logical_Router_Policy')
      .filter((row) => /:EgressIP:9[78]:/.test(idsOf(row).get('k8s.ovn.org/id') ?? ''))
      .map(({ uuid }) => ['uuid', uuid] as [string, string]);
    database.write({
      op: 'mutate',
      table: 'Logical_Router',
      where: [['_uuid', '==', ['uuid', router.uuid]]],
      mutations: [['policies', 'delete', ['set', own]]],
    });
  }
  for (const { name, columns } of database.schema.tables.values())
    if (columns.has('external_ids'))
      database.write({
        op: 'mutate',
        table: name,
        where: [],
        mutations: [['external_ids', 'delete', ['set', [MARK]]]],
      });
  return database;
}

const CLOSED = ['drop blue_blue', 'drop default'];
const OPEN = ['allow blue_blue', 'allow default', ...CLOSED];

test('where an ovn-kubernetes let pods leave nothing is dropped before it is known what passes', async () => {
  expect(await startOn(await leftByReference(), ['unknown', 'held'])).toEqual([[], OPEN]);
});

test('it is dropped when this node may not have its addresses', async () => {
  expect(await startOn(await leftByReference(), ['unknown', 'lost'])).toEqual([[], CLOSED]);
});

test('where nothing was left, or no address is on this node, the drop comes first', async () => {
  expect(await startOn(emptyDatabase(), ['unknown', 'held'])).toEqual([CLOSED, OPEN]);
  const elsewhere = zone.egressIps?.map((one) => ({ ...one, items: [], isHere: false })) ?? [];
  expect(
    await startOn(await leftByReference(), ['unknown'], { ...zone, egressIps: elsewhere }),
  ).toEqual([CLOSED]);
});

test('what a daemon before dropped and let pass stays over a restart', async () => {
  const database = await leftByReference();
  await startOn(database, ['unknown', 'held']);
  expect(await startOn(database, ['unknown', 'held'])).toEqual([OPEN, OPEN]);
});

test('a network that the ovn-kubernetes had not is closed from its first row on', async () => {
  const database = await leftByReference();
  for (const table of ['Logical_Router_Policy', 'NAT'])
    for (const row of database.rows(table))
      if (idsOf(row).get('network') === 'blue_blue')
        database.write({
          op: 'update',
          table,
          where: [['_uuid', '==', ['uuid', row.uuid]]],
          row: { external_ids: ['map', []] },
        });
  expect(await startOn(database, ['unknown'])).toEqual([['drop blue_blue']]);
});
