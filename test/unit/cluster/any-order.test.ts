/** Whatever the order in which objects come, and wherever a manager is killed: the same end, nothing given out twice. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  givenOut,
  HISTORIES_LIMIT,
  histories,
  play,
  runHistory,
  runs,
  runTakeover,
  straight,
} from '../../support/cluster/cluster-history.ts';
import { inTurn, NODES } from '../../support/cluster/cluster-scenarios.ts';
import { startProcess } from '../../support/cluster/cluster-process.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

test(
  'any order, killed anywhere',
  async () => {
    const expected = await runHistory(new MemoryStore(), straight);
    expect(expected).toMatchObject({ nads: { length: 17 }, mirrors: ['a/web-1 2'] });
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        expect(await runHistory(new MemoryStore(), history)).toEqual(expected);
      }),
      runs(6),
    );
  },
  HISTORIES_LIMIT,
);

/** Clearly fewer than an undisturbed manager makes for these objects: it has to come to the write at which it loses. */
const MOST_WRITES = 30;

test(
  'leadership is lost in the middle of work: the manager that takes over ends as one that was never disturbed',
  async () => {
    const expected = await runHistory(new MemoryStore(), straight);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: MOST_WRITES }), async (writes) => {
        expect(await runTakeover(new MemoryStore(), writes)).toEqual(expected);
      }),
      runs(8),
    );
  },
  HISTORIES_LIMIT,
);

test('a second manager waits for the first one to go, and changes nothing', async () => {
  const store = new MemoryStore();
  const first = startProcess(store, NODES);
  await play(store, inTurn);
  await first.settled();
  const before = await givenOut(store);
  const second = startProcess(store, []);
  await first[Symbol.asyncDispose]();
  const writes = store.writes.length;
  await second.settled();
  expect(store.writes.slice(writes).filter(({ verb }) => verb !== 'event')).toEqual([]);
  expect(await givenOut(store)).toEqual(before);
  await second[Symbol.asyncDispose]();
});
