import { OvsdbClient, type Operation, type Selection, type Transactor } from 'ovsdb-client-ts';
import { OvsdbServer } from '../support/ovsdb/ovsdb-server.ts';
import { networkOperations } from '../support/ovsdb/ovsdb-workload.ts';
import {
  median,
  processorTime,
  processorTimeOf,
  timed,
  type Benchmark,
  type Figure,
} from './benchmark.ts';
import { RawSender } from './raw-sender.ts';

/**
 * Transactions beside two floors: a sender that keeps no replica, and one that has the client's monitor as well, so that the server has as
 * much to do, but reads nothing of what it is told. Once more for a client that follows no more than the columns that it writes.
 */

const NETWORKS = 150;
const SINGLE = 1000;
const ROUNDS = 20;
/** Rounds of single rows that count for nothing: V8 compiles what a transaction needs once more after about 10,000 of them, which takes two rounds. */
const WARM_ROUNDS = 12;

async function connected(server: OvsdbServer, tables?: Selection): Promise<OvsdbClient> {
  const client = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    ...(tables === undefined ? {} : { tables }),
  }).start();
  await client.ready(AbortSignal.timeout(30_000));
  return client;
}

async function succeed(committer: Transactor, operations: readonly Operation[]): Promise<void> {
  const outcome = await committer.transact(operations);
  if (outcome.kind !== 'success') throw new Error(`refused: ${JSON.stringify(outcome)}`);
}

const single = (name: string): Operation[] => [
  { op: 'insert', table: 'Logical_Switch', row: { name } },
];

/** The columns that operations give a value. */
function written(operations: readonly Operation[]): Selection {
  const columns = new Map<string, Set<string>>();
  for (const operation of operations) {
    if (operation.op !== 'insert') continue;
    const names = columns.get(operation.table) ?? new Set();
    for (const name of Object.keys(operation.row)) names.add(name);
    columns.set(operation.table, names);
  }
  return Object.fromEntries([...columns].map(([table, names]) => [table, { columns: [...names] }]));
}

/** Who sends the same transactions, each to a server of its own. */
const SENDERS = ['client', 'narrow client', 'raw', 'raw and told', 'raw and told little'] as const;
type Sender = (typeof SENDERS)[number];
type Send = (operations: readonly Operation[]) => Promise<void>;
/** Milliseconds of each run: by the clock, of this process's processor, and of the server's. */
interface Times {
  readonly wall: number[];
  readonly cpu: number[];
  readonly server: number[];
}
/** A sender, and the server that it has for itself. */
type Pair = readonly [send: Send, server: OvsdbServer];
type Samples = ReadonlyMap<Sender, Times>;

/**
 * Each run by each sender, by turns, so that a busy moment of the machine hits all. Each has operations of its own, made before the clock
 * starts: whoever reads their texts first pays for putting them together.
 */
async function byTurns<T>(
  runs: number,
  make: (n: number) => T,
  run: (send: Send, made: T) => Promise<unknown>,
  narrow: Selection,
): Promise<Samples> {
  await using servers = new AsyncDisposableStack();
  const server = async (): Promise<OvsdbServer> => servers.use(await OvsdbServer.start());
  const client = async (tables?: Selection): Promise<readonly [OvsdbClient, OvsdbServer]> => {
    const own = await server();
    return [servers.use(await connected(own, tables)), own];
  };
  const raw = async (followed?: OvsdbClient): Promise<Pair> => {
    const own = await server();
    const sender = servers.use(await RawSender.connect(own.socket));
    if (followed !== undefined) await sender.monitor('OVN_Northbound', followed.replica);
    return [(operations) => sender.transact('OVN_Northbound', operations), own];
  };
  const [wide, wideServer] = await client();
  const [few, fewServer] = await client(narrow);
  const pairs = new Map<Sender, Pair>([
    ['client', [(operations) => succeed(wide, operations), wideServer]],
    ['narrow client', [(operations) => succeed(few, operations), fewServer]],
    ['raw', await raw()],
    ['raw and told', await raw(wide)],
    ['raw and told little', await raw(few)],
  ]);
  const samples = new Map<Sender, Times>(
    SENDERS.map((name) => [name, { wall: [], cpu: [], server: [] }]),
  );
  const used = new Map<Sender, number>();
  for (let n = 0; n < runs; n++) {
    for (const [name, times] of samples) {
      const [send, server] = pairs.get(name) as Pair;
      const made = make(n);
      const before = processorTime();
      const [, wall] = await timed(() => run(send, made));
      times.cpu.push(processorTime() - before);
      times.wall.push(wall);
      // From one run to the next: a server works on when it has answered.
      const inAll = processorTimeOf(server.pid);
      times.server.push(inAll - (used.get(name) ?? 0));
      used.set(name, inAll);
    }
  }
  return samples;
}

/** The time beside the floors, the processor's share in it, and what the first run takes, when not all that it needs is compiled. */
function figures(what: string, samples: Samples, warm: number, goal: number): readonly Figure[] {
  const usual = (sender: Sender, kind: keyof Times): number =>
    median((samples.get(sender)?.[kind] ?? []).slice(warm));
  const value = usual('client', 'wall');
  const floor = usual('raw', 'wall');
  const few = usual('narrow client', 'wall');
  const unit = 'ms' as const;
  return [
    { name: what, value, unit, floor, goal: goal * floor },
    { name: `${what}, same monitor`, value, unit, floor: usual('raw and told', 'wall') },
    { name: `${what}, following what it writes`, value: few, unit, floor },
    {
      name: `${what}, following what it writes, same monitor`,
      value: few,
      unit,
      floor: usual('raw and told little', 'wall'),
    },
    {
      name: `${what}, processor time`,
      value: usual('client', 'cpu'),
      unit,
      floor: usual('raw', 'cpu'),
    },
    {
      name: `${what}, server's processor time`,
      value: usual('client', 'server'),
      unit,
      floor: usual('raw', 'server'),
    },
    {
      name: `${what}, following what it writes, server's processor time`,
      value: usual('narrow client', 'server'),
      unit,
      floor: usual('raw', 'server'),
    },
    {
      name: `${what}, first time`,
      value: samples.get('client')?.wall[0] ?? 0,
      unit,
      floor: samples.get('raw and told')?.wall[0] ?? 0,
    },
  ];
}

async function commits(progress: (text: string) => void): Promise<readonly Figure[]> {
  progress('networks of 209 rows');
  const network = (n: number): readonly Operation[] => networkOperations(n, 100);
  const commit = await byTurns(NETWORKS, network, (send, made) => send(made), written(network(0)));
  progress('single rows, one by one');
  const rows = (round: number): readonly Operation[][] =>
    Array.from({ length: SINGLE }, (_, n) => single(`s${round}-${n}`));
  const name = written(single(''));
  const oneByOne = await byTurns(
    ROUNDS,
    rows,
    async (send, made) => {
      for (const operations of made) await send(operations);
    },
    name,
  );
  progress('single rows, pipelined');
  const pipelined = await byTurns(
    ROUNDS,
    rows,
    (send, made) => Promise.all(made.map((operations) => send(operations))),
    name,
  );
  return [
    ...figures('commit of 209 rows', commit, NETWORKS / 3, 1.8),
    ...figures(`${SINGLE} single rows one by one`, oneByOne, WARM_ROUNDS, 110 / 70),
    ...figures(`${SINGLE} single rows pipelined`, pipelined, WARM_ROUNDS, 60 / 48),
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
