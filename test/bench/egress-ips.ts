/** What EgressIPs cost: one pod more under one that serves many, and a thousand of them assigned over a hundred nodes. */
import { egressIPs, nodes } from '../../src/api/kinds.ts';
import type { EgressIP, Node } from '../../src/api/types.ts';
import { ClusterManager } from '../../src/cluster/manager.ts';
import { Informers } from '../../src/store/informers.ts';
import { node, silent, testSettings } from '../support/cluster/cluster.ts';
import { MemoryStore } from '../support/cluster/memory-store.ts';
import { median, processorTime, type Benchmark, type Figure } from './benchmark.ts';
import { northboundServer } from './fill.ts';
import { Zone } from './zone-change.ts';
import { addPod, fillStore, OWN_NODE } from './zone-objects.ts';

const by = { fieldManager: 'bench' };
const RUNS = 15;
const WARM_UP = 5;

const egressIp = (name: string, address: string, status?: EgressIP['status']): EgressIP => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: {
    name,
    ...(status === undefined ? {} : { annotations: { 'k8s.ovn.org/egressip-mark': '50000' } }),
  },
  spec: { egressIPs: [address], namespaceSelector: {} },
  ...(status === undefined ? {} : { status }),
});

/** Of a node's daemon for one pod more where an EgressIP serves so many: milliseconds of processor time, rows, and milliseconds of the clock. */
async function onePodMore(
  count: number,
): Promise<readonly [time: number, rows: number, clock: number]> {
  await using server = await northboundServer();
  await using zone = new Zone(server);
  await fillStore(zone.store, { networks: 1, nodes: 10, used: 1, pods: count });
  const address = '172.20.200.1';
  const items = [{ node: OWN_NODE, egressIP: address }];
  await zone.store.create(egressIPs, egressIp('out', address, { items }), by);
  await zone.synced();
  await zone.pass();
  const costs: (readonly [time: number, rows: number, clock: number])[] = [];
  for (let run = 0; run < RUNS + WARM_UP; run += 1) {
    const cost = await zone.measure(() => addPod(zone.store, 1, count + run));
    if (run >= WARM_UP) costs.push(cost);
  }
  const middle = (column: 0 | 1 | 2): number => median(costs.map((one) => one[column]));
  return [middle(0), middle(1), middle(2)];
}

async function pods(progress: (text: string) => void): Promise<readonly Figure[]> {
  progress('50 pods');
  const [few, fewRows, fewClock] = await onePodMore(50);
  progress('5,000 pods');
  const [many, manyRows, manyClock] = await onePodMore(5000);
  return [
    { name: 'one pod more among 50', value: few, unit: 'ms' },
    { name: 'one pod more among 5,000', value: many, unit: 'ms' },
    { name: 'among 5,000, to 50', value: many / few, unit: 'ratio', goal: 1.5 },
    { name: 'by the clock, from the write to the commit, among 50', value: fewClock, unit: 'ms' },
    { name: 'by the clock, among 5,000', value: manyClock, unit: 'ms' },
    { name: 'rows among 5,000, to 50', value: manyRows / fewRows, unit: 'ratio', goal: 1 },
  ];
}

const NODES = 100;
const OBJECTS = 1000;

function egressNode(index: number): Node {
  const address = `172.18.0.${index + 2}/16`;
  const name = `node${String(index).padStart(3, '0')}`;
  const gateway = {
    mode: 'shared',
    'bridge-id': 'br-ex',
    'interface-id': `br-ex_${name}`,
    'mac-address': '02:42:ac:12:00:02',
    'ip-addresses': [address],
    'next-hops': ['172.18.255.254'],
  };
  const object = node(name, {
    'k8s.ovn.org/l3-gateway-config': JSON.stringify({ default: gateway }),
    'k8s.ovn.org/node-primary-ifaddr': JSON.stringify({ ipv4: address }),
    'k8s.ovn.org/host-cidrs': JSON.stringify([address]),
  });
  return {
    ...object,
    metadata: { ...object.metadata, labels: { 'k8s.ovn.org/egress-assignable': '' } },
  };
}

async function assignment(): Promise<readonly Figure[]> {
  const store = new MemoryStore();
  for (let index = 0; index < NODES; index += 1) await store.create(nodes, egressNode(index), by);
  const informers = new Informers({ store, log: silent });
  const stop = new AbortController();
  const { signal } = stop;
  const manager = new ClusterManager({
    store,
    informers,
    settings: testSettings,
    log: silent,
    signal,
  });
  const running = Promise.all([informers.run(signal), manager.run()]);
  await manager.started;
  const settled = async (): Promise<void> => {
    await informers.readBack(signal);
    await manager.caughtUp();
  };
  await settled();
  const cost = async (
    change: () => Promise<unknown>,
  ): Promise<readonly [clock: number, time: number]> => {
    const [clock, start] = [performance.now(), processorTime()];
    await change();
    await settled();
    return [performance.now() - clock, processorTime() - start];
  };
  const [clock, all] = await cost(() =>
    Promise.all(
      Array.from({ length: OBJECTS }, (_, index) => {
        const object = egressIp(`out${index}`, `172.18.${10 + (index >> 8)}.${index & 255}`);
        return informers.store.create(egressIPs, object, by);
      }),
    ),
  );
  const loads = new Map<string, number>();
  for (const { status } of await store.list(egressIPs))
    for (const { node: name } of status?.items ?? []) loads.set(name, (loads.get(name) ?? 0) + 1);
  const counts = [...loads.values()];
  const assigned = counts.reduce((sum, count) => sum + count, 0);
  if (assigned !== OBJECTS) throw new Error(`${assigned} of ${OBJECTS} addresses are assigned`);
  const [goneClock, gone] = await cost(() => informers.store.delete(nodes, 'node005'));
  stop.abort();
  await running;
  return [
    {
      name: '1,000 EgressIPs over 100 nodes: by the clock, from the first write to the last status',
      value: clock,
      unit: 'ms',
      goal: 2000,
    },
    { name: 'the same: processor time', value: all, unit: 'ms' },
    {
      name: 'the fullest node less the emptiest one',
      value: Math.max(...counts) - (counts.length < NODES ? 0 : Math.min(...counts)),
      unit: 'addresses',
      goal: 1,
    },
    { name: 'one of the nodes goes: by the clock', value: goneClock, unit: 'ms' },
    { name: 'the same: processor time', value: gone, unit: 'ms' },
  ];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'egress-ip-pods',
    title: 'a node, for one pod more under an EgressIP, by how many it serves',
    run: pods,
  },
  {
    name: 'egress-ip-assignment',
    title: 'the cluster manager, for a thousand EgressIPs over a hundred nodes',
    run: assignment,
  },
];
