/** EgressServices in the cluster manager: which node each leaves by, the node's label, and what owners are told. */
import { expect, test } from 'vitest';
import { egressServices, endpointSlices, nodes } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import type { NodeAnswer } from '../../../src/cluster/egress/egress-reachability.ts';
import { ManualClock } from '../../support/run/manual-clock.ts';
import type { Node } from '../../../src/api/types.ts';
import { apply, node, startManager } from '../../support/cluster/cluster.ts';
import { egressNode, heartbeat, saysDown } from '../../support/cluster/egress-nodes.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const LABEL = 'egress-service.k8s.ovn.org/';

const place = (key: string): { namespace: string; name: string } => {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
};
const egressService = (key: string, spec: object = {}): KubeObject => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressService',
  metadata: place(key),
  spec,
});
const service = (key: string, spec: object = {}, ip = '172.18.0.240'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: place(key),
  spec: { type: 'LoadBalancer', clusterIPs: ['172.16.1.5'], ports: [{ port: 80 }], ...spec },
  status: { loadBalancer: { ingress: ip === '' ? [] : [{ ip }] } },
});
const slice = (key: string, ...on: readonly string[]): KubeObject =>
  ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...place(key), labels: { 'kubernetes.io/service-name': place(key).name } },
    addressType: 'IPv4',
    endpoints: on.map((nodeName, index) => ({ addresses: [`10.128.0.${index + 3}`], nodeName })),
    ports: [],
  }) as KubeObject;
const become = (store: MemoryStore, name: string, status: string): Promise<Node> =>
  store.patchStatus(
    nodes,
    name,
    { status: { conditions: [{ type: 'Ready', status }] } },
    { fieldManager: 'user' },
  );
const ready = (name: string, status: 'True' | 'Unknown', labels = {}): Node => ({
  ...node(name, {}),
  metadata: { name, labels },
  status: { conditions: [{ type: 'Ready', status }] },
});

const hostOf = async (store: MemoryStore, key: string): Promise<string | undefined> =>
  (await store.get(egressServices, key))?.status?.host;
const labelsOf = async (store: MemoryStore): Promise<readonly string[]> =>
  (await store.list(nodes)).flatMap(({ metadata: { name, labels = {} } }) =>
    Object.keys(labels)
      .filter((label) => label.startsWith(LABEL))
      .map((label) => `${name} ${label.slice(LABEL.length)}`),
  );
const told = (store: MemoryStore): readonly string[] =>
  store.events.map(
    ({ regarding, type, reason, message }) =>
      `${regarding.metadata.name} ${type} ${reason}: ${message}`,
  );

async function prepared(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await apply(store, ready('n1', 'True', { pool: 'a' }), ready('n2', 'True', { pool: 'b' }));
  return store;
}

test('services are spread over the nodes, which get their labels; what leaves by its network has every node, and none', async () => {
  const store = await prepared();
  await using running = startManager(store);
  await apply(
    store,
    ...['a/one', 'a/two', 'a/net'].map((key) => service(key)),
    egressService('a/one', { sourceIPBy: 'LoadBalancerIP' }),
    egressService('a/two'),
    egressService('a/net', { sourceIPBy: 'Network', network: '1200' }),
  );
  await running.settled();
  expect(await hostOf(store, 'a/one')).toBe('n1');
  expect(await hostOf(store, 'a/two')).toBe('n2');
  expect(await hostOf(store, 'a/net')).toBe('ALL');
  expect(await labelsOf(store)).toEqual(['n1 a-one', 'n2 a-two']);
  expect(running.manager.problems()).toEqual([]);
});

test('a node that is not ready is left, its label goes first; one that comes back takes nothing away', async () => {
  const store = await prepared();
  await using running = startManager(store);
  await apply(store, service('a/one'), egressService('a/one'));
  await running.settled();
  await become(store, 'n1', 'Unknown');
  await running.settled();
  expect(await hostOf(store, 'a/one')).toBe('n2');
  expect(await labelsOf(store)).toEqual(['n2 a-one']);
  await become(store, 'n1', 'True');
  await running.settled();
  expect(await hostOf(store, 'a/one')).toBe('n2');
});

test('a node by whose gateway nothing leaves is left while another one fits; where none does the owner is told', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  for (const [index, name] of ['n1', 'n2'].entries())
    await apply(store, egressNode(name, index + 2), heartbeat(name, '2026-01-01T12:00:00Z'));
  await apply(store, service('a/one'), egressService('a/one'));
  await running.settled();
  const says = async (name: string, why: string | undefined, daemon?: string): Promise<void> => {
    await saysDown(store, name, why === undefined ? null : { '172.18.0.0/16': why }, daemon);
    await running.settled();
  };
  expect(await hostOf(store, 'a/one')).toBe('n1');
  // Of a daemon that is not the node's any more.
  await says('n1', 'uplink eth1 of br-ex has no carrier', 'another');
  expect(await hostOf(store, 'a/one')).toBe('n1');
  await says('n1', 'uplink eth1 of br-ex has no carrier');
  expect(await hostOf(store, 'a/one')).toBe('n2');
  expect(await labelsOf(store)).toEqual(['n2 a-one']);
  expect(told(store)).toEqual([]);
  await says('n2', 'Open vSwitch has no bridge br-ex');
  expect(await hostOf(store, 'a/one')).toBe('n2');
  expect(told(store)).toEqual([
    'one Warning EgressNetworkDown: EgressService a/one: nothing leaves its node n2: Open vSwitch has no bridge br-ex; no other node can have it: mend that, or let it select another node',
  ]);
  await says('n1', undefined);
  expect(await hostOf(store, 'a/one')).toBe('n1');
  expect(running.manager.problems()).toEqual([]);
});

test('a node that falls silent is left before it is not ready, unless nobody else is heard either, and is not chosen again before it answers', async () => {
  const store = new MemoryStore();
  for (const [index, name] of ['n1', 'n2', 'n3'].entries()) {
    const made = ready(name, 'True', { pool: name === 'n3' ? 'b' : 'a' });
    const subnets = JSON.stringify({ default: [`10.244.${index}.0/24`] });
    const annotations = { 'k8s.ovn.org/node-subnets': subnets };
    await apply(store, { ...made, metadata: { ...made.metadata, annotations } });
  }
  const clock = new ManualClock();
  const silent = new Set<string>();
  const asked = new Set<string>();
  const connect = ([address = '']: readonly string[]) => ({
    check: async (): Promise<NodeAnswer> => {
      const name = `n${Number(address.split('.')[2]) + 1}`;
      asked.add(name);
      return silent.has(name)
        ? { kind: 'silent', why: 'late' }
        : { kind: 'serving', metadata: { token: name, age: 0 } };
    },
    [Symbol.dispose]: () => undefined,
  });
  await using running = startManager(
    store,
    {},
    {},
    { clock, egressProbing: { timeout: 1000, connect } },
  );
  await running.manager.started;
  const pass = async (milliseconds: number): Promise<void> => {
    for (let at = 0; at < milliseconds; at += 50) {
      await clock.advance(50);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  };
  const hosts = async (): Promise<readonly (string | undefined)[]> =>
    await Promise.all(['a/one', 'a/two'].map((key) => hostOf(store, key)));
  await apply(
    store,
    service('a/one'),
    service('a/two'),
    egressService('a/one', { nodeSelector: { matchLabels: { pool: 'a' } } }),
    egressService('a/two', { nodeSelector: { matchLabels: { pool: 'b' } } }),
  );
  await pass(2000);
  expect(await hosts()).toEqual(['n1', 'n3']);
  // Those alone by which something leaves.
  expect([...asked].toSorted()).toEqual(['n1', 'n3']);
  silent.add('n1').add('n3');
  await pass(3000);
  expect(await hosts()).toEqual(['n1', 'n3']);
  silent.delete('n3');
  await pass(500);
  expect(await hosts()).toEqual(['n2', 'n3']);
  expect(await labelsOf(store)).toEqual(['n2 a-one', 'n3 a-two']);
  silent.add('n2');
  await pass(2000);
  // Each of them was lost.
  expect(await hosts()).toEqual(['', 'n3']);
  silent.delete('n1');
  await pass(500);
  expect(await hosts()).toEqual(['n1', 'n3']);
});

test('labels that somebody changed are put back', async () => {
  const store = await prepared();
  await using running = startManager(store);
  await apply(store, service('a/one'), egressService('a/one'));
  await running.settled();
  const change = (name: string, value: string | null): Promise<Node> =>
    store.patch(
      nodes,
      name,
      { metadata: { labels: { [`${LABEL}a-one`]: value } } },
      { fieldManager: 'user' },
    );
  await change('n1', null);
  await change('n2', '');
  await running.settled();
  expect(await labelsOf(store)).toEqual(['n1 a-one']);
  await store.delete(egressServices, 'a/one');
  await running.settled();
  expect(await labelsOf(store)).toEqual([]);
});

test('a selector is kept to, and told where no node fits', async () => {
  const store = await prepared();
  await using running = startManager(store);
  const selecting = (pool: string): KubeObject =>
    egressService('a/one', { nodeSelector: { matchLabels: { pool } } });
  await apply(store, service('a/one'), selecting('b'));
  await running.settled();
  expect(await hostOf(store, 'a/one')).toBe('n2');
  await store.patch(
    egressServices,
    'a/one',
    { spec: { nodeSelector: { matchLabels: { pool: 'c' } } } },
    { fieldManager: 'user' },
  );
  await running.settled();
  expect(await hostOf(store, 'a/one')).toBe('');
  expect(await labelsOf(store)).toEqual([]);
  expect(told(store)).toEqual([
    'one Warning NoSuitableNode: no suitable node for selector: pool=c: its pods send nothing out',
  ]);
  expect(running.manager.problems().map(({ object }) => object)).toEqual(['EgressService a/one']);
});

test('with a local traffic policy it is a node with endpoints', async () => {
  const store = await prepared();
  await using running = startManager(store);
  await apply(
    store,
    service('a/one', { externalTrafficPolicy: 'Local' }),
    egressService('a/one'),
    slice('a/one', 'n2'),
  );
  await running.settled();
  expect(await hostOf(store, 'a/one')).toBe('n2');
  await store.delete(endpointSlices, 'a/one');
  await apply(store, slice('a/one', 'n1'));
  await running.settled();
  expect(await hostOf(store, 'a/one')).toBe('n1');
  // Of two nodes that which has ready ones; an unready one is enough where there is no other.
  const readiness = async (...ready: readonly boolean[]): Promise<void> => {
    const endpoints = ready.map((isReady, index) => ({
      addresses: [`10.128.0.${index + 3}`],
      nodeName: `n${index + 1}`,
      conditions: { ready: isReady },
    }));
    await store.patch(endpointSlices, 'a/one', { endpoints }, { fieldManager: 'user' });
    await running.settled();
  };
  await readiness(false, true);
  expect(await hostOf(store, 'a/one')).toBe('n2');
  await readiness(false, false);
  expect(await hostOf(store, 'a/one')).toBe('n2');
  await readiness(true, false);
  expect(await hostOf(store, 'a/one')).toBe('n1');
  await store.delete(endpointSlices, 'a/one');
  await running.settled();
  expect(await hostOf(store, 'a/one')).toBe('');
  expect(told(store).at(-1)).toContain('that has endpoints of the service');
});

test.each([
  ['no service', [], 'NoService: there is no Service a/one'],
  ['no load balancer', [service('a/one', { type: 'ClusterIP' })], 'NoLoadBalancer: Service a/one'],
  ['no address', [service('a/one', {}, '')], 'NoAddress: the load balancer of Service a/one'],
] as const)('with %s no node is chosen, and its owner is told', async (_what, objects, text) => {
  const store = await prepared();
  await using running = startManager(store);
  await apply(store, ...objects, egressService('a/one'));
  await running.settled();
  expect(await hostOf(store, 'a/one')).toBe('');
  expect(told(store)).toEqual([expect.stringContaining(`one Warning ${text}`)]);
});

test('of two services with one label the older has a node; a label that no node can have is told', async () => {
  const store = await prepared();
  await using running = startManager(store);
  const long = `${'n'.repeat(40)}/${'s'.repeat(40)}`;
  const made = (object: KubeObject, creationTimestamp: string): KubeObject => ({
    ...object,
    metadata: { ...object.metadata, creationTimestamp },
  });
  await apply(
    store,
    ...['a-b/c', 'a/b-c', long].map((key) => service(key)),
    made(egressService('a-b/c'), '2026-01-02T00:00:00Z'),
    made(egressService('a/b-c'), '2026-01-01T00:00:00Z'),
    egressService(long),
  );
  await running.settled();
  expect(await hostOf(store, 'a/b-c')).toBe('n1');
  expect(await hostOf(store, 'a-b/c')).toBe('');
  expect(await hostOf(store, long)).toBe('');
  expect(await labelsOf(store)).toEqual(['n1 a-b-c']);
  expect(told(store).toSorted()).toEqual([
    expect.stringMatching(
      /^c Warning NoLabel: .*also be that of EgressService a\/b-c, which is older/,
    ),
    expect.stringMatching(/^s+ Warning NoLabel: .*longer than 63 characters/),
  ]);
});
