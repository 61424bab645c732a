import { once } from 'node:events';
import { connect } from 'node:net';
import {
  OvsdbClient,
  parseSchema,
  stringify,
  ZERO_UUID,
  type DatabaseSchema,
  type JsonValue,
} from 'ovsdb-client-ts';
import { OvsdbServer } from '../support/ovsdb/ovsdb-server.ts';
import { until } from '../support/run/until.ts';
import { networkOperations } from '../support/ovsdb/ovsdb-workload.ts';
import { timed } from './benchmark.ts';
import { RawSender } from './raw-sender.ts';

/** A large Northbound database to be loaded, and the floor of a load. */

/** A server with this many networks in a zone of this many nodes: 2·nodes + 9 rows each. */
export async function filledServer(networks: number, nodes: number): Promise<OvsdbServer> {
  const server = await OvsdbServer.start();
  await using sender = await RawSender.connect(server.socket);
  for (let n = 0; n < networks; n++) {
    await sender.transact('OVN_Northbound', networkOperations(n, nodes));
  }
  return server;
}

/** The schema that the server has. */
export async function schemaOf(server: OvsdbServer): Promise<DatabaseSchema> {
  await using client = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    tables: { NB_Global: true },
  }).start();
  await client.ready();
  return parseSchema(await client.call('get_schema', ['OVN_Northbound']));
}

/** The floor: the same reply received and thrown away. Milliseconds to its last byte, and how many bytes it has. */
export async function receiveOnly(
  server: OvsdbServer,
  schema: DatabaseSchema,
): Promise<{ readonly wall: number; readonly bytes: number }> {
  const requests: { [table: string]: JsonValue } = {};
  for (const table of schema.tables.values())
    requests[table.name] = [{ columns: [...table.columns.keys()] }];
  const socket = connect(server.socket);
  await once(socket, 'connect');
  let bytes = 0;
  const [, wall] = await timed(async () => {
    socket.write(
      stringify({
        id: 1,
        method: 'monitor_cond_since',
        params: ['OVN_Northbound', 'm', requests, ZERO_UUID],
      }),
    );
    socket.write(stringify({ id: 2, method: 'echo', params: ['the end'] }));
    for await (const chunk of socket) {
      const piece = chunk as Buffer;
      bytes += piece.length;
      if (piece.subarray(-80).includes('the end')) break;
    }
  });
  socket.destroy();
  return { wall, bytes };
}

/** A server keeps the text of a reply while somebody has that monitor: everybody is to wait for a new one. */
export const forgotten = (server: OvsdbServer): Promise<void> =>
  until(
    'the server to forget its monitors',
    async () => !/monitors:[1-9]/.test(await server.control('memory/show')),
    60_000,
  );
