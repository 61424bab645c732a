import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  OvsdbClient,
  stringify,
  type ClientOptions,
  type JsonValue,
  type Operation,
  type Replica,
} from 'ovsdb-client-ts';
import { Transaction } from 'ovsdb-client-ts/extras';
import { parseJson } from 'ovsdb-client-ts/values';
import { OvsdbServer, runOvs, temporaryFolder } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';
import { freePort } from '../../support/run/free-port.ts';

/** Things that are tested one by one elsewhere, and here happen at the same time. */

const soon = (): AbortSignal => AbortSignal.timeout(20_000);
const folder = temporaryFolder();
afterAll(() => {
  folder[Symbol.dispose]();
});

const set = (key: JsonValue, more = {}): JsonValue => ({
  type: { key, min: 0, max: 'unlimited', ...more },
});
const COLUMNS: { readonly [column: string]: JsonValue } = {
  name: { type: 'string' },
  n: { type: 'integer' },
  gone: { type: 'string' },
  numbers: set('integer'),
  counts: set('string', { value: 'integer' }),
  texts: set('integer', { value: 'string' }),
};

function schemaFile(version: string, columns: { readonly [column: string]: JsonValue }): string {
  const file = join(folder.path, `${version}.ovsschema`);
  const other = { columns: { name: { type: 'string' } }, isRoot: true };
  const tables = { T: { columns, isRoot: true, indexes: [['n']] }, Other: other };
  writeFileSync(file, stringify({ name: 'D', version, tables }));
  return file;
}

const start = (name: string, more: { readonly remotes?: readonly string[] } = {}) =>
  OvsdbServer.start({ schema: schemaFile('1.0.0', COLUMNS), folder: folder.path, name, ...more });

const follow = (remotes: string, options: Partial<ClientOptions> = {}): OvsdbClient =>
  new OvsdbClient({
    remotes,
    database: 'D',
    timing: { minBackoff: 10, maxBackoff: 50 },
    ...options,
  }).start();

let lastNumber = 0;
const insert = (name: string, row: { readonly [column: string]: JsonValue } = {}): Operation => ({
  op: 'insert',
  table: 'T',
  row: { n: ++lastNumber, name, ...row },
});
const names = (replica: Replica): readonly string[] =>
  [...replica.rows('T')].map((row) => row.column('name') as string).sort();

test('conditions of two monitors change while there is no connection, and the database is converted meanwhile', async () => {
  await using server = await start('converted');
  await using client = follow(server.remote, {
    tables: { T: { where: [['name', '==', 'a']] }, Other: true },
  });
  await client.ready(soon());
  using monitor = client.monitor({
    T: { columns: ['name', 'gone'], where: [['gone', '==', 'x']] },
  });
  await monitor.ready(soon());
  await client.transact([insert('a'), insert('b'), insert('c', { gone: 'x' })]);
  expect([names(client.replica), names(monitor.replica)]).toEqual([['a'], ['c']]);
  const [held] = client.replica.rows('T');
  const heard: string[] = [];
  client.replica.subscribe(({ tables }) => {
    for (const [table, { rows }] of tables)
      for (const { kind } of rows) heard.push(`${table} ${kind}`);
  });

  await server.stop();
  await until('the client to notice', () => client.status !== 'ready');
  const changed = [
    client.setCondition('T', [['name', '==', 'b']], soon()),
    monitor.setCondition('T', [['name', '!=', 'c']], soon()),
  ];
  const { gone: _gone, ...columns } = COLUMNS;
  const later = schemaFile('2.0.0', { ...columns, later: { type: 'integer' } });
  await runOvs('ovsdb-tool', ['convert', join(folder.path, 'converted.db'), later]);
  await server.launch();
  await Promise.all(changed);

  expect([names(client.replica), names(monitor.replica)]).toEqual([['b'], ['a', 'b']]);
  expect([client.replica.schema.version, monitor.replica.schema.version]).toEqual([
    '2.0.0',
    '2.0.0',
  ]);
  expect(heard).toEqual(['T inserted', 'T deleted']);
  expect(held?.exists).toBe(false);
  expect((await client.transact([insert('d', { later: 5 })])).kind).toBe('success');
  expect([names(client.replica), names(monitor.replica)]).toEqual([['b'], ['a', 'b', 'd']]);
});

test('a lock that is stolen while a transaction waits with it: nothing is written', async () => {
  await using server = await start('locked');
  await using first = follow(server.remote);
  await using second = follow(server.remote);
  await Promise.all([first.ready(soon()), second.ready(soon())]);
  const mine = first.lock('mine');
  await mine.held(soon());
  const wait = {
    op: 'wait',
    table: 'Other',
    where: [],
    columns: ['name'],
    until: '==',
    rows: [{ name: 'now' }],
  } as const;
  const outcome = first.transact([wait, insert('written')], { lock: 'mine' });
  const stolen = second.lock('mine', { steal: true });
  await stolen.held(soon());
  await until('the first to hear of it', () => !mine.isHeld);
  await second.transact([{ op: 'insert', table: 'Other', row: { name: 'now' } }]);
  expect(await outcome).toEqual({ kind: 'not-locked', lock: 'mine' });
  expect(names(first.replica)).toEqual([]);
  stolen.release();
  await mine.held(soon());
  expect((await first.transact([insert('written')], { lock: 'mine' })).kind).toBe('success');
});

test('the extremes of 64 bits, wherever there may be an integer', async () => {
  const [least, most, odd] = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n];
  await using server = await start('wide');
  await using client = follow(server.remote);
  await client.ready(soon());
  using monitor = client.monitor({ T: { where: [['n', '>', odd]] } });
  await monitor.ready(soon());
  const made = new Transaction(client.replica);
  const row = made.insert('T', {
    name: 'most',
    n: most,
    numbers: [most, odd, least],
    counts: { most, least },
    texts: new Map([
      [most, 'most'],
      [odd, 'odd'],
    ]),
  });
  made.insert('T', { name: 'least', n: least });
  made.insert('T', { name: 'odd', n: odd });
  expect((await made.commit(client)).kind).toBe('success');

  const { replica } = client;
  const found = replica.row('T', row.uuid);
  expect(found?.column('numbers')).toEqual([least, odd, most]);
  expect(found?.column('counts')).toEqual(new Map(Object.entries({ least, most })));
  expect([found?.includes('numbers', odd - 1n), found?.includes('texts', odd, 'odd')]).toEqual([
    false,
    true,
  ]);
  expect(replica.find('T', ['n'], [most - 1n])).toEqual([]);
  expect(replica.find('T', [{ column: 'texts', key: most }], ['most'])).toHaveLength(1);
  const inOrder = replica.ordered('T', ['n']);
  expect(inOrder.range([odd], [most]).map((one) => one.column('name'))).toEqual(['odd', 'most']);
  expect(names(monitor.replica)).toEqual(['most']);
  await monitor.setCondition('T', [['n', '<=', least]], soon());
  expect(names(monitor.replica)).toEqual(['least']);

  const change = new Transaction(replica);
  change.verify('T', row.uuid, 'n', 'numbers', 'counts', 'texts');
  change.mutate('T', row.uuid, 'n', '-=', 1).removeFromSet('T', row.uuid, 'numbers', [odd]);
  change.setKeys('T', row.uuid, 'counts', { most: least });
  expect((await change.commit(client)).kind).toBe('success');
  expect([found?.column('n'), found?.column('numbers')]).toEqual([most - 1n, [least, most]]);
  expect(stringify(parseJson(JSON.stringify(found)))).toContain(`"most":${least}`);
  const over = new Transaction(replica).mutate('T', row.uuid, 'n', '+=', most);
  expect(await over.commit(client)).toMatchObject({ kind: 'error', error: 'range error' });
});

test('remotes become those of a relay, and again of its source: no row is told twice', async () => {
  await using source = await start('source');
  await using relay = await OvsdbServer.start({
    folder: folder.path,
    name: 'relay',
    databases: [`relay:D:${source.remote}`],
  });
  await using client = follow(source.remote, { leaderOnly: false });
  await client.ready(soon());
  await client.transact([insert('a')]);
  const heard: number[] = [];
  client.replica.subscribe(({ tables }) => heard.push(tables.get('T')?.rows.length ?? 0));
  client.setRemotes(relay.remote);
  await client.ready(soon());
  expect([client.remote, client.databaseStatus?.model]).toEqual([relay.remote, 'relay']);
  expect((await client.transact([insert('b')])).kind).toBe('success');
  client.setRemotes(source.remote);
  await client.ready(soon());
  expect(names(client.replica)).toEqual(['a', 'b']);
  expect(heard).toEqual([1]);
});

test('of two servers that connect to us one is followed, and the other when that one ends', async () => {
  const port = await freePort();
  const calls = { remotes: [`tcp:127.0.0.1:${port}`] };
  await using client = follow(`ptcp:${port}:127.0.0.1`);
  await using first = await start('first', calls);
  await client.ready(soon());
  await client.transact([insert('of the first')]);
  await using second = await start('second', calls);
  await using direct = follow(second.remote);
  await direct.ready(soon());
  await direct.transact([insert('of the second')]);
  expect([client.status, names(client.replica)]).toEqual(['ready', ['of the first']]);
  await first.stop();
  await until(
    'the second to be followed',
    () => client.status === 'ready' && names(client.replica).join() === 'of the second',
  );
});
