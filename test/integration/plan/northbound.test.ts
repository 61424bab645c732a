import { describe, expect, test } from 'vitest';
import {
  commitPlan,
  OvsdbClient,
  plan,
  planCounts,
  planSelection,
  Reconciler,
  renderPlan,
  type CommitResult,
  type DesiredRow,
} from '../../../src/ovsdb/index.ts';
import { northboundRules } from '../../../src/topology/northbound-rules.ts';
import { zoneUnits } from '../../../src/topology/units.ts';
import type { Attachment, Zone } from '../../../src/model/model.ts';
import { OvsdbServer, runOvs } from '../../support/ovsdb-server.ts';
import { until } from '../../support/until.ts';
import { blue, exampleZone, furtherNode } from '../../support/zones.ts';
import { portRow, RULES, switchRow } from '../../unit/plan/northbound.ts';

/** The plan against a real ovsdb-server with the Northbound schema. */

const rules = northboundRules({ settings: exampleZone.settings, node: exampleZone.node });

const unitsOf = (zone: Zone): ReadonlyMap<string, readonly DesiredRow[]> =>
  new Map(
    [...zoneUnits(zone).values()]
      .filter((unit) => unit.database === 'Northbound')
      .map((unit) => [unit.key, unit.build()]),
  );

/** The worked example with a few more nodes. */
const zone: Zone = {
  ...exampleZone,
  remoteNodes: [...exampleZone.remoteNodes, ...[10, 11, 12].map(furtherNode)],
  networks: exampleZone.networks.map((network) =>
    network.name === blue.name
      ? {
          ...network,
          nodeSubnets: new Map([
            ...network.nodeSubnets,
            ...[10, 11, 12].map((id): [string, string[]] => [`node-${id}`, [`103.103.${id}.0/24`]]),
          ]),
        }
      : network,
  ),
};

/** A client that follows what plans with these rules look at, and nothing else. */
async function connected(server: OvsdbServer, followed = rules): Promise<OvsdbClient> {
  const client = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    tables: (schema) => planSelection(followed, schema),
    timing: { minBackoff: 10, maxBackoff: 100 },
  }).start();
  await client.ready(AbortSignal.timeout(15_000));
  return client;
}

/** NB_Global is ovn-northd's; `ovn-nbctl init` makes it where no northd runs. */
const nbctl = (server: OvsdbServer, ...args: readonly string[]): Promise<string> =>
  runOvs('ovn-nbctl', [`--db=${server.remote}`, '--no-leader-only', ...args]);

async function settle(client: OvsdbClient, reconciler: Reconciler): Promise<CommitResult> {
  for (;;) {
    const result = await commitPlan(client, reconciler.plan());
    if (result.kind !== 'retry' && result.kind !== 'unknown') return result;
    await client.ready(AbortSignal.timeout(15_000));
  }
}

describe('a zone', () => {
  test('is written once; the second time there is nothing to send, by this client or another', async () => {
    await using server = await OvsdbServer.start();
    await using client = await connected(server);
    await nbctl(server, 'init');
    await until('NB_Global', () => client.replica.size('NB_Global') === 1);
    const units = unitsOf(zone);
    const first = plan(units, client.replica, rules);
    expect(first.problems).toEqual([]);
    expect(first.leftOut).toEqual([]);
    expect(await commitPlan(client, first)).toMatchObject({ kind: 'success', refused: [] });
    expect(planCounts(first)).toMatchObject({
      Logical_Router: { insert: 4, update: 0, delete: 0 },
      NB_Global: { insert: 0, update: 1, delete: 0 },
    });
    expect(renderPlan(plan(units, client.replica, rules))).toBe('Nothing to do.\n');
    await using other = await connected(server);
    expect(renderPlan(plan(units, other.replica, rules))).toBe('Nothing to do.\n');
  });

  test('is repaired after ovn-nbctl changed and deleted rows, while rows of others stay', async () => {
    await using server = await OvsdbServer.start();
    await using client = await connected(server);
    await nbctl(server, 'init');
    await nbctl(
      server,
      'ls-add',
      'theirs',
      '--',
      'lsp-add',
      'theirs',
      'their-port',
      '--',
      'lr-add',
      'their-router',
    );
    await until('rows of others', () => client.replica.size('Logical_Router') === 1);
    const reconciler = new Reconciler(client.replica, rules);
    reconciler.follow();
    for (const [unit, rows] of unitsOf(zone)) reconciler.setUnit(unit, rows);
    await settle(client, reconciler);
    const before = await contents(server);

    await nbctl(server, 'lb-add', 'their-lb', '10.0.0.1:80', '10.0.0.2:80');
    const damage = [
      ['lsp-set-type', 'stor-blue_blue_ovn-worker', 'localnet'],
      // A column that we never give a value: it must have the default all the same.
      ['set', 'Logical_Switch_Port', 'stor-blue_blue_ovn-worker', 'enabled=false'],
      ['ls-del', 'blue_blue_ovn-worker'],
      ['lr-route-del', 'blue_blue_ovn_cluster_router', '103.103.10.0/24'],
      ['lrp-del', 'rtoj-GR_blue_blue_ovn-worker'],
      ['set', 'Logical_Router', 'GR_blue_blue_ovn-worker', 'name=stolen'],
      ['clear', 'Logical_Switch', 'blue_blue_join', 'external_ids'],
      ['pg-del', 'a6305690735356339486'],
      ['ls-lb-add', 'blue_blue_join', 'their-lb'],
    ];
    for (const command of damage) {
      const { sequence } = client.replica;
      await nbctl(server, ...command);
      await until(`the effect of ${command.join(' ')}`, () => client.replica.sequence > sequence);
      if (command[0] === 'ls-lb-add') continue;
      expect(reconciler.plan().isEmpty, command.join(' ')).toBe(false);
      expect(await settle(client, reconciler)).toMatchObject({ kind: 'success', refused: [] });
    }
    expect(renderPlan(reconciler.plan())).toBe('Nothing to do.\n');
    await nbctl(server, 'ls-lb-del', 'blue_blue_join', '--', 'lb-del', 'their-lb');
    expect(await contents(server)).toEqual(before);
    expect(await nbctl(server, 'show', 'theirs')).toContain('their-port');
  });

  test('loses nothing of others and all of ours when it is wanted no more', async () => {
    await using server = await OvsdbServer.start();
    await using client = await connected(server);
    await nbctl(server, 'init');
    await nbctl(
      server,
      'ls-add',
      'theirs',
      '--',
      'lb-add',
      'their-lb',
      '10.0.0.1:80',
      '10.0.0.2:80',
    );
    const empty = await contents(server);
    await until('rows of others', () => client.replica.size('Logical_Switch') === 1);
    const reconciler = new Reconciler(client.replica, rules);
    reconciler.follow();
    for (const [unit, rows] of unitsOf(zone)) reconciler.setUnit(unit, rows);
    await settle(client, reconciler);
    for (const unit of reconciler.units.keys()) reconciler.removeUnit(unit);
    await settle(client, reconciler);
    // NB_Global is not ours: it stays, with the name that it was given.
    const withoutGlobal = (lines: readonly string[]) =>
      lines.filter((line) => !line.startsWith('NB_Global'));
    expect(withoutGlobal(await contents(server))).toEqual(withoutGlobal(empty));
  });

  test('survives a client killed between any two transactions', async () => {
    await using server = await OvsdbServer.start();
    await using client = await connected(server);
    await nbctl(server, 'init');
    await until('NB_Global', () => client.replica.size('NB_Global') === 1);
    const units = unitsOf(zone);
    const limits = { rows: 10, bytes: 1_000_000 };
    let cut = 0;
    for (; ; cut++) {
      const part = plan(units, client.replica, rules, { limits });
      expect(part.problems).toEqual([]);
      if (part.isEmpty) break;
      expect(await commitPlan(client, { batches: part.batches.slice(0, 1) })).toMatchObject({
        kind: 'success',
      });
    }
    expect(cut).toBeGreaterThan(5);
  });

  test('follows a server that is killed, restarted and replaced by an empty one', async () => {
    await using server = await OvsdbServer.start();
    await using client = await connected(server);
    await nbctl(server, 'init');
    await until('NB_Global', () => client.replica.size('NB_Global') === 1);
    const reconciler = new Reconciler(client.replica, rules);
    reconciler.follow();
    for (const [unit, rows] of unitsOf(zone)) reconciler.setUnit(unit, rows);
    await settle(client, reconciler);
    const whole = await contents(server);
    await server.stop('SIGKILL');
    await until('the client to notice', () => client.status !== 'ready');
    const lost = await commitPlan(client, plan(new Map(), client.replica, rules));
    expect(['retry', 'unknown']).toContain(lost.kind);
    await server.launch();
    await client.ready(AbortSignal.timeout(15_000));
    expect(reconciler.plan().isEmpty).toBe(true);
    for (const table of [
      'Logical_Switch',
      'Logical_Router',
      'Port_Group',
      'Address_Set',
      'Load_Balancer_Group',
      'Static_MAC_Binding',
      'Meter',
      'Copp',
    ]) {
      await nbctl(server, '--all', 'destroy', table);
    }
    await until(
      'the emptiness',
      () => client.replica.size('Logical_Switch') === 0 && client.replica.size('Copp') === 0,
    );
    await settle(client, reconciler);
    expect(await contents(server)).toEqual(whole);
  });
});

describe('a pod', () => {
  test('costs its own rows', async () => {
    await using server = await OvsdbServer.start();
    await using client = await connected(server);
    await nbctl(server, 'init');
    await until('NB_Global', () => client.replica.size('NB_Global') === 1);
    const reconciler = new Reconciler(client.replica, rules);
    reconciler.follow();
    for (const [unit, rows] of unitsOf(zone)) reconciler.setUnit(unit, rows);
    await settle(client, reconciler);
    reconciler.plan();
    const attachment: Attachment = {
      namespace: 'blue',
      pod: 'web',
      podUid: 'b1a2c3d4-0000-4000-8000-000000000001',
      network: blue.name,
      nadKey: 'blue/blue',
      node: zone.node.name,
      addresses: ['103.103.0.3/24'],
      macAddress: '0a:58:67:67:00:03',
      role: 'primary',
      openDefaultPorts: [],
    };
    const changed = unitsOf({ ...zone, attachments: [attachment] });
    for (const [unit, rows] of changed) reconciler.setUnit(unit, rows);
    const result = reconciler.plan();
    expect(result.problems).toEqual([]);
    expect(result.changes.map((change) => change.table)).toEqual(['Logical_Switch_Port']);
    expect(result.examined).toBe(1);
    await commitPlan(client, result);
    expect(await nbctl(server, 'lsp-get-addresses', result.changes[0]?.key ?? '')).toContain(
      '103.103.0.3',
    );
  });
});

describe('what the server refuses', () => {
  test('is found among hundreds, reported in its words, and the rest is committed', async () => {
    await using server = await OvsdbServer.start();
    await using client = await connected(server, RULES);
    const ports = Array.from({ length: 300 }, (_, i) => portRow(`p${i}`, 'blue'));
    const wanted = plan([switchRow('blue'), ...ports], client.replica, RULES);
    const guilty = wanted.changes.find((change) => change.key === 'p123');
    const column = guilty?.columns.find(({ name }) => name === 'name');
    if (column === undefined) throw new Error('no such change');
    // Two rows of one name: the unique index refuses the second at commit, without naming an operation.
    Object.assign(column, { after: 'p7' });
    const outcome = await commitPlan(client, wanted);
    expect(outcome).toMatchObject({ kind: 'success', committed: 300 });
    expect(outcome.refused).toHaveLength(1);
    expect(outcome.refused[0]?.message).toMatch(
      /^Logical_Switch_Port "p7": the server refused to insert it: constraint violation: Transaction causes multiple rows in "Logical_Switch_Port" table to have identical values \("?p7"?\) for index on column "name"/,
    );
    expect(client.replica.size('Logical_Switch_Port')).toBe(299);
  });
});

describe('two writers', () => {
  test('that plan the same rows at the same time make them once', async () => {
    await using server = await OvsdbServer.start();
    await using one = await connected(server);
    await using two = await connected(server);
    await nbctl(server, 'init');
    await until('NB_Global', () => [one, two].every((c) => c.replica.size('NB_Global') === 1));
    const units = unitsOf(zone);
    const clients = [one, two];
    const reconcilers = clients.map((client) => new Reconciler(client.replica, rules));
    for (const reconciler of reconcilers) {
      reconciler.follow();
      for (const [unit, rows] of units) reconciler.setUnit(unit, rows);
    }
    const plans = reconcilers.map((reconciler) => reconciler.plan());
    const outcomes = await Promise.all(
      clients.map((client, i) => commitPlan(client, plans[i] as (typeof plans)[0])),
    );
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['retry', 'success']);
    await Promise.all(clients.map((client, i) => settle(client, reconcilers[i] as Reconciler)));
    const names = (await nbctl(server, '--bare', '--columns=name', 'list', 'Logical_Switch'))
      .trim()
      .split(/\n+/);
    expect(names.length).toBe(new Set(names).size);
    for (const reconciler of reconcilers) expect(reconciler.plan().isEmpty).toBe(true);
  });

  test('without the lock nothing is written', async () => {
    await using server = await OvsdbServer.start();
    await using holder = await connected(server);
    await using other = await connected(server, RULES);
    const lock = holder.lock('zone');
    await lock.held(AbortSignal.timeout(15_000));
    other.lock('zone');
    const wanted = plan([switchRow('blue')], other.replica, RULES);
    expect(await commitPlan(other, wanted, { lock: 'zone' })).toMatchObject({
      kind: 'not-locked',
      committed: 0,
    });
    expect(await commitPlan(holder, wanted, { lock: 'zone' })).toMatchObject({ kind: 'success' });
  });
});

/** All rows of the database as text, without what differs between two fillings. */
async function contents(server: OvsdbServer): Promise<readonly string[]> {
  await using client = await connected(server);
  const { replica } = client;
  const names = new Map<string, string>();
  for (const table of replica.schema.tables.keys()) {
    for (const row of replica.rows(table)) {
      const name = replica.hasColumn(table, 'name') ? (row.column('name') as string) : '';
      names.set(row.uuid, `<${table} ${name}>`);
    }
  }
  const lines: string[] = [];
  for (const [table, { columns }] of replica.schema.tables) {
    for (const row of replica.rows(table)) {
      const values = [...columns.keys()].map((column) => {
        const value = row.column(column);
        const shown = value instanceof Map ? [...(value as ReadonlyMap<unknown, unknown>)] : value;
        const text = JSON.stringify(shown ?? null);
        return `${column}=${text.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (uuid) => names.get(uuid) ?? uuid)}`;
      });
      lines.push(`${table} ${values.join(' ')}`);
    }
  }
  return lines.map(sortedMembers).toSorted();
}

/** References have no order of their own once their UUIDs are replaced by names. */
const sortedMembers = (line: string): string =>
  line.replace(/\[("<[^\]]*)\]/g, (_, list: string) => `[${list.split(',').toSorted().join(',')}]`);
