import { OvsdbClient, type Operation } from '../../src/ovsdb/index.ts';
import { OvsdbServer } from '../support/ovsdb-server.ts';
import { networkOperations } from '../support/ovsdb-workload.ts';
import { median, timed, type Benchmark, type Figure } from './benchmark.ts';
import { RawSender } from './raw-sender.ts';

/** Transactions beside a sender that keeps no replica, and how soon a change by somebody else is told. */

const ROUNDS = 15;
const SINGLE = 1000;

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

async function commits(progress: (text: string) => void): Promise<readonly Figure[]> {
  progress('networks of 209 rows');
  const ours: number[] = [];
  const raws: number[] = [];
  await using server = await OvsdbServer.start();
  await using rawServer = await OvsdbServer.start();
  await using client = await connected(server);
  await using raw = await RawSender.connect(rawServer.socket);
  // By turns, so that a busy moment of the machine hits both.
  for (let n = 0; n < ROUNDS; n++) {
    const operations = networkOperations(n, 100);
    const [, rawTime] = await timed(() => raw.transact('OVN_Northbound', operations));
    const [, time] = await timed(() => succeed(client, operations));
    ours.push(time);
    raws.push(rawTime);
  }
  progress('single rows, one by one');
  const [, rawSingle] = await timed(async () => {
    for (let n = 0; n < SINGLE; n++) await raw.transact('OVN_Northbound', single(`s${n}`));
  });
  const [, ourSingle] = await timed(async () => {
    for (let n = 0; n < SINGLE; n++) await succeed(client, single(`s${n}`));
  });
  progress('single rows, pipelined');
  const names = Array.from({ length: SINGLE }, (_, n) => `p${n}`);
  const [, rawPiped] = await timed(() =>
    Promise.all(names.map((name) => raw.transact('OVN_Northbound', single(name)))),
  );
  const [, ourPiped] = await timed(() =>
    Promise.all(names.map((name) => succeed(client, single(name)))),
  );
  return [
    {
      name: 'commit of 209 rows',
      value: median(ours),
      unit: 'ms',
      floor: median(raws),
      goal: 1.6 * median(raws),
    },
    {
      name: `${SINGLE} single rows one by one`,
      value: ourSingle,
      unit: 'ms',
      floor: rawSingle,
      goal: (110 / 70) * rawSingle,
    },
    {
      name: `${SINGLE} single rows pipelined`,
      value: ourPiped,
      unit: 'ms',
      floor: rawPiped,
      goal: (60 / 48) * rawPiped,
    },
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
    title: 'transactions of the client beside a sender without a replica',
    run: commits,
  },
  {
    name: 'ovsdb-notify',
    title: 'time from a write to the callback of another client, beside the time of the reply',
    run: notification,
  },
];
