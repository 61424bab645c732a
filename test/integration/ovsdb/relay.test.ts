import { expect, test } from 'vitest';
import { OvsdbClient } from 'ovsdb-client-ts';
import { OvsdbProxy } from '../../support/ovsdb/ovsdb-proxy.ts';
import { OvsdbServer } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';

const soon = (): AbortSignal => AbortSignal.timeout(20_000);

test('a relay that loses its source in the middle of a transaction does not know what became of it, so we do not say that it was not applied', async () => {
  await using source = await OvsdbServer.start();
  await using proxy = await OvsdbProxy.start(source.socket);
  await using relay = await OvsdbServer.start({
    databases: [`relay:OVN_Northbound:${proxy.remote}`],
  });
  const options = { database: 'OVN_Northbound', leaderOnly: false };
  await using client = new OvsdbClient({ ...options, remotes: relay.remote }).start();
  await using direct = new OvsdbClient({ ...options, remotes: source.remote }).start();
  await Promise.all([client.ready(soon()), direct.ready(soon())]);

  proxy.passing = 'none';
  const outcome = client.transact([{ op: 'insert', table: 'Logical_Switch', row: { name: 'a' } }]);
  await until('the source to have it', () => direct.replica.size('Logical_Switch') === 1);
  proxy.heal();
  expect((await outcome).kind).toBe('unknown');
  // After a while the replica tells.
  await until('the relay to have it', () => client.replica.size('Logical_Switch') === 1);
});
