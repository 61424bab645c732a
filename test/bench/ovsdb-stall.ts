import { OvsdbClient } from 'ovsdb-client-ts';
import { OvsdbServer } from '../support/ovsdb/ovsdb-server.ts';
import { until } from '../support/run/until.ts';
import { timed, type Benchmark, type Figure } from './benchmark.ts';
import { insertPorts, ROWS, TABLE } from './many-ports.ts';
import { worstStall } from './stall.ts';

/** How long single large messages hold up the event loop: updates of very many rows, and the reply of a `select`. */

async function run(progress: (text: string) => void): Promise<readonly Figure[]> {
  await using server = await OvsdbServer.start();
  const follow = (): OvsdbClient =>
    new OvsdbClient({
      remotes: server.remote,
      database: 'OVN_Northbound',
      tables: { Logical_Switch_Port: true },
    }).start();
  await using writer = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    tables: {},
  }).start();
  await using client = follow();
  await Promise.all([writer.ready(), client.ready()]);
  progress(`inserting ${ROWS} rows`);
  await insertPorts(writer);
  await until('every row', () => client.replica.size(TABLE) === ROWS);
  // What a subscriber does by itself is not to be measured: this one only counts.
  let heard = 0;
  client.replica.subscribe(({ tables }) => {
    heard += tables.get(TABLE)?.rows.length ?? 0;
  });
  const figures: Figure[] = [];
  async function measure(name: string, action: () => Promise<number>): Promise<void> {
    progress(name);
    let wall = 0;
    let rows = 0;
    const stall = await worstStall(async () => {
      [rows, wall] = await timed(action);
    });
    if (rows !== ROWS) throw new Error(`${name}: ${rows} rows instead of ${ROWS}`);
    figures.push(
      { name: `${name}, wall`, value: wall, unit: 'ms' },
      { name: `${name}, longest stall`, value: stall.wall, unit: 'ms', goal: 150 },
      {
        name: `${name}, longest stall, processor`,
        value: stall.processor,
        unit: 'ms',
        goal: 150,
      },
    );
  }
  /** How many rows the subscriber hears of. */
  async function changes(action: () => Promise<unknown>): Promise<number> {
    heard = 0;
    await action();
    await until('every change', () => heard === ROWS);
    return heard;
  }
  await measure('update of every row', () =>
    changes(() =>
      writer.transact([
        { op: 'update', table: TABLE, where: [], row: { type: 'remote', enabled: true } },
      ]),
    ),
  );
  await measure('condition that takes every row away', () =>
    changes(() => client.setCondition(TABLE, [false])),
  );
  await measure('condition that brings every row', () =>
    changes(() => client.setCondition(TABLE, [])),
  );
  await measure('select of every row', async () => {
    const outcome = await writer.transact([{ op: 'select', table: TABLE, where: [] }]);
    return outcome.kind === 'success' ? (outcome.results[0]?.rows?.length ?? 0) : 0;
  });
  await measure('delete of every row', () =>
    changes(() => writer.transact([{ op: 'delete', table: 'Logical_Switch', where: [] }])),
  );
  return [{ name: 'rows', value: ROWS, unit: 'rows' }, ...figures];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'ovsdb-stall',
    title: `single messages of ${ROWS} rows: how long the event loop stands still`,
    run,
  },
];
