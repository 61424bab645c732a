/** A few random histories of networks in each other's way, with kills; `HEDDLE_HISTORIES=500` runs more of them, `HEDDLE_SEED` begins elsewhere. */
import { expect, test } from 'vitest';
import { objectRules } from '../../../src/store/object-rules.ts';
import { HISTORIES_LIMIT, runs } from '../../support/cluster/cluster-history.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import { RANDOM_STEPS, runRandomCluster } from '../../support/cluster/random-cluster.ts';
import { SEED } from '../../support/run/seed.ts';

test(
  'a restart changes nothing, nobody blames what is not there, and what is deleted leaves nothing',
  async () => {
    expect.hasAssertions();
    for (let index = 0; index < runs(3).numRuns; index += 1)
      await runRandomCluster(new MemoryStore(objectRules), SEED + index, RANDOM_STEPS);
  },
  HISTORIES_LIMIT,
);
