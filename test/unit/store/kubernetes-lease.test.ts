import { describe, expect, test } from 'vitest';
import { leases } from '../../../src/api/kinds.ts';
import {
  LEASE_TIMING,
  leadByLease,
  type LeaseTiming,
} from '../../../src/store/kubernetes/kubernetes-lease.ts';
import { pause } from '../../../src/store/clock.ts';
import { StoreError, type Leadership, type Store } from '../../../src/store/store.ts';
import { ManualClock } from '../../support/run/manual-clock.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import { SeededRandom } from '../../support/run/seeded-random.ts';

const TIMING: LeaseTiming = { lease: 137_000, renew: 107_000, retry: 26_000 };

function candidate(
  store: MemoryStore,
  identity: string,
  clock: ManualClock,
): { leadership: Promise<Leadership>; stop: AbortController; leads: () => boolean } {
  const stop = new AbortController();
  let leads = false;
  const leadership = leadByLease(
    { store, namespace: 'heddle', name: 'manager', identity, timing: TIMING, clock },
    stop.signal,
  ).then((gained) => {
    leads = true;
    gained.signal.addEventListener('abort', () => (leads = false));
    return gained;
  });
  leadership.catch(() => undefined);
  return { leadership, stop, leads: () => leads };
}

const unavailable = (): never => {
  throw new StoreError('unavailable', 'no answer');
};

describe('a lease', () => {
  test('that can’t be had says why at each attempt, and is had as soon as it can be', async () => {
    const [store, clock] = [new MemoryStore(), new ManualClock()];
    store.beforeWrite = unavailable;
    const failures: string[] = [];
    let leads = false;
    const stop = new AbortController();
    const leadership = leadByLease(
      { store, namespace: 'heddle', name: 'manager', identity: 'one', timing: TIMING, clock },
      stop.signal,
      undefined,
      (error) => failures.push(String(error)),
    ).then((gained) => {
      leads = true;
      return gained;
    });
    await clock.advance(5000);
    expect(failures.length).toBeGreaterThan(2);
    expect(new Set(failures)).toEqual(new Set(['StoreError: no answer']));
    expect(leads).toBe(false);
    store.beforeWrite = () => undefined;
    await clock.advance(2000);
    expect(leads).toBe(true);
    await (await leadership)[Symbol.asyncDispose]();
  });

  test('that an API server refuses as it begins is had when it knows its roles; one that is refused for longer is not to be had', async () => {
    const forbidden = (): never => {
      throw new StoreError('forbidden', 'no role allows it');
    };
    for (const seconds of [20, 40]) {
      const [store, clock] = [new MemoryStore(), new ManualClock()];
      store.beforeWrite = forbidden;
      const one = candidate(store, 'one', clock);
      const outcome = one.leadership.then(
        () => 'leads',
        (error: unknown) => String(error),
      );
      await clock.advance(seconds * 1000);
      expect(one.leads()).toBe(false);
      store.beforeWrite = () => undefined;
      await clock.advance(5000);
      expect(one.leads()).toBe(seconds === 20);
      expect(await outcome).toBe(seconds === 20 ? 'leads' : 'StoreError: no role allows it');
      one.stop.abort();
    }
  });

  test('is kept while an API server that begins refuses its renewal, until the deadline', async () => {
    const [store, clock] = [new MemoryStore(), new ManualClock()];
    const one = candidate(store, 'one', clock);
    await clock.advance(0);
    store.beforeWrite = () => {
      throw new StoreError('forbidden', 'no role allows it');
    };
    await clock.advance(TIMING.retry + 20_000);
    expect(one.leads()).toBe(true);
    store.beforeWrite = () => undefined;
    await clock.advance(TIMING.renew);
    expect(one.leads()).toBe(true);
    store.beforeWrite = () => {
      throw new StoreError('forbidden', 'no role allows it');
    };
    await clock.advance(TIMING.renew + TIMING.retry);
    expect(one.leads()).toBe(false);
  });

  test('is followed within a second when its holder gives it up', async () => {
    const [store, clock] = [new MemoryStore(), new ManualClock()];
    const one = candidate(store, 'one', clock);
    await clock.advance(0);
    const two = candidate(store, 'two', clock);
    await clock.advance(60_000);
    expect([one.leads(), two.leads()]).toEqual([true, false]);
    await (await one.leadership)[Symbol.asyncDispose]();
    await clock.advance(1000);
    expect([one.leads(), two.leads()]).toEqual([false, true]);
  });

  test('of a holder that is gone is taken over when it has run out, not earlier', async () => {
    const [store, clock, gone] = [new MemoryStore(), new ManualClock(), new ManualClock()];
    const one = candidate(store, 'one', gone);
    await gone.advance(0);
    expect(one.leads()).toBe(true);
    const two = candidate(store, 'two', clock);
    await clock.advance(136_000);
    expect(two.leads()).toBe(false);
    await clock.advance(2000);
    expect(two.leads()).toBe(true);
  });

  test('is not taken over earlier by one whose time of day is set forward, nor later by one whose is set back', async () => {
    for (const step of [20_000, -3_600_000]) {
      const [store, clock, gone] = [new MemoryStore(), new ManualClock(), new ManualClock()];
      const one = candidate(store, 'one', gone);
      await gone.advance(0);
      expect(one.leads()).toBe(true);
      const two = candidate(store, 'two', clock);
      await clock.advance(120_000);
      clock.set(step);
      await clock.advance(16_000);
      expect(two.leads()).toBe(false);
      await clock.advance(2000);
      expect(two.leads()).toBe(true);
    }
  });

  test('that a slow answer shows counts from when the answer came: it may have been renewed meanwhile', async () => {
    const [store, clock] = [new MemoryStore(), new ManualClock()];
    const one = candidate(store, 'one', clock);
    await one.leadership;
    const get = store.get.bind(store);
    const slowly: Store['get'] = async (kind, key) => {
      await pause(clock, 100_000, new AbortController().signal);
      Object.assign(store, { get });
      return get(kind, key);
    };
    Object.assign(store, { get: slowly });
    const two = candidate(store, 'two', clock);
    await clock.advance(101_000);
    // From now on the holder gets nothing written.
    const patch = store.patch.bind(store);
    const unanswered: Store['patch'] = async (kind, key, change, options) =>
      options.fieldManager === 'one' ? unavailable() : patch(kind, key, change, options);
    Object.assign(store, { patch: unanswered });
    for (let second = 101; second < 260; second += 1) {
      await clock.advance(1000);
      expect([one.leads(), two.leads()]).not.toEqual([true, true]);
    }
    expect(two.leads()).toBe(true);
  });

  test('is held on as long as it is renewed, and not longer, whatever is done to the time of day', async () => {
    for (const step of [200_000, -200_000]) {
      const [store, clock] = [new MemoryStore(), new ManualClock()];
      const one = candidate(store, 'one', clock);
      const leadership = await one.leadership;
      clock.set(step);
      expect(() => leadership.assert()).not.toThrow();
      await clock.advance(60_000);
      expect(one.leads()).toBe(true);
      clock.standStill(107_000);
      expect(() => leadership.assert()).toThrow(/could not be renewed for 107 s/);
    }
  });

  test('has one holder at a time among clocks that are set and run unevenly', async () => {
    const random = new SeededRandom(7);
    const [store, clocks] = [new MemoryStore(), [0, 1, 2].map(() => new ManualClock())];
    const candidates = clocks.map((clock, index) => candidate(store, `c${index}`, clock));
    for (let step = 0; step < 400; step += 1) {
      // Up to a quarter apart in speed: lease and deadline are 137 and 107 s.
      for (const clock of clocks) {
        if (random.is(0.2)) clock.set((random.number() - 0.5) * 600_000);
        await clock.advance(1000 + random.number() * 200);
      }
      if (random.is(0.02)) store.beforeWrite = unavailable;
      if (random.is(0.02)) store.beforeWrite = () => undefined;
      expect(candidates.filter(({ leads }) => leads()).length).toBeLessThanOrEqual(1);
    }
  });

  test('is not certain any more for a holder that slept past the deadline, before any timer says so', async () => {
    const store = new MemoryStore();
    let now = 0;
    const timers = new ManualClock();
    const clock = Object.assign(timers, { monotonic: () => now });
    const one = candidate(store, 'one', clock);
    const leadership = await one.leadership;
    now = 106_999;
    expect(() => leadership.assert()).not.toThrow();
    now = 107_000;
    expect(() => leadership.assert()).toThrow(/could not be renewed for 107 s/);
    expect(leadership.signal.aborted).toBe(true);
  });

  test('is lost at the deadline when renewing fails, and kept when it fails for a while', async () => {
    const [store, clock] = [new MemoryStore(), new ManualClock()];
    const one = candidate(store, 'one', clock);
    const leadership = await one.leadership;
    const broken = (): void => {
      throw new StoreError('unavailable', 'no answer');
    };
    store.beforeWrite = broken;
    await clock.advance(100_000);
    store.beforeWrite = () => undefined;
    await clock.advance(100_000);
    expect(one.leads()).toBe(true);
    store.beforeWrite = broken;
    await clock.advance(134_000);
    expect(one.leads()).toBe(false);
    expect(String(leadership.signal.reason)).toMatch(/could not be renewed for 107 s: no answer$/);
  });

  test('is kept when one request gets no answer: another one is made before the deadline', async () => {
    const [store, clock] = [new MemoryStore(), new ManualClock()];
    const one = candidate(store, 'one', clock);
    await one.leadership;
    const answer = store.patch.bind(store);
    let isLost = true;
    const patch: Store['patch'] = async (kind, key, change, options) => {
      if (!isLost) return answer(kind, key, change, options);
      isLost = false;
      const never = Promise.withResolvers<never>();
      const { signal } = options;
      signal?.addEventListener('abort', () => never.reject(signal.reason));
      return never.promise;
    };
    Object.assign(store, { patch });
    await clock.advance(106_000);
    await clock.advance(106_000);
    expect([isLost, one.leads()]).toEqual([false, true]);
  });

  test('is kept by a process that stood still for most of its time: what is left is used', async () => {
    const [store, clock] = [new MemoryStore(), new ManualClock()];
    const one = candidate(store, 'one', clock);
    await one.leadership;
    await clock.advance(20_000);
    let isSilent = true;
    const answer = store.patch.bind(store);
    const patch: Store['patch'] = async (kind, key, change, options) => {
      if (!isSilent) return answer(kind, key, change, options);
      isSilent = false;
      const never = Promise.withResolvers<never>();
      const { signal } = options;
      signal?.addEventListener('abort', () => never.reject(signal.reason));
      return never.promise;
    };
    Object.assign(store, { patch });
    await clock.advance(6000);
    // Of the 107 s since the last renewal 26 have passed, and these leave less than the 26 s after which it asks again.
    clock.standStill(60_000);
    await clock.advance(0);
    expect(one.leads()).toBe(true);
    await clock.advance(200_000);
    expect([isSilent, one.leads()]).toEqual([false, true]);
  });

  test('is kept by a process that was busy when the answer came: the answer counts, though its time is over', async () => {
    const [store, clock] = [new MemoryStore(), new ManualClock()];
    // Timers come before sockets, as in Node.js.
    let sockets = (): void => undefined;
    const after = clock.after.bind(clock);
    Object.assign(clock, {
      after: (milliseconds: number, run: () => void) =>
        after(milliseconds, () => {
          run();
          sockets();
        }),
    });
    const one = candidate(store, 'one', clock);
    await one.leadership;
    const answer = store.patch.bind(store);
    let requests = 0;
    const patch: Store['patch'] = async (kind, key, change, options) => {
      requests += 1;
      const read = Promise.withResolvers<undefined>();
      const { signal } = options;
      signal?.addEventListener('abort', () => read.reject(signal.reason));
      sockets = () => read.resolve(undefined);
      await read.promise;
      return answer(kind, key, change, options);
    };
    Object.assign(store, { patch });
    await clock.advance(26_000);
    expect(requests).toBe(1);
    const get = store.get.bind(store);
    const written = async (): Promise<unknown> =>
      ((await get(leases, 'heddle/manager')) as { spec?: { renewTime?: string } } | undefined)?.spec
        ?.renewTime;
    const before = await written();
    clock.standStill(60_000);
    await clock.advance(0);
    expect(await written()).not.toBe(before);
    expect(one.leads()).toBe(true);
  });

  /** How often a lease is lost in an hour, and for how long nobody has it, on a source that takes a while to answer, or never does. */
  const hour = async (late: number, unanswered: number): Promise<readonly [number, number]> => {
    const [store, clock, random] = [new MemoryStore(), new ManualClock(), new SeededRandom(11)];
    const [get, patch] = [store.get.bind(store), store.patch.bind(store)];
    const never = new AbortController().signal;
    /** What was sent is done halfway through its time, whether or not anybody hears of it. */
    const slowly = async <T>(act: () => Promise<T>, signal = never): Promise<T> => {
      signal.throwIfAborted();
      const gone = Promise.withResolvers<never>();
      gone.promise.catch(() => undefined);
      signal.addEventListener('abort', () => gone.reject(signal.reason as Error));
      // Longest time that the client of a Kubernetes API server waits.
      const rest = random.is(unanswered) ? 60_000 : late / 2;
      const done = (async () => {
        await pause(clock, late / 2, never);
        const result = await act();
        await pause(clock, rest, never);
        if (rest === 60_000) unavailable();
        return result;
      })();
      done.catch(() => undefined);
      return Promise.race([done, gone.promise]);
    };
    const slowGet: Store['get'] = async (kind, key, signal) => slowly(() => get(kind, key), signal);
    const slowPatch: Store['patch'] = async (kind, key, change, options) =>
      slowly(() => patch(kind, key, change, options), options.signal);
    Object.assign(store, { get: slowGet, patch: slowPatch });
    const stop = new AbortController();
    let [losses, without, since] = [0, 0, 0];
    const lead = async (): Promise<void> => {
      const place = { store, namespace: 'heddle', name: 'manager', identity: 'one' };
      while (!stop.signal.aborted) {
        const leadership = await leadByLease(
          { ...place, timing: LEASE_TIMING, clock },
          stop.signal,
        );
        without += clock.now() - since;
        await new Promise((resolve) => leadership.signal.addEventListener('abort', resolve));
        since = clock.now();
        losses += 1;
        await leadership[Symbol.asyncDispose]();
      }
    };
    lead().catch(() => undefined);
    await clock.advance(3_600_000);
    stop.abort();
    return [losses, Math.round(without / 1000)];
  };

  test.each([
    [2000, 0, 0, 2],
    [4000, 0, 0, 4],
    [1000, 0.05, 10, 120],
    [2000, 0.05, 10, 120],
  ])(
    'where each answer takes %s ms, and %s of them never come, is lost at most %s times an hour, for %s s in all',
    async (late, unanswered, losses, seconds) => {
      const [lost, without] = await hour(late, unanswered);
      expect(lost).toBeLessThanOrEqual(losses);
      expect(without).toBeLessThanOrEqual(seconds);
    },
  );

  test('is renewed by one request, and looked at again when somebody wrote it', async () => {
    const [store, clock] = [new MemoryStore(), new ManualClock()];
    const one = candidate(store, 'one', clock);
    await one.leadership;
    let looks = 0;
    const get = store.get.bind(store);
    Object.assign(store, {
      get: async (...[kind, key]: Parameters<Store['get']>) => {
        looks += 1;
        return get(kind, key);
      },
    });
    await clock.advance(200_000);
    expect([looks, one.leads()]).toEqual([0, true]);
    const renewTime = async (): Promise<unknown> =>
      ((await get(leases, 'heddle/manager')) as { spec?: { renewTime?: string } } | undefined)?.spec
        ?.renewTime;
    const before = await renewTime();
    const metadata = { labels: { seen: 'yes' } };
    await store.patch(leases, 'heddle/manager', { metadata }, { fieldManager: 'user' });
    await clock.advance(26_000);
    expect([looks, one.leads()]).toEqual([1, true]);
    expect(await renewTime()).not.toBe(before);
    const spec = { holderIdentity: 'two' };
    await store.patch(leases, 'heddle/manager', { spec }, { fieldManager: 'two' });
    await clock.advance(26_000);
    expect([looks, one.leads()]).toEqual([2, false]);
  });
});
