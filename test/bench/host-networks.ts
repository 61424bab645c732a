import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { NetworkMonitor } from '../../src/node/linux/network-monitor.ts';
import { LinuxDriver } from '../../src/node/linux/linux-driver.ts';
import { batchLines } from '../support/host/ip-commands.ts';
import { devicesOf, hostZone, settled, withoutVrf } from '../support/host/host-driver.ts';
import { HostUnits } from '../support/host/host-units.ts';
import { NetworkNamespace } from '../support/host/network-namespace.ts';
import { until } from '../support/run/until.ts';
import { temporaryFolder } from '../support/ovsdb/ovsdb-server.ts';
import type { Zone } from '../support/zone/zones.ts';
import { peakMemory, processorTime, timed, type Benchmark, type Figure } from './benchmark.ts';

/** Runs lines as `ip -batch` does, by itself. */
function batch(namespace: NetworkNamespace, flags: string, lines: readonly string[]): void {
  using folder = temporaryFolder();
  const file = join(folder.path, 'batch');
  writeFileSync(file, lines.join('\n'));
  namespace.ip(`${flags}-force -batch ${file}`);
}

/** Devices that the node and Open vSwitch would have made. */
const deviceLines = (zone: Zone): string[] => [
  'link add name breth0 type bridge',
  'link set dev breth0 up',
  'address add 172.18.0.3/16 dev breth0',
  'address add fc00:f853::3/64 dev breth0 nodad',
  ...devicesOf(zone).flatMap(([name, mac]) => [
    `link add name ${name} type bridge`,
    `link set dev ${name} address ${mac}`,
  ]),
];

interface Bed extends Disposable {
  readonly namespace: NetworkNamespace;
  readonly driver: LinuxDriver;
  readonly monitor: NetworkMonitor;
  want(zone: Zone): void;
  /** Resolves when all changes were announced, and nothing is to be done. */
  quiet(): Promise<void>;
}

async function bed(zone: Zone): Promise<Bed> {
  const namespace = await NetworkNamespace.create();
  let heard = 0;
  batch(namespace, '', deviceLines(zone));
  const monitor = new NetworkMonitor({ namespace: namespace.path });
  const driver = new LinuxDriver({
    namespace: namespace.path,
    monitor,
    // Reading them through a namespace costs a process each, which is not what is measured.
    sysctls: { read: () => undefined, write: () => undefined },
    onDrift: () => {
      heard += 1;
    },
  });
  driver.start();
  const units = new HostUnits(driver);
  const change = namespace.hasVrf ? undefined : withoutVrf;
  return {
    namespace,
    driver,
    monitor,
    want: (wanted) =>
      units.want(wanted, (row) =>
        row.table === 'sysctl' ? undefined : (change ?? ((one) => one))(row),
      ),
    async quiet() {
      for (let before = -1; before !== heard; await pause(100)) {
        before = heard;
        await settled(driver);
      }
    },
    [Symbol.dispose]: () => {
      driver[Symbol.dispose]();
      monitor[Symbol.dispose]();
      namespace[Symbol.dispose]();
    },
  };
}

async function measure(count: number): Promise<readonly Figure[]> {
  const zone = hostZone(count + 1);
  const few = hostZone(count);
  // What `ip -batch` takes for the same commands, when somebody else has worked them out.
  using plain = await bed(zone);
  plain.want(few);
  await plain.driver.refresh(0);
  const commands = plain.driver.plan(0).changes.flatMap((change) => [...change.commands]);
  const files = batchLines(commands);
  const [, floor] = await timed(() => {
    for (const [family, lines] of files) batch(plain.namespace, `-family ${family} `, lines);
  });
  using whole = await bed(zone);
  whole.want(few);
  const begun = processorTime();
  const [, first] = await timed(() => settled(whole.driver));
  const firstSpent = processorTime() - begun;
  // What it hears of its own changes is no part of the next one.
  await whole.quiet();
  const [, again] = await timed(() => settled(whole.driver));
  whole.want(zone);
  const before = processorTime();
  const [, one] = await timed(() => settled(whole.driver));
  const spent = processorTime() - before;
  await whole.quiet();
  whole.namespace.ip('route flush table 10001');
  const [, repaired] = await timed(async () => {
    while ((await settled(whole.driver)).applied === 0) await pause(1);
  });
  const of = `${count} networks`;
  return [
    { name: `${of}: all, from nothing`, value: first, unit: 'ms', floor },
    { name: `${of}: all, from nothing, processor time`, value: firstSpent, unit: 'ms' },
    { name: `${of}: nothing to do`, value: again, unit: 'ms' },
    { name: `${of}: one more`, value: one, unit: 'ms' },
    { name: `${of}: one more, processor time`, value: spent, unit: 'ms' },
    { name: `${of}: the routes of one come back`, value: repaired, unit: 'ms' },
    { name: `${of}: commands`, value: commands.length, unit: 'operations' },
  ];
}

/** Routes of somebody else that come and go at once, as with a routing daemon. */
const ROUTES = 10_000;
const MEMORY_GOAL = 5;

/** Megabytes in use, of the heap and outside of it. */
function memory(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

async function burst(): Promise<readonly Figure[]> {
  const zone = hostZone(50);
  using whole = await bed(zone);
  whole.want(zone);
  await settled(whole.driver);
  await whole.quiet();
  const { namespace, monitor } = whole;
  let seen = 0;
  monitor.follow({ onStale: () => undefined, onRoute: () => (seen += 1) });
  const routes = Array.from(
    { length: ROUTES },
    (_, index) => `10.100.${index >> 8}.${index & 255}/32 via 172.18.0.9 proto 186`,
  );
  const [kept, before] = [memory(), processorTime()];
  // None of it is read meanwhile: all waits in the socket.
  for (const word of ['add', 'delete'])
    batch(
      namespace,
      '',
      routes.map((route) => `route ${word} ${route}`),
    );
  const isRead = (): boolean => seen >= 2 * ROUTES || monitor.losses > 0;
  await until('all announcements', isRead, { limit: 60_000, pause: 100 });
  await whole.quiet();
  const spent = processorTime() - before;
  const of = `${ROUTES} routes of others come and go`;
  return [
    {
      name: `${of}: announcements that were read`,
      value: seen,
      unit: 'operations',
      floor: 2 * ROUTES,
    },
    { name: `${of}: losses`, value: monitor.losses, unit: 'operations', goal: 0 },
    { name: `${of}: processor time`, value: spent, unit: 'ms' },
    {
      name: `${of}: memory more than before`,
      value: memory() - kept,
      unit: 'MB',
      goal: MEMORY_GOAL,
    },
  ];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'host-networks',
    title: "the kernel's network stack with 1, 50 and 500 networks, beside ip -batch",
    async run(progress) {
      const figures: Figure[] = [];
      for (const count of [1, 50, 500]) {
        progress(`${count} networks`);
        figures.push(...(await measure(count)));
      }
      progress(`${ROUTES} routes of others`);
      figures.push(...(await burst()));
      return [...figures, { name: 'most memory', value: peakMemory(), unit: 'MB' }];
    },
  },
];
