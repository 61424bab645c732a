import { OvsdbClient, type ClientOptions } from 'ovsdb-client-ts';

/**
 * A program that uses a client, closes it when its parent says so, and has nothing else that keeps it alive.
 * Arguments: the client's options as JSON, and how much it writes before it closes.
 */
const tell = (what: string): void => {
  if (process.connected) process.send?.(what);
};
const options = JSON.parse(process.argv[2] ?? '') as ClientOptions;
const writes = Number(process.argv[3]);
const client = new OvsdbClient({
  ...options,
  onEvent: ({ kind }) => {
    tell(kind);
  },
}).start();
client.ready().catch((error: unknown) => {
  tell(String(error));
});

process.once('message', () => {
  for (let n = 0; n < writes; n++)
    void client.transact([
      { op: 'insert', table: 'Address_Set', row: { name: 'x'.repeat(50_000) + String(n) } },
    ]);
  // What was written has left as far as the server takes it.
  setImmediate(() => {
    client.close();
    tell('closed');
    process.disconnect();
  });
});
