/** Networks that come when there are many: nodes have a subnet of them where something uses them (docs/decisions/networks-on-demand.md). */
import { describe, expect, test } from 'vitest';
import { nodeSubnets } from '../../../src/api/annotations/node-annotations.ts';
import { nodes, pods, zoneStatuses } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import type { Pod } from '../../../src/api/types.ts';
import type { ZoneStatus, ZoneNetworkStatus } from '../../../src/api/zone-status.ts';
import { MasqueradeNumbers } from '../../../src/cluster/nodes/masquerade-numbers.ts';
import { DEFAULT_LIMITS } from '../../../src/cluster/settings.ts';
import {
  ALLOCATED,
  apply,
  conditions,
  CREATED,
  layer3,
  nadLines,
  namespace,
  node,
  pod,
  remove,
  startManager,
  type RunningManager,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const USER = { fieldManager: 'user' };
const SUBNETS = 'k8s.ovn.org/node-subnets';

/** One network that every node knows; what comes after it is on demand. */
const limits = { ...DEFAULT_LIMITS, preallocated: 1 };
const start = (store: MemoryStore): RunningManager => startManager(store, { limits });

const first = (): ReturnType<typeof layer3> => layer3('a/first', '10.1.0.0/16/24');
const later = (ranges = '10.2.0.0/16/24'): ReturnType<typeof layer3> => layer3('b/later', ranges);

/** Subnets of network b_later by node. */
async function given(store: MemoryStore, network = 'b_later'): Promise<Record<string, string>> {
  const list = await store.list(nodes);
  return Object.fromEntries(
    list.flatMap((one) => {
      const subnets = nodeSubnets(one).value?.get(network);
      return subnets === undefined ? [] : [[one.metadata.name, subnets.join(' ')]];
    }),
  );
}

/** What the daemon of a node reports to use besides the default network. */
async function report(
  store: MemoryStore,
  name: string,
  ...networks: readonly ZoneNetworkStatus[]
): Promise<void> {
  const zone: ZoneStatus = {
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'ZoneStatus',
    metadata: { name },
  };
  if ((await store.get(zoneStatuses, name)) === undefined)
    await store.create(zoneStatuses, zone, USER);
  await store.patchStatus(zoneStatuses, name, { status: { networks } }, USER);
}

async function cluster(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await apply(store, node('n1'), node('n2'), node('n3'), namespace('a'), namespace('b'));
  await using running = start(store);
  await apply(store, first());
  await running.settled();
  await apply(store, later());
  await running.settled();
  return store;
}

const UNUSED =
  'NetworkReady=True NetworkInDataPlane: No node uses the network yet: a node gets its rows with the first pod on it.';

const ended = (one: Pod): Pod => ({ ...one, status: { phase: 'Succeeded' } });

describe('a network that comes when there are as many as nodes know beforehand', () => {
  test('has a subnet on the nodes of its pods alone; those that came before have one everywhere', async () => {
    const store = await cluster();
    await using running = start(store);
    await running.settled();
    expect(Object.keys(await given(store, 'a_first'))).toEqual(['n1', 'n2', 'n3']);
    expect(await given(store)).toEqual({});
    await apply(store, pod('b/web', 'n2'));
    await running.settled();
    expect(await given(store)).toEqual({ n2: '10.2.0.0/24' });
    await apply(store, pod('a/web', 'n3'), pod('b/db', 'n1'));
    await running.settled();
    expect(await given(store)).toEqual({ n1: '10.2.1.0/24', n2: '10.2.0.0/24' });
  });

  test('costs a cluster no write to a node', async () => {
    const store = await cluster();
    await using running = start(store);
    await running.settled();
    const before = store.writes.length;
    await apply(store, namespace('c'), layer3('c/net', '10.3.0.0/16/24'));
    await running.settled();
    expect(store.writes.slice(before).filter(({ kind }) => kind === 'Node')).toEqual([]);
  });

  test('has one where a node reports to use it for another reason, such as a service', async () => {
    const store = await cluster();
    await using running = start(store);
    await running.settled();
    await report(store, 'n3', { name: 'b_later', state: 'Pending' });
    await running.settled();
    expect(Object.keys(await given(store))).toEqual(['n3']);
    await report(store, 'n3', { name: 'b_later', state: 'Unused' });
    await running.settled();
    expect(await given(store)).toEqual({});
  });

  test('is ready where nothing uses it, and not where a pod does and its node has not reported it', async () => {
    const store = await cluster();
    await using running = start(store);
    await apply(
      store,
      ...['n1', 'n2'].map((name) => node(`${name}x`, { 'k8s.ovn.org/node-chassis-id': name })),
    );
    for (const name of ['n1x', 'n2x']) await report(store, name);
    await running.settled();
    expect(await conditions(store, 'b/later')).toContain(UNUSED);
    await apply(store, pod('b/web', 'n2x'));
    await running.settled();
    expect(await conditions(store, 'b/later')).toContain(
      'NetworkReady=False NetworkNotInDataPlane: n2x: no report yet',
    );
    await report(store, 'n2x', { name: 'b_later', state: 'Programmed' });
    await running.settled();
    expect(await conditions(store, 'b/later')).toContain(
      'NetworkReady=True NetworkInDataPlane: Network is in the data plane of every node that uses it: [n2x]',
    );
  });

  test('keeps it until its last pod is gone and the node says that nothing uses it', async () => {
    const store = await cluster();
    await using running = start(store);
    await apply(store, pod('b/web', 'n2'), pod('b/db', 'n2'));
    await running.settled();
    await report(store, 'n2', { name: 'b_later', state: 'Programmed' });
    await remove.pod(store, 'b/web');
    await running.settled();
    expect(await given(store)).toEqual({ n2: '10.2.0.0/24' });
    await store.patchStatus(pods, 'b/db', ended(pod('b/db', 'n2')), USER);
    await running.settled();
    expect(await given(store)).toEqual({ n2: '10.2.0.0/24' });
    await report(store, 'n2');
    await running.settled();
    expect(await given(store)).toEqual({});
  });

  test('keeps it while nothing is known of the node: its daemon has not reported, or its report is gone', async () => {
    const store = await cluster();
    await using running = start(store);
    await apply(store, pod('b/web', 'n2'));
    await running.settled();
    await remove.pod(store, 'b/web');
    await running.settled();
    expect(await given(store)).toEqual({ n2: '10.2.0.0/24' });
    await report(store, 'n1', { name: 'b_later', state: 'Programmed' });
    await running.settled();
    await store.delete(zoneStatuses, 'n1');
    await running.settled();
    expect(Object.keys(await given(store))).toEqual(['n1', 'n2']);
  });

  test('a manager that starts anew leaves what is used, and takes back what is not', async () => {
    const store = await cluster();
    {
      await using running = start(store);
      await apply(store, pod('b/web', 'n1'), pod('b/db', 'n2'), pod('b/old', 'n3'));
      await running.settled();
      for (const name of ['n1', 'n2', 'n3'])
        await report(store, name, { name: 'b_later', state: 'Programmed' });
      await running.settled();
    }
    const before = await given(store);
    await remove.pod(store, 'b/old');
    await report(store, 'n3', { name: 'b_later', state: 'Unused' });
    // A report may be older than the pods: those count, too.
    await report(store, 'n2');
    await using running = start(store);
    await running.settled();
    expect(await given(store)).toEqual({ n1: before['n1'], n2: before['n2'] });
  });

  test('what a node gives back another one gets that found none', async () => {
    const store = new MemoryStore();
    await apply(store, node('n1'), node('n2'), node('n3'), namespace('a'), namespace('b'));
    await using running = start(store);
    await apply(store, first());
    await running.settled();
    await apply(store, later('10.2.0.0/23/24'));
    for (const name of ['n1', 'n2', 'n3']) {
      await apply(store, pod(`b/on-${name}`, name));
      await running.settled();
    }
    expect(await given(store)).toEqual({ n1: '10.2.0.0/24', n2: '10.2.1.0/24' });
    expect((await conditions(store, 'b/later')).join()).toContain(
      'NetworkAllocationSucceeded=False',
    );
    await remove.pod(store, 'b/on-n1');
    await report(store, 'n1');
    await running.settled();
    expect(await given(store)).toEqual({ n2: '10.2.1.0/24', n3: '10.2.0.0/24' });
    expect(await conditions(store, 'b/later')).toEqual([ALLOCATED, CREATED, UNUSED]);
  });

  test('a node that uses it again has the subnet that it had, so that a pod which came meanwhile keeps its address', async () => {
    const store = await cluster();
    await using running = start(store);
    await apply(store, pod('b/on-n1', 'n1'), pod('b/on-n2', 'n2'));
    await running.settled();
    const before = await given(store);
    await remove.pod(store, 'b/on-n1');
    await report(store, 'n1');
    await running.settled();
    expect(await given(store)).toEqual({ n2: before['n2'] });
    await apply(store, pod('b/on-n3', 'n3'), pod('b/again', 'n1'));
    await running.settled();
    expect(await given(store)).toMatchObject(before);
  });

  test('what somebody writes into the annotation of a node that does not use it goes', async () => {
    const store = await cluster();
    await using running = start(store);
    await report(store, 'n1');
    await running.settled();
    const known = (await store.get(nodes, 'n1'))?.metadata.annotations?.[SUBNETS] ?? '{}';
    const forged = JSON.stringify({ ...JSON.parse(known), b_later: ['10.2.7.0/24'] });
    await store.patchStatus(
      nodes,
      'n1',
      { metadata: { annotations: { [SUBNETS]: forged } } },
      USER,
    );
    await running.settled();
    expect(await given(store)).toEqual({});
  });
});

describe('a network of a larger id than addresses follow from', () => {
  const NUMBERS = 'k8s.ovn.org/masquerade-numbers';
  const numbers = async (store: MemoryStore): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await store.list(nodes)).flatMap(({ metadata: { name, annotations = {} } }) =>
        annotations[NUMBERS] === undefined ? [] : [[name, annotations[NUMBERS]]],
      ),
    );
  /** A NAD of somebody's own that carries such an id already. */
  const far = (key: string, id: number, topology = 'layer2'): KubeObject => {
    const [of = '', name = ''] = key.split('/');
    return {
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: {
        namespace: of,
        name,
        annotations: { 'k8s.ovn.org/network-id': String(id) },
      },
      spec: {
        config: JSON.stringify({
          cniVersion: '1.0.0',
          type: 'ovn-k8s-cni-overlay',
          name: `far-${of}`,
          netAttachDefName: key,
          topology,
          role: 'primary',
          subnets: topology === 'layer2' ? '10.9.0.0/16' : '10.9.0.0/16/24',
          joinSubnet: '100.65.0.0/16',
        }),
      },
    };
  };

  async function farCluster(): Promise<MemoryStore> {
    const store = new MemoryStore();
    await apply(store, node('n1'), node('n2'), namespace('a'), namespace('b'));
    await apply(store, far('a/net', 5000), far('b/net', 6000, 'layer3'));
    return store;
  }

  test('has keys of its own, and a number on each node of its pods', async () => {
    const store = await farCluster();
    await using running = start(store);
    await running.settled();
    expect(await nadLines(store)).toEqual([
      'a/net name=far-a id=5000 keys=[16715779,16715780]',
      'b/net name=far-b id=6000 keys=[16715781]',
    ]);
    expect(await numbers(store)).toEqual({});
    await apply(store, pod('a/web', 'n1'), pod('b/web', 'n1'), pod('b/db', 'n2'));
    await running.settled();
    expect(await numbers(store)).toEqual({
      n1: '{"far-a":4096,"far-b":4097}',
      n2: '{"far-b":4096}',
    });
    await remove.pod(store, 'a/web');
    await report(store, 'n1');
    await running.settled();
    expect(await numbers(store)).toMatchObject({ n1: '{"far-b":4097}' });
  });

  test('keeps its number over a restart of the manager, and when somebody tears or takes away the annotation', async () => {
    const store = await farCluster();
    const pods = [pod('a/web', 'n1'), pod('b/web', 'n1')];
    {
      await using running = start(store);
      await apply(store, ...pods);
      await running.settled();
      await remove.pod(store, 'a/web');
      await report(store, 'n1');
      await running.settled();
      expect(await numbers(store)).toEqual({ n1: '{"far-b":4097}' });
    }
    await using running = start(store);
    await running.settled();
    expect(await numbers(store)).toEqual({ n1: '{"far-b":4097}' });
    for (const text of ['{', null, '{"far-b":4099}', '{"far-a":4097}']) {
      await store.patchStatus(
        nodes,
        'n1',
        { metadata: { annotations: { [NUMBERS]: text } } },
        USER,
      );
      await running.settled();
      expect(await numbers(store)).toEqual({ n1: '{"far-b":4097}' });
    }
  });

  test('leaves an empty annotation when it goes', async () => {
    const store = await farCluster();
    await using running = start(store);
    await apply(store, pod('a/web', 'n1'));
    await running.settled();
    await remove.pod(store, 'a/web');
    await remove.nad(store, 'a/net');
    await running.settled();
    expect(await numbers(store)).toEqual({ n1: '{}' });
  });
});

test('a node has 895 masquerade numbers; who finds none is told, and gets the next one', () => {
  const numbers = new MasqueradeNumbers();
  for (let index = 0; index < 895; index += 1) expect(numbers.give('n1', `net${index}`)).toBe(true);
  expect([numbers.give('n1', 'late'), numbers.give('n2', 'late')]).toEqual([false, true]);
  expect([...numbers.problems()]).toEqual([['n1', expect.stringContaining('network late has no')]]);
  expect(numbers.take('n1', 'net7')).toBe(true);
  expect([...numbers.problems()]).toEqual([]);
  expect(numbers.numbersOf('n1')?.get('late')).toBe(4103);
});
