import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { OvsdbClient, type Lock } from 'ovsdb-client-ts';
import { OvsdbServer } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';

/** Several clients that take, give up, steal and take again one lock of a real server, without waiting for each other. */

const soon = (): AbortSignal => AbortSignal.timeout(20_000);

const CLIENTS = 3;

const step = fc.record({
  client: fc.nat(CLIENTS - 1),
  what: fc.constantFrom('take', 'give up', 'again', 'steal', 'wait'),
});

test('in the end the one that the server thinks of has the lock, and nobody else says so', async () => {
  await using server = await OvsdbServer.start();
  const follow = (): OvsdbClient =>
    new OvsdbClient({ remotes: server.remote, database: 'OVN_Northbound', tables: {} }).start();
  await using first = follow();
  await using second = follow();
  await using third = follow();
  const clients = [first, second, third];
  await Promise.all(clients.map((client) => client.ready(soon())));
  /** Has the server answer whatever was asked before. */
  const settle = (): Promise<unknown> =>
    Promise.all(clients.map((client) => client.call('echo', [], soon())));
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const name = `lock_${round++}`;
      const locks = new Map<OvsdbClient, Lock>();
      for (const { client: n, what } of steps) {
        const client = clients[n] as OvsdbClient;
        const lock = locks.get(client);
        if (what === 'wait') await client.call('echo', [], soon());
        else if (what === 'give up' || what === 'again') {
          lock?.release();
          locks.delete(client);
        }
        if (what === 'take' || what === 'again') locks.set(client, client.lock(name));
        if (what === 'steal') locks.set(client, client.lock(name, { steal: true }));
      }
      // A lock that was given up may pass to another one, who is told after the answer.
      await settle();
      const holders = (): OvsdbClient[] =>
        [...locks].filter(([, lock]) => lock.isHeld).map(([client]) => client);
      await until('one holder', () => holders().length === Math.min(1, locks.size));
      await settle();
      expect(holders()).toHaveLength(Math.min(1, locks.size));
      for (const client of clients) {
        const { kind } = await client.transact([{ op: 'assert', lock: name }]);
        expect(kind).toBe(holders().includes(client) ? 'success' : 'not-locked');
      }
      for (const lock of locks.values()) lock.release();
      await settle();
    }),
    { numRuns: 100, endOnFailure: true },
  );
});
