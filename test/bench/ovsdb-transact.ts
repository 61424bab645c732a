import { OvsdbClient, type Operation } from '../../src/ovsdb/index.ts';
import { OvsdbServer } from '../support/ovsdb-server.ts';
import { networkOperations } from '../support/ovsdb-workload.ts';
import { median, processorTime, timed, type Benchmark, type Figure } from './benchmark.ts';
import { RawSender } from './raw-sender.ts';

/**
 * Transactions beside two floors: a sender that keeps no replica, and one that has the client's monitor as well, so that the server has as
 * much to do, but reads nothing of what it is told.
 */

const NETWORKS = 150;
const SINGLE = 1000;
const ROUNDS = 9;

async function connected(server: OvsdbServer): Promise<OvsdbClient> {
  const client = new OvsdbClient({ remotes: server.remote, database: 'OVN_Northbound' }).start();
  await client.ready(AbortSignal.timeout(30_000));
  return client;
}

async function succeed(client: OvsdbClient, operations: readonly Operation[]): Promise<void> {
  const outcome = await client.transact(operations);
  if (outcome.kind !== 'success') throw new Error(`refused: ${JSON.stringify(outcome)}`);
}

const single = (name: string): Operation[] => [
  { op: 'insert', table: 'Logical_Switch', row: { name } },
];

/** Who sends the same transactions, each to a server of its own. */
const SENDERS = ['client', 'raw sender', 'raw sender with the same monitor'] as const;
type Sender = (typeof SENDERS)[number];
type Send = (operations: readonly Operation[]) => Promise<void>;
/** Milliseconds of each run: by the clock, and of this process's processor. */
type Samples = Readonly<Record<Sender, { readonly wall: number[]; readonly cpu: number[] }>>;

/** Each run by each sender, by turns, so that a busy moment of the machine hits all. */
async function byTurns(
  runs: number,
  run: (send: Send, n: number) => Promise<unknown>,
): Promise<Samples> {
  await using servers = new AsyncDisposableStack();
  const server = async (): Promise<OvsdbServer> => servers.use(await OvsdbServer.start());
  const sender = async (): Promise<RawSender> =>
    servers.use(await RawSender.connect((await server()).socket));
  const client = servers.use(await connected(await server()));
  const [raw, told] = [await sender(), await sender()];
  await told.monitor('OVN_Northbound', client.replica.schema.tables.keys());
  const sends: Readonly<Record<Sender, Send>> = {
    client: (operations) => succeed(client, operations),
    'raw sender': (operations) => raw.transact('OVN_Northbound', operations),
    'raw sender with the same monitor': (operations) => told.transact('OVN_Northbound', operations),
  };
  const samples: Samples = {
    client: { wall: [], cpu: [] },
    'raw sender': { wall: [], cpu: [] },
    'raw sender with the same monitor': { wall: [], cpu: [] },
  };
  for (let n = 0; n < runs; n++) {
    for (const name of SENDERS) {
      const before = processorTime();
      const [, wall] = await timed(() => run(sends[name], n));
      samples[name].cpu.push(processorTime() - before);
      samples[name].wall.push(wall);
    }
  }
  return samples;
}

/** The time beside both floors, the processor's share in it, and what the first run takes while nothing is compiled yet. */
function figures(what: string, samples: Samples, warm: number, goal: number): readonly Figure[] {
  const { client, 'raw sender': raw, 'raw sender with the same monitor': told } = samples;
  const value = median(client.wall.slice(warm));
  const floor = median(raw.wall.slice(warm));
  const cpu = median(client.cpu.slice(warm));
  return [
    { name: what, value, unit: 'ms', floor, goal: goal * floor },
    {
      name: `${what}, same monitor`,
      value,
      unit: 'ms',
      floor: median(told.wall.slice(warm)),
    },
    {
      name: `${what}, processor time`,
      value: cpu,
      unit: 'ms',
      floor: median(raw.cpu.slice(warm)),
    },
    {
      name: `${what}, first time`,
      value: client.wall[0] ?? 0,
      unit: 'ms',
      floor: told.wall[0] ?? 0,
    },
  ];
}

async function commits(progress: (text: string) => void): Promise<readonly Figure[]> {
  progress('networks of 209 rows');
  // Made beforehand: to make the operations takes as long as to send them.
  const networks = Array.from({ length: NETWORKS }, (_, n) => networkOperations(n, 100));
  const commit = await byTurns(NETWORKS, (send, n) => send(networks[n] ?? []));
  progress('single rows, one by one');
  const oneByOne = await byTurns(ROUNDS, async (send, round) => {
    for (let n = 0; n < SINGLE; n++) await send(single(`s${round}-${n}`));
  });
  progress('single rows, pipelined');
  const pipelined = await byTurns(ROUNDS, (send, round) =>
    Promise.all(Array.from({ length: SINGLE }, (_, n) => send(single(`p${round}-${n}`)))),
  );
  return [
    ...figures('commit of 209 rows', commit, NETWORKS / 3, 1.6),
    ...figures(`${SINGLE} single rows one by one`, oneByOne, 2, 110 / 70),
    ...figures(`${SINGLE} single rows pipelined`, pipelined, 2, 60 / 48),
  ];
}

async function notification(progress: (text: string) => void): Promise<readonly Figure[]> {
  progress('changes by another client');
  await using server = await OvsdbServer.start();
  await using reader = await connected(server);
  await using writer = await RawSender.connect(server.socket);
  const delays: number[] = [];
  const replies: number[] = [];
  for (let n = 0; n < 300; n++) {
    const start = performance.now();
    const heard = Promise.withResolvers<number>();
    const stop = reader.replica.subscribe(() => {
      heard.resolve(performance.now());
    });
    await writer.transact('OVN_Northbound', single(`n${n}`));
    replies.push(performance.now() - start);
    delays.push((await heard.promise) - start);
    stop();
  }
  return [
    {
      name: 'write to callback of another, median',
      value: median(delays),
      unit: 'ms',
      floor: median(replies),
    },
  ];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'ovsdb-commit',
    title:
      'transactions of the client beside senders without a replica, with and without its monitor',
    run: commits,
  },
  {
    name: 'ovsdb-notify',
    title: 'time from a write to the callback of another client, beside the time of the reply',
    run: notification,
  },
];
