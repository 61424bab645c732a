/** What the cluster manager gave it gives again, whoever overwrites it. */
import { expect, test } from 'vitest';
import { networkAttachmentDefinitions, nodes } from '../../../src/api/kinds.ts';
import { apply, layer3, namespace, node, startManager } from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const written = { fieldManager: 'kubectl' };

test.each([
  ['node-subnets', '{"default":["10.244.1.0/24"],"blue_net":["10.20.1.0/24"]}'],
  ['node-subnets', '{"default":["8.8.8.0/24"]}'],
  ['node-id', '3'],
  ['node-transit-switch-port-ifaddr', '{"ipv4":"100.88.0.3/16"}'],
])('%s of a node that says it has another one’s (%s)', async (key, forged) => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(
    store,
    node('n1'),
    node('n2'),
    namespace('blue'),
    layer3('blue/net', '10.20.0.0/16/24'),
  );
  await running.settled();
  const given = async (): Promise<unknown[]> =>
    (await store.list(nodes)).map(({ metadata }) => metadata.annotations?.[`k8s.ovn.org/${key}`]);
  const before = await given();
  const annotations = { [`k8s.ovn.org/${key}`]: forged };
  await store.patchStatus(nodes, 'n1', { metadata: { annotations } }, written);
  await running.settled();
  expect(await given()).toEqual(before);
});

test.each([
  ['network-id', '2'],
  ['network-name', 'red_net'],
  ['tunnel-keys', '[16711685]'],
  ['network-on-demand', 'true'],
])('%s of a NAD that says it has another one’s', async (key, forged) => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('blue'), namespace('red'));
  await apply(store, layer3('blue/net', '10.20.0.0/16'), layer3('red/net', '10.20.0.0/16'));
  await running.settled();
  const given = async (): Promise<unknown[]> =>
    (await store.list(networkAttachmentDefinitions)).map(
      ({ metadata }) => metadata.annotations?.[`k8s.ovn.org/${key}`],
    );
  const before = await given();
  const annotations = { [`k8s.ovn.org/${key}`]: forged };
  await store.patch(
    networkAttachmentDefinitions,
    'blue/net',
    { metadata: { annotations } },
    written,
  );
  await running.settled();
  expect(await given()).toEqual(before);
});
