/** How long the daemon of a node takes from the start of its process to `/readyz`, on manifests, beside what starting Node.js alone takes. */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { Installation } from '../support/run/heddle.ts';
import { until } from '../support/run/until.ts';
import { median, processorTimeOf, timed, type Benchmark, type Figure } from './benchmark.ts';
import { northboundServer } from './fill.ts';

const EXAMPLE = resolve(import.meta.dirname, '../integration/cli/fixtures/worked-example');
const RUNS = 9;

/** Milliseconds, by the clock and of the processor, until `/readyz` answers that the zone is programmed. */
async function start(): Promise<{ readonly took: number; readonly processor: number }> {
  await using server = await northboundServer();
  using installation = new Installation();
  installation.copy(EXAMPLE);
  const began = performance.now();
  await using daemon = installation.daemon('--node=ovn-worker', `--nb=${server.remote}`);
  await until(
    '/readyz',
    async () => {
      const url = /"health":"([^"]+)"/.exec(daemon.log)?.[1];
      return url !== undefined && (await fetch(`${url}/readyz`)).ok;
    },
    { limit: 60_000, output: () => daemon.log },
  );
  const took = performance.now() - began;
  return { took, processor: processorTimeOf(daemon.pid) };
}

const nodeAlone = (): Promise<readonly [unknown, number]> =>
  timed(() => spawnSync(process.execPath, ['-e', '0']));

async function measure(progress: (text: string) => void): Promise<readonly Figure[]> {
  const starts: Awaited<ReturnType<typeof start>>[] = [];
  const alone: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    alone.push((await nodeAlone())[1]);
    starts.push(await start());
    progress(`${Math.round(alone.at(-1) ?? 0)} ms, ${Math.round(starts.at(-1)?.took ?? 0)} ms`);
  }
  const floor = median(alone);
  const value = median(starts.map(({ took }) => took));
  const processor = median(starts.map((one) => one.processor));
  return [
    { name: 'daemon of a node, process to /readyz', value, floor, unit: 'ms' },
    { name: 'the same to `node -e 0`', value: value / floor, unit: 'ratio' },
    { name: 'processor time of its first thread until then', value: processor, unit: 'ms' },
  ];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'start',
    title: `a daemon starts on manifests of a few networks and an empty Northbound database, the middle of ${RUNS} beside node -e 0`,
    run: measure,
  },
];
