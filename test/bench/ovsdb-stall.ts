import { OvsdbClient, type Operation } from '../../src/ovsdb/index.ts';
import { OvsdbServer, until } from '../support/ovsdb-server.ts';
import { timed, type Benchmark, type Figure } from './benchmark.ts';
import { worstStall } from './stall.ts';

/** How long single large messages hold up the event loop: the reply of a `select`, and an update of very many rows. */

const ROWS = 60_000;
const BATCH = 10_000;
const TABLE = 'Logical_Switch_Port';

/** Ports hang on one switch: rows that nothing refers to would be removed at once. */
const batch = (from: number): readonly Operation[] => [
  ...Array.from({ length: BATCH }, (_, n): Operation => ({
    op: 'insert',
    table: TABLE,
    row: { name: `port-${from + n}`, addresses: `0a:58:00:00:00:01 10.0.0.${n & 255}` },
    'uuid-name': `p${n}`,
  })),
  {
    op: 'insert',
    table: 'Logical_Switch',
    row: {
      name: `switch-${from}`,
      ports: ['set', Array.from({ length: BATCH }, (_, n) => ['named-uuid', `p${n}`])],
    },
  },
];

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
  for (let from = 0; from < ROWS; from += BATCH) {
    const outcome = await writer.transact(batch(from));
    if (outcome.kind !== 'success') throw new Error(JSON.stringify(outcome));
  }
  await until('every row', () => client.replica.size(TABLE) === ROWS);
  let changed = 0;
  client.replica.subscribe(({ tables }) => {
    changed += tables.get(TABLE)?.rows.length ?? 0;
  });
  progress('changing every row at once');
  let update = 0;
  const stallUpdate = await worstStall(async () => {
    [, update] = await timed(async () => {
      await writer.transact([
        { op: 'update', table: TABLE, where: [], row: { type: 'remote', enabled: true } },
      ]);
      await until('every change', () => changed === ROWS);
    });
  });
  progress('selecting every row');
  let select = 0;
  let found = 0;
  const stallSelect = await worstStall(async () => {
    const [outcome, took] = await timed(() =>
      writer.transact([{ op: 'select', table: TABLE, where: [] }]),
    );
    select = took;
    found = outcome.kind === 'success' ? (outcome.results[0]?.rows?.length ?? 0) : 0;
  });
  return [
    { name: 'rows changed by one update', value: changed, unit: 'rows' },
    { name: 'update, wall', value: update, unit: 'ms' },
    { name: 'update, longest stall', value: stallUpdate, unit: 'ms', goal: 50 },
    { name: 'rows of one select', value: found, unit: 'rows' },
    { name: 'select, wall', value: select, unit: 'ms' },
    { name: 'select, longest stall', value: stallSelect, unit: 'ms', goal: 50 },
  ];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'ovsdb-stall',
    title: `one update and one select of ${ROWS} rows: how long the event loop stands still`,
    run,
  },
];
