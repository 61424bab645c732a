/** When a table of connections is called full. */
import { expect, test } from 'vitest';
import {
  fullnessOf,
  tableProblem,
  zoneUsages,
} from '../../../../src/node/conntrack/connection-limits.ts';

const LIMIT = 1000;

test.each([
  [0, undefined, undefined],
  [899, undefined, undefined],
  [900, undefined, 'nearly'],
  [989, undefined, 'nearly'],
  [990, undefined, 'full'],
  [1000, 'nearly', 'full'],
  // Whoever is at the limit goes up and down there.
  [950, 'full', 'full'],
  [800, 'full', 'full'],
  [850, 'nearly', 'nearly'],
  [799, 'full', undefined],
  [799, 'nearly', undefined],
] as const)('%d of 1000, before %s: %s', (entries, before, expected) => {
  expect(fullnessOf({ entries, limit: LIMIT }, before)).toBe(expected);
});

test('what has no limit is never full, and what takes nothing always is', () => {
  expect(fullnessOf({ entries: 5_000_000, limit: Infinity }, undefined)).toBe(undefined);
  expect(fullnessOf({ entries: 1, limit: 0 }, undefined)).toBe('full');
  expect(fullnessOf({ entries: 0, limit: 0 }, undefined)).toBe('full');
});

test('zones with a limit are read as ovs-vswitchd lists them', () => {
  const text = 'default limit=0\nzone=5,limit=300,count=12\nzone=7,limit=0,count=9\n';
  expect(zoneUsages(text)).toEqual([{ zone: 5, limit: 300, entries: 12 }]);
  expect(zoneUsages('default limit=0\n')).toEqual([]);
});

test('a problem says nothing that changes with each connection', () => {
  const at = (entries: number, fullness: 'full' | 'nearly'): string =>
    tableProblem('n1', { table: 'kernel', entries, limit: LIMIT }, fullness).message;
  expect(at(990, 'full')).toBe(at(1000, 'full'));
  expect(at(900, 'nearly')).toMatch(/more than nine tenths of 1000.*nf_conntrack_max/);
});
