import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OvsdbClient } from 'ovsdb-client-ts';
import { NORTHBOUND_SCHEMA, OvsdbServer, runOvs } from '../support/ovsdb/ovsdb-server.ts';
import { until } from '../support/run/until.ts';
import type { Benchmark, Figure } from './benchmark.ts';
import { insertPorts, ROWS, TABLE } from './many-ports.ts';
import { worstStall } from './stall.ts';

/** How long what concerns a large replica as a whole holds up the event loop: its first indexes, another schema, another or no database. */

const DATABASE = 'OVN_Northbound';
const COLUMN = 'a_new_column';

/** A file with the Northbound schema and one column more for ports. */
function laterSchema(folder: string): string {
  const schema = JSON.parse(readFileSync(NORTHBOUND_SCHEMA, 'utf8')) as {
    tables: { [table: string]: { columns: { [column: string]: unknown } } };
  };
  const table = schema.tables[TABLE];
  if (table !== undefined) table.columns[COLUMN] = { type: 'string' };
  const file = join(folder, 'later.ovsschema');
  writeFileSync(file, JSON.stringify(schema));
  return file;
}

async function run(progress: (text: string) => void): Promise<readonly Figure[]> {
  await using server = await OvsdbServer.start();
  await using empty = await OvsdbServer.start();
  const follow = (tables: object): OvsdbClient =>
    new OvsdbClient({ remotes: server.remote, database: DATABASE, tables: { ...tables } }).start();
  await using writer = follow({});
  await using client = follow({ Logical_Switch: true, Logical_Switch_Port: true });
  await Promise.all([writer.ready(), client.ready()]);
  progress(`inserting ${ROWS} rows`);
  await insertPorts(writer);
  await until('every row', () => client.replica.size(TABLE) === ROWS);
  writer.close();
  const { replica } = client;
  let heard = 0;
  replica.subscribe(({ tables }) => {
    heard += tables.get(TABLE)?.rows.length ?? 0;
  });
  const figures: Figure[] = [];
  async function measure(name: string, action: () => unknown, goal = 150): Promise<void> {
    progress(name);
    heard = 0;
    const { wall, processor } = await worstStall(async () => {
      await action();
    });
    figures.push(
      { name: `${name}, longest stall`, value: wall, unit: 'ms', goal },
      { name: `${name}, longest stall, processor`, value: processor, unit: 'ms', goal },
    );
  }
  const rowsHeard = (count: number): Promise<void> =>
    until(`${count} rows`, () => heard === count && client.status === 'ready', 60_000);
  const byName = ['name'];
  await measure('load with indexes that are wanted from the first row on', async () => {
    await using other = follow({
      Logical_Switch: true,
      Logical_Switch_Port: {
        indexes: { find: [byName], ordered: [byName], referrers: true },
      },
    });
    await other.ready();
    if (other.replica.ordered(TABLE, byName).find('port-1').length !== 1)
      throw new Error('the port is not found');
  });
  await measure('first find', () => replica.find(TABLE, byName, ['port-1']));
  await measure('first rows in order', () => replica.ordered(TABLE, byName).find('port-1'));
  const [port] = replica.find(TABLE, byName, ['port-1']);
  await measure('first referrers', () => replica.referrers(TABLE, port?.uuid ?? ''));
  const file = laterSchema(server.folder);
  await measure(
    'conversion of the database',
    async () => {
      await runOvs('ovsdb-client', ['convert', server.remote, file]);
      await until(
        'the column',
        () => replica.hasColumn(TABLE, COLUMN) && client.status === 'ready',
        60_000,
      );
    },
    300,
  );
  if (heard !== 0) throw new Error(`${heard} rows changed with the conversion`);
  await measure('first rows in order after it', () =>
    replica.ordered(TABLE, byName).find('port-1'),
  );
  await measure('other remotes, whose database is empty', async () => {
    client.setRemotes(empty.remote);
    await rowsHeard(ROWS);
  });
  await measure('the remotes of before', async () => {
    client.setRemotes(server.remote);
    await rowsHeard(ROWS);
  });
  const other = join(server.folder, 'other.db');
  await runOvs('ovsdb-tool', ['create', other, file]);
  await measure('the database is removed', async () => {
    await server.control('ovsdb-server/remove-db', DATABASE);
    await until('the loss', () => client.status !== 'ready');
  });
  await measure('an empty one is added', async () => {
    await server.control('ovsdb-server/add-db', other);
    await rowsHeard(ROWS);
  });
  if (replica.size(TABLE) !== 0) throw new Error(`${replica.size(TABLE)} rows are left`);
  return [{ name: 'rows', value: ROWS, unit: 'rows' }, ...figures];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'ovsdb-stall-replica',
    title: `a replica of ${ROWS} rows, its indexes, another schema, another database: how long the event loop stands still`,
    run,
  },
];
