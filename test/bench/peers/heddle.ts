import { readFileSync } from 'node:fs';
import { OvsdbClient, type Uuid, type JsonValue, type Writable } from 'ovsdb-client-ts';
import { Transaction } from 'ovsdb-client-ts/extras';
import { parseDatum } from 'ovsdb-client-ts/values';
import { peakMemory, processorTime } from '../benchmark.ts';

/** Our client as a peer of the benchmark `ovsdb-peers`: README.md says what is asked of a peer. */

interface Insert {
  readonly table: string;
  readonly uuid?: Uuid;
  readonly row: { readonly [column: string]: JsonValue };
}

const wall = (): number => Number(process.hrtime.bigint()) / 1e6;
const kilobytes = (): number => Math.round(process.memoryUsage().rss / 1024);
const show = (value: object): void => {
  process.stdout.write(`${JSON.stringify(value)}\n`);
};

async function start(remote: string): Promise<OvsdbClient> {
  const client = new OvsdbClient({ remotes: remote, database: 'OVN_Northbound' }).start();
  await client.ready();
  return client;
}

async function load(remote: string): Promise<void> {
  const before = kilobytes();
  const [begin, processor] = [wall(), processorTime()];
  await using client = await start(remote);
  const took = { wall: wall() - begin, processor: processorTime() - processor };
  const peak = Math.round(peakMemory() * 1024);
  globalThis.gc?.();
  globalThis.gc?.();
  show({ rows: client.replica.statistics.rows, ...took, before, after: kilobytes(), peak });
}

async function commit(remote: string, file: string): Promise<void> {
  await using client = await start(remote);
  const transactions = JSON.parse(readFileSync(file, 'utf8')) as readonly (readonly Insert[])[];
  const { tables } = client.replica.schema;
  const walls: number[] = [];
  const processors: number[] = [];
  for (const inserts of transactions) {
    // What a program has in its hands when it begins to build a transaction.
    const rows = inserts.map(({ table, uuid, row }) => {
      const columns: { [column: string]: Writable } = {};
      for (const [name, json] of Object.entries(row)) {
        const column = tables.get(table)?.columns.get(name);
        if (column === undefined) throw new Error(`no column ${name} in table ${table}`);
        columns[name] = parseDatum(column.type, json) as Writable;
      }
      return { table, columns, options: uuid === undefined ? {} : { uuid } };
    });
    const [begin, processor] = [wall(), processorTime()];
    const transaction = new Transaction(client.replica);
    for (const { table, columns, options } of rows) transaction.insert(table, columns, options);
    const outcome = await transaction.commit(client);
    if (outcome.kind !== 'success') throw new Error(JSON.stringify(outcome));
    walls.push(wall() - begin);
    processors.push(processorTime() - processor);
  }
  show({ wall: walls, processor: processors });
}

async function notify(remote: string, count: number): Promise<void> {
  await using client = await start(remote);
  const heard: number[] = [];
  const all = Promise.withResolvers<void>();
  client.replica.subscribe(
    ({ tables }) => {
      for (const _ of tables.get('Logical_Switch')?.rows ?? []) heard.push(wall());
      if (heard.length === count) all.resolve();
    },
    { tables: ['Logical_Switch'] },
  );
  process.stdout.write('ready\n');
  await all.promise;
  show({ heard });
}

const [action, remote = '', argument = ''] = process.argv.slice(2);
if (action === 'load') await load(remote);
else if (action === 'commit') await commit(remote, argument);
else if (action === 'notify') await notify(remote, Number(argument));
else throw new Error('usage: heddle.ts load REMOTE | commit REMOTE FILE | notify REMOTE COUNT');
