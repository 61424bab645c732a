/** The histories of the unit test, on manifests and a state directory. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ManifestStore } from '../../../src/store/manifests/manifest-store.ts';
import { objectRules } from '../../../src/store/object-rules.ts';
import {
  HISTORIES_LIMIT,
  histories,
  runHistory,
  runs,
  runTakeover,
  straight,
} from '../../support/cluster/cluster-history.ts';
import {
  connectionOnTakenRanges,
  deletedWhileInUse,
  growths,
  refusedAndTakenBack,
  runGrowth,
  selectorMismatch,
} from '../../support/cluster/growing-networks.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import {
  layer2ReplacedBeforeWiring,
  requestChangedBeforeWiring,
  requestCorrectedBeforeWiring,
  secondPrimaryBeforeWiring,
} from '../../support/cluster/unwired-pods.ts';

async function onManifests<T>(work: (store: ManifestStore) => Promise<T>): Promise<T> {
  const folder = ownFolder('heddle-order');
  const state = join(folder, '.state');
  const store = await ManifestStore.open({ manifests: folder, state, rules: objectRules });
  try {
    return await work(store);
  } finally {
    await store.close();
    await rm(folder, { recursive: true });
  }
}

test(
  'any order, killed anywhere: the same end as on a store in memory',
  async () => {
    const expected = await runHistory(new MemoryStore(), straight);
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        expect(await onManifests((store) => runHistory(store, history))).toEqual(expected);
      }),
      runs(2),
    );
  },
  HISTORIES_LIMIT,
);

test.each([3, 17, 30])(
  'leadership is lost at write %i: the manager that takes over ends as on a store in memory',
  async (writes) => {
    const expected = await runHistory(new MemoryStore(), straight);
    expect(await onManifests((store) => runTakeover(store, writes))).toEqual(expected);
  },
  120_000,
);

test.each([
  secondPrimaryBeforeWiring,
  layer2ReplacedBeforeWiring,
  requestChangedBeforeWiring,
  requestCorrectedBeforeWiring,
])('a pod that nobody has wired yet gets what there is now: %o', (scenario) =>
  onManifests(scenario),
);

test.each([refusedAndTakenBack, selectorMismatch, connectionOnTakenRanges, deletedWhileInUse])(
  '%o',
  (scenario) => onManifests(scenario),
);

test(
  'networks that grow beside each other keep what they have, and leave nothing',
  async () => {
    expect.hasAssertions();
    await fc.assert(
      fc.asyncProperty(growths, (history) => onManifests((store) => runGrowth(store, history))),
      runs(2),
    );
  },
  HISTORIES_LIMIT,
);
