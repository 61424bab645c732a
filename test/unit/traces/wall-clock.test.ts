import { expect, test } from 'vitest';
import { WallClock } from '../../../src/traces/wall-clock.ts';

test('moments that are less than a millisecond apart stay so, although the time of day has no finer unit', () => {
  const time = { now: 1_700_000_000_000, monotonic: 100.4 };
  const clock = new WallClock(
    () => Math.floor(time.now),
    () => time.monotonic,
  );
  const first = clock.at(100.4);
  time.now += 0.6;
  time.monotonic += 0.6;
  expect(clock.at(101) - first).toBeCloseTo(0.6, 3);
});

test('a clock that was set is followed', () => {
  const time = { now: 1_700_000_000_000, monotonic: 100 };
  const clock = new WallClock(
    () => time.now,
    () => time.monotonic,
  );
  expect(clock.at(100)).toBe(1_700_000_000_000);
  time.now += 3_600_000;
  expect(clock.at(100)).toBe(1_700_003_600_000);
});

test('a process that did not run while it looked at the clocks takes that for no change of them', () => {
  const time = { now: 1_700_000_000_000, monotonic: 100 };
  let isHeld = false;
  const clock = new WallClock(
    () => {
      if (isHeld) {
        time.now += 50;
        time.monotonic += 50;
      }
      return time.now;
    },
    () => time.monotonic,
  );
  isHeld = true;
  expect(clock.at(100)).toBe(1_700_000_000_000);
});
