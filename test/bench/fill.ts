import { OvsdbClient } from 'ovsdb-client-ts';
import { OvsdbServer, runOvs } from '../support/ovsdb/ovsdb-server.ts';

/** Northbound databases for benchmarks. */

/** A server with what ovn-northd would have made at its first start. */
export async function northboundServer(): Promise<OvsdbServer> {
  const server = await OvsdbServer.start();
  await runOvs('ovn-nbctl', [`--db=${server.remote}`, '--no-leader-only', 'init']);
  return server;
}

/** A client that follows everything. */
export async function loadedClient(server: OvsdbServer): Promise<OvsdbClient> {
  const client = new OvsdbClient({ remotes: server.remote, database: 'OVN_Northbound' }).start();
  await client.ready(AbortSignal.timeout(120_000));
  return client;
}
