import { expect, test } from 'vitest';
import { errorCodes, until } from '../../support/run/until.ts';

test('what was waited for, the last expected error and what was said are in the error', async () => {
  let looks = 0;
  const refused = new TypeError('fetch failed', {
    cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
  });
  const waiting = until(
    'an answer',
    () => {
      looks++;
      throw refused;
    },
    {
      limit: 20,
      pause: 1,
      isExpected: (error) => errorCodes(error).includes('ECONNREFUSED'),
      output: () => 'no such option',
    },
  );
  await expect(waiting).rejects.toThrow(
    'waited 20 ms in vain for an answer, last: TypeError: fetch failed\nno such option',
  );
  await expect(waiting).rejects.toMatchObject({ cause: refused });
  expect(looks).toBeGreaterThan(1);
});

test('any other error ends the wait at once', async () => {
  let looks = 0;
  const waiting = until('an answer', () => {
    looks++;
    throw new Error('a mistake of the test');
  });
  await expect(waiting).rejects.toThrow('a mistake of the test');
  expect(looks).toBe(1);
});

test('it ends when it is true', async () => {
  let looks = 0;
  await until('the third look', () => ++looks === 3);
  expect(looks).toBe(3);
});
