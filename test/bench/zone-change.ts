/** What one change costs a node's daemon, from the object's event to the last transaction, in a small zone and in a large one. */
import { namespaces, nodes } from '../../src/api/kinds.ts';
import { createLogger } from '../../src/process/logger.ts';
import { northboundTables } from '../../src/zone/monitored-columns.ts';
import { ZoneController } from '../../src/zone/zone-controller.ts';
import { ZoneInformers } from '../../src/zone/zone-informers.ts';
import { zoneFacts } from '../../src/model/zone/zone.ts';
import { OvsdbClient } from 'ovsdb-client-ts';
import { Informers } from '../../src/store/informers.ts';
import { MemoryStore } from '../support/cluster/memory-store.ts';
import { northboundServer } from './fill.ts';
import { median, processorTime, type Benchmark, type Figure } from './benchmark.ts';
import type { OvsdbServer } from '../support/ovsdb/ovsdb-server.ts';
import {
  addNetwork,
  addNode,
  addPod,
  BENCH_SETTINGS,
  fillStore,
  numbersTo,
  OWN_NODE,
  subnetsOf,
  type ZoneSize,
} from './zone-objects.ts';

const SMALL: ZoneSize = { networks: 10, nodes: 10, used: 10, pods: 10 };
const LARGE: ZoneSize = { networks: 500, nodes: 100, used: 500, pods: 5000 };
const FEW_USED: ZoneSize = { networks: 500, nodes: 100, used: 20, pods: 200 };
const TWENTY: ZoneSize = { networks: 20, nodes: 100, used: 20, pods: 200 };

const by = { fieldManager: 'bench' };
const never = new AbortController().signal;
const RUNS = 15;
/** V8 compiles what is new in the first runs. */
const WARM_UP = 5;

/** A node's daemon without its process: informers, facts, controller, a real database. */
export class Zone implements AsyncDisposable {
  readonly store: MemoryStore;
  readonly facts = zoneFacts(OWN_NODE, BENCH_SETTINGS);
  readonly controller: ZoneController;
  readonly client: OvsdbClient;
  readonly informers: Informers;
  readonly #informers: ZoneInformers;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #events = 0;

  constructor(server: OvsdbServer, store = new MemoryStore()) {
    this.store = store;
    const log = createLogger('error');
    const informers = new Informers({ store: this.store, log });
    this.informers = informers;
    this.#informers = new ZoneInformers({
      informers,
      facts: this.facts,
      hasOwnPodsOnly: false,
      onChange: () => (this.#events += 1),
    });
    this.client = new OvsdbClient({
      remotes: server.remote,
      database: 'OVN_Northbound',
      tables: northboundTables,
    }).start();
    const { client } = this;
    this.controller = new ZoneController({
      facts: this.facts,
      northbound: {
        get replica() {
          return client.replica;
        },
        transactor: client,
        unavailable: () => undefined,
      },
      log,
    });
    this.#running = informers.run(this.#stop.signal);
  }

  get pods(): ZoneInformers['pods'] {
    return this.#informers.pods;
  }

  async synced(): Promise<void> {
    await this.#informers.synced(600_000);
    await this.client.ready(AbortSignal.timeout(600_000));
  }

  /** Rows that a pass wrote. */
  async pass(): Promise<number> {
    const reason = this.controller.update();
    if (reason !== undefined) throw new Error(reason);
    const result = await this.controller.flush(never);
    if (result.kind !== 'settled') throw new Error(result.reason);
    // What is refused costs nothing: the figures would be those of something else.
    const [problem] = [...this.controller.problems(), ...this.facts.modelProblems()];
    if (problem !== undefined) throw new Error(`${problem.object}: ${problem.message}`);
    return result.committed;
  }

  /**
   * Milliseconds of processor time from the event to the last transaction, the rows that were written, and milliseconds of the clock from the
   * write of the object on.
   */
  async measure(
    change: () => Promise<unknown>,
    events = 1,
  ): Promise<readonly [time: number, rows: number, clock: number]> {
    const before = this.#events;
    const written = performance.now();
    // What the change itself costs the store is not the daemon's.
    await change();
    const start = processorTime();
    while (this.#events < before + events) await new Promise(setImmediate);
    // What is no news to anybody makes no event: it has been through the informers by then.
    if (events === 0) for (let i = 0; i < 10; i += 1) await new Promise(setImmediate);
    const rows = await this.pass();
    return [processorTime() - start, rows, performance.now() - written];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.controller.close();
    this.#stop.abort();
    await this.#running;
    await this.client[Symbol.asyncDispose]();
  }
}

interface Costs {
  readonly size: ZoneSize;
  readonly rows: number;
  readonly fill: number;
  readonly costs: ReadonlyMap<string, readonly [number, number]>;
  readonly restart: number;
  readonly load: number;
}

const countRows = (client: OvsdbClient): number =>
  [...client.replica.schema.tables.keys()].reduce(
    (sum, table) => sum + (client.replica.hasTable(table) ? client.replica.size(table) : 0),
    0,
  );

/** The changes of the table in docs/performance.md; each adds one thing more, `i` from 0. */
const CHANGES: readonly (readonly [
  name: string,
  change: (zone: Zone, size: ZoneSize, i: number) => Promise<unknown>,
  events?: number,
])[] = [
  ['one pod', ({ store }, { pods: count }, i) => addPod(store, 1, count + i)],
  [
    'a heartbeat of a node',
    ({ store }, _size, i) =>
      store.patchStatus(nodes, 'node-1', { status: { conditions: [{ type: 'Ready', i }] } }, by),
    0,
  ],
  [
    'a pod of another node',
    ({ store }, { pods: count }, i) => addPod(store, 1, count + 1000 + i, 'node-1'),
  ],
  [
    'a label that nobody reads',
    ({ store }, _size, i) =>
      store.patch(namespaces, 't1', { metadata: { labels: { color: `c${i}` } } }, by),
  ],
  [
    'a network that nothing uses here',
    ({ store }, { networks }, i) => addNetwork(store, networks + 1 + i),
    2,
  ],
  [
    'a network and its first pod',
    async ({ store }, { networks, nodes: count }, i) => {
      const network = networks + 1000 + i;
      await addNetwork(store, network);
      await store.patch(
        nodes,
        OWN_NODE,
        { metadata: { annotations: { 'k8s.ovn.org/node-subnets': subnetsWith(store, network) } } },
        by,
      );
      await addPod(store, network, 10_000 + i);
      return count;
    },
    4,
  ],
  [
    'one node',
    ({ store }, { networks, nodes: count }, i) => addNode(store, count + i, numbersTo(networks)),
  ],
];

const ownNetworks = new WeakMap<MemoryStore, number[]>();

/** The own node's subnets with that of one network more. */
function subnetsWith(store: MemoryStore, network: number): string {
  const known = ownNetworks.get(store) ?? [];
  known.push(network);
  ownNetworks.set(store, known);
  return JSON.stringify(subnetsOf(0, known));
}

async function costsOf(size: ZoneSize, progress: (text: string) => void): Promise<Costs> {
  await using server = await northboundServer();
  const costs = new Map<string, readonly [number, number]>();
  let fill: number;
  let rows: number;
  let all: MemoryStore;
  {
    await using zone = new Zone(server);
    all = zone.store;
    await fillStore(zone.store, size);
    ownNetworks.set(zone.store, [...numbersTo(size.networks)]);
    await zone.synced();
    progress(`${size.networks}x${size.nodes}: filling`);
    const start = processorTime();
    await zone.pass();
    fill = processorTime() - start;
    rows = countRows(zone.client);
    for (const [name, change, events] of CHANGES) {
      progress(`${size.networks}x${size.nodes}: ${name}`);
      const times: number[] = [];
      let written = 0;
      for (let i = 0; i < WARM_UP + RUNS; i += 1) {
        const [time, count] = await zone.measure(() => change(zone, size, i), events);
        if (i >= WARM_UP) times.push(time);
        written = count;
      }
      costs.set(name, [median(times), written]);
    }
  }
  progress(`${size.networks}x${size.nodes}: restart`);
  const [load, restart] = await restartOn(server, all);
  return { size, rows, fill, costs, restart, load };
}

/** A daemon that starts on a right database: the load of its replica, and everything from there to the end of the first pass. */
export async function restartOn(
  server: OvsdbServer,
  store: MemoryStore,
): Promise<readonly [number, number]> {
  const loadStart = processorTime();
  {
    await using client = new OvsdbClient({
      remotes: server.remote,
      database: 'OVN_Northbound',
      tables: northboundTables,
    }).start();
    await client.ready(AbortSignal.timeout(600_000));
  }
  const load = processorTime() - loadStart;
  await using zone = new Zone(server, store);
  await zone.synced();
  const start = processorTime();
  const written = await zone.pass();
  if (written > 0) throw new Error(`the restart wrote ${written} rows`);
  return [load, processorTime() - start];
}

async function run(progress: (text: string) => void): Promise<readonly Figure[]> {
  const small = await costsOf(SMALL, progress);
  const large = await costsOf(LARGE, progress);
  const few = await costsOf(FEW_USED, progress);
  const twenty = await costsOf(TWENTY, progress);
  const figures: Figure[] = [
    { name: 'rows of 500 x 100, all in use', value: large.rows, unit: 'rows' },
    { name: 'rows of 500 x 100, 20 in use', value: few.rows, unit: 'rows' },
    { name: 'rows of 20 x 100', value: twenty.rows, unit: 'rows' },
    { name: 'fill of 500 x 100, processor time', value: large.fill, unit: 'ms' },
    { name: 'load of 500 x 100 in a replica', value: large.load, unit: 'ms' },
    { name: 'first pass on it / load', value: large.restart / large.load, unit: 'ratio', goal: 2 },
  ];
  for (const [name] of CHANGES) {
    const at = ({ costs }: Costs): readonly [number, number] => costs.get(name) ?? [0, 0];
    const [base] = name === 'one node' ? at(twenty) : at(small);
    const [now, rows] = name === 'one node' ? at(few) : at(large);
    figures.push(
      { name: `${name}: processor time`, value: now, unit: 'ms', floor: base },
      {
        name: `${name}: in the large zone / in the small one`,
        value: now / base,
        unit: 'ratio',
        goal: 1.5,
      },
      { name: `${name}: rows written`, value: rows, unit: 'rows' },
    );
  }
  return figures;
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'zone-change',
    title:
      'one pod, node, network … more: processor time of a daemon from the event to the transaction, 500 x 100 beside 10 x 10',
    run,
  },
];
