/** How often a NAD is read: once by each process, however many parts of it ask what the NAD says. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { pods, resourceKinds } from '../../../src/api/kinds.ts';
import type { readNad as Reader } from '../../../src/api/nad/registered-nad.ts';

const READER = '../../../src/api/nad/registered-nad.ts';
const readNad = vi.fn();

// Other tests of this worker have loaded the modules with the reader as it is.
beforeEach(() => {
  vi.resetModules();
  vi.doMock(READER, async (original) => {
    const module = await original<{ readonly readNad: typeof Reader }>();
    readNad.mockImplementation(module.readNad);
    return { ...module, readNad };
  });
});

afterEach(() => {
  vi.doUnmock(READER);
  vi.resetModules();
});

test('of a new network the manager reads the NAD once, and a node that gives a pod an address there once', async () => {
  const { NodePodAddresses } = await import('../../../src/addresses/node-pod-addresses.ts');
  const { Informers } = await import('../../../src/store/informers.ts');
  const { apply, layer3, namespace, node, pod, silent, startManager, testSettings } =
    await import('../../support/cluster/cluster.ts');
  const { MemoryStore } = await import('../../support/cluster/memory-store.ts');
  const { nadsOf } = await import('../../support/cluster/nads-of.ts');
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
