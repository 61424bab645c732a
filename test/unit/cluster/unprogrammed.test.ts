/** Objects of kinds that no feature programs: whoever wrote one learns it from the object itself. */
import { expect, test } from 'vitest';
import { egressServices } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import { apply, startManager } from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const service: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressService',
  metadata: { namespace: 'blue', name: 'web' },
  spec: {},
};

test('a kind whose status has no place for it says so in one event', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, service);
  await running.settled();
  await store.patch(
    egressServices,
    'blue/web',
    { metadata: { labels: { team: 'a' } } },
    { fieldManager: 'user' },
  );
  await running.settled();
  expect(
    store.events.map(({ regarding, type, reason, message }) =>
      [regarding.kind, regarding.metadata.name, type, reason, message].join(' '),
    ),
  ).toEqual([
    "EgressService web Warning NotSupported this release does not program EgressServices: replies and egress of the service's pods are unchanged; do not rely on it",
  ]);
  expect((await store.get(egressServices, 'blue/web'))?.status).toBeUndefined();
});

test('they are problems of the manager while they exist', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, service);
  await running.settled();
  expect(running.manager.problems().map(({ object }) => object)).toEqual([
    'EgressService blue/web',
  ]);
  await store.delete(egressServices, 'blue/web');
  await running.settled();
  expect(running.manager.problems()).toEqual([]);
});
