import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  OvsdbClient,
  ZERO_UUID,
  type ClientOptions,
  type Datum,
  type Monitor,
  type Operation,
  type ReplicaRow,
} from 'ovsdb-client-ts';
import { Transaction, fetchColumns, referredRows, newReferrers } from 'ovsdb-client-ts/extras';
import { OvsdbServer, runOvs } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';

const soon = (): AbortSignal => AbortSignal.timeout(20_000);

const northbound = (server: OvsdbServer, options: Partial<ClientOptions> = {}): OvsdbClient =>
  new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    timing: { minBackoff: 10, maxBackoff: 100 },
    ...options,
  }).start();

const insert = (table: string, name: string): Operation => ({ op: 'insert', table, row: { name } });

const names = (from: Pick<Monitor, 'replica'>, table: string): string[] =>
  [...from.replica.rows(table)].map((row) => row.column('name') as string).toSorted();

const blueOnly = {
  Logical_Switch: { columns: ['name'], where: [['name', '==', 'blue']] },
} as const;

/** Converts the database to a schema whose switches have a colour. */
async function convert(server: OvsdbServer, client: OvsdbClient): Promise<void> {
  const schema = (await client.call('get_schema', ['OVN_Northbound'])) as {
    tables: { Logical_Switch: { columns: { [name: string]: unknown } } };
    [member: string]: unknown;
  };
  const file = join(server.folder, 'new.ovsschema');
  const { cksum: _, ...rest } = schema;
  schema.tables.Logical_Switch.columns['colour'] = { type: 'string' };
  writeFileSync(file, JSON.stringify({ ...rest, version: '99.0.0' }));
  await runOvs('ovsdb-client', ['convert', server.remote, file]);
}

test('each monitor of a client has its own tables and rows, and all see what a transaction wrote', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server, { tables: { Address_Set: true } });
  const switches = client.monitor(blueOnly);
  await Promise.all([client.ready(soon()), switches.ready(soon())]);
  await client.transact([
    insert('Logical_Switch', 'blue'),
    insert('Logical_Switch', 'red'),
    insert('Address_Set', 'set'),
  ]);
  expect(names(client, 'Address_Set')).toEqual(['set']);
  expect(names(switches, 'Logical_Switch')).toEqual(['blue']);
  expect(() => client.replica.size('Logical_Switch')).toThrow(
    'table Logical_Switch is not among the tables that are followed',
  );
  expect(() => client.replica.size('Logical_Swich')).toThrow('has no table Logical_Swich');
  // One that is added while the client runs, over a table that is followed already.
  using late = client.monitor({ Logical_Switch: true });
  await late.ready(soon());
  expect(names(late, 'Logical_Switch')).toEqual(['blue', 'red']);
});

test('conditions of one monitor leave the others alone, also through a new connection', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server, { tables: blueOnly });
  const other = client.monitor(blueOnly);
  await Promise.all([client.ready(soon()), other.ready(soon())]);
  await client.transact([insert('Logical_Switch', 'blue'), insert('Logical_Switch', 'red')]);
  await other.setCondition('Logical_Switch', [['name', '==', 'red']], soon());
  client.reconnect();
  expect(other.isReady).toBe(false);
  await Promise.all([client.ready(soon()), other.ready(soon())]);
  expect(names(client, 'Logical_Switch')).toEqual(['blue']);
  expect(names(other, 'Logical_Switch')).toEqual(['red']);
  await expect(other.setCondition('ACL', [], soon())).rejects.toThrow('not among those');
});

test('a closed monitor hears nothing more, and the others go on', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server);
  const other = client.monitor(blueOnly);
  await Promise.all([client.ready(soon()), other.ready(soon())]);
  other.close();
  expect(other.isReady).toBe(false);
  await client.transact([insert('Logical_Switch', 'blue')]);
  expect(other.replica.size('Logical_Switch')).toBe(0);
  expect(client.replica.size('Logical_Switch')).toBe(1);
  await expect(other.ready(soon())).rejects.toThrow('the monitor was closed');
});

test('every monitor follows a database that was converted', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server);
  const other = client.monitor({ Logical_Switch: true });
  await Promise.all([client.ready(soon()), other.ready(soon())]);
  await client.transact([insert('Logical_Switch', 'kept')]);
  await convert(server, client);
  await until('the new column', () =>
    [client, other].every(({ replica }) => replica.hasColumn('Logical_Switch', 'colour')),
  );
  await Promise.all([client.ready(soon()), other.ready(soon())]);
  for (const { replica } of [client, other]) {
    expect(replica.find('Logical_Switch', ['name'], ['kept'])[0]?.column('colour')).toBe('');
  }
});

test('what is followed can be told by the schema, each time it is another', async () => {
  await using server = await OvsdbServer.start();
  const asked: string[] = [];
  await using client = northbound(server, {
    tables: (schema) => {
      asked.push(schema.version ?? '');
      const columns = [...(schema.tables.get('Logical_Switch')?.columns.keys() ?? [])].filter(
        (column) => column === 'name' || column === 'colour',
      );
      return { Logical_Switch: { columns, where: [['name', '!=', 'red']] } };
    },
  });
  await client.ready(soon());
  await client.transact(['blue', 'red'].map((name) => insert('Logical_Switch', name)));
  expect(names(client, 'Logical_Switch')).toEqual(['blue']);
  expect(client.replica.access('Logical_Switch', 'external_ids')).toBe('unseen');
  await convert(server, client);
  await until('the new column', () => client.replica.hasColumn('Logical_Switch', 'colour'));
  await client.ready(soon());
  expect(asked.at(-1)).toBe('99.0.0');
  expect(names(client, 'Logical_Switch')).toEqual(['blue']);
  // What was asked for since then comes before what the function says, also on a new connection.
  await client.setCondition('Logical_Switch', [], soon());
  expect(names(client, 'Logical_Switch')).toEqual(['blue', 'red']);
  client.reconnect();
  await until('the new connection', () => client.status !== 'ready');
  await client.ready(soon());
  expect(names(client, 'Logical_Switch')).toEqual(['blue', 'red']);
  // Of a further monitor, too.
  using other = client.monitor(({ tables }) => ({ [tables.has('ACL') ? 'ACL' : 'NAT']: true }));
  await other.ready(soon());
  expect(other.replica.hasTable('ACL')).toBe(true);
  expect(() => client.monitor(() => JSON.parse('{') as never)).toThrow(
    'the function that selects what to follow threw: SyntaxError',
  );
});

test('a column without alert is kept true but its changes alone are no event', async () => {
  await using server = await OvsdbServer.start();
  await using writer = northbound(server);
  await using client = northbound(server, {
    tables: { Address_Set: { omitAlert: ['external_ids'] } },
  });
  await Promise.all([writer.ready(soon()), client.ready(soon())]);
  await client.transact([insert('Address_Set', 'set')]);
  const seen: string[][] = [];
  client.replica.subscribe(({ tables }) => {
    for (const { rows } of tables.values()) {
      seen.push(rows.flatMap(({ kind, old }) => [kind, ...old.keys()]));
    }
  });
  const change = (row: Extract<Operation, { op: 'update' }>['row']): Operation => ({
    op: 'update',
    table: 'Address_Set',
    where: [],
    row,
  });
  const [row] = client.replica.rows('Address_Set');
  await writer.transact([change({ external_ids: ['map', [['a', '1']]] })]);
  await until('the quiet change', () => row?.includes('external_ids', 'a', '1') === true);
  expect(seen).toEqual([]);
  await writer.transact([change({ addresses: 'x', external_ids: ['map', [['a', '2']]] })]);
  await until('the loud change', () => seen.length > 0);
  expect(seen).toEqual([['modified', 'addresses', 'external_ids']]);
  // What is known to be so is not written again.
  const same = new Transaction(client.replica).update('Address_Set', row?.uuid ?? '', {
    external_ids: { a: '2' },
  });
  expect(same.isEmpty).toBe(true);
});

test('a table that is not followed is named as such, and one of which no column is followed can be written', async () => {
  await using server = await OvsdbServer.start();
  await using reader = northbound(server);
  await using client = northbound(server, {
    tables: { Address_Set: { columns: ['name'] }, Port_Group: { columns: [] } },
  });
  await Promise.all([reader.ready(soon()), client.ready(soon())]);
  const transaction = new Transaction(client.replica);
  const early: readonly (() => unknown)[] = [
    () => transaction.insert('Logical_Switch', { name: 'x' }),
    () => transaction.delete('Logical_Switch', ZERO_UUID),
    () => client.replica.rows('Logical_Switch'),
    () => client.replica.find('Logical_Switch', ['name'], ['x']),
  ];
  for (const use of early)
    expect(use).toThrow(/not among the tables that are followed.*`columns: \[\]`/);
  const group = transaction.insert('Port_Group', { name: 'group' });
  expect((await transaction.commit(client)).kind).toBe('success');
  const change = new Transaction(client.replica).setKeys('Port_Group', group, 'external_ids', {
    a: '1',
  });
  expect((await change.commit(client)).kind).toBe('success');
  // Another client hears of each change in its own time.
  await until(
    'the key in the replica of another',
    () => reader.replica.row('Port_Group', group.uuid)?.includes('external_ids', 'a', '1') === true,
  );
  expect([client.replica.size('Port_Group'), client.replica.hasTable('Port_Group')]).toEqual([
    0,
    false,
  ]);
});

test('columns named only as without alert are followed, too', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server, {
    tables: {
      Logical_Switch: {
        columns: ['name'],
        omitAlert: ['external_ids'],
      },
    },
  });
  await client.ready(soon());
  const { replica } = client;
  expect(
    ['name', 'external_ids', 'ports'].map((column) => [
      replica.hasColumn('Logical_Switch', column),
      replica.access('Logical_Switch', column),
    ]),
  ).toEqual([
    [true, 'followed'],
    [true, 'followed'],
    [false, 'unseen'],
  ]);
  const row = { name: 'a', external_ids: { b: 'c' }, other_config: { d: 'e' } };
  const transaction = new Transaction(replica);
  const made = transaction.insert('Logical_Switch', row);
  expect((await transaction.commit(client)).kind).toBe('success');
  const found = replica.row('Logical_Switch', made.uuid);
  expect(['name', 'external_ids', 'other_config'].map((name) => found?.column(name))).toEqual([
    'a',
    new Map([['b', 'c']]),
    // Not followed: it reads as its default.
    new Map(),
  ]);
});

test('columns that are not followed can be written without comparing, and fetched', async () => {
  await using server = await OvsdbServer.start();
  await using writer = northbound(server);
  await using client = northbound(server, {
    tables: { Address_Set: { columns: ['name'] } },
  });
  await Promise.all([writer.ready(soon()), client.ready(soon())]);
  const transaction = new Transaction(client.replica);
  const set = transaction.insert('Address_Set', { name: 'set', addresses: ['10.0.0.1'] });
  expect((await transaction.commit(client)).kind).toBe('success');
  await until('the row', () => writer.replica.row('Address_Set', set.uuid) !== undefined);
  await writer.transact([
    { op: 'update', table: 'Address_Set', where: [], row: { external_ids: ['map', [['a', '1']]] } },
  ]);
  expect(
    await fetchColumns(client, 'Address_Set', set.uuid, ['addresses', 'external_ids']),
  ).toEqual(
    new Map<string, Datum>([
      ['addresses', ['10.0.0.1']],
      ['external_ids', new Map([['a', '1']])],
    ]),
  );
  expect(await fetchColumns(client, 'Address_Set', ZERO_UUID, ['addresses'])).toBeUndefined();
  // The replica does not know the values: that they are the default is no reason to send nothing.
  const back = new Transaction(client.replica).update('Address_Set', set.uuid, {
    external_ids: {},
    addresses: [],
  });
  expect((await back.commit(client)).kind).toBe('success');
  const now = writer.replica.row('Address_Set', set.uuid);
  await until('the change', () => now?.memberCount('addresses') === 0);
  expect(now?.column('external_ids')).toEqual(new Map());
  expect(() =>
    new Transaction(client.replica).verify('Address_Set', set.uuid, 'addresses'),
  ).toThrow('is not followed');
});

test('a row that refers to one that comes into view or leaves it can be told from the change', async () => {
  await using server = await OvsdbServer.start();
  await using client = northbound(server, {
    tables: { Logical_Switch: true, Logical_Switch_Port: { where: [false] } },
  });
  await client.ready(soon());
  await client.transact([
    {
      op: 'insert',
      table: 'Logical_Switch',
      row: {
        name: 'blue',
        ports: [
          'set',
          [
            ['named-uuid', 'a'],
            ['named-uuid', 'b'],
          ],
        ],
      },
    },
    { ...insert('Logical_Switch_Port', 'a'), 'uuid-name': 'a' } as Operation,
    { ...insert('Logical_Switch_Port', 'b'), 'uuid-name': 'b' } as Operation,
  ]);
  const seen: string[][] = [];
  const stop = client.replica.subscribe((changes) => {
    seen.push(
      [...changes.tables].flatMap(([table, { rows }]) =>
        rows.map(({ kind }) => `${kind} ${table}`),
      ),
      newReferrers(client.replica, changes).map(({ table, column, uuid }) => {
        const row = client.replica.row(table, uuid);
        const ports = row === undefined ? [] : referredRows(client.replica, row, column);
        const name = (of: ReplicaRow | undefined): string => of?.column('name') as string;
        return `${name(row)}: ${ports.map(name).join()}`;
      }),
    );
  });
  const show = (...shown: string[]): Promise<void> =>
    client.setCondition(
      'Logical_Switch_Port',
      shown.length === 0 ? [false] : shown.map((name) => ['name', '==', name] as const),
      soon(),
    );
  await show('a');
  await show('b');
  await show();
  stop();
  expect(seen).toEqual([
    ['inserted Logical_Switch_Port'],
    ['blue: a'],
    ['inserted Logical_Switch_Port', 'deleted Logical_Switch_Port'],
    ['blue: b'],
    ['deleted Logical_Switch_Port'],
    ['blue: '],
  ]);
});
