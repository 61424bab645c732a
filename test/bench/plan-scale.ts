import { commitPlan } from '../../src/desired/ovsdb/commit.ts';
import { operationsOf } from '../../src/desired/ovsdb/operations.ts';
import { Reconciler } from '../../src/desired/ovsdb/reconciler.ts';
import { claimedSelection } from '../../src/desired/ovsdb/selection.ts';
import { OvsdbClient } from 'ovsdb-client-ts';
import type { OvsdbServer } from '../support/ovsdb/ovsdb-server.ts';
import { median, peakMemory, processorTime, type Benchmark, type Figure } from './benchmark.ts';
import { northboundServer } from './fill.ts';
import {
  LAYER3_CLAIMS,
  layer3Engine,
  layer3Facts,
  putPod,
  type Layer3Facts,
} from './layer3-features.ts';
import { RawSender } from './raw-sender.ts';

/** The engine alone: features over facts, plan and commit, against a server. */

async function clientOf(server: OvsdbServer): Promise<OvsdbClient> {
  const client = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    tables: (schema) => claimedSelection(LAYER3_CLAIMS, schema),
  }).start();
  await client.ready(AbortSignal.timeout(120_000));
  return client;
}

/** Facts, engine and reconciler over a client. */
class Zone {
  readonly facts: Layer3Facts;
  readonly client: OvsdbClient;
  readonly reconciler: Reconciler;
  readonly #engine: ReturnType<typeof layer3Engine>;

  constructor(client: OvsdbClient, facts: Layer3Facts) {
    this.client = client;
    this.facts = facts;
    this.reconciler = new Reconciler(client.replica, LAYER3_CLAIMS);
    this.reconciler.follow();
    this.#engine = layer3Engine(facts);
    this.#engine.connect([this.reconciler]);
  }

  build(): void {
    this.#engine.build();
  }

  plan() {
    return this.reconciler.plan({ now: 0, isComplete: this.#engine.isComplete });
  }

  /** Plans and commits until nothing is left to do. Returns the batches that were sent. */
  async settle() {
    this.build();
    const sent = [];
    for (;;) {
      const plan = this.plan();
      if (plan.problems[0] !== undefined) throw new Error(plan.problems[0].message);
      if (plan.isEmpty) return sent;
      const outcome = await commitPlan(this.client, plan);
      if (outcome.kind !== 'success') throw new Error(JSON.stringify(outcome).slice(0, 500));
      sent.push(...plan.batches);
    }
  }
}

/** Bytes of the heap that are in use, after a collection. */
function heapUsed(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

async function againstRight(
  networks: number,
  nodes: number,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  await using server = await northboundServer();
  {
    await using client = await clientOf(server);
    await new Zone(client, layer3Facts(networks, nodes)).settle();
  }
  progress('loading');
  const beforeLoad = processorTime();
  await using client = await clientOf(server);
  const load = processorTime() - beforeLoad;
  const facts = layer3Facts(networks, nodes);
  const beforeFeatures = processorTime();
  layer3Engine(layer3Facts(networks, nodes)).build();
  const features = processorTime() - beforeFeatures;
  const empty = heapUsed();
  const before = processorTime();
  const zone = new Zone(client, facts);
  zone.build();
  const plan = zone.plan();
  const start = processorTime() - before;
  if (!plan.isEmpty) throw new Error(`${plan.changes.length} changes against a right database`);
  const rows = plan.examined;
  const used = heapUsed() - empty;
  return [
    { name: 'rows', value: rows, unit: 'rows' },
    { name: 'load, processor time', value: load, unit: 'ms' },
    { name: 'features alone, processor time', value: features, unit: 'ms' },
    { name: 'features and plan, processor time', value: start, unit: 'ms' },
    {
      name: 'plan without the features, load = 1',
      value: (start - features) / load,
      unit: 'ratio',
      ...(rows > 100_000 ? { goal: 2 } : {}),
    },
    ...(globalThis.gc === undefined
      ? []
      : [{ name: 'desired side, heap', value: used / rows, unit: 'B/row', goal: 300 } as const]),
    { name: 'peak memory of the client', value: peakMemory(), unit: 'MB' },
  ];
}

/** Milliseconds of processor time from a pod's fact to the plan that says nothing is left to do. */
async function onePod(networks: number, nodes: number, pods: number): Promise<number> {
  await using server = await northboundServer();
  await using client = await clientOf(server);
  const zone = new Zone(client, layer3Facts(networks, nodes, pods));
  await zone.settle();
  const times: number[] = [];
  for (let id = pods + 1; id <= pods + 200; id++) {
    const before = processorTime();
    putPod(zone.facts, id, networks);
    await zone.settle();
    times.push(processorTime() - before);
  }
  return median(times.slice(100));
}

async function flatPods(progress: (text: string) => void): Promise<readonly Figure[]> {
  const small = await onePod(10, 10, 10);
  progress('small zone done');
  const large = await onePod(500, 100, 5000);
  return [
    { name: 'one pod, 10 networks × 10 nodes, 10 pods', value: small, unit: 'ms' },
    { name: 'one pod, 500 networks × 100 nodes, 5,000 pods', value: large, unit: 'ms' },
    { name: 'one pod, small zone = 1', value: large / small, unit: 'ratio', goal: 1.5 },
  ];
}

/** One network after the other, each a plan and a commit of its own, against the same transactions sent raw. */
async function commitNetworks(progress: (text: string) => void): Promise<readonly Figure[]> {
  const [networks, warm, nodes] = [160, 60, 100];
  await using server = await northboundServer();
  await using client = await clientOf(server);
  await using bare = await northboundServer();
  await using sender = await RawSender.connect(bare.socket);
  const zone = new Zone(client, layer3Facts(0, nodes));
  await zone.settle();
  const [ours, raw]: [number[], number[]] = [[], []];
  for (let id = 1; id <= networks; id++) {
    zone.facts.networks.put(`tenant${id}_net`, { id });
    const start = performance.now();
    const batches = await zone.settle();
    ours.push(performance.now() - start);
    const operations = batches.map((groups) => operationsOf(groups.flatMap((one) => one.changes)));
    const before = performance.now();
    for (const batch of operations) await sender.transact('OVN_Northbound', batch);
    raw.push(performance.now() - before);
  }
  progress(`${networks} networks of ${2 * nodes + 9} rows`);
  const floor = median(raw.slice(warm));
  const value = median(ours.slice(warm));
  return [
    { name: 'build, plan and commit of one network', value, unit: 'ms', floor },
    {
      name: 'build, plan and commit, raw sender = 1',
      value: value / floor,
      unit: 'ratio',
      goal: 1.8,
    },
  ];
}

export const benchmarks: readonly Benchmark[] = [
  ...(
    [
      [100, 100],
      [500, 100],
      [500, 500],
    ] as const
  ).map(([networks, nodes]): Benchmark => ({
    name: `plan-${networks}x${nodes}`,
    title: `plan of the rows of ${networks} networks × ${nodes} nodes against a right replica`,
    run: (progress) => againstRight(networks, nodes, progress),
  })),
  {
    name: 'plan-pod',
    title:
      'one pod more, in a small and in a large zone: build, plan, commit and the plan after it',
    run: flatPods,
  },
  {
    name: 'commit-network',
    title: 'one network of 100 nodes (209 rows): build, plan and commit against the raw sender',
    run: commitNetworks,
  },
];
