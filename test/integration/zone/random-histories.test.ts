/**
 * Random histories of networks in each other's way with the Northbound databases of two nodes, in which daemons and cluster manager are killed at any
 * write into objects or rows. `HEDDLE_HISTORIES=500` runs more of them, `HEDDLE_SEED` begins elsewhere.
 */
import { expect, test } from 'vitest';
import { objectRules } from '../../../src/store/object-rules.ts';
import { HISTORIES_LIMIT, runs } from '../../support/cluster/cluster-history.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import {
  emptyZones,
  RANDOM_STEPS,
  runRandomCluster,
} from '../../support/cluster/random-cluster.ts';
import { SEED } from '../../support/run/seed.ts';

test(
  'a restart of all changes no row and no verdict, and rows are those that empty databases get',
  async () => {
    expect.hasAssertions();
    for (let index = 0; index < runs(12).numRuns; index += 1)
      await runRandomCluster(
        new MemoryStore(objectRules),
        SEED + index,
        RANDOM_STEPS,
        emptyZones(['n1', 'n2']),
      );
  },
  HISTORIES_LIMIT,
);
