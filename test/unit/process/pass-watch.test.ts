import { expect, test } from 'vitest';
import { PassWatch } from '../../../src/process/pass-watch.ts';

test('a pass that takes longer than a minute is late, one of ten minutes hangs, until it ends', async () => {
  let now = 0;
  const watch = new PassWatch(() => now);
  expect(watch.isLate).toBe(false);
  const end = Promise.withResolvers<void>();
  const pass = watch.watch(() => end.promise);
  now = 60_000;
  expect(watch.isLate).toBe(false);
  now = 60_001;
  expect(watch.isLate).toBe(true);
  expect(watch.isHung).toBe(false);
  now = 600_001;
  expect(watch.isHung).toBe(true);
  end.resolve();
  await pass;
  expect([watch.isLate, watch.isHung]).toEqual([false, false]);
});

test('a pass is measured: how long it is under way, how long the last one took, and the longest', async () => {
  let now = 0;
  const watch = new PassWatch(() => now);
  const pass = async (duration: number): Promise<void> => {
    await watch.watch(async () => {
      now += duration;
    });
  };
  await pass(30);
  await pass(10);
  expect([watch.underWay, watch.last, watch.longest]).toEqual([0, 10, 30]);
  const end = Promise.withResolvers<void>();
  const hanging = watch.watch(() => end.promise);
  now += 50;
  expect([watch.underWay, watch.last, watch.longest]).toEqual([50, 10, 50]);
  end.resolve();
  await hanging;
});
