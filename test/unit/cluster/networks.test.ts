import { describe, expect, test } from 'vitest';
import {
  networkAttachmentDefinitions,
  userDefinedNetworks,
  zoneStatuses,
} from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import type { NetworkState, ZoneStatus } from '../../../src/api/zone-status.ts';
import {
  ALLOCATED,
  apply,
  conditions,
  CREATED,
  layer2,
  layer3,
  nadLines,
  namespace,
  node,
  nodeLines,
  pod,
  rawNad,
  remove,
  startManager,
} from '../../support/cluster/cluster.ts';
import { SkippingClock } from '../../support/run/skipping-clock.ts';
import { DEFAULT_LIMITS } from '../../../src/cluster/settings.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const noLabel = (name: string): string =>
  `invalid primary network state for namespace "${name}": a valid primary user defined network or network attachment definition custom resource, and required namespace label "k8s.ovn.org/primary-user-defined-network" must both be present: the namespace lacks the label`;

test('a network becomes a NAD with its identity, and the nodes get subnets', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, node('node1'), node('node2'));
  await apply(store, namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  await running.settled();
  expect(await nadLines(store)).toEqual(['blue/net name=blue_net id=1 keys=[]']);
  expect(await nodeLines(store)).toEqual([
    'node1 id=2 transit={"ipv4":"100.88.0.2/16"} subnets={"blue_net":["10.20.0.0/24"],"default":["10.244.0.0/24"]}',
    'node2 id=3 transit={"ipv4":"100.88.0.3/16"} subnets={"blue_net":["10.20.1.0/24"],"default":["10.244.1.0/24"]}',
  ]);
  expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
  const udn = await store.get(userDefinedNetworks, 'blue/net');
  expect(udn?.metadata.finalizers).toEqual(['k8s.ovn.org/user-defined-network-protection']);
  const nad = await store.get(networkAttachmentDefinitions, 'blue/net');
  expect(nad?.metadata.ownerReferences).toEqual([
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'UserDefinedNetwork',
      name: 'net',
      uid: udn?.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ]);
  expect(running.manager.problems()).toEqual([]);
});

describe('a network is refused', () => {
  test('when it is primary and the namespace has no label; a secondary one needs none', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue', {}), layer3('blue/net', '10.20.0.0/16'));
    await apply(store, layer3('blue/extra', '10.30.0.0/16', 'Secondary'));
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([
      `NetworkCreated=False SyncError: ${noLabel('blue')}`,
    ]);
    expect(await conditions(store, 'blue/extra')).toEqual([ALLOCATED, CREATED]);
    expect(running.manager.problems()).toEqual([
      { object: 'UserDefinedNetwork blue/net', message: noLabel('blue') },
    ]);
  });

  test('until its namespace comes', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, layer3('blue/net', '10.20.0.0/16'));
    await running.settled();
    expect(await nadLines(store)).toEqual([]);
    await apply(store, namespace('blue'));
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
  });

  test('when it overlaps the cluster’s networks', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), layer3('blue/net', '10.244.0.0/20'));
    await running.settled();
    expect((await conditions(store, 'blue/net'))[0]).toContain(
      'invalid subnet configuration: pod or join subnet overlaps with already configured internal subnets: user defined subnet "10.244.0.0/20" overlaps cluster subnet "10.244.0.0/16"',
    );
  });

  test('when it overlaps a node’s own network, until that node is gone', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('node1', { 'k8s.ovn.org/host-cidrs': '["172.18.0.3/16"]' }));
    await apply(store, namespace('blue'), layer3('blue/net', '172.18.128.0/20'));
    await running.settled();
    expect((await conditions(store, 'blue/net'))[0]).toContain('of node "node1"');
    await remove.node(store, 'node1');
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
  });

  test('when its OVN objects would be those of an older network, until that one is gone', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), layer3('blue/a-b', '10.20.0.0/16', 'Secondary'));
    await running.settled();
    await apply(store, layer3('blue/a.b', '10.30.0.0/16', 'Secondary'));
    await running.settled();
    expect(await conditions(store, 'blue/a.b')).toEqual([
      'NetworkCreated=False SyncError: network blue_a.b would share its OVN objects with network blue_a-b (both become "blue_a.b"): choose a name that differs in more than "-" and "."',
    ]);
    expect(await conditions(store, 'blue/a-b')).toEqual([ALLOCATED, CREATED]);
    await remove.udn(store, 'blue/a-b');
    await running.settled();
    expect(await conditions(store, 'blue/a.b')).toEqual([ALLOCATED, CREATED]);
  });

  test('when the masquerade subnet has no room for one more network', async () => {
    const store = new MemoryStore();
    const masqueradeSubnets = { v4: '169.254.169.0/28', v6: 'fd69::/112' };
    await using running = startManager(store, {}, { masqueradeSubnets });
    for (const name of ['a', 'b', 'c'])
      await apply(store, namespace(name), layer3(`${name}/net`, '10.20.0.0/16'));
    await running.settled();
    expect(await conditions(store, 'b/net')).toEqual([ALLOCATED, CREATED]);
    expect((await conditions(store, 'c/net'))[0]).toContain(
      'generated ip 169.254.169.16 from the idx 16 is out of range in the network 169.254.169.0/28: masquerade subnet 169.254.169.0/28 has room for network ids up to 2, configure a larger one',
    );
  });

  test('when there are as many networks as allowed, in all or in the namespace', async () => {
    const store = new MemoryStore();
    await using running = startManager(store, {
      limits: { ...DEFAULT_LIMITS, networks: 2, networksPerNamespace: 1 },
    });
    for (const name of ['a', 'b', 'c'])
      await apply(store, namespace(name), layer3(`${name}/net`, '10.20.0.0/16'));
    await apply(store, layer3('a/more', '10.30.0.0/16', 'Secondary'));
    await running.settled();
    expect(
      running.manager.problems().map(({ object, message }) => `${object}: ${message}`),
    ).toEqual([
      'UserDefinedNetwork a/more: namespace "a" has 1 networks, and no more than 1 are allowed (--max-networks-per-namespace): delete one, or have the limit raised',
      'UserDefinedNetwork c/net: there are 2 networks, and no more than 2 are allowed: delete one, or have the limit raised',
    ]);
    await remove.udn(store, 'a/net');
    await running.settled();
    expect(running.manager.problems()).toHaveLength(1);
  });

  test('NADs of a namespace count with its networks, whoever came first, until there is room again', async () => {
    const store = new MemoryStore();
    const nad = (name: string): KubeObject =>
      rawNad(`a/${name}`, {
        type: 'ovn-k8s-cni-overlay',
        name,
        topology: 'layer2',
        netAttachDefName: `a/${name}`,
      });
    const limits = { ...DEFAULT_LIMITS, networks: 100, networksPerNamespace: 2 };
    const refused = (object: string): string =>
      `${object}: namespace "a" has 2 networks, and no more than 2 are allowed (--max-networks-per-namespace): delete one, or have the limit raised`;
    const carriesId = async (name: string): Promise<boolean> => {
      const found = await store.get(networkAttachmentDefinitions, `a/${name}`);
      return found?.metadata.annotations?.['k8s.ovn.org/network-id'] !== undefined;
    };
    {
      await using running = startManager(store, { limits });
      await apply(store, namespace('a'), layer2('a/udn', '10.20.0.0/16', 'Secondary'));
      await running.settled();
      await apply(store, nad('first'));
      await running.settled();
      await apply(store, nad('second'), layer2('a/more', '10.30.0.0/16', 'Secondary'));
      await running.settled();
      const problems = running.manager.problems();
      expect(problems.map(({ object, message }) => `${object}: ${message}`)).toEqual([
        refused('NetworkAttachmentDefinition a/second'),
        refused('UserDefinedNetwork a/more'),
      ]);
      expect(
        store.events.map(({ regarding, reason }) => `${regarding.metadata.name} ${reason}`),
      ).toEqual(['second NetworkLimitReached', 'more NetworkLimitReached']);
      expect([await carriesId('first'), await carriesId('second')]).toEqual([true, false]);
    }
    // The same is decided by a manager that finds all of them.
    await using running = startManager(store, { limits });
    await running.settled();
    expect([await carriesId('first'), await carriesId('second')]).toEqual([true, false]);
    await store.delete(networkAttachmentDefinitions, 'a/first');
    await remove.udn(store, 'a/more');
    await running.settled();
    expect(await carriesId('second')).toBe(true);
    expect(running.manager.problems()).toEqual([]);
  });

  test('when a NAD of that name is not its own', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    const foreign = rawNad('blue/net', { type: 'macvlan', name: 'net' });
    await apply(store, namespace('blue'), foreign, layer3('blue/net', '10.20.0.0/16'));
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([
      'NetworkCreated=False SyncError: foreign NetworkAttachmentDefinition with the desired name already exist [blue/net]',
    ]);
    const nad = await store.get(networkAttachmentDefinitions, 'blue/net');
    expect(nad?.spec).toEqual(foreign.spec);
  });
});

describe('a network that is there', () => {
  test('mends its NAD when somebody edits it', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
    await running.settled();
    const [before, nodesBefore] = [
      await store.get(networkAttachmentDefinitions, 'blue/net'),
      await nodeLines(store),
    ];
    const edit = {
      metadata: {
        labels: { 'k8s.ovn.org/user-defined-network': null, extra: 'x' },
        annotations: { 'k8s.ovn.org/network-id': '77', 'example.com/note': 'x' },
        finalizers: null,
      },
      spec: { config: '{"broken"' },
    };
    await store.patch(networkAttachmentDefinitions, 'blue/net', edit, { fieldManager: 'user' });
    await running.settled();
    const after = await store.get(networkAttachmentDefinitions, 'blue/net');
    const counted = { resourceVersion: '', generation: 0 };
    expect({ ...after?.metadata, ...counted }).toEqual({ ...before?.metadata, ...counted });
    expect(after?.spec).toEqual(before?.spec);
    expect(await nodeLines(store)).toEqual(nodesBefore);
  });

  test('says for which generation of the object its conditions are', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16'));
    const observed = async (): Promise<readonly unknown[]> => {
      await running.settled();
      const found = await store.get(userDefinedNetworks, 'blue/net');
      const generations = found?.status?.conditions?.map((one) => one.observedGeneration) ?? [];
      return [found?.metadata.generation, ...new Set(generations)];
    };
    expect(await observed()).toEqual([1, 1]);
    const subnets = ['10.20.0.0/16', '10.21.0.0/16'].map((cidr) => ({ cidr }));
    const patch = { spec: { layer3: { subnets } } };
    await store.patch(userDefinedNetworks, 'blue/net', patch, { fieldManager: 'user' });
    expect(await observed()).toEqual([2, 2]);
  });

  test('has a NAD without what tools wrote to know what they applied', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    const { metadata, ...rest } = layer3('blue/net', '10.20.0.0/16');
    const labels = {
      team: 'a',
      'app.kubernetes.io/instance': 'tenants',
      'app.kubernetes.io/managed-by': 'Helm',
      'kustomize.toolkit.fluxcd.io/name': 'tenants',
      'applyset.kubernetes.io/part-of': 'x',
    };
    const annotations = {
      note: 'b',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
      'argocd.argoproj.io/tracking-id': 'x',
      'meta.helm.sh/release-name': 'x',
    };
    await apply(store, namespace('blue'), {
      ...rest,
      metadata: { ...metadata, labels, annotations },
    });
    await running.settled();
    const nad = await store.get(networkAttachmentDefinitions, 'blue/net');
    expect(nad?.metadata.labels).toEqual({ 'k8s.ovn.org/user-defined-network': '', team: 'a' });
    expect(Object.keys(nad?.metadata.annotations ?? {}).toSorted()).toEqual([
      'k8s.ovn.org/network-id',
      'k8s.ovn.org/network-name',
      'k8s.ovn.org/tunnel-keys',
      'note',
    ]);
  });

  test('of topology Layer2 that is refused is told why, and nothing of ranges that its user did not choose', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), layer2('blue/net', '10.244.0.0/16'));
    await running.settled();
    const [created = ''] = await conditions(store, 'blue/net');
    expect(created).toContain('"10.244.0.0/16" overlaps cluster subnet');
    expect(created).not.toMatch(/transit/);
  });

  test('grows by an appended subnet, which serves nodes that found none', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('node1'), node('node2'), node('node3'));
    await apply(store, namespace('blue'), layer3('blue/net', '10.20.0.0/24/25'));
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([
      'NetworkAllocationSucceeded=False InternalError: Network allocation failed for at least one node: node3, check UDN events for more info.',
      CREATED,
    ]);
    expect(store.events.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      'NetworkAllocationFailed: Error occurred for node node3: error allocating network for node node3, network name blue_net: no subnets available',
    ]);
    const subnets = ['10.20.0.0/24', '10.21.0.0/24'].map((cidr) => ({ cidr, hostSubnet: 25 }));
    await store.patch(
      userDefinedNetworks,
      'blue/net',
      { spec: { layer3: { subnets } } },
      { fieldManager: 'user' },
    );
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
    expect((await nodeLines(store))[2]).toContain('"blue_net":["10.21.0.0/25"]');
  });

  test('serves a node that found no subnet when another node leaves', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('node1'), node('node2'), node('node3'));
    await apply(store, namespace('blue'), layer3('blue/net', '10.20.0.0/24/25'));
    await running.settled();
    await remove.node(store, 'node1');
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
    expect((await nodeLines(store)).map((line) => line.slice(0, 10))).toEqual([
      'node2 id=3',
      'node3 id=4',
    ]);
    expect((await nodeLines(store))[1]).toContain('"blue_net":["10.20.0.0/25"]');
  });

  test('says so when somebody deletes its NAD by hand', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), layer3('blue/net', '10.20.0.0/16'));
    await running.settled();
    await remove.nad(store, 'blue/net');
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([
      'NetworkCreated=False NetworkAttachmentDefinitionDeleted: NetworkAttachmentDefinition is being deleted: pods on the network go on; to have it whole again end them, delete the object, and create it anew',
    ]);
  });

  test('has its status written back when somebody overwrites it', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), layer3('blue/net', '10.20.0.0/16'));
    await running.settled();
    await store.patchStatus(
      userDefinedNetworks,
      'blue/net',
      { status: { conditions: [] } },
      { fieldManager: 'user' },
    );
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
  });

  test('is not isolated while a node finds what no object wants; its owner is told where, and of nobody else', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('node1'), node('node2'), namespace('blue'));
    await apply(store, layer3('blue/net', '10.20.0.0/16/24'));
    await apply(store, zone('node1', 'Programmed'), zone('node2', 'Programmed'));
    await running.settled();
    const found = async (violations?: number): Promise<void> => {
      const networks = [
        {
          name: 'blue_net',
          state: 'Programmed',
          ...(violations === undefined ? {} : { violations }),
        },
      ];
      await store.patchStatus(
        zoneStatuses,
        'node2',
        { status: { networks } },
        { fieldManager: 'x' },
      );
      await running.settled();
    };
    await found(3);
    const text =
      'something leads into the network, or out of it, that no object wants, on: [node2]; the administrator finds what in the ZoneStatus of these nodes';
    expect(await conditions(store, 'blue/net')).toContain(
      `NetworkIsolated=False IsolationViolated: ${text}`,
    );
    expect((await store.get(userDefinedNetworks, 'blue/net'))?.status).toMatchObject({
      reason: 'IsolationViolated',
    });
    // One thing more or less is no news.
    await found(2);
    await found();
    expect((await conditions(store, 'blue/net')).join(' ')).not.toContain('NetworkIsolated');
    expect(
      store.events
        .filter(({ reason }) => /Isol/.test(reason))
        .map(({ type, reason, message }) => `${type} ${reason}: ${message}`),
    ).toEqual([
      `Warning IsolationViolated: ${text}`,
      'Normal NetworkIsolated: the last proofs find nothing more that leads into the network, or out of it, and that no object wants',
    ]);
  });

  test('is ready when every node that renders it has it in the data plane', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('node1'), node('node2'), namespace('blue'));
    await apply(store, layer3('blue/net', '10.20.0.0/16/24'));
    await apply(store, zone('node1', 'Programmed'), zone('node2', 'Pending', 'no chassis'));
    await running.settled();
    expect(await conditions(store, 'blue/net')).toContain(
      'NetworkReady=False NetworkNotInDataPlane: node2: Pending: no chassis',
    );
    const shown = async (): Promise<unknown> => {
      const { networkID, nodes, reason } =
        (await store.get(userDefinedNetworks, 'blue/net'))?.status ?? {};
      return { networkID, nodes, reason };
    };
    expect(await shown()).toEqual({ networkID: 1, nodes: '1/2', reason: 'NetworkNotInDataPlane' });
    await say(store, 'node2', 'Programmed');
    await running.settled();
    expect(await shown()).toEqual({ networkID: 1, nodes: '2/2' });
    expect(await conditions(store, 'blue/net')).toContain(
      'NetworkReady=True NetworkInDataPlane: Network is in the data plane of every node that uses it: [node1, node2]',
    );
    await store.patchStatus(
      zoneStatuses,
      'node1',
      { status: { networks: [] } },
      { fieldManager: 'x' },
    );
    await store.patchStatus(
      zoneStatuses,
      'node2',
      { status: { networks: [] } },
      { fieldManager: 'x' },
    );
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
  });

  test('that waits for long tells its owner, once, and when it is ready', async () => {
    const [store, clock] = [new MemoryStore(), new SkippingClock()];
    await using running = startManager(store, {}, {}, { clock });
    await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
    await apply(store, zone('node1', 'Pending', 'waits for a gateway'));
    await running.settled();
    clock.skip(29_000);
    await running.settled();
    expect(store.events).toEqual([]);
    for (let round = 0; round < 3; round += 1) {
      clock.skip(30_000);
      await running.settled();
    }
    await say(store, 'node1', 'Programmed');
    await running.settled();
    expect(
      store.events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`),
    ).toEqual([
      'Warning NetworkNotInDataPlane: not ready for 30 s: node1: Pending: waits for a gateway',
      'Normal NetworkInDataPlane: Network is in the data plane of every node that uses it: [node1]',
    ]);
  });

  test('is not ready before every node with a chassis has said so', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    const chassis = { 'k8s.ovn.org/node-chassis-id': 'c' };
    await apply(store, node('node1', chassis), node('node2', chassis), node('bare'));
    await apply(store, namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
    await apply(store, zone('node1', 'Programmed'));
    await running.settled();
    expect(await conditions(store, 'blue/net')).toContain(
      'NetworkReady=False NetworkNotInDataPlane: node2: no report yet',
    );
    await remove.node(store, 'node2');
    await running.settled();
    expect(await conditions(store, 'blue/net')).toContain(
      'NetworkReady=True NetworkInDataPlane: Network is in the data plane of every node that uses it: [node1]',
    );
  });

  test('stays ready where a node joins, until a pod comes there or the node has begun to report', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    const chassis = { 'k8s.ovn.org/node-chassis-id': 'c' };
    await apply(store, node('node1', chassis), namespace('blue'));
    await apply(store, layer3('blue/net', '10.20.0.0/16/24'), zone('node1', 'Programmed'));
    await running.settled();
    const ready = async (): Promise<string | undefined> =>
      (await conditions(store, 'blue/net')).find((line) => line.startsWith('NetworkReady'));
    const [alone, waits] = [
      'NetworkReady=True NetworkInDataPlane: Network is in the data plane of every node that uses it: [node1]',
      'NetworkReady=False NetworkNotInDataPlane: node2: no report yet',
    ];
    expect(await ready()).toBe(alone);
    const before = store.writes.length;
    await apply(store, node('node2', chassis));
    await running.settled();
    expect(await ready()).toBe(alone);
    expect(store.writes.slice(before).map(({ key }) => key)).toEqual(['node2', 'node2']);
    await apply(store, pod('blue/web', 'node2'));
    await running.settled();
    expect(await ready()).toBe(waits);
    await remove.pod(store, 'blue/web');
    await apply(store, { ...zone('node2', 'Unused'), status: NOTHING });
    await running.settled();
    expect(await ready()).toBe(waits);
    await say(store, 'node2', 'Unused');
    await running.settled();
    expect(await ready()).toBe(alone);
  });

  test('is not ready by what nodes said that are gone', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    const chassis = { 'k8s.ovn.org/node-chassis-id': 'c' };
    await apply(store, node('node1', chassis), node('node2', chassis), namespace('blue'));
    await apply(store, layer3('blue/net', '10.20.0.0/16/24'));
    await apply(store, zone('node1', 'Programmed'), zone('node2', 'Programmed'));
    await running.settled();
    await store.delete(zoneStatuses, 'node1');
    await store.delete(zoneStatuses, 'node2');
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
  });
});

const zone = (name: string, state: NetworkState, message?: string): ZoneStatus => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'ZoneStatus',
  metadata: { name },
  status: {
    observedAt: '2026-01-01T00:00:00Z',
    networks: [{ name: 'blue_net', state, ...(message === undefined ? {} : { message }) }],
    problems: [],
  },
});

const NOTHING = { observedAt: '2026-01-01T00:00:00Z', networks: [], problems: [] };

const say = (store: MemoryStore, name: string, state: NetworkState): Promise<unknown> =>
  store.patchStatus(
    zoneStatuses,
    name,
    { status: { networks: [{ name: 'blue_net', state }] } },
    { fieldManager: name },
  );

describe('a network that is deleted', () => {
  test('leaves nothing', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
    await running.settled();
    await remove.udn(store, 'blue/net');
    await running.settled();
    expect(await store.list(userDefinedNetworks)).toEqual([]);
    expect(await nadLines(store)).toEqual([]);
    expect(await nodeLines(store)).toEqual([
      'node1 id=2 transit={"ipv4":"100.88.0.2/16"} subnets={"default":["10.244.0.0/24"]}',
    ]);
  });

  test('stays while pods use it, and goes with the last one', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    const annotation = { 'k8s.ovn.org/pod-networks': '{"blue/net":{}}' };
    await apply(store, namespace('blue'), layer3('blue/net', '10.20.0.0/16'));
    await apply(store, pod('blue/b', 'n', annotation), pod('blue/a', 'n', annotation));
    await apply(
      store,
      pod('blue/other', 'n', { 'k8s.ovn.org/pod-networks': '{"blue/network":{}}' }),
    );
    await running.settled();
    await remove.udn(store, 'blue/net');
    await running.settled();
    expect((await conditions(store, 'blue/net')).at(-1)).toEqual(
      'NetworkCreated=False SyncError: failed to delete NetworkAttachmentDefinition [blue/net]: network in use by the following pods: [blue/a blue/b]',
    );
    await remove.pod(store, 'blue/a');
    await remove.pod(store, 'blue/b');
    await running.settled();
    expect(await store.list(userDefinedNetworks)).toEqual([]);
    expect(await nadLines(store)).toEqual([]);
  });

  test('stays when a pod’s annotation can’t be read', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), layer3('blue/net', '10.20.0.0/16'));
    await apply(store, pod('blue/a', 'n', { 'k8s.ovn.org/pod-networks': '{' }));
    await running.settled();
    await remove.udn(store, 'blue/net');
    await running.settled();
    expect((await conditions(store, 'blue/net')).at(-1)).toContain(
      'failed to verify NAD not in use [blue/net]: failed to unmarshal pod annotation [blue/a]: ',
    );
  });
});

describe('NADs made by hand', () => {
  const config = (key: string, name: string, more: object = {}): object => ({
    cniVersion: '1.1.0',
    type: 'ovn-k8s-cni-overlay',
    name,
    netAttachDefName: key,
    topology: 'layer3',
    subnets: '10.50.0.0/16/24',
    ...more,
  });

  test('get an id, all those of one network the same', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('node1'), rawNad('a/x', config('a/x', 'tenant')));
    await apply(store, rawNad('b/y', config('b/y', 'tenant')));
    await running.settled();
    expect(await nadLines(store)).toEqual([
      'a/x name=tenant id=1 keys=[]',
      'b/y name=tenant id=1 keys=[]',
    ]);
    expect((await nodeLines(store))[0]).toContain('"tenant":["10.50.0.0/24"]');
    await remove.nad(store, 'a/x');
    await remove.nad(store, 'b/y');
    await running.settled();
    expect((await nodeLines(store))[0]).not.toContain('tenant');
  });

  test('that disagree with their network are left out, with an event', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, rawNad('a/x', config('a/x', 'tenant')));
    const carried = { 'k8s.ovn.org/network-id': '1', 'k8s.ovn.org/network-name': 'tenant' };
    await apply(store, rawNad('b/y', config('b/y', 'tenant', { mtu: 1200 })));
    await running.settled();
    await store.patch(
      networkAttachmentDefinitions,
      'b/y',
      { metadata: { annotations: carried } },
      { fieldManager: 'user' },
    );
    await running.settled();
    expect(await nadLines(store)).toEqual([
      'a/x name=tenant id=1 keys=[]',
      'b/y name=- id=- keys=-',
    ]);
    expect(store.events.map(({ message }) => message)).toEqual([
      'NAD b/y CNI config does not match that of network tenant: mtu, which NAD a/x has otherwise: make it equal, or give the network another name',
    ]);
  });

  test.each([
    ['{"type": "ovn-k8s-cni-overlay"', 'not valid JSON'],
    [JSON.stringify(config('b/x', 'tenant')), 'is inconsistent with config'],
  ])('that can’t be read get an event and harm nobody', async (text, message) => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), rawNad('a/x', text), layer3('blue/net', '10.20.0.0/16'));
    await running.settled();
    expect(store.events.map((event) => event.message)).toEqual([expect.stringContaining(message)]);
    expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
    expect(running.manager.problems()).toHaveLength(1);
  });

  test('that take the name of a tenant’s network get an event, and harm nobody', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    const forged = { 'k8s.ovn.org/network-id': '1', 'k8s.ovn.org/network-name': 'blue_net' };
    const evil = config('mallory/x', 'blue_net');
    await apply(store, node('node1'), namespace('blue'), rawNad('mallory/x', evil, forged));
    await apply(store, layer3('blue/net', '10.20.0.0/16'));
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
    expect(await nadLines(store)).toContain('blue/net name=blue_net id=1 keys=[]');
    expect(store.events.map(({ reason, message }) => `${reason} ${message}`)).toEqual([
      'InvalidConfig Failed to parse network config: name: "blue_net" is the network of UserDefinedNetwork blue/net, not of NAD mallory/x: choose a name without "_"',
    ]);
    expect((await nodeLines(store))[0]).toContain('"blue_net":["10.20.0.0/24"]');
    // Nor does it hold what the tenant has given back.
    await remove.udn(store, 'blue/net');
    await running.settled();
    expect((await nodeLines(store))[0]).not.toContain('blue_net');
  });

  test('keep their subnets while they are broken', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('node1'), node('node2'), rawNad('a/x', config('a/x', 'tenant')));
    await running.settled();
    const before = await nodeLines(store);
    const spec = (text: string): object => ({ spec: { config: text } });
    const options = { fieldManager: 'user' };
    await store.patch(networkAttachmentDefinitions, 'a/x', spec('{'), options);
    await running.settled();
    expect(await nodeLines(store)).toEqual(before);
    const mended = spec(JSON.stringify(config('a/x', 'tenant')));
    await store.patch(networkAttachmentDefinitions, 'a/x', mended, options);
    await running.settled();
    expect(await nodeLines(store)).toEqual(before);
  });

  test('a primary one keeps a UserDefinedNetwork out', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'));
    await apply(store, rawNad('blue/raw', config('blue/raw', 'raw', { role: 'primary' })));
    await running.settled();
    await apply(store, layer3('blue/net', '10.20.0.0/16'));
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([
      'NetworkCreated=False SyncError: primary network already exist in namespace "blue": "blue/raw"',
    ]);
  });
});
