/** How often a NAD is read: once by each process, however many parts of it ask what the NAD says. */
import { beforeEach, expect, test, vi } from 'vitest';
import { NodePodAddresses } from '../../../src/addresses/node-pod-addresses.ts';
import { pods, resourceKinds } from '../../../src/api/kinds.ts';
import { readNad } from '../../../src/api/nad/registered-nad.ts';
import { Informers } from '../../../src/store/informers.ts';
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
import { nadsOf } from '../../support/cluster/nads-of.ts';

vi.mock(import('../../../src/api/nad/registered-nad.ts'), async (original) => {
  const module = await original();
  return { ...module, readNad: vi.fn(module.readNad) };
});

beforeEach(() => {
  vi.mocked(readNad).mockClear();
});

test('of a new network the manager reads the NAD once, and a node that gives a pod an address there once', async () => {
  const store = new MemoryStore();
  await apply(store, node('node1'), namespace('a'));
  const manager = startManager(store);
  await apply(store, layer3('a/net', '10.1.0.0/16'));
  await manager.settled();
  expect(readNad).toHaveBeenCalledTimes(1);
  const stopping = new AbortController();
  const { signal } = stopping;
  const informers = new Informers({ store, log: silent });
  const addresses = new NodePodAddresses({
    informers,
    node: 'node1',
    registry: nadsOf(informers),
    settings: testSettings.cluster,
    log: silent,
    signal,
  });
  const running = [informers.run(signal), addresses.run()];
  await apply(store, pod('a/here', 'node1'));
  await addresses.started;
  await informers.refresh(resourceKinds, signal);
  await addresses.caughtUp();
  expect(
    (await store.get(pods, 'a/here'))?.metadata.annotations?.['k8s.ovn.org/pod-networks'],
  ).toContain('a/net');
  await manager.settled();
  expect(readNad).toHaveBeenCalledTimes(2);
  stopping.abort(new Error('stopped'));
  await Promise.all(running);
  await manager.stop();
});
