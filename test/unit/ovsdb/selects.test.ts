import { expect, test } from 'vitest';
import {
  OvsdbClient,
  parseSchema,
  Replica,
  schemaToJson,
  type ClientOptions,
  type JsonValue,
  type MonitorSelect,
  type TableSelection,
  ZERO_UUID,
} from '../../../src/ovsdb/index.ts';
import {
  DATABASE_ID,
  ScriptedOvsdbServer,
  smallDatabase,
  SMALL_SCHEMA,
  type Answer,
} from '../../support/scripted-ovsdb-server.ts';

/** Tables of which the server is asked not to tell everything (RFC 7047 §4.1.5). */

const soon = (): AbortSignal => AbortSignal.timeout(15_000);
const OLD = '00000000-0000-4000-8000-000000000001';
const NEW = '00000000-0000-4000-8000-000000000002';

const client = (remotes: string, options: Partial<ClientOptions>): OvsdbClient =>
  new OvsdbClient({
    remotes,
    database: 'Small',
    timing: { minBackoff: 1, maxBackoff: 5 },
    ...options,
  });

const REFUSED: readonly (readonly [object, RegExp])[] = [
  [{ delete: false }, /^select of table T: without delete the replica would keep rows/],
  [{ initial: false, insert: false }, /^select of table T: .*no row would ever come/],
  [{ inital: false }, /^select of table T: there is no inital/],
  [{ initial: 0 }, /^select of table T: initial must be true or false/],
];

test.each(REFUSED)('%j is refused as soon as it is asked for', (select, details) => {
  const tables = { T: { select: select as MonitorSelect } };
  const schema = parseSchema(SMALL_SCHEMA);
  const nowhere = (options: Partial<ClientOptions>) => () => client('tcp:nowhere', options);
  const error = expect.objectContaining({
    code: 'bad argument',
    details: expect.stringMatching(details) as string,
  }) as Error;
  expect(nowhere({ tables })).toThrow(error);
  expect(nowhere({ schema, tables: () => tables })).toThrow(error);
  expect(() => nowhere({})().monitor(tables)).toThrow(error);
});

const REQUESTS: readonly (readonly [TableSelection, JsonValue])[] = [
  [{ columns: ['name'], select: { initial: true, delete: true } }, [{ columns: ['name'] }]],
  [
    { columns: ['name'], select: { initial: false } },
    [{ columns: ['name'], select: { initial: false } }],
  ],
  [
    { columns: ['name'], silent: ['count'], select: { insert: false } },
    [
      { columns: ['name'], select: { insert: false } },
      { columns: ['count'], select: { modify: false, insert: false } },
    ],
  ],
  [
    { columns: ['name'], where: [['name', '==', 'x']], select: { modify: false, initial: false } },
    [
      {
        columns: ['name'],
        select: { modify: false, initial: false },
        where: [['name', '==', 'x']],
      },
    ],
  ],
];

test('the version of a row is a column, and its UUID is there anyway', async () => {
  await using server = await ScriptedOvsdbServer.start(smallDatabase());
  const warnings: string[] = [];
  await using it = client(server.remote, {
    tables: { T: { omitAlert: ['_version'] } },
    onEvent: (event) => {
      if (event.kind === 'warning') warnings.push(event.text);
    },
  }).start();
  const other = it.monitor({ T: { columns: ['_uuid', 'name', '_version', 'nmae'] } });
  await Promise.all([it.ready(soon()), other.ready(soon())]);
  expect(server.asked('monitor_cond_since').map((params) => params[2])).toEqual([
    { T: [{ columns: ['name', 'count', 'members', 'tags', '_version'] }] },
    { T: [{ columns: ['name', '_version'] }] },
  ]);
  expect(warnings).toEqual(['the server has no column nmae in table T']);
  // A schema has none: what is written of it can be read again.
  expect(schemaToJson(it.replica.schema)).toEqual(schemaToJson(parseSchema(SMALL_SCHEMA)));
});

test.each(REQUESTS)('%j is asked of the server', async (selection, requests) => {
  await using server = await ScriptedOvsdbServer.start(smallDatabase());
  await using it = client(server.remote, { tables: { T: selection } }).start();
  await it.ready(soon());
  expect(server.asked('monitor_cond_since')[0]?.[2]).toEqual({ T: requests });
});

/** A client whose server leaves rows out. */
async function following(
  select: MonitorSelect,
  answers: { readonly [method: string]: Answer } = {},
): Promise<{
  readonly server: ScriptedOvsdbServer;
  readonly it: OvsdbClient;
  readonly told: string[];
  readonly names: () => unknown[];
  readonly update: (method: 'update' | 'update3', rows: JsonValue) => Promise<void>;
}> {
  const server = await ScriptedOvsdbServer.start({ ...smallDatabase(), ...answers });
  const told: string[] = [];
  const it = client(server.remote, {
    tables: { T: { select } },
    onEvent: (event) => {
      if (event.kind === 'warning') told.push(event.text);
    },
  }).start();
  await it.ready(soon());
  it.replica.subscribe(({ tables }) => {
    for (const { kind, uuid } of tables.get('T')?.rows ?? [])
      told.push(`${kind} ${uuid.at(-1) ?? ''}`);
  });
  return {
    server,
    it,
    told,
    names: () => [...it.replica.rows('T')].map((row) => row.column('name')),
    async update(method, rows) {
      const monitor = server.asked(method === 'update' ? 'monitor' : 'monitor_cond_since').at(-1);
      const last = method === 'update' ? [] : [DATABASE_ID];
      server.peer?.notify(method, monitor?.[1] ?? null, ...last, { T: rows });
      await it.call('get_schema', ['Small'], soon());
    },
  };
}

test.each([{ initial: false }, { insert: false }])(
  'with %j, changes of rows that never came are left out, and no others',
  async (select) => {
    const { server, it, told, names, update } = await following(select);
    await using _server = server;
    await using _client = it;
    await update('update3', {
      [OLD]: { modify: { members: 'x' } },
      [NEW]: { insert: { name: 'new' } },
    });
    await update('update3', {
      [OLD]: { delete: null },
      [NEW]: { modify: { name: 'newer' } },
    });
    expect(names()).toEqual(['newer']);
    expect(told).toEqual(['inserted 2', 'modified 2']);
    await update('update3', { [OLD]: { modify: { name: 'x' } }, [NEW]: { delete: null } });
    expect(names()).toEqual([]);
    expect(told.slice(2)).toEqual(['deleted 2']);
  },
);

test('the same with a server that tells whole rows', async () => {
  const { server, it, told, names, update } = await following(
    { initial: false },
    {
      monitor_cond_since: () => ({ refuse: 'unknown method' }),
      monitor: () => ({}),
    },
  );
  await using _server = server;
  await using _client = it;
  await update('update', {
    [OLD]: { old: { name: 'o' }, new: { name: 'old' } },
    [NEW]: { new: { name: 'new' } },
  });
  await update('update', { [OLD]: { old: { name: 'old' } } });
  expect([names(), told]).toEqual([['new'], ['inserted 2']]);
});

test('whatever else does not fit makes the client load anew as ever', async () => {
  const { server, it, told, update } = await following({ initial: false });
  await using _server = server;
  await using _client = it;
  await update('update3', { [NEW]: { insert: { name: 'new' } } });
  await update('update3', { [NEW]: { insert: { name: 'new' } } });
  await expect.poll(() => told).toContainEqual(expect.stringContaining('loaded anew'));
});

test('a table that asks for something else under a new schema is loaded anew', async () => {
  await using server = await ScriptedOvsdbServer.start(smallDatabase());
  let select: MonitorSelect = {};
  await using it = client(server.remote, {
    tables: () => ({ T: { select } }),
  }).start();
  await it.ready(soon());
  select = { initial: false };
  it.reconnect();
  await expect.poll(() => server.asked('monitor_cond_since').length).toBe(2);
  const lastIds = server.asked('monitor_cond_since').map((params) => params[3]);
  expect(lastIds).toEqual([ZERO_UUID, ZERO_UUID]);
});

test.each([
  ['at once', 2048],
  ['out of sight', 0],
])('rows that are left out of many, applied %s, leave nothing behind', (_how, rowsAtOnce) => {
  const replica = new Replica(parseSchema(SMALL_SCHEMA), {
    partial: new Set(['T']),
    rowsAtOnce,
  });
  const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
  const rows = (to: number, row: (n: number) => JsonValue): JsonValue => ({
    T: Object.fromEntries(Array.from({ length: to }, (_, n) => [uuid(n + 1), row(n)])),
  });
  replica.apply({}, 'update2', 'contents');
  replica.apply(
    rows(100, (n) => (n % 10 === 0 ? { insert: { name: `row ${n}` } } : { delete: null })),
    'update2',
  );
  const before = replica.statistics;
  expect(before.rows).toBe(10);
  replica.apply(
    rows(100, (n) => ({ modify: { count: 7, ...(n % 10 === 0 ? {} : { name: `lost ${n}` }) } })),
    'update2',
  );
  expect([...replica.rows('T')].map((row) => row.column('count'))).toEqual(Array(10).fill(7));
  expect(replica.statistics).toEqual(before);
});
