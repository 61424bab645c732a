import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { isStopping, Loop, runLoops, type LoopOptions } from '../../../src/process/loop.ts';
import { registerLoops } from '../../../src/process/loop-metrics.ts';

const NEVER = 2 ** 30;
const DONE = { wait: NEVER, isBlocked: false };
const BLOCKED = { wait: NEVER, isBlocked: true };

const loopOf = (options: Partial<LoopOptions> & Pick<LoopOptions, 'pass'>): Loop =>
  new Loop({
    name: 'host',
    debounce: 0,
    backoff: { first: 1, longest: 1 },
    limit: NEVER,
    ...options,
  });

/** Runs a loop whose passes end as the list says; the last one stops it. Returns how many there were. */
async function passesOf(
  ends: readonly (() => Promise<typeof DONE>)[],
  options: Partial<LoopOptions> = {},
): Promise<number> {
  const stop = new AbortController();
  let passes = 0;
  const loop = loopOf({
    ...options,
    pass: async () => {
      passes += 1;
      const end = ends[passes - 1];
      if (end === undefined) {
        stop.abort();
        return DONE;
      }
      return end();
    },
  });
  const asking = setInterval(loop.notify, 1);
  try {
    await loop.run(stop.signal);
  } finally {
    clearInterval(asking);
  }
  return passes;
}

describe('a loop', () => {
  test('passes once at its start, then when it is asked, and asked during a pass once more', async () => {
    const stop = new AbortController();
    let passes = 0;
    const loop: Loop = loopOf({
      pass: async () => {
        passes += 1;
        if (passes === 1) for (let asked = 0; asked < 3; asked += 1) loop.notify();
        if (passes === 2) setImmediate(loop.notify);
        if (passes === 3) setImmediate(() => stop.abort());
        return DONE;
      },
    });
    await loop.run(stop.signal);
    expect(passes).toBe(3);
  });

  test('passes without being asked after the time that the last pass named', async () => {
    const stop = new AbortController();
    let passes = 0;
    await loopOf({
      pass: async () => {
        passes += 1;
        if (passes === 3) stop.abort();
        return { wait: 1, isBlocked: false };
      },
    }).run(stop.signal);
    expect(passes).toBe(3);
  });

  test('that is blocked passes again after its back-off; a patient one is not hurried', async () => {
    expect(await passesOf([() => Promise.resolve(BLOCKED), () => Promise.resolve(BLOCKED)])).toBe(
      3,
    );
    const stop = new AbortController();
    let passes = 0;
    const patient = loopOf({
      isPatient: true,
      backoff: { first: NEVER, longest: NEVER },
      pass: async () => {
        passes += 1;
        return BLOCKED;
      },
    });
    const asking = setInterval(patient.notify, 1);
    const running = patient.run(stop.signal);
    await new Promise((done) => setTimeout(done, 30));
    clearInterval(asking);
    stop.abort();
    await running;
    expect(passes).toBe(1);
  });

  test('ends a pass at its limit, which is no end of the daemon, and goes on', async () => {
    const reasons: boolean[] = [];
    const stop = new AbortController();
    await loopOf({
      limit: 5,
      pass: async (signal) => {
        await new Promise((done) => signal.addEventListener('abort', done, { once: true }));
        reasons.push(isStopping(signal));
        expect(String(signal.reason)).toMatch(/a pass over host of more than 0\.005 s/);
        if (reasons.length === 2) stop.abort();
        return { wait: 0, isBlocked: true };
      },
    }).run(stop.signal);
    expect(reasons).toEqual([false, false]);
  });

  test('tells a pass that the daemon ends', async () => {
    const stop = new AbortController();
    const begun = Promise.withResolvers<void>();
    let isTold = false;
    const running = loopOf({
      pass: async (signal) => {
        begun.resolve();
        await new Promise((done) => signal.addEventListener('abort', done, { once: true }));
        isTold = isStopping(signal);
        throw signal.reason;
      },
    }).run(stop.signal);
    await begun.promise;
    stop.abort();
    await running;
    expect(isTold).toBe(true);
  });

  test('lets others look between two passes', async () => {
    const stop = new AbortController();
    const gate = Promise.withResolvers<void>();
    const order: string[] = [];
    const loop = loopOf({
      pass: async () => {
        await gate.promise;
        order.push('pass');
        return DONE;
      },
    });
    const running = loop.run(stop.signal);
    const looked = loop.between(async () => order.push('look'));
    gate.resolve();
    await looked;
    stop.abort();
    await running;
    expect(order).toEqual(['pass', 'look']);
  });
});

describe('loops', () => {
  test('do not wait for each other', async () => {
    const stop = new AbortController();
    const gate = Promise.withResolvers<void>();
    const hanging = loopOf({ pass: () => gate.promise.then(() => DONE) });
    let passes = 0;
    const other: Loop = loopOf({
      pass: async () => {
        passes += 1;
        setImmediate(other.notify);
        if (passes === 5) {
          stop.abort();
          gate.resolve();
        }
        return DONE;
      },
    });
    await runLoops([hanging, other], stop.signal);
    expect(passes).toBe(5);
  });

  test('end together with what one of them throws', async () => {
    const wrong = loopOf({ pass: () => Promise.reject(new Error('a part of the daemon ended')) });
    const waiting = loopOf({ pass: async () => DONE });
    await expect(runLoops([waiting, wrong], new AbortController().signal)).rejects.toThrow(
      'a part of the daemon ended',
    );
  });

  test('are metrics: the pass under way, the last one, and the longest', async () => {
    const registry = new Registry();
    const stop = new AbortController();
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const loop = loopOf({
      name: 'databases',
      pass: async () => {
        begun.resolve();
        await gate.promise;
        return DONE;
      },
    });
    registerLoops(registry, [loop]);
    const value = async (name: string): Promise<number> =>
      (await registry.getSingleMetric(`heddle_loop_${name}_seconds`)?.get())?.values[0]?.value ??
      NaN;
    const running = loop.run(stop.signal);
    await begun.promise;
    await new Promise((done) => setTimeout(done, 2));
    expect(await value('pass_under_way')).toBeGreaterThan(0);
    expect(await value('longest_pass_duration')).toBeGreaterThan(0);
    expect(await value('last_pass_duration')).toBe(0);
    gate.resolve();
    await loop.between(async () => undefined);
    expect(await value('pass_under_way')).toBe(0);
    expect(await value('last_pass_duration')).toBeGreaterThan(0);
    expect(await value('longest_pass_duration')).toBe(await value('last_pass_duration'));
    stop.abort();
    await running;
  });
});
