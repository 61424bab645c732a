/** Ranges that are appended to networks that are in use (reference/api.md §8). */
import { expect, test } from 'vitest';
import {
  clusterUserDefinedNetworks,
  networkAttachmentDefinitions,
  userDefinedNetworks,
} from '../../../src/api/kinds.ts';
import {
  ALLOCATED,
  apply,
  clusterLayer3,
  conditions,
  CREATED,
  inNamespaces,
  layer3,
  nadLines,
  namespace,
  node,
  nodeLines,
  remove,
  startManager,
} from '../../support/cluster/cluster.ts';
import { startProcess } from '../../support/cluster/cluster-process.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const USER = { fieldManager: 'user' };

const ask = (store: MemoryStore, key: string, subnets: string): Promise<unknown> =>
  store.patch(userDefinedNetworks, key, { spec: layer3(key, subnets).spec }, USER);

async function subnetsOf(store: MemoryStore, key: string): Promise<string | undefined> {
  const nad = await store.get(networkAttachmentDefinitions, key);
  const { subnets } = JSON.parse(nad?.spec?.config ?? '{}') as { subnets?: string };
  return subnets;
}

const refusedOf = async (store: MemoryStore, key: string): Promise<unknown> =>
  (await store.get(userDefinedNetworks, key))?.status?.refusedSubnets;

test('one that overlaps a network beside it is refused, and both networks go on as they were', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, node('n1'), namespace('blue'), layer3('blue/one', '10.20.0.0/16/24'));
  await apply(store, layer3('blue/two', '10.30.0.0/16/24'));
  await running.settled();
  const [nads, nodes] = [await nadLines(store), await nodeLines(store)];
  const writes = store.writes.length;
  await ask(store, 'blue/one', '10.20.0.0/16/24,10.30.64.0/18/24');
  await running.settled();
  expect(await nadLines(store)).toEqual(nads);
  expect(await nodeLines(store)).toEqual(nodes);
  expect(await subnetsOf(store, 'blue/one')).toBe('10.20.0.0/16/24');
  expect(await conditions(store, 'blue/two')).toEqual([ALLOCATED, CREATED]);
  expect(await conditions(store, 'blue/one')).toEqual([
    ALLOCATED,
    'NetworkCreated=False OverlappingNetworkSubnets: subnet 10.30.64.0/18 can\'t be appended to network blue_one: it overlaps subnet 10.30.0.0/16 of network blue_two, which is in namespace "blue", too: take it back, or append another one',
  ]);
  expect(await refusedOf(store, 'blue/one')).toEqual(['10.30.64.0/18']);
  expect(store.writes.slice(writes).filter(({ kind }) => kind === 'Node')).toEqual([]);
});

test.each([
  ['an older network', 'blue/one', 'blue/two'],
  ['a younger network', 'blue/two', 'blue/one'],
])(
  '%s that grows does not harm the other one, whatever comes after a restart',
  async (_, grows) => {
    const store = new MemoryStore();
    const nodes = ['n1'];
    await apply(store, node('n1'), namespace('blue'), layer3('blue/one', '10.20.0.0/16/24'));
    await apply(store, layer3('blue/two', '10.30.0.0/16/24'));
    let before: readonly string[] = [];
    {
      await using first = startProcess(store, nodes);
      await first.settled();
      before = [...(await nadLines(store)), ...(await nodeLines(store))];
      const own = grows === 'blue/one' ? '10.20.0.0/16/24' : '10.30.0.0/16/24';
      const other = grows === 'blue/one' ? '10.30.0.0/17/24' : '10.20.0.0/17/24';
      await ask(store, grows, `${own},${other}`);
      await first.settled();
    }
    await using second = startProcess(store, nodes);
    await second.settled();
    expect([...(await nadLines(store)), ...(await nodeLines(store))]).toEqual(before);
    expect((await conditions(store, grows))[1]).toContain('=False OverlappingNetworkSubnets');
  },
);

test.each([
  ['10.96.128.0/20', /overlaps service subnet "10\.96\.0\.0\/16"/],
  ['10.244.7.0/24', /overlaps cluster subnet "10\.244\.0\.0\/16"/],
  ['100.64.0.0/20', /overlaps built-in join subnet "100\.64\.0\.0\/16"/],
  ['100.65.0.0/20', /user defined join subnet "100\.65\.0\.0\/16"/],
  ['169.254.0.0/20', /overlaps masquerade subnet/],
  ['100.88.0.0/20', /overlaps transit switch subnet/],
  ['172.18.0.0/16', /overlaps the network 172\.18\.0\.0\/16 of node "n1"/],
])('%s is refused as for a new network', async (range, message) => {
  const store = new MemoryStore();
  await using running = startManager(store);
  const addresses = { 'k8s.ovn.org/host-cidrs': '["172.18.0.2/16"]' };
  await apply(store, node('n1', addresses), namespace('blue'));
  await apply(store, layer3('blue/net', '10.20.0.0/16/26'));
  await running.settled();
  const before = [...(await nadLines(store)), ...(await nodeLines(store))];
  await ask(store, 'blue/net', `10.20.0.0/16/26,${range}/26`);
  await running.settled();
  const [, created] = await conditions(store, 'blue/net');
  expect(created).toMatch(/^NetworkCreated=False SyncError: /);
  expect(created).toContain(range);
  expect(created).toMatch(message);
  expect([...(await nadLines(store)), ...(await nodeLines(store))]).toEqual(before);
  expect(await subnetsOf(store, 'blue/net')).toBe('10.20.0.0/16/26');
  expect(await refusedOf(store, 'blue/net')).toEqual([range]);
});

test('one that is refused can be taken back; others that come with it are appended', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  await running.settled();
  await ask(store, 'blue/net', '10.20.0.0/16/24,10.96.0.0/20/24,10.21.0.0/16/24');
  await running.settled();
  expect(await subnetsOf(store, 'blue/net')).toBe('10.20.0.0/16/24,10.21.0.0/16/24');
  expect(await refusedOf(store, 'blue/net')).toEqual(['10.96.0.0/20']);
  await ask(store, 'blue/net', '10.20.0.0/16/24,10.21.0.0/16/24');
  await running.settled();
  expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
  expect(await refusedOf(store, 'blue/net')).toBeUndefined();
});

test('one that comes before the network was made can be taken back, too', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('blue'));
  await apply(store, layer3('blue/net', '10.20.0.0/16/24,10.96.0.0/20/24'));
  await running.settled();
  expect((await conditions(store, 'blue/net')).join()).toContain('10.96.0.0/20');
  expect(await refusedOf(store, 'blue/net')).toEqual(['10.20.0.0/16', '10.96.0.0/20']);
  await ask(store, 'blue/net', '10.20.0.0/16/24');
  await running.settled();
  expect(await conditions(store, 'blue/net')).toEqual([ALLOCATED, CREATED]);
  expect(await refusedOf(store, 'blue/net')).toBeUndefined();
});

test('one that is refused is appended when what is in its way goes', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('blue'), layer3('blue/one', '10.20.0.0/16/24'));
  await apply(store, layer3('blue/two', '10.30.0.0/16/24'));
  await ask(store, 'blue/one', '10.20.0.0/16/24,10.30.0.0/17/24');
  await running.settled();
  await remove.udn(store, 'blue/two');
  await running.settled();
  expect(await subnetsOf(store, 'blue/one')).toBe('10.20.0.0/16/24,10.30.0.0/17/24');
  expect(await conditions(store, 'blue/one')).toEqual([ALLOCATED, CREATED]);
});

test('two networks that are to grow by the same range at once: one of them does', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('blue'), layer3('blue/one', '10.20.0.0/16/24'));
  await apply(store, layer3('blue/two', '10.30.0.0/16/24'));
  await running.settled();
  const before = await nadLines(store);
  await Promise.all([
    ask(store, 'blue/one', '10.20.0.0/16/24,10.40.0.0/16/24'),
    ask(store, 'blue/two', '10.30.0.0/16/24,10.40.0.0/17/24'),
    apply(store, layer3('blue/three', '10.40.7.0/24/26')),
  ]);
  await running.settled();
  expect((await nadLines(store)).filter((line) => !line.startsWith('blue/three'))).toEqual(before);
  const created = await Promise.all(
    ['blue/one', 'blue/two', 'blue/three'].map(async (key) =>
      (await conditions(store, key)).find((line) => line.startsWith('NetworkCreated')),
    ),
  );
  expect(created.filter((line) => line === CREATED)).toHaveLength(1);
});

test('a range that the network has stays, though its object names it no more', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('blue'), layer3('blue/net', '10.20.0.0/16/24,10.21.0.0/16/24'));
  await running.settled();
  await ask(store, 'blue/net', '10.20.0.0/16/24');
  await running.settled();
  expect(await subnetsOf(store, 'blue/net')).toBe('10.20.0.0/16/24,10.21.0.0/16/24');
  expect((await conditions(store, 'blue/net'))[1]).toBe(
    "NetworkCreated=False SyncError: subnet 10.21.0.0/16 is in use by network blue_net and can't be removed: write it again",
  );
  expect(await refusedOf(store, 'blue/net')).toBeUndefined();
});

test('what somebody writes into the NAD of a network is put right, also a range that was refused', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('blue'), layer3('blue/one', '10.20.0.0/16/24'));
  await apply(store, layer3('blue/two', '10.30.0.0/16/24'));
  await running.settled();
  await ask(store, 'blue/one', '10.20.0.0/16/24,10.96.0.0/20/24');
  await running.settled();
  const nad = await store.get(networkAttachmentDefinitions, 'blue/one');
  const before = nad?.spec?.config ?? '';
  for (const forged of ['10.96.0.0/20/24', '10.50.0.0/16/24']) {
    const config = before.replace('10.20.0.0/16/24', `10.20.0.0/16/24,${forged}`);
    expect(config).not.toBe(before);
    await store.patch(networkAttachmentDefinitions, 'blue/one', { spec: { config } }, USER);
    await running.settled();
    expect(await subnetsOf(store, 'blue/one')).toBe('10.20.0.0/16/24');
  }
  expect(await refusedOf(store, 'blue/one')).toEqual(['10.96.0.0/20']);
});

test('a network whose NAD does not count, for ranges that overlap already, does not say that it was made', async () => {
  const store = new MemoryStore();
  await apply(store, namespace('blue'), layer3('blue/one', '10.20.0.0/16/24'));
  await apply(store, layer3('blue/two', '10.30.0.0/16/24'));
  {
    await using first = startManager(store);
    await first.settled();
  }
  const nad = await store.get(networkAttachmentDefinitions, 'blue/one');
  const grown = '10.20.0.0/16/24,10.30.0.0/17/24';
  const config = (nad?.spec?.config ?? '').replace('10.20.0.0/16/24', grown);
  await store.patch(networkAttachmentDefinitions, 'blue/one', { spec: { config } }, USER);
  await ask(store, 'blue/one', grown);
  await using second = startManager(store);
  await second.settled();
  const told = await Promise.all(['blue/one', 'blue/two'].map((key) => conditions(store, key)));
  expect(told.map((lines) => lines.includes(CREATED))).toEqual([true, false]);
  expect(told[1]?.join()).toMatch(/NetworkCreated=False SyncError: .*blue\/one.*blue\/two/);
});

test('a network of several namespaces grows in all of them or in none, and comes to new ones without the range', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  const selector = { matchLabels: { team: 'x' } };
  const member = (name: string): ReturnType<typeof namespace> =>
    namespace(name, { team: 'x', 'k8s.ovn.org/primary-user-defined-network': '' });
  await apply(store, member('a'), member('b'));
  await apply(store, clusterLayer3('one', selector, '10.20.0.0/16/24'));
  await apply(store, clusterLayer3('two', selector, '10.30.0.0/16/24'));
  await running.settled();
  const before = await nadLines(store);
  const { spec } = clusterLayer3('one', selector, '10.20.0.0/16/24,10.30.0.0/17/24');
  await store.patch(clusterUserDefinedNetworks, 'one', { spec }, USER);
  await running.settled();
  expect(await nadLines(store)).toEqual(before);
  expect((await conditions(store, 'one'))[1]).toContain(
    'subnet 10.30.0.0/17 can\'t be appended to network cluster_udn_one: it overlaps subnet 10.30.0.0/16 of network cluster_udn_two, which is in namespace "a", too',
  );
  await apply(store, member('c'));
  await running.settled();
  for (const key of ['a/one', 'b/one', 'c/one'])
    expect(await subnetsOf(store, key)).toBe('10.20.0.0/16/24');
  const one = await store.get(clusterUserDefinedNetworks, 'one');
  expect(one?.status).toMatchObject({
    activeNamespaces: ['a', 'b', 'c'],
    refusedSubnets: ['10.30.0.0/17'],
  });
});

test('a network in a namespace where another one of the same selector is grows only by what is free there', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('a'), namespace('b'));
  await apply(store, clusterLayer3('one', inNamespaces('a', 'b'), '10.20.0.0/16/24'));
  await apply(store, clusterLayer3('two', inNamespaces('b', 'a'), '10.30.0.0/16/24'));
  await running.settled();
  const { spec } = clusterLayer3('one', inNamespaces('a', 'b'), '10.20.0.0/16/24,10.31.0.0/16/24');
  await store.patch(clusterUserDefinedNetworks, 'one', { spec }, USER);
  await running.settled();
  expect(await subnetsOf(store, 'b/one')).toBe('10.20.0.0/16/24,10.31.0.0/16/24');
  expect((await conditions(store, 'one'))[1]).toContain('NetworkCreated=True');
});
