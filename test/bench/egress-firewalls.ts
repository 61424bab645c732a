/** What an EgressFirewall costs its node's daemon: ten thousand rules, and one more. */
import type { Operation } from 'ovsdb-client-ts';
import { egressFirewalls } from '../../src/api/kinds.ts';
import type { EgressFirewall } from '../../src/api/types.ts';
import { median, processorTime, type Benchmark, type Figure } from './benchmark.ts';
import { northboundServer } from './fill.ts';
import { Zone } from './zone-change.ts';
import { fillStore } from './zone-objects.ts';

const by = { fieldManager: 'bench' };
const RULES = 10_000;
const PODS = 100;
/** With more a node refuses that many different rules: each is flows for each pod (`max-flows-per-firewall`). */
const FEW_PODS = 8;
const RUNS = 7;
const NAMESPACE = 't1';

type Rules = EgressFirewall['spec']['egress'];
const cidr = (index: number): { cidrSelector: string } => ({
  cidrSelector: `9.${index >> 8}.${index & 255}.0/24`,
});
/** Rules that differ in nothing but their blocks, and such of which none is like the one before. */
const ALIKE = (index: number): Rules[number] => ({ type: 'Allow', to: cidr(index) });
const DIFFERENT = (index: number): Rules[number] => ({
  type: index % 2 === 0 ? 'Allow' : 'Deny',
  to: cidr(index),
  ports: [{ protocol: 'TCP', port: 1 + (index % 1000) }],
});
const rulesOf = (rule: typeof ALIKE, count: number): Rules =>
  Array.from({ length: count }, (_, index) => rule(index));

/** Milliseconds of processor time for bare transactions of what the rules are in the end: a set of all blocks, or a row for each. */
async function floorOf({ client }: Zone, rule: typeof ALIKE): Promise<number> {
  const egress = rulesOf(rule, RULES);
  const set = ['set', egress.map(({ to }) => to.cidrSelector ?? '')];
  const operations: readonly Operation[] =
    rule === ALIKE
      ? [{ op: 'insert', table: 'Address_Set', row: { name: 'floor', addresses: set } }]
      : egress.map(({ type, to, ports = [] }, index) => ({
          op: 'insert',
          table: 'ACL',
          row: {
            action: type === 'Allow' ? 'allow' : 'drop',
            direction: 'to-lport',
            priority: index,
            tier: 2,
            match: `(ip4.dst == ${to.cidrSelector}) && inport == @floor && (tcp.dst == ${ports[0]?.port})`,
            external_ids: ['map', [['k8s.ovn.org/id', `floor:${index}`]]],
          },
        }));
  const start = processorTime();
  const outcome = await client.transact(operations);
  if (outcome.kind !== 'success') throw new Error('the server refused the rows');
  return processorTime() - start;
}

interface Costs {
  /** Milliseconds of the clock, of the processor, and rows, of all rules. */
  readonly all: readonly [clock: number, time: number, rows: number];
  /** Of one more: the same, in the middle. */
  readonly more: readonly [clock: number, time: number, rows: number];
  readonly floor: number;
}

async function costsOf(rule: typeof ALIKE, pods: number): Promise<Costs> {
  await using server = await northboundServer();
  await using zone = new Zone(server);
  await fillStore(zone.store, { networks: 1, nodes: 10, used: 1, pods });
  await zone.synced();
  await zone.pass();
  const [time, rows, clock] = await zone.measure(() =>
    zone.store.create(
      egressFirewalls,
      {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'EgressFirewall',
        metadata: { namespace: NAMESPACE, name: 'default' },
        spec: { egress: rulesOf(rule, RULES - RUNS) },
      },
      by,
    ),
  );
  const more: (readonly [time: number, rows: number, clock: number])[] = [];
  for (let run = 1; run <= RUNS; run += 1) {
    const spec = { egress: rulesOf(rule, RULES - RUNS + run) };
    more.push(
      await zone.measure(() =>
        zone.store.patch(egressFirewalls, `${NAMESPACE}/default`, { spec }, by),
      ),
    );
  }
  const middle = (column: 0 | 1 | 2): number => median(more.map((one) => one[column]));
  return {
    all: [clock, time, rows],
    more: [middle(2), middle(0), middle(1)],
    floor: await floorOf(zone, rule),
  };
}

const figuresOf = (rules: string, { all, more, floor }: Costs): readonly Figure[] => [
  {
    name: `${rules}: by the clock, from the write to the commit`,
    value: all[0],
    unit: 'ms',
    goal: 1000,
  },
  { name: `${rules}: processor time`, value: all[1], unit: 'ms', floor },
  { name: `${rules}: rows`, value: all[2], unit: 'rows' },
  { name: 'one more: by the clock', value: more[0], unit: 'ms' },
  { name: 'one more: processor time', value: more[1], unit: 'ms' },
  { name: 'one more: rows', value: more[2], unit: 'rows', goal: 1 },
];

async function rules(progress: (text: string) => void): Promise<readonly Figure[]> {
  progress(`${RULES} rules that differ in their blocks, ${PODS} pods`);
  const alike = await costsOf(ALIKE, PODS);
  progress(`${RULES} rules that differ, ${FEW_PODS} pods`);
  const different = await costsOf(DIFFERENT, FEW_PODS);
  return [
    ...figuresOf('10,000 rules', alike),
    ...figuresOf('10,000 rules, none like the one before', different),
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
