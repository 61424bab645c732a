import { nodes, pods, zoneStatuses } from '../../src/api/kinds.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import type { ZoneStatus } from '../../src/api/zone-status.ts';
import { pod } from '../support/cluster/cluster.ts';
import { median, processorTime, type Benchmark, type Figure } from './benchmark.ts';
import { worstStall } from './stall.ts';
import { clusterOf, nodeName, USER, type Cluster } from './large-cluster.ts';

/** What one change costs the cluster manager, from the object's event to its last write, through a store in memory. */

const REPETITIONS = 5;

type Change = (cluster: Cluster, repetition: number) => Promise<unknown>;

async function cost(cluster: Cluster, change: Change): Promise<number> {
  const times: number[] = [];
  for (let repetition = 0; repetition < REPETITIONS; repetition += 1) {
    const start = processorTime();
    await change(cluster, repetition);
    await cluster.settled();
    times.push(processorTime() - start);
  }
  return median(times);
}

/** What one network costs is compared with the first one's on as many nodes; what is nobody's work with a small cluster. */
const GOAL = 1.5;

const CHANGES: readonly (readonly [string, 'first' | 'small', Change])[] = [
  [
    'one network',
    'first',
    async (cluster, repetition) => cluster.addNetworks(1000 + repetition, 1001 + repetition),
  ],
  [
    'a label of a node',
    'small',
    async ({ store }, repetition) =>
      store.patch(nodes, nodeName(1), { metadata: { labels: { x: String(repetition) } } }, USER),
  ],
  [
    'a node reports one network',
    'small',
    async ({ store }, repetition) => {
      const report = {
        name: 'tenant0_net',
        state: repetition % 2 === 0 ? 'Programmed' : 'Pending',
      };
      const status = { observedAt: 'now', networks: [report], problems: [] };
      await store.patchStatus(zoneStatuses, nodeName(1), { status }, USER);
    },
  ],
];

async function measure(
  networks: number,
  nodeCount: number,
  progress: (text: string) => void,
): Promise<readonly number[]> {
  progress(`${networks} networks on ${nodeCount} nodes`);
  await using cluster = await clusterOf(networks, nodeCount);
  const zone: KubeObject = {
    apiVersion: zoneStatuses.apiVersion,
    kind: zoneStatuses.kind,
    metadata: { name: nodeName(1) },
  };
  await cluster.store.create(zoneStatuses, zone as ZoneStatus, USER);
  await cluster.settled();
  const costs: number[] = [];
  for (const [, , change] of CHANGES) costs.push(await cost(cluster, change));
  return costs;
}

/** Milliseconds of processor time after which timers and sockets are to have had their turn. */
const LONGEST_STRETCH = 100;

/** The first pods of a network on so many nodes. */
const USING = 3;

/** What a network on demand costs in a large cluster, and its first pods: in processor time and in writes. */
async function onDemand(
  networks: number,
  nodeCount: number,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  progress(`${networks} networks on ${nodeCount} nodes`);
  await using cluster = await clusterOf(0, nodeCount);
  const stalls = new Map<string, number>();
  const stall = async (what: string, action: () => Promise<void>): Promise<void> => {
    const { processor } = await worstStall(action);
    stalls.set(what, processor);
  };
  await stall(`${networks} networks come at once`, () => cluster.addNetworks(0, networks));
  await stall('one network more', () => cluster.addNetworks(networks, networks + 1));
  await stall('one node more', async () => {
    await cluster.addNode(nodeCount);
    await cluster.settled();
  });
  const where = `${networks} networks, ${nodeCount} nodes`;
  const writes: number[] = [];
  const counted =
    (change: Change): Change =>
    async (of, repetition) => {
      const before = of.writes();
      await change(of, repetition);
      await of.settled();
      writes.push(of.writes() - before);
    };
  const first = 100_000;
  const one = await cost(
    cluster,
    counted(async (of, repetition) => of.addNetworks(first + repetition, first + repetition + 1)),
  );
  const ofNetwork = median(writes.splice(0));
  const used = await cost(
    cluster,
    counted(async ({ store }, repetition) => {
      for (let index = 0; index < USING; index += 1)
        await store.create(
          pods,
          pod(`tenant${first + repetition}/pod${index}`, nodeName(index)),
          USER,
        );
    }),
  );
  progress('the manager is restarted');
  await stall('the manager starts again', () => cluster.restart());
  return [
    { name: `a network on demand: ${where}`, value: one, unit: 'ms' },
    { name: `… writes, those of its user among them`, value: ofNetwork, unit: 'operations' },
    { name: `… its first pods on ${USING} nodes`, value: used, unit: 'ms' },
    { name: `… writes, those of the user among them`, value: median(writes), unit: 'operations' },
    ...[...stalls].map(([what, value]): Figure => ({
      name: `the longest stretch without a turn for others, while ${what}`,
      value,
      unit: 'ms',
      goal: LONGEST_STRETCH,
    })),
  ];
}

async function run(progress: (text: string) => void): Promise<readonly Figure[]> {
  // The first one warms up.
  await measure(10, 100, progress);
  const firsts = await measure(0, 100, progress);
  const smalls = await measure(10, 10, progress);
  const larges = await measure(500, 100, progress);
  const demanded = await onDemand(500, 1000, progress);
  const changes = CHANGES.flatMap(([name, base], index): Figure[] => {
    const [first, small, large] = [firsts[index] ?? 0, smalls[index] ?? 0, larges[index] ?? 0];
    // Below a tenth of a millisecond a ratio says nothing.
    const least = Math.max(0.1, base === 'first' ? first : small);
    return [
      { name: `${name}: 10 networks, 10 nodes`, value: small, unit: 'ms' },
      { name: `${name}: 0 networks, 100 nodes`, value: first, unit: 'ms' },
      { name: `${name}: 500 networks, 100 nodes`, value: large, unit: 'ms' },
      {
        name: `${name}: to ${base === 'first' ? 'the first network' : '10 networks on 10 nodes'}`,
        value: Math.max(0.1, large) / least,
        unit: 'ratio',
        goal: GOAL,
      },
    ];
  });
  return [...changes, ...demanded];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'manager-scale',
    title: 'processor time of the cluster manager for one change, by the size of the cluster',
    run,
  },
];
