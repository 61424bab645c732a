/** What ovn-northd makes of our rows costs it: processor time for many networks at once, and for one pod more. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { MARK } from '../../src/desired/rows.ts';
import { bound } from '../support/run/left-behind.ts';
import { ovsProgram } from '../support/host/ovs-programs.ts';
import { OvsdbServer, runOvs, SCHEMAS } from '../support/ovsdb/ovsdb-server.ts';
import { median, processorTimeOf, type Benchmark, type Figure } from './benchmark.ts';
import { schemaOf } from './filled-server.ts';
import { northboundServer } from './fill.ts';
import { Zone } from './zone-change.ts';
import { addPod, fillStore } from './zone-objects.ts';

const NODES = 10;
const PODS_PER_NETWORK = 10;
const RUNS = 15;
const STARTS = 5;

interface Northd extends AsyncDisposable {
  /** Milliseconds of its processor time until it has written what the Northbound database asks for. */
  settled(): Promise<number>;
}

/** ovn-northd between a Northbound database and a new Southbound one. */
async function northdOn(northbound: OvsdbServer): Promise<Northd> {
  const southbound = await OvsdbServer.start({
    name: 'southbound',
    schema: join(SCHEMAS, 'ovn-sb.ovsschema'),
  });
  const program = ovsProgram('ovn-northd');
  const child = spawn(
    ...bound(program.command, [
      ...program.args,
      `--ovnnb-db=${northbound.remote}`,
      `--ovnsb-db=${southbound.remote}`,
      `--unixctl=${join(northbound.folder, 'northd.ctl')}`,
      '--verbose=off',
    ]),
    { stdio: 'ignore', cwd: northbound.folder },
  );
  let spent = 0;
  return {
    async settled() {
      await runOvs('ovn-nbctl', [
        `--db=${northbound.remote}`,
        '--no-leader-only',
        '--timeout=300',
        '--wait=sb',
        'sync',
      ]);
      const before = spent;
      spent = processorTimeOf(child.pid ?? 0);
      return spent - before;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) {
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }
      await southbound[Symbol.asyncDispose]();
    },
  };
}

/** Takes our mark off every row: what is left are the rows that docs/topology.md calls those of ovn-kubernetes. */
async function withoutMarks(server: OvsdbServer): Promise<void> {
  const { tables } = await schemaOf(server);
  const marked = [...tables.values()].filter(({ columns }) => columns.has('external_ids'));
  const operations = marked.map(({ name }) => ({
    op: 'mutate',
    table: name,
    where: [],
    mutations: [['external_ids', 'delete', ['set', [MARK]]]],
  }));
  const transaction = JSON.stringify(['OVN_Northbound', ...operations]);
  const results = JSON.parse(
    await runOvs('ovsdb-client', ['transact', server.remote, transaction]),
  ) as { readonly count?: number }[];
  if (results.every(({ count = 0 }) => count === 0)) throw new Error('no row has our mark');
}

interface Costs {
  /** Rows that the zone has, and milliseconds of northd for all of them at once; the same without our mark. */
  readonly rows: number;
  readonly fill: number;
  readonly unmarked: number;
  readonly pod: number;
}

async function costsOf(networks: number): Promise<Costs> {
  await using server = await northboundServer();
  const measured = await costsOfMarked(server, networks);
  await withoutMarks(server);
  return { ...measured, unmarked: await startsOn(server) };
}

/** Processor time of ovn-northd that starts when everything is there: the median of some starts. */
async function startsOn(server: OvsdbServer): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < STARTS; i += 1) {
    await using northd = await northdOn(server);
    times.push(await northd.settled());
  }
  return median(times);
}

async function costsOfMarked(
  server: OvsdbServer,
  networks: number,
): Promise<Omit<Costs, 'unmarked'>> {
  await using zone = new Zone(server);
  const pods = networks * PODS_PER_NETWORK;
  await fillStore(zone.store, { networks, nodes: NODES, used: networks, pods });
  await zone.synced();
  const rows = await zone.pass();
  const fill = await startsOn(server);
  await using northd = await northdOn(server);
  await northd.settled();
  const times: number[] = [];
  for (let i = 0; i < RUNS; i += 1) {
    await zone.measure(() => addPod(zone.store, 1, pods + i));
    times.push(await northd.settled());
  }
  return { rows, fill, pod: median(times) };
}

async function run(progress: (text: string) => void): Promise<readonly Figure[]> {
  progress('10 networks');
  const few = await costsOf(10);
  progress('50 networks');
  const many = await costsOf(50);
  return [
    { name: '50 networks: rows', value: many.rows, unit: 'rows' },
    { name: '50 networks: all at once', value: many.fill, unit: 'ms', floor: few.fill },
    {
      name: '50 networks: all at once, beside the same rows without our mark',
      value: many.fill,
      unit: 'ms',
      floor: many.unmarked,
    },
    { name: '50 networks: a network', value: many.fill / 50, unit: 'ms', floor: few.fill / 10 },
    { name: '50 networks: one pod more', value: many.pod, unit: 'ms', floor: few.pod },
  ];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'northd',
    title: `processor time of ovn-northd for the rows of 50 networks on ${NODES} nodes with ${PODS_PER_NETWORK} pods each, beside those of 10`,
    run,
  },
];
