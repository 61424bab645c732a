import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { objectRules } from '../../../src/store/object-rules.ts';
import { HISTORIES_LIMIT, runs } from '../../support/cluster/cluster-history.ts';
import {
  connectionOnTakenRanges,
  deletedWhileInUse,
  growths,
  refusedAndTakenBack,
  runGrowth,
  selectorMismatch,
} from '../../support/cluster/growing-networks.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

describe('primary networks that share namespaces', () => {
  test.each([refusedAndTakenBack, selectorMismatch, connectionOnTakenRanges, deletedWhileInUse])(
    '%o',
    (scenario) => scenario(new MemoryStore(objectRules)),
  );

  test(
    'whatever is appended, taken back, selected and deleted: what was there keeps what it has, and nothing is left',
    async () => {
      expect.hasAssertions();
      await fc.assert(
        fc.asyncProperty(growths, (history) => runGrowth(new MemoryStore(objectRules), history)),
        runs(20),
      );
    },
    HISTORIES_LIMIT,
  );
});
