/** When packets heed what was sent to OVN. */
import { expect, test } from 'vitest';
import { HeededChanges } from '../../../src/node/heeded-changes.ts';
import { rounds } from '../../support/run/rounds.ts';

test('what the data plane has confirmed is heeded, in order, where nothing is cached', () => {
  const heeded: string[] = [];
  const changes = new HeededChanges<string>({ onHeeded: (found) => heeded.push(...found) });
  changes.sent('a', 1);
  changes.sent('b', 2);
  changes.sent('c', 3);
  changes.reached(0);
  expect(heeded).toEqual([]);
  changes.reached(2);
  expect(heeded).toEqual(['a', 'b']);
  changes.reached(3);
  expect(heeded).toEqual(['a', 'b', 'c']);
});

test('it is heeded when a round over what is cached that began later has ended', async () => {
  const heeded: string[][] = [];
  const { revalidated, end, begun } = rounds();
  const changes = new HeededChanges<string>({
    revalidated,
    onHeeded: (found) => heeded.push([...found]),
  });
  changes.reached(0);
  expect(begun()).toBe(0);
  changes.sent('a', 1);
  changes.reached(1);
  changes.sent('b', 2);
  changes.sent('c', 3);
  changes.reached(3);
  expect([begun(), heeded]).toEqual([1, []]);
  await end();
  // The others were confirmed while that round was under way.
  expect([begun(), heeded]).toEqual([2, [['a']]]);
  await end();
  expect([begun(), heeded]).toEqual([2, [['a'], ['b', 'c']]]);
  changes.reached(4);
  expect(begun()).toBe(2);
});
