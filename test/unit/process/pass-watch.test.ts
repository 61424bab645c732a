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
