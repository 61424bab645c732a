import { expect, test } from 'vitest';
import { OvsdbClient, stringify, type JsonObject } from 'ovsdb-client-ts';
import { scriptedTransport, type ScriptedPeer } from 'ovsdb-client-ts/testing';
import { smallDatabase } from '../../support/ovsdb/scripted-ovsdb-server.ts';

const soon = (): AbortSignal => AbortSignal.timeout(10_000);
const A = '00000000-0000-4000-8000-000000000001';
const B = '00000000-0000-4000-8000-000000000002';

/** A script with a small database; `cut` says in pieces of how many bytes it talks. */
function script(cut?: number) {
  const answers = smallDatabase({ [A]: { name: 'a' } });
  const peers: ScriptedPeer[] = [];
  const heard: JsonObject[] = [];
  const say = (peer: ScriptedPeer, message: JsonObject): void => {
    if (cut === undefined) {
      peer.send(message);
      return;
    }
    const bytes = Buffer.from(stringify(message));
    for (let at = 0; at < bytes.length; at += cut) peer.sendBytes(bytes.subarray(at, at + cut));
  };
  const openSocket = scriptedTransport({
    connected: (peer) => peers.push(peer),
    message: (message, peer) => {
      heard.push(message);
      const { id, method } = message;
      if (typeof method !== 'string' || id === null || id === undefined) return;
      const result = answers[method]?.(
        { id, method, params: message['params'] as [], result: undefined },
        undefined as never,
      );
      if (
        result === undefined ||
        (typeof result === 'object' && result !== null && 'refuse' in result)
      )
        say(peer, { id, result: null, error: 'unknown method' });
      else say(peer, { id, result, error: null });
    },
  });
  const client = new OvsdbClient({
    remotes: 'tcp:nowhere:1',
    database: 'Small',
    timing: { minBackoff: 1, maxBackoff: 5 },
    openSocket,
  }).start();
  return { client, peers, heard, say };
}

test.each([undefined, 1, 7])('a client talks to a script, in pieces of %s bytes', async (cut) => {
  const { client, peers, heard, say } = script(cut);
  await using _ = client;
  await client.ready(soon());
  expect(client.replica.row('T', A)?.column('name')).toBe('a');
  const id = heard.find(({ method }) => method === 'monitor_cond_since')?.['params'] as string[];
  const [peer] = peers;
  if (peer === undefined) throw new Error('nobody connected');
  say(peer, {
    id: null,
    method: 'update3',
    params: [id[1] ?? '', B, { T: { [B]: { insert: { name: 'b' } } } }],
  });
  await expect.poll(() => client.replica.size('T')).toBe(2);
  // A new connection after the end of this one.
  peer.hangUp();
  await expect.poll(() => peers.length).toBe(2);
  await client.ready(soon());
  expect(client.replica.size('T')).toBe(1);
});

test('nonsense ends the connection, not the program', async () => {
  const { client, peers } = script();
  await using _ = client;
  await client.ready(soon());
  peers[0]?.sendBytes('{"id":}');
  await expect.poll(() => peers.length).toBe(2);
  await client.ready(soon());
});
