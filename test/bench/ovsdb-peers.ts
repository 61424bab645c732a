import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stringify, type Operation } from 'ovsdb-client-ts';
import { bound } from '../support/run/left-behind.ts';
import { OvsdbServer, temporaryFolder } from '../support/ovsdb/ovsdb-server.ts';
import { networkOperations } from '../support/ovsdb/ovsdb-workload.ts';
import { median, timed, type Benchmark, type Figure } from './benchmark.ts';
import { filledServer, forgotten, receiveOnly, schemaOf } from './filled-server.ts';
import { RawSender } from './raw-sender.ts';

/** Our client beside other OVSDB clients, each in a process of its own: peers/README.md says what is asked of them. */

const execute = promisify(execFile);
const PEERS = join(import.meta.dirname, 'peers');

interface Peer {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

const OTHERS = [
  { name: 'C IDL', program: 'c-idl' },
  { name: 'libovsdb', program: 'go-libovsdb' },
  { name: 'Python IDL', program: 'python-idl' },
] as const;

/** Peers that can be had on this machine; why another can't is told. */
async function peers(progress: (text: string) => void): Promise<readonly Peer[]> {
  const ours = ['--expose-gc', '--max-old-space-size=8192', join(PEERS, 'heddle.ts')];
  const result: Peer[] = [{ name: 'Heddle', command: process.execPath, args: ours }];
  for (const { name, program } of OTHERS) {
    try {
      const { stdout } = await execute(join(PEERS, 'build'), [program]);
      result.push({ name, command: stdout.trim(), args: [] });
    } catch (error) {
      const { code, stderr } = error as { code: unknown; stderr: string };
      if (code !== 3) throw error;
      progress(`left out: ${name}: ${stderr.trim().split('\n').at(-1)}`);
    }
  }
  return result;
}

/** Milliseconds after which a peer is given up. */
const LONGEST = 300_000;

/** Has a peer do something; what it shows at the end. `started` is called when it says that it is ready. */
async function ask<T>(
  peer: Peer,
  args: readonly string[],
  started: () => Promise<void> = () => Promise.resolve(),
): Promise<T> {
  const child = spawn(...bound(peer.command, [...peer.args, ...args]), {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: LONGEST,
  });
  const ended = once(child, 'exit');
  let last = '';
  for await (const line of createInterface(child.stdout)) {
    last = line;
    if (line === 'ready') await started();
  }
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`${peer.name} ended with exit code ${code}: ${args.join(' ')}`);
  return JSON.parse(last) as T;
}

/** Times in ms, memory in kB; `after` is what is kept when garbage is collected. */
interface Load {
  readonly rows: number;
  readonly wall: number;
  readonly processor: number;
  readonly before: number;
  readonly after: number;
  readonly peak: number;
}

/** Milliseconds of each transaction. */
interface Commits {
  readonly wall: readonly number[];
  readonly processor: readonly number[];
}

async function load(
  networks: number,
  rounds: number,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  const all = await peers(progress);
  progress(`filling ${networks} networks × ${networks} nodes`);
  await using server = await filledServer(networks, networks);
  const schema = await schemaOf(server);
  // The first request grows the server's memory to what it needs; it is not measured.
  await receiveOnly(server, schema);
  const floors: number[] = [];
  const loads = new Map<Peer, Load[]>(all.map((peer) => [peer, []]));
  for (let round = 1; round <= rounds; round++) {
    await forgotten(server);
    floors.push((await receiveOnly(server, schema)).wall);
    for (const peer of all) {
      progress(`${peer.name}, round ${round} of ${rounds}`);
      await forgotten(server);
      loads.get(peer)?.push(await ask<Load>(peer, ['load', server.remote]));
    }
  }
  const rows = loads.get(all[0] as Peer)?.[0]?.rows ?? 0;
  return [
    { name: 'rows', value: rows, unit: 'rows' },
    ...[...loads].flatMap(([{ name }, taken]): Figure[] => {
      const of = (value: (load: Load) => number): number => median(taken.map(value));
      if (of((taken) => taken.rows) !== rows)
        throw new Error(`${name} has ${of((taken) => taken.rows)} rows in place of ${rows}`);
      return [
        { name: `${name}: processor`, value: of(({ processor }) => processor), unit: 'ms' },
        {
          name: `${name}: wall, last byte received = 1`,
          value: of(({ wall }) => wall),
          unit: 'ms',
          floor: median(floors),
        },
        {
          name: `${name}: memory kept`,
          value: of(({ before, after }) => ((after - before) * 1024) / rows),
          unit: 'B/row',
        },
        { name: `${name}: peak memory`, value: of(({ peak }) => peak / 1024), unit: 'MB' },
      ];
    }),
  ];
}

const NETWORKS = 150;
const SINGLE = 1000;
const ROUNDS = 3;
const NOTIFICATIONS = 1000;

const single = (name: string): Operation[] => [
  { op: 'insert', table: 'Logical_Switch', row: { name } },
];

/** The last times: by then everything is compiled and warm. */
const warm = (times: readonly number[], count = times.length / 2): readonly number[] =>
  times.slice(-count);

async function commits(
  peer: Peer | undefined,
  transactions: readonly (readonly Operation[])[],
): Promise<Commits> {
  await using server = await OvsdbServer.start();
  if (peer === undefined) {
    await using sender = await RawSender.connect(server.socket);
    const wall: number[] = [];
    for (const operations of transactions)
      wall.push((await timed(() => sender.transact('OVN_Northbound', operations)))[1]);
    return { wall, processor: [] };
  }
  using folder = temporaryFolder();
  const file = join(folder.path, 'transactions.json');
  writeFileSync(file, stringify(transactions));
  // Awaited here: the server ends with this function.
  return await ask<Commits>(peer, ['commit', server.remote, file]);
}

/** Milliseconds from each write by another to the peer's notice of it. */
async function notices(peer: Peer): Promise<readonly number[]> {
  await using server = await OvsdbServer.start();
  await using writer = await RawSender.connect(server.socket);
  const sent: number[] = [];
  const { heard } = await ask<{ readonly heard: readonly number[] }>(
    peer,
    ['notify', server.remote, String(NOTIFICATIONS)],
    async () => {
      for (let n = 0; n < NOTIFICATIONS; n++) {
        // Apart from each other, as changes by others are: what is measured is not how many are told at once.
        await delay(2);
        sent.push(Number(process.hrtime.bigint()) / 1e6);
        await writer.transact('OVN_Northbound', single(`n${n}`));
      }
    },
  );
  return heard.map((at, n) => at - (sent[n] ?? 0));
}

async function transactions(progress: (text: string) => void): Promise<readonly Figure[]> {
  const all = await peers(progress);
  const networks = Array.from({ length: NETWORKS }, (_, n) => networkOperations(n, 100));
  const singles = Array.from({ length: 4 * SINGLE }, (_, n) => single(`s${n}`));
  const taken = (): { wall: number[]; processor: number[] } => ({ wall: [], processor: [] });
  const senders = [undefined, ...all].map((peer) => ({
    peer,
    network: taken(),
    oneByOne: taken(),
    notice: [] as number[],
  }));
  for (let round = 1; round <= ROUNDS; round++) {
    for (const { peer, network, oneByOne, notice } of senders) {
      progress(`${peer?.name ?? 'bare sender'}, round ${round} of ${ROUNDS}`);
      const large = await commits(peer, networks);
      network.wall.push(...warm(large.wall));
      network.processor.push(...warm(large.processor));
      const small = await commits(peer, singles);
      const sum = (times: readonly number[]): number =>
        warm(times, SINGLE).reduce((a, b) => a + b, 0);
      oneByOne.wall.push(sum(small.wall));
      oneByOne.processor.push(sum(small.processor));
      if (peer !== undefined) notice.push(...warm(await notices(peer)));
    }
  }
  const [bare] = senders;
  return senders.flatMap(({ peer, network, oneByOne, notice }): Figure[] =>
    peer === undefined
      ? []
      : [
          {
            name: `${peer.name}: commit of 209 rows`,
            value: median(network.wall),
            unit: 'ms',
            floor: median(bare?.network.wall ?? []),
          },
          {
            name: `${peer.name}: … processor`,
            value: median(network.processor),
            unit: 'ms',
          },
          {
            name: `${peer.name}: ${SINGLE} single rows one by one`,
            value: median(oneByOne.wall),
            unit: 'ms',
            floor: median(bare?.oneByOne.wall ?? []),
          },
          { name: `${peer.name}: … processor`, value: median(oneByOne.processor), unit: 'ms' },
          { name: `${peer.name}: write to notice, median`, value: median(notice), unit: 'ms' },
        ],
  );
}

const onlyAs = 'ovsdb-peers';

const sizes = [
  [100, 3],
  [200, 3],
  [500, 1],
] as const;

export const benchmarks: readonly Benchmark[] = [
  ...sizes.map(([networks, rounds]): Benchmark => ({
    name: `ovsdb-peers-load-${networks}x${networks}`,
    title: `the client and its peers load ${networks} networks × ${networks} nodes`,
    onlyAs,
    run: (progress) => load(networks, rounds, progress),
  })),
  {
    name: 'ovsdb-peers-transact',
    title: 'transactions and notices of the client and its peers',
    onlyAs,
    run: transactions,
  },
];
