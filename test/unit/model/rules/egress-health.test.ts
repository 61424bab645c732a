import { expect, test } from 'vitest';
import type { Node } from '../../../../src/api/types.ts';
import {
  egressHealthTimes,
  healthAddresses,
  keepsAddresses,
} from '../../../../src/model/rules/egress-health.ts';

const times = egressHealthTimes(1000);
const node = (subnets: unknown, labels: Readonly<Record<string, string>> = {}): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'n1',
    labels,
    annotations: { 'k8s.ovn.org/node-subnets': JSON.stringify(subnets) },
  },
});
/** Of a node that was not heard for so long, by what others answered: so long were they not heard, or nothing. */
const keeps = (age: number, isCounted: boolean, ...others: (number | undefined)[]): boolean =>
  keepsAddresses(
    age,
    10_000,
    { isCounted, others: others.map((age) => (age === undefined ? age : { age, at: 9_900 })) },
    times,
  );

test('a node is asked at its management addresses on the default network', () => {
  const dual = { default: ['10.244.1.0/24', 'fd00:10:244:1::/64'], blue: ['10.9.1.0/24'] };
  expect(healthAddresses(node(dual))).toEqual(['10.244.1.2', 'fd00:10:244:1::2']);
  expect(healthAddresses(node({}))).toEqual([]);
});

test('a node that was heard keeps its addresses; one that was not does while most are not', () => {
  expect(keeps(999, true)).toBe(true);
  expect(keeps(999, true, 0, 0)).toBe(true);
  expect(keeps(1000, true, 100, 800)).toBe(true);
  expect(keeps(1000, true, 100, 100)).toBe(false);
  // Half is not most: a manager that was heard by the other half may have given its addresses away.
  expect(keeps(1000, true, 100)).toBe(false);
  expect(keeps(1000, true, 100, 800, 100)).toBe(false);
});

test('who does not answer does not count, nor what was answered some time ago', () => {
  expect(keeps(Infinity, true, undefined, 800)).toBe(true);
  expect(keeps(Infinity, true, undefined, undefined)).toBe(false);
  const late = { isCounted: true, others: [{ age: 5000, at: 9000 }] };
  expect(keepsAddresses(1000, 10_000, late, times)).toBe(false);
});

test('the only egress node keeps what it has; one that is none any more has no voice', () => {
  expect(keeps(Infinity, true)).toBe(true);
  expect(keeps(1000, false, 800)).toBe(true);
  expect(keeps(1000, false, 100)).toBe(false);
});

test('a node has let go before others get its addresses', () => {
  expect(times.gone).toBeGreaterThan(times.lease);
  // A node that is steadily heard is never found unasked.
  expect(2 * times.gap).toBeLessThanOrEqual(times.unasked);
});
