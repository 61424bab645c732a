/** Histories of a cluster: objects that come in any order, managers that are killed anywhere, and what must hold at the end. */
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { overlaps, parsePrefix } from '../../src/allocators/addresses.ts';
import {
  clusterNetworkConnects,
  clusterUserDefinedNetworks,
  networkAttachmentDefinitions,
  nodes as nodeKind,
  pods as podKind,
  resourceKinds,
  userDefinedNetworks,
} from '../../src/api/kinds.ts';
import { connectSubnets } from '../../src/api/network-annotations.ts';
import { nodeSubnets } from '../../src/api/node-annotations.ts';
import { objectKey, type KubeObject } from '../../src/api/objects.ts';
import { podNetworks } from '../../src/api/pod-annotations.ts';
import type { Store } from '../../src/store/store.ts';
import {
  apply,
  clusterLayer3,
  connect,
  describeConditions,
  inNamespaces,
  layer2,
  layer3,
  namespace,
  node,
  pod,
} from './cluster.ts';
import { startProcess, type Life } from './cluster-process.ts';

export const NODES = ['n1', 'n2', 'n3'];

/** Objects that get along, so that the end does not depend on who came first. */
export const OBJECTS: readonly KubeObject[] = [
  ...NODES.map((name) => node(name)),
  ...['a', 'b', 'c', 'd'].map((name) => namespace(name)),
  namespace('plain', {}),
  layer3('a/net', '10.1.0.0/16/24'),
  layer2('b/net', '10.2.0.0/24'),
  layer3('b/extra', '10.8.0.0/16/24', 'Secondary'),
  layer3('plain/refused', '10.9.0.0/16'),
  clusterLayer3('shared', inNamespaces('c', 'd'), '10.3.0.0/16/24'),
  connect('all', ['a', 'b', 'c'], '192.168.0.0/16/24'),
  ...['a/p1', 'a/p2', 'b/p1', 'b/p2', 'c/p1', 'd/p1', 'plain/p1', 'plain/p2'].map((key, index) =>
    pod(key, NODES[index % 2] ?? 'n1'),
  ),
  pod('b/p3', 'n1', { 'k8s.v1.cni.cncf.io/networks': 'extra' }),
];

/** What users see, without the values that depend on who came first. */
export async function visible(store: Store): Promise<unknown> {
  const [udns, cudns, connects, nads, nodeList, podList] = await Promise.all([
    store.list(userDefinedNetworks),
    store.list(clusterUserDefinedNetworks),
    store.list(clusterNetworkConnects),
    store.list(networkAttachmentDefinitions),
    store.list(nodeKind),
    store.list(podKind),
  ]);
  const sorted = (lines: readonly string[]): readonly string[] => lines.toSorted();
  return {
    statuses: sorted(
      [...udns, ...cudns, ...connects].map(
        ({ kind, metadata, status }) =>
          `${kind} ${objectKey(metadata)} ${describeConditions(status?.conditions ?? []).join('; ')}`,
      ),
    ),
    nads: sorted(nads.map(({ metadata, spec }) => `${objectKey(metadata)} ${spec?.config ?? ''}`)),
    nodes: sorted(
      nodeList.map(
        (one) =>
          `${one.metadata.name} ${[...(nodeSubnets(one).value?.keys() ?? [])].toSorted().join()}`,
      ),
    ),
    pods: sorted(
      podList.map((one) => {
        const networks = [...(podNetworks(one).value ?? [])].map(
          ([key, { role, addresses }]) => `${key} ${role ?? ''} ${addresses.length}`,
        );
        return `${objectKey(one.metadata)} ${networks.toSorted().join('; ')}`;
      }),
    ),
  };
}

/** Values that must not occur twice, as `<space> <value>`. */
export async function givenOut(store: Store): Promise<readonly string[]> {
  const nads = await store.list(networkAttachmentDefinitions);
  const nodeList = await store.list(nodeKind);
  const podList = await store.list(podKind);
  const ids = new Map(
    nads.map(({ metadata }) => [
      metadata.annotations?.['k8s.ovn.org/network-name'] ?? '',
      metadata.annotations?.['k8s.ovn.org/network-id'] ?? '',
    ]),
  );
  const networkOf = new Map(
    nads.map(({ metadata }) => [
      objectKey(metadata),
      metadata.annotations?.['k8s.ovn.org/network-name'] ?? '',
    ]),
  );
  return [
    ...[...ids.values()].map((id) => `network id ${id}`),
    ...nodeList.map(
      ({ metadata }) => `node id ${metadata.annotations?.['k8s.ovn.org/node-id'] ?? ''}`,
    ),
    ...nodeList.flatMap((one) =>
      [...(nodeSubnets(one).value ?? [])].flatMap(([network, subnets]) =>
        subnets.map((subnet) => `subnet of ${network}: ${subnet}`),
      ),
    ),
    ...podList.flatMap((one) =>
      [...(podNetworks(one).value ?? [])].flatMap(([key, { addresses, tunnelId }]) => {
        const network = networkOf.get(key) ?? key;
        return [
          ...addresses.map((address) => `address of ${network}: ${address}`),
          ...(tunnelId === undefined ? [] : [`port key of ${network}: ${tunnelId}`]),
        ];
      }),
    ),
  ];
}

export async function checkNothingTwice(store: Store): Promise<void> {
  const given = await givenOut(store);
  expect(given.filter((value, index) => given.indexOf(value) !== index)).toEqual([]);
  for (const one of await store.list(clusterNetworkConnects)) {
    const subnets = [...(connectSubnets(one).value?.values() ?? [])]
      .map(({ v4 }) => parsePrefix(v4 ?? ''))
      .filter((prefix) => prefix !== undefined);
    for (const a of subnets) for (const b of subnets) expect(a !== b && overlaps(a, b)).toBe(false);
  }
}

const without = (objects: readonly KubeObject[]): readonly KubeObject[] =>
  objects.filter(({ kind }) => kind !== 'Node' && kind !== 'Namespace');

async function removeAll(store: Store, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    const kind = resourceKinds.find((known) => known.kind === object.kind);
    if (kind !== undefined) await store.delete(kind, objectKey(object.metadata));
  }
}

export interface History {
  readonly order: readonly KubeObject[];
  readonly removal: readonly KubeObject[];
  readonly lives: readonly Life[];
}

export const histories: fc.Arbitrary<History> = fc.record({
  order: fc.shuffledSubarray([...OBJECTS], { minLength: OBJECTS.length }),
  removal: fc.shuffledSubarray([...without(OBJECTS)], { minLength: without(OBJECTS).length }),
  lives: fc.array(
    fc.record({ writes: fc.integer({ min: 1, max: 25 }), isLastDone: fc.boolean() }),
    { maxLength: 4 },
  ),
});

/** Runs one life after another while the objects come, then one that lives on. */
async function live(
  store: Store,
  { lives, work }: { lives: readonly Life[]; work: () => Promise<void> },
): Promise<void> {
  const working = work();
  for (const life of lives) {
    await using killed = startProcess(store, NODES, life);
    await killed.settled();
  }
  await working;
  await using last = startProcess(store, NODES);
  await last.settled();
  await checkNothingTwice(store);
}

export async function runHistory(
  store: Store,
  { order, removal, lives }: History,
): Promise<unknown> {
  await live(store, { lives, work: () => apply(store, ...order) });
  const end = await visible(store);
  await live(store, { lives, work: () => removeAll(store, removal) });
  expect(await visible(store)).toEqual({
    statuses: [],
    nads: [],
    nodes: NODES.map((name) => `${name} default`),
    pods: [],
  });
  return end;
}

/** Leadership is lost at a write while other work is under way, and a manager that has waited takes over: what users see then. */
export async function runTakeover(store: Store, writes: number): Promise<unknown> {
  await using first = startProcess(store, NODES, { writes, isUsurped: true });
  await using second = startProcess(store, []);
  await apply(store, ...OBJECTS);
  await first.lost;
  // The pods' nodes are in the first process, and work on.
  for (let round = 0; round < 3; round += 1) {
    await second.settled();
    await first.settled();
  }
  await checkNothingTwice(store);
  return await visible(store);
}

export const straight: History = { order: OBJECTS, removal: without(OBJECTS), lives: [] };
