/** Connections are forgotten in a table of 200,000: how long it takes beside `conntrack`, and how long the daemon's loop is held up meanwhile. */
import { execFileSync } from 'node:child_process';
import { Conntrack } from '../../src/node/conntrack/conntrack.ts';
import type { StaleConnections } from '../../src/node/conntrack/service-connections.ts';
import { openConntrackSocket } from '../../src/node/linux/network-socket.ts';
import { NetworkNamespace } from '../support/host/network-namespace.ts';
import { ovsProgram } from '../support/host/ovs-programs.ts';
import { processorTime, timed, type Benchmark, type Figure } from './benchmark.ts';

const CONNECTIONS = 200_000;
const SERVICES = 500;
type Family = 'v4' | 'v6';

const numbers = (family: Family, prefix: string, n: number): string =>
  family === 'v4'
    ? `${prefix}.${n >> 8}.${n & 255}`
    : `fd00:${prefix.replace('.', ':')}::${n.toString(16)}`;
const service = (family: Family, n: number): string => numbers(family, '10.96', n);
const pod = (family: Family, n: number): string => numbers(family, '10.244', n);
const client = (family: Family, n: number): string => numbers(family, `11.${n >> 16}`, n & 0xffff);

/** A command for each of 200,000 connections, of which one in a hundred goes to a service, two ports each. */
function* commands(family: Family): Iterable<string> {
  for (let n = 0; n < CONNECTIONS; n += 1) {
    const isOfService = n % 100 === 0;
    const destination = isOfService ? service(family, (n / 100) % SERVICES) : pod(family, n % 5000);
    const port = isOfService ? 80 + ((n / 100 / SERVICES) & 1) : 1000 + (n % 40);
    const [own, answer] = [1024 + (n % 60_000), pod(family, n % 5000)];
    yield `--create --proto udp --orig-src ${client(family, n)} --orig-dst ${destination} --sport ${own} --dport ${port} --reply-src ${answer} --reply-dst ${client(family, n)} --reply-port-src 8080 --reply-port-dst ${own} --timeout 3000\n`;
  }
}

/** Milliseconds that work takes, those of its longest turn of the loop in processor time, and processor time of all threads. */
async function watched(work: () => Promise<void>): Promise<[number, number, number]> {
  const used = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let [longest, last] = [0, used()];
  const timer = setInterval(() => {
    const now = used();
    longest = Math.max(longest, now - last);
    last = now;
  }, 0);
  const before = processorTime();
  const [, took] = await timed(work);
  clearInterval(timer);
  return [took, longest, processorTime() - before];
}

async function measure(family: Family): Promise<readonly Figure[]> {
  using host = await NetworkNamespace.create();
  const { command, args } = ovsProgram('conntrack');
  const track = (words: readonly string[], input = ''): void => {
    const [nsenter = '', ...inside] = host.inside;
    const all = ['-c', 'cat | "$@"', 'sh', nsenter, ...inside, command, ...args, ...words];
    execFileSync('sh', all, { input, stdio: ['pipe', 'ignore', 'ignore'] });
  };
  track(['--load-file', '-'], [...commands(family)].join(''));
  const conntrack = new Conntrack(() => openConntrackSocket(host.path));
  const { signal } = new AbortController();
  const [, floor] = await timed(() =>
    track([
      '--delete',
      '--family',
      family === 'v4' ? 'ipv4' : 'ipv6',
      '--orig-src',
      client(family, 257),
    ]),
  );
  const stale: StaleConnections[] = Array.from({ length: 2 * SERVICES }, (_, n) => ({
    object: 'Service blue/many',
    protocol: 'udp',
    destination: { family, address: service(family, n >> 1), port: 80 + (n & 1) },
  }));
  const figures: Figure[] = [];
  for (const [what, work] of [
    ['one pod', () => conntrack.forget([pod(family, 4000)])],
    [
      '20 pods at once',
      async () => {
        await Promise.all(Array.from({ length: 20 }, (_, n) => conntrack.forget([pod(family, n)])));
      },
    ],
    ['500 services of two ports', () => conntrack.forgetServices(stale, signal)],
  ] as const) {
    const [took, longest, processor] = await watched(work);
    const name = `${family}, ${what}`;
    figures.push(
      { name, value: took, unit: 'ms', ...(what === 'one pod' ? { floor } : {}) },
      { name: `${name}: processor time`, value: processor, unit: 'ms' },
      { name: `${name}: longest turn of the loop, processor time`, value: longest, unit: 'ms' },
    );
  }
  return figures;
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'conntrack',
    title: 'connections are forgotten in a table of 200,000, beside one process of conntrack',
    async run(progress) {
      const figures: Figure[] = [];
      for (const family of ['v4', 'v6'] as const) {
        progress(`200,000 connections, ${family}`);
        figures.push(...(await measure(family)));
      }
      return figures;
    },
  },
];
