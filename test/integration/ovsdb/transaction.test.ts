import { expect, test } from 'vitest';
import { OvsdbClient, uuidFromName, ZERO_UUID } from 'ovsdb-client-ts';
import { Transaction, referredRows, transactWithRetry } from 'ovsdb-client-ts/extras';
import type { Northbound } from '../../support/ovsdb/northbound.generated.ts';
import { OvsdbServer } from '../../support/ovsdb/ovsdb-server.ts';

const soon = (): AbortSignal => AbortSignal.timeout(15_000);

async function connected(server: OvsdbServer): Promise<OvsdbClient> {
  const client = new OvsdbClient({ remotes: server.remote, database: 'OVN_Northbound' }).start();
  await client.ready(soon());
  return client;
}

const build = (client: OvsdbClient): Transaction<Northbound> =>
  new Transaction<Northbound>(client.replica);

test('rows of one transaction refer to each other, and are found by the UUID that was chosen or given', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const own = uuidFromName(ZERO_UUID, 'blue');
  const transaction = build(client);
  const port = transaction.insert('Logical_Switch_Port', {
    name: 'pod',
    addresses: ['dynamic'],
    tag: 7,
  });
  transaction.insert(
    'Logical_Switch',
    { name: 'blue', ports: [port], external_ids: { owner: 'x' } },
    { uuid: own },
  );
  expect(() => port.uuid).toThrow('was not committed');
  expect(await transaction.commit(client)).toMatchObject({ kind: 'success' });
  const blue = client.replica.row('Logical_Switch', own);
  expect(blue?.column('ports')).toEqual([port.uuid]);
  expect(
    blue === undefined
      ? []
      : referredRows(client.replica, blue, 'ports').map((row) => row.column('name')),
  ).toEqual(['pod']);
  await expect(transaction.commit(client)).rejects.toThrow('committed once');
});

test('nothing is sent when nothing would change', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const own = uuidFromName(ZERO_UUID, 'blue');
  const first = build(client);
  first.insert(
    'Logical_Switch',
    { name: 'blue', external_ids: new Map([['a', '1']]) },
    { uuid: own },
  );
  await first.commit(client);
  const before = client.traffic?.messagesSent;
  const again = build(client).update('Logical_Switch', own, {
    name: 'blue',
    external_ids: { a: '1' },
  });
  expect(await again.commit(client)).toEqual({ kind: 'unchanged' });
  expect(client.traffic?.messagesSent).toBe(before);
});

test('sets and maps are changed in part; a counter tells its new value', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const first = build(client);
  first.insertSingleton('NB_Global', {
    name: 'zone',
    options: { keep: '1', replace: 'old', remove: 'x' },
  });
  const set = first.insert('Address_Set', { name: 'as', addresses: ['10.0.0.1', '10.0.0.2'] });
  expect((await first.commit(client)).kind).toBe('success');
  const [global] = client.replica.rows('NB_Global');
  const uuid = global?.uuid ?? ZERO_UUID;
  const change = build(client);
  change.setKeys('NB_Global', uuid, 'options', { replace: 'new', add: '2' });
  change.removeKeys('NB_Global', uuid, 'options', ['remove']);
  change.addToSet('Address_Set', set.uuid, 'addresses', ['10.0.0.3']);
  change.removeFromSet('Address_Set', set.uuid, 'addresses', ['10.0.0.1']);
  const counter = change.increment('NB_Global', uuid, 'nb_cfg', 5);
  expect((await change.commit(client)).kind).toBe('success');
  expect(counter.newValue).toBe(5);
  expect(global?.column('options')).toEqual(
    new Map([
      ['add', '2'],
      ['keep', '1'],
      ['replace', 'new'],
    ]),
  );
  expect(client.replica.row('Address_Set', set.uuid)?.column('addresses')).toEqual([
    '10.0.0.2',
    '10.0.0.3',
  ]);
  const second = build(client);
  second.insertSingleton('NB_Global', { name: 'another' });
  expect(await second.commit(client)).toMatchObject({ kind: 'try-again', operation: 0 });
});

test('what was read and verified must not have changed', async () => {
  await using server = await OvsdbServer.start();
  await using one = await connected(server);
  await using two = await connected(server);
  const insert = build(one);
  const set = insert.insert('Address_Set', { name: 'as' });
  await insert.commit(one);
  const slow = build(one).verify('Address_Set', set.uuid, 'addresses');
  slow.update('Address_Set', set.uuid, { addresses: ['10.0.0.1'] });
  const quick = new Transaction<Northbound>(one.replica).addToSet(
    'Address_Set',
    set.uuid,
    'addresses',
    '10.9.9.9',
  );
  expect((await quick.commit(two)).kind).toBe('success');
  expect(await slow.commit(one)).toMatchObject({ kind: 'try-again', operation: 0 });
});

test('a guard keeps a second row of the same name out', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const make = async () => {
    const transaction = build(client).guardAbsent('Logical_Switch', { name: 'blue' });
    transaction.insert('Logical_Switch', { name: 'blue' });
    return transaction.commit(client);
  };
  expect((await Promise.all([make(), make()])).map((outcome) => outcome.kind).sort()).toEqual([
    'success',
    'try-again',
  ]);
  expect(client.replica.size('Logical_Switch')).toBe(1);
});

test('a guard does not mind the row that is replaced, but any other', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const first = build(client);
  first.insertSingleton('NB_Global', { name: 'old' });
  first.insert('Logical_Switch', { name: 'blue' });
  expect((await first.commit(client)).kind).toBe('success');
  const replace = async () => {
    const transaction = build(client).guardAbsent('Logical_Switch', { name: 'blue' });
    for (const table of ['NB_Global', 'Logical_Switch'] as const) {
      for (const row of client.replica.rows(table)) transaction.delete(table, row.uuid);
    }
    transaction.insertSingleton('NB_Global', { name: 'new' });
    transaction.insert('Logical_Switch', { name: 'blue' });
    return transaction.commit(client);
  };
  // Both replace the same rows: the second finds those of the first.
  expect((await Promise.all([replace(), replace()])).map(({ kind }) => kind)).toEqual([
    'success',
    'try-again',
  ]);
  expect([...client.replica.rows('NB_Global')].map((row) => row.column('name'))).toEqual(['new']);
  expect(client.replica.size('Logical_Switch')).toBe(1);
});

test('a dry run is checked and then dropped', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const fine = build(client).dryRun().comment('only looking');
  fine.insert('Logical_Switch', { name: 'blue' });
  expect(await fine.commit(client)).toMatchObject({ kind: 'aborted' });
  expect(client.replica.size('Logical_Switch')).toBe(0);
});

test('mistakes are found before anything is sent', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const any = new Transaction(client.replica);
  expect(() => any.insert('Logical_Swich', {})).toThrow('has no table Logical_Swich');
  expect(() => any.insert('Logical_Switch', { nam: 'x' })).toThrow(
    'No column nam in table Logical_Switch.',
  );
  expect(() => any.insert('Logical_Switch_Port', { tag: 4096 })).toThrow(
    '4096 is not in the valid range 1 to 4095',
  );
  expect(() => any.insert('ACL', { direction: 'sideways' })).toThrow(
    'is not one of the allowed values',
  );
  expect(() => any.insert('Logical_Switch', { name: 5 })).toThrow(
    'column name of table Logical_Switch: 5 is not a string',
  );
  expect(() => any.update('Logical_Switch', 'nonsense', { name: 'x' })).toThrow('is not a UUID');
});

test('refused by the server: the kind of error and the guilty operation', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const twice = build(client);
  twice.insert('Address_Set', { name: 'same' });
  twice.insert('Address_Set', { name: 'same' });
  expect(await twice.commit(client)).toMatchObject({
    kind: 'error',
    error: 'constraint violation',
  });
  const dangling = new Transaction(client.replica);
  dangling.insert('Logical_Switch', { name: 'x', ports: ['11111111-1111-4111-8111-111111111111'] });
  expect(await dangling.commit(client)).toMatchObject({
    kind: 'error',
    error: 'referential integrity violation',
  });
});

test('a row can be changed and deleted in the transaction that inserts it', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const transaction = build(client);
  const set = transaction.insert('Address_Set', { name: 'first', addresses: ['10.0.0.1'] });
  transaction.update('Address_Set', set, { name: 'second' });
  transaction.addToSet('Address_Set', set, 'addresses', '10.0.0.2');
  transaction.setKeys('Address_Set', set, 'external_ids', { owner: 'x' });
  const gone = transaction.insert('Address_Set', { name: 'gone' });
  transaction.delete('Address_Set', gone);
  const global = transaction.insert('NB_Global', { nb_cfg: 3 });
  const counter = transaction.increment('NB_Global', global, 'nb_cfg', 2);
  expect(await transaction.commit(client)).toMatchObject({ kind: 'success' });
  expect([...client.replica.rows('Address_Set')].map((row) => row.uuid)).toEqual([set.uuid]);
  expect(client.replica.row('Address_Set', set.uuid)).toMatchObject({
    name: 'second',
    addresses: ['10.0.0.1', '10.0.0.2'],
    external_ids: new Map([['owner', 'x']]),
  });
  expect(counter.newValue).toBe(5);
});

test('a row that an earlier transaction made stands for its UUID; one that was not made is refused', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const first = build(client);
  const old = first.insert('Logical_Switch_Port', { name: 'old' });
  const kept = first.insert('Logical_Switch_Port', { name: 'kept' });
  const blue = first.insert('Logical_Switch', { name: 'blue', ports: [old, kept] });
  const second = build(client);
  const fresh = second.insert('Logical_Switch_Port', { name: 'new' });
  const early: readonly (() => unknown)[] = [
    () => second.update('Logical_Switch', blue, { name: 'x' }),
    () => second.delete('Logical_Switch', blue),
    () => second.verify('Logical_Switch', blue, 'name'),
    () => second.insert('Logical_Switch', { ports: [old, fresh] }),
    () => second.insert('Logical_Switch', { ports: new Set([old]) }),
    () => second.guardAbsent('Logical_Switch', { ports: old }),
  ];
  for (const use of early) expect(use).toThrow('was not committed (yet)');
  expect((await first.commit(client)).kind).toBe('success');
  // The names of new rows begin anew in each transaction: the first of both is not to be taken for the other.
  second.verify('Logical_Switch', blue, 'ports');
  second.addToSet('Logical_Switch', blue, 'ports', [fresh]);
  second.removeFromSet('Logical_Switch', blue, 'ports', [old]);
  second.update('Logical_Switch', blue, { name: 'green' });
  second.insert('Logical_Switch', { name: 'red', ports: [kept] });
  expect(await second.commit(client)).toMatchObject({ kind: 'success' });
  const ports = (name: string) =>
    client.replica
      .find('Logical_Switch', ['name'], [name])
      .flatMap((row) => referredRows(client.replica, row, 'ports'))
      .map((row) => row.column('name') as string)
      .sort();
  expect([ports('green'), ports('red')]).toEqual([['kept', 'new'], ['kept']]);
  const third = build(client).delete('Logical_Switch', blue);
  expect((await third.commit(client)).kind).toBe('success');
  expect(client.replica.row('Logical_Switch', blue.uuid)).toBeUndefined();
});

test('any mutation that the server knows, and what does not fit names table and column', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const first = build(client);
  const set = first.insert('Address_Set', {
    name: 'as',
    addresses: ['a', 'b'],
    external_ids: { a: '1', b: '2', c: '3' },
  });
  const global = first.insert('NB_Global', { nb_cfg: 7 });
  await first.commit(client);
  const change = build(client);
  change.mutate('Address_Set', set, 'addresses', 'delete', ['a', 'x']);
  change.mutate('Address_Set', set, 'addresses', 'insert', new Set(['c', 'd']));
  change.mutate('Address_Set', set, 'external_ids', 'delete', ['a']);
  // As pairs: only those that have this value.
  change.mutate('Address_Set', set, 'external_ids', 'delete', { b: '2', c: 'another' });
  change.mutate('Address_Set', set, 'external_ids', 'insert', { c: 'stays', d: '4' });
  change.mutate('NB_Global', global, 'nb_cfg', '%=', 4);
  expect(await change.commit(client)).toMatchObject({ kind: 'success' });
  expect(client.replica.row('Address_Set', set.uuid)).toMatchObject({
    addresses: ['b', 'c', 'd'],
    external_ids: new Map([
      ['c', '3'],
      ['d', '4'],
    ]),
  });
  expect(client.replica.row('NB_Global', global.uuid)?.column('nb_cfg')).toBe(3);
  const wrong = build(client);
  const mistakes: readonly (() => unknown)[] = [
    () => wrong.addToSet('Address_Set', set, 'addresses', { a: 'b' }),
    () => wrong.removeFromSet('Address_Set', set, 'addresses', [1]),
    () => wrong.setKeys('Address_Set', set, 'addresses', { a: 'b' }),
    () => wrong.setKeys('Address_Set', set, 'addresses', ['a']),
    () => wrong.removeKeys('Address_Set', set, 'addresses', ['a', 1]),
    () => wrong.mutate('Address_Set', set, 'addresses', 'insert', 1),
    () => wrong.mutate('Address_Set', set, 'addresses', '+=', 1),
  ];
  for (const mistake of mistakes) {
    expect(mistake).toThrow(/column addresses of table Address_Set/);
  }
  expect(() => wrong.update('Address_Set', set, { external_ids: null as never })).toThrow(
    /column external_ids of table Address_Set: .*takes a Map or a record/,
  );
  expect(() => wrong.mutate('NB_Global', global, 'nb_cfg', '+=', 'x')).toThrow(
    /column nb_cfg of table NB_Global/,
  );
});

test('of several changes of one column the last word counts', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const first = build(client);
  const set = first.insert('Address_Set', { name: 'as', addresses: ['a', 'b'] });
  await first.commit(client);
  const addresses = () => client.replica.row('Address_Set', set.uuid)?.column('addresses');
  const over = build(client);
  over.addToSet('Address_Set', set.uuid, 'addresses', 'x');
  over.removeFromSet('Address_Set', set.uuid, 'addresses', 'a');
  over.update('Address_Set', set.uuid, { addresses: ['c'] });
  over.addToSet('Address_Set', set.uuid, 'addresses', ['d', 'e']);
  over.removeFromSet('Address_Set', set.uuid, 'addresses', 'e');
  await over.commit(client);
  expect(addresses()).toEqual(['c', 'd']);
  const same = build(client);
  same.addToSet('Address_Set', set.uuid, 'addresses', 'x');
  same.update('Address_Set', set.uuid, { addresses: ['c', 'd'] });
  expect(await same.commit(client)).toEqual({ kind: 'unchanged' });
});

test('a row of the same transaction has nothing to verify', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const transaction = build(client);
  const set = transaction.insert('Address_Set', { name: 'as' });
  transaction.verify('Address_Set', set, 'name');
  expect((await transaction.commit(client)).kind).toBe('success');
});

test('built anew until it fits: two writers that read, decide and write lose nothing', async () => {
  await using server = await OvsdbServer.start();
  await using one = await connected(server);
  await using two = await connected(server);
  const first = build(one);
  const { uuid } = await (async () => {
    const set = first.insert('Address_Set', { name: 'as' });
    await first.commit(one);
    return set;
  })();
  await expect.poll(() => two.replica.row('Address_Set', uuid)?.exists).toBe(true);
  const append = async (client: OvsdbClient, name: string): Promise<string> => {
    const outcome = await transactWithRetry(
      client,
      (transaction) => {
        const addresses = client.replica.row('Address_Set', uuid)?.column('addresses');
        transaction.verify('Address_Set', uuid, 'addresses');
        transaction.update('Address_Set', uuid, {
          addresses: [...(addresses as readonly string[]), name],
        });
      },
      { signal: soon() },
    );
    return outcome.kind;
  };
  const names = Array.from({ length: 40 }, (_, n) => `a${n}`);
  const kinds: string[] = [];
  await Promise.all(
    [one, two].map(async (client, side) => {
      for (const name of names.filter((_, n) => n % 2 === side))
        kinds.push(await append(client, name));
    }),
  );
  expect(new Set(kinds)).toEqual(new Set(['success']));
  // What the other wrote last arrives by itself.
  await expect
    .poll(() => one.replica.row('Address_Set', uuid)?.column('addresses'))
    .toEqual(names.toSorted());
  expect(await transactWithRetry(one, () => undefined)).toEqual({ kind: 'unchanged' });
  // It waits for the connection, as long as it may.
  await server.stop('SIGKILL');
  await expect.poll(() => one.status).not.toBe('ready');
  const lost = transactWithRetry(one, (t) => t.comment('x').dryRun(), {
    signal: AbortSignal.timeout(200),
  });
  await expect(lost).rejects.toThrow('gave up waiting');
});

test('a row that is given a UUID is referred to by it, and changed in the same transaction', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const own = uuidFromName(ZERO_UUID, 'pod');
  const transaction = build(client);
  const port = transaction.insert('Logical_Switch_Port', { name: 'pod' }, { uuid: own });
  transaction.insert('Logical_Switch', { name: 'blue', ports: [port] });
  transaction.update('Logical_Switch_Port', port, { type: 'virtual' });
  transaction.setKeys('Logical_Switch_Port', port, 'external_ids', { owner: 'x' });
  expect(await transaction.commit(client)).toMatchObject({ kind: 'success' });
  const [blue] = client.replica.find('Logical_Switch', ['name'], ['blue']);
  expect(blue?.column('ports')).toEqual([own]);
  const pod = client.replica.row('Logical_Switch_Port', own);
  expect(pod?.column('type')).toBe('virtual');
  expect(pod?.column('external_ids')).toEqual(new Map([['owner', 'x']]));
});

test('of a large transaction all is carried out, or nothing when a part of it is no JSON', async () => {
  await using server = await OvsdbServer.start();
  await using client = await connected(server);
  const inserts = (prefix: string) =>
    Array.from({ length: 600 }, (_, n) => ({
      op: 'insert' as const,
      table: 'Address_Set',
      row: { name: `${prefix}${n}` },
    }));
  const bad = inserts('bad');
  Object.defineProperty(bad[500]?.row, 'name', {
    enumerable: true,
    get() {
      throw new Error('no value');
    },
  });
  await expect(client.transact(bad)).rejects.toThrow('no value');
  expect(await client.transact(inserts('good'))).toMatchObject({ kind: 'success' });
  expect(client.status).toBe('ready');
  expect(client.replica.size('Address_Set')).toBe(600);
});
