import { expect, test } from 'vitest';
import { endpointSlices, pods } from '../../../src/api/kinds.ts';
import type { KubeObject, ResourceKind } from '../../../src/api/objects.ts';
import type { Store } from '../../../src/store/store.ts';
import { mirrorOf } from '../../../src/cluster/endpoints/endpoint-mirror.ts';
import { readNad } from '../../../src/api/nad/registered-nad.ts';
import {
  apply,
  layer2,
  layer3,
  namespace,
  node,
  pod,
  rawNad,
  remove,
  startManager,
  testSettings,
} from '../../support/cluster/cluster.ts';
import { startProcess } from '../../support/cluster/cluster-process.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

interface Slice extends KubeObject {
  readonly addressType: string;
  readonly endpoints: readonly {
    readonly addresses: readonly string[];
    readonly targetRef?: object;
  }[];
  readonly ports: readonly object[];
}
const SLICES = endpointSlices as ResourceKind<Slice>;

const slice = (name: string, pods: readonly string[], changes: Partial<Slice> = {}): Slice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    namespace: 'blue',
    name,
    labels: {
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      'kubernetes.io/service-name': 'web',
    },
    ownerReferences: [
      { apiVersion: 'v1', kind: 'Service', name: 'web', uid: 'service-uid', controller: true },
    ],
  },
  addressType: 'IPv4',
  endpoints: pods.map((one) => ({
    addresses: ['10.244.0.99'],
    conditions: { ready: true },
    targetRef: { kind: 'Pod', namespace: 'blue', name: one },
  })),
  ports: [{ port: 80, protocol: 'TCP' }],
  ...changes,
});

const mirrors = async (store: Store): Promise<readonly Slice[]> =>
  (await store.list(SLICES)).filter(
    ({ metadata }) =>
      metadata.labels?.['endpointslice.kubernetes.io/managed-by'] ===
      'endpointslice-mirror-controller.k8s.ovn.org',
  );
const addresses = async (store: Store): Promise<readonly string[]> =>
  (await mirrors(store)).map(({ endpoints }) =>
    endpoints.map((endpoint) => endpoint.addresses.join()).join(' '),
  );

test('a service’s slice is mirrored with the pods’ addresses on their primary network', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  await apply(store, pod('blue/a', 'node1'), slice('web-x', ['a', 'b', 'unknown']));
  await running.settled();
  const source = await store.get(SLICES, 'blue/web-x');
  expect(await mirrors(store)).toMatchObject([
    {
      metadata: {
        generateName: 'web-x-',
        namespace: 'blue',
        labels: {
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-mirror-controller.k8s.ovn.org',
          'k8s.ovn.org/service-name': 'web',
        },
        annotations: {
          'k8s.ovn.org/source-endpointslice': 'web-x',
          'k8s.ovn.org/source-endpointslice-version': source?.metadata.resourceVersion,
          'k8s.ovn.org/endpointslice-network': 'blue_net',
        },
        ownerReferences: [{ uid: 'service-uid' }],
      },
      addressType: 'IPv4',
      ports: [{ port: 80, protocol: 'TCP' }],
      endpoints: [{ addresses: ['10.20.0.3'], conditions: { ready: true } }],
    },
  ]);
  await apply(store, pod('blue/b', 'node1'));
  await running.settled();
  expect(await addresses(store)).toEqual(['10.20.0.3 10.20.0.4']);
  await store.patch(
    SLICES,
    'blue/web-x',
    { endpoints: slice('x', ['b']).endpoints },
    { fieldManager: 'user' },
  );
  await running.settled();
  expect(await addresses(store)).toEqual(['10.20.0.4']);
});

test('an endpoint whose pod has no address on the network is named, and joins when the pod has one', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  // The daemon of node2 does not run.
  await apply(store, node('node2'), pod('blue/a', 'node1'), pod('blue/b', 'node2'));
  await running.settled();
  await apply(store, slice('web-x', ['a', 'b', 'gone']));
  await apply(store, slice('web-6', ['a', 'b'], { addressType: 'IPv6' }));
  await running.settled();
  expect(await addresses(store)).toEqual(['10.20.0.3']);
  const message =
    'failed to determine the Pod IP of: blue/b: it has no IPv4 address on its primary network yet; other endpoints are mirrored';
  expect(running.problems()).toContain(`EndpointSlice blue/web-x: ${message}`);
  const told = store.events.filter(({ reason }) => reason === 'EndpointNotMirrored');
  expect(told).toMatchObject([{ type: 'Warning', message, regarding: { kind: 'EndpointSlice' } }]);
  const networks = {
    'blue/net': {
      ip_addresses: ['10.20.1.3/24'],
      mac_address: '0a:58:0a:14:01:03',
      role: 'primary',
    },
  };
  const annotations = { 'k8s.ovn.org/pod-networks': JSON.stringify(networks) };
  await store.patch(pods, 'blue/b', { metadata: { annotations } }, { fieldManager: 'node2' });
  await running.settled();
  expect(await addresses(store)).toEqual(['10.20.0.3 10.20.1.3']);
  expect(running.problems()).toEqual([]);
});

test('of several primary networks each has a mirror with the pods that are on it', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  const on = (network: string): Record<string, string> => ({
    'k8s.ovn.org/requested-primary-udn': network,
  });
  await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  await apply(store, layer2('blue/more', '10.21.0.0/16'));
  await apply(store, pod('blue/a', 'node1', on('net')), pod('blue/b', 'node1', on('more')));
  await apply(store, slice('web-x', ['a', 'b']), slice('only-b', ['b']));
  await running.settled();
  const found = (await mirrors(store)).map(
    ({ metadata, endpoints }) =>
      `${metadata.annotations?.['k8s.ovn.org/source-endpointslice']} ${metadata.annotations?.['k8s.ovn.org/endpointslice-network']}: ${endpoints.map((endpoint) => endpoint.addresses.join()).join(' ')}`,
  );
  expect(found.sort()).toEqual([
    'only-b blue_more: 10.21.0.3',
    'web-x blue_more: 10.21.0.3',
    'web-x blue_net: 10.20.0.3',
  ]);
  expect(running.problems()).toEqual([]);
});

test('a pod on a network without IPv6 is not missed in slices of IPv6, one on a network with it is', () => {
  const clusterSubnets = [
    ...testSettings.cluster.clusterSubnets,
    { cidr: 'fd01::/48', hostLength: 64 },
  ];
  const primaries = [
    ['net', '10.20.0.0/16'],
    ['more', '10.21.0.0/16,fd21::/64'],
  ].flatMap(([name = '', subnets = '']) => {
    const object = rawNad(`blue/${name}`, {
      cniVersion: '1.1.0',
      type: 'ovn-k8s-cni-overlay',
      name: `blue_${name}`,
      netAttachDefName: `blue/${name}`,
      topology: 'layer2',
      role: 'primary',
      subnets,
    });
    const reading = readNad(object, { ...testSettings.cluster, clusterSubnets });
    return reading.kind === 'network' ? [reading.nad] : [];
  });
  const source = slice('web-6', ['a', 'b', 'c'], { addressType: 'IPv6' });
  const networks: Record<string, object> = {
    'blue/a': { 'blue/net': { ip_addresses: ['10.20.0.3/16'], mac_address: '0a:58:0a:14:00:03' } },
    'blue/b': {
      'blue/more': {
        ip_addresses: ['10.21.0.3/16', 'fd21::3/64'],
        mac_address: '0a:58:0a:15:00:03',
      },
    },
    'blue/c': { 'blue/more': { ip_addresses: [], mac_address: '0a:58:0a:15:00:04' } },
  };
  const mirrored = (network: string): unknown => {
    const podOf = (key: string): ReturnType<typeof pod> =>
      pod(key, 'node1', { 'k8s.ovn.org/pod-networks': JSON.stringify(networks[key]) });
    const { slice: mirror, withoutAddress } = mirrorOf(source, network, primaries, podOf, []);
    return [mirror.endpoints?.flatMap(({ addresses: found = [] }) => found), withoutAddress];
  };
  expect(mirrored('blue_net')).toEqual([[], ['blue/c']]);
  expect(mirrored('blue_more')).toEqual([['fd21::3'], ['blue/c']]);
});

test('a slice that somebody made is mirrored: pods with their addresses on the network, others as they are where networks get to', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  await apply(store, layer2('blue/more', '10.21.0.0/16'), pod('blue/a', 'node1'));
  const at = (...addresses: readonly string[]): object => ({ addresses, conditions: {} });
  const made = slice('database', ['a']);
  const endpoints = [
    ...made.endpoints,
    at('192.0.2.7'),
    { ...at('192.0.2.8'), targetRef: { kind: 'VirtualMachine', name: 'db' } },
    at('10.20.0.77'),
    at('10.21.0.77'),
  ] as Slice['endpoints'];
  await apply(store, {
    ...made,
    metadata: {
      namespace: 'blue',
      name: 'database',
      labels: { 'kubernetes.io/service-name': 'database' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Endpoints', name: 'database', uid: 'u' }],
    },
    endpoints,
  } as Slice);
  await running.settled();
  const found = async (): Promise<readonly string[]> =>
    (await mirrors(store)).map(
      ({ metadata, endpoints: of }) =>
        `${metadata.annotations?.['k8s.ovn.org/endpointslice-network']}: ${of.map((one) => one.addresses.join()).join(' ')}`,
    );
  expect((await found()).toSorted()).toEqual([
    'blue_more: 10.21.0.3 192.0.2.7 192.0.2.8 10.21.0.77',
    'blue_net: 192.0.2.7 192.0.2.8 10.20.0.77',
  ]);
  const [mirror] = await mirrors(store);
  expect(mirror?.metadata.labels?.['k8s.ovn.org/service-name']).toBe('database');
  expect(mirror?.metadata.ownerReferences).toBeUndefined();
  expect(running.problems()).toEqual([]);
  const wrong = ['10.244.0.7', '10.96.0.1', '127.0.0.1', '169.254.169.254', 'fd00::1', 'x'];
  await store.patch(
    SLICES,
    'blue/database',
    { endpoints: [at('192.0.2.9'), ...wrong.map((address) => at(address))] },
    { fieldManager: 'user' },
  );
  await running.settled();
  expect((await found()).toSorted()).toEqual(['blue_more: 192.0.2.9', 'blue_net: 192.0.2.9']);
  const message =
    'addresses of endpoints that name no pod (targetRef) are left out, as networks of pods don\'t get there: 10.244.0.7 is within the cluster subnet 10.244.0.0/16, 10.96.0.1 is within the service subnet 10.96.0.0/16, 127.0.0.1 is within the loopback addresses 127.0.0.0/8, 169.254.169.254 is within the link-local addresses 169.254.0.0/16, "fd00::1" is no IPv4 address, and 1 more; give addresses on the network or outside of the cluster';
  expect(store.events.findLast(({ reason }) => reason === 'EndpointNotMirrored')).toMatchObject({
    message,
    regarding: { metadata: { name: 'database' } },
  });
});

test('slices of no service, of names and without endpoints are not mirrored, nor those of ordinary namespaces', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  await apply(store, namespace('plain', {}), pod('plain/a', 'node1'), pod('blue/a', 'node1'));
  const { metadata, ...rest } = slice('plain', ['a']);
  await apply(store, { ...rest, metadata: { ...metadata, namespace: 'plain' } });
  await apply(store, { ...rest, metadata: { ...metadata, name: 'hand', labels: {} } });
  await apply(store, slice('names', ['a'], { addressType: 'FQDN' }), slice('empty', []));
  await running.settled();
  expect(await mirrors(store)).toEqual([]);
});

test('mirrors go with their source and their network, are mended, and never stay double', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  await apply(store, pod('blue/a', 'node1'), slice('web-x', ['a']), slice('web-y', ['a']));
  await running.settled();
  expect(await addresses(store)).toEqual(['10.20.0.3', '10.20.0.3']);
  const [first] = await mirrors(store);
  if (first === undefined) throw new Error('a mirror expected');
  const { metadata, ...rest } = first;
  const { uid: _uid, resourceVersion: _version, ...copied } = metadata;
  await apply(store, { ...rest, metadata: { ...copied, name: 'double' } });
  await running.settled();
  expect(await addresses(store)).toEqual(['10.20.0.3', '10.20.0.3']);
  const [mirror] = await mirrors(store);
  const key = `blue/${mirror?.metadata.name ?? ''}`;
  await store.patch(SLICES, key, { endpoints: [] }, { fieldManager: 'user' });
  await running.settled();
  expect(await addresses(store)).toEqual(['10.20.0.3', '10.20.0.3']);
  await store.delete(SLICES, 'blue/web-x');
  await running.settled();
  expect(await addresses(store)).toEqual(['10.20.0.3']);
  await remove.pod(store, 'blue/a');
  await remove.udn(store, 'blue/net');
  await running.settled();
  expect(await mirrors(store)).toEqual([]);
});

test('of more slices than a service may have the oldest are mirrored, and another one when there is room', async () => {
  const store = new MemoryStore();
  const serviceLimits = { entries: 1024, targets: 100, slices: 2 };
  await using running = startManager(store, {}, { serviceLimits });
  await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  const web = pod('blue/a', 'node1');
  await apply(store, {
    ...web,
    spec: { ...web.spec, hostNetwork: true },
    status: { podIPs: [{ ip: '172.18.0.3' }] },
  });
  await running.settled();
  for (const name of ['web-3', 'web-2', 'web-1']) {
    await apply(store, slice(name, ['a']));
    await running.settled();
  }
  const sources = async (): Promise<readonly string[]> =>
    (await mirrors(store)).map(
      ({ metadata }) => metadata.annotations?.['k8s.ovn.org/source-endpointslice'] ?? '',
    );
  const said =
    'service blue/web has more than 2 EndpointSlices (--max-service-slices), and this is none of the oldest: its endpoints are not mirrored; take back what is not needed, or spread the pods over several services';
  expect(await sources()).toHaveLength(2);
  expect(running.manager.problems().map(({ message }) => message)).toEqual([said]);
  expect(store.events.map(({ reason, message }) => `${reason}: ${message}`)).toContain(
    `EndpointNotMirrored: ${said}`,
  );
  const [first = ''] = await sources();
  await store.delete(SLICES, `blue/${first}`);
  await running.settled();
  expect(await sources()).toHaveLength(2);
  expect(running.manager.problems()).toEqual([]);
});
