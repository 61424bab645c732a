/** What a ClusterNetworkConnect of many networks costs: a node's daemon, from the object's event to the last transaction, and the cluster manager. */
import {
  CONNECT_SUBNETS,
  CONNECT_TUNNEL_KEY,
} from '../../src/api/annotations/network-annotations.ts';
import {
  clusterNetworkConnects,
  namespaces,
  nodes,
  userDefinedNetworks,
} from '../../src/api/kinds.ts';
import type { ClusterNetworkConnect } from '../../src/api/types.ts';
import { ClusterManager } from '../../src/cluster/manager.ts';
import { Informers } from '../../src/store/informers.ts';
import { layer3, namespace, node, silent, testSettings } from '../support/cluster/cluster.ts';
import { MemoryStore } from '../support/cluster/memory-store.ts';
import { median, processorTime, type Benchmark, type Figure } from './benchmark.ts';
import { northboundServer } from './fill.ts';
import { Zone } from './zone-change.ts';
import { fillStore } from './zone-objects.ts';

const FEW = 25;
const MANY = 100;
const NODES = 50;
const RUNS = 7;
const by = { fieldManager: 'bench' };

const CONNECT: ClusterNetworkConnect = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterNetworkConnect',
  metadata: { name: 'all' },
  spec: {
    connectSubnets: [{ cidr: '192.168.0.0/16', networkPrefix: 24 }],
    connectivity: ['PodNetwork', 'ServiceNetwork'],
    networkSelectors: [
      {
        networkSelectionType: 'PrimaryUserDefinedNetworks',
        primaryUserDefinedNetworkSelector: {
          namespaceSelector: { matchLabels: { meets: 'yes' } },
        },
      },
    ],
  },
};

/** What the cluster manager writes for so many networks. */
const allocated = (count: number): Record<string, string> => ({
  [CONNECT_TUNNEL_KEY]: '16715781',
  [CONNECT_SUBNETS]: JSON.stringify(
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `layer3_${index + 1}`,
        { ipv4: `192.168.${index}.0/24` },
      ]),
    ),
  ),
});

interface NodeCosts {
  /** Rows and milliseconds of the whole connection. */
  readonly rows: number;
  readonly all: number;
  /** Of one network that joins. */
  readonly joinedRows: number;
  readonly joined: number;
}

async function nodeCosts(count: number, progress: (text: string) => void): Promise<NodeCosts> {
  progress(`${count} networks on a node`);
  await using server = await northboundServer();
  await using zone = new Zone(server);
  const { store } = zone;
  const networks = count + 1;
  await fillStore(store, { networks, nodes: NODES, used: networks, pods: networks });
  await zone.synced();
  await zone.pass();
  const [all, rows] = await zone.measure(() =>
    store.create(
      clusterNetworkConnects,
      { ...CONNECT, metadata: { name: 'all', annotations: allocated(count) } },
      by,
    ),
  );
  const have = (members: number) => (): Promise<unknown> =>
    store.patch(
      clusterNetworkConnects,
      'all',
      { metadata: { annotations: allocated(members) } },
      by,
    );
  const joins: (readonly [number, number])[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const [time, written] = await zone.measure(have(networks));
    joins.push([time, written]);
    await zone.measure(have(count));
  }
  return {
    rows,
    all,
    joinedRows: joins[0]?.[1] ?? 0,
    joined: median(joins.map(([time]) => time)),
  };
}

interface ManagerCosts {
  readonly all: number;
  readonly joined: number;
}

async function managerCosts(
  count: number,
  progress: (text: string) => void,
): Promise<ManagerCosts> {
  progress(`${count} networks in the cluster manager`);
  const store = new MemoryStore();
  const informers = new Informers({ store, log: silent });
  const stop = new AbortController();
  const { signal } = stop;
  const settings = {
    ...testSettings,
    cluster: {
      ...testSettings.cluster,
      clusterSubnets: [{ cidr: '10.128.0.0/9', hostLength: 24 }],
    },
  };
  const manager = new ClusterManager({ store, informers, settings, log: silent, signal });
  const running = Promise.all([informers.run(signal), manager.run()]);
  await manager.started;
  const write = informers.store;
  const settled = async (): Promise<void> => {
    await informers.readBack(signal);
    await manager.caughtUp();
  };
  const cost = async (change: () => Promise<unknown>): Promise<number> => {
    const start = processorTime();
    await change();
    await settled();
    return processorTime() - start;
  };
  for (let index = 0; index < NODES; index += 1)
    await write.create(
      nodes,
      node(`node${index}`, { 'k8s.ovn.org/node-chassis-id': `node${index}` }),
      by,
    );
  for (let index = 0; index < count + RUNS; index += 1) {
    const { metadata, ...rest } = namespace(`tenant${index}`);
    const labels = { ...metadata.labels, ...(index < count ? { meets: 'yes' } : {}) };
    await write.create(namespaces, { ...rest, metadata: { ...metadata, labels } }, by);
    await write.create(
      userDefinedNetworks,
      layer3(`tenant${index}/net`, `11.${index}.0.0/16/24`),
      by,
    );
  }
  await settled();
  const all = await cost(() => write.create(clusterNetworkConnects, CONNECT, by));
  const joined: number[] = [];
  for (let run = 0; run < RUNS; run += 1)
    joined.push(
      await cost(() =>
        write.patch(
          namespaces,
          `tenant${count + run}`,
          { metadata: { labels: { meets: 'yes' } } },
          by,
        ),
      ),
    );
  const held = JSON.parse(
    (await write.get(clusterNetworkConnects, 'all'))?.metadata.annotations?.[CONNECT_SUBNETS] ??
      '{}',
  ) as object;
  if (Object.keys(held).length !== count + RUNS)
    throw new Error(`${Object.keys(held).length} networks are connected`);
  stop.abort();
  await running;
  return { all, joined: median(joined) };
}

async function run(progress: (text: string) => void): Promise<readonly Figure[]> {
  const [few, many] = [await nodeCosts(FEW, progress), await nodeCosts(MANY, progress)];
  const [managerFew, managerMany] = [
    await managerCosts(FEW, progress),
    await managerCosts(MANY, progress),
  ];
  const times = MANY / FEW;
  const of = (count: number): string => `${count} networks on ${NODES} nodes`;
  return [
    { name: `${of(MANY)}: rows of a node`, value: many.rows, unit: 'rows' },
    { name: `${of(MANY)}: a node, all of them`, value: many.all, unit: 'ms' },
    { name: `${of(MANY)}: one more, rows`, value: many.joinedRows, unit: 'rows' },
    { name: `${of(MANY)}: one more, a node`, value: many.joined, unit: 'ms' },
    {
      name: `one more of ${MANY}, a node / of ${FEW}`,
      value: many.joined / few.joined,
      unit: 'ratio',
      goal: times * 1.5,
    },
    { name: `${of(MANY)}: cluster manager, all of them`, value: managerMany.all, unit: 'ms' },
    { name: `${of(MANY)}: one more, cluster manager`, value: managerMany.joined, unit: 'ms' },
    {
      name: `one more of ${MANY}, cluster manager / of ${FEW}`,
      value: managerMany.joined / managerFew.joined,
      unit: 'ratio',
      goal: times * 1.5,
    },
    {
      name: `one more of ${MANY}, cluster manager and a node`,
      value: many.joined + managerMany.joined,
      unit: 'ms',
      goal: 1000,
    },
  ];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'connects',
    title: `a connection of ${MANY} networks on ${NODES} nodes, and one network more`,
    run,
  },
];
