import { afterEach, expect, test, vi } from 'vitest';
import { FlowDriver } from '../../../../src/node/openflow/flow-driver.ts';
import { OfctlProgram } from '../../../../src/node/openflow/ofctl-program.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('a driver that begins again and again, because the rest of the host can not begin, looks again no more often', () => {
  vi.useFakeTimers();
  let looks = 0;
  const driver = new FlowDriver({
    ofctl: new OfctlProgram({ program: ['ovs-ofctl'], folder: '/nowhere' }),
    ports: { sequence: 1, read: () => new Map(), follow: () => () => undefined },
    onDrift: () => (looks += 1),
  });
  for (let attempt = 0; attempt < 50; attempt += 1) driver.start();
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(30_000);
  expect(looks).toBe(2);
  driver[Symbol.dispose]();
  expect(vi.getTimerCount()).toBe(0);
});
