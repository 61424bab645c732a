import { monitorEventLoopDelay } from 'node:perf_hooks';
import { namespaces, nodes, pods, userDefinedNetworks, zoneStatuses } from '../../src/api/kinds.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import type { ZoneStatus } from '../../src/api/zone-status.ts';
import { ClusterManager } from '../../src/cluster/manager.ts';
import { Informers } from '../../src/store/informers.ts';
import type { Store } from '../../src/store/store.ts';
import { layer3, namespace, node, pod, silent, testSettings } from '../support/cluster/cluster.ts';
import { MemoryStore } from '../support/cluster/memory-store.ts';
import { median, processorTime, type Benchmark, type Figure } from './benchmark.ts';

/** What one change costs the cluster manager, from the object's event to its last write, through a store in memory. */

const USER = { fieldManager: 'user' };
const REPETITIONS = 5;

interface Cluster extends AsyncDisposable {
  /** What is written through it is read back before things are settled. */
  readonly store: Store;
  /** Resolves when all that was written is dealt with. */
  settled(): Promise<void>;
  addNetworks(from: number, to: number): Promise<void>;
  /** How often the manager and the users have written. */
  writes(): number;
}

const nodeName = (index: number): string => `node${String(index).padStart(3, '0')}`;

async function clusterOf(networks: number, nodeCount: number): Promise<Cluster> {
  const store = new MemoryStore();
  const informers = new Informers({ store, log: silent });
  const stop = new AbortController();
  const { signal } = stop;
  const cluster = {
    ...testSettings.cluster,
    clusterSubnets: [{ cidr: '10.128.0.0/9', hostLength: 24 }],
  };
  const settings = { ...testSettings, cluster };
  const manager = new ClusterManager({ store, informers, settings, log: silent, signal });
  const running = Promise.all([informers.run(signal), manager.run()]);
  await manager.started;
  const write = informers.store;
  const settled = async (): Promise<void> => {
    await informers.readBack(signal);
    await manager.caughtUp();
  };
  const addNetworks = async (from: number, to: number): Promise<void> => {
    for (let index = from; index < to; index += 1) {
      await write.create(namespaces, namespace(`tenant${index}`), USER);
      await write.create(
        userDefinedNetworks,
        layer3(`tenant${index}/net`, '100.96.0.0/12/24'),
        USER,
      );
    }
    await settled();
  };
  for (let index = 0; index < nodeCount; index += 1) {
    const name = nodeName(index);
    await write.create(nodes, node(name, { 'k8s.ovn.org/node-chassis-id': name }), USER);
  }
  await settled();
  await addNetworks(0, networks);
  return {
    store: write,
    settled,
    addNetworks,
    writes: () => store.writes.length,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

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

/** The first pods of a network on so many nodes. */
const USING = 3;

/** What a network on demand costs in a large cluster, and its first pods: in processor time and in writes. */
async function onDemand(
  networks: number,
  nodeCount: number,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  progress(`${networks} networks on ${nodeCount} nodes`);
  const stalls = monitorEventLoopDelay({ resolution: 5 });
  stalls.enable();
  await using cluster = await clusterOf(networks, nodeCount);
  stalls.disable();
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
  return [
    { name: `a network on demand: ${where}`, value: one, unit: 'ms' },
    { name: `… writes, those of its user among them`, value: ofNetwork, unit: 'operations' },
    { name: `… its first pods on ${USING} nodes`, value: used, unit: 'ms' },
    { name: `… writes, those of the user among them`, value: median(writes), unit: 'operations' },
    {
      name: `… the longest stall while all of these came, by the clock`,
      value: stalls.max / 1e6,
      unit: 'ms',
      goal: 100,
    },
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
