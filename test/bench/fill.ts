import {
  commitPlan,
  OvsdbClient,
  plan,
  planSelection,
  type DatabaseRules,
  type DatabaseSchema,
  type DesiredRow,
  type Plan,
} from '../../src/ovsdb/index.ts';
import { operationsOf } from '../../src/ovsdb/plan/plan-operations.ts';
import { northboundRules } from '../../src/topology/northbound-rules.ts';
import { OvsdbServer, runOvs } from '../support/ovsdb-server.ts';
import { until } from '../support/until.ts';
import { exampleZone } from '../support/zones.ts';
import { peakMemory, timed, type Benchmark, type Figure } from './benchmark.ts';
import { RawSender } from './raw-sender.ts';
import { countRows, northboundUnits, zoneOf } from './workload.ts';

/** A zone's rows into an empty Northbound database, and again into a right one. */

export const rules = northboundRules({ settings: exampleZone.settings, node: exampleZone.node });

/** A server with what ovn-northd would have made at its first start. */
export async function northboundServer(): Promise<OvsdbServer> {
  const server = await OvsdbServer.start();
  await runOvs('ovn-nbctl', [`--db=${server.remote}`, '--no-leader-only', 'init']);
  return server;
}

/** A client that follows what plans with these rules look at, as the daemon does; everything without them. */
export async function loadedClient(
  server: OvsdbServer,
  followed?: DatabaseRules,
): Promise<OvsdbClient> {
  const client = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    ...(followed === undefined
      ? {}
      : { tables: (schema: DatabaseSchema) => planSelection(followed, schema) }),
  }).start();
  await client.ready(AbortSignal.timeout(120_000));
  return client;
}

/** What the same operations take when nothing else is done: milliseconds. Transactions that the commit sends at one time too. */
export async function rawTime(plans: Pick<Plan, 'batches'>, window = 4): Promise<number> {
  await using server = await northboundServer();
  await using sender = await RawSender.connect(server.socket);
  const [, wall] = await timed(async () => {
    const underWay = new Set<Promise<void>>();
    for (const batch of plans.batches) {
      const sent = sender
        .transact('OVN_Northbound', operationsOf(batch))
        .finally(() => underWay.delete(sent));
      underWay.add(sent);
      if (underWay.size >= window) await Promise.race(underWay);
    }
    await Promise.all(underWay);
  });
  return wall;
}

function expectEmpty(again: Plan): void {
  if (again.isEmpty && again.problems.length === 0) return;
  throw new Error(
    `the second plan is not empty: ${again.changes.length} changes, ${again.problems[0]?.message ?? ''}`,
  );
}

async function fill(
  networks: number,
  nodes: number,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  const zone = zoneOf(networks, nodes);
  const [units, buildTime] = await timed((): ReadonlyMap<string, readonly DesiredRow[]> =>
    northboundUnits(zone),
  );
  const rows = countRows(units);
  progress(`${rows} rows`);
  await using server = await northboundServer();
  let commitTime = 0;
  let diffTime = 0;
  let first: Plan;
  {
    await using client = await loadedClient(server, rules);
    await until('NB_Global', () => client.replica.size('NB_Global') === 1);
    [first, diffTime] = await timed(() => plan(units, client.replica, rules));
    if (first.problems.length > 0) throw new Error(first.problems[0]?.message);
    progress(`plan: ${first.changes.length} changes in ${first.batches.length} transactions`);
    const [outcome, wall] = await timed(() => commitPlan(client, first));
    if (outcome.kind !== 'success' || outcome.refused.length > 0)
      throw new Error(JSON.stringify(outcome).slice(0, 500));
    commitTime = wall;
    expectEmpty(plan(units, client.replica, rules));
  }
  progress('again, from a new client');
  const [client, loadTime] = await timed(() => loadedClient(server, rules));
  await using loaded = client;
  const [again, againTime] = await timed(() => plan(units, loaded.replica, rules));
  expectEmpty(again);
  const peak = peakMemory();
  progress('floor');
  const floor = await rawTime(first);
  return [
    { name: 'rows', value: rows, unit: 'rows' },
    { name: 'rows built', value: buildTime, unit: 'ms' },
    { name: 'plan against an empty database', value: diffTime, unit: 'ms' },
    { name: 'transactions', value: first.batches.length, unit: 'transactions' },
    { name: 'commit', value: commitTime, unit: 'ms', floor },
    { name: 'load of the filled database', value: loadTime, unit: 'ms' },
    { name: 'plan against the right database', value: againTime, unit: 'ms' },
    { name: 'changes found then', value: again.changes.length, unit: 'operations', goal: 0 },
    { name: 'peak memory', value: peak, unit: 'MB' },
  ];
}

const sizes = [10, 100, 200];

export const benchmarks: readonly Benchmark[] = sizes.map((size) => ({
  name: `fill-${size}x${size}`,
  title: `${size} Layer3 networks on ${size} nodes into an empty database, and again into a right one`,
  run: (progress) => fill(size, size, progress),
}));
