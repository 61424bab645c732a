import { describe, expect, test } from 'vitest';
import { clusterUserDefinedNetworks, namespaces } from '../../../src/api/kinds.ts';
import {
  ALLOCATED,
  apply,
  clusterLayer3,
  conditions,
  CREATED,
  inNamespaces,
  layer2,
  layer3,
  nadLines,
  namespace,
  pod,
  PRIMARY,
  rawNad,
  remove,
  startManager,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

describe('primary networks of one namespace', () => {
  test('a primary NAD that comes later is told to both, and the network goes on', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), layer3('blue/net', '10.20.0.0/16'));
    await running.settled();
    const before = await conditions(store, 'blue/net');
    await apply(
      store,
      rawNad('blue/extra', {
        cniVersion: '1.1.0',
        type: 'ovn-k8s-cni-overlay',
        name: 'extra',
        netAttachDefName: 'blue/extra',
        topology: 'layer3',
        role: 'primary',
        subnets: '10.30.0.0/16',
      }),
    );
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([
      ...before,
      'PrimaryNetworkConflict=True ConflictingPrimaryNetwork: conflicting primary NetworkAttachmentDefinition is left alone, remove it: [blue/extra]',
    ]);
    expect(store.events).toMatchObject([
      {
        regarding: { kind: 'NetworkAttachmentDefinition', metadata: { name: 'extra' } },
        reason: 'InvalidConfig',
        message:
          'NAD blue/net is primary for the namespace, NAD blue/extra can\'t be primary: primary network already exist in namespace "blue": "blue/net"',
      },
    ]);
    await remove.nad(store, 'blue/extra');
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual(before);
  });

  test('several that don’t overlap get along', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), layer3('blue/one', '10.20.0.0/16'));
    await apply(store, layer2('blue/two', '10.30.0.0/16'));
    await running.settled();
    expect(await nadLines(store)).toEqual([
      'blue/one name=blue_one id=1 keys=[]',
      'blue/two name=blue_two id=2 keys=[16711685,16715779]',
    ]);
  });

  test('overlapping ones don’t, and the later one says so', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), layer3('blue/one', '10.20.0.0/16'));
    await apply(store, layer3('blue/two', '10.20.0.0/20'));
    await running.settled();
    expect(await conditions(store, 'blue/two')).toEqual([
      'NetworkCreated=False OverlappingNetworkSubnets: primary network already exist in namespace "blue": "blue/one": subnet 10.20.0.0/20 overlaps subnet 10.20.0.0/16 of network blue_one',
    ]);
    await remove.udn(store, 'blue/one');
    await running.settled();
    expect(await conditions(store, 'blue/two')).toEqual([ALLOCATED, CREATED]);
  });

  test('the two kinds don’t mix', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), layer3('blue/one', '10.20.0.0/16'));
    await running.settled();
    await apply(store, clusterLayer3('two', inNamespaces('blue'), '10.30.0.0/16'));
    await running.settled();
    expect(await conditions(store, 'two')).toEqual([
      'NetworkCreated=False MixedPrimaryNetworks: primary network already exist in namespace "blue": "blue/one": a ClusterUserDefinedNetwork can\'t be added to a namespace whose primary network is a UserDefinedNetwork',
    ]);
  });

  test('net1 on a, b, c and net2 on c, d, e: net2 comes to no namespace until net1 is gone', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, ...['a', 'b', 'c', 'd', 'e'].map((name) => namespace(name)));
    await apply(store, clusterLayer3('net1', inNamespaces('a', 'b', 'c'), '10.20.0.0/16'));
    await apply(store, clusterLayer3('net2', inNamespaces('c', 'd', 'e'), '10.30.0.0/16'));
    await running.settled();
    expect(await conditions(store, 'net1')).toEqual([
      ALLOCATED,
      'NetworkCreated=True NetworkAttachmentDefinitionCreated: NetworkAttachmentDefinition has been created in following namespaces: [a, b, c]',
    ]);
    expect(await conditions(store, 'net2')).toEqual([
      'NetworkCreated=False NamespaceSelectorMismatch: primary network already exist in namespace "c": "c/net1": a further primary network needs the same spec.namespaceSelector as network cluster_udn_net1',
    ]);
    expect(await nadLines(store)).toEqual([
      'a/net1 name=cluster_udn_net1 id=1 keys=[]',
      'b/net1 name=cluster_udn_net1 id=1 keys=[]',
      'c/net1 name=cluster_udn_net1 id=1 keys=[]',
    ]);
    const net2 = await store.get(clusterUserDefinedNetworks, 'net2');
    expect(net2?.status?.activeNamespaces).toEqual([]);
    await remove.cudn(store, 'net1');
    await running.settled();
    expect((await conditions(store, 'net2'))[1]).toContain('in following namespaces: [c, d, e]');
  });

  test('a network that is there goes on when its selector comes to a namespace of another one', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, ...['c', 'd', 'e'].map((name) => namespace(name)));
    await apply(store, clusterLayer3('net1', inNamespaces('c'), '10.20.0.0/16'));
    await apply(store, clusterLayer3('net2', inNamespaces('d', 'e'), '10.30.0.0/16'));
    await running.settled();
    const before = await nadLines(store);
    const namespaceSelector = inNamespaces('c', 'd', 'e');
    await store.patch(
      clusterUserDefinedNetworks,
      'net2',
      { spec: { namespaceSelector } },
      { fieldManager: 'user' },
    );
    await running.settled();
    expect(await nadLines(store)).toEqual(before);
    expect((await conditions(store, 'net2'))[1]).toContain('=False NamespaceSelectorMismatch');
  });
});

describe('a ClusterUserDefinedNetwork', () => {
  test('follows its selector and the labels of namespaces', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    const blue = { ...PRIMARY, tenant: 'blue' };
    const byTenant = (tenant: string): { matchLabels: Record<string, string> } => ({
      matchLabels: { tenant },
    });
    const options = { fieldManager: 'user' };
    await apply(store, namespace('a', blue), namespace('c'));
    await apply(store, clusterLayer3('net', byTenant('blue'), '10.20.0.0/16'));
    await running.settled();
    expect(await nadLines(store)).toEqual(['a/net name=cluster_udn_net id=1 keys=[]']);
    await apply(store, namespace('b', blue));
    await store.patch(namespaces, 'a', { metadata: { labels: { tenant: null } } }, options);
    await running.settled();
    expect(await nadLines(store)).toEqual(['b/net name=cluster_udn_net id=1 keys=[]']);
    await store.patch(
      clusterUserDefinedNetworks,
      'net',
      { spec: { namespaceSelector: byTenant('green') } },
      options,
    );
    await running.settled();
    expect(await nadLines(store)).toEqual([]);
    expect(await conditions(store, 'net')).toEqual([`${CREATED} in following namespaces: []`]);
  });

  test('goes on in the namespaces that can have it', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('a'), namespace('b', {}));
    await apply(store, clusterLayer3('net', inNamespaces('a', 'b'), '10.20.0.0/16'));
    await running.settled();
    expect(await nadLines(store)).toEqual(['a/net name=cluster_udn_net id=1 keys=[]']);
    expect((await conditions(store, 'net'))[1]).toMatch(
      /^NetworkCreated=False NetworkAttachmentDefinitionSyncError: invalid primary network state for namespace "b"/,
    );
  });

  test('keeps a namespace that is no longer selected while pods use it there', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('a'), clusterLayer3('net', inNamespaces('a'), '10.20.0.0/16'));
    await apply(store, pod('a/p', 'node1', { 'k8s.ovn.org/pod-networks': '{"a/net":{}}' }));
    await running.settled();
    await store.patch(
      clusterUserDefinedNetworks,
      'net',
      { spec: { namespaceSelector: inNamespaces('b') } },
      { fieldManager: 'user' },
    );
    await running.settled();
    expect((await conditions(store, 'net')).join()).toContain(
      'NetworkAttachmentDefinitionSyncError: failed to delete NetworkAttachmentDefinition [a/net]: network in use by the following pods: [a/p]',
    );
    await remove.pod(store, 'a/p');
    await running.settled();
    expect(await nadLines(store)).toEqual([]);
  });
});
