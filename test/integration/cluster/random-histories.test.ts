/** Many random histories of networks in each other's way, with kills; the unit test of this name has the first few. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ManifestStore } from '../../../src/store/manifests/manifest-store.ts';
import { objectRules } from '../../../src/store/object-rules.ts';
import { HISTORIES_LIMIT, runs } from '../../support/cluster/cluster-history.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import { RANDOM_STEPS, runRandomCluster } from '../../support/cluster/random-cluster.ts';
import { SEED } from '../../support/run/seed.ts';

test(
  'on a store in memory',
  async () => {
    expect.hasAssertions();
    for (let index = 0; index < runs(4).numRuns; index += 1)
      await runRandomCluster(new MemoryStore(objectRules), SEED + index, RANDOM_STEPS);
  },
  HISTORIES_LIMIT,
);

test(
  'on manifests and a state directory',
  async () => {
    expect.hasAssertions();
    for (let index = 0; index < runs(1).numRuns; index += 1) {
      const folder = ownFolder('heddle-random');
      const state = join(folder, '.state');
      const store = await ManifestStore.open({ manifests: folder, state, rules: objectRules });
      try {
        await runRandomCluster(store, SEED + index, RANDOM_STEPS);
      } finally {
        await store.close();
        await rm(folder, { recursive: true });
      }
    }
  },
  HISTORIES_LIMIT,
);
