import { expect, onTestFinished, test, vi } from 'vitest';
import { orGiveUp, telling, TimedOutError, until } from '../../../src/process/waiting.ts';

test('a condition that holds is not waited for, even without time', async () => {
  await until(() => true, AbortSignal.abort(), 'nothing');
});

test('a condition that never holds ends with what was waited for', async () => {
  await expect(
    until(
      () => false,
      AbortSignal.timeout(30),
      () => 'the moon',
    ),
  ).rejects.toThrow(new TimedOutError('the moon'));
});

test('a task that does not end is given up; one that fails says why itself', async () => {
  const never = new Promise<void>(() => undefined);
  await expect(orGiveUp(never, AbortSignal.timeout(10), 'the sun')).rejects.toThrow(
    'gave up waiting for the sun',
  );
  const failing = Promise.reject(new Error('broken'));
  await expect(orGiveUp(failing, AbortSignal.timeout(1000), 'it')).rejects.toThrow('broken');
  expect(await orGiveUp(Promise.resolve(7), AbortSignal.timeout(1000), 'it')).toBe(7);
});

test('what takes long tells what is waited for, every 5 s and not once it is over', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const [lines, { promise, resolve }] = [[] as string[], Promise.withResolvers<number>()];
  let round = 0;
  const told = telling(
    () => `the tide, look ${(round += 1)}`,
    (line) => lines.push(line),
    promise,
  );
  await vi.advanceTimersByTimeAsync(4999);
  expect(lines).toEqual([]);
  await vi.advanceTimersByTimeAsync(5001);
  expect(lines).toEqual([
    'still waiting after 5 s: the tide, look 1',
    'still waiting after 10 s: the tide, look 2',
  ]);
  resolve(3);
  expect(await told).toBe(3);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines).toHaveLength(2);
  await expect(telling('it', () => {}, Promise.reject(new Error('broken')))).rejects.toThrow(
    'broken',
  );
});
