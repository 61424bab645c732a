import { expect, test } from 'vitest';
import {
  commitAnew,
  parseSchema,
  Replica,
  Transaction,
  TransactionQueue,
  type Clause,
  type DatabaseSchema,
  type JsonValue,
  type Mutation,
  type Operation,
  type Outcome,
  type TransactionOptions,
} from '../../../src/ovsdb/index.ts';

/** Which transactions of a queue may be in one request, and what becomes of their operations there. */

const ROW = '00000000-0000-4000-8000-000000000001';
const where: readonly Clause[] = [['_uuid', '==', ['uuid', ROW]]];

const set = (refTable: string, refType: string): JsonValue => ({
  key: { type: 'uuid', refTable, refType },
  min: 0,
  max: 'unlimited',
});
const columns = (given: Record<string, JsonValue>): JsonValue =>
  Object.fromEntries(Object.entries(given).map(([name, type]) => [name, { type }]));

/** Switches have their ports, groups know ports of others, and both know of more. */
const SCHEMA = parseSchema({
  name: 'Small',
  tables: {
    Switch: {
      isRoot: true,
      columns: columns({
        name: 'string',
        count: 'integer',
        ports: set('Port', 'strong'),
        balancers: set('Balancer', 'weak'),
      }),
    },
    Port: {
      columns: columns({
        name: 'string',
        mirrors: set('Mirror', 'strong'),
        options: set('Options', 'weak'),
      }),
    },
    Mirror: { columns: columns({ sink: set('Balancer', 'strong') }) },
    Group: {
      isRoot: true,
      columns: columns({ name: 'string', ports: set('Port', 'weak'), lists: set('List', 'weak') }),
    },
    Watch: {
      isRoot: true,
      columns: columns({
        mirrors: {
          key: 'string',
          value: { type: 'uuid', refTable: 'Mirror', refType: 'weak' },
          min: 0,
          max: 'unlimited',
        },
      }),
    },
    Balancer: { isRoot: true, columns: columns({ name: 'string' }) },
    Options: { isRoot: true, columns: columns({ name: 'string', base: set('Options', 'weak') }) },
    List: {
      isRoot: true,
      columns: columns({ name: 'string', members: { key: 'string', min: 0, max: 'unlimited' } }),
    },
  },
});
const table = 'List';

const insert = (row: Record<string, JsonValue> = {}, name?: string, into = table): Operation => ({
  op: 'insert',
  table: into,
  row,
  ...(name === undefined ? {} : { 'uuid-name': name }),
});
const update = (of: string, row: Record<string, JsonValue>): Operation => ({
  op: 'update',
  table: of,
  where,
  row,
});
const mutate = (of: string, ...mutations: readonly Mutation[]): Operation => ({
  op: 'mutate',
  table: of,
  where,
  mutations,
});
const select = (of: string): Operation => ({ op: 'select', table: of, where });
const remove = (of: string): Operation => ({ op: 'delete', table: of, where });
const wait = (of: string, timeout?: number): Operation => ({
  op: 'wait',
  table: of,
  where,
  until: '==',
  rows: [],
  ...(timeout === undefined ? {} : { timeout }),
});
const port: JsonValue = ['uuid', ROW];
const unplug = mutate('Switch', ['ports', 'delete', port]);
const durable: Operation = { op: 'commit', durable: true };
const note: Operation = { op: 'comment', comment: 'x' };
/** What the compiler does not let pass, from a program without types. */
const odd = (json: JsonValue): Operation => json as unknown as Operation;

type Asked = readonly Operation[] | { readonly lock: string };

/** What a queue sends of transactions that wait together, behind one that is under way; none of them is answered before all are sent that will be. */
const sent = (...asked: readonly Asked[]): Promise<readonly (readonly Operation[])[]> =>
  sentUnder(SCHEMA, ...asked);

async function sentUnder(
  schema: DatabaseSchema | undefined,
  ...asked: readonly Asked[]
): Promise<readonly (readonly Operation[])[]> {
  const requests: (readonly Operation[])[] = [];
  const open: ((outcome: Outcome) => void)[] = [];
  const transact = (operations: readonly Operation[]): Promise<Outcome> => {
    requests.push(operations);
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    open.push(resolve);
    return promise;
  };
  const queue = new TransactionQueue({ transact }, () => schema);
  const outcomes = [queue.transact([])];
  for (const given of asked)
    outcomes.push('lock' in given ? queue.transact([note], given) : queue.transact(given));
  while (open.length > 0) {
    const before = requests.length;
    open.pop()?.({ kind: 'success', results: [] });
    await new Promise((resolve) => setImmediate(resolve));
    if (requests.length === before && open.length === 0) break;
  }
  await Promise.all(outcomes);
  return requests.slice(1);
}

const countOf = async (...asked: readonly Asked[]): Promise<number> =>
  (await sent(...asked)).length;

const TOGETHER: Readonly<Record<string, readonly Asked[]>> = {
  inserts: [[insert()], [insert()]],
  changes: [
    [update('Switch', { count: 1 })],
    [mutate('Switch', ['count', '+=', 1])],
    [remove('List')],
    [mutate('List', ['members', 'delete', 'x'])],
  ],
  'waits that fail at once': [
    [wait('Switch', 0), insert()],
    [wait('Switch', 0), update('Switch', { count: 1 })],
  ],
  'a counter and its new value': [
    [mutate('Switch', ['count', '+=', 1]), select('Switch')],
    [mutate('Switch', ['count', '+=', 1]), select('Switch')],
  ],
  'guards, and rows with what they hold': [
    [
      wait('Switch', 0),
      insert({}, 'p', 'Port'),
      insert({ ports: ['named-uuid', 'p'] }, undefined, 'Switch'),
    ],
    [
      wait('Switch', 0),
      insert({}, 'p', 'Port'),
      insert({ ports: ['named-uuid', 'p'] }, undefined, 'Switch'),
    ],
  ],
  'ports that are added and removed': [
    [mutate('Switch', ['ports', 'insert', port])],
    [unplug],
    [unplug, update('Port', { name: 'x' })],
    [update('Switch', { ports: ['set', []] })],
    [remove('Port')],
  ],
  'a reader of what nobody removes': [[unplug], [select('Switch'), wait('List', 0)]],
  'a reader of rows that are removed at once': [[remove('List')], [wait('List', 0), insert()]],
  'a reader, and then what removes': [[select('Port'), wait('Group', 0)], [unplug]],
  'removed switches': [[remove('Switch')], [remove('Switch')]],
  comments: [[note], [note]],
  'the same lock': [{ lock: 'a' }, { lock: 'a' }],
  'what is to be on disk': [
    [insert(), durable],
    [insert(), durable],
  ],
  'commits that wait for no disk': [[insert()], [insert(), { op: 'commit', durable: false }]],
  nothing: [[], []],
};

test.each(Object.entries(TOGETHER))('in one request: %s', async (_, asked) => {
  expect(await countOf(...asked)).toBe(1);
});

const APART: Readonly<Record<string, readonly Asked[]>> = {
  'a dry run': [[insert()], [insert(), { op: 'abort' }]],
  'what is behind a dry run': [[insert(), { op: 'abort' }], [insert()]],
  'an own assert': [[{ op: 'assert', lock: 'a' }], [{ op: 'assert', lock: 'a' }]],
  'another lock': [{ lock: 'a' }, { lock: 'b' }],
  'a lock, and none': [{ lock: 'a' }, [note]],
  'none, and a lock': [[note], { lock: 'a' }],
  'what is to be on disk, and what is not': [[insert(), durable], [insert()]],
  'a reader of rows that nothing holds any more': [[unplug], [select('Port')]],
  'a guard of rows that are not held any more by a row that goes': [
    [remove('Switch')],
    [wait('Port', 0), insert()],
  ],
  'a reader of what these held': [[update('Switch', { ports: port })], [select('Mirror')]],
  'a reader of references to what goes': [[unplug], [select('Group')]],
  'a reader of references to what goes with it': [[remove('Switch')], [wait('Watch', 0), insert()]],
  'a reader of references to what may not be there': [
    [mutate('Group', ['ports', 'insert', port])],
    [select('Group')],
  ],
  'a reader of references in a new row, to what may not be there': [
    [insert({ ports: port }, undefined, 'Group')],
    [select('Group')],
  ],
  'a change of rows that refer to what goes': [[unplug], [update('Group', { name: 'x' })]],
  'what goes, and before it a change of rows that refer to it': [
    [update('Group', { name: 'x' })],
    [unplug],
  ],
  'a change of rows that refer to what goes with what goes': [
    [mutate('Watch', ['mirrors', 'delete', 'x'])],
    [remove('Switch')],
  ],
  'another reference to a row that refers to what goes': [
    [insert({ ports: port }, undefined, 'Switch')],
    [remove('Options')],
  ],
  'a row that is let go and refers to what goes': [[remove('Options')], [unplug]],
  'two removals, with rows that refer to both': [[remove('Port')], [remove('List')]],
  'two removals of rows that refer to each other': [[remove('Options')], [remove('Options')]],
  'a table that is not known': [[insert()], [insert({}, undefined, 'None')]],
  'an operation that is not known': [[odd({ op: 'shrink' })], [insert()]],
  'what is no operation': [[odd(null)], [insert()]],
  'a clause that is none': [[odd({ op: 'delete', table, where: [['a', '==']] })], [insert()]],
  'clauses that are none': [[odd({ op: 'select', table })], [insert()]],
  'a mutation that is none': [
    [odd({ op: 'mutate', table, where: [], mutations: [3] })],
    [insert()],
  ],
  'a row that is none': [[odd({ op: 'update', table, where: [], row: 3 })], [insert()]],
  'rows that are none': [
    [odd({ op: 'wait', table, where: [], rows: [3], timeout: 0 })],
    [insert()],
  ],
  'a name that is none': [[odd({ op: 'insert', table, row: {}, 'uuid-name': 3 })], [insert()]],
};

test.each(Object.entries(APART))('in requests of their own: %s', async (_, asked) => {
  expect(await countOf(...asked)).toBe(2);
});

test('nothing goes together as long as the schema of the server is not known', async () => {
  expect(await sentUnder(undefined, [insert()], [insert()], [note])).toEqual([
    [insert()],
    [insert()],
    [note],
  ]);
});

test('a wait that may take long is sent when it is its turn, and nobody waits for its answer', async () => {
  const requests: string[] = [];
  const open: ((outcome: Outcome) => void)[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  const transact = (
    operations: readonly Operation[],
    options: TransactionOptions = {},
  ): Promise<Outcome> => {
    requests.push(operations.map(({ op }) => op).join(' '));
    signals.push(options.signal);
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    open.push(resolve);
    options.signal?.addEventListener('abort', () => {
      reject(options.signal?.reason as Error);
    });
    return promise;
  };
  const queue = new TransactionQueue({ transact }, () => SCHEMA);
  const controller = new AbortController();
  const { signal } = controller;
  const first = queue.transact([insert()]);
  const held = queue.transact([wait(table, 1000), remove(table)]);
  const heldForEver = queue.transact([wait(table)], { signal });
  const last = [queue.transact([note]), queue.transact([note])];
  expect(requests).toEqual(['insert']);
  open[0]?.({ kind: 'success', results: [] });
  await first;
  await expect.poll(() => requests).toEqual(['insert', 'wait delete', 'wait', 'comment comment']);
  open[3]?.({ kind: 'success', results: [{}, {}] });
  await Promise.all(last);
  open[1]?.({ kind: 'try-again', reason: 'timed out', operation: 0 });
  expect(await held).toEqual({ kind: 'try-again', reason: 'timed out', operation: 0 });
  controller.abort(new Error('enough'));
  await expect(heldForEver).rejects.toThrow('enough');
  expect(signals[2]?.aborted).toBe(true);
  expect(queue.pending).toBe(0);
});

test('names of new rows are those of their own transaction', async () => {
  const named = ['named-uuid', 'row0'];
  const make: readonly Operation[] = [
    insert({ a: 'named-uuid' }, 'row0'),
    insert({
      a: named,
      b: ['set', [named, ['uuid', ROW]]],
      c: [
        'map',
        [
          ['named-uuid', 'row0'],
          ['k', named],
        ],
      ],
    }),
    {
      op: 'mutate',
      table,
      where: [['_uuid', '==', named], true],
      mutations: [['a', 'insert', named]],
    },
    { op: 'update', table, where: [], row: { a: named } },
    { op: 'wait', table, where: [], until: '==', rows: [{ a: named }], timeout: 0 },
    { op: 'select', table, where: [['_uuid', '==', named]] },
    { op: 'delete', table, where: [['_uuid', '==', named]] },
    note,
  ];
  // One of them alone has them as they are given.
  expect(await sent([note], make)).toEqual([[note, ...make]]);
  // It means a row that is not there, in every company.
  const stranger = [insert({ a: named })];
  const [request] = await sent(make, [note], stranger);
  const own = ['named-uuid', 'row0_0'];
  expect(request).toEqual([
    insert({ a: 'named-uuid' }, 'row0_0'),
    insert({
      a: own,
      b: ['set', [own, ['uuid', ROW]]],
      c: [
        'map',
        [
          ['named-uuid', 'row0'],
          ['k', own],
        ],
      ],
    }),
    { op: 'mutate', table, where: [['_uuid', '==', own], true], mutations: [['a', 'insert', own]] },
    { op: 'update', table, where: [], row: { a: own } },
    { op: 'wait', table, where: [], until: '==', rows: [{ a: own }], timeout: 0 },
    { op: 'select', table, where: [['_uuid', '==', own]] },
    { op: 'delete', table, where: [['_uuid', '==', own]] },
    note,
    note,
    insert({ a: ['named-uuid', 'row0_2'] }),
  ]);
});

test('a name that the server refuses is not made good by its company', async () => {
  const [request] = await sent([insert({}, '')], [insert({}, '9')], [insert({}, 'a')]);
  expect(
    request?.map((operation) => (operation.op === 'insert' ? operation['uuid-name'] : '')),
  ).toEqual(['', '9_1', 'a_2']);
});

const schema = parseSchema({
  name: 'Small',
  tables: { T: { columns: { name: { type: 'string' }, count: { type: 'integer' } } } },
});

test('transactions that are built take a queue for the client', async () => {
  const requests: (readonly Operation[])[] = [];
  const replica = new Replica(schema);
  const client = {
    replica,
    ready: () => Promise.resolve(),
    transact: () => Promise.reject(new Error('not by the client')),
  };
  const transact = (operations: readonly Operation[]): Promise<Outcome> => {
    requests.push(operations);
    return Promise.resolve<Outcome>({
      kind: 'success',
      results: operations.map(({ op }) =>
        op === 'select' ? { rows: [{ count: requests.length }] } : { uuid: ['uuid', ROW] },
      ),
    });
  };
  const queue = new TransactionQueue({ transact }, () => schema);
  replica.apply({ T: { [ROW]: { initial: { name: 'a' } } } }, 'update2', 'contents');
  const building = ['a', 'b', 'c'].map((name) => {
    const transaction = new Transaction(replica);
    const row = transaction.insert('T', { name });
    const counter = transaction.increment('T', ROW, 'count');
    return { row, counter, outcome: transaction.commit(queue) };
  });
  const anew = commitAnew(client, (transaction) => transaction.delete('T', ROW), { queue });
  const outcomes = await Promise.all([...building.map(({ outcome }) => outcome), anew]);
  expect(outcomes.map(({ kind }) => kind)).toEqual(Array.from({ length: 4 }, () => 'success'));
  expect(building.map(({ counter }) => counter.newValue)).toEqual([1, 2, 2]);
  expect(building.map(({ row }) => row.uuid)).toEqual([ROW, ROW, ROW]);
  expect(requests.map((operations) => operations.length)).toEqual([3, 7]);
});
