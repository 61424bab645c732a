import { afterEach, expect, test, vi } from 'vitest';
import { createLogger } from '../../../src/process/logger.ts';
import { ZoneLoops } from '../../../src/zone/zone-loops.ts';
import { ZoneMetrics } from '../../../src/zone/zone-metrics.ts';
import type { ZoneRuntime } from '../../../src/zone/zone-runtime.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

/** How far a zone is. */
interface State {
  isAnnounced: boolean;
  isBehind: boolean;
  reached: number;
  silentDatabases?: readonly string[];
}

/** Loops of a zone that is as `state` says; `forget` stands for what connections take, `look` for how full their tables are. */
function loopsOf(
  state: State,
  forget: (signal: AbortSignal) => Promise<void>,
  look: () => Promise<number> = () => Promise.resolve(10_000),
  interval = 0,
): ZoneLoops {
  const runtime = {
    connectionTables: { look },
    silentDatabases: state.silentDatabases ?? [],
    configuration: { node: 'n1', verifyInterval: interval, dropsInterval: 0 },
    store: { objects: new MemoryStore() },
    controller: {
      isStarted: true,
      get isAnnounced() {
        return state.isAnnounced;
      },
      progress: {
        get sequence() {
          return { configured: 7, reached: state.reached };
        },
      },
    },
    host: {
      controller: {
        get isBehind() {
          return state.isBehind;
        },
        forgetConnections: forget,
      },
    },
  } as unknown as ZoneRuntime;
  const [metrics, log] = [new ZoneMetrics(), createLogger('silent')];
  const prove = (): Promise<never> => Promise.reject(new Error('nobody proves here'));
  return new ZoneLoops({ runtime, metrics, log, conflist: undefined, prove });
}

const RIGHT: State = { isAnnounced: true, isBehind: false, reached: 7 };

afterEach(() => {
  vi.useRealTimers();
});

test('databases, host, connections and statuses have a loop each', () => {
  const loops = loopsOf(RIGHT, () => Promise.resolve());
  expect(loops.all.map(({ name }) => name)).toEqual(['databases', 'host', 'conntrack', 'statuses']);
});

test('proofs have one where they are asked for, and changes that are proved between them another one', () => {
  const loops = loopsOf(RIGHT, () => Promise.resolve(), undefined, 60_000);
  expect(loops.all.slice(-2).map(({ name }) => name)).toEqual(['verify-changes', 'verify']);
});

test.each([
  ['all is as wanted', {}, 1],
  ['rows are not written yet', { isAnnounced: false }, 0],
  ['the host is not as wanted yet', { isBehind: true }, 0],
  ['the data plane has not confirmed', { reached: 6 }, 0],
])('when %s connections are forgotten, or not', async (_what, state, times) => {
  let forgotten = 0;
  const loops = loopsOf({ ...RIGHT, ...state }, async () => void (forgotten += 1));
  const loop = loops.all.find(({ name }) => name === 'conntrack');
  const stop = new AbortController();
  const running = loop?.run(stop.signal);
  await loop?.between(async () => stop.abort());
  await running;
  expect(forgotten).toBe(times);
});

test('tables of connections are looked at whatever the zone waits for', async () => {
  const stop = new AbortController();
  const looked = Promise.withResolvers<void>();
  const loops = loopsOf(
    { isAnnounced: false, isBehind: true, reached: 0 },
    () => Promise.resolve(),
    async () => {
      looked.resolve();
      return 10_000;
    },
  );
  const running = loops.all.find(({ name }) => name === 'conntrack')?.run(stop.signal);
  await looked.promise;
  stop.abort();
  await running;
});

test('a loop that is at one pass for more than a minute is a problem of the node, after ten it hangs', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const loops = loopsOf(RIGHT, () => {
    begun.resolve();
    return gate.promise;
  });
  const stop = new AbortController();
  const running = loops.all.find(({ name }) => name === 'conntrack')?.run(stop.signal);
  await begun.promise;
  vi.advanceTimersByTime(60_000);
  expect([loops.problems(), loops.hung]).toEqual([[], undefined]);
  vi.advanceTimersByTime(1);
  expect(loops.problems()).toEqual([
    {
      object: 'Node n1',
      message: expect.stringMatching(/at one pass over its conntrack for more than 60 s/) as string,
    },
  ]);
  vi.advanceTimersByTime(540_000);
  expect(loops.hung).toBe('conntrack');
  gate.resolve();
  stop.abort();
  await running;
  expect([loops.problems(), loops.hung]).toEqual([[], undefined]);
});
