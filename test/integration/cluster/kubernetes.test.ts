/** The histories of the unit test, on a real Kubernetes API server. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KubernetesStore } from '../../../src/store/kubernetes/kubernetes-store.ts';
import {
  HISTORIES_LIMIT,
  histories,
  inWords,
  runHistory,
  runs,
  runTakeover,
  straight,
  wipe,
} from '../../support/cluster/cluster-history.ts';
import {
  connectionOnTakenRanges,
  deletedWhileInUse,
  growths,
  refusedAndTakenBack,
  runGrowth,
  selectorMismatch,
} from '../../support/cluster/growing-networks.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import { servedDefinitions } from '../../support/cluster/served-definitions.ts';
import {
  layer2ReplacedBeforeWiring,
  requestChangedBeforeWiring,
  requestCorrectedBeforeWiring,
  secondPrimaryBeforeWiring,
} from '../../support/cluster/unwired-pods.ts';

// Whoever is killed leaves his lease behind: short ones, that a busy machine can renew all the same.
const LEASE_TIMING = { lease: 8000, renew: 7000, retry: 100 };

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`the cluster manager is not tested on a real API server: ${started}`);

describe.skipIf(typeof started === 'string')('on a Kubernetes API server', () => {
  const api = started as KubeApi;
  beforeAll(() => api.install(servedDefinitions));
  afterAll(() => api[Symbol.asyncDispose]());

  async function onKubernetes<T>(work: (store: KubernetesStore) => Promise<T>): Promise<T> {
    const store = new KubernetesStore({
      connection: api.connection,
      namespace: 'default',
      leaseTiming: LEASE_TIMING,
    });
    try {
      return await work(store);
    } finally {
      await wipe(store);
      await store.close();
    }
  }

  test(
    'objects in any order, managers killed anywhere: the same end as on a store in memory',
    async () => {
      const expected = await runHistory(new MemoryStore(), straight);
      await fc.assert(
        fc.asyncProperty(histories, async (history) => {
          const end = await onKubernetes((store) => runHistory(store, history));
          expect(end, inWords(history)).toEqual(expected);
        }),
        { ...runs(1), endOnFailure: true },
      );
    },
    HISTORIES_LIMIT,
  );

  test(
    'leadership is lost in the middle of work: the manager that takes over ends as one that was never disturbed',
    async () => {
      const expected = await runHistory(new MemoryStore(), straight);
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 60 }), async (writes) => {
          expect(await onKubernetes((store) => runTakeover(store, writes))).toEqual(expected);
        }),
        { ...runs(1), endOnFailure: true },
      );
    },
    HISTORIES_LIMIT,
  );

  test.each([
    secondPrimaryBeforeWiring,
    layer2ReplacedBeforeWiring,
    requestChangedBeforeWiring,
    requestCorrectedBeforeWiring,
  ])('a pod that nobody has wired yet gets what there is now: %o', (scenario) =>
    onKubernetes(scenario),
  );

  test.each([refusedAndTakenBack, selectorMismatch, connectionOnTakenRanges, deletedWhileInUse])(
    '%o',
    (scenario) => onKubernetes(scenario),
  );

  test(
    'networks that grow beside each other keep what they have, and leave nothing',
    async () => {
      expect.hasAssertions();
      await fc.assert(
        fc.asyncProperty(growths, (history) => onKubernetes((store) => runGrowth(store, history))),
        { ...runs(1), endOnFailure: true },
      );
    },
    HISTORIES_LIMIT,
  );
});
