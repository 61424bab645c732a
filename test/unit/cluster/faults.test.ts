/** What breaks around the manager: it goes on, and tries again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  networkAttachmentDefinitions,
  nodes as nodeKind,
  pods,
  userDefinedNetworks,
} from '../../../src/api/kinds.ts';
import { objectKey, type KubeObject, type ResourceKind } from '../../../src/api/objects.ts';
import type { NetworkAttachmentDefinition } from '../../../src/api/types.ts';
import { delegatingStore } from '../../../src/store/delegating-store.ts';
import { StoreError, type WatchEvent } from '../../../src/store/store.ts';
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
  node,
  nodeLines,
  pod,
  rawNad,
  remove,
  startManager,
} from '../../support/cluster/cluster.ts';
import {
  checkNothingTwice,
  play,
  runHistory,
  straight,
  visible,
} from '../../support/cluster/cluster-history.ts';
import { inTurn, NODES } from '../../support/cluster/cluster-scenarios.ts';
import { startProcess } from '../../support/cluster/cluster-process.ts';
import { settle as letAllSettle } from '../../support/run/manual-clock.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

test('a manager that starts again withdraws no condition, good or bad', async () => {
  const store = new MemoryStore();
  const said = new Set<string>();
  {
    await using running = startManager(store);
    await apply(store, node('node1'), node('node2'), namespace('blue'), namespace('red'));
    await apply(store, layer3('blue/net', '10.20.0.0/24/24'), layer3('red/net', '10.244.0.0/16'));
    await running.settled();
    for (const key of ['blue/net', 'red/net'])
      for (const line of await conditions(store, key)) said.add(line);
  }
  expect([...said].filter((line) => line.includes('=False'))).toHaveLength(2);
  const { length } = store.writes;
  await using running = startManager(store);
  await running.settled();
  await sleep(1500);
  await running.settled();
  expect(store.writes.slice(length)).toEqual([]);
});

test('while nothing can be written, networks that are refused somewhere wait for their back-off', async () => {
  const store = new MemoryStore();
  // In `plain`, which has not the label, they are refused.
  await apply(store, namespace('plain', {}), namespace('red'), namespace('green'));
  let refused = 0;
  store.beforeWrite = ({ fieldManager }) => {
    if (fieldManager === 'user') return;
    refused += 1;
    throw new StoreError('unavailable', 'the connection was cut');
  };
  await using running = startManager(store);
  await running.manager.started;
  for (const [name, subnet, other] of [
    ['one', '10.1.0.0/16', 'red'],
    ['two', '10.2.0.0/16', 'green'],
  ] as const)
    await apply(store, clusterLayer3(name, inNamespaces('plain', other), subnet));
  await expect.poll(() => running.manager.problems().length).toBeGreaterThan(0);
  await sleep(300);
  expect(refused).toBeGreaterThan(4);
  // Objects are tried again after 100 ms, 200 ms …; without a pause it would be hundreds.
  expect(refused).toBeLessThan(40);
  store.beforeWrite = () => undefined;
});

test('a network that is tried again while another one gives its place back gets that place', async () => {
  const store = new MemoryStore();
  const former = rawNad('green/one', {
    cniVersion: '1.1.0',
    type: 'ovn-k8s-cni-overlay',
    name: 'cluster_udn_one',
    netAttachDefName: 'green/one',
    topology: 'layer3',
    role: 'primary',
    subnets: '10.1.0.0/16',
  });
  const owner = {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'ClusterUserDefinedNetwork',
    name: 'one',
    uid: 'former',
    controller: true,
  };
  await apply(
    store,
    namespace('red'),
    namespace('green'),
    { ...former, metadata: { ...former.metadata, ownerReferences: [owner] } },
    pod('green/user', undefined, { 'k8s.ovn.org/pod-networks': '{"green/one":{}}' }),
  );
  const [place, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const retried = Promise.withResolvers<void>();
  let attempts = Number.NEGATIVE_INFINITY;
  const held = delegatingStore(store, {
    async create(kind, object, options) {
      if (
        `${object.kind} ${objectKey(object.metadata)}` === 'NetworkAttachmentDefinition red/two'
      ) {
        await place.promise;
        throw new StoreError('invalid', 'no');
      }
      return store.create(kind, object, options);
    },
    // Asked for the owner of a NAD that a former object left; pods use it, so nothing is written for it.
    async get(kind, key) {
      if (kind.kind === 'ClusterUserDefinedNetwork') attempts += 1;
      if (kind.kind === 'ClusterUserDefinedNetwork' && attempts === 1)
        throw new StoreError('unavailable', 'the connection was cut');
      if (kind.kind === 'ClusterUserDefinedNetwork' && attempts === 2) {
        retried.resolve();
        await second.promise;
      }
      return store.get(kind, key);
    },
  });
  await using running = startManager(held);
  await running.manager.started;
  await apply(store, layer3('red/two', '10.2.0.0/16'));
  await letAllSettle();
  attempts = 0;
  await apply(store, clusterLayer3('one', inNamespaces('red', 'green'), '10.1.0.0/16'));
  // It is decided once more, and refused, before the other one gives its place back; nothing that it writes wakes it again.
  await retried.promise;
  place.resolve();
  await expect
    .poll(() => running.manager.problems().map(({ object }) => object))
    .toContain('UserDefinedNetwork red/two');
  second.resolve();
  await expect.poll(() => store.get(networkAttachmentDefinitions, 'red/one')).toBeDefined();
});

test('a conflict is a problem when retries do not cure it', async () => {
  const store = new MemoryStore();
  let conflicts = 0;
  let left = 2;
  store.beforeWrite = ({ fieldManager }) => {
    if (fieldManager === 'user' || left === 0) return;
    left -= 1;
    conflicts += 1;
    throw new StoreError('conflict', 'the object has been modified');
  };
  await using running = startManager(store);
  await running.manager.started;
  const seen = new Set<string>();
  const watching = setInterval(() => {
    for (const { message } of running.manager.problems()) seen.add(message);
  }, 1);
  await apply(store, namespace('blue'), layer3('blue/net', '10.20.0.0/16'));
  await expect
    .poll(() => nadLines(store))
    .toEqual([expect.stringMatching(/^blue\/net name=blue_net id=\d keys/)]);
  await running.settled();
  expect(conflicts).toBe(2);
  expect([...seen]).toEqual([]);
  left = Infinity;
  await apply(store, namespace('red'), layer3('red/net', '10.30.0.0/16'));
  await expect.poll(() => [...seen], { timeout: 10_000 }).toContain('the object has been modified');
  left = 0;
  await expect.poll(() => running.manager.problems(), { timeout: 10_000 }).toEqual([]);
  clearInterval(watching);
});

test.each(['unavailable', 'conflict'] as const)(
  'every third write of the manager fails (%s): the same end',
  async (code) => {
    const expected = await runHistory(new MemoryStore(), straight);
    const store = new MemoryStore();
    let count = 0;
    store.beforeWrite = ({ fieldManager, verb }) => {
      if (fieldManager === 'user' || verb === 'delete') return;
      count += 1;
      if (count % 3 === 0) throw new StoreError(code, 'try again');
    };
    await using running = startProcess(store, NODES);
    await play(store, inTurn);
    await expect.poll(() => visible(store), { timeout: 20_000 }).toEqual(expected);
    store.beforeWrite = () => undefined;
    await running.settled();
    expect(await visible(store)).toEqual(expected);
    await checkNothingTwice(store);
  },
  30_000,
);

test('an object that is refused by the store harms itself alone', async () => {
  const store = new MemoryStore();
  store.beforeWrite = ({ verb, kind, key }) => {
    if (verb === 'create' && kind === 'NetworkAttachmentDefinition' && key === 'bad/net')
      throw new StoreError('forbidden', 'quota exceeded in namespace bad');
  };
  await using running = startManager(store);
  for (const name of ['bad', 'good'])
    await apply(store, namespace(name), layer3(`${name}/net`, '10.20.0.0/16'));
  await running.settled();
  expect(await conditions(store, 'bad/net')).toEqual([
    'NetworkCreated=False SyncError: quota exceeded in namespace bad',
  ]);
  expect(await conditions(store, 'good/net')).toEqual([ALLOCATED, CREATED]);
});

describe('a NAD whose object is gone', () => {
  const orphan = (owner: object): NetworkAttachmentDefinition => {
    const nad = rawNad('blue/net', {
      cniVersion: '1.1.0',
      type: 'ovn-k8s-cni-overlay',
      name: 'blue_net',
      netAttachDefName: 'blue/net',
      topology: 'layer3',
      role: 'primary',
      subnets: '10.20.0.0/16/24',
    });
    const ownerReferences = [
      {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'UserDefinedNetwork',
        name: 'net',
        uid: 'former',
        controller: true,
        ...owner,
      },
    ];
    const finalizers = ['k8s.ovn.org/user-defined-network-protection'];
    return { ...nad, metadata: { ...nad.metadata, finalizers, ownerReferences } };
  };

  test('is removed, unless pods use it', async () => {
    const store = new MemoryStore();
    const carried = {
      'blue/net': {
        ip_addresses: ['10.20.0.3/24'],
        mac_address: '0a:58:0a:14:00:03',
        role: 'primary',
      },
    };
    const web = pod('blue/web', 'node1', { 'k8s.ovn.org/pod-networks': JSON.stringify(carried) });
    await apply(store, node('node1'), namespace('blue'), web, orphan({}));
    await using running = startProcess(store, ['node1']);
    await running.settled();
    expect(running.problems()).toContainEqual(
      expect.stringMatching(/^UserDefinedNetwork blue\/net: failed to delete .*blue\/net/),
    );
    await remove.pod(store, 'blue/web');
    await running.settled();
    expect(await nadLines(store)).toEqual([]);
    expect((await nodeLines(store))[0]).not.toContain('blue_net');
    expect(running.problems()).toEqual([]);
  });

  test('makes way for a new object of that name', async () => {
    const store = new MemoryStore();
    await apply(store, node('node1'), namespace('blue'), orphan({}));
    await apply(store, layer3('blue/net', '10.30.0.0/16/24'));
    await using running = startManager(store);
    await running.settled();
    expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
    const nad = await store.get(networkAttachmentDefinitions, 'blue/net');
    expect(nad?.spec?.config).toContain('10.30.0.0/16/24');
  });

  test('stays when it is not known whether the object is gone', async () => {
    const store = new MemoryStore();
    const get: typeof store.get = async (kind, key) => {
      if (kind.kind === 'UserDefinedNetwork') throw new StoreError('not-installed', 'no such kind');
      return MemoryStore.prototype.get.call(store, kind, key) as never;
    };
    store.get = get;
    await apply(store, namespace('blue'), orphan({}));
    await using running = startManager(store);
    await running.settled();
    expect(await store.list(networkAttachmentDefinitions)).toHaveLength(1);
  });

  test('that somebody else’s controller made is not touched', async () => {
    const store = new MemoryStore();
    await apply(
      store,
      namespace('blue'),
      orphan({ kind: 'VirtualNetwork', apiVersion: 'x.org/v1' }),
    );
    await using running = startManager(store);
    await running.settled();
    expect(await store.list(networkAttachmentDefinitions)).toHaveLength(1);
  });
});

test('events that are not taken hold nothing up', async () => {
  const store = new MemoryStore();
  store.event = () => new Promise(() => undefined);
  await using _running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('bad', {}), namespace('good'));
  for (let index = 0; index < 20; index += 1) {
    await apply(store, rawNad(`bad/nad${index}`, '{"type": "ovn-k8s-cni-overlay", "name":'));
    await apply(store, pod(`bad/pod${index}`, 'node1', { 'k8s.v1.cni.cncf.io/networks': 'none' }));
  }
  await apply(store, layer3('good/net', '10.20.0.0/16/24'), pod('good/web', 'node1'));
  await expect.poll(() => conditions(store, 'good/net')).toEqual([ALLOCATED, CREATED]);
  await expect
    .poll(async () => (await store.get(pods, 'good/web'))?.metadata.annotations)
    .toMatchObject({ 'k8s.ovn.org/pod-networks': expect.stringContaining('good/net') as string });
});

test('decisions are made in the order of age, and a write that hangs holds up its own object alone', async () => {
  const store = new MemoryStore();
  await apply(store, node('node1'), namespace('blue'), namespace('red'));
  for (const key of ['blue/older', 'blue/younger', 'red/net'])
    await apply(store, layer3(key, '10.20.0.0/16/24'));
  const released = Promise.withResolvers<void>();
  const patch = store.patch.bind(store);
  store.patch = async (kind, key, change, options) => {
    if (key === 'blue/older') await released.promise;
    return await patch(kind, key, change, options);
  };
  await using running = startManager(store);
  try {
    await expect
      .poll(() => conditions(store, 'red/net'), { timeout: 5000 })
      .toEqual([ALLOCATED, CREATED]);
    expect((await nodeLines(store))[0]).toContain('red_net');
    await expect
      .poll(async () => (await conditions(store, 'blue/younger'))[0], { timeout: 5000 })
      .toContain('primary network already exist in namespace "blue": "blue/older"');
    expect(await conditions(store, 'blue/older')).toEqual([]);
  } finally {
    released.resolve();
  }
  await running.settled();
  expect(await conditions(store, 'blue/older')).toEqual([ALLOCATED, CREATED]);
  expect((await conditions(store, 'blue/younger'))[0]).toMatch(/^NetworkCreated=False/);
});

describe('a NAD whose creation hangs in an admission webhook', () => {
  /** A store that creates the NADs of a namespace only when they are let in, or refuses them. */
  function admission(namespaceName: string): {
    store: MemoryStore;
    end: (error?: StoreError) => void;
  } {
    const store = new MemoryStore();
    const answer = Promise.withResolvers<StoreError | undefined>();
    const create = store.create.bind(store);
    store.create = async (kind, object, options) => {
      if (kind.plural === 'network-attachment-definitions')
        if (object.metadata.namespace === namespaceName) {
          const refusal = await answer.promise;
          if (refusal !== undefined) throw refusal;
        }
      return await create(kind, object, options);
    };
    return { store, end: answer.resolve };
  }
  const nadKeys = async (store: MemoryStore): Promise<readonly string[]> =>
    (await nadLines(store)).map((line) => line.split(' ')[0] ?? '');

  test('holds up no other network, nor the other namespaces of its own', async () => {
    const { store, end } = admission('slow');
    await using running = startManager(store);
    try {
      await apply(store, node('node1'), namespace('slow'), namespace('fast'), namespace('other'));
      for (let index = 0; index < 20; index += 1)
        await apply(store, layer3(`slow/net${index}`, `10.${20 + index}.0.0/16/24`, 'Secondary'));
      await apply(store, clusterLayer3('shared', inNamespaces('slow', 'fast'), '10.90.0.0/16/24'));
      await apply(store, layer3('other/net', '10.91.0.0/16/24'));
      await expect
        .poll(() => conditions(store, 'other/net'), { timeout: 5000 })
        .toEqual([ALLOCATED, CREATED]);
      await expect.poll(() => nadKeys(store)).toEqual(['fast/shared', 'other/net']);
    } finally {
      end();
    }
    await running.settled();
    expect(await nadKeys(store)).toHaveLength(23);
    expect(await conditions(store, 'slow/net7')).toEqual([ALLOCATED, CREATED]);
  });

  test('and is refused in the end gives back its place, and is not asked for again and again', async () => {
    const { store, end } = admission('blue');
    let refusals = 0;
    const create = store.create.bind(store);
    store.create = async (kind, object, options) => {
      refusals += kind.plural === 'network-attachment-definitions' ? 1 : 0;
      return await create(kind, object, options);
    };
    await using running = startManager(store);
    await apply(store, namespace('blue'));
    await apply(store, layer3('blue/older', '10.20.0.0/16/24'));
    await apply(store, layer3('blue/younger', '10.20.0.0/16/24'));
    await expect
      .poll(async () => (await conditions(store, 'blue/younger'))[0], { timeout: 5000 })
      .toContain('"blue/older"');
    end(new StoreError('forbidden', 'not in this namespace'));
    await running.settled();
    for (const key of ['blue/older', 'blue/younger'])
      expect(await conditions(store, key)).toEqual([
        'NetworkCreated=False SyncError: not in this namespace',
      ]);
    // Each once, and once more for its own finalizer that came back meanwhile.
    expect(refusals).toBeLessThanOrEqual(4);
    expect(await nadKeys(store)).toEqual([]);
  });
});

describe('annotations that others broke', () => {
  test.each([
    ['k8s.ovn.org/node-subnets', '{'],
    [
      'k8s.ovn.org/node-subnets',
      '{"default":["10.99.0.0/24"],"blue_net":7,"gone":["10.1.0.0/24"]}',
    ],
    ['k8s.ovn.org/node-subnets', null],
    ['k8s.ovn.org/node-id', 'x'],
    ['k8s.ovn.org/node-id', '3'],
    ['k8s.ovn.org/node-transit-switch-port-ifaddr', '[]'],
  ])('%s = %j is written back', async (key, value) => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('node1'), node('node2'));
    await apply(store, namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
    await running.settled();
    const before = await nodeLines(store);
    const edit = { metadata: { annotations: { [key]: value } } };
    await store.patchStatus(nodeKind, 'node1', edit, { fieldManager: 'user' });
    await running.settled();
    expect(await nodeLines(store)).toEqual(before);
  });

  test('two nodes that carry the same id and subnet: the older one keeps them', async () => {
    const store = new MemoryStore();
    const same = {
      'k8s.ovn.org/node-id': '7',
      'k8s.ovn.org/node-subnets': '{"default":["10.244.9.0/24"]}',
    };
    await apply(store, node('older', same), node('younger', same));
    await using running = startManager(store);
    await running.settled();
    expect(await nodeLines(store)).toEqual([
      'older id=7 transit={"ipv4":"100.88.0.7/16"} subnets={"default":["10.244.9.0/24"]}',
      'younger id=2 transit={"ipv4":"100.88.0.2/16"} subnets={"default":["10.244.0.0/24"]}',
    ]);
  });

  test('a pod’s network annotation that is no JSON is replaced by what the pod gets', async () => {
    const store = new MemoryStore();
    await using running = startProcess(store, ['node1']);
    await apply(store, node('node1'), namespace('plain', {}));
    await running.settled();
    await apply(store, pod('plain/a', 'node1', { 'k8s.ovn.org/pod-networks': 'x' }));
    await running.settled();
    const found = await store.get(pods, 'plain/a');
    expect(found?.metadata.annotations?.['k8s.ovn.org/pod-networks']).toContain('10.244.0.3/24');
  });
});

describe('stored identities', () => {
  const config = (key: string, name: string): object => ({
    cniVersion: '1.1.0',
    type: 'ovn-k8s-cni-overlay',
    name,
    netAttachDefName: key,
    topology: 'layer2',
    role: 'primary',
    subnets: '10.50.0.0/16',
  });

  test('are adopted before anything is given, whoever is older', async () => {
    const store = new MemoryStore();
    await apply(store, namespace('a'), namespace('b'), layer2('a/net', '10.20.0.0/16'));
    const carried = {
      'k8s.ovn.org/network-id': '1',
      'k8s.ovn.org/tunnel-keys': '[16711684,16715779]',
    };
    await apply(store, rawNad('b/raw', config('b/raw', 'tenant'), carried));
    await using running = startManager(store);
    await running.settled();
    expect(await nadLines(store)).toEqual([
      'a/net name=a_net id=2 keys=[16711685,16715780]',
      'b/raw name=tenant id=1 keys=[16711684,16715779]',
    ]);
  });

  test('that two networks carry stay with the older NAD', async () => {
    const store = new MemoryStore();
    const carried = { 'k8s.ovn.org/network-id': '5' };
    await apply(store, namespace('a'), namespace('b'));
    await apply(store, rawNad('a/x', config('a/x', 'one'), carried));
    await apply(store, rawNad('b/y', config('b/y', 'two'), carried));
    await using running = startManager(store);
    await running.settled();
    expect((await nadLines(store)).map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
      'a/x name=one id=5',
      'b/y name=two id=1',
    ]);
  });
});

test('objects that are deleted and made again while they are handled end as if they were new', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, node('node1'), namespace('blue'));
  for (let round = 0; round < 5; round += 1) {
    await apply(store, layer3('blue/net', `10.2${round}.0.0/16/24`));
    if (round % 2 === 0) await running.settled();
    await remove.udn(store, 'blue/net');
    const isGone = async (): Promise<boolean> =>
      (await store.get(userDefinedNetworks, 'blue/net')) === undefined;
    await expect.poll(isGone).toBe(true);
  }
  await apply(store, layer3('blue/net', '10.40.0.0/16/24'));
  await running.settled();
  expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
  expect(await store.list(networkAttachmentDefinitions)).toHaveLength(1);
  expect((await nodeLines(store))[0]).toContain('"blue_net":["10.40.0.0/24"]');
});

test('a manager that leads and may not read a kind says so, until it may', async () => {
  class Guarded extends MemoryStore {
    readonly opened = Promise.withResolvers<void>();

    override async watch<T extends KubeObject>(
      kind: ResourceKind<T>,
      handler: (event: WatchEvent<T>) => void,
      signal: AbortSignal,
    ): Promise<void> {
      if (kind.kind === 'NetworkAttachmentDefinition') {
        const error = new StoreError('forbidden', 'NADs: list is not allowed');
        handler({ type: 'stalled', error });
        await this.opened.promise;
      }
      await super.watch(kind, handler, signal);
    }
  }
  const store = new Guarded();
  await using running = startManager(store);
  await letAllSettle();
  expect(running.manager.waitsFor).toBe('NADs: list is not allowed');
  store.opened.resolve();
  await running.settled();
  expect(running.manager.waitsFor).toBeUndefined();
});
