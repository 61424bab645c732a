import { commitPlan, plan, Reconciler, type Plan } from '../../src/ovsdb/index.ts';
import {
  peakMemory,
  processorTime,
  timed,
  median,
  type Benchmark,
  type Figure,
} from './benchmark.ts';
import { loadedClient, northboundServer, rawTime } from './fill.ts';
import { RawSender } from './raw-sender.ts';
import { operationsOf } from '../../src/ovsdb/plan/plan-operations.ts';
import { countRows, LAYER3_RULES, layer3Units } from './workload.ts';

/** The plan alone: the workload of the client's figures, 2M + 9 rows for each network in a zone of M nodes. */

async function againstRight(
  size: number,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  await using server = await northboundServer();
  const units = layer3Units(size, size);
  const rows = countRows(units);
  progress(`filling with ${rows} rows`);
  let first: Plan;
  {
    await using client = await loadedClient(server);
    first = plan(units, client.replica, LAYER3_RULES);
    const outcome = await commitPlan(client, first);
    if (outcome.kind !== 'success') throw new Error(JSON.stringify(outcome).slice(0, 500));
  }
  progress('loading');
  await using client = await loadedClient(server);
  const times: number[] = [];
  const cpu: number[] = [];
  for (let round = 0; round < 5; round++) {
    // Built anew each time: rows that were never looked at before, as after a restart. No collection is forced: it would
    // throw compiled code away.
    const wanted = layer3Units(size, size);
    const before = processorTime();
    const [result, wall] = await timed(() => plan(wanted, client.replica, LAYER3_RULES));
    cpu.push(processorTime() - before);
    if (!result.isEmpty)
      throw new Error(`${result.changes.length} changes against a right database`);
    progress(`round ${round + 1}: ${wall.toFixed(0)} ms`);
    times.push(wall);
  }
  return [
    { name: 'rows', value: rows, unit: 'rows' },
    {
      name: 'plan, first round',
      value: times[0] ?? 0,
      unit: 'ms',
      ...(size === 500 ? { goal: 1000 } : {}),
    },
    {
      name: 'plan, median of 5',
      value: median(times),
      unit: 'ms',
      ...(size === 500 ? { goal: 1000 } : {}),
    },
    { name: 'plan, processor time, median of 5', value: median(cpu), unit: 'ms' },
    { name: 'processor time per row', value: (median(cpu) * 1000) / rows, unit: 'us' },
    { name: 'peak memory of the client', value: peakMemory(), unit: 'MB' },
  ];
}

/** One network after the other, each a plan and a commit of its own, against the same transactions sent raw. */
async function commitNetworks(progress: (text: string) => void): Promise<readonly Figure[]> {
  const networks = 160;
  const warm = 60;
  const nodes = 100;
  await using server = await northboundServer();
  await using client = await loadedClient(server, LAYER3_RULES);
  await using bare = await northboundServer();
  await using sender = await RawSender.connect(bare.socket);
  // The least that a client can need that sees its own change: the server has to tell it.
  await using followed = await northboundServer();
  await using follower = await RawSender.connect(followed.socket);
  await follower.monitor('OVN_Northbound', client.replica);
  const ours: number[] = [];
  const commits: number[] = [];
  const raw: number[] = [];
  const told: number[] = [];
  const planCpu: number[] = [];
  const commitCpu: number[] = [];
  const rawCpu: number[] = [];
  const reconciler = new Reconciler(client.replica, LAYER3_RULES);
  reconciler.follow();
  reconciler.plan();
  for (const [unit, rows] of layer3Units(networks, nodes)) {
    const startCpu = processorTime();
    const start = performance.now();
    reconciler.setUnit(unit, rows);
    const wanted = reconciler.plan();
    const planned = performance.now();
    // Not within what is timed: to ask for the processor time may take a third of a millisecond.
    const plannedCpu = processorTime();
    const sent = performance.now();
    const outcome = await commitPlan(client, wanted);
    const end = performance.now();
    if (outcome.kind !== 'success') throw new Error(JSON.stringify(outcome).slice(0, 500));
    ours.push(planned - start + end - sent);
    commits.push(end - sent);
    planCpu.push(plannedCpu - startCpu);
    commitCpu.push(processorTime() - plannedCpu);
    const operations = wanted.batches.map(operationsOf);
    const beforeCpu = processorTime();
    const before = performance.now();
    for (const batch of operations) await sender.transact('OVN_Northbound', batch);
    raw.push(performance.now() - before);
    rawCpu.push(processorTime() - beforeCpu);
    const beforeTold = performance.now();
    for (const batch of operations) await follower.transact('OVN_Northbound', batch);
    told.push(performance.now() - beforeTold);
  }
  progress(`${networks} networks of ${2 * nodes + 9} rows`);
  const floor = median(raw.slice(warm));
  const cpuFloor = median(rawCpu.slice(warm));
  return [
    { name: 'plan, processor time', value: median(planCpu.slice(warm)), unit: 'ms' },
    {
      name: 'commit and its echo, processor time',
      value: median(commitCpu.slice(warm)),
      unit: 'ms',
      floor: cpuFloor,
    },
    { name: 'plan and commit of one network', value: median(ours.slice(warm)), unit: 'ms', floor },
    { name: 'commit alone', value: median(commits.slice(warm)), unit: 'ms', floor },
    {
      name: 'plan and commit, raw sender = 1',
      value: median(ours.slice(warm)) / floor,
      unit: 'ratio',
      goal: 1.6,
    },
    {
      name: 'raw sender with the same monitor, raw sender = 1',
      value: median(told.slice(warm)) / floor,
      unit: 'ratio',
    },
    {
      name: 'plan and commit, raw sender with the same monitor = 1',
      value: median(ours.slice(warm)) / median(told.slice(warm)),
      unit: 'ratio',
    },
  ];
}

async function commitAll(progress: (text: string) => void): Promise<readonly Figure[]> {
  await using server = await northboundServer();
  const units = layer3Units(100, 100);
  await using client = await loadedClient(server, LAYER3_RULES);
  const wanted = plan(units, client.replica, LAYER3_RULES);
  progress(`${wanted.changes.length} rows in ${wanted.batches.length} transactions`);
  const [outcome, wall] = await timed(() => commitPlan(client, wanted));
  if (outcome.kind !== 'success') throw new Error(JSON.stringify(outcome).slice(0, 500));
  const floor = await rawTime(wanted);
  return [{ name: 'commit', value: wall, unit: 'ms', floor }];
}

export const benchmarks: readonly Benchmark[] = [
  ...[100, 200, 500].map((size): Benchmark => ({
    name: `plan-${size}x${size}`,
    title: `plan of ${size}×${size} desired rows against a right replica`,
    run: (progress) => againstRight(size, progress),
  })),
  {
    name: 'commit-network',
    title: 'one network of 100 nodes (209 rows): plan and commit against the raw sender',
    run: commitNetworks,
  },
  {
    name: 'commit-100x100',
    title: '100 networks of 209 rows in one plan against the raw sender',
    run: commitAll,
  },
];
