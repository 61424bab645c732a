/** What an EgressFirewall costs its node's daemon: ten thousand rules, and one more. */
import { egressFirewalls } from '../../src/api/kinds.ts';
import type { EgressFirewall } from '../../src/api/types.ts';
import { median, processorTime, type Benchmark, type Figure } from './benchmark.ts';
import { northboundServer } from './fill.ts';
import { Zone } from './zone-change.ts';
import { fillStore } from './zone-objects.ts';

const by = { fieldManager: 'bench' };
const RULES = 10_000;
const PODS = 100;
const RUNS = 7;
const NAMESPACE = 't1';

const firewall = (namespace: string, rules: number): EgressFirewall => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  metadata: { namespace, name: 'default' },
  spec: {
    egress: Array.from({ length: rules }, (_, index) => ({
      type: 'Allow',
      to: { cidrSelector: `9.${index >> 8}.${index & 255}.0/24` },
    })),
  },
});

/** Milliseconds of processor time for a set of so many blocks alone. */
async function floorOf(zone: Zone): Promise<number> {
  const addresses = firewall(NAMESPACE, RULES).spec.egress.map(({ to }) => to.cidrSelector ?? '');
  const row = { name: 'floor', addresses: ['set', addresses] };
  const start = processorTime();
  const outcome = await zone.client.transact([{ op: 'insert', table: 'Address_Set', row }]);
  if (outcome.kind !== 'success') throw new Error('the server refused the set');
  return processorTime() - start;
}

async function rules(progress: (text: string) => void): Promise<readonly Figure[]> {
  await using server = await northboundServer();
  await using zone = new Zone(server);
  await fillStore(zone.store, { networks: 1, nodes: 10, used: 1, pods: PODS });
  await zone.synced();
  await zone.pass();
  progress(`${RULES} rules`);
  const [all, written] = await zone.measure(() =>
    zone.store.create(egressFirewalls, firewall(NAMESPACE, RULES - RUNS), by),
  );
  const costs: number[] = [];
  let rowsOfOne = 0;
  for (let run = 1; run <= RUNS; run += 1) {
    const { spec } = firewall(NAMESPACE, RULES - RUNS + run);
    const [time, rows] = await zone.measure(() =>
      zone.store.patch(egressFirewalls, `${NAMESPACE}/default`, { spec }, by),
    );
    costs.push(time);
    rowsOfOne = rows;
  }
  return [
    {
      name: '10,000 rules, from the event to the commit',
      value: all,
      unit: 'ms',
      floor: await floorOf(zone),
      goal: 1000,
    },
    { name: 'rows of 10,000 rules', value: written, unit: 'rows' },
    { name: 'one rule more', value: median(costs), unit: 'ms' },
    { name: 'rows of one more', value: rowsOfOne, unit: 'rows', goal: 1 },
  ];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'egress-firewall',
    title:
      'an EgressFirewall of ten thousand rules for a hundred pods of a node, and for one rule more',
    run: rules,
  },
];
