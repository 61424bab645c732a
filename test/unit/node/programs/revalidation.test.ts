import { expect, test } from 'vitest';
import { ManualClock } from '../../../support/run/manual-clock.ts';
import { revalidation } from '../../../../src/node/programs/revalidation.ts';

const quiet = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

test('Open vSwitch is asked for the end of a round', async () => {
  const asked: string[] = [];
  const wait = revalidation(
    { run: (command) => Promise.resolve(String(asked.push(command))) },
    quiet,
    new ManualClock(),
  );
  await wait();
  expect(asked).toEqual(['revalidator/wait']);
});

test('where it does not answer the time of a round is waited for, and it is told once', async () => {
  const warnings: string[] = [];
  const clock = new ManualClock();
  const wait = revalidation(
    { run: () => Promise.reject(new Error("can't wait on multiple udpifs.")) },
    { ...quiet, warn: (_fields, text) => warnings.push(text) },
    clock,
  );
  let ended = 0;
  const waiting = wait().then(() => (ended += 1));
  await clock.advance(499);
  expect(ended).toBe(0);
  await clock.advance(1);
  await waiting;
  const again = wait();
  await clock.advance(500);
  await again;
  expect(warnings).toHaveLength(1);
});
