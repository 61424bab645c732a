import { duplexPair, type Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Framer, parseJson } from 'ovsdb-client-ts/values';
import { OvsdbClient, stringify, type ClientOptions, type JsonValue } from 'ovsdb-client-ts';
import { type OpenHandlers } from '../../../src/ovsdb/session/transport.ts';
import { settle } from '../../support/run/manual-clock.ts';
import { smallDatabase, type HeardMessage } from '../../support/ovsdb/scripted-ovsdb-server.ts';

/** A client in simulated time, which begins at 1000 ms, and a peer that does what the test says. */
class Simulation {
  readonly client: OvsdbClient;
  /** What the client did, with the time. */
  readonly told: string[] = [];
  #handlers: OpenHandlers | undefined;
  #peer: Duplex | undefined;
  /** What was asked last and not answered. */
  #unanswered: JsonValue = null;

  constructor(options: Partial<ClientOptions> = {}) {
    this.client = new OvsdbClient({
      remotes: 'tcp:a:1',
      database: 'Small',
      now: () => Date.now(),
      random: () => 0.999,
      onEvent: (event) => {
        if (event.kind === 'connecting') this.#tell(`connect ${event.remote}`);
        if (event.kind === 'loaded') this.#tell('loaded');
        if (event.kind === 'disconnected') this.#tell('lost');
      },
      openSocket: (_remote, _tls, handlers) => {
        this.#handlers = handlers;
        return { cancel: () => (this.#handlers = undefined) };
      },
      ...options,
    });
  }

  /** Begins to connect, at the end of which `openSocket` was called. */
  static async start(options: Partial<ClientOptions> = {}): Promise<Simulation> {
    const simulation = new Simulation(options);
    simulation.client.start();
    await quiet();
    return simulation;
  }

  #tell(text: string): void {
    this.told.push(`${Date.now()} ${text}`);
  }

  /** Moves on. */
  async pass(milliseconds: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(milliseconds);
    await quiet();
  }

  /** The attempt fails. */
  refuse(): void {
    this.#handlers?.failed(new Error('refused'));
  }

  /** The attempt succeeds; the peer answers with a database, or all but its contents, or says nothing. */
  async accept(peer: 'database' | 'composing' | 'silent'): Promise<void> {
    const [ours, theirs] = duplexPair();
    const framer = new Framer();
    const answers = smallDatabase();
    theirs.on('data', (chunk: Buffer) => {
      for (const bytes of framer.push(chunk)) {
        const message = parseJson(bytes) as unknown as HeardMessage;
        const { id, method = '' } = message;
        if (method === 'echo') this.#tell('probe');
        const isAnswered =
          peer === 'database' || (peer === 'composing' && method !== 'monitor_cond_since');
        if (!isAnswered) this.#unanswered = id;
        const result = isAnswered ? answers[method]?.(message, undefined as never) : undefined;
        if (result !== undefined) theirs.write(stringify({ id, result, error: null }));
      }
    });
    ours.once('end', () => ours.destroy());
    ours.once('close', () => theirs.destroy());
    this.#peer = theirs;
    this.#handlers?.opened(ours);
    await quiet();
  }

  /** The peer says something of no consequence. */
  async say(): Promise<void> {
    this.#peer?.write(stringify({ id: null, method: 'news', params: [] }));
    await quiet();
  }

  /** The first piece of a large reply. */
  async begin(): Promise<void> {
    const name = 'x'.repeat(200_000);
    const text = stringify({
      id: this.#unanswered,
      result: [false, ROW, { T: { [ROW]: { initial: { name } } } }],
    });
    this.#peer?.write(text.slice(0, -10));
    await quiet();
  }

  async hangUp(): Promise<void> {
    this.#peer?.end();
    await quiet();
  }

  /** Two attempts that are refused: the pause before the next is 2000 ms, and over at 4000. */
  async refuseTwice(): Promise<void> {
    this.refuse();
    await this.pass(1000);
    this.refuse();
    await this.pass(2000);
  }

  [Symbol.dispose](): void {
    this.client.close();
  }
}

/** Lets streams deliver what was written, there and back. */
async function quiet(): Promise<void> {
  for (let i = 0; i < 10; i++) await settle();
}

const ROW = '00000000-0000-4000-8000-000000000001';
const CONNECT = 'connect tcp:a:1';

beforeEach(() => {
  vi.useFakeTimers({
    now: 1000,
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'],
  });
});

afterEach(() => {
  vi.useRealTimers();
});

describe('attempts that fail', () => {
  test('at once: the pause doubles from 1 s to 8 s', async () => {
    using simulation = await Simulation.start();
    for (const pause of [1000, 2000, 4000, 8000, 8000, 8000]) {
      simulation.refuse();
      await simulation.pass(pause);
    }
    expect(simulation.told.filter((line) => line.endsWith(CONNECT))).toEqual(
      [1000, 2000, 4000, 8000, 16_000, 24_000, 32_000].map((time) => `${time} ${CONNECT}`),
    );
  });

  test('by time: each is given up after the timeout, then the pause', async () => {
    using simulation = await Simulation.start({ timing: { connectTimeout: 1000 } });
    await simulation.pass(27_000);
    expect(simulation.told).toEqual(
      [1000, 3000, 6000, 11_000, 20_000].flatMap((time) => [
        `${time} ${CONNECT}`,
        `${time + 1000} lost`,
      ]),
    );
  });

  test("limits of the pause are the program's", async () => {
    using simulation = await Simulation.start({ timing: { minBackoff: 300, maxBackoff: 500 } });
    for (const pause of [300, 500, 500]) {
      simulation.refuse();
      await simulation.pass(pause);
    }
    expect(simulation.told.filter((line) => line.endsWith(CONNECT))).toEqual(
      [1000, 1300, 1800, 2300].map((time) => `${time} ${CONNECT}`),
    );
  });

  test('every remote is tried once before the first pause, and one a pause after it', async () => {
    using simulation = await Simulation.start({ remotes: 'tcp:a:1,tcp:b:1,tcp:c:1' });
    for (let i = 0; i < 5; i++) {
      simulation.refuse();
      await simulation.pass(i < 2 ? 0 : 1000 * 2 ** (i - 2));
    }
    expect(simulation.told.filter((line) => line.includes('connect'))).toEqual([
      '1000 connect tcp:a:1',
      '1000 connect tcp:b:1',
      '1000 connect tcp:c:1',
      '2000 connect tcp:a:1',
      '4000 connect tcp:b:1',
      '8000 connect tcp:c:1',
    ]);
  });
});

describe('silence', () => {
  test('is probed after the interval, and ends the connection after two', async () => {
    using simulation = await Simulation.start();
    await simulation.pass(500);
    await simulation.accept('database');
    // A server that answers nothing any more, probes included.
    await simulation.pass(9999);
    expect(simulation.told.slice(1)).toEqual(['1500 loaded', '6500 probe']);
    await simulation.pass(1);
    await simulation.pass(1);
    expect(simulation.told.slice(3)).toEqual(['11500 lost', `11501 ${CONNECT}`]);
  });

  test('ends with anything that is said, also after the probe', async () => {
    using simulation = await Simulation.start();
    await simulation.accept('database');
    await simulation.pass(4999);
    await simulation.say();
    await simulation.pass(4999);
    expect(simulation.told).toEqual([`1000 ${CONNECT}`, '1000 loaded']);
    await simulation.pass(1);
    await simulation.pass(4999);
    await simulation.say();
    await simulation.pass(5000);
    await simulation.pass(4999);
    expect(simulation.told.slice(2)).toEqual(['10999 probe', '20998 probe']);
    await simulation.pass(1);
    expect(simulation.told.at(-1)).toBe('25998 lost');
  });

  test('is allowed for a minute while contents are awaited', async () => {
    using simulation = await Simulation.start();
    await simulation.accept('composing');
    await simulation.pass(119_999);
    expect(simulation.told).toEqual([`1000 ${CONNECT}`, '61000 probe']);
    await simulation.pass(1);
    expect(simulation.told.at(-1)).toBe('121000 lost');
  });

  test('is no longer allowed for once contents have begun to come', async () => {
    using simulation = await Simulation.start();
    await simulation.accept('composing');
    await simulation.pass(30_000);
    await simulation.begin();
    await simulation.pass(4999);
    expect(simulation.told).toEqual([`1000 ${CONNECT}`]);
    await simulation.pass(5002);
    expect(simulation.told).toEqual([`1000 ${CONNECT}`, '36000 probe', '41000 lost']);
  });

  test('is never probed when the interval is 0', async () => {
    using simulation = await Simulation.start({ timing: { probeInterval: 0, checkInterval: 0 } });
    await simulation.accept('database');
    await simulation.pass(10_000_000);
    expect(simulation.told).toEqual([`1000 ${CONNECT}`, '1000 loaded']);
  });
});

describe('the pause after a connection that ended', () => {
  test('grows when nothing was ever heard', async () => {
    using simulation = await Simulation.start();
    for (const pause of [1000, 2000, 4000]) {
      await simulation.accept('silent');
      await simulation.pass(10_000 + pause);
    }
    expect(simulation.told.filter((line) => !line.endsWith('probe'))).toEqual([
      `1000 ${CONNECT}`,
      '11000 lost',
      `12000 ${CONNECT}`,
      '22000 lost',
      `24000 ${CONNECT}`,
      '34000 lost',
      `38000 ${CONNECT}`,
    ]);
  });

  test('grows when it was brief', async () => {
    using simulation = await Simulation.start();
    await simulation.refuseTwice();
    await simulation.pass(500);
    await simulation.accept('silent');
    await simulation.pass(250);
    await simulation.hangUp();
    await simulation.pass(4000);
    expect(simulation.told.slice(-3)).toEqual([`4000 ${CONNECT}`, '4750 lost', `8750 ${CONNECT}`]);
  });

  test('grows when it was brief, although there was data', async () => {
    using simulation = await Simulation.start();
    await simulation.refuseTwice();
    await simulation.accept('silent');
    for (let i = 0; i < 3; i++) {
      await simulation.pass(250);
      await simulation.say();
    }
    await simulation.hangUp();
    await simulation.pass(4000);
    expect(simulation.told.slice(-3)).toEqual([`4000 ${CONNECT}`, '4750 lost', `8750 ${CONNECT}`]);
  });

  test('grows when it was brief, although the contents were loaded', async () => {
    using simulation = await Simulation.start();
    await simulation.refuseTwice();
    await simulation.accept('database');
    await simulation.pass(1999);
    await simulation.hangUp();
    await simulation.pass(4000);
    expect(simulation.told.slice(-3)).toEqual(['4000 loaded', '5999 lost', `9999 ${CONNECT}`]);
  });

  test('begins anew when data came for as long as it was', async () => {
    using simulation = await Simulation.start();
    await simulation.refuseTwice();
    await simulation.accept('silent');
    for (let i = 0; i < 3; i++) {
      await simulation.pass(2000);
      await simulation.say();
    }
    await simulation.hangUp();
    await simulation.pass(1000);
    expect(simulation.told.slice(-3)).toEqual([
      `4000 ${CONNECT}`,
      '10000 lost',
      `11000 ${CONNECT}`,
    ]);
  });

  test('is none when the contents were loaded and followed for as long as it was; then it begins anew', async () => {
    using simulation = await Simulation.start({ timing: { probeInterval: 0 } });
    await simulation.refuseTwice();
    await simulation.accept('database');
    await simulation.pass(2000);
    await simulation.hangUp();
    await simulation.pass(0);
    simulation.refuse();
    await simulation.pass(1000);
    expect(simulation.told.slice(-5)).toEqual([
      '4000 loaded',
      '6000 lost',
      `6000 ${CONNECT}`,
      '6000 lost',
      `7000 ${CONNECT}`,
    ]);
  });

  test('keeps a server that ends after each load from being asked without end', async () => {
    using simulation = await Simulation.start();
    for (const pause of [1000, 2000, 4000, 8000, 8000]) {
      await simulation.accept('database');
      await simulation.hangUp();
      await simulation.pass(pause);
    }
    expect(simulation.told.filter((line) => line.endsWith(CONNECT))).toEqual(
      [1000, 2000, 4000, 8000, 16_000, 24_000].map((time) => `${time} ${CONNECT}`),
    );
  });
});

describe('a remote where the server connects', () => {
  const LISTEN = 'connect ptcp:6640';

  test('is listened to for ever, again after a pause when that fails', async () => {
    using simulation = await Simulation.start({ remotes: 'ptcp:' });
    await simulation.pass(10_000_000);
    expect(simulation.told).toEqual([`1000 ${LISTEN}`]);
    simulation.refuse();
    await simulation.pass(1000);
    expect(simulation.told.slice(1)).toEqual(['10001000 lost', `10002000 ${LISTEN}`]);
  });

  test('is listened to again at once after a connection, however brief', async () => {
    using simulation = await Simulation.start({ remotes: 'ptcp:' });
    simulation.refuse();
    await simulation.pass(1000);
    await simulation.accept('silent');
    await simulation.hangUp();
    await simulation.pass(0);
    await simulation.accept('database');
    await simulation.pass(10_000);
    await simulation.pass(1);
    expect(simulation.told).toEqual([
      `1000 ${LISTEN}`,
      '1000 lost',
      `2000 ${LISTEN}`,
      '2000 lost',
      `2000 ${LISTEN}`,
      '2000 loaded',
      '7000 probe',
      '12000 lost',
      `12001 ${LISTEN}`,
    ]);
  });
});

test('nothing happens before it is started, or when it is closed at once', async () => {
  const simulation = new Simulation();
  await simulation.pass(1_000_000);
  expect(simulation.told).toEqual([]);
  simulation.client.start();
  simulation.client.close();
  await simulation.pass(1_000_000);
  expect(simulation.told).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('nothing happens after it is closed', async () => {
  const simulation = await Simulation.start();
  simulation.refuse();
  simulation.client.close();
  await simulation.pass(1_000_000);
  expect(simulation.told).toEqual([`1000 ${CONNECT}`, '1000 lost']);
  expect(vi.getTimerCount()).toBe(0);
});
