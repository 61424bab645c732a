import { commitPlan, Reconciler, type OvsdbClient } from '../../src/ovsdb/index.ts';
import { changedUnits } from '../../src/topology/units.ts';
import type { Zone } from '../../src/model/model.ts';
import { until } from '../support/until.ts';
import type { Benchmark, Figure } from './benchmark.ts';
import { loadedClient, northboundServer, rules } from './fill.ts';
import { northboundUnits, withNetwork, withNode, withPod, zoneOf } from './workload.ts';

/** One thing more in a zone of 100 networks and 100 nodes: what is recomputed, and how long it takes to be committed. */

async function apply(
  name: string,
  before: Zone,
  after: Zone,
  client: OvsdbClient,
  reconciler: Reconciler,
): Promise<readonly Figure[]> {
  const start = performance.now();
  const { rebuild, gone } = changedUnits(before, after);
  let built = 0;
  for (const unit of rebuild.values()) {
    if (unit.database !== 'Northbound') continue;
    const rows = unit.build();
    built += rows.length;
    reconciler.setUnit(unit.key, rows);
  }
  for (const key of gone) reconciler.removeUnit(key);
  const builtAt = performance.now();
  const plan = reconciler.plan();
  const plannedAt = performance.now();
  const outcome = await commitPlan(client, plan);
  const end = performance.now();
  if (outcome.kind !== 'success' || outcome.refused.length > 0 || plan.problems.length > 0) {
    throw new Error(`${name}: ${JSON.stringify(outcome)} ${plan.problems[0]?.message ?? ''}`);
  }
  if (!reconciler.plan().isEmpty) throw new Error(`${name}: something is left to do`);
  return [
    { name: `${name}: rows built anew`, value: built, unit: 'rows' },
    { name: `${name}: rows compared`, value: plan.examined, unit: 'rows' },
    { name: `${name}: rows changed`, value: plan.changes.length, unit: 'rows' },
    { name: `${name}: building`, value: builtAt - start, unit: 'ms' },
    { name: `${name}: plan`, value: plannedAt - builtAt, unit: 'ms' },
    { name: `${name}: commit`, value: end - plannedAt, unit: 'ms' },
  ];
}

async function run(progress: (text: string) => void): Promise<readonly Figure[]> {
  const zone = zoneOf(100, 100);
  await using server = await northboundServer();
  await using client = await loadedClient(server);
  await until('NB_Global', () => client.replica.size('NB_Global') === 1);
  const reconciler = new Reconciler(client.replica, rules);
  reconciler.follow();
  for (const [unit, rows] of northboundUnits(zone)) reconciler.setUnit(unit, rows);
  progress('filling');
  await commitPlan(client, reconciler.plan());
  if (!reconciler.plan().isEmpty) throw new Error('the database is not as it should be');
  const figures: Figure[] = [];
  let now = zone;
  const steps: readonly (readonly [string, (zone: Zone) => Zone])[] = [
    ['one pod', withPod],
    ['one network', withNetwork],
    ['one node', withNode],
  ];
  for (const [name, change] of steps) {
    progress(name);
    const next = change(now);
    figures.push(...(await apply(name, now, next, client, reconciler)));
    now = next;
  }
  return figures;
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'change-100x100',
    title: 'one pod, one network, one node more in 100 Layer3 networks on 100 nodes',
    run,
  },
];
