/** Primary networks that share namespaces, grow, are taken back and go, on any store that judges objects as an API server does. */
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { overlaps, parsePrefix } from '../../../src/allocators/addresses.ts';
import { nodeSubnets } from '../../../src/api/annotations/node-annotations.ts';
import {
  clusterNetworkConnects,
  clusterUserDefinedNetworks,
  networkAttachmentDefinitions,
  nodes,
  pods,
  userDefinedNetworks,
} from '../../../src/api/kinds.ts';
import { objectKey } from '../../../src/api/objects.ts';
import type {
  ClusterUserDefinedNetwork,
  Layer3Subnet,
  UserDefinedNetwork,
} from '../../../src/api/types.ts';
import { StoreError, type Store } from '../../../src/store/store.ts';
import {
  apply,
  clusterLayer3,
  conditions,
  connect,
  describeConditions,
  inNamespaces,
  layer3,
  nadLines,
  namespace,
  node,
  nodeLines,
  pod,
  remove,
  startManager,
} from './cluster.ts';
import { startProcess } from './cluster-process.ts';
import { checkNothingTwice } from './cluster-history.ts';

const USER = { fieldManager: 'user' };

type Declared = UserDefinedNetwork | ClusterUserDefinedNetwork;

const isCluster = (key: string): boolean => !key.includes('/');

const find = (store: Store, key: string): Promise<Declared | undefined> =>
  isCluster(key) ? store.get(clusterUserDefinedNetworks, key) : store.get(userDefinedNetworks, key);

const rangesOf = (object: Declared): readonly Layer3Subnet[] =>
  ('network' in object.spec ? object.spec.network : object.spec).layer3?.subnets ?? [];

/** Asks for exactly these ranges, as `kubectl patch` does; rejects when the store refuses the change. */
async function ask(store: Store, key: string, subnets: readonly Layer3Subnet[]): Promise<void> {
  const spec = { layer3: { subnets } };
  if (isCluster(key))
    await store.patch(clusterUserDefinedNetworks, key, { spec: { network: spec } }, USER);
  else await store.patch(userDefinedNetworks, key, { spec }, USER);
}

/** A network's range is appended that overlaps the network beside it, and is taken back. */
export async function refusedAndTakenBack(store: Store): Promise<void> {
  await using manager = startManager(store);
  await apply(store, node('node1'), namespace('blue'), layer3('blue/one', '10.20.0.0/16/24'));
  await apply(store, layer3('blue/two', '10.30.0.0/16/24'));
  await manager.settled();
  const given = async (): Promise<readonly string[]> => [
    ...(await nadLines(store)),
    ...(await nodeLines(store)),
    ...(await conditions(store, 'blue/two')),
  ];
  const [before, told] = [await given(), await conditions(store, 'blue/one')];
  const first = { cidr: '10.20.0.0/16', hostSubnet: 24 };
  const second = { cidr: '10.21.0.0/16', hostSubnet: 24 };
  await ask(store, 'blue/one', [first, { cidr: '10.30.128.0/17', hostSubnet: 24 }, second]);
  await manager.settled();
  expect(await given()).toEqual(before);
  expect((await conditions(store, 'blue/one')).join()).toContain(
    "=False OverlappingNetworkSubnets: subnet 10.30.128.0/17 can't be appended to network blue_one: it overlaps subnet 10.30.0.0/16 of network blue_two",
  );
  await expect(ask(store, 'blue/one', [first])).rejects.toThrow(
    'Removing existing subnets is not allowed',
  );
  await ask(store, 'blue/one', [first, second]);
  await manager.settled();
  expect(await conditions(store, 'blue/one')).toEqual(told);
  await expect(ask(store, 'blue/one', [first])).rejects.toThrow(
    'Removing existing subnets is not allowed',
  );
}

/** A network whose selector is not that of the one it would share a namespace with is nowhere, until it has the same. */
export async function selectorMismatch(store: Store): Promise<void> {
  await using manager = startManager(store);
  await apply(store, ...['c', 'd', 'e'].map((name) => namespace(name)));
  await apply(store, clusterLayer3('net1', inNamespaces('c', 'd'), '10.20.0.0/16/24'));
  await manager.settled();
  const before = await nadLines(store);
  await apply(store, clusterLayer3('net2', inNamespaces('d', 'e'), '10.30.0.0/16/24'));
  await manager.settled();
  expect(await nadLines(store)).toEqual(before);
  expect((await conditions(store, 'net2')).join()).toContain(
    'NetworkCreated=False NamespaceSelectorMismatch: primary network already exist in namespace "d": "d/net1"',
  );
  const spec = { namespaceSelector: inNamespaces('d', 'c') };
  await store.patch(clusterUserDefinedNetworks, 'net2', { spec }, USER);
  await manager.settled();
  expect((await conditions(store, 'net2')).join()).toContain('following namespaces: [c, d]');
}

/** A connection whose subnets the cluster or a node uses is refused for that, before how many networks it has is looked at. */
export async function connectionOnTakenRanges(store: Store): Promise<void> {
  await using manager = startManager(store);
  const own = { 'k8s.ovn.org/host-cidrs': '["172.18.0.2/16"]' };
  await apply(store, node('node1', own), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  for (const [name, range] of [
    ['on-pods', '10.244.128.0/17/24'],
    ['on-join', '100.64.0.0/17/24'],
    ['on-node', '172.18.128.0/17/24'],
    ['alone', '192.168.0.0/16/24'],
  ] as const)
    await apply(store, connect(name, ['blue'], range));
  await manager.settled();
  const told = async (name: string): Promise<string> => {
    const found = await store.get(clusterNetworkConnects, name);
    return describeConditions(found?.status?.conditions ?? []).join();
  };
  const conflict = 'Accepted=False ConnectSubnetConflict: Connect subnet';
  expect(await told('on-pods')).toContain(
    `${conflict} 10.244.128.0/17 conflicts with pod subnet 10.244.0.0/16 of the cluster`,
  );
  expect(await told('on-join')).toContain(
    `${conflict} 100.64.0.0/17 conflicts with join subnet 100.64.0.0/16 of the cluster`,
  );
  expect(await told('on-node')).toContain(
    `${conflict} 172.18.128.0/17 conflicts with the network 172.18.0.0/16 of node 'node1'`,
  );
  expect(await told('alone')).toContain('Accepted=False InsufficientNetworks');
}

/** A network is deleted that a pod is on: new pods go to the other one, and who is in the way is said as it is now. */
export async function deletedWhileInUse(store: Store): Promise<void> {
  await using process = startProcess(store, ['n1']);
  await apply(store, node('n1'), namespace('blue'), layer3('blue/one', '10.20.0.0/16/24'));
  await process.settled();
  await apply(store, pod('blue/first', 'n1'));
  await process.settled();
  await apply(store, layer3('blue/two', '10.30.0.0/16/24'));
  await process.settled();
  await remove.udn(store, 'blue/one');
  await process.settled();
  const inUse = async (): Promise<string | undefined> =>
    (await conditions(store, 'blue/one')).find((line) => line.includes('in use by'));
  expect(await inUse()).toContain('in use by the following pods: [blue/first]');
  await apply(store, pod('blue/second', 'n1'));
  await apply(store, pod('blue/third', 'n1', { 'k8s.ovn.org/requested-primary-udn': 'one' }));
  await process.settled();
  expect(await networksOf(store, 'blue/second')).toEqual(['blue/two', 'default']);
  expect(await inUse()).toContain('in use by the following pods: [blue/first blue/third]');
  await remove.pod(store, 'blue/first');
  await process.settled();
  expect(await inUse()).toContain('in use by the following pods: [blue/third]');
  await remove.pod(store, 'blue/third');
  await process.settled();
  expect(await store.get(userDefinedNetworks, 'blue/one')).toBeUndefined();
  expect(await networksOf(store, 'blue/second')).toEqual(['blue/two', 'default']);
}

const networksOf = async (store: Store, key: string): Promise<readonly string[]> => {
  const text = (await store.get(pods, key))?.metadata.annotations?.['k8s.ovn.org/pod-networks'];
  return Object.keys(JSON.parse(text ?? '{}') as object).sort();
};

/** Networks that come and go; those of a row share a namespace, but for `odd`, whose selector matches nobody's. */
const NETWORKS = ['a/one', 'a/two', 'c-one', 'c-two', 'odd'];
const TEAM = { matchLabels: { team: 'x' } };

function declare(key: string): Declared {
  const first = key.endsWith('one') ? '10.20.0.0/24/26' : '10.30.0.0/24/26';
  if (!isCluster(key)) return layer3(key, first);
  return clusterLayer3(key, key === 'odd' ? inNamespaces('c') : TEAM, first);
}

/** Two that overlap, one that only collides with a network's first range, and some that no network may have. */
const POOL = ['10.40.0.0/24', '10.40.0.0/25', '10.30.0.0/25', '10.41.0.0/24', '10.96.1.0/24'];
const NODE_NETWORK = '172.18.0.0/16';

type Operation =
  | { readonly does: 'create' | 'delete' | 'take back' | 'use' | 'leave'; readonly network: string }
  | { readonly does: 'append'; readonly network: string; readonly cidr: string }
  | { readonly does: 'settle' | 'restart' };

const network = fc.constantFrom(...NETWORKS);

export const growths: fc.Arbitrary<readonly Operation[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        does: fc.constant('append' as const),
        network,
        cidr: fc.constantFrom(...POOL, NODE_NETWORK),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        does: fc.constantFrom(
          'create' as const,
          'create' as const,
          'delete' as const,
          'take back' as const,
          'use' as const,
          'leave' as const,
        ),
        network,
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ does: fc.constantFrom('settle' as const, 'restart' as const) }),
    },
  ),
  { minLength: 10, maxLength: 40 },
);

/** A pod that carries the network's NAD; of a network of several namespaces, in the first one. */
const userOf = (key: string): string => (isCluster(key) ? `c/${key}` : key);

/** What a user does; what the store has against it is part of the history. */
async function perform(store: Store, operation: Operation): Promise<void> {
  try {
    switch (operation.does) {
      case 'create':
        await apply(store, declare(operation.network));
        return;
      case 'delete':
        await (isCluster(operation.network) ? remove.cudn : remove.udn)(store, operation.network);
        return;
      case 'append': {
        const object = await find(store, operation.network);
        if (object === undefined) return;
        const added = { cidr: operation.cidr, hostSubnet: 26 };
        await ask(store, operation.network, [...rangesOf(object), added]);
        return;
      }
      case 'take back': {
        const object = await find(store, operation.network);
        if (object === undefined) return;
        const refused = object.status?.refusedSubnets ?? [];
        const kept = rangesOf(object).filter(({ cidr }) => !refused.includes(cidr));
        await ask(store, operation.network, kept);
        return;
      }
      case 'use': {
        const key = userOf(operation.network);
        await apply(store, pod(key, 'n1', { 'k8s.ovn.org/pod-networks': `{"${key}":{}}` }));
        return;
      }
      case 'leave':
        await remove.pod(store, userOf(operation.network));
        return;
      default:
    }
  } catch (error) {
    const expected = ['already-exists', 'not-found', 'invalid', 'conflict'];
    if (!(error instanceof StoreError) || !expected.includes(error.code)) throw error;
  }
}

interface Given {
  readonly uid: string;
  readonly id: string | undefined;
  readonly ranges: readonly string[];
}

/** What networks have, by NAD, and what nodes have of them. */
async function look(store: Store): Promise<{
  readonly nads: ReadonlyMap<string, Given>;
  readonly subnets: ReadonlyMap<string, readonly string[]>;
}> {
  const nads = await store.list(networkAttachmentDefinitions);
  const list = await store.list(nodes);
  return {
    nads: new Map(
      nads.map(({ metadata, spec }) => {
        const config = JSON.parse(spec?.config ?? '{}') as { subnets?: string };
        return [
          objectKey(metadata),
          {
            uid: metadata.ownerReferences?.[0]?.uid ?? '',
            id: metadata.annotations?.['k8s.ovn.org/network-id'],
            ranges: (config.subnets ?? '').split(','),
          },
        ];
      }),
    ),
    subnets: new Map(
      list.flatMap((one) =>
        [...(nodeSubnets(one).value ?? [])].map(
          ([name, subnets]) => [`${one.metadata.name} ${name}`, subnets] as const,
        ),
      ),
    ),
  };
}

const nameOf = (key: string): string =>
  isCluster(key) ? `cluster_udn_${key}` : key.replace('/', '_');

/** What must hold whenever all is done. Returns what there is. */
async function check(
  store: Store,
  before: Awaited<ReturnType<typeof look>>,
): Promise<Awaited<ReturnType<typeof look>>> {
  const now = await look(store);
  await checkNothingTwice(store);
  for (const key of NETWORKS) {
    const object = await find(store, key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) continue;
    const places = isCluster(key) ? (key === 'odd' ? ['c'] : ['c', 'd']) : ['a'];
    const nadKeys = places.map((place) => `${place}/${object.metadata.name}`);
    const asked = rangesOf(object).map(({ cidr }) => `${cidr}/26`);
    const isWhole = nadKeys.every((nad) => {
      const found = now.nads.get(nad);
      return found?.id !== undefined && asked.every((one) => found.ranges.includes(one));
    });
    const told = describeConditions(object.status?.conditions ?? []).join('; ');
    expect(told.includes('NetworkCreated=True'), `${key}: ${told}`).toBe(isWhole);
    for (const nad of nadKeys) {
      const [old, found] = [before.nads.get(nad), now.nads.get(nad)];
      if (old === undefined || old.uid !== object.metadata.uid) continue;
      expect(found, nad).toMatchObject({ id: old.id });
      expect(found?.ranges, nad).toEqual(expect.arrayContaining([...old.ranges]));
      for (const [name, subnets] of before.subnets)
        if (name.endsWith(` ${nameOf(key)}`)) expect(now.subnets.get(name), name).toEqual(subnets);
    }
  }
  const list = [...now.nads];
  for (const [key, { ranges }] of list)
    for (const [other, { ranges: theirs }] of list) {
      if (key === other || key.split('/')[0] !== other.split('/')[0]) continue;
      const prefixes = (texts: readonly string[]): ReturnType<typeof parsePrefix>[] =>
        texts.map((text) => parsePrefix(text.slice(0, text.lastIndexOf('/'))));
      for (const a of prefixes(ranges))
        for (const b of prefixes(theirs))
          expect(a !== undefined && b !== undefined && overlaps(a, b), `${key} ${other}`).toBe(
            false,
          );
    }
  return now;
}

/** Plays a history; what was there keeps what it has, nothing is given twice, and nothing is left when all is deleted. */
export async function runGrowth(store: Store, operations: readonly Operation[]): Promise<void> {
  const label = { team: 'x', 'k8s.ovn.org/primary-user-defined-network': '' };
  const addresses = { 'k8s.ovn.org/host-cidrs': '["172.18.0.2/16"]' };
  await apply(store, node('n1', addresses), node('n2'), namespace('a'));
  await apply(store, namespace('c', label), namespace('d', label));
  let manager = startManager(store);
  try {
    await manager.settled();
    let given = await look(store);
    for (const operation of [
      ...operations,
      ...NETWORKS.map((name) => ({ does: 'delete', network: name }) as const),
      { does: 'settle' } as const,
      ...NETWORKS.map((name) => ({ does: 'leave', network: name }) as const),
      { does: 'settle' } as const,
    ]) {
      if (operation.does === 'restart') {
        await manager.stop();
        manager = startManager(store);
      }
      if (operation.does === 'restart' || operation.does === 'settle') {
        await manager.settled();
        given = await check(store, given);
      } else await perform(store, operation);
    }
  } finally {
    await manager.stop();
  }
  const { nads, subnets } = await look(store);
  expect([...nads.keys()]).toEqual([]);
  expect([...subnets.keys()].toSorted()).toEqual(['n1 default', 'n2 default']);
  expect(await store.list(userDefinedNetworks)).toEqual([]);
  expect(await store.list(clusterUserDefinedNetworks)).toEqual([]);
}
