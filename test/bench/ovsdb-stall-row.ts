import { OvsdbClient } from '../../src/ovsdb/index.ts';
import { OvsdbServer } from '../support/ovsdb-server.ts';
import { until } from '../support/until.ts';
import type { Benchmark, Figure } from './benchmark.ts';
import { GiantWriter, MEMBERS, type GiantStep } from './giant-writer.ts';
import { worstStall } from './stall.ts';

/** How long a single row holds up the event loop that has a set or map of very many members. */

const TABLE = 'Address_Set';

const STEPS: readonly (readonly [GiantStep, string])[] = [
  ['set', 'insert of a row with such a set'],
  ['one', 'one member more'],
  ['half', 'half of the members are others'],
  ['map', 'the set goes, such a map comes'],
  ['key', 'one key more'],
  ['values', 'every key has another value'],
];

async function run(progress: (text: string) => void): Promise<readonly Figure[]> {
  await using server = await OvsdbServer.start();
  await using writer = new GiantWriter(server.remote);
  const follow = (): OvsdbClient =>
    new OvsdbClient({
      remotes: server.remote,
      database: 'OVN_Northbound',
      tables: { Address_Set: true },
    }).start();
  await using client = follow();
  await client.ready();
  let heard = 0;
  client.replica.subscribe(({ tables }) => {
    heard += tables.get(TABLE)?.rows.length ?? 0;
  });
  const figures: Figure[] = [];
  async function measure(name: string, action: () => Promise<void>): Promise<void> {
    progress(name);
    const { wall, processor } = await worstStall(action);
    figures.push(
      { name: `${name}, longest stall`, value: wall, unit: 'ms', goal: 50 },
      { name: `${name}, longest stall, processor`, value: processor, unit: 'ms', goal: 50 },
    );
  }
  async function write(step: GiantStep): Promise<void> {
    heard = 0;
    await writer.write(step);
    await until('the change', () => heard === 1, 60_000);
  }
  for (const [step, name] of STEPS) await measure(name, () => write(step));
  await measure('load of a row with such a map', async () => {
    await using other = follow();
    await other.ready();
  });
  await measure('the row goes', () => write('delete'));
  return [{ name: 'members', value: MEMBERS, unit: 'rows' }, ...figures];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'ovsdb-stall-row',
    title: `a row with a set or map of ${MEMBERS} members: how long the event loop stands still`,
    run,
  },
];
