/** What a daemon is told of a database that goes away and comes back. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase, type OpenDatabase } from '../../../src/databases/open-database.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { northboundTables } from '../../../src/zone/monitored-columns.ts';
import { ManualClock } from '../../support/run/manual-clock.ts';
import { OvsdbServer, SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';

let server: OvsdbServer;
let database: OpenDatabase;
let told: string[];
let clock: ManualClock;

beforeEach(async () => {
  told = [];
  clock = new ManualClock();
  server = await OvsdbServer.start({ schema: join(SCHEMAS, 'ovn-nb.ovsschema') });
  database = openDatabase({
    name: 'OVN_Northbound',
    flag: '--nb',
    remotes: server.remote,
    tls: {},
    tables: northboundTables,
    log: createLogger('silent'),
    clock,
    onAvailable: () => told.push('available'),
    onLost: () => told.push(`lost: ${database.unavailable() ?? ''}`),
  });
  await database.ready(AbortSignal.timeout(20_000));
  told.length = 0;
});
afterEach(async () => {
  await database[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

test('a server that ends is told once, though it is dialled again and again, and so is its return', async () => {
  await server.stop();
  await until('the loss is told', () => told.length > 0);
  expect(told).toEqual([expect.stringMatching(/^lost: OVN_Northbound .*is not connected/)]);
  await server.launch();
  await until('the return is told', () => told.includes('available'));
  expect(told).toEqual([expect.stringMatching(/^lost: /), 'available']);
});

test('a connection that is lost and made again at once is no loss', async () => {
  await server.control('ovsdb-server/reconnect');
  await until('the return is told', () => told.includes('available'));
  // Loses the server for good: what was told of the first loss would come before this one.
  await server.stop();
  await until('the loss is told', () => told.some((text) => text.startsWith('lost')));
  expect(told).toEqual(['available', expect.stringMatching(/^lost: /)]);
});

test('a server that stands still is told with the time since when, until it answers', async () => {
  server.suspend('SIGSTOP');
  const answer = database.transactor.transact([
    { op: 'insert', table: 'Logical_Switch', row: { name: 'late' } },
  ]);
  await clock.advance(14_000);
  expect(database.silent?.()).toBeUndefined();
  await clock.advance(1000);
  expect(database.silent?.()).toMatch(
    /^OVN_Northbound \(--nb unix:.*\) has not answered a transaction since .*Z: what was programmed goes on, and no change gets there; see whether its ovsdb-server is stopped/,
  );
  server.suspend('SIGCONT');
  expect(await answer).toMatchObject({ kind: 'success' });
  expect(database.silent?.()).toBeUndefined();
});
