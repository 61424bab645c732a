import { expect, test } from 'vitest';
import { OvsdbClient, type ClientEvent, type JsonValue } from 'ovsdb-client-ts';
import { scriptedTransport } from 'ovsdb-client-ts/testing';

const MAX_MESSAGE_BYTES = 100_000;

const SCHEMA = {
  name: 'Small',
  tables: { T: { columns: { name: { type: 'string' } }, isRoot: true } },
};

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** The database, and how long the names of its rows are. */
const contents = (rows: number, length: number): JsonValue => [
  false,
  uuid(0),
  {
    T: Object.fromEntries(
      Array.from({ length: rows }, (_, n) => [
        uuid(n + 1),
        { initial: { name: 'x'.repeat(length) } },
      ]),
    ),
  },
];

function clientOf(monitorReply: JsonValue, onEvent: (event: ClientEvent) => void): OvsdbClient {
  const replies: { readonly [method: string]: JsonValue } = {
    get_schema: SCHEMA,
    monitor_cond_since: monitorReply,
  };
  return new OvsdbClient({
    remotes: 'tcp:scripted',
    database: 'Small',
    maxMessageBytes: MAX_MESSAGE_BYTES,
    onEvent,
    openSocket: scriptedTransport({
      message({ id, method }, peer) {
        if (typeof method !== 'string' || id === undefined || id === null) return;
        const result = replies[method];
        const text = JSON.stringify(
          result === undefined
            ? { id, result: null, error: 'unknown method' }
            : { id, error: null, result },
        );
        // As a socket brings it.
        for (let at = 0; at < text.length; at += 60_000)
          peer.sendBytes(text.slice(at, at + 60_000));
      },
    }),
  });
}

test('contents of any size are loaded: only single rows are limited', async () => {
  await using client = clientOf(contents(20, MAX_MESSAGE_BYTES / 2), () => {}).start();
  await client.ready();
  expect(client.replica.size('T')).toBe(20);
});

test('a row that is too large ends the connection with an error that names the limit and the setting', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  await using _client = clientOf(contents(1, 3 * MAX_MESSAGE_BYTES), (event) => {
    if (event.kind === 'disconnected') resolve(event.error.details);
  }).start();
  expect(await promise).toContain(
    `a row of a message is larger than ${MAX_MESSAGE_BYTES} bytes; the option maxMessageBytes would allow more`,
  );
});

test.each([0, -1, 1.5, Number.NaN, Infinity, 2 ** 40])('a limit of %s is refused', (limit) => {
  const make = () =>
    new OvsdbClient({ remotes: 'tcp:127.0.0.1', database: 'D', maxMessageBytes: limit });
  expect(make).toThrow('maxMessageBytes must be a number of bytes from 4096 to');
});
