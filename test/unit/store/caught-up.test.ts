import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { NodePodAddresses } from '../../../src/addresses/node-pod-addresses.ts';
import { ClusterManager } from '../../../src/cluster/manager.ts';
import { nodes, pods } from '../../../src/api/kinds.ts';
import { Informers } from '../../../src/store/informers.ts';
import { delegatingStore } from '../../../src/store/delegating-store.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  apply,
  layer3,
  namespace,
  node,
  pod,
  silent,
  startManager,
  testSettings,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import { POD_NETWORKS } from '../../../src/api/annotations/pod-annotations.ts';
import { nadsOf } from '../../support/cluster/nads-of.ts';

/** A store that answers lists after 200 ms and counts them, beside which a pod changes every few milliseconds. */
function busy(
  store: MemoryStore,
  key: string,
  interval: number,
): { store: Store; lists: () => number; stop: () => Promise<void> } {
  let lists = 0;
  const list: Store['list'] = async (kind) => {
    lists += 1;
    await sleep(200);
    return store.list(kind);
  };
  const stopping = new AbortController();
  const changing = (async () => {
    for (let change = 0; !stopping.signal.aborted; change += 1) {
      const patch = { metadata: { labels: { change: String(change) } } };
      await store.patch(pods, key, patch, { fieldManager: 'user' });
      await sleep(interval);
    }
  })();
  return {
    store: delegatingStore(store, { list }),
    lists: () => lists,
    stop: async () => {
      stopping.abort();
      await changing;
    },
  };
}

test('a node is ready in a cluster in which other pods never stop changing, without a list', async () => {
  const store = new MemoryStore();
  await apply(store, node('node1'), node('node2'), namespace('a'), layer3('a/net', '10.1.0.0/16'));
  await apply(store, pod('a/here', 'node1'), pod('a/there', 'node2'));
  const running = startManager(store);
  await running.settled();
  const cluster = busy(store, 'a/there', 50);
  const stop = new AbortController();
  const { signal } = stop;
  const informers = new Informers({ store: cluster.store, log: silent });
  const settings = testSettings.cluster;
  const registry = nadsOf(informers);
  const addresses = new NodePodAddresses({
    informers,
    node: 'node1',
    registry,
    settings,
    log: silent,
    signal,
  });
  const runs = [informers.run(signal), addresses.run()];
  await addresses.caughtUp(AbortSignal.any([signal, AbortSignal.timeout(3000)]));
  const here = informers.of(pods).get('a/here');
  expect(here?.metadata.annotations?.[POD_NETWORKS]).toContain('a/net');
  expect(cluster.lists()).toBe(0);
  await cluster.stop();
  stop.abort();
  await Promise.all(runs);
  await running.stop();
});

test('a manager beside which a pod never stops changing has dealt with what there was', async () => {
  const store = new MemoryStore();
  await apply(store, node('node1'), namespace('a'), layer3('a/net', '10.1.0.0/16'));
  await apply(store, pod('a/there', 'node1'));
  const cluster = busy(store, 'a/there', 1);
  const stop = new AbortController();
  const { signal } = stop;
  const manager = new ClusterManager({
    store: cluster.store,
    settings: testSettings,
    log: silent,
    signal,
  });
  const run = manager.run();
  await manager.caughtUp(AbortSignal.timeout(5000));
  const found = await store.get(nodes, 'node1');
  expect(found?.metadata.annotations?.['k8s.ovn.org/node-subnets']).toContain('a_net');
  expect(cluster.lists()).toBe(0);
  await cluster.stop();
  stop.abort();
  await run;
});
