import { expect, test } from 'vitest';
import { QuestionLimits } from '../../../../src/node/dns/question-limits.ts';

const count = (limits: QuestionLimits, address: string, now: number, tries: number): number =>
  Array.from({ length: tries }, () => limits.begin(address, now)).filter(Boolean).length;

test('one address has so many questions under way, and takes nothing from others', () => {
  const limits = new QuestionLimits();
  expect(count(limits, '10.244.0.5', 0, 500)).toBe(200);
  expect(limits.begin('10.244.0.6', 0)).toBe(true);
  limits.ended('10.244.0.5');
  expect(count(limits, '10.244.0.5', 0, 10)).toBe(1);
});

test('and so many a second, after as many at once', () => {
  const limits = new QuestionLimits();
  let taken = 0;
  for (let each = 0; each < 3000; each += 1)
    if (limits.begin('10.244.0.5', 0)) {
      taken += 1;
      limits.ended('10.244.0.5');
    }
  expect(taken).toBe(1000);
  expect(count(limits, '10.244.0.5', 100, 500)).toBe(100);
});

test('all together have no more than there may be under way', () => {
  const limits = new QuestionLimits();
  const taken = Array.from({ length: 30 }, (_, index) =>
    count(limits, `10.244.0.${index}`, 0, 200),
  ).reduce((sum, one) => sum + one, 0);
  expect(taken).toBe(4000);
  expect(limits.underWay).toBe(4000);
});
