import { describe, expect, test } from 'vitest';
import {
  OvsdbClient,
  parseSchema,
  type ClientEvent,
  type ClientOptions,
  type JsonValue,
} from 'ovsdb-client-ts';
import { scriptedTransport } from 'ovsdb-client-ts/testing';

const SCHEMA = {
  name: 'Small',
  version: '1.0.0',
  tables: { T: { columns: { name: { type: 'string' } } } },
};
const uuid = '00000000-0000-4000-8000-000000000001';
const replies: { readonly [method: string]: JsonValue } = {
  get_schema: SCHEMA,
  monitor_cond_since: [false, uuid, { T: { [uuid]: { initial: { name: 'a' } } } }],
};

/** A client of a server that answers at once; `heard` gets what happens, `act` is called in it. */
function listener(
  act: (client: OvsdbClient, what: string) => void,
  options: Partial<ClientOptions> = {},
): { readonly client: OvsdbClient; readonly heard: string[] } {
  const heard: string[] = [];
  const hear = (what: string): void => {
    heard.push(what);
    act(client, what);
  };
  const client: OvsdbClient = new OvsdbClient({
    remotes: 'tcp:recorded',
    database: 'Small',
    schema: parseSchema(SCHEMA),
    openSocket: scriptedTransport({
      message({ id, method }, peer) {
        if (typeof method !== 'string' || id === undefined || id === null) return;
        const result = replies[method];
        if (result === undefined) peer.send({ id, result: null, error: 'unknown method' });
        else peer.send({ id, result, error: null });
      },
    }),
    timing: { minBackoff: 1, maxBackoff: 2 },
    onEvent: ({ kind }) => {
      hear(kind);
    },
    ...options,
  });
  client.replica.subscribe(() => {
    hear('changed');
  });
  client.start();
  return { client, heard };
}

describe('who hears of something may use the client', () => {
  const kinds: readonly (ClientEvent['kind'] | 'changed')[] = [
    'connecting',
    'connected',
    'changed',
    'loaded',
  ];
  for (const kind of kinds) {
    test(`to close it when it is ${kind}: nothing is told afterwards`, async () => {
      const { client, heard } = listener((it, what) => {
        if (what === kind) it.close();
      });
      await expect(client.ready()).rejects.toThrow('the client was closed');
      expect(heard.at(-1)).toBe(kind);
      expect(client.status).toBe('closed');
    });

    test(`to ask for another connection when it is ${kind}`, async () => {
      let left = 3;
      const { client, heard } = listener((it, what) => {
        if (what === kind && left-- > 0) it.reconnect();
      });
      await expect
        .poll(() => heard.filter((what) => what === 'loaded').length >= (kind === 'loaded' ? 4 : 1))
        .toBe(true);
      expect(client.status).toBe('ready');
      // What was loaded is not said of a connection that had ended.
      for (const [n, what] of heard.entries())
        if (what === 'loaded')
          expect(heard.slice(0, n).findLast((w) => w !== 'changed')).toBe('connected');
      client.close();
    });
  }

  test('to ask for another connection whenever one fails', async () => {
    let tries = 0;
    const { client, heard } = listener(
      (it, what) => {
        if (what === 'disconnected' && ++tries < 2000) it.reconnect();
      },
      {
        openSocket() {
          throw new Error('no way');
        },
      },
    );
    await expect.poll(() => tries).toBeGreaterThan(100);
    client.close();
    expect(heard.slice(0, 4)).toEqual(['connecting', 'disconnected', 'connecting', 'disconnected']);
  });

  test('an event of the start finds the client in the hands of whoever started it', async () => {
    const statuses: string[] = [];
    const client: OvsdbClient = new OvsdbClient({
      remotes: 'unix:/does/not/exist',
      database: 'Small',
      onEvent: () => {
        statuses.push(client.status);
      },
    }).start();
    await expect.poll(() => statuses).toEqual(['connecting', 'disconnected']);
    client.close();
  });
});
