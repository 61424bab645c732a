import { describe, expect, test } from 'vitest';
import { OvsdbClient, type JsonValue, type Operation, type Outcome } from 'ovsdb-client-ts';
import { Transaction } from 'ovsdb-client-ts/extras';
import { ScriptedOvsdbServer, smallDatabase } from '../../support/ovsdb/scripted-ovsdb-server.ts';

const soon = (): AbortSignal => AbortSignal.timeout(15_000);
const ROW = '00000000-0000-4000-8000-000000000001';

async function connected(remotes: string): Promise<OvsdbClient> {
  const client = new OvsdbClient({
    remotes,
    database: 'Small',
    timing: { minBackoff: 1, maxBackoff: 5 },
    random: () => 0.999,
  }).start();
  await client.ready(soon());
  return client;
}

const where: Extract<Operation, { op: 'select' }>['where'] = [['name', '==', 'a']];
const insert: Operation = { op: 'insert', table: 'T', row: { name: 'a' } };
const remove: Operation = { op: 'delete', table: 'T', where };
const failure = (error: string): JsonValue => ({ error, details: 'why' });

/** Operations, the `result` of the server, the outcome. */
const RESULTS: readonly (readonly [string, readonly Operation[], JsonValue, Outcome])[] = [
  ['no operation', [], [], { kind: 'success', results: [] }],
  [
    'insert',
    [insert],
    [{ uuid: ['uuid', ROW] }],
    { kind: 'success', results: [{ uuid: ['uuid', ROW] }] },
  ],
  [
    'select',
    [{ op: 'select', table: 'T', where, columns: ['name'] }],
    [{ rows: [{ name: 'a' }] }],
    { kind: 'success', results: [{ rows: [{ name: 'a' }] }] },
  ],
  [
    'select of 64-bit integers',
    [{ op: 'select', table: 'T', where: [], columns: ['count'] }],
    [{ rows: [{ count: 9223372036854775807n }, { count: 1 }] }],
    { kind: 'success', results: [{ rows: [{ count: 9223372036854775807n }, { count: 1 }] }] },
  ],
  [
    'update',
    [{ op: 'update', table: 'T', where, row: { count: 2 } }],
    [{ count: 1 }],
    { kind: 'success', results: [{ count: 1 }] },
  ],
  [
    'mutate',
    [{ op: 'mutate', table: 'T', where, mutations: [['count', '+=', 1]] }],
    [{ count: 0 }],
    { kind: 'success', results: [{ count: 0 }] },
  ],
  ['delete', [remove], [{ count: 3 }], { kind: 'success', results: [{ count: 3 }] }],
  [
    'wait that holds',
    [{ op: 'wait', table: 'T', where, columns: ['name'], until: '==', rows: [], timeout: 0 }],
    [{}],
    { kind: 'success', results: [{}] },
  ],
  [
    'wait that does not hold in time',
    [
      { op: 'comment', comment: 'x' },
      { op: 'wait', table: 'T', where, columns: ['name'], until: '!=', rows: [], timeout: 0 },
      insert,
    ],
    [{}, failure('timed out'), null],
    { kind: 'try-again', reason: 'timed out: why', operation: 1 },
  ],
  [
    'commit',
    [insert, { op: 'commit', durable: true }],
    [{ uuid: ['uuid', ROW] }, {}],
    { kind: 'success', results: [{ uuid: ['uuid', ROW] }, {}] },
  ],
  ['comment', [{ op: 'comment', comment: 'x' }], [{}], { kind: 'success', results: [{}] }],
  [
    'abort',
    [remove, { op: 'abort' }],
    [{ count: 1 }, { error: 'aborted' }],
    { kind: 'aborted', results: [{ count: 1 }] },
  ],
  [
    'assert of a lock that is ours',
    [{ op: 'assert', lock: 'zone' }],
    [{}],
    { kind: 'success', results: [{}] },
  ],
  [
    'assert of a lock that is not ours',
    [{ op: 'assert', lock: 'zone' }, insert],
    [failure('not owner'), null],
    { kind: 'not-locked', lock: 'zone' },
  ],
  [
    'operations that succeed, and a commit that does not',
    [insert, remove],
    [{ uuid: ['uuid', ROW] }, { count: 0 }, failure('referential integrity violation')],
    { kind: 'error', error: 'referential integrity violation', details: 'why' },
  ],
  [
    'a commit that meets an index',
    [insert],
    [{ uuid: ['uuid', ROW] }, failure('constraint violation')],
    { kind: 'error', error: 'constraint violation', details: 'why' },
  ],
  ...[
    'constraint violation',
    'referential integrity violation',
    'duplicate uuid-name',
    'duplicate uuid',
    'syntax error',
    'unknown column',
    'ovsdb error',
    'unknown mutator',
    'range error',
    'domain error',
    'permission error',
    'not allowed',
    'resources exhausted',
    'I/O error',
    'a word of a newer server',
  ].map((error): readonly [string, readonly Operation[], JsonValue, Outcome] => [
    `second operation refused: ${error}`,
    [remove, insert, remove],
    [{ count: 0 }, failure(error), null],
    { kind: 'error', error, details: 'why', operation: 1, table: 'T' },
  ]),
  [
    'an error without details',
    [insert],
    [{ error: 'constraint violation' }],
    { kind: 'error', error: 'constraint violation', details: '', operation: 0, table: 'T' },
  ],
  [
    'a reply that is no array',
    [insert],
    { uuid: ROW },
    { kind: 'error', error: 'protocol', details: 'the reply to a transaction is not an array' },
  ],
];

describe('the result of a transaction', () => {
  test.each(RESULTS)('%s', async (_name, operations, result, outcome) => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    server.answers['transact'] = () => result;
    await using client = await connected(server.remote);
    expect(await client.transact(operations)).toEqual(outcome);
    expect(server.asked('transact')).toEqual([['Small', ...operations]]);
  });

  test.each<[JsonValue, Partial<Outcome>]>([
    ['canceled', { kind: 'try-again', reason: 'canceled' }],
    ['unknown database', { kind: 'try-again', reason: 'unknown database' }],
    [failure('unknown database'), { kind: 'try-again', reason: 'unknown database: why' }],
    [failure('database not available'), { kind: 'try-again' }],
    [failure('permission error'), { kind: 'error', error: 'permission error', details: 'why' }],
    ['duplicate request ID', { kind: 'error', error: 'duplicate request ID' }],
  ])('an error in place of a result: %j', async (error, outcome) => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    server.answers['transact'] = () => ({ refuse: error });
    await using client = await connected(server.remote);
    expect(await client.transact([insert])).toMatchObject(outcome);
  });
});

describe('transactions of one client', () => {
  test('are sent without waiting, and each gets its own reply, in whatever order', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    const waiting: JsonValue[] = [];
    server.answers['transact'] = ({ id }, peer) => {
      waiting.push(id);
      if (waiting.length === 3)
        for (const [place, each] of waiting.toReversed().entries())
          peer.reply(each, [{ count: place }]);
      return undefined;
    };
    await using client = await connected(server.remote);
    const outcomes = await Promise.all([1, 2, 3].map(() => client.transact([remove])));
    expect(outcomes).toEqual([2, 1, 0].map((count) => ({ kind: 'success', results: [{ count }] })));
  });

  test('a lock that is held is asserted first; positions are those of the caller', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    server.answers['lock'] = () => ({ locked: true });
    server.answers['transact'] = () => [{}, { count: 0 }, failure('constraint violation')];
    await using client = await connected(server.remote);
    await client.lock('zone').held(soon());
    expect(await client.transact([remove, insert], { lock: 'zone' })).toEqual({
      kind: 'error',
      error: 'constraint violation',
      details: 'why',
      operation: 1,
      table: 'T',
    });
    expect(server.asked('transact')).toEqual([
      ['Small', { op: 'assert', lock: 'zone' }, remove, insert],
    ]);
    server.peer?.notify('stolen', 'zone');
    await expect.poll(() => client.lock('zone').isHeld).toBe(false);
    expect(await client.transact([insert], { lock: 'zone' })).toEqual({
      kind: 'not-locked',
      lock: 'zone',
    });
    expect(server.asked('transact')).toHaveLength(1);
  });

  test('an aborted signal rejects and cancels', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    server.answers['transact'] = () => undefined;
    await using client = await connected(server.remote);
    const controller = new AbortController();
    const waiting = client.transact([insert], { signal: controller.signal });
    await expect.poll(() => server.asked('transact').length).toBe(1);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    const id = server.heard.find(({ method }) => method === 'transact')?.id;
    await expect.poll(() => server.asked('cancel')).toEqual([[id]]);
  });

  test('a server that does not write is left for one that does; the outcome names the cause', async () => {
    await using standby = await ScriptedOvsdbServer.start(smallDatabase());
    await using active = await ScriptedOvsdbServer.start(smallDatabase());
    standby.answers['transact'] = () => [failure('not allowed')];
    active.answers['transact'] = () => [{ uuid: ['uuid', ROW] }];
    await using client = await connected(`${standby.remote},${active.remote}`);
    expect(await client.transact([insert])).toMatchObject({ kind: 'error', error: 'not allowed' });
    await client.ready(soon());
    expect(client.remote).toBe(active.remote);
    expect(await client.transact([insert])).toMatchObject({ kind: 'success' });
  });

  test('a server that does not write is left when everything that was sent has its answer', async () => {
    await using standby = await ScriptedOvsdbServer.start(smallDatabase());
    await using active = await ScriptedOvsdbServer.start(smallDatabase());
    let blocked: JsonValue = null;
    standby.answers['transact'] = ({ id, params }, peer) => {
      const [, first] = params as unknown as readonly [string, Operation];
      if (first.op === 'wait') blocked = id;
      // Each answer is a message of its own, some time after the others.
      else
        setTimeout(
          () => peer.reply(id, first.op === 'select' ? [{}] : [failure('not allowed')]),
          5,
        );
      return undefined;
    };
    standby.answers['cancel'] = () => undefined;
    await using client = await connected(`${standby.remote},${active.remote}`);
    const wait: Operation = { op: 'wait', table: 'T', where, until: '==', rows: [] };
    const select: Operation = { op: 'select', table: 'T', where };
    const sent = [[insert], [wait], [select], [remove]].map((each) => client.transact(each));
    expect(await sent[0]).toMatchObject({ kind: 'error', error: 'not allowed' });
    const late = client.transact([insert]);
    await expect.poll(() => standby.asked('cancel')).toContainEqual([blocked]);
    standby.peer?.reply(blocked, null, 'canceled');
    expect(await Promise.all(sent)).toMatchObject([
      { kind: 'error', error: 'not allowed' },
      { kind: 'try-again', reason: 'canceled' },
      { kind: 'success' },
      { kind: 'error', error: 'not allowed' },
    ]);
    expect(await late).toMatchObject({ kind: 'try-again' });
    expect(standby.asked('transact')).toHaveLength(4);
    await client.ready(soon());
    expect(client.remote).toBe(active.remote);
  });

  test('operations that are no JSON reject, and nothing is sent', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    server.answers['transact'] = () => [{ uuid: ['uuid', ROW] }];
    await using client = await connected(server.remote);
    const circle: { [column: string]: JsonValue } = {};
    circle['name'] = circle;
    const bad: Operation = { op: 'insert', table: 'T', row: circle };
    await expect(client.transact([bad])).rejects.toThrow(Error);
    expect(await client.transact([insert])).toMatchObject({ kind: 'success' });
    expect(server.asked('transact')).toHaveLength(1);
  });

  test('what was not sent when the connection ended may be tried again', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    server.answers['transact'] = () => undefined;
    await using client = await connected(server.remote);
    const sent = [1, 2, 3].map(() => client.transact([insert]));
    client.reconnect();
    expect((await Promise.all(sent)).map(({ kind }) => kind)).toEqual([
      'unknown',
      'try-again',
      'try-again',
    ]);
    await client.ready(soon());
    expect(server.asked('transact').length).toBeLessThanOrEqual(1);
  });
});

describe('a built transaction on the wire', () => {
  test('a comment and a dry run are operations of their own', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    server.answers['transact'] = ({ params }) =>
      params
        .slice(1)
        .map((operation) =>
          (operation as unknown as Operation).op === 'abort' ? { error: 'aborted' } : {},
        );
    await using client = await connected(server.remote);
    const dry = new Transaction(client.replica).comment('why').dryRun();
    dry.insert('T', { name: 'a', members: ['x', 'y'] });
    expect(await dry.commit(client)).toMatchObject({ kind: 'aborted' });
    const [sent] = server.asked('transact');
    expect(sent?.slice(1).map((operation) => (operation as unknown as Operation).op)).toEqual(
      expect.arrayContaining(['insert', 'comment', 'abort']),
    );
    expect(sent).toContainEqual(
      expect.objectContaining({ row: { name: 'a', members: ['set', ['x', 'y']] } }),
    );
  });
});
