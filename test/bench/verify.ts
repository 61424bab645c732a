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
import { objectKey, type KubeObject } from '../../src/api/objects.ts';
import { KeptProof, type Changes } from '../../src/verify/kept/kept-proof.ts';
import { readTables } from '../../src/verify/read/databases.ts';
import { rowsOf, uuidOf, type Tables } from '../../src/verify/rows.ts';
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
  /** Of processor time, on a proof that is kept: all of it from nothing, one row of a port, one pod, one network that goes or comes. */
  readonly kept: {
    readonly all: number;
    readonly row: number;
    readonly pod: number;
    readonly network: number;
  };
}

/** Changes of each kind that are measured together: one is less than the clock of the processor shows. */
const CHANGES = 40;

function costsOfChanges({ node, settings, objects, northbound }: Snapshot): Costs['kept'] {
  const byUuid = (table: string) =>
    new Map(rowsOf(northbound, table).map((row) => [uuidOf(row), row]));
  const byKey = <T extends KubeObject>(all: readonly T[]) =>
    new Map(all.map((one) => [objectKey(one.metadata), one]));
  const proof = new KeptProof(node, settings);
  const costOf = (changes: readonly Changes[]): number => {
    const start = processorTime();
    for (const one of changes) {
      proof.apply(one);
      proof.judge();
    }
    return (processorTime() - start) / changes.length;
  };
  const all = costOf([
    {
      rows: new Map([...northbound.keys()].map((table) => [table, byUuid(table)])),
      objects: Object.fromEntries(
        Object.entries(objects).map(([kind, of]: readonly [string, readonly KubeObject[]]) => [
          kind,
          byKey<KubeObject>(of),
        ]),
      ),
    },
  ]);
  const ports = [...byUuid('Logical_Switch_Port')].slice(0, CHANGES);
  const pods = [...byKey(objects.pods)].slice(0, CHANGES);
  const networks = [...byKey(objects.attachmentDefinitions)].slice(0, CHANGES);
  const kept = {
    all,
    row: costOf(
      ports.map(([uuid, row]) => ({
        rows: new Map([['Logical_Switch_Port', new Map([[uuid, { ...row }]])]]),
      })),
    ),
    pod: costOf(
      pods.flatMap(([key, pod]) =>
        [undefined, structuredClone(pod)].map((one) => ({
          objects: { pods: new Map([[key, one]]) },
        })),
      ),
    ),
    network: costOf(
      networks.flatMap(([key, nad]) =>
        [undefined, structuredClone(nad)].map((one) => ({
          objects: { attachmentDefinitions: new Map([[key, one]]) },
        })),
      ),
    ),
  };
  const [violation] = proof.violations;
  if (violation !== undefined) throw new Error(`${violation.where}: ${violation.what}`);
  return kept;
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
  const snapshotOf = (northbound: Tables): Snapshot => ({
    node: OWN_NODE,
    settings: { ...BENCH_SETTINGS, routingTables: 10_000 },
    objects,
    northbound,
    host: {},
    unread: ['Southbound, Open vSwitch and the host'],
  });
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
    const snapshot = snapshotOf(northbound);
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
    kept: costsOfChanges(snapshotOf(await readTables('OVN_Northbound', zone.client, has, never))),
  };
}

const NAMES = {
  all: 'from nothing',
  row: 'one row of a port',
  pod: 'a pod that goes or comes',
  network: 'a network that goes or comes',
} as const;

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
    ...(['all', 'row', 'pod', 'network'] as const).map((what): Figure => ({
      name: `500 networks, a proof that is kept: ${NAMES[what]}`,
      value: many.kept[what],
      unit: 'ms',
      floor: few.kept[what],
    })),
  ];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'verify',
    title: `the proof that networks are apart, over the Northbound rows of 500 networks on ${NODES} nodes with ${PODS_PER_NETWORK} pods each, beside those of 50`,
    run,
  },
];
