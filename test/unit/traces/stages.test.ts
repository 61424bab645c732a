import { expect, test } from 'vitest';
import { Stages } from '../../../src/traces/stages.ts';

test('a stage has its times, what it returns and why it failed, in a line of bounded length', async () => {
  let now = 0;
  const stages = new Stages(() => {
    now += 10;
    return now;
  });
  expect(await stages.run('first', () => 'value')).toBe('value');
  const failure = new Error(`no \u001b[2J ${'x'.repeat(1000)}`);
  await expect(
    stages.run('second', async () => {
      throw failure;
    }),
  ).rejects.toBe(failure);
  expect(stages.done).toEqual([
    { name: 'first', start: 10, end: 20 },
    {
      name: 'second',
      start: 30,
      end: 40,
      error: expect.stringMatching(/^no \\u\{1b\}\[2J x{487}$/) as string,
    },
  ]);
});

test('a task begins at once', () => {
  let hasBegun = false;
  void new Stages().run('task', () => {
    hasBegun = true;
  });
  expect(hasBegun).toBe(true);
});
