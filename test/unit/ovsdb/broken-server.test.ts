import { describe, expect, test, vi } from 'vitest';
import {
  OvsdbClient,
  ZERO_UUID,
  type ClientEvent,
  type ClientOptions,
  type JsonValue,
  type Operation,
} from 'ovsdb-client-ts';
import { outcomeOf } from '../../../src/ovsdb/data/outcome.ts';
import {
  DATABASE_ID,
  ScriptedOvsdbServer,
  smallDatabase,
} from '../../support/ovsdb/scripted-ovsdb-server.ts';

/** What a server may do that is hostile or broken. */

const soon = (): AbortSignal => AbortSignal.timeout(10_000);
const A = '00000000-0000-4000-8000-000000000001';
const B = '00000000-0000-4000-8000-000000000002';

function follow(server: ScriptedOvsdbServer, options: Partial<ClientOptions> = {}) {
  const events: ClientEvent[] = [];
  const client = new OvsdbClient({
    remotes: server.remote,
    database: 'Small',
    onEvent: (event) => events.push(event),
    ...options,
  }).start();
  return { client, events };
}

const loads = (server: ScriptedOvsdbServer): number => server.asked('monitor_cond_since').length;

/** Between one load and the next there is at least such a pause. Timers may be a little early. */
function expectPauses(times: readonly number[], pauses: readonly number[]): void {
  for (const [n, pause] of pauses.entries())
    expect((times[n + 1] as number) - (times[n] as number)).toBeGreaterThanOrEqual(pause - 2);
}

/** Sends a change of a row that is not there. */
function misfit(server: ScriptedOvsdbServer): void {
  const monitor = server.asked('monitor_cond_since').at(-1)?.[1] ?? null;
  server.peer?.notify('update3', monitor, DATABASE_ID, { T: { [B]: { modify: { name: 'b' } } } });
}

describe('updates that never fit', () => {
  /** A server that sends one as soon as the contents are loaded. */
  const hostile = async (times: number[] = []): Promise<ScriptedOvsdbServer> => {
    const answers = smallDatabase({ [A]: { name: 'a' } });
    return ScriptedOvsdbServer.start({
      ...answers,
      monitor_cond_since: (message, peer) => {
        times.push(performance.now());
        setImmediate(() => {
          const update = { T: { [B]: { modify: { name: 'b' } } } };
          peer.notify('update3', message.params[1] ?? null, DATABASE_ID, update);
        });
        return answers['monitor_cond_since']?.(message, peer);
      },
    });
  };

  test('the contents are loaded anew at once, then ever later up to the longest pause', async () => {
    const times: number[] = [];
    await using server = await hostile(times);
    const { client } = follow(server, { timing: { minBackoff: 40, maxBackoff: 160 } });
    await using _client = client;
    await expect.poll(() => times.length, { timeout: 10_000 }).toBeGreaterThan(6);
    expectPauses(times, [0, 40, 80, 160, 160, 160]);
    expect(server.connections).toBe(1);
  });

  test('what did not fit is in the warning, in the reason, and in the error of a wait', async () => {
    await using server = await hostile();
    const { client, events } = follow(server, { timing: { minBackoff: 500, maxBackoff: 5000 } });
    await using _client = client;
    const text = `T ${B} changes but is not there`;
    await expect
      .poll(() => events.flatMap((event) => (event.kind === 'warning' ? [event.text] : [])))
      .toEqual([
        `the contents are loaded anew: ${text}`,
        `the contents are loaded anew in 500 ms: ${text}`,
      ]);
    expect(events.filter(({ kind }) => kind === 'unloaded')).toEqual([
      { kind: 'unloaded', reason: text },
      { kind: 'unloaded', reason: text },
    ]);
    expect(client.status).toBe('loading');
    await expect(client.ready(AbortSignal.timeout(10))).rejects.toThrow(text);
    // What was loaded is still there to be read.
    expect(client.replica.size('T')).toBe(1);
  });

  test('a single one has the contents loaded anew at once, again and again in the course of time', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase({ [A]: { name: 'a' } }));
    let now = 0;
    const { client, events } = follow(server, { now: () => now });
    await using _client = client;
    for (let n = 1; n <= 4; n++) {
      await client.ready(soon());
      misfit(server);
      await expect.poll(() => loads(server)).toBe(n + 1);
      now += 8000;
    }
    expect(events.some((event) => event.kind === 'warning' && / in /.test(event.text))).toBe(false);
  });

  test('nothing is loaded anew on a connection that is gone, or by a client that was closed', async () => {
    await using server = await hostile();
    const { client, events } = follow(server, { timing: { minBackoff: 50, maxBackoff: 50 } });
    await using _client = client;
    const warned = (): number => events.filter(({ kind }) => kind === 'warning').length;
    await expect.poll(warned).toBeGreaterThanOrEqual(2);
    client.reconnect();
    await expect.poll(() => server.connections).toBe(2);
    const atReconnect = warned();
    await expect.poll(warned).toBeGreaterThan(atReconnect);
    client.close();
    // What was on its way arrives.
    await new Promise((resolve) => setTimeout(resolve, 150));
    const before = loads(server);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(loads(server)).toBe(before);
  });

  test('a pause ends when the contents are asked for by the program', async () => {
    await using server = await ScriptedOvsdbServer.start(smallDatabase({ [A]: { name: 'a' } }));
    const { client } = follow(server, { timing: { minBackoff: 60_000, maxBackoff: 60_000 } });
    await using _client = client;
    await client.ready(soon());
    misfit(server);
    await expect.poll(() => loads(server)).toBe(2);
    await client.ready(soon());
    misfit(server);
    await expect.poll(() => client.status).toBe('loading');
    client.reconnect();
    await client.ready(soon());
    expect(loads(server)).toBe(3);
  });
});

describe('a database that is converted or canceled all the time', () => {
  const canceling = (times: number[] = []): Promise<ScriptedOvsdbServer> => {
    const answers = smallDatabase({ [A]: { name: 'a' } });
    return ScriptedOvsdbServer.start({
      ...answers,
      monitor_cond_since: (message, peer) => {
        times.push(performance.now());
        setImmediate(() => {
          peer.notify('monitor_canceled', message.params[1] ?? null);
        });
        return answers['monitor_cond_since']?.(message, peer);
      },
    });
  };

  test('is loaded a few times at once, then with growing pauses', async () => {
    const times: number[] = [];
    await using server = await canceling(times);
    const { client } = follow(server, { timing: { minBackoff: 50, maxBackoff: 200 } });
    await using _client = client;
    await expect.poll(() => times.length, { timeout: 10_000 }).toBeGreaterThan(9);
    expectPauses(times, [0, 0, 0, 0, 0, 50, 100, 200, 200]);
    expect(server.connections).toBe(1);
  });

  test('is loaded no more when the client is closed', async () => {
    await using server = await canceling();
    const { client } = follow(server, { timing: { minBackoff: 50, maxBackoff: 50 } });
    await expect.poll(() => loads(server)).toBeGreaterThan(6);
    client.close();
    const before = loads(server);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(loads(server)).toBe(before);
  });
});

test('a first load that is said to be only what changed is not believed', async () => {
  await using server = await ScriptedOvsdbServer.start({
    ...smallDatabase(),
    monitor_cond_since: () => [true, DATABASE_ID, { T: { [A]: { insert: { name: 'a' } } } }],
  });
  const { client, events } = follow(server, { timing: { minBackoff: 1, maxBackoff: 2 } });
  await using _client = client;
  await expect.poll(() => server.connections).toBeGreaterThan(1);
  expect(events.some(({ kind }) => kind === 'loaded')).toBe(false);
  await expect.poll(() => server.asked('monitor_cond_since')[1]?.[3]).toBe(ZERO_UUID);
  const lost = events.find((event) => event.kind === 'disconnected');
  expect(lost?.kind === 'disconnected' ? lost.error : undefined).toMatchObject({
    code: 'protocol',
    details: expect.stringContaining('of Small only what changed, but was asked for all') as string,
  });
});

test('a server that refuses to go on from the last transaction is asked for everything', async () => {
  const answers = smallDatabase({ [A]: { name: 'a' } });
  await using server = await ScriptedOvsdbServer.start({
    ...answers,
    monitor_cond_since: (message, peer) =>
      message.params[3] === ZERO_UUID
        ? answers['monitor_cond_since']?.(message, peer)
        : { refuse: { error: 'syntax error', details: 'no such transaction' } },
  });
  const { client } = follow(server, { timing: { minBackoff: 1, maxBackoff: 2 } });
  await using _client = client;
  await client.ready(soon());
  client.reconnect();
  await client.ready(AbortSignal.timeout(2000));
  expect(server.asked('monitor_cond_since').map((params) => params[3])).toEqual([
    ZERO_UUID,
    DATABASE_ID,
    ZERO_UUID,
  ]);
});

describe('a reply to a transaction that says less than it must is no success', () => {
  const insert: Operation = { op: 'insert', table: 'T', row: {} };
  const remove: Operation = { op: 'delete', table: 'T', where: [] };
  const cases: readonly (readonly [string, readonly Operation[], JsonValue, RegExp])[] = [
    ['no results', [remove], [], /0 results for 1 operation/],
    ['fewer results', [remove, remove], [{ count: 1 }], /1 result for 2 operations/],
    ['more results', [remove], [{ count: 1 }, { count: 1 }], /2 results for 1 operation/],
    ['no UUID', [remove, insert], [{ count: 1 }, {}], /no UUID.*operation 1/],
    ['a UUID that is none', [insert], [{ uuid: ['uuid', 'x'] }], /no UUID.*operation 0/],
    ['a UUID in another form', [insert], [{ uuid: A }], /no UUID.*operation 0/],
  ];
  test.each(cases)('%s', (_name, operations, result, reason) => {
    expect(outcomeOf(operations, result, undefined)).toEqual({
      kind: 'unknown',
      reason: expect.stringMatching(reason) as string,
    });
  });

  test('as many results as there are operations are one', () => {
    expect(outcomeOf([insert, remove], [{ uuid: ['uuid', A] }, { count: 0 }], undefined).kind).toBe(
      'success',
    );
    expect(outcomeOf([], [], undefined).kind).toBe('success');
  });
});

describe('an answer that does not come', () => {
  for (const [method, name] of [
    ['monitor_cond', '_Server'],
    ['get_schema', 'Small'],
    ['monitor_cond_since', 'Small'],
  ] as const) {
    test(`to ${method} (${name}) ends the connection, and says what was waited for`, async () => {
      await using server = await ScriptedOvsdbServer.start({
        ...smallDatabase(),
        [method]: () => undefined,
      });
      const { client, events } = follow(server, {
        timing: { minBackoff: 1, maxBackoff: 2, answerTimeout: 100 },
      });
      await using _client = client;
      const noise = setInterval(() => server.peer?.notify('news'), 10);
      await expect.poll(() => server.connections).toBeGreaterThan(1);
      clearInterval(noise);
      const lost = events.find((event) => event.kind === 'disconnected');
      expect(lost?.kind === 'disconnected' ? lost.error : undefined).toMatchObject({
        code: 'timed out',
        details: `the server did not answer ${method} (${name}) within 100 ms (timing.answerTimeout)`,
      });
    });
  }

  test('is waited for as long as it arrives', async () => {
    const text = JSON.stringify([
      false,
      DATABASE_ID,
      { T: { [A]: { initial: { name: 'x'.repeat(400_000) } } } },
    ]);
    await using server = await ScriptedOvsdbServer.start({
      ...smallDatabase(),
      monitor_cond_since: ({ id }, peer) => {
        const whole = `{"id":${JSON.stringify(id)},"result":${text},"error":null}`;
        let at = 0;
        const timer = setInterval(() => {
          peer.sendText(whole.slice(at, (at += 50_000)));
          if (at >= whole.length) clearInterval(timer);
        }, 100);
        return undefined;
      },
    });
    const { client, events } = follow(server, { timing: { answerTimeout: 600 } });
    await using _client = client;
    await client.ready(soon());
    expect(events.filter(({ kind }) => kind === 'disconnected')).toEqual([]);
  });

  test('that stops on its way is not waited for', async () => {
    await using server = await ScriptedOvsdbServer.start({
      ...smallDatabase(),
      monitor_cond_since: ({ id }, peer) => {
        peer.sendText(`{"id":${JSON.stringify(id)},"result":[false,"${DATABASE_ID}",{"T":{`);
        return undefined;
      },
    });
    const { client, events } = follow(server, {
      timing: { answerTimeout: 50, minBackoff: 1, maxBackoff: 2 },
    });
    await using _client = client;
    await expect.poll(() => events.some(({ kind }) => kind === 'disconnected')).toBe(true);
  });

  test('0 waits for ever', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      await using server = await ScriptedOvsdbServer.start({
        ...smallDatabase(),
        get_schema: () => undefined,
      });
      const { client } = follow(server, { timing: { answerTimeout: 0 } });
      await using _client = client;
      for (let n = 0; n < 100 && server.asked('get_schema').length === 0; n++)
        await new Promise((resolve) => setImmediate(resolve));
      await vi.advanceTimersByTimeAsync(2 ** 30);
      expect([client.status, server.connections]).toEqual(['loading', 1]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('conditions that are set at once', () => {
  /** A server that answers changes of conditions by hand. */
  async function waiting() {
    const ids: JsonValue[] = [];
    const server = await ScriptedOvsdbServer.start({
      ...smallDatabase(),
      monitor_cond_change: ({ id }) => {
        ids.push(id);
        return undefined;
      },
    });
    const { client } = follow(server);
    await client.ready(soon());
    const done: string[] = [];
    const set = (name: string, table = 'T'): Promise<unknown> =>
      client.setCondition(table, [['name', '==', name]], soon()).then(
        () => done.push(name),
        (error: unknown) => done.push(`${name}: ${String(error)}`),
      );
    const answer = async (n: number): Promise<void> => {
      await expect.poll(() => ids.length).toBe(n);
      server.peer?.reply(ids[n - 1] ?? null, {});
      await client.call('get_schema', ['Small'], soon());
    };
    return { server, client, done, set, answer };
  }

  test('each resolves when the server works with it', async () => {
    const { server, client, done, set, answer } = await waiting();
    await using _server = server;
    await using _client = client;
    const both = [set('first'), set('second')];
    await answer(1);
    expect(done).toEqual(['first']);
    await answer(2);
    await Promise.all(both);
    expect(done).toEqual(['first', 'second']);
  });

  test('one that another replaced before it was sent rejects', async () => {
    const { server, client, done, set, answer } = await waiting();
    await using _server = server;
    await using _client = client;
    const all = [set('first'), set('second'), set('third')];
    await answer(1);
    await answer(2);
    await Promise.all(all);
    expect(done.toSorted()).toEqual([
      'first',
      expect.stringMatching(/^second: .*aborted: .*condition of table T.*replaced/),
      'third',
    ]);
    expect(server.asked('monitor_cond_change')).toHaveLength(2);
  });
});

test('a request of a client that was closed says so', async () => {
  await using server = await ScriptedOvsdbServer.start(smallDatabase());
  const { client } = follow(server);
  await client.ready(soon());
  client.close();
  await expect(client.call('list_dbs', [])).rejects.toMatchObject({ code: 'closed' });
  await expect(client.reload()).rejects.toMatchObject({ code: 'closed' });
  await expect(client.ready()).rejects.toMatchObject({ code: 'closed' });
  await expect(client.setCondition('T', [true])).rejects.toMatchObject({ code: 'closed' });
});
