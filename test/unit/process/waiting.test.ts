import { expect, test } from 'vitest';
import { orGiveUp, TimedOutError, until } from '../../../src/process/waiting.ts';

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
