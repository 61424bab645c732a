import { expect, test } from 'vitest';
import { WAITING_GRACE, WaitingTimes } from '../../../src/zone/waiting-times.ts';

test('what waits is told from what waits for long, by object, whatever it waits for', () => {
  const times = new WaitingTimes();
  const a = { object: 'Pod blue/a', message: 'waits for its network' };
  const later = { ...a, message: 'waits for an address' };
  const b = { object: 'Pod blue/b', message: 'waits for an address' };
  expect(times.recent([a], 0)).toEqual([a]);
  expect(times.recent([later, b], WAITING_GRACE - 1)).toEqual([later, b]);
  expect(times.recent([later, b], WAITING_GRACE)).toEqual([b]);
  // What came in between begins again.
  expect(times.recent([b], WAITING_GRACE + 1)).toEqual([b]);
  expect(times.recent([a, b], WAITING_GRACE + 2)).toEqual([a, b]);
});
