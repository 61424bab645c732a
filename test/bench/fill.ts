import {
  OvsdbClient,
  planSelection,
  type DatabaseRules,
  type DatabaseSchema,
  type Plan,
} from '../../src/ovsdb/index.ts';
import { operationsOf } from '../../src/ovsdb/plan/plan-operations.ts';
import { OvsdbServer, runOvs } from '../support/ovsdb-server.ts';
import { timed } from './benchmark.ts';
import { RawSender } from './raw-sender.ts';

/** Northbound databases for benchmarks, and what the same operations take without a plan. */

/** A server with what ovn-northd would have made at its first start. */
export async function northboundServer(): Promise<OvsdbServer> {
  const server = await OvsdbServer.start();
  await runOvs('ovn-nbctl', [`--db=${server.remote}`, '--no-leader-only', 'init']);
  return server;
}

/** A client that follows what plans with these rules look at, as the daemon does; everything without them. */
export async function loadedClient(
  server: OvsdbServer,
  followed?: DatabaseRules,
): Promise<OvsdbClient> {
  const client = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    ...(followed === undefined
      ? {}
      : { tables: (schema: DatabaseSchema) => planSelection(followed, schema) }),
  }).start();
  await client.ready(AbortSignal.timeout(120_000));
  return client;
}

/** What the same operations take when nothing else is done: milliseconds. Transactions that the commit sends at one time too. */
export async function rawTime(plans: Pick<Plan, 'batches'>, window = 4): Promise<number> {
  await using server = await northboundServer();
  await using sender = await RawSender.connect(server.socket);
  const [, wall] = await timed(async () => {
    const underWay = new Set<Promise<void>>();
    for (const batch of plans.batches) {
      const sent = sender
        .transact('OVN_Northbound', operationsOf(batch))
        .finally(() => underWay.delete(sent));
      underWay.add(sent);
      if (underWay.size >= window) await Promise.race(underWay);
    }
    await Promise.all(underWay);
  });
  return wall;
}
