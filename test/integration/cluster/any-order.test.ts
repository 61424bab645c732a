/** The histories of the unit test, on manifests and a state directory. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ManifestStore } from '../../../src/store/manifest-store.ts';
import { objectRules } from '../../../src/store/object-rules.ts';
import { histories, runHistory, straight } from '../../support/cluster-history.ts';
import { MemoryStore } from '../../support/memory-store.ts';

test('any order, killed anywhere: the same end as on a store in memory', async () => {
  const expected = await runHistory(new MemoryStore(), straight);
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const folder = await mkdtemp(join(tmpdir(), 'heddle-order-'));
      const state = join(folder, '.state');
      const store = await ManifestStore.open({ manifests: folder, state, rules: objectRules });
      try {
        expect(await runHistory(store, history)).toEqual(expected);
      } finally {
        await store.close();
        await rm(folder, { recursive: true });
      }
    }),
    { numRuns: 3 },
  );
}, 300_000);
