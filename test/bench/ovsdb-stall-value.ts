import { OvsdbClient } from '../../src/ovsdb/index.ts';
import { until } from '../support/until.ts';
import type { Benchmark, Figure } from './benchmark.ts';
import { worstStall } from './stall.ts';
import { LENGTH, ValueServer, type Dialect, type ValueStep } from './value-server.ts';

/** How long single values hold up the event loop that are very long, in no order, or told in the old way. */

const STEPS: Readonly<Record<Dialect, readonly (readonly [ValueStep, string])[]>> = {
  monitor_cond_since: [
    ['text', 'a row with a long string comes'],
    ['other text', 'it is another long string'],
    ['delete', 'the row goes'],
    ['letters', 'a long string of letters that are not ASCII'],
    ['delete', 'the row goes'],
    ['escapes', 'a long string of escapes'],
    ['delete', 'the row goes'],
    ['texts', 'a map of 250 strings of 200 kB'],
    ['delete', 'the row goes'],
    ['set', 'a set in no order'],
    ['delete', 'the row goes'],
    ['map', 'a map in no order'],
    ['delete', 'the row goes'],
  ],
  monitor: [
    ['ordered', 'a row with a set comes'],
    ['more', 'one member more'],
    ['set', 'members in no order'],
    ['text', 'a long string instead'],
    ['delete', 'the row goes'],
  ],
};

async function run(dialect: Dialect, progress: (text: string) => void): Promise<readonly Figure[]> {
  await using server = await ValueServer.start(dialect);
  const follow = (): OvsdbClient =>
    new OvsdbClient({ remotes: server.remote, database: 'Small' }).start();
  await using client = follow();
  await client.ready();
  let heard = 0;
  client.replica.subscribe(({ tables }) => {
    heard += tables.get('T')?.rows.length ?? 0;
  });
  const figures: Figure[] = [];
  const traffic = (): number =>
    (client.traffic?.bytesReceived ?? 0) + (client.traffic?.bytesSent ?? 0);
  async function measure(
    name: string,
    action: () => Promise<void>,
    isUnderWay?: () => boolean,
  ): Promise<void> {
    progress(name);
    const before = traffic();
    const { wall, processor } = await worstStall(action, isUnderWay ?? (() => traffic() > before));
    figures.push(
      { name: `${name}, longest stall`, value: wall, unit: 'ms', goal: 50 },
      { name: `${name}, longest stall, processor`, value: processor, unit: 'ms', goal: 50 },
    );
  }
  for (const [step, name] of STEPS[dialect]) {
    await measure(name, async () => {
      heard = 0;
      await server.tell(step);
      await until('the change', () => heard === 1, 60_000);
    });
  }
  if (dialect === 'monitor') return figures;
  await measure('select of a row with a long string', async () => {
    await client.transact([{ op: 'select', table: 'T', where: [] }]);
  });
  await measure('a reply that is a long string', async () => {
    await client.call('letters', []);
  });
  const text = '0123456789'.repeat(LENGTH / 10);
  await measure(
    'a long string is sent',
    async () => {
      await client.transact([{ op: 'insert', table: 'T', row: { name: text } }]);
    },
    () => true,
  );
  return figures;
}

const SINCE =
  'single values that are very long or in no order: how long the event loop stands still';

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'ovsdb-stall-value',
    title: SINCE,
    run: (progress) => run('monitor_cond_since', progress),
  },
  {
    name: 'ovsdb-stall-old',
    title: 'large rows of a server before 2.6: how long the event loop stands still',
    run: (progress) => run('monitor', progress),
  },
];
