import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  OvsdbClient,
  ZERO_UUID,
  type ClientEvent,
  type ClientOptions,
  type JsonValue,
} from 'ovsdb-client-ts';
import {
  DATABASE_ID,
  databaseRow,
  ScriptedOvsdbServer,
  smallDatabase,
  SMALL_SCHEMA,
  type ScriptedPeer,
} from '../../support/ovsdb/scripted-ovsdb-server.ts';

const soon = (): AbortSignal => AbortSignal.timeout(15_000);
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const A = uuid(1);
const B = uuid(2);
const FIRST_ID = 'aaaaaaaa-0000-4000-8000-000000000001';
const SECOND_ID = 'aaaaaaaa-0000-4000-8000-000000000002';

/** A client and what it told: events of the connection, changes of rows. */
class Listener {
  readonly client: OvsdbClient;
  readonly events: ClientEvent[] = [];
  readonly changes: string[] = [];

  constructor(remotes: string, options: Partial<ClientOptions> = {}) {
    this.client = new OvsdbClient({
      remotes,
      database: 'Small',
      timing: { minBackoff: 1, maxBackoff: 5 },
      random: () => 0.999,
      onEvent: (event) => this.events.push(event),
      ...options,
    }).start();
  }

  async ready(): Promise<this> {
    await this.client.ready(soon());
    return this;
  }

  listen(): void {
    this.client.replica.subscribe(({ tables }) => {
      for (const { kind, uuid: id } of tables.get('T')?.rows ?? [])
        this.changes.push(`${kind} ${id}`);
    });
  }

  get rows(): { readonly [uuid: string]: unknown } {
    return Object.fromEntries(
      [...this.client.replica.rows('T')].map((row) => [row.uuid, row.column('name')]),
    );
  }

  [Symbol.dispose](): void {
    this.client.close();
  }
}

const contents = (
  found: boolean,
  lastId: string,
  rows: { readonly [id: string]: JsonValue },
): JsonValue => [found, lastId, { T: rows }];

const monitorOf = (server: ScriptedOvsdbServer): JsonValue =>
  server.asked('monitor_cond_since').at(-1)?.[1] ?? null;

const peerOf = (server: ScriptedOvsdbServer): ScriptedPeer => server.peer as ScriptedPeer;

const update = (
  server: ScriptedOvsdbServer,
  lastId: string,
  rows: { readonly [id: string]: JsonValue },
): void => {
  peerOf(server).notify('update3', monitorOf(server), lastId, { T: rows });
};

describe('a connection that is lost', () => {
  test('found: only what changed is sent, and only that is told', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    const replies = [
      contents(false, FIRST_ID, { [A]: { initial: { name: 'a' } } }),
      contents(true, SECOND_ID, { [A]: { modify: { name: 'c' } }, [B]: { insert: { name: 'b' } } }),
    ];
    server.answers['monitor_cond_since'] = () => replies.shift();
    using listener = await new Listener(server.remote).ready();
    listener.listen();
    peerOf(server).hangUp();
    await expect.poll(() => server.connections).toBe(2);
    await listener.ready();
    expect(server.asked('monitor_cond_since').map((params) => params[3])).toEqual([
      ZERO_UUID,
      FIRST_ID,
    ]);
    expect(listener.rows).toEqual({ [A]: 'c', [B]: 'b' });
    expect(listener.changes.toSorted()).toEqual([`inserted ${B}`, `modified ${A}`].toSorted());
  });

  test('not found: everything is sent, and only what differs is told', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    const replies = [
      contents(false, FIRST_ID, {
        [A]: { initial: { name: 'a' } },
        [B]: { initial: { name: 'b' } },
      }),
      contents(false, SECOND_ID, {
        [A]: { initial: { name: 'a' } },
        [uuid(3)]: { initial: { name: 'c' } },
      }),
    ];
    server.answers['monitor_cond_since'] = () => replies.shift();
    using listener = await new Listener(server.remote).ready();
    listener.listen();
    listener.client.reconnect();
    await listener.ready();
    expect(listener.changes.toSorted()).toEqual([`deleted ${B}`, `inserted ${uuid(3)}`].toSorted());
  });

  test('the id of the last update counts, an empty one too', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase({ [A]: { name: 'a' } }));
    using listener = await new Listener(server.remote).ready();
    peerOf(server).notify('update3', monitorOf(server), FIRST_ID, {});
    peerOf(server).send({ id: 'probe', method: 'echo', params: [] });
    await expect.poll(() => server.heard.some(({ id }) => id === 'probe')).toBe(true);
    listener.client.reconnect();
    await listener.ready();
    expect(server.asked('monitor_cond_since').at(-1)?.[3]).toBe(FIRST_ID);
  });

  test('a load that was cut off shows nothing of itself', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase({ [A]: { name: 'a' } }));
    using listener = await new Listener(server.remote).ready();
    listener.listen();
    const whole = server.answers['monitor_cond_since'];
    server.answers['monitor_cond_since'] = (_message, peer) => {
      if (whole !== undefined) server.answers['monitor_cond_since'] = whole;
      peer.hangUp();
      return undefined;
    };
    listener.client.reconnect();
    expect(listener.rows).toEqual({ [A]: 'a' });
    await listener.ready();
    expect(server.connections).toBe(3);
    expect(listener.changes).toEqual([]);
  });

  test('a transaction without a reply is unknown, and is not sent again', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    server.answers['transact'] = (_message, peer) => {
      peer.hangUp();
      return undefined;
    };
    using listener = await new Listener(server.remote).ready();
    expect(await listener.client.transact([{ op: 'comment', comment: 'x' }])).toMatchObject({
      kind: 'unknown',
    });
    await listener.ready();
    expect(server.asked('transact')).toHaveLength(1);
  });
});

describe('a connection that lives', () => {
  test('an update before the reply of a transaction is in the replica when the outcome is known', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    server.answers['transact'] = ({ id }, peer) => {
      peer.send(
        {
          id: null,
          method: 'update3',
          params: [monitorOf(server), FIRST_ID, { T: { [A]: { insert: { name: 'a' } } } }],
        },
        { id, result: [{ uuid: ['uuid', A] }], error: null },
      );
      return undefined;
    };
    using listener = await new Listener(server.remote).ready();
    const outcome = await listener.client.transact([
      { op: 'insert', table: 'T', row: { name: 'a' } },
    ]);
    expect(outcome.kind).toBe('success');
    expect(listener.rows).toEqual({ [A]: 'a' });
  });

  test('probes of the server are answered with their id and parameters', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    using _listener = await new Listener(server.remote).ready();
    peerOf(server).send({ id: 'echo', method: 'echo', params: ['x', 1] });
    await expect
      .poll(() => server.heard.filter(({ id }) => id === 'echo'))
      .toEqual([{ id: 'echo', result: ['x', 1], error: null }]);
  });

  test('a request that clients do not serve is refused, an unknown notification ignored', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    using listener = await new Listener(server.remote).ready();
    peerOf(server).notify('wonder', 1);
    peerOf(server).notify('update3', 'another', FIRST_ID, { T: { [B]: { insert: {} } } });
    peerOf(server).send({ id: 5, method: 'wonder', params: [] });
    await expect
      .poll(() => server.heard.filter(({ id, method }) => id === 5 && method === undefined))
      .toEqual([{ id: 5, result: null, error: 'unknown method' }]);
    expect(listener.client.status).toBe('ready');
    expect(listener.rows).toEqual({});
  });

  test('a canceled monitor is asked for anew, with the schema', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase({ [A]: { name: 'a' } }));
    using listener = await new Listener(server.remote).ready();
    listener.listen();
    peerOf(server).notify('monitor_canceled', monitorOf(server));
    await expect.poll(() => server.asked('monitor_cond_since').length).toBe(2);
    await listener.ready();
    expect(server.asked('get_schema')).toHaveLength(2);
    expect(server.asked('monitor_cond_since')[1]?.[3]).toBe(ZERO_UUID);
    expect(server.connections).toBe(1);
    expect(listener.changes).toEqual([]);
  });

  test.each([
    ['monitor_cond', { T: { [A]: { initial: { name: 'a' } } } }],
    ['monitor', { T: { [A]: { new: { name: 'a' } } } }],
  ])('an older server is followed with %s', async (method, result) => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    server.answers['monitor_cond_since'] = () => ({ refuse: 'unknown method' });
    const status = server.answers['monitor_cond'];
    server.answers['monitor_cond'] = (message, peer) =>
      message.params[0] === '_Server'
        ? status?.(message, peer)
        : method === 'monitor_cond'
          ? result
          : { refuse: 'unknown method' };
    server.answers['monitor'] = () => result;
    using listener = await new Listener(server.remote).ready();
    expect(listener.rows).toEqual({ [A]: 'a' });
    expect(listener.events).toContainEqual({ kind: 'loaded', method, found: false, rows: 1 });
  });

  test.each<JsonValue>([
    { error: 'unknown method' },
    { error: 'unknown method', details: 'monitor_cond_since' },
    { code: -32601, message: 'Method not found' },
    "rpc2: can't find method monitor_cond_since",
  ])('a server says in other words that it does not know a method: %j', async (refuse) => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    const updates = { T: { [A]: { initial: { name: 'a' } } } };
    const status = server.answers['monitor_cond'];
    server.answers['monitor_cond_since'] = () => ({ refuse });
    server.answers['monitor_cond'] = (message, peer) =>
      message.params[0] === '_Server' ? status?.(message, peer) : updates;
    using listener = await new Listener(server.remote).ready();
    expect(listener.rows).toEqual({ [A]: 'a' });
    expect(server.connections).toBe(1);
  });

  test('where get_schema is not known, the schema in _Server is used', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase({ [A]: { name: 'a' } }));
    server.answers['get_schema'] = () => ({ refuse: 'unknown method' });
    using listener = await new Listener(server.remote).ready();
    expect(listener.rows).toEqual({ [A]: 'a' });
    expect(server.connections).toBe(1);
  });

  test('a server without _Server is used as it is', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase({ [A]: { name: 'a' } }));
    server.answers['monitor_cond'] = () => ({ refuse: 'unknown database' });
    using listener = await new Listener(server.remote).ready();
    expect(listener.rows).toEqual({ [A]: 'a' });
    expect(listener.client.databaseStatus).toBeUndefined();
  });
});

describe('a reply larger than what is read while it arrives, with its id at the end', () => {
  const name = 'x'.repeat(1000);
  const rows = Object.fromEntries(
    Array.from({ length: 300 }, (_, n) => [uuid(n + 1), { name: `${name}${n}` }]),
  );
  const contents: JsonValue = [
    false,
    FIRST_ID,
    { T: Object.fromEntries(Object.entries(rows).map(([id, row]) => [id, { initial: row }])) },
  ];

  test('reaches its monitor, however many load', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    const asked: JsonValue[] = [];
    server.answers['monitor_cond_since'] = ({ id }, peer) => {
      asked.push(id);
      if (asked.length === 3) {
        // The last one asked is the first one answered.
        for (const each of asked.toReversed())
          peer.send({ result: contents, error: null, id: each });
      }
      return undefined;
    };
    const listener = new Listener(server.remote);
    await using client = listener.client;
    const others = [1, 2].map((least) => client.monitor({ T: { where: [['count', '>', least]] } }));
    await Promise.all([client, ...others].map((each) => each.ready(soon())));
    for (const each of [client, ...others]) expect(each.replica.size('T')).toBe(300);
    expect(server.connections).toBe(1);
  });

  test('is not taken for that of a monitor when it answers something else', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    const monitor = Promise.withResolvers<JsonValue>();
    server.answers['monitor_cond_since'] = ({ id }) => {
      monitor.resolve(id);
      return undefined;
    };
    server.answers['statistics'] = ({ id }, peer) => {
      peer.send({ result: { T: rows }, error: null, id });
      return undefined;
    };
    const listener = new Listener(server.remote);
    await using client = listener.client;
    const id = await monitor.promise;
    expect(await client.call('statistics', [])).toEqual({ T: rows });
    server.peer?.send({ result: contents, error: null, id });
    await listener.ready();
    expect(client.replica.size('T')).toBe(300);
  });
});

describe('a server that will not do', () => {
  const CLUSTER = 'cccccccc-0000-4000-8000-000000000000';
  test.each<[string, { readonly [column: string]: JsonValue }, string, string]>([
    ['has no schema yet', { model: 'clustered', schema: ['set', []] }, '', 'has no schema yet'],
    ['lost its cluster', { model: 'clustered', connected: false }, '', 'disconnected'],
    ['does not lead', { model: 'clustered', leader: false }, '', 'not the leader'],
    ['is a relay', { model: 'relay' }, '', 'is a relay'],
    [
      'is of another cluster',
      { model: 'clustered', cid: ['uuid', DATABASE_ID] },
      `,cid:${CLUSTER}`,
      'belongs to cluster',
    ],
    ['has another database', { name: 'Other' }, '', 'has no database Small (it has Other)'],
  ])('%s: the next is tried', async (_name, status, cluster, reason) => {
    await using bad = await ScriptedOvsdbServer.start(smallDatabase({}, status));
    await using good = await ScriptedOvsdbServer.start(smallDatabase({ [A]: { name: 'a' } }));
    using listener = await new Listener(`${bad.remote},${good.remote}${cluster}`).ready();
    expect(listener.client.remote).toBe(good.remote);
    expect(bad.asked('monitor_cond_since')).toEqual([]);
    const left = listener.events.find((event) => event.kind === 'disconnected');
    expect(left?.error.message).toContain(reason);
  });

  test('one that ceases to lead is left at once, and one that lags behind is not used', async () => {
    const member = (index: number) => ({ model: 'clustered', index });
    await using leader = await ScriptedOvsdbServer.start(smallDatabase({}, member(7)));
    await using stale = await ScriptedOvsdbServer.start(smallDatabase({}, member(6)));
    await using next = await ScriptedOvsdbServer.start(smallDatabase({}, member(7)));
    using listener = await new Listener(`${leader.remote},${stale.remote},${next.remote}`).ready();
    peerOf(leader).notify('update2', '_Server', {
      Database: { [DATABASE_ID]: { modify: { leader: false } } },
    });
    await expect.poll(() => listener.client.remote).toBe(next.remote);
    await listener.ready();
    const reasons = listener.events.flatMap((event) =>
      event.kind === 'disconnected' ? [event.error.message] : [],
    );
    expect(reasons).toEqual([
      expect.stringContaining('not the leader'),
      expect.stringContaining('stale (index 6, seen was 7)'),
    ]);
  });

  test('the schema that counts is that of get_schema', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase());
    server.answers['get_schema'] = () => ({ ...(SMALL_SCHEMA as object), version: '2.0.0' });
    using listener = await new Listener(server.remote).ready();
    expect(listener.client.replica.schema.version).toBe('2.0.0');
    expect(databaseRow()).toMatchObject({ schema: expect.stringContaining('1.0.0') as string });
  });
});

describe('rows that make no sense', () => {
  const BAD: readonly (readonly [string, { readonly [id: string]: JsonValue }])[] = [
    ['modify of an unknown row', { [B]: { modify: { name: 'x' } } }],
    ['delete of an unknown row', { [B]: { delete: null } }],
    ['insert of a known row', { [A]: { insert: { name: 'x' } } }],
    ['two kinds at once', { [A]: { modify: { name: 'x' }, delete: null } }],
    ['no kind', { [A]: {} }],
    ['an unknown kind', { [A]: { change: {} } }],
    ['a row that is no object', { [A]: 5 }],
    ['a modify that is no object', { [A]: { modify: [] } }],
    ['a key that is no UUID', { nonsense: { insert: {} } }],
    ['a string for an integer', { [A]: { modify: { count: 'x' } } }],
    ['a fraction for an integer', { [A]: { modify: { count: 1.5 } } }],
    ['an integer out of range', { [A]: { modify: { count: 9223372036854775808n } } }],
    ['nothing for a scalar', { [A]: { modify: { name: ['set', []] } } }],
    ['a duplicate in a set', { [B]: { insert: { members: ['set', ['a', 'a']] } } }],
    ['a set for a map', { [A]: { modify: { tags: ['set', ['a', 'b']] } } }],
    [
      'a key twice',
      {
        [B]: {
          insert: {
            tags: [
              'map',
              [
                ['a', '1'],
                ['a', '2'],
              ],
            ],
          },
        },
      },
    ],
    ['a pair of three', { [B]: { insert: { tags: ['map', [['a', '1', '2']]] } } }],
  ];

  test.each(BAD)('%s: everything is loaded anew on the same connection', async (_name, rows) => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase({ [A]: { name: 'a' } }));
    using listener = await new Listener(server.remote).ready();
    listener.listen();
    update(server, FIRST_ID, rows);
    await expect.poll(() => server.asked('monitor_cond_since').length).toBe(2);
    await listener.ready();
    expect(server.asked('monitor_cond_since')[1]?.[3]).toBe(ZERO_UUID);
    expect(server.connections).toBe(1);
    expect(listener.rows).toEqual({ [A]: 'a' });
    expect(listener.changes).toEqual([]);
  });

  test('whatever an update holds, the client ends with what the server has', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase({ [A]: { name: 'a' } }));
    using listener = await new Listener(server.remote).ready();
    const row = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.record({ modify: fc.dictionary(fc.constantFrom('name', 'tags'), fc.jsonValue()) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(A, B, ZERO_UUID), row, async (id, value) => {
        update(server, FIRST_ID, { [id]: value as JsonValue });
        const truth = server.asked('monitor_cond_since').length;
        // What no server would send, to have the contents loaded anew whatever came of the other.
        update(server, SECOND_ID, { [uuid(9)]: { delete: null } });
        await expect
          .poll(() => server.asked('monitor_cond_since').length, { interval: 1 })
          .toBeGreaterThan(truth);
        await listener.ready();
        await expect.poll(() => listener.rows, { interval: 1 }).toEqual({ [A]: 'a' });
      }),
      { numRuns: 40 },
    );
    expect(listener.client.status).toBe('ready');
  });
});
