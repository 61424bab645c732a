import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import type { JsonValue } from '../../src/ovsdb/index.ts';
import { ScriptedOvsdbServer, smallDatabase } from '../support/scripted-ovsdb-server.ts';
import { MEMBERS } from './giant-writer.ts';

/**
 * A server in a thread of its own that sends values as no real one would on a quiet day: strings of very many bytes, members in no order, rows as
 * servers before 2.6 tell them. To make them must not count as work of whoever hears of them.
 */

/** Bytes of a string that is very long. */
export const LENGTH = 50_000_000;

/** What becomes of the only row. */
export type ValueStep =
  | 'text'
  | 'other text'
  | 'letters'
  | 'escapes'
  | 'texts'
  | 'ordered'
  | 'more'
  | 'set'
  | 'map'
  | 'delete';

/** The row, before and after a step. */
interface Row {
  readonly [column: string]: JsonValue;
}

const ROW = '00000000-0000-4000-8000-000000000001';
const LAST = '00000000-0000-4000-8000-0000000000ff';

/** The same numbers in an order that looks like none. */
const shuffled = (n: number): number => (n * 77_777) % MEMBERS;

const numbers = Array.from({ length: MEMBERS }, (_, n) => n);
const member = (n: number): string =>
  `0a:58:00:00:00:01 fd00:1234:5678:9abc::${n.toString(16).padStart(11, '0')}`;

const text = (piece: string): string => piece.repeat(LENGTH / Buffer.byteLength(piece));

const ROWS: { readonly [step in Exclude<ValueStep, 'delete'>]: () => Row } = {
  text: () => ({ name: text('0123456789') }),
  'other text': () => ({ name: `${text('0123456789')}x` }),
  letters: () => ({ name: text('größenmaß:') }),
  escapes: () => ({ name: text('"two"\n\\ ') }),
  texts: () => ({
    tags: ['map', Array.from({ length: 250 }, (_, n) => [`k${1000 + n}`, 'x'.repeat(200_000 + n)])],
  }),
  ordered: () => ({ members: ['set', numbers.map(member)] }),
  more: () => ({ members: ['set', [...numbers, MEMBERS].map(member)] }),
  set: () => ({ members: ['set', numbers.map((n) => member(shuffled(n)))] }),
  map: () => ({ tags: ['map', numbers.map((n) => [member(shuffled(n)), `${n}`])] }),
};

/** How the server tells rows: `monitor` is all that servers before 2.6 know. */
export type Dialect = 'monitor_cond_since' | 'monitor';

/** `await using` it. */
export class ValueServer implements AsyncDisposable {
  readonly #worker: Worker;
  readonly remote: string;

  private constructor(worker: Worker, remote: string) {
    this.#worker = worker;
    this.remote = remote;
  }

  static async start(dialect: Dialect): Promise<ValueServer> {
    const worker = new Worker(import.meta.filename, { workerData: { dialect } });
    const [remote] = (await once(worker, 'message')) as [string];
    return new ValueServer(worker, remote);
  }

  /** Resolves when it begins to send. */
  async tell(step: ValueStep): Promise<void> {
    this.#worker.postMessage(step, []);
    await once(this.#worker, 'message');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

async function serve(dialect: Dialect): Promise<void> {
  let row: Row | undefined;
  let monitor: JsonValue = null;
  const known = smallDatabase();
  await using server = await ScriptedOvsdbServer.start({
    ...known,
    monitor_cond: ({ params }, peer) =>
      dialect === 'monitor'
        ? { refuse: 'unknown method' }
        : known['monitor_cond']?.(
            { id: 0, method: 'monitor_cond', params, result: undefined },
            peer,
          ),
    monitor_cond_since: ({ params }) => {
      if (dialect === 'monitor') return { refuse: 'unknown method' };
      monitor = params[1] ?? null;
      return [false, LAST, { T: row === undefined ? {} : { [ROW]: { initial: row } } }];
    },
    monitor: ({ params }) => {
      if (params[0] === '_Server') return { refuse: 'unknown database' };
      monitor = params[1] ?? null;
      return { T: row === undefined ? {} : { [ROW]: { new: row } } };
    },
    transact: ({ params }) => [
      (params[1] as Row)['op'] === 'select' ? { rows: [{ name: text('0123456789') }] } : {},
    ],
    letters: () => text('größenmaß:'),
  });
  const port = parentPort;
  if (port === null) throw new Error('there is nobody to serve');
  port.postMessage(server.remote, []);
  port.on('message', (step: ValueStep) => {
    const before = row;
    row = step === 'delete' ? undefined : ROWS[step]();
    const { peer } = server;
    port.postMessage(step, []);
    if (dialect === 'monitor') {
      const old = before === undefined ? {} : { old: before };
      peer?.notify('update', monitor, {
        T: { [ROW]: row === undefined ? old : { ...old, new: row } },
      });
      return;
    }
    // Rows are told as if they had been empty before.
    const update =
      row === undefined
        ? { delete: null }
        : before === undefined
          ? { insert: row }
          : { modify: row };
    peer?.notify('update3', monitor, LAST, { T: { [ROW]: update } });
  });
  await once(port, 'close');
}

if (!isMainThread) {
  const given = workerData as { readonly dialect?: Dialect } | string;
  if (typeof given === 'object' && given.dialect !== undefined) await serve(given.dialect);
}
