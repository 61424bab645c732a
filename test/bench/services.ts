/** What services cost a node's daemon: one endpoint more, and a start with many of them. */
import { endpointSlices, services } from '../../src/api/kinds.ts';
import type { KubeObject, ResourceKind } from '../../src/api/objects.ts';
import type { MemoryStore } from '../support/cluster/memory-store.ts';
import { service, slice } from '../support/zone/services.ts';
import { median, type Benchmark, type Figure } from './benchmark.ts';
import { northboundServer } from './fill.ts';
import { restartOn, Zone } from './zone-change.ts';
import { fillStore, OWN_NODE } from './zone-objects.ts';

const by = { fieldManager: 'bench' };
const RUNS = 25;
/** V8 compiles what is new in the first runs. */
const WARM_UP = 10;
/** Endpoints that Kubernetes puts into one slice. */
const PER_SLICE = 100;

const create = async (store: MemoryStore, object: KubeObject): Promise<void> => {
  const kind: ResourceKind = object.kind === 'Service' ? services : endpointSlices;
  await store.create(kind, object, by);
};

const addressOf = (index: number): string => `103.${100 + (index >> 8)}.1.${index & 255}`;

/** A slice of the service's endpoints from `first` on. */
const endpointsOf = (key: string, network: string, first: number, count: number): KubeObject =>
  slice(
    key,
    Array.from({ length: count }, (_, i) => `${addressOf(first + i)} on ${OWN_NODE}`),
    { network, name: `from-${first}` },
  );

/** Milliseconds for one endpoint more in a service that has `count`, and the rows that it writes. */
async function oneEndpointMore(count: number): Promise<readonly [number, number]> {
  await using server = await northboundServer();
  await using zone = new Zone(server);
  const { store } = zone;
  await fillStore(store, { networks: 1, nodes: 3, used: 1, pods: 1 });
  await create(store, service('t1/web', { clusterIPs: ['172.16.1.7'] }));
  for (let first = 0; first < count; first += PER_SLICE)
    await create(store, endpointsOf('t1/web', 't1_net', first, Math.min(PER_SLICE, count - first)));
  await zone.synced();
  await zone.pass();
  const last = count - Math.min(PER_SLICE, count);
  const times: number[] = [];
  let rows = 0;
  for (let i = 0; i < WARM_UP + RUNS; i += 1) {
    // One more and one less in turn: the service stays as large as it is.
    const { metadata, ...changed } = endpointsOf(
      't1/web',
      't1_net',
      last,
      count - last + ((i + 1) % 2),
    );
    const [time, written] = await zone.measure(() =>
      store.patch(
        endpointSlices,
        `t1/${metadata.name}`,
        { endpoints: (changed as { endpoints?: unknown }).endpoints },
        by,
      ),
    );
    if (i >= WARM_UP) times.push(time);
    rows = written;
  }
  return [median(times), rows];
}

const SERVICES = 1000;
const NETWORKS = 20;

async function start(progress: (text: string) => void): Promise<readonly Figure[]> {
  await using server = await northboundServer();
  let store: MemoryStore;
  {
    await using zone = new Zone(server);
    store = zone.store;
    await fillStore(store, { networks: NETWORKS, nodes: 3, used: NETWORKS, pods: NETWORKS });
    for (let network = 1; network <= NETWORKS; network += 1)
      for (let index = 0; index < SERVICES; index += 1) {
        const key = `t${network}/web-${index}`;
        const address = `172.${16 + network}.${index >> 8}.${index & 255}`;
        await create(store, service(key, { clusterIPs: [address] }));
        await create(store, endpointsOf(key, `t${network}_net`, index % 200, 2));
      }
    await zone.synced();
    progress(`${SERVICES} services on ${NETWORKS} networks: filling`);
    await zone.pass();
  }
  progress('starting again');
  const [load, restart] = await restartOn(server, store);
  return [
    {
      name: `load of ${SERVICES} services x ${NETWORKS} networks in a replica`,
      value: load,
      unit: 'ms',
    },
    // A start that writes ends the benchmark.
    { name: 'start on a right database: operations', value: 0, unit: 'operations', goal: 0 },
    { name: 'start on a right database: first pass', value: restart, unit: 'ms' },
  ];
}

async function run(progress: (text: string) => void): Promise<readonly Figure[]> {
  progress('one endpoint more');
  const [few] = await oneEndpointMore(10);
  const [many, rows] = await oneEndpointMore(1000);
  return [
    { name: 'one endpoint more, of 1,000: processor time', value: many, unit: 'ms', floor: few },
    { name: 'of 1,000 / of 10', value: many / few, unit: 'ratio', goal: 3 },
    { name: 'of 1,000: rows written', value: rows, unit: 'rows', goal: 1 },
    ...(await start(progress)),
  ];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'services',
    title:
      'one endpoint more in a service of 1,000 beside one of 10; a start with 1,000 services on each of 20 networks',
    run,
  },
];
