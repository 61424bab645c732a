import { expect, test } from 'vitest';
import {
  networkAttachmentDefinitions,
  ovnSecondaryNetworks,
  pods,
} from '../../../src/api/kinds.ts';
import type { OVNSecondaryNetwork } from '../../../src/api/types.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  ALLOCATED,
  apply,
  CREATED,
  describeConditions,
  nadLines,
  namespace,
  node,
  pod,
  startManager,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const secondary = (key: string, spec: OVNSecondaryNetwork['spec']): OVNSecondaryNetwork => {
  const [namespaceName = '', name = ''] = key.split('/');
  return {
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'OVNSecondaryNetwork',
    metadata: { namespace: namespaceName, name },
    spec,
  };
};
const conditions = async (store: Store, key: string): Promise<readonly string[]> =>
  describeConditions((await store.get(ovnSecondaryNetworks, key))?.status?.conditions ?? []);

test('an OVNSecondaryNetwork becomes a NAD of an isolated Layer2 network, or of a localnet', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('a', {}));
  await apply(store, secondary('a/inner', { subnet: '10.10.10.0/24' }));
  await apply(
    store,
    secondary('a/outer', { subnet: '10.10.20.0/24', hasExternalConnectivity: true }),
  );
  await running.settled();
  expect(await nadLines(store)).toEqual([
    'a/inner name=secondary_a_inner id=1 keys=[]',
    'a/outer name=secondary_a_outer id=2 keys=[]',
  ]);
  const nad = await store.get(networkAttachmentDefinitions, 'a/outer');
  expect(JSON.parse(nad?.spec?.config ?? '')).toMatchObject({
    topology: 'localnet',
    role: 'secondary',
    subnets: '10.10.20.0/24',
  });
  expect(await conditions(store, 'a/inner')).toEqual([ALLOCATED, CREATED]);
  await store.delete(ovnSecondaryNetworks, 'a/inner');
  await running.settled();
  expect(await nadLines(store)).toEqual(['a/outer name=secondary_a_outer id=2 keys=[]']);
});

test.each([
  ['10.244.5.0/24', '"10.244.5.0/24" overlaps cluster subnet "10.244.0.0/16"'],
  ['10.96.1.0/24', '"10.96.1.0/24" overlaps service subnet "10.96.0.0/16"'],
  ['172.18.0.0/24', 'overlaps the network 172.18.0.0/16 of node "node1"'],
  ['10.10.20.128/25', 'overlaps 10.10.20.0/24 of OVNSecondaryNetwork a/first'],
])('a subnet with external connectivity must not clash: %s', async (subnet, message) => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, node('node1', { 'k8s.ovn.org/host-cidrs': '["172.18.0.3/16"]' }));
  await apply(store, namespace('a', {}));
  await apply(
    store,
    secondary('a/first', { subnet: '10.10.20.0/24', hasExternalConnectivity: true }),
  );
  await apply(store, secondary('a/second', { subnet, hasExternalConnectivity: true }));
  await apply(store, secondary('a/third', { subnet: '10.10.20.0/24' }));
  await running.settled();
  expect(await conditions(store, 'a/second')).toEqual([
    expect.stringMatching(/^NetworkCreated=False SyncError: /),
  ]);
  expect((await conditions(store, 'a/second'))[0]).toContain(message);
  expect(await conditions(store, 'a/third')).toEqual([ALLOCATED, CREATED]);
});

test('one that a pod is on stays until the pod is gone, and its NAD comes back when somebody removes it', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, node('node1'), namespace('a', {}));
  await apply(store, secondary('a/inner', { subnet: '10.10.10.0/24' }));
  await running.settled();
  const onInner = {
    'k8s.v1.cni.cncf.io/networks': JSON.stringify([
      { name: 'inner', ips: ['10.10.10.77/24'], mac: 'ca:fe:c0:ff:ee:00' },
      { name: 'inner' },
    ]),
  };
  await apply(store, pod('a/web', 'node1', onInner));
  await running.settled();
  const networks = JSON.parse(
    (await store.get(pods, 'a/web'))?.metadata.annotations?.['k8s.ovn.org/pod-networks'] ?? '{}',
  ) as Record<string, { ip_addresses: string[]; mac_address: string }>;
  expect(networks['a/inner']).toMatchObject({
    ip_addresses: ['10.10.10.77/24'],
    mac_address: 'ca:fe:c0:ff:ee:00',
  });
  expect(networks['a/inner/1']?.ip_addresses).toHaveLength(1);
  const nads = async (): Promise<readonly string[]> =>
    (await nadLines(store)).map((line) => line.replace(/ id=.*/, ''));
  const remove = async (): Promise<void> => {
    await store.patch(
      networkAttachmentDefinitions,
      'a/inner',
      { metadata: { finalizers: null } },
      { fieldManager: 'user' },
    );
    await store.delete(networkAttachmentDefinitions, 'a/inner');
  };
  await remove();
  await running.settled();
  expect(await nads()).toEqual(['a/inner name=secondary_a_inner']);
  await store.delete(ovnSecondaryNetworks, 'a/inner');
  await running.settled();
  expect(await nads()).toEqual(['a/inner name=secondary_a_inner']);
  expect((await conditions(store, 'a/inner')).join()).toContain('a/web');
  await store.delete(pods, 'a/web');
  await running.settled();
  expect(await store.get(ovnSecondaryNetworks, 'a/inner')).toBeUndefined();
  expect(await nadLines(store)).toEqual([]);
});
