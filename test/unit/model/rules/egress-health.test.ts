import { expect, test } from 'vitest';
import type { Node } from '../../../../src/api/types.ts';
import {
  egressHealthTimes,
  healthAddresses,
  keptAgainUntil,
  keptUntil,
  type EgressNodeVotes,
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
const NOW = 10_000;
/** What others answered 95 ms ago: so long were they not heard, or nothing. */
const votes = (isCounted: boolean, ages: readonly (number | undefined)[]): EgressNodeVotes => ({
  isCounted,
  others: ages.map((age) => (age === undefined ? age : { age, at: NOW - 100, got: NOW - 95 })),
});
/** Whether a node that was not heard for so long keeps what it has. */
const keeps = (age: number, isCounted: boolean, ...others: (number | undefined)[]): boolean =>
  keptUntil(age, NOW, votes(isCounted, others), times) !== undefined;
/** Whether a node that could keep what it had until some time ago, and had to let go, has it again. */
const keepsAgain = (ago: number, ...others: (number | undefined)[]): boolean =>
  keptAgainUntil(NOW - ago, NOW, votes(true, others), times) !== undefined;

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
  const late = { isCounted: true, others: [{ age: 5000, at: 9000, got: 9005 }] };
  expect(keptUntil(1000, NOW, late, times)).toBeUndefined();
});

test('the only egress node keeps what it has; one that is none any more has no voice', () => {
  expect(keeps(Infinity, true)).toBe(true);
  expect(keeps(1000, false, 800)).toBe(true);
  expect(keeps(1000, false, 100)).toBe(false);
});

test('a node that let go has its addresses again where most were heard by nobody since it could keep them', () => {
  expect(keepsAgain(5000, 6000)).toBe(true);
  expect(keepsAgain(5000, 6000, 100)).toBe(true);
  // Who was heard meanwhile may have been counted on by a manager that gave them away.
  expect(keepsAgain(5000, 4000)).toBe(false);
  expect(keepsAgain(5000, 5500)).toBe(false);
  expect(keepsAgain(5000, 6000, 100, 800)).toBe(false);
  // A daemon that started meanwhile can't tell.
  expect(keepsAgain(5000, Infinity)).toBe(false);
  expect(keepsAgain(5000, undefined)).toBe(false);
});

test('how long what is known of others holds counts from when they were asked', () => {
  expect(keptUntil(400, NOW, votes(true, []), times)).toBe(NOW - 400 + times.gone);
  expect(keptUntil(3000, NOW, votes(true, [3000]), times)).toBe(NOW - 100 + times.lease);
  expect(keptAgainUntil(NOW - 5000, NOW, votes(true, [6000]), times)).toBe(NOW - 100 + times.lease);
});

test('a node has let go before others get its addresses', () => {
  expect(times.gone).toBeGreaterThan(times.lease);
  // A node that is steadily heard is never found unasked.
  expect(2 * times.gap).toBeLessThanOrEqual(times.unasked);
});
