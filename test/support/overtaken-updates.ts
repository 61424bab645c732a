/** A server that tells what a transaction changed in a message so large that the reply behind it is told first. */
import { expect } from 'vitest';
import {
  OvsdbClient,
  scriptedTransport,
  type ClientOptions,
  type JsonObject,
  type JsonValue,
  type ScriptedPeer,
} from '../../src/ovsdb/index.ts';

export const SCHEMA = {
  name: 'Small',
  version: '1.0.0',
  tables: {
    T: {
      columns: {
        name: { type: 'string' },
        other: { type: { key: { type: 'uuid', refTable: 'T', refType: 'weak' }, min: 0, max: 1 } },
      },
      isRoot: true,
    },
  },
};

export const uuidOf = (n: number): string =>
  `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
/** Rows of a message that takes longer to read than to come back to. */
export const MANY = 100;
export const FIRST = uuidOf(0);

export const inserted = (count: number, from = 1): JsonObject =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => [
      uuidOf(from + n),
      { insert: { name: `row ${from + n} ${'of many '.repeat(12)}` } },
    ]),
  );
export const update = (rows: JsonValue, monitor = 1): JsonObject => ({
  id: null,
  method: 'update3',
  params: [`Small/${monitor}`, uuidOf(77), { T: rows }],
});
export const reply = (id: JsonValue): JsonObject => ({ id, result: [{}], error: null });

/** What the server sends when it has carried out a transaction, as bytes. */
export type Answer = (id: JsonValue, peer: ScriptedPeer) => void;

/** What it answers to other requests than transactions; others are unknown to it. */
export type Replies = { readonly [method: string]: JsonValue };

const USUAL: Replies = {
  get_schema: SCHEMA,
  monitor_cond_since: [false, uuidOf(76), { T: { [FIRST]: { initial: { name: 'first' } } } }],
};

/** A client of a database with a single row, which nobody listens to. */
export async function connected(
  answer: Answer,
  options: Partial<ClientOptions> = {},
  others: Replies = {},
): Promise<OvsdbClient> {
  const client = new OvsdbClient({
    remotes: 'tcp:recorded',
    database: 'Small',
    openSocket: scriptedTransport({
      message({ id, method }, peer) {
        if (typeof method !== 'string' || id === undefined || id === null) return;
        const result = others[method] ?? USUAL[method];
        if (method === 'transact') answer(id, peer);
        else if (result === undefined) peer.send({ id, result: null, error: 'unknown method' });
        else peer.send({ id, result, error: null });
      },
    }),
    timing: { minBackoff: 1, maxBackoff: 2 },
    ...options,
  }).start();
  await client.ready();
  return client;
}

/** Answers with an update that is put off in front of the reply. */
export const large: Answer = (id, peer) => {
  peer.send(
    update({
      ...inserted(MANY),
      [FIRST]: { modify: { name: 'changed', other: ['uuid', uuidOf(1)] } },
    }),
    reply(id),
  );
};
/** A transaction of which the outcome is known. */
export const carriedOut = async (client: OvsdbClient): Promise<void> => {
  const outcome = await client.transact([{ op: 'comment', comment: 'any' }]);
  expect(outcome.kind).toBe('success');
};
