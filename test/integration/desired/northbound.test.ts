import { describe, expect, test } from 'vitest';
import { CountedSet } from '../../../src/facts/counted-set.ts';
import { commitPlan, type PlanCommitResult } from '../../../src/desired/ovsdb/commit.ts';
import { Reconciler } from '../../../src/desired/ovsdb/reconciler.ts';
import { renderPlan } from '../../../src/views/plan-text.ts';
import { claimedSelection } from '../../../src/desired/ovsdb/selection.ts';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import { OvsdbClient } from 'ovsdb-client-ts';
import { OvsdbServer, runOvs } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';
import {
  aclRow,
  bandRow,
  CLAIMS,
  globalRow,
  meterRow,
  portRow,
  reference,
  routeRow,
  routerRow,
  row,
  switchRow,
  TestUnit,
} from '../../unit/desired/northbound.ts';

/** The reconciler against a real ovsdb-server with the Northbound schema. */

const METERS = ['acl', 'arp', 'bfd'];

const UNITS: Readonly<Record<string, readonly DesiredRow[]>> = {
  cluster: [
    globalRow({ ours: '1' }),
    row('Copp', 'defence', { meters: { arp: 'arp' } }),
    ...METERS.map(meterRow),
    ...METERS.map(bandRow),
  ],
  policy: [row('Port_Group', 'pg'), aclRow('acl', 'pg'), row('Address_Set', 'as')],
  network: [
    switchRow('blue', { other_config: { subnet: '10.0.0.0/24' } }),
    routerRow('r', { copp: reference('Copp', 'defence') }),
    row('Load_Balancer_Group', 'blue-group'),
    portRow('to-r', 'blue', { type: 'router', addresses: ['router'] }),
  ],
  ...Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [`pod ${i}`, [portRow(`pod${i}`, 'blue', {}, 'pg')]]),
  ),
  ...Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [
      `node ${i}`,
      [routeRow('r', `10.${i}.0.0/16`, '1.1.1.1')],
    ]),
  ),
};

async function connected(server: OvsdbServer): Promise<OvsdbClient> {
  const client = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    tables: (schema) => claimedSelection(CLAIMS, schema),
    timing: { minBackoff: 10, maxBackoff: 100 },
  }).start();
  await client.ready(AbortSignal.timeout(15_000));
  return client;
}

const nbctl = (server: OvsdbServer, ...args: readonly string[]): Promise<string> =>
  runOvs('ovn-nbctl', [`--db=${server.remote}`, '--no-leader-only', ...args]);

/** A server with what ovn-northd would have made, and a client of it. */
async function started() {
  const server = await OvsdbServer.start();
  const client = await connected(server);
  // NB_Global is ovn-northd's; `ovn-nbctl init` makes it where no northd runs.
  await nbctl(server, 'init');
  await until('NB_Global', () => client.replica.size('NB_Global') === 1);
  return {
    server,
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** A reconciler with units by id, and what a daemon does with it. */
class Zone {
  readonly client: OvsdbClient;
  readonly reconciler: Reconciler;
  readonly units = new Map<string, TestUnit>();

  constructor(client: OvsdbClient, units = UNITS, limits?: { rows: number; bytes: number }) {
    this.client = client;
    this.reconciler = new Reconciler(
      client.replica,
      CLAIMS,
      limits === undefined ? {} : { limits },
    );
    this.reconciler.follow();
    for (const [id, rows] of Object.entries(units)) this.set(id, rows);
  }

  set(id: string, rows: readonly DesiredRow[]): void {
    const unit = this.units.get(id) ?? new TestUnit(id);
    this.units.set(id, unit);
    unit.wanted = rows;
    this.reconciler.set(unit, unit.wanted);
  }

  plan() {
    return this.reconciler.plan({ now: 0, isComplete: true });
  }

  async settle(): Promise<PlanCommitResult> {
    for (;;) {
      const result = await commitPlan(this.client, this.plan());
      this.reconciler.refused(result.refused, 0);
      if (result.kind !== 'retry' && result.kind !== 'unknown') return result;
      await this.client.ready(AbortSignal.timeout(15_000));
    }
  }
}

/** All rows of claimed tables as text, without UUIDs, which differ between two fillings by hand. */
async function contents(server: OvsdbServer): Promise<readonly string[]> {
  await using client = await connected(server);
  const { replica } = client;
  const names = new Map<string, string>();
  for (const table of CLAIMS.keys())
    for (const found of replica.rows(table)) {
      const name = replica.hasColumn(table, 'name') ? (found.column('name') as string) : '';
      names.set(found.uuid, `<${table} ${name}>`);
    }
  const lines: string[] = [];
  for (const table of CLAIMS.keys()) {
    const columns = [...(replica.schema.tables.get(table)?.columns.keys() ?? [])];
    for (const found of replica.rows(table)) {
      const values = columns
        .filter((column) => replica.hasColumn(table, column))
        .map((column) => {
          const value = found.column(column);
          if (value instanceof Map) return [column, [...(value as ReadonlyMap<unknown, unknown>)]];
          const named = (atom: unknown): string => names.get(String(atom)) ?? String(atom);
          return [
            column,
            Array.isArray(value)
              ? value.map(named).toSorted((a, b) => (a < b ? -1 : 1))
              : named(value),
          ];
        });
      lines.push(JSON.stringify([table, values]));
    }
  }
  return lines.toSorted();
}

describe('a zone', () => {
  test('is written once; the second time there is nothing to send, by this client or another', async () => {
    await using world = await started();
    const zone = new Zone(world.client);
    expect(zone.plan()).toMatchObject({ problems: [], unsupported: [] });
    expect(await zone.settle()).toMatchObject({ kind: 'success', refused: [] });
    expect(renderPlan(zone.plan())).toBe('Nothing to do.\n');
    await using other = await connected(world.server);
    expect(new Zone(other).plan()).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('is repaired after ovn-nbctl changed and deleted rows, while rows of others stay', async () => {
    await using world = await started();
    const { server, client } = world;
    await nbctl(server, 'ls-add', 'theirs', '--', 'lsp-add', 'theirs', 'their-port');
    const zone = new Zone(client);
    await zone.settle();
    const before = await contents(server);
    const damage = [
      ['lsp-set-type', 'pod3', 'localnet'],
      // A column that we never give a value: it must have the default all the same.
      ['set', 'Logical_Switch_Port', 'pod3', 'enabled=false'],
      ['ls-del', 'blue'],
      ['lr-route-del', 'r', '10.3.0.0/16'],
      ['set', 'Logical_Router', 'r', 'name=stolen'],
      ['clear', 'Logical_Switch', 'blue', 'external_ids'],
      ['pg-del', 'pg'],
      ['lr-del', 'r'],
    ];
    for (const command of damage) {
      const { sequence } = client.replica;
      await nbctl(server, ...command);
      await until(`the effect of ${command.join(' ')}`, () => client.replica.sequence > sequence);
      expect(zone.plan().isEmpty, command.join(' ')).toBe(false);
      expect(await zone.settle(), command.join(' ')).toMatchObject({
        kind: 'success',
        refused: [],
      });
      expect(await contents(server), command.join(' ')).toEqual(before);
    }
    expect(zone.plan()).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('leaves all of others and nothing of its own when it is wanted no more, also after a restart', async () => {
    await using world = await started();
    const { server, client } = world;
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
    const withoutGlobal = async (): Promise<readonly string[]> =>
      (await contents(server)).filter((line) => !line.startsWith('["NB_Global"'));
    const empty = await withoutGlobal();
    await until('rows of others', () => client.replica.size('Logical_Switch') === 1);
    const zone = new Zone(client);
    await zone.settle();
    for (const id of zone.units.keys()) zone.set(id, []);
    await zone.settle();
    expect(await withoutGlobal()).toEqual(empty);
    await new Zone(client).settle();
    expect(await withoutGlobal()).not.toEqual(empty);
    await new Zone(client, {}).settle();
    expect(await withoutGlobal()).toEqual(empty);
  });

  test('survives a client killed between any two transactions', async () => {
    await using world = await started();
    const limits = { rows: 3, bytes: 1_000_000 };
    for (let cut = 0; ; cut++) {
      const plan = new Zone(world.client, UNITS, limits).plan();
      expect(plan.problems).toEqual([]);
      if (plan.isEmpty) {
        expect(cut).toBeGreaterThan(5);
        return;
      }
      const batches = plan.batches.slice(0, 1);
      expect(await commitPlan(world.client, { batches })).toMatchObject({ kind: 'success' });
    }
  });

  test('follows a server that is killed, restarted and emptied', async () => {
    await using world = await started();
    const { server, client } = world;
    const zone = new Zone(client);
    await zone.settle();
    const whole = await contents(server);
    await server.stop('SIGKILL');
    await until('the client to notice', () => client.status !== 'ready');
    zone.set('more', [switchRow('red')]);
    expect(['retry', 'unknown']).toContain((await commitPlan(client, zone.plan())).kind);
    zone.set('more', []);
    await server.launch();
    await client.ready(AbortSignal.timeout(15_000));
    expect(zone.plan()).toMatchObject({ isEmpty: true, problems: [] });
    for (const table of [
      'Logical_Switch',
      'Logical_Router',
      'Port_Group',
      'Address_Set',
      'Load_Balancer_Group',
      'Meter',
      'Copp',
    ])
      await nbctl(server, '--all', 'destroy', table);
    await until('the emptiness', () => client.replica.size('Copp') === 0);
    await zone.settle();
    expect(await contents(server)).toEqual(whole);
  });
});

test('meters that share one band, as another program left them, get a band each', async () => {
  await using world = await started();
  const { server, client } = world;
  const meters = METERS.flatMap((name) => [
    '--',
    'create',
    'Meter',
    `name=${name}`,
    'unit=pktps',
    'bands=@band',
  ]);
  await nbctl(server, '--id=@band', 'create', 'Meter_Band', 'action=drop', 'rate=25', ...meters);
  await until('the meters', () => client.replica.size('Meter') === METERS.length);
  const zone = new Zone(client);
  expect(await zone.settle()).toMatchObject({ kind: 'success', refused: [] });
  expect(zone.plan()).toMatchObject({ isEmpty: true, problems: [] });
  const bands = [...client.replica.rows('Meter')].map((meter) => meter.column('bands') as string[]);
  expect(bands.map(({ length }) => length)).toEqual([1, 1, 1]);
  expect(new Set(bands.flat()).size).toBe(3);
});

test('a large set that facts keep is repaired member by member, also after a server that was away', async () => {
  await using world = await started();
  const { server, client } = world;
  const set = new CountedSet();
  const zone = new Zone(client, {});
  const build = (): void =>
    zone.set('peers', [row('Address_Set', 'as', { addresses: set.version })]);
  const found = (): unknown =>
    [...client.replica.rows('Address_Set')].map((one) => one.column('addresses'));
  const settled = async (): Promise<void> => {
    await zone.settle();
    expect(found()).toEqual([[...set.version].sort()]);
    expect(zone.plan().isEmpty).toBe(true);
  };
  for (let i = 0; i < 300; i += 1) set.add(`10.0.${i >> 8}.${i & 255}`);
  build();
  await settled();
  set.add('10.1.0.1');
  set.remove('10.0.0.7');
  build();
  await settled();
  const has = (member: string): boolean =>
    [...client.replica.rows('Address_Set')].some((one) => one.includes('addresses', member));
  await nbctl(server, 'add', 'Address_Set', 'as', 'addresses', '"1.1.1.1"');
  await nbctl(server, 'remove', 'Address_Set', 'as', 'addresses', '"10.0.0.9"');
  await until('both edits', () => has('1.1.1.1') && !has('10.0.0.9'));
  await settled();
  await server.stop('SIGKILL');
  await until('the client to notice', () => client.status !== 'ready');
  set.add('10.1.0.2');
  build();
  await server.launch();
  await nbctl(server, 'remove', 'Address_Set', 'as', 'addresses', '"10.0.0.11"');
  await client.ready(AbortSignal.timeout(15_000));
  await until('the edit', () => !has('10.0.0.11'));
  await settled();
});

test('what the server refuses is found among hundreds of units and reported in its words, and the rest is committed', async () => {
  await using world = await started();
  const ports = Array.from(
    { length: 300 },
    (_, i) => [`p${i}`, [portRow(`p${i}`, 'blue')]] as const,
  );
  const zone = new Zone(world.client, {
    network: [switchRow('blue')],
    ...Object.fromEntries(ports),
    // Of another key, with the name of the one before: the unique index refuses it at commit, without naming an operation.
    p123: [{ ...portRow('p123', 'blue'), columns: { name: 'p7' } }],
  });
  const result = await zone.settle();
  expect(result).toMatchObject({ kind: 'success', committed: 300 });
  expect(result.refused).toHaveLength(1);
  expect(result.refused[0]?.unit).toMatch(/^p(?:7|123)$/);
  expect(result.refused[0]?.message).toMatch(
    /the server refused to insert it: constraint violation: Transaction causes multiple rows in "Logical_Switch_Port" table to have identical values \("?p7"?\) for index on column "name"/,
  );
  expect(world.client.replica.size('Logical_Switch_Port')).toBe(299);
});

describe('two writers', () => {
  test('that plan the same rows at the same time make them once', async () => {
    await using world = await started();
    await using other = await connected(world.server);
    const zones = [new Zone(world.client), new Zone(other)];
    const plans = zones.map((zone) => zone.plan());
    const outcomes = await Promise.all(
      zones.map(({ client }, i) => commitPlan(client, plans[i] ?? { batches: [] })),
    );
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['retry', 'success']);
    await Promise.all(zones.map((zone) => zone.settle()));
    const names = (
      await nbctl(world.server, '--bare', '--columns=name', 'list', 'Logical_Switch_Port')
    )
      .trim()
      .split(/\n+/);
    expect(names).toHaveLength(21);
    for (const zone of zones) expect(zone.plan()).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('without the lock nothing is written', async () => {
    await using world = await started();
    await using other = await connected(world.server);
    const lock = world.client.lock('zone');
    await lock.held(AbortSignal.timeout(15_000));
    other.lock('zone');
    const plan = new Zone(other).plan();
    expect(await commitPlan(other, plan, { lock: 'zone' })).toMatchObject({
      kind: 'not-locked',
      committed: 0,
    });
    expect(await commitPlan(world.client, plan, { lock: 'zone' })).toMatchObject({
      kind: 'success',
    });
  });
});
