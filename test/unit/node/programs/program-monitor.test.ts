import { expect, test } from 'vitest';
import { ProgramMonitor } from '../../../../src/node/programs/program-monitor.ts';
import { until } from '../../../support/run/until.ts';

const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('a monitor that ends is started again, and what happened in between is unknown', async () => {
  const lines: string[] = [];
  const troubles: string[] = [];
  let unknown = 0;
  using monitor = new ProgramMonitor({
    name: 'word monitor',
    program: ['sh', '-c', 'echo a; echo b'],
    onLines: (more) => lines.push(...more),
    onUnknown: () => (unknown += 1),
    onTrouble: (text) => troubles.push(text),
  });
  await monitor.start();
  await until('a second start', () => lines.length >= 4);
  expect(lines.slice(0, 4)).toEqual(['a', 'b', 'a', 'b']);
  expect(unknown).toBeGreaterThanOrEqual(2);
  expect(troubles[0]).toBe('word monitor ended');
});

test('a monitor ends with whoever listens', async () => {
  let pid = 0;
  const monitor = new ProgramMonitor({
    name: 'word monitor',
    program: ['sh', '-c', 'echo $$; exec sleep 600'],
    onLines: ([line = '']) => (pid = Number(line)),
    onUnknown: () => undefined,
  });
  await monitor.start();
  await until('its number', () => pid !== 0);
  expect(isThere(pid)).toBe(true);
  monitor[Symbol.dispose]();
  await until('its end', () => !isThere(pid));
});

test('one that never listens is an error that says so', async () => {
  using monitor = new ProgramMonitor({
    name: 'deaf monitor',
    program: ['sh', '-c', 'exit 1'],
    netlink: '0',
    onLines: () => undefined,
    onUnknown: () => undefined,
  });
  await expect(monitor.start()).rejects.toThrow('deaf monitor ended at once');
});
