import * as fc from 'fast-check';
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
  const numbers = new RoundRobin(1, 4, [
    { first: 1, last: 1 },
    { first: 3, last: 3 },
  ]);
  expect([numbers.take(), numbers.take(), numbers.take()]).toEqual([2, 4, undefined]);
  expect([numbers.mark(1), numbers.mark(1), numbers.mark(5)]).toEqual([true, false, false]);
});

test('hands out what trying one number after the other would', () => {
  const [FIRST, LAST] = [1, 24];
  const interval = fc
    .tuple(fc.integer({ min: -3, max: 30 }), fc.integer({ min: 0, max: 8 }))
    .map(([first, length]) => ({ first, last: first + length }));
  const value = fc.integer({ min: 0, max: 26 });
  const step = fc.oneof(
    fc.record({ kind: fc.constant('take' as const), value: fc.option(value, { nil: undefined }) }),
    fc.record({ kind: fc.constantFrom('mark' as const, 'free' as const), value }),
  );
  fc.assert(
    fc.property(
      fc.array(interval, { maxLength: 5 }),
      fc.array(step, { maxLength: 120 }),
      (gaps, steps) => {
        const numbers = new RoundRobin(FIRST, LAST, gaps);
        const isUsable = (one: number): boolean =>
          gaps.every(({ first, last }) => one < first || one > last);
        const taken = new Set<number>();
        let next = FIRST;
        const tried = (atMost: number): number | undefined => {
          const last = Math.min(LAST, atMost);
          const start = next > last ? FIRST : next;
          for (let index = 0; index < last - FIRST + 1; index += 1) {
            const one = FIRST + ((start - FIRST + index) % (last - FIRST + 1));
            if (taken.has(one) || !isUsable(one)) continue;
            taken.add(one);
            next = one + 1;
            return one;
          }
          return undefined;
        };
        for (const one of steps)
          if (one.kind === 'take') expect(numbers.take(one.value)).toBe(tried(one.value ?? LAST));
          else if (one.kind === 'mark') {
            const isNew = one.value >= FIRST && one.value <= LAST && !taken.has(one.value);
            expect(numbers.mark(one.value)).toBe(isNew);
            if (isNew) taken.add(one.value);
          } else {
            numbers.free(one.value);
            taken.delete(one.value);
          }
        expect(numbers.taken).toBe(taken.size);
      },
    ),
  );
});
