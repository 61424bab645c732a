import { describe, expect, test } from 'vitest';
import { OvsdbClient, parseSchema, type ClientOptions, type Clause } from 'ovsdb-client-ts';
import {
  ScriptedOvsdbServer,
  smallDatabase,
  SMALL_SCHEMA,
} from '../../support/ovsdb/scripted-ovsdb-server.ts';

const soon = (): AbortSignal => AbortSignal.timeout(15_000);

const client = (where: unknown, options: Partial<ClientOptions> = {}): OvsdbClient =>
  new OvsdbClient({
    remotes: 'tcp:nowhere',
    database: 'Small',
    timing: { minBackoff: 1, maxBackoff: 5 },
    tables: { T: { where: where as readonly Clause[] } },
    ...options,
  });

/** What no server takes, and what of it the error must name. */
const MALFORMED: readonly (readonly [string, unknown, RegExp])[] = [
  ['no list', 'name', /table T must be a list of clauses/],
  ['a clause that is none', ['name'], /"name".*table T/],
  ['a clause of two', [['name', '==']], /\["name","=="\].*table T, column name/],
  [
    'a function that is none',
    [['name', '=', 'x']],
    /\["name","=","x"\].*unknown function.*table T, column name/,
  ],
];

/** What does not fit the schema. */
const UNFIT: readonly (readonly [string, readonly Clause[], RegExp])[] = [
  ['an unknown column', [['nmae', '==', 'x']], /unknown column.*table T, column nmae/],
  [
    'a value of another type',
    [['count', '==', 'x']],
    /\["count","==","x"\].*table T, column count/,
  ],
  ['an order of strings', [['name', '<', 'x']], /table T, column name.*"<" operator/],
  [
    'one of several',
    [
      ['name', '==', 'x'],
      ['count', '==', 1.5],
    ],
    /\["count","==",1.5\].*column count/,
  ],
];

describe('a condition that no server would take', () => {
  test.each(MALFORMED)('%s: refused when the client is made', (_name, where, text) => {
    expect(() => client(where)).toThrow(text);
  });

  test.each(UNFIT)('%s: refused when the client is made with a schema', (_name, where, text) => {
    expect(() => client(where, { schema: parseSchema(SMALL_SCHEMA) })).toThrow(text);
  });

  test.each([...MALFORMED, ...UNFIT])(
    '%s: refused by setCondition and monitor, and nothing is sent',
    async (_name, where, text) => {
      await using server = await ScriptedOvsdbServer.start(smallDatabase());
      await using own = client([], { remotes: server.remote }).start();
      await own.ready(soon());
      await expect(own.setCondition('T', where as readonly Clause[])).rejects.toThrow(text);
      expect(() => own.monitor({ T: { where: where as readonly Clause[] } })).toThrow(text);
      // The client goes on as before.
      await own.setCondition('T', []);
      expect(own.status).toBe('ready');
      expect(server.asked('monitor_cond_since').length).toBe(1);
      expect(server.asked('monitor_cond_change')).toEqual([]);
    },
  );

  test.each(UNFIT)(
    '%s: named when the server turns out to have another schema',
    async (_name, where, text) => {
      await using server = await ScriptedOvsdbServer.start(smallDatabase());
      const told: string[] = [];
      await using own = client(where, {
        remotes: server.remote,
        onEvent: (event) => {
          if (event.kind === 'disconnected') told.push(event.error.message);
        },
      }).start();
      await expect.poll(() => told.length).toBeGreaterThan(0);
      expect(told[0]).toMatch(text);
      expect(server.asked('monitor_cond_since')).toEqual([]);
      // One that fits heals it.
      void own.setCondition('T', [['name', '==', 'x']], soon());
      await own.ready(soon());
    },
  );

  test('one that the server refuses all the same is told, and the rows stay', async () => {
    const rows = { '00000000-0000-4000-8000-000000000001': { name: 'a' } };
    await using server = await ScriptedOvsdbServer.start({
      ...smallDatabase(rows),
      monitor_cond_change: () => ({ refuse: { error: 'syntax error', details: 'too new' } }),
    });
    await using own = client([], { remotes: server.remote }).start();
    await own.ready(soon());
    await expect(own.setCondition('T', [['name', '==', 'x']], soon())).rejects.toThrow(
      'the server refused the condition: syntax error: too new',
    );
    expect(own.replica.size('T')).toBe(1);
  });
});

test('a condition that the server refuses takes no other with it that is set meanwhile', async () => {
  const row = '00000000-0000-4000-8000-000000000001';
  await using server = await ScriptedOvsdbServer.start(smallDatabase({ [row]: { name: 'a' } }));
  const asked: unknown[] = [];
  server.answers['monitor_cond_change'] = ({ params }) => {
    asked.push(params[2]);
    return asked.length === 1 ? { refuse: 'no' } : {};
  };
  await using follower = client([], { remotes: server.remote }).start();
  await follower.ready(soon());
  const [first, second] = await Promise.allSettled([
    follower.setCondition('T', [['name', '==', 'a']], soon()),
    follower.setCondition('T', [['name', '==', 'b']], soon()),
  ]);
  expect(first).toMatchObject({ status: 'rejected', reason: { code: 'rpc error' } });
  expect(second).toMatchObject({ status: 'fulfilled' });
  expect(asked).toEqual([
    { T: [{ where: [['name', '==', 'a']] }] },
    { T: [{ where: [['name', '==', 'b']] }] },
  ]);
});

describe('a condition of a further monitor, made before the schema is known, that does not fit it', () => {
  const rows = { '00000000-0000-4000-8000-000000000001': { name: 'a' } };

  test('is an error of that monitor alone, and one that fits heals it', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase(rows));
    const warnings: string[] = [];
    await using own = client([], {
      remotes: server.remote,
      onEvent: (event) => {
        if (event.kind === 'warning') warnings.push(event.text);
      },
    });
    using bad = own.monitor({ T: { where: [['nmae', '==', 'a']] } });
    using good = own.monitor({ T: { where: [['name', '==', 'a']] } });
    own.start();
    await Promise.all([own.ready(soon()), good.ready(soon())]);
    const text =
      /condition of table T, column nmae: .*; try again by setCondition with one that fits, or close the monitor/;
    await expect(bad.ready(soon())).rejects.toThrow(text);
    await expect(bad.ready(soon())).rejects.toMatchObject({ code: 'unknown column' });
    expect([server.connections, bad.isReady]).toEqual([1, false]);
    expect(warnings).toEqual([expect.stringMatching(text)]);
    expect(server.asked('monitor_cond_since')).toHaveLength(2);
    // It holds up nothing else.
    await own.reload(soon());
    // What does not fit either is refused as before.
    await expect(bad.setCondition('T', [['count', '==', 'x']], soon())).rejects.toThrow(
      'condition of table T, column count',
    );
    await bad.setCondition('T', [['name', '==', 'a']], soon());
    await bad.ready(soon());
    expect(bad.replica.size('T')).toBe(1);
    expect(server.connections).toBe(1);
  });

  test('is looked at anew when the connection or the schema is another', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase(rows));
    await using own = client([], { remotes: server.remote });
    using late = own.monitor({ T: { where: [['later', '==', 'a']] } });
    own.start();
    await expect(late.ready(soon())).rejects.toThrow('column later');
    const schema = structuredClone(SMALL_SCHEMA) as {
      tables: { T: { columns: { [name: string]: unknown } } };
    };
    schema.tables.T.columns['later'] = { type: 'string' };
    server.answers['get_schema'] = () => schema as never;
    own.reconnect();
    await expect.poll(() => server.connections).toBe(2);
    await late.ready(soon());
  });

  test('that the server refuses, or that comes when the schema is known, costs nothing else either', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase(rows));
    await using own = client([], { remotes: server.remote }).start();
    await own.ready(soon());
    const answer = server.answers['monitor_cond_since'];
    server.answers['monitor_cond_since'] = () => ({
      refuse: { error: 'permission error', details: 'not for you' },
    });
    using refused = own.monitor({ T: true });
    await expect(refused.ready(soon())).rejects.toThrow(
      'monitor_cond_since: permission error: not for you',
    );
    expect(() => own.monitor({ T: { where: [['nmae', '==', 'a']] } })).toThrow('column nmae');
    expect([own.status, server.connections]).toEqual(['ready', 1]);
    if (answer !== undefined) server.answers['monitor_cond_since'] = answer;
    await refused.setCondition('T', [], soon());
    expect(refused.replica.size('T')).toBe(1);
  });
});
