import { array, assert, nat, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import { MOST_ADDRESSES } from '../../../../src/model/zone/egress-firewalls.ts';
import { HeldAnswers } from '../../../../src/node/dns/held-answers.ts';

const MINUTE = 60_000;
const answer = (last: number, ttl = 30): { address: string; ttl: number } => ({
  address: `192.0.2.${last}`,
  ttl,
});

test('an address counts for five minutes beyond its TTL after it was told last', () => {
  const held = new HeldAnswers(() => 1);
  held.take([answer(1)], 0);
  held.take([answer(2)], MINUTE);
  expect(held.addresses).toEqual(['192.0.2.1', '192.0.2.2']);
  held.take([answer(2)], 5 * MINUTE + 29_999);
  expect(held.addresses).toEqual(['192.0.2.1', '192.0.2.2']);
  held.take([answer(2)], 5 * MINUTE + 30_000);
  expect(held.addresses).toEqual(['192.0.2.2']);
  held.take([], 20 * MINUTE);
  expect(held.addresses).toEqual([]);
});

test('the next answer is due with the shortest TTL, between five seconds and half an hour', () => {
  expect(new HeldAnswers(() => 1).take([answer(1, 300), answer(2, 60)], 0)).toBe(60_000);
  expect(new HeldAnswers(() => 1).take([answer(1, 0)], 0)).toBe(5_000);
  expect(new HeldAnswers(() => 1).take([answer(1, 86_400)], 0)).toBe(30 * MINUTE);
  expect(new HeldAnswers(() => 1).take([], 0)).toBe(30_000);
});

test('it is due when an address stops to count, if that is earlier', () => {
  const held = new HeldAnswers(() => 1);
  held.take([answer(1)], 0);
  expect(held.take([answer(2, 3600)], 5 * MINUTE)).toBe(30_000);
});

test('of too many those count that were told last', () => {
  const held = new HeldAnswers(() => 1);
  const some = (from: number) =>
    Array.from({ length: 200 }, (_, index) => ({ address: `10.0.${from}.${index}`, ttl: 9 }));
  held.take(some(1), 0);
  held.take(some(2), 1);
  held.take([{ address: '10.0.1.0', ttl: 9 }], 2);
  expect(held.addresses).toHaveLength(MOST_ADDRESSES);
  expect(held.addresses).toContain('10.0.1.0');
  expect(held.addresses.filter((one) => one.startsWith('10.0.2.'))).toHaveLength(200);
});

test('what an answer has counts until its TTL has passed, and nothing that no answer had', () => {
  const steps = array(
    record({
      after: nat(400_000),
      answers: array(record({ last: nat(9), ttl: nat(900) }), { maxLength: 4 }),
    }),
    { maxLength: 12 },
  );
  assert(
    property(steps, (all) => {
      const held = new HeldAnswers(() => 1);
      const until = new Map<string, number>();
      let now = 0;
      for (const { after, answers } of all) {
        now += after;
        const due = held.take(
          answers.map(({ last, ttl }) => answer(last, ttl)),
          now,
        );
        for (const { last, ttl } of answers) {
          const { address } = answer(last);
          until.set(address, Math.max(until.get(address) ?? 0, now + ttl * 1000));
        }
        expect(due).toBeGreaterThanOrEqual(5_000);
        for (const [address, end] of until)
          if (end >= now) expect(held.addresses).toContain(address);
        for (const address of held.addresses)
          expect(now - (until.get(address) ?? -Infinity)).toBeLessThan(5 * MINUTE);
      }
    }),
  );
});
