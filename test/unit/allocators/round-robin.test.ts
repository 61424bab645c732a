import { expect, test } from 'vitest';
import { RoundRobin } from '../../../src/allocators/round-robin.ts';

test('a limit is kept, whatever was handed out last', () => {
  const numbers = new RoundRobin(1, 9);
  expect([numbers.take(), numbers.take(), numbers.take()]).toEqual([1, 2, 3]);
  numbers.free(1);
  expect(numbers.take(3)).toBe(1);
  expect(numbers.take(3)).toBeUndefined();
  expect(numbers.take(4)).toBe(4);
});

test('what is not usable is never handed out, but can be marked', () => {
  const numbers = new RoundRobin(1, 4, (value) => value % 2 === 0);
  expect([numbers.take(), numbers.take(), numbers.take()]).toEqual([2, 4, undefined]);
  expect([numbers.mark(1), numbers.mark(1), numbers.mark(5)]).toEqual([true, false, false]);
});
