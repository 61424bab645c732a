/** What the proof that networks are apart takes: rows of a real Northbound database are read, and judged. Flows and the host are not part of it. */
import {
  clusterNetworkConnects,
  clusterUserDefinedNetworks,
  egressIPs,
  endpointSlices,
  namespaces,
  networkAttachmentDefinitions,
  nodes,
  pods,
  services,
  userDefinedNetworks,
} from '../../src/api/kinds.ts';
import { readTables } from '../../src/verify/read/databases.ts';
import type { Snapshot } from '../../src/verify/snapshot.ts';
import { certificateOf } from '../../src/verify/certificate/certify.ts';
import { recheck } from '../../src/verify/recheck/recheck.ts';
import { prove, type Proof } from '../../src/verify/verify.ts';
import { median, processorTime, type Benchmark, type Figure } from './benchmark.ts';
import { schemaOf } from './filled-server.ts';
import { northboundServer } from './fill.ts';
import { Zone } from './zone-change.ts';
import { BENCH_SETTINGS, fillStore, OWN_NODE } from './zone-objects.ts';

const NODES = 10;
const PODS_PER_NETWORK = 2;
const RUNS = 5;
const TIME = '2026-01-01T00:00:00Z';
const never = new AbortController().signal;

interface Costs {
  readonly rows: number;
  /** Milliseconds by the clock: until rows are here, and until they are judged. */
  readonly read: number;
  readonly judged: number;
  /** Of processor time: a certificate of that, and a check of it. */
  readonly certified: number;
  readonly checked: number;
}

async function costsOf(networks: number): Promise<Costs> {
  await using server = await northboundServer();
  await using zone = new Zone(server);
  await fillStore(zone.store, {
    networks,
    nodes: NODES,
    used: networks,
    pods: networks * PODS_PER_NETWORK,
  });
  await zone.synced();
  await zone.pass();
  const { tables } = await schemaOf(server);
  const has = (table: string, column?: string): boolean =>
    column === undefined ? tables.has(table) : (tables.get(table)?.columns.has(column) ?? false);
  const { store } = zone;
  const objects: Snapshot['objects'] = {
    attachmentDefinitions: await store.list(networkAttachmentDefinitions),
    clusterNetworks: await store.list(clusterUserDefinedNetworks),
    networks: await store.list(userDefinedNetworks),
    connects: await store.list(clusterNetworkConnects),
    namespaces: await store.list(namespaces),
    nodes: await store.list(nodes),
    pods: await store.list(pods),
    services: await store.list(services),
    slices: await store.list(endpointSlices),
    egressIps: await store.list(egressIPs),
  };
  const reads: number[] = [];
  const judgements: number[] = [];
  const certificates: number[] = [];
  const checks: number[] = [];
  let last: Proof | undefined;
  for (let i = 0; i < RUNS; i += 1) {
    const begun = performance.now();
    const northbound = await readTables('OVN_Northbound', zone.client, has, never);
    reads.push(performance.now() - begun);
    const start = processorTime();
    const snapshot: Snapshot = {
      node: OWN_NODE,
      settings: { ...BENCH_SETTINGS, routingTables: 10_000 },
      objects,
      northbound,
      host: {},
      unread: ['Southbound, Open vSwitch and the host'],
    };
    last = prove(snapshot);
    judgements.push(processorTime() - start);
    const before = processorTime();
    const certificate = certificateOf(snapshot, last, { time: TIME, heddle: 'bench' });
    certificates.push(processorTime() - before);
    const between = processorTime();
    const [wrong] = recheck(certificate);
    checks.push(processorTime() - between);
    if (wrong !== undefined) throw new Error(wrong);
  }
  const [violation] = last?.verdict.violations ?? [];
  if (violation !== undefined) throw new Error(`${violation.where}: ${violation.what}`);
  return {
    rows: last?.verdict.counts['northbound'] ?? 0,
    read: median(reads),
    judged: median(judgements),
    certified: median(certificates),
    checked: median(checks),
  };
}

async function run(progress: (text: string) => void): Promise<readonly Figure[]> {
  progress('50 networks');
  const few = await costsOf(50);
  progress('500 networks');
  const many = await costsOf(500);
  return [
    { name: '500 networks: rows', value: many.rows, unit: 'rows' },
    { name: '500 networks: rows are read', value: many.read, unit: 'ms', floor: few.read },
    { name: '500 networks: … and judged', value: many.judged, unit: 'ms', floor: few.judged },
    {
      name: '500 networks: a certificate is made',
      value: many.certified,
      unit: 'ms',
      floor: few.certified,
    },
    { name: '500 networks: … and checked', value: many.checked, unit: 'ms', floor: few.checked },
  ];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'verify',
    title: `the proof that networks are apart, over the Northbound rows of 500 networks on ${NODES} nodes with ${PODS_PER_NETWORK} pods each, beside those of 50`,
    run,
  },
];
