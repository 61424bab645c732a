import { afterEach, describe, expect, test } from 'vitest';
import { WorkQueue, type Failure, type WorkQueueOptions } from '../../../src/store/work-queue.ts';
import { ManualClock, settle } from '../../support/run/manual-clock.ts';

const stopping: AbortController[] = [];
afterEach(() => {
  for (const controller of stopping.splice(0)) controller.abort();
});

interface Workbench {
  readonly clock: ManualClock;
  readonly queue: WorkQueue;
  readonly failures: Failure[];
  readonly stop: () => Promise<void>;
}

function start(
  options: Partial<WorkQueueOptions> & Pick<WorkQueueOptions, 'reconcile'>,
): Workbench {
  const clock = new ManualClock();
  const failures: Failure[] = [];
  const queue = new WorkQueue({
    clock,
    random: () => 0,
    onFailure: (failure) => failures.push(failure),
    ...options,
  });
  const controller = new AbortController();
  stopping.push(controller);
  const running = queue.run(controller.signal);
  const stop = (): Promise<void> => {
    controller.abort();
    return running;
  };
  return { clock, queue, failures, stop };
}

/** A reconcile whose ends the test decides. */
function gates(): {
  reconcile: (key: string) => Promise<void>;
  log: string[];
  open: (key: string) => Promise<void>;
} {
  const log: string[] = [];
  const waiting = new Map<string, () => void>();
  return {
    log,
    reconcile(key) {
      log.push(`${key} begins`);
      return new Promise((resolve) => {
        waiting.set(key, () => {
          log.push(`${key} ends`);
          resolve();
        });
      });
    },
    async open(key) {
      waiting.get(key)?.();
      await settle();
    },
  };
}

describe('work queue', () => {
  test('a key added several times before it runs is reconciled once, in order of arrival', async () => {
    const seen: string[] = [];
    const queue = new WorkQueue({
      reconcile: async (key) => void seen.push(key),
      onFailure: () => undefined,
    });
    for (const key of ['b', 'a', 'b', 'c', 'a']) queue.add(key);
    expect(queue.size).toBe(3);
    const controller = new AbortController();
    stopping.push(controller);
    void queue.run(controller.signal);
    await queue.idle();
    expect(seen).toEqual(['b', 'a', 'c']);
  });

  test('a key added while it runs is run once more, never twice at a time', async () => {
    const { reconcile, log, open } = gates();
    const { queue } = start({ reconcile, parallelism: 4 });
    queue.add('a');
    queue.add('a');
    queue.add('a');
    expect(log).toEqual(['a begins']);
    await open('a');
    expect(log).toEqual(['a begins', 'a ends', 'a begins']);
    await open('a');
    expect(log).toEqual(['a begins', 'a ends', 'a begins', 'a ends']);
    expect(queue.size).toBe(0);
  });

  test('no more keys run at once than asked for', async () => {
    const { reconcile, log, open } = gates();
    const { queue } = start({ reconcile, parallelism: 2 });
    for (const key of ['a', 'b', 'c']) queue.add(key);
    expect(log).toEqual(['a begins', 'b begins']);
    await open('b');
    expect(log).toEqual(['a begins', 'b begins', 'b ends', 'c begins']);
  });

  test('a failing key is retried with a doubling delay up to the longest, the others go on', async () => {
    const seen: string[] = [];
    const { queue, clock, failures } = start({
      backoff: { first: 100, longest: 500 },
      reconcile: async (key) => {
        seen.push(`${key}@${clock.now()}`);
        if (key === 'bad') throw new Error('no address left');
      },
    });
    queue.add('bad');
    queue.add('good');
    await queue.idle();
    await clock.advance(2000);
    expect(seen).toEqual([
      'bad@0',
      'good@0',
      'bad@100',
      'bad@300',
      'bad@700',
      'bad@1200',
      'bad@1700',
    ]);
    expect(failures.map(({ attempt, retryIn }) => [attempt, retryIn])).toEqual([
      [1, 100],
      [2, 200],
      [3, 400],
      [4, 500],
      [5, 500],
      [6, 500],
    ]);
    expect([...queue.failing.keys()]).toEqual(['bad']);
  });

  test('success forgets the failures', async () => {
    let broken = true;
    const { queue, clock, failures } = start({
      backoff: { first: 100, longest: 1000 },
      reconcile: async () => {
        if (broken) throw new Error('not yet');
      },
    });
    queue.add('a');
    await clock.advance(100);
    expect(failures.map(({ attempt }) => attempt)).toEqual([1, 2]);
    broken = false;
    await clock.advance(200);
    expect(queue.failing.size).toBe(0);
    broken = true;
    queue.add('a');
    await settle();
    expect(failures.at(-1)?.attempt).toBe(1);
  });

  test('a change wakes a key that waits for its retry', async () => {
    const at: number[] = [];
    const { queue, clock } = start({
      backoff: { first: 1000, longest: 1000 },
      reconcile: async () => {
        at.push(clock.now());
        if (at.length === 1) throw new Error('the namespace is missing');
      },
    });
    queue.add('a');
    await clock.advance(10);
    queue.add('a');
    await clock.advance(5000);
    expect(at).toEqual([0, 10]);
  });

  test('a key that is added whenever it fails is tried again once, and has its delays then', async () => {
    let runs = 0;
    const { clock, queue } = start({
      reconcile: async (key) => {
        runs += 1;
        queue.add(key);
        await Promise.resolve();
        throw new Error('refused');
      },
    });
    queue.add('a');
    await queue.drained();
    await settle();
    expect(runs).toBe(2);
    await clock.advance(199);
    expect(runs).toBe(2);
    await clock.advance(1);
    expect(runs).toBe(3);
  });

  test('two keys that fail and add each other unless they are delayed have their delays', async () => {
    const runs: string[] = [];
    const { clock, queue } = start({
      parallelism: 2,
      reconcile: async (key) => {
        runs.push(key);
        await Promise.resolve();
        queue.addUnlessDelayed(key === 'a' ? 'b' : 'a');
        throw new Error('refused');
      },
    });
    queue.add('a');
    await settle();
    expect(runs).toEqual(['a', 'b', 'a']);
    await clock.advance(100);
    expect(runs).toEqual(['a', 'b', 'a', 'b']);
  });

  test('a key that runs is run once more when it is added unless it is delayed', async () => {
    const { reconcile, log, open } = gates();
    const { queue } = start({ reconcile });
    queue.add('a');
    queue.addUnlessDelayed('a');
    await open('a');
    await open('a');
    expect(log.filter((line) => line === 'a begins')).toHaveLength(2);
  });

  test('a reconcile can ask to be called again later; the earliest wish wins', async () => {
    const at: number[] = [];
    const { queue, clock } = start({
      reconcile: async () => {
        at.push(clock.now());
        return at.length < 3 ? { after: 250 } : undefined;
      },
    });
    queue.addAfter('a', 500);
    queue.addAfter('a', 100);
    queue.addAfter('a', 900);
    await clock.advance(5000);
    expect(at).toEqual([100, 350, 600]);
    expect(clock.pending).toBe(0);
  });

  test('idle waits for what runs, not for retries', async () => {
    const { reconcile, open } = gates();
    const { queue } = start({ reconcile });
    let idle = false;
    queue.add('a');
    void queue.idle().then(() => (idle = true));
    await settle();
    expect(idle).toBe(false);
    await open('a');
    expect(idle).toBe(true);
    await queue.idle();
  });

  test('a reconcile past its limit is told to stop, and why', async () => {
    const { queue, clock, failures } = start({
      limit: 5000,
      reconcile: (_key, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    });
    queue.add('ns/blue');
    await clock.advance(5000);
    expect(String(failures[0]?.error)).toBe('Error: ns/blue: not reconciled within 5 s');
  });

  test('is drained when what it held has been reconciled, although more keeps coming', async () => {
    const seen: string[] = [];
    const { queue, stop }: Workbench = start({
      reconcile: async (key) => {
        await Promise.resolve();
        seen.push(key);
        // Somebody changes `busy` whenever it has been looked at.
        if (key === 'busy') queue.add('busy');
      },
    });
    queue.add('busy');
    queue.add('a');
    await queue.drained();
    expect(seen).toContain('a');
    expect(queue.size).toBeGreaterThan(0);
    const again = queue.drained();
    await stop();
    await again;
  });

  test('a long queue of keys that nothing is awaited for lets timers have their turn', async () => {
    let [done, doneAtTimer] = [0, 0];
    const { queue } = start({
      reconcile: async () => {
        const until = performance.now() + 0.5;
        while (performance.now() < until);
        done += 1;
      },
    });
    setTimeout(() => (doneAtTimer = done), 1);
    for (let k = 0; k < 400; k += 1) queue.add(`pod-${k}`);
    await queue.idle();
    expect(done).toBe(400);
    // 200 ms of work in all; a turn has 8 ms.
    expect(doneAtTimer).toBeGreaterThan(0);
    expect(doneAtTimer).toBeLessThan(200);
  });

  test('stopping drops what waits, tells what runs, and waits for its end', async () => {
    const seen: string[] = [];
    const begun = Promise.withResolvers<void>();
    const { queue, clock, failures, stop } = start({
      reconcile: (key, signal) =>
        new Promise((_resolve, reject) => {
          seen.push(key);
          begun.resolve();
          signal.addEventListener('abort', () => reject(new Error('stopped')));
        }),
    });
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 10);
    await begun.promise; // on a busy machine the first one, too, may wait for the next turn
    await stop();
    await clock.advance(1000);
    queue.add('d');
    expect(seen).toEqual(['a']);
    expect(failures).toEqual([]);
    await queue.idle();
  });
});
