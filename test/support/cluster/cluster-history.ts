/** Histories of a cluster: objects that come in any order, managers that are killed anywhere, and what must hold at the end. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, vi } from 'vitest';
import { overlaps, parsePrefix } from '../../../src/allocators/addresses.ts';
import {
  clusterNetworkConnects,
  clusterUserDefinedNetworks,
  endpointSlices,
  ipamClaims,
  networkAttachmentDefinitions,
  nodes as nodeKind,
  ovnSecondaryNetworks,
  pods as podKind,
  resourceKinds,
  userDefinedNetworks,
} from '../../../src/api/kinds.ts';
import { connectSubnets } from '../../../src/api/annotations/network-annotations.ts';
import { nodeSubnets } from '../../../src/api/annotations/node-annotations.ts';
import { objectKey, type KubeObject, type ResourceKind } from '../../../src/api/objects.ts';
import { podNetworks } from '../../../src/api/annotations/pod-annotations.ts';
import { StoreError, type Store } from '../../../src/store/store.ts';
import { describeConditions } from './cluster.ts';
import { anyOrder, inTurn, LASTING, mixed, NODES, remove, type Step } from './cluster-scenarios.ts';
import { startProcess, type Life } from './cluster-process.ts';

/** Runs of a property: HEDDLE_HISTORIES=50 runs more of them than the suite does. */
export function runs(usual: number): { numRuns: number } {
  const { HEDDLE_HISTORIES: count } = process.env;
  return { numRuns: count === undefined ? usual : Number(count) };
}

/** Milliseconds that a property of histories may take. */
export const HISTORIES_LIMIT = process.env['HEDDLE_HISTORIES'] === undefined ? 240_000 : 7_200_000;

const sorted = (lines: readonly string[]): readonly string[] => lines.toSorted();

/** What users see, without the values that depend on who came first. */
export async function visible(store: Store): Promise<unknown> {
  const declared: readonly KubeObject[] = [
    ...(await store.list(userDefinedNetworks)),
    ...(await store.list(clusterUserDefinedNetworks)),
    ...(await store.list(ovnSecondaryNetworks)),
    ...(await store.list(clusterNetworkConnects)),
  ];
  const nads = await store.list(networkAttachmentDefinitions);
  const nodes = await store.list(nodeKind);
  const pods = await store.list(podKind);
  const slices = await store.list(endpointSlices);
  const claims = await store.list(ipamClaims);
  return {
    statuses: sorted(
      declared.map(({ kind, metadata, status }) => {
        const { conditions, activeNamespaces } = (status ?? {}) as Status;
        const active = activeNamespaces === undefined ? '' : ` in ${activeNamespaces.join()}`;
        const told = describeConditions(conditions ?? []).join('; ');
        return `${kind} ${objectKey(metadata)}${active} ${told}`;
      }),
    ),
    nads: sorted(
      nads.map(({ metadata, spec }) => {
        const name = metadata.annotations?.['k8s.ovn.org/network-name'] ?? 'no network';
        return `${objectKey(metadata)} ${name} ${spec?.config ?? ''}`;
      }),
    ),
    nodes: sorted(
      nodes.map(
        (one) =>
          `${one.metadata.name} ${[...(nodeSubnets(one).value?.keys() ?? [])].toSorted().join()}`,
      ),
    ),
    pods: sorted(
      pods.map((one) => {
        // Whether one that has ended had addresses before depends on who was faster.
        if (one.status?.phase === 'Succeeded') return `${objectKey(one.metadata)} has ended`;
        const networks = [...(podNetworks(one).value ?? [])].map(
          ([key, { role, addresses }]) => `${key} ${role ?? ''} ${addresses.length}`,
        );
        return `${objectKey(one.metadata)} ${networks.toSorted().join('; ')}`;
      }),
    ),
    claims: sorted(
      claims.map(
        ({ metadata, status }) =>
          `${objectKey(metadata)} ${status?.ips?.length ?? 0} ${describeConditions(status?.conditions ?? []).join('; ')}`,
      ),
    ),
    mirrors: sorted(
      slices
        .filter(({ metadata }) => metadata.labels?.['k8s.ovn.org/service-name'] !== undefined)
        .map((one) => {
          const { metadata, endpoints = [] } = one as KubeObject & { endpoints?: unknown[] };
          const source = metadata.annotations?.['k8s.ovn.org/source-endpointslice'] ?? '';
          return `${metadata.namespace ?? ''}/${source} ${endpoints.length}`;
        }),
    ),
  };
}

interface Status {
  readonly conditions?: Parameters<typeof describeConditions>[0];
  readonly activeNamespaces?: readonly string[];
}

/** Values that must not occur twice, as `<space> <value>`. */
export async function givenOut(store: Store): Promise<readonly string[]> {
  const nads = await store.list(networkAttachmentDefinitions);
  const nodeList = await store.list(nodeKind);
  const podList = await store.list(podKind);
  const named = nads.map(({ metadata }) => ({
    key: objectKey(metadata),
    network: metadata.annotations?.['k8s.ovn.org/network-name'] ?? '',
    id: metadata.annotations?.['k8s.ovn.org/network-id'] ?? '',
  }));
  const networks = named.filter(({ network }) => network !== '');
  const ids = new Set(networks.map(({ network, id }) => `${network} ${id}`));
  const networkOf = new Map(networks.map(({ key, network }) => [key, network]));
  return [
    ...[...ids].map((one) => `network id ${one.split(' ')[1] ?? ''}`),
    // A node that waits for its id has not been given one.
    ...nodeList
      .map(({ metadata }) => metadata.annotations?.['k8s.ovn.org/node-id'])
      .filter((id) => id !== undefined)
      .map((id) => `node id ${id}`),
    ...nodeList.flatMap((one) =>
      [...(nodeSubnets(one).value ?? [])].flatMap(([network, subnets]) =>
        subnets.map((subnet) => `subnet of ${network}: ${subnet}`),
      ),
    ),
    ...podList
      .filter(({ status }) => status?.phase !== 'Succeeded')
      .flatMap((one) =>
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

/** What there is of a kind; nothing where its definition is not installed. */
async function listed(store: Store, kind: ResourceKind): Promise<readonly KubeObject[]> {
  try {
    return await store.list(kind);
  } catch (error) {
    if (error instanceof StoreError && error.code === 'not-installed') return [];
    throw error;
  }
}

/** Every object as `<kind> <key> <version>`, but those of a new manager's own: it leads, and says again what is wrong. */
export async function versions(store: Store): Promise<readonly string[]> {
  const lists = await Promise.all(resourceKinds.map((kind) => listed(store, kind)));
  return sorted(
    lists
      .flat()
      .filter(({ kind }) => kind !== 'Event' && kind !== 'Lease')
      .map(
        ({ kind, metadata }) => `${kind} ${objectKey(metadata)} ${metadata.resourceVersion ?? ''}`,
      ),
  );
}

export interface History {
  readonly steps: readonly Step[];
  readonly removal: readonly Step[];
  readonly lives: readonly Life[];
  /** Milliseconds after each step, over and over: with none, all is there before anybody looks. */
  readonly pauses: readonly number[];
}

const removed = LASTING.filter(({ kind }) => kind !== 'Node' && kind !== 'Namespace');
/** What the scenarios leave beside the lasting objects. */
const LEFT = [
  'UserDefinedNetwork e/growing',
  'ClusterUserDefinedNetwork moving',
  'Pod b/brief',
  'Pod d/done',
];
const removal: readonly Step[] = [
  ...removed.map(remove),
  ...LEFT.map((name) => {
    const [kind = '', key = ''] = name.split(' ');
    const [namespace, own] = key.includes('/') ? key.split('/') : [undefined, key];
    const metadata = { name: own ?? '', ...(namespace === undefined ? {} : { namespace }) };
    return remove({ apiVersion: '', kind, metadata });
  }),
];

export const histories: fc.Arbitrary<History> = fc.record({
  steps: mixed,
  removal: anyOrder(removal),
  lives: fc.array(
    fc.record({ writes: fc.integer({ min: 1, max: 40 }), isLastDone: fc.boolean() }),
    { maxLength: 5 },
  ),
  pauses: fc.array(fc.constantFrom(0, 0, 0, 1, 5, 40), { maxLength: 17 }),
});

/** A history in words, for the message of a run that failed. */
export const inWords = ({ steps, lives, pauses }: History): string =>
  [...steps.map(({ says }) => says), JSON.stringify({ lives, pauses })].join('\n');

export async function play(
  store: Store,
  steps: readonly Step[],
  pauses: readonly number[] = [],
): Promise<void> {
  for (const [index, { run }] of steps.entries()) {
    await run(store);
    const pause = pauses[index % pauses.length] ?? 0;
    // When the next step comes is part of the history: nothing is waited for.
    if (pause > 0) await sleep(pause);
  }
}

/** Runs one life after another while the objects come, then one that lives on, then one that must find nothing to do. */
async function live(
  store: Store,
  { lives, steps, pauses }: Omit<History, 'removal'>,
): Promise<void> {
  const working = play(store, steps, pauses);
  working.catch(() => {}); // a life that fails ends this before it is awaited
  for (const life of lives) {
    await using killed = startProcess(store, NODES, life);
    await killed.settled();
  }
  await working;
  {
    await using last = startProcess(store, NODES);
    await last.settled();
  }
  await checkNothingTwice(store);
  const before = await versions(store);
  await using idle = startProcess(store, NODES);
  await idle.settled();
  expect(await versions(store)).toEqual(before);
}

export async function runHistory(
  store: Store,
  { steps, removal, lives, pauses }: History,
): Promise<unknown> {
  await live(store, { lives, steps, pauses });
  const end = await visible(store);
  await live(store, { lives, steps: removal, pauses });
  expect(await visible(store)).toEqual({
    statuses: [],
    nads: [],
    nodes: NODES.map((name) => `${name} default`),
    pods: [],
    claims: [],
    mirrors: [],
  });
  return end;
}

/** Leadership is lost at a write while other work is under way, and a manager that has waited takes over: what users see then. */
export async function runTakeover(store: Store, writes: number): Promise<unknown> {
  await using first = startProcess(store, NODES, { writes, losesLease: true });
  await vi.waitUntil(() => first.isLeading(), { interval: 5, timeout: 10_000 });
  await using second = startProcess(store, []);
  await play(store, inTurn);
  await first.lost;
  // The pods' nodes are in the first process, and work on.
  for (let round = 0; round < 3; round += 1) {
    await second.settled();
    await first.settled();
  }
  await checkNothingTwice(store);
  return await visible(store);
}

/** Removes every object, whatever holds it. */
export async function wipe(store: Store): Promise<void> {
  for (const kind of resourceKinds)
    for (const { metadata } of await listed(store, kind)) {
      const key = objectKey(metadata);
      if ((metadata.finalizers ?? []).length > 0)
        await store.patch(kind, key, { metadata: { finalizers: [] } }, { fieldManager: 'user' });
      if (metadata.deletionTimestamp === undefined) await store.delete(kind, key);
    }
}

export const straight: History = { steps: inTurn, removal, lives: [], pauses: [] };
