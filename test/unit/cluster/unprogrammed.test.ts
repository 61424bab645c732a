/** Objects of kinds that no feature programs: whoever wrote one learns it from the object itself. */
import { expect, test } from 'vitest';
import { egressIPs, egressQoSes, egressServices } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import { StoreError } from '../../../src/store/store.ts';
import {
  apply,
  describeConditions,
  namespace,
  startManager,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const qos: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressQoS',
  metadata: { namespace: 'blue', name: 'default' },
  spec: { egress: [{ dscp: 10 }] },
};
const ip: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name: 'out' },
  spec: { egressIPs: ['172.18.0.50'], namespaceSelector: {} },
};
const service: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressService',
  metadata: { namespace: 'blue', name: 'web' },
  spec: {},
};

const QOS =
  'this release does not program EgressQoSes: this object marks no packets; do not rely on it';
const conditionsOf = async (store: MemoryStore): Promise<readonly string[]> =>
  describeConditions((await store.get(egressQoSes, 'blue/default'))?.status?.conditions ?? []);

test('a kind that has a status says there that nothing is programmed', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('blue'), qos);
  await running.settled();
  const { status } = (await store.get(egressQoSes, 'blue/default')) ?? {};
  expect(status?.status).toBe('EgressQoS Rules not correctly applied');
  expect(await conditionsOf(store)).toEqual([`Programmed=False NotSupported: ${QOS}`]);
  expect(store.events).toEqual([]);
});

test('what another program claimed in the status before is replaced, and nothing is written twice', async () => {
  const store = new MemoryStore();
  await apply(store, qos);
  await store.patchStatus(
    egressQoSes,
    'blue/default',
    { status: { status: 'EgressQoS Rules applied' } },
    { fieldManager: 'n1' },
  );
  await using running = startManager(store);
  await running.settled();
  expect((await store.get(egressQoSes, 'blue/default'))?.status?.status).toContain('not correctly');
  const writes = store.writes.length;
  await store.patch(
    egressQoSes,
    'blue/default',
    { metadata: { labels: { team: 'a' } } },
    { fieldManager: 'user' },
  );
  await running.settled();
  expect(store.writes.length).toBe(writes + 1);
});

test('a kind whose status has no place for it says so in one event', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, ip, service);
  await running.settled();
  await store.patch(
    egressIPs,
    'out',
    { metadata: { labels: { team: 'a' } } },
    { fieldManager: 'user' },
  );
  await running.settled();
  expect(
    store.events.map(({ regarding, type, reason, message }) =>
      [regarding.kind, regarding.metadata.name, type, reason, message].join(' '),
    ),
  ).toEqual([
    "EgressIP out Warning NotSupported this release does not program EgressIPs: pods keep their node's address as source; do not rely on it",
    "EgressService web Warning NotSupported this release does not program EgressServices: replies and egress of the service's pods are unchanged; do not rely on it",
  ]);
  expect((await store.get(egressIPs, 'out'))?.status).toBeUndefined();
  expect((await store.get(egressServices, 'blue/web'))?.status).toBeUndefined();
});

test('they are problems of the manager while they exist', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, qos, ip);
  await running.settled();
  expect(running.manager.problems().map(({ object }) => object)).toEqual([
    'EgressIP out',
    'EgressQoS blue/default',
  ]);
  await store.delete(egressIPs, 'out');
  await running.settled();
  expect(running.manager.problems()).toEqual([{ object: 'EgressQoS blue/default', message: QOS }]);
});

test('a status that cannot be written is tried again, and holds nothing else up', async () => {
  const store = new MemoryStore();
  let refusals = 2;
  store.beforeWrite = ({ verb, kind }) => {
    if (verb === 'patchStatus' && kind === 'EgressQoS' && refusals-- > 0)
      throw new StoreError('conflict', 'somebody wrote meanwhile');
  };
  await using running = startManager(store);
  await apply(store, qos, ip);
  await running.settled();
  expect(store.events).toHaveLength(1);
  await expect
    .poll(() => conditionsOf(store), { timeout: 5000 })
    .toEqual([`Programmed=False NotSupported: ${QOS}`]);
});
