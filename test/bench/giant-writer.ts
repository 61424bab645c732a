import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { OvsdbClient, type JsonValue, type Operation } from '../../src/ovsdb/index.ts';

/** Writes rows with very many members from a thread of its own: to make and send them must not count as work of whoever hears of them. */

export const MEMBERS = 200_000;

/** What the writer does to the row `giant` of Address_Set: its set `addresses` and its map `external_ids`. */
export type GiantStep = 'set' | 'one' | 'half' | 'map' | 'key' | 'values' | 'delete';

/** Fifty bytes, in order. */
const member = (n: number): string =>
  `0a:58:00:00:00:01 fd00:1234:5678:9abc::${n.toString(16).padStart(11, '0')}`;

const numbers = (from: number): readonly number[] =>
  Array.from({ length: MEMBERS }, (_, n) => from + n);

const pairs = (value: string): JsonValue => [
  'map',
  numbers(0).map((n) => [`key-${String(n).padStart(8, '0')}`, `${value}-${n}`]),
];

const where = [['name', '==', 'giant']] as const;

function operation(step: GiantStep): Operation {
  const table = 'Address_Set';
  const update = (row: { readonly [column: string]: JsonValue }): Operation => ({
    op: 'update',
    table,
    where,
    row,
  });
  switch (step) {
    case 'set':
      return {
        op: 'insert',
        table,
        row: { name: 'giant', addresses: ['set', numbers(0).map(member)] },
      };
    case 'one':
      return { op: 'mutate', table, where, mutations: [['addresses', 'insert', 'one more']] };
    case 'half':
      return update({ addresses: ['set', numbers(MEMBERS / 2).map(member)] });
    case 'map':
      return update({ addresses: ['set', []], external_ids: pairs('value') });
    case 'key':
      return {
        op: 'mutate',
        table,
        where,
        mutations: [['external_ids', 'insert', ['map', [['one', 'more']]]]],
      };
    case 'values':
      return update({ external_ids: pairs('other') });
    case 'delete':
      return { op: 'delete', table, where };
  }
}

/** Writes step by step when it is told to. `await using` it. */
export class GiantWriter implements AsyncDisposable {
  readonly #worker: Worker;

  constructor(remote: string) {
    this.#worker = new Worker(import.meta.filename, { workerData: remote });
  }

  /** Resolves once the server has committed it. */
  async write(step: GiantStep): Promise<void> {
    this.#worker.postMessage(step, []);
    const [answer] = (await once(this.#worker, 'message')) as [string];
    if (answer !== 'success') throw new Error(`${step}: ${answer}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

if (!isMainThread && parentPort !== null && typeof workerData === 'string') {
  const port = parentPort;
  const client = new OvsdbClient({
    remotes: workerData,
    database: 'OVN_Northbound',
    tables: {},
  }).start();
  const write = async (step: GiantStep): Promise<void> => {
    await client.ready();
    const outcome = await client.transact([operation(step)]);
    port.postMessage(outcome.kind === 'error' ? outcome.details : outcome.kind, []);
  };
  port.on('message', (step: GiantStep) => {
    void write(step);
  });
}
