/** What the proof that networks are apart takes: rows of a real Northbound database are read, and judged. Flows and the host are not part of it. */
import {
  clusterNetworkConnects,
  clusterUserDefinedNetworks,
  egressFirewalls,
  egressIPs,
  endpointSlices,
  namespaces,
  networkAttachmentDefinitions,
  networkPolicies,
  nodes,
  pods,
  services,
  userDefinedNetworks,
} from '../../src/api/kinds.ts';
import type { Store } from '../../src/store/store.ts';
import type { Operation } from 'ovsdb-client-ts';
import { createLogger } from '../../src/process/logger.ts';
import { violationText } from '../../src/verify/findings.ts';
import { KeptProofPass } from '../../src/zone/kept-proof-pass.ts';
import { ProofChanges, proofObjects, proofPolicies } from '../../src/zone/proof-changes.ts';
import { KeptProof } from '../../src/verify/kept/kept-proof.ts';
import { readTables } from '../../src/verify/read/databases.ts';
import type { Tables } from '../../src/verify/rows.ts';
import type { Snapshot } from '../../src/verify/snapshot.ts';
import { certificateOf } from '../../src/verify/certificate/certify.ts';
import { recheck } from '../../src/verify/recheck/recheck.ts';
import { prove, type Proof } from '../../src/verify/verify.ts';
import { heapInUse, median, processorTime, type Benchmark, type Figure } from './benchmark.ts';
import { schemaOf } from './filled-server.ts';
import { northboundServer } from './fill.ts';
import { Zone } from './zone-change.ts';
import {
  addNetwork,
  addPod,
  BENCH_SETTINGS,
  fillStore,
  numbersTo,
  OWN_NODE,
  subnetsOf,
} from './zone-objects.ts';

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
  /** Of processor time, of a daemon that proves what changes: all of it at its start, one row, pod and network; MB that it takes. */
  readonly changes: {
    readonly all: number;
    readonly row: number;
    readonly pod: number;
    readonly network: number;
    /** The subnets of a network on all nodes. */
    readonly subnets: number;
    /** A policy and a firewall that come, and an ACL of theirs. */
    readonly policy: number;
    readonly acl: number;
    readonly memory: number;
    /** By the clock, and of processor time: the longest step at the start, and of a change. */
    readonly longestOfAll: number;
    readonly workOfAll: number;
    readonly longest: number;
    readonly work: number;
  };
}

/** Changes of each kind that are measured together: one is less than the clock of the processor shows. */
const CHANGES = 20;

/** What a daemon's proof of changes takes: from the event of a change to the verdict that nothing is wrong. */
async function costsOfChanges(zone: Zone, networks: number): Promise<Costs['changes']> {
  const before = heapInUse();
  let [longest, work] = [0, 0];
  const step = <T>(take: () => T): T => {
    const [start, startOfWork] = [performance.now(), processorTime()];
    const result = take();
    longest = Math.max(longest, performance.now() - start);
    work = Math.max(work, processorTime() - startOfWork);
    return result;
  };
  const settings = { ...BENCH_SETTINGS, routingTables: 10_000 };
  const proof = new KeptProof(OWN_NODE, settings);
  let heard = Promise.withResolvers<void>();
  const pass = new KeptProofPass({
    follow() {
      const changes = new ProofChanges({
        replica: zone.client.replica,
        objects: proofObjects(zone.informers, zone.pods),
        policies: proofPolicies(zone.informers),
        onChange: () => heard.resolve(),
      });
      return { all: () => changes.all(), take: () => step(() => changes.take()) };
    },
    begin: () => ({
      apply: (changes) => step(() => proof.apply(changes)),
      judge: (milliseconds) => step(() => proof.judge(milliseconds)),
      get waiting() {
        return proof.waiting;
      },
      get violations() {
        return step(() => proof.violations);
      },
      get undecided() {
        return proof.undecided;
      },
    }),
    isSettled: () => true,
    ask: () => undefined,
    metrics: { notProved: () => undefined },
    log: createLogger('error'),
  });
  const verdict = async (): Promise<number> => {
    const start = processorTime();
    while ((await pass.run(never)).wait === 0);
    const taken = processorTime() - start;
    const [violation] = proof.violations;
    if (violation !== undefined) throw new Error(violationText(violation));
    return taken;
  };
  const costOf = async (change: (i: number) => Promise<unknown>): Promise<number> => {
    const times: number[] = [];
    for (let i = 0; i < CHANGES; i += 1) {
      heard = Promise.withResolvers();
      await change(i);
      await heard.promise;
      times.push(await verdict());
    }
    return median(times);
  };
  const all = await verdict();
  const [longestOfAll, workOfAll] = [longest, work];
  const memory = (heapInUse() - before) / 2 ** 20;
  [longest, work] = [0, 0];
  const [port] = [...zone.client.replica.rows('Logical_Switch_Port')];
  const row = await costOf((i) =>
    zone.client.transact([byHand('Logical_Switch_Port', port?.uuid, i)]),
  );
  /** An object, and its rows. No ovn-northd runs here, which is all that a pass would complain of. */
  const written = async (change: Promise<unknown>): Promise<void> => {
    await change;
    await heard.promise;
    zone.controller.update();
    await zone.controller.flush(never);
  };
  const pod = await costOf((i) => written(addPod(zone.store, 1, 10_000 + i)));
  const network = await costOf((i) => written(addNetwork(zone.store, 1000 + i)));
  const subnets = await costOf((i) => written(giveSubnets(zone.store, networks, 1000 + i)));
  const policy = await costOf((i) => written(addRules(zone.store, i + 1)));
  const [own] = zone.client.replica.find(
    'ACL',
    [{ column: 'external_ids', key: 'k8s.ovn.org/owner-type' }],
    ['EgressFirewall'],
  );
  const acl = await costOf((i) => zone.client.transact([byHand('ACL', own?.uuid, i)]));
  return {
    all,
    longestOfAll,
    workOfAll,
    memory,
    row,
    pod,
    network,
    subnets,
    policy,
    acl,
    longest,
    work,
  };
}

/** Somebody writes something to a row. */
const byHand = (table: string, uuid = '', i = 0): Operation => ({
  op: 'mutate',
  table,
  where: [['_uuid', '==', ['uuid', uuid]]],
  mutations: [['external_ids', 'insert', ['map', [[`by-hand-${i}`, 'yes']]]]],
});

/** Pods of a network are closed but for each other, and send to some blocks alone. */
async function addRules(store: Store, network: number): Promise<void> {
  const by = { fieldManager: 'bench' };
  const namespace = `t${network}`;
  await store.create(
    networkPolicies,
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { namespace, name: 'own' },
      spec: { podSelector: {}, ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }] },
    },
    by,
  );
  await store.create(
    egressFirewalls,
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'EgressFirewall',
      metadata: { namespace, name: 'default' },
      spec: {
        egress: [
          { type: 'Allow', to: { cidrSelector: '192.0.2.0/24' } },
          { type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } },
        ],
      },
    },
    by,
  );
}

/** A network has subnets on all nodes, beside those that they had. */
async function giveSubnets(store: Store, networks: number, network: number): Promise<void> {
  const more = [...numbersTo(networks), network];
  for (let index = 0; index < NODES; index += 1)
    await store.patch(
      nodes,
      `node-${index}`,
      {
        metadata: {
          annotations: { 'k8s.ovn.org/node-subnets': JSON.stringify(subnetsOf(index, more)) },
        },
      },
      { fieldManager: 'bench' },
    );
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
    // None: what is looked at is whether rows drop what nothing denies.
    policies: { namespaced: [], admins: [], firewalls: [] },
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
    changes: await costsOfChanges(zone, networks),
  };
}

const NAMES = {
  all: 'from nothing',
  row: 'a row that somebody writes',
  pod: 'one pod',
  network: 'a network that comes',
  subnets: "a network's subnets on all nodes",
  policy: 'a policy and a firewall that come',
  acl: 'an ACL that somebody writes',
  longestOfAll: 'the longest step from nothing, by the clock',
  workOfAll: 'the longest step from nothing, of processor time',
  longest: 'the longest step of a change, by the clock',
  work: 'the longest step of a change, of processor time',
} as const;
const GOALS: Partial<Record<keyof typeof NAMES, number>> = {
  row: 20,
  pod: 20,
  network: 20,
  subnets: 20,
  policy: 20,
  acl: 20,
  longestOfAll: 20,
  workOfAll: 20,
  longest: 20,
  work: 20,
};

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
    ...(Object.keys(NAMES) as (keyof typeof NAMES)[]).map((what): Figure => {
      const goal = GOALS[what];
      return {
        name: `500 networks, changes as they come: ${NAMES[what]}`,
        value: many.changes[what],
        unit: 'ms',
        floor: few.changes[what],
        ...(goal === undefined ? {} : { goal }),
      };
    }),
    {
      name: '500 networks, changes as they come: memory',
      value: many.changes.memory,
      unit: 'MB',
      floor: few.changes.memory,
      goal: 60,
    },
  ];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'verify',
    title: `the proof that networks are apart, over the Northbound rows of 500 networks on ${NODES} nodes with ${PODS_PER_NETWORK} pods each, beside those of 50`,
    run,
  },
];
