/** Who is refused because of another object is decided again when that one goes or changes, without a restart. */
import { describe, expect, test } from 'vitest';
import {
  clusterUserDefinedNetworks,
  namespaces,
  networkAttachmentDefinitions,
  ovnSecondaryNetworks,
} from '../../../src/api/kinds.ts';
import { DEFAULT_LIMITS } from '../../../src/cluster/settings.ts';
import type { OVNSecondaryNetwork } from '../../../src/api/types.ts';
import { StoreError, type Store } from '../../../src/store/store.ts';
import {
  apply,
  clusterLayer3,
  conditions,
  CREATED,
  describeConditions,
  inNamespaces,
  layer3,
  nadLines,
  namespace,
  node,
  PRIMARY,
  rawNad,
  startManager,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const USER = { fieldManager: 'user' };
const TEAM = { matchLabels: { team: 'x' } };

const created = async (store: Store, key: string): Promise<string> =>
  (await conditions(store, key)).find((line) => line.startsWith('NetworkCreated')) ?? '';

describe('a primary network that is refused because of another one', () => {
  test('comes when that one leaves the namespace, though it goes on in others', async () => {
    const store = new MemoryStore();
    await apply(store, node('n1'));
    for (const name of ['blue', 'red'])
      await apply(store, namespace(name, { ...PRIMARY, team: 'x' }));
    await apply(store, clusterLayer3('shared', TEAM, '10.20.0.0/16/24'));
    await using running = startManager(store);
    await running.settled();
    await apply(store, layer3('blue/own', '10.30.0.0/16/24'));
    await running.settled();
    expect(await created(store, 'blue/own')).toContain('MixedPrimaryNetworks');
    const labels = { metadata: { labels: { team: null } } };
    await store.patch(namespaces, 'blue', labels, USER);
    await running.settled();
    expect(await created(store, 'blue/own')).toBe(CREATED);
    expect((await nadLines(store)).map((line) => line.split(' ')[0])).toEqual([
      'blue/own',
      'red/shared',
    ]);
  });

  test('comes when the selector of that one becomes the same', async () => {
    const store = new MemoryStore();
    const byLabel = { matchLabels: { 'kubernetes.io/metadata.name': 'd' } };
    await apply(store, node('n1'), namespace('d'));
    await apply(store, clusterLayer3('net1', byLabel, '10.20.0.0/16/24'));
    await using running = startManager(store);
    await running.settled();
    await apply(store, clusterLayer3('net2', inNamespaces('d'), '10.30.0.0/16/24'));
    await running.settled();
    expect(await created(store, 'net2')).toContain('NamespaceSelectorMismatch');
    const spec = { namespaceSelector: { matchLabels: null, ...inNamespaces('d') } };
    await store.patch(clusterUserDefinedNetworks, 'net1', { spec }, USER);
    await running.settled();
    expect(await created(store, 'net2')).toContain('in following namespaces: [d]');
  });

  test('comes when a NAD that somebody wrote by hand is not a primary network any more', async () => {
    const store = new MemoryStore();
    const config = (role: string): object => ({
      cniVersion: '1.1.0',
      type: 'ovn-k8s-cni-overlay',
      name: 'hand',
      netAttachDefName: 'blue/hand',
      topology: 'layer3',
      role,
      subnets: '10.40.0.0/16/24',
    });
    await apply(store, node('n1'), namespace('blue'), namespace('red'));
    await apply(store, rawNad('blue/hand', config('primary')));
    await using running = startManager(store);
    await running.settled();
    await apply(store, layer3('blue/own', '10.30.0.0/16/24'));
    await running.settled();
    expect(await created(store, 'blue/own')).toContain('"blue/hand"');
    const spec = { config: JSON.stringify(config('secondary')) };
    await store.patch(networkAttachmentDefinitions, 'blue/hand', { spec }, USER);
    await running.settled();
    expect(await created(store, 'blue/own')).toBe(CREATED);
  });
});

test('a NAD that finds no id left gets the one of a network that comes to nothing', async () => {
  const store = new MemoryStore();
  const answer = Promise.withResolvers<void>();
  const create = store.create.bind(store);
  store.create = async (kind, object, options) => {
    if (kind.plural !== 'network-attachment-definitions' || object.metadata.name !== 'net')
      return await create(kind, object, options);
    await answer.promise;
    throw new StoreError('forbidden', 'not in this namespace');
  };
  await using running = startManager(store, { limits: { ...DEFAULT_LIMITS, networks: 1 } });
  await apply(store, node('n1'), namespace('blue'), namespace('red'));
  await apply(store, layer3('blue/net', '10.20.0.0/16/24'));
  const config = { cniVersion: '1.1.0', type: 'ovn-k8s-cni-overlay', name: 'hand' };
  await apply(
    store,
    rawNad('red/hand', { ...config, netAttachDefName: 'red/hand', topology: 'layer2' }),
  );
  const refused = (): readonly string[] => running.manager.problems().map(({ object }) => object);
  await expect.poll(refused).toContain('NetworkAttachmentDefinition red/hand');
  answer.resolve();
  await running.settled();
  expect((await nadLines(store)).join()).toMatch(/^red\/hand name=hand id=\d+/);
  expect(refused()).toEqual(['UserDefinedNetwork blue/net']);
});

test('an OVNSecondaryNetwork on the underlay comes when the one on its subnet goes, though that had no NAD', async () => {
  const external = (key: string): OVNSecondaryNetwork => {
    const [namespaceName = '', name = ''] = key.split('/');
    return {
      apiVersion: 'k8s.ovn.org/v1alpha1',
      kind: 'OVNSecondaryNetwork',
      metadata: { namespace: namespaceName, name },
      spec: { subnet: '172.20.0.0/16', hasExternalConnectivity: true },
    };
  };
  const store = new MemoryStore();
  store.beforeWrite = ({ verb, kind, key }) => {
    if (verb === 'create' && kind === 'NetworkAttachmentDefinition' && key === 'blue/older')
      throw new StoreError('forbidden', 'quota exceeded');
  };
  await apply(store, node('n1'), namespace('blue'), namespace('red'), external('blue/older'));
  await using running = startManager(store);
  await running.settled();
  await apply(store, external('red/younger'));
  await running.settled();
  const told = async (): Promise<string> =>
    describeConditions(
      (await store.get(ovnSecondaryNetworks, 'red/younger'))?.status?.conditions ?? [],
    ).join();
  expect(await told()).toContain('of OVNSecondaryNetwork blue/older');
  await store.delete(ovnSecondaryNetworks, 'blue/older');
  await running.settled();
  expect(await told()).not.toContain('blue/older');
  expect(await told()).toContain('NetworkCreated=True');
});
