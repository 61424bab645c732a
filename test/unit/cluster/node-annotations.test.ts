import { describe, expect, test } from 'vitest';
import { nodes, pods } from '../../../src/api/kinds.ts';
import { nodeSubnets } from '../../../src/api/annotations/node-annotations.ts';
import { NodeRecord } from '../../../src/cluster/nodes/node-record.ts';
import {
  ALLOCATED,
  apply,
  conditions,
  CREATED,
  layer3,
  namespace,
  node,
  nodeLines,
  pod,
  remove,
  startManager,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const ID = 'k8s.ovn.org/node-id';
const TRANSIT = 'k8s.ovn.org/node-transit-switch-port-ifaddr';
const SUBNETS = 'k8s.ovn.org/node-subnets';
const USER = { fieldManager: 'user' };

describe('a node’s annotation', () => {
  test('is put together of entries in the order of their networks', () => {
    const record = new NodeRecord();
    expect(record.text()).toBeUndefined();
    for (const name of ['b', 'a.b', 'a', 'a-b', 'c']) record.set(name, ['10.0.0.0/24']);
    expect(record.set('b', ['10.0.0.0/24'])).toBe(false);
    record.set('b', ['fd00::/64', '10.1.0.0/24']);
    record.set('c', []);
    expect(record.text()).toBe(
      '{"a":["10.0.0.0/24"],"a-b":["10.0.0.0/24"],"a.b":["10.0.0.0/24"],"b":["10.1.0.0/24","fd00::/64"]}',
    );
    const read = nodeSubnets(node('n', { [SUBNETS]: record.text() ?? '' }));
    expect(read.value?.get('b')).toEqual(['10.1.0.0/24', 'fd00::/64']);
    expect(record.networks()).toEqual(['a', 'a-b', 'a.b', 'b']);
    expect(['a', 'b', 'c', 'a-', 'A'].map((name) => record.subnetsOf(name))).toEqual([
      ['10.0.0.0/24'],
      ['10.1.0.0/24', 'fd00::/64'],
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('says what the node does not carry yet, and forgets what it carried once that is decided', () => {
    const record = new NodeRecord();
    record.read(node('n', { [SUBNETS]: '{"a":["10.0.0.0/24"],"b":["10.0.1.0/24"]}' }));
    record.set('a', ['10.0.0.0/24']);
    record.set('c', ['10.0.2.0/24']);
    expect(record.writing()).toEqual(['c']);
    record.wrote(['c']);
    expect(record.writing()).toEqual([]);
    expect(record.subnetsOf('b')).toEqual(['10.0.1.0/24']);
    record.forgetCarried((network) => network === 'b');
    expect(record.subnetsOf('b')).toBeUndefined();
    expect(record.subnetsOf('a')).toEqual(['10.0.0.0/24']);
  });

  test('has room for thousands of dual-stack networks, says when it is nearly full, and never takes too many', () => {
    const record = new NodeRecord();
    record.read(node('n', { other: 'x'.repeat(1000) }));
    const entry = (index: number): [string, readonly string[]] => [
      `tenant-${String(index).padStart(5, '0')}_blue`,
      ['10.100.200.0/24', `fd00:1234:5678:${index.toString(16)}::/64`],
    ];
    let count = 0;
    let warnedAt = 0;
    while (record.hasRoomFor(...entry(count))) {
      record.set(...entry(count));
      count += 1;
      if (record.isNearlyFull && warnedAt === 0) warnedAt = count;
    }
    const bytes = SUBNETS.length + (record.text() ?? '').length + 'other'.length + 1000;
    expect(count).toBeGreaterThan(3000);
    expect(bytes).toBeLessThanOrEqual(240 * 1024);
    expect(bytes).toBeGreaterThan(240 * 1024 - 100);
    expect(warnedAt / count).toBeCloseTo(0.8, 1);
    // What is there stays, whatever others write beside it.
    record.read(node('n', { other: 'x'.repeat(30_000) }));
    expect(record.hasRoomFor(...entry(1))).toBe(true);
    record.set(entry(2)[0], []);
    expect(record.usage).toBeGreaterThan(1);
  });

  test('that is nearly full is told of; a network that finds no room says so, and the others stay', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('n1', { big: 'x'.repeat(240 * 1024 - 190) }), node('n2'));
    await apply(store, namespace('a'), namespace('b'));
    await apply(store, layer3('a/net', '10.1.0.0/16/24'));
    await running.settled();
    const before = await nodeLines(store);
    expect(before[0]).toContain('a_net');
    expect(store.events.map(({ regarding, reason }) => [regarding.metadata.name, reason])).toEqual([
      ['n1', 'AnnotationsNearlyFull'],
    ]);
    await apply(store, layer3('b/longer-network-name', '10.2.0.0/16/24'));
    await running.settled();
    const [full, roomy] = await nodeLines(store);
    expect(full).toBe(before[0]);
    expect(roomy).toContain('b_longer-network-name');
    expect(await conditions(store, 'b/longer-network-name')).toEqual([
      expect.stringContaining('NetworkAllocationSucceeded=False'),
      CREATED,
    ]);
    expect(store.events.at(-1)?.message).toContain(
      'network name b_longer-network-name: the annotations of the node have no room for another network',
    );
    // When another one goes there is room again.
    await remove.udn(store, 'a/net');
    await running.settled();
    expect((await nodeLines(store))[0]).toContain('b_longer-network-name');
    expect(await conditions(store, 'b/longer-network-name')).toEqual([ALLOCATED, CREATED]);
  });

  test('that somebody tears is written again as it was, and the node says so', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('n1'), node('n2'), namespace('a'), layer3('a/net', '10.1.0.0/16/24'));
    await running.settled();
    const before = await nodeLines(store);
    const annotations = { [SUBNETS]: '{"a_net":["10.1.0.0/24"' };
    await store.patchStatus(nodes, 'n1', { metadata: { annotations } }, USER);
    await running.settled();
    expect(await nodeLines(store)).toEqual(before);
    expect(store.events.map(({ reason, message }) => `${reason} ${message}`)).toEqual([
      expect.stringMatching(
        /^InvalidAnnotation Node n1: annotation k8s.ovn.org\/node-subnets: is not valid JSON.*written again as it was$/,
      ),
    ]);
  });
});

describe('a node id that somebody tears', () => {
  /** What a manager leaves of three nodes that came in the order of their names. */
  async function served(): Promise<{ store: MemoryStore; before: readonly string[] }> {
    const store = new MemoryStore();
    const running = startManager(store);
    for (const name of ['n1', 'n2', 'n3']) {
      await apply(store, node(name));
      await running.settled();
    }
    const before = await nodeLines(store);
    expect(before.map((line) => line.split(' ')[1])).toEqual(['id=2', 'id=3', 'id=4']);
    await running.stop();
    return { store, before };
  }
  const tear = (store: MemoryStore, name: string, annotations: object): Promise<unknown> =>
    store.patchStatus(nodes, name, { metadata: { annotations } }, USER);
  const told = (store: MemoryStore): readonly string[] =>
    store.events.map(
      ({ regarding, reason, message }) => `${regarding.metadata.name} ${reason} ${message}`,
    );

  test('is written again by a manager that knows it, and the node says so, once', async () => {
    const { store, before } = await served();
    await using running = startManager(store);
    await running.settled();
    await tear(store, 'n2', { [ID]: '3x' });
    await running.settled();
    await store.patchStatus(nodes, 'n2', { metadata: { annotations: { other: 'x' } } }, USER);
    await running.settled();
    expect(await nodeLines(store)).toEqual(before);
    expect(told(store)).toEqual([
      'n2 InvalidAnnotation Node n2: annotation k8s.ovn.org/node-id: must be a whole number from 2 to 5000, is "3x"; the cluster manager writes it again: see that it runs; it is written again as it was: 3',
    ]);
  });

  test('follows from the transit addresses for a manager that starts, also while other nodes come', async () => {
    const { store, before } = await served();
    // Id 2 is free: whoever is given one anew gets it.
    await remove.node(store, 'n1');
    await tear(store, 'n2', { [ID]: '' });
    await tear(store, 'n3', { [ID]: '{"id":' });
    await apply(store, node('n0'));
    await using running = startManager(store);
    await running.settled();
    expect((await nodeLines(store)).slice(1)).toEqual(before.slice(1));
    expect(told(store).toSorted()).toEqual([
      expect.stringMatching(/^n2 InvalidAnnotation .*is ""; .*; it is written again as it was: 3$/),
      expect.stringMatching(/^n3 InvalidAnnotation .*; it is written again as it was: 4$/),
    ]);
  });

  test.each([
    ['torn, too', '{"ipv4":'],
    ['of another subnet', '{"ipv4":"192.0.2.2/16"}'],
    ['of another length', '{"ipv4":"100.88.0.2/24"}'],
    ['of no node', '{"ipv4":"100.88.0.1/16"}'],
    ['those of a node with an id', '{"ipv4":"100.88.0.3/16"}'],
  ])(
    'is another one where the transit addresses are %s; who has an id keeps it',
    async (_, transit) => {
      const { store, before } = await served();
      await tear(store, 'n1', { [ID]: 'x', [TRANSIT]: transit });
      await using running = startManager(store);
      await running.settled();
      const [first, ...others] = await nodeLines(store);
      expect(others).toEqual(before.slice(1));
      const id = /id=(\d+)/.exec(first ?? '')?.[1];
      expect(['3', '4']).not.toContain(id);
      expect(told(store)).toEqual([
        expect.stringMatching(
          new RegExp(
            `^n1 InvalidAnnotation .*is "x"; .*; what it was is not known, the node gets id ${id}$`,
          ),
        ),
      ]);
    },
  );
});

test('of two nodes with one id and subnet the older keeps them, and the other says what it gets instead, once', async () => {
  const store = new MemoryStore();
  const before = startManager(store);
  await apply(store, node('n1'));
  await before.settled();
  await before.stop();
  const [first] = await nodeLines(store);
  const [original] = await store.list(nodes);
  // A Node that somebody made from a copy of another one.
  await apply(store, node('n2', original?.metadata.annotations));
  await using running = startManager(store);
  await running.settled();
  await store.patchStatus(nodes, 'n2', { metadata: { annotations: { other: 'x' } } }, USER);
  await running.settled();
  const lines = await nodeLines(store);
  expect(lines[0]).toBe(first);
  expect(lines[1]).toContain('n2 id=3 ');
  expect(
    store.events.map(({ regarding, reason, message }) => [
      regarding.metadata.name,
      reason,
      message,
    ]),
  ).toEqual([
    [
      'n2',
      'InvalidAnnotation',
      'Node n2: annotation k8s.ovn.org/node-id: 2 is the id of node n1, which keeps it; the node gets id 3',
    ],
    [
      'n2',
      'InvalidAnnotation',
      'Node n2: annotation k8s.ovn.org/node-subnets: of network default: network 10.244.0.0/24 already owned by n1, which keeps it; the node gets another one',
    ],
  ]);
});

test('a node without subnets keeps its id when a manager starts while another node comes', async () => {
  const store = new MemoryStore();
  const settings = { noHostSubnetNodes: { matchLabels: { outside: 'yes' } } };
  const other = { ...node('n2'), metadata: { name: 'n2', labels: { outside: 'yes' } } };
  const running = startManager(store, settings);
  await apply(store, other);
  await running.settled();
  const before = await nodeLines(store);
  expect(before).toEqual([expect.stringContaining('n2 id=2 ')]);
  await running.stop();
  await apply(store, node('n1'));
  await using again = startManager(store, settings);
  await again.settled();
  expect((await nodeLines(store)).slice(1)).toEqual(before);
});

test('heartbeats, and labels that nobody reads, are no work', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, node('n1'), namespace('a'), layer3('a/net', '10.1.0.0/16/24'));
  await apply(store, pod('a/web', 'n1'));
  await running.settled();
  const { writes } = store;
  const before = writes.length;
  const label = { metadata: { labels: { colour: 'blue' } } };
  await store.patchStatus(nodes, 'n1', { status: { conditions: [{ type: 'Ready' }] } }, USER);
  await store.patch(nodes, 'n1', label, USER);
  await store.patch(pods, 'a/web', label, USER);
  await running.settled();
  expect(writes.slice(before).filter(({ fieldManager }) => fieldManager !== 'user')).toEqual([]);
});
