import { namespaces, nodes, userDefinedNetworks, zoneStatuses } from '../../src/api/kinds.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import type { ZoneStatus } from '../../src/api/zone-status.ts';
import { ClusterManager } from '../../src/cluster/manager.ts';
import { Informers } from '../../src/store/informers.ts';
import type { Store } from '../../src/store/store.ts';
import { layer3, namespace, node, silent, testSettings } from '../support/cluster.ts';
import { MemoryStore } from '../support/memory-store.ts';
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

const CHANGES: readonly (readonly [string, number, Change])[] = [
  [
    'one network',
    1.5,
    async (cluster, repetition) => cluster.addNetworks(1000 + repetition, 1001 + repetition),
  ],
  [
    'a label of a node',
    1.5,
    async ({ store }, repetition) =>
      store.patch(nodes, nodeName(1), { metadata: { labels: { x: String(repetition) } } }, USER),
  ],
  [
    'a node reports one network',
    1.5,
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

async function run(progress: (text: string) => void): Promise<readonly Figure[]> {
  // The first one warms up.
  await measure(10, 100, progress);
  const small = await measure(1, 100, progress);
  const tiny = await measure(10, 10, progress);
  const large = await measure(500, 100, progress);
  return CHANGES.flatMap(([name, goal], index): Figure[] => {
    const [least, few, most] = [small[index] ?? 0, tiny[index] ?? 0, large[index] ?? 0];
    return [
      { name: `${name}: 10 networks, 10 nodes`, value: few, unit: 'ms' },
      { name: `${name}: 1 network, 100 nodes`, value: least, unit: 'ms' },
      { name: `${name}: 500 networks, 100 nodes`, value: most, unit: 'ms' },
      { name: `${name}: 500 to 1 network`, value: most / least, unit: 'ratio', goal },
    ];
  });
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'manager-scale',
    title: 'processor time of the cluster manager for one change, by the size of the cluster',
    run,
  },
];
