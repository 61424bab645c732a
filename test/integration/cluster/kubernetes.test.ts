/** The histories of the unit test, on a real Kubernetes API server. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { definitions } from '../../../src/api/catalog.ts';
import { KubernetesStore } from '../../../src/store/kubernetes-store.ts';
import { histories, runHistory, straight } from '../../support/cluster-history.ts';
import { startKubeApi, type KubeApi } from '../../support/kube-api.ts';
import { MemoryStore } from '../../support/memory-store.ts';

const LEASE_TIMING = { lease: 3000, renew: 2000, retry: 100 };

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`the cluster manager is not tested on a real API server: ${started}`);

describe.skipIf(typeof started === 'string')('on a Kubernetes API server', () => {
  const api = started as KubeApi;
  // Objects are written in the stored version, so nothing is converted.
  const installed = definitions.map(({ spec, ...rest }) => {
    const { conversion: _conversion, ...kept } = spec as typeof spec & { conversion?: unknown };
    return { ...rest, spec: kept };
  });
  beforeAll(() => api.install(installed));
  afterAll(() => api[Symbol.asyncDispose]());

  test('objects in any order, managers killed anywhere: the same end as on a store in memory', async () => {
    const expected = await runHistory(new MemoryStore(), straight);
    const store = new KubernetesStore({
      connection: api.connection,
      namespace: 'default',
      leaseTiming: LEASE_TIMING,
    });
    try {
      const [history = straight] = fc.sample(histories, { numRuns: 1, seed: 25 });
      const lives = [
        { writes: 12, isLastDone: true },
        { writes: 20, isLastDone: false },
      ];
      expect(await runHistory(store, { ...history, lives })).toEqual(expected);
    } finally {
      await store.close();
    }
  }, 240_000);
});
