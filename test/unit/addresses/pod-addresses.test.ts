import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { NodePodAddresses } from '../../../src/addresses/node-pod-addresses.ts';
import {
  networkAttachmentDefinitions as nadKind,
  nodes as nodeKind,
  pods,
  resourceKinds,
  userDefinedNetworks,
} from '../../../src/api/kinds.ts';
import { PodPools } from '../../../src/addresses/pod-pools.ts';
import { Informers } from '../../../src/store/informers.ts';
import { systemClock, type Clock } from '../../../src/store/clock.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  apply,
  layer2,
  layer3,
  namespace,
  node,
  pod,
  rawNad,
  remove,
  silent,
  startManager,
  testSettings,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import {
  layer2ReplacedBeforeWiring,
  requestChangedBeforeWiring,
  requestCorrectedBeforeWiring,
  secondPrimaryBeforeWiring,
} from '../../support/cluster/unwired-pods.ts';
import { SkippingClock } from '../../support/run/skipping-clock.ts';
import { nadsOf } from '../../support/cluster/nads-of.ts';
import { PodTraces } from '../../../src/traces/pod-traces.ts';
import type { Span } from '../../../src/traces/span.ts';

interface Running extends AsyncDisposable {
  settled(): Promise<void>;
  problems(): readonly string[];
}

/** The manager, and the pod addresses of each node, as daemons run them. */
function start(store: Store, ...nodeNames: readonly string[]): Running {
  return startAt(systemClock, store, ...nodeNames);
}

function startAt(clock: Clock, store: Store, ...nodeNames: readonly string[]): Running {
  return startTraced({}, clock, store, ...nodeNames);
}

/** `traces`: of the manager, and of each node. */
function startTraced(
  traces: { readonly manager?: PodTraces; readonly nodes?: PodTraces },
  clock: Clock,
  store: Store,
  ...nodeNames: readonly string[]
): Running {
  const ofManager = traces.manager === undefined ? {} : { traces: traces.manager };
  const ofNodes = traces.nodes === undefined ? {} : { traces: traces.nodes };
  const running = startManager(store, {}, {}, { clock, ...ofManager });
  const controller = new AbortController();
  const { signal } = controller;
  const informers = new Informers({ store, log: silent });
  const registry = nadsOf(informers);
  const onNodes = nodeNames.map(
    (name) =>
      new NodePodAddresses({
        informers,
        node: name,
        registry,
        settings: testSettings.cluster,
        log: silent,
        clock,
        signal: controller.signal,
        randomBytes: (count) => new Uint8Array(count).fill(7),
        ...ofNodes,
      }),
  );
  const runs = [informers.run(signal), ...onNodes.map((one) => one.run())];
  return {
    // Each may wait for what another one writes.
    async settled() {
      for (let round = 0; round < 3; round += 1) {
        await running.settled();
        await informers.refresh(resourceKinds, signal);
        for (const one of onNodes) await one.caughtUp();
      }
    },
    problems: () =>
      [running.manager, ...onNodes]
        .flatMap((one) => one.problems())
        .map(({ object, message }) => `${object}: ${message}`),
    async [Symbol.asyncDispose]() {
      controller.abort(new Error('stopped'));
      await Promise.all(runs);
      await running.stop();
    },
  };
}

const networksOf = async (store: Store, key: string): Promise<unknown> => {
  const text = (await store.get(pods, key))?.metadata.annotations?.['k8s.ovn.org/pod-networks'];
  return text === undefined ? undefined : JSON.parse(text);
};
const addressesOf = async (store: Store, key: string): Promise<Record<string, string>> => {
  const networks = ((await networksOf(store, key)) ?? {}) as Record<
    string,
    { ip_addresses: string[] }
  >;
  return Object.fromEntries(
    Object.entries(networks).map(([nad, entry]) => [nad, entry.ip_addresses.join(' ')]),
  );
};

test('a pod of a Layer3 network has addresses, routes and gateways of both its networks', async () => {
  const store = new MemoryStore();
  await using running = start(store, 'node1');
  await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  await apply(store, pod('blue/web', 'node1'));
  await running.settled();
  expect(await networksOf(store, 'blue/web')).toEqual({
    default: {
      ip_addresses: ['10.244.0.3/24'],
      mac_address: '0a:58:0a:f4:00:03',
      routes: [
        { dest: '10.244.0.0/16', nextHop: '10.244.0.1' },
        { dest: '100.64.0.0/16', nextHop: '10.244.0.1' },
      ],
      ip_address: '10.244.0.3/24',
      role: 'infrastructure-locked',
    },
    'blue/net': {
      ip_addresses: ['10.20.0.3/24'],
      mac_address: '0a:58:0a:14:00:03',
      gateway_ips: ['10.20.0.1'],
      routes: [
        { dest: '10.20.0.0/16', nextHop: '10.20.0.1' },
        { dest: '10.96.0.0/16', nextHop: '10.20.0.1' },
        { dest: '100.65.0.0/16', nextHop: '10.20.0.1' },
      ],
      ip_address: '10.20.0.3/24',
      gateway_ip: '10.20.0.1',
      role: 'primary',
    },
  });
  expect(running.problems()).toEqual([]);
});

test('a pod of an ordinary namespace has the default network as its primary one', async () => {
  const store = new MemoryStore();
  await using running = start(store, 'node1');
  await apply(store, node('node1'), namespace('plain', {}), pod('plain/web', 'node1'));
  await running.settled();
  expect(await networksOf(store, 'plain/web')).toEqual({
    default: {
      ip_addresses: ['10.244.0.3/24'],
      mac_address: '0a:58:0a:f4:00:03',
      gateway_ips: ['10.244.0.1'],
      routes: [
        { dest: '10.244.0.0/16', nextHop: '10.244.0.1' },
        { dest: '10.96.0.0/16', nextHop: '10.244.0.1' },
        { dest: '169.254.0.5/32', nextHop: '10.244.0.1' },
        { dest: '100.64.0.0/16', nextHop: '10.244.0.1' },
      ],
      ip_address: '10.244.0.3/24',
      gateway_ip: '10.244.0.1',
      role: 'primary',
    },
  });
});

/** Of the node's part of 10.20.0.0/16. */
const GATEWAY_OF_NODE = expect.stringMatching(/^10\.20\.\d+\.1$/) as string;

test('a pod on a secondary network with a gateway has its routes there, and the default route for the families that it asks for', async () => {
  const store = new MemoryStore();
  await using running = start(store, 'node1');
  const routed = layer3('plain/routed', '10.20.0.0/16/24', 'Secondary');
  const annotations = { 'k8s.ovn.org/secondary-gateway': '{"routes": ["203.0.113.0/24"]}' };
  const entryOf = async (key: string, nad = 'plain/routed'): Promise<unknown> =>
    Object.entries((await networksOf(store, key)) ?? {}).find(([name]) => name === nad)?.[1];
  const asks = (networks: string) => ({ 'k8s.v1.cni.cncf.io/networks': networks });
  await apply(
    store,
    node('node1'),
    namespace('plain', {}),
    { ...routed, metadata: { ...routed.metadata, annotations } },
    pod('plain/web', 'node1', asks('routed')),
    pod('plain/all', 'node1', asks('[{"name": "routed", "default-route": ["10.20.0.1"]}]')),
  );
  await running.settled();
  expect(await entryOf('plain/web')).toMatchObject({
    routes: [
      { dest: '10.20.0.0/16', nextHop: GATEWAY_OF_NODE },
      { dest: '203.0.113.0/24', nextHop: GATEWAY_OF_NODE },
    ],
    service_routes: [{ dest: '100.65.0.0/16', nextHop: GATEWAY_OF_NODE }],
    role: 'secondary',
  });
  expect(await entryOf('plain/web')).not.toHaveProperty('gateway_ip');
  const all = await networksOf(store, 'plain/all');
  // Of the node's own subnet, which nobody knows who writes the pod.
  expect(await entryOf('plain/all')).toMatchObject({
    gateway_ips: [GATEWAY_OF_NODE],
  });
  expect(await entryOf('plain/all', 'default')).not.toHaveProperty('gateway_ip');
  // What a pod has been given stays.
  await store.patch(
    userDefinedNetworks,
    'plain/routed',
    { metadata: { annotations: { 'k8s.ovn.org/secondary-gateway': null } } },
    { fieldManager: 'user' },
  );
  await running.settled();
  expect(await networksOf(store, 'plain/all')).toEqual(all);
});

test('pods of a secondary Layer2 network with a gateway have none of the addresses and keys of its router', async () => {
  const store = new MemoryStore();
  await using running = start(store, 'node1');
  const flat = layer2('plain/flat', '10.30.0.0/29', 'Secondary');
  const annotations = { 'k8s.ovn.org/secondary-gateway': '{"routes": ["203.0.113.0/24"]}' };
  await apply(
    store,
    node('node1'),
    namespace('plain', {}),
    { ...flat, metadata: { ...flat.metadata, annotations } },
    pod('plain/web', 'node1', { 'k8s.v1.cni.cncf.io/networks': 'flat' }),
  );
  await running.settled();
  const entry = Object.entries((await networksOf(store, 'plain/web')) ?? {}).find(
    ([name]) => name === 'plain/flat',
  )?.[1] as unknown;
  expect(entry).toMatchObject({
    ip_addresses: ['10.30.0.3/29'],
    routes: [{ dest: '203.0.113.0/24', nextHop: '10.30.0.1' }],
    service_routes: [{ dest: '100.65.0.0/16', nextHop: '10.30.0.1' }],
    tunnel_id: 10,
    role: 'secondary',
  });
});

test('a pod of a Layer2 network gets an address of the whole network and a port tunnel id', async () => {
  const store = new MemoryStore();
  await using running = start(store, 'node1', 'node2');
  await apply(store, node('node1'), node('node2'), namespace('blue'));
  await apply(store, layer2('blue/net', '10.30.0.0/16,fd30::/64'));
  await apply(store, pod('blue/a', 'node1'), pod('blue/b', 'node2'));
  await running.settled();
  // The default cluster has no IPv6, so the dual-stack network is refused; see the next network.
  expect(running.problems()[0]).toContain('does not support ipv6');
  await remove.udn(store, 'blue/net');
  await apply(store, layer2('blue/four', '10.30.0.0/16'));
  await running.settled();
  expect(await networksOf(store, 'blue/a')).toMatchObject({
    'blue/four': {
      ip_addresses: ['10.30.0.3/16'],
      gateway_ips: ['10.30.0.1'],
      routes: [
        { dest: '10.96.0.0/16', nextHop: '10.30.0.1' },
        { dest: '100.65.0.0/16', nextHop: '10.30.0.1' },
      ],
      tunnel_id: 10,
      role: 'primary',
    },
  });
  expect(await addressesOf(store, 'blue/b')).toEqual({
    'blue/four': '10.30.0.4/16',
    default: '10.244.1.3/24',
  });
  expect(running.problems()).toEqual([]);
});

describe('pods that get nothing', () => {
  test.each([
    ['on the host’s network', { hostNetwork: true }, {}],
    ['done with their work', {}, { phase: 'Succeeded' }],
    ['failed', {}, { phase: 'Failed' }],
  ])('%s', async (_name, spec, status) => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    const base = pod('plain/web', 'node1');
    await apply(store, node('node1'), namespace('plain', {}));
    await apply(store, { ...base, spec: { ...base.spec, ...spec }, status });
    await running.settled();
    expect(await networksOf(store, 'plain/web')).toBeUndefined();
    expect(running.problems()).toEqual([]);
  });

  test('not scheduled yet; they do when they are', async () => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    await apply(store, node('node1'), namespace('plain', {}), pod('plain/web'));
    await running.settled();
    expect(await networksOf(store, 'plain/web')).toBeUndefined();
    await store.patch(pods, 'plain/web', { spec: { nodeName: 'node1' } }, { fieldManager: 'user' });
    await running.settled();
    expect(await addressesOf(store, 'plain/web')).toEqual({ default: '10.244.0.3/24' });
  });

  test('in a labelled namespace without a network, until it comes', async () => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    await apply(store, node('node1'), namespace('blue'), pod('blue/web', 'node1'));
    await running.settled();
    expect(await networksOf(store, 'blue/web')).toBeUndefined();
    const problem =
      'namespace "blue" has the label "k8s.ovn.org/primary-user-defined-network" and no primary network yet';
    expect(running.problems()).toEqual([expect.stringContaining(`Pod blue/web: ${problem}`)]);
    await apply(store, layer3('blue/net', '10.20.0.0/16/24'));
    await running.settled();
    expect(await addressesOf(store, 'blue/web')).toEqual({
      'blue/net': '10.20.0.3/24',
      default: '10.244.0.3/24',
    });
    expect(running.problems()).toEqual([]);
  });

  describe('are told so', () => {
    const told = (store: MemoryStore): string[] =>
      store.events.map(
        ({ regarding, type, message }) =>
          `${regarding.kind} ${regarding.metadata.name} ${type} ${message}`,
      );
    const waiting: unknown = expect.stringMatching(
      /^Pod web Warning namespace "blue" has the label "k8s.ovn.org\/primary-user-defined-network" and no primary network yet: create /,
    );

    test('not when their network comes right after them', async () => {
      const [store, clock] = [new MemoryStore(), new SkippingClock()];
      await using running = startAt(clock, store, 'node1');
      await apply(store, node('node1'), namespace('blue'), pod('blue/web', 'node1'));
      await running.settled();
      clock.skip(9000);
      await running.settled();
      await apply(store, layer3('blue/net', '10.20.0.0/16/24'));
      await running.settled();
      clock.skip(60_000);
      await running.settled();
      expect(Object.keys(await addressesOf(store, 'blue/web'))).toHaveLength(2);
      expect(told(store)).toEqual([]);
    });

    test.each([
      ['node', layer3('blue/net', '10.20.0.0/16/24')],
      ['cluster manager', layer2('blue/net', '10.20.0.0/16')],
    ])(
      'once, when they wait for longer, and again when their %s gives them addresses',
      async (_name, network) => {
        const [store, clock] = [new MemoryStore(), new SkippingClock()];
        await using running = startAt(clock, store, 'node1');
        await apply(store, node('node1'), namespace('blue'), pod('blue/web', 'node1'));
        for (let seconds = 0; seconds < 60; seconds += 10) {
          await running.settled();
          clock.skip(10_000);
        }
        await running.settled();
        expect(told(store)).toEqual([waiting]);
        await apply(store, network);
        await running.settled();
        expect(told(store)).toEqual([
          waiting,
          'Pod web Normal has its addresses on all of its networks now: blue/net, default',
        ]);
      },
    );

    test("at once, where what they say can't be right, and of what harms no address", async () => {
      const store = new MemoryStore();
      await using running = start(store, 'node1');
      const torn = { 'k8s.v1.cni.cncf.io/networks': '[{' };
      const ports = { 'k8s.ovn.org/open-default-ports': '- {protocol: tcp, port: 99999}' };
      await apply(store, node('node1'), namespace('plain', {}));
      await apply(store, pod('plain/torn', 'node1', torn), pod('plain/ports', 'node1', ports));
      await running.settled();
      expect(told(store).sort()).toEqual([
        'Pod ports Warning annotation k8s.ovn.org/open-default-ports: entry 1: port: must be a whole number from 0 to 65535, is 99999; correct or remove the annotation',
        expect.stringMatching(/^Pod torn Warning annotation k8s.v1.cni.cncf.io\/networks: /),
      ]);
      expect(await addressesOf(store, 'plain/ports')).toEqual({ default: '10.244.0.3/24' });
    });
  });

  test.each([
    ['node', pod('plain/web', 'nowhere'), 'spec.nodeName: there is no node "nowhere"'],
    ['namespace', pod('gone/web', 'node1'), 'metadata.namespace: there is no namespace "gone"'],
  ])('of an unknown %s', async (_name, object, message) => {
    const [store, clock] = [new MemoryStore(), new SkippingClock()];
    await using running = startAt(clock, store, 'node1');
    await apply(store, node('node1'), namespace('plain', {}), object);
    await running.settled();
    expect(running.problems().join()).toContain(message);
    expect(store.events).toEqual([]);
    clock.skip(10_000);
    await running.settled();
    expect(store.events).toHaveLength(1);
  });
});

test('namespaces that every cluster has need not be declared', async () => {
  const store = new MemoryStore();
  await using running = start(store, 'node1');
  await apply(store, node('node1'), pod('kube-system/dns', 'node1'));
  await running.settled();
  expect(await addressesOf(store, 'kube-system/dns')).toEqual({ default: '10.244.0.3/24' });
});

test('what pods carry is adopted before anything is given', async () => {
  const store = new MemoryStore();
  const carried = (ip: string): Record<string, string> => ({
    'k8s.ovn.org/pod-networks': JSON.stringify({
      default: { ip_addresses: [ip], mac_address: '0a:58:0a:f4:00:03', role: 'primary' },
    }),
  });
  const subnets = { 'k8s.ovn.org/node-subnets': '{"default":["10.244.7.0/24"]}' };
  await apply(store, node('node1', { 'k8s.ovn.org/node-id': '9', ...subnets }));
  await apply(store, namespace('plain', {}), pod('plain/new', 'node1'));
  await apply(store, pod('plain/old', 'node1', carried('10.244.7.3/24')));
  await apply(store, pod('plain/same', 'node1', carried('10.244.7.3/24')));
  await using running = start(store, 'node1');
  await running.settled();
  expect(await addressesOf(store, 'plain/old')).toEqual({ default: '10.244.7.3/24' });
  expect(await addressesOf(store, 'plain/new')).toEqual({ default: '10.244.7.4/24' });
  const found = await store.get(nodeKind, 'node1');
  expect(found?.metadata.annotations).toMatchObject({ 'k8s.ovn.org/node-id': '9', ...subnets });
  expect(running.problems()).toEqual([
    expect.stringMatching(
      /^Pod plain\/same: default\/plain\/same: 10\.244\.7\.3 is already allocated to plain\/old/,
    ),
  ]);
});

test('a full node subnet is an event; a pod that leaves makes room', async () => {
  const store = new MemoryStore();
  await using running = start(store, 'node1');
  await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/29'));
  await running.settled();
  for (const name of ['a', 'b', 'c', 'd', 'e']) await apply(store, pod(`blue/${name}`, 'node1'));
  await running.settled();
  const message =
    'failed to assign pod addresses for blue/net/blue/e: failed to allocate new IPs for blue_net: subnet address pool exhausted';
  expect(store.events).toMatchObject([{ reason: 'ErrorReconcilingPod', message }]);
  expect(running.problems()).toEqual([`Pod blue/e: ${message}`]);
  await remove.pod(store, 'blue/b');
  await running.settled();
  expect((await addressesOf(store, 'blue/e'))['blue/net']).toBe('10.20.0.4/29');
  expect(running.problems()).toEqual([]);
});

describe('secondary networks', () => {
  const config = (name: string, more: object): object => ({
    cniVersion: '1.1.0',
    type: 'ovn-k8s-cni-overlay',
    name,
    netAttachDefName: `plain/${name}`,
    ...more,
  });
  const asking = (...networks: readonly object[]): Record<string, string> => ({
    'k8s.v1.cni.cncf.io/networks': JSON.stringify(networks),
  });

  test('are attached as asked for, with addresses of the pod’s choice where they are free', async () => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    await apply(store, node('node1'), namespace('plain', {}));
    await apply(
      store,
      rawNad('plain/l2', config('l2', { topology: 'layer2', subnets: '10.9.0.0/24' })),
    );
    await apply(store, rawNad('plain/free', config('free', { topology: 'layer2' })));
    await running.settled();
    const asked = { name: 'l2', ips: ['10.9.0.7/24'], mac: 'CA:FE:C0:FF:EE:00' };
    await apply(store, pod('plain/a', 'node1', asking(asked, { name: 'l2' }, { name: 'free' })));
    await apply(store, pod('plain/b', 'node1', asking({ name: 'l2', ips: ['10.9.0.7/24'] })));
    await running.settled();
    expect(await networksOf(store, 'plain/a')).toMatchObject({
      'plain/l2': {
        ip_addresses: ['10.9.0.7/24'],
        mac_address: 'ca:fe:c0:ff:ee:00',
        tunnel_id: 1,
        role: 'secondary',
      },
      'plain/l2/1': { ip_addresses: ['10.9.0.1/24'], tunnel_id: 2 },
      'plain/free': { ip_addresses: [], mac_address: expect.any(String) as string, tunnel_id: 1 },
    });
    expect(running.problems()).toEqual([
      expect.stringMatching(
        /^Pod plain\/b: failed to ensure requested or annotated IPs \[10\.9\.0\.7\/24\] for plain\/l2\/plain\/b: provided IP is already allocated/,
      ),
    ]);
  });

  test('that don’t exist, or are primary, are errors that name them', async () => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    await apply(store, node('node1'), namespace('plain', {}), namespace('blue'));
    await apply(store, layer3('blue/net', '10.20.0.0/16/24'));
    await apply(store, pod('plain/a', 'node1', asking({ name: 'nope' })));
    await apply(store, pod('plain/b', 'node1', asking({ namespace: 'blue', name: 'net' })));
    await running.settled();
    expect(running.problems()).toEqual([
      expect.stringContaining('there is no network-attachment-definition "plain/nope"'),
      expect.stringContaining('unexpected primary network "blue_net"'),
    ]);
  });
});

describe('what a pod asks of its primary network', () => {
  const selection = (entries: readonly object[]): Readonly<Record<string, string>> => ({
    'v1.multus-cni.io/default-network': JSON.stringify(entries),
  });
  const wanted = { namespace: 'ovn-kubernetes', name: 'default', ips: ['10.20.0.40/24'] };

  test('is given, with the NAD of the cluster default network as the one that it names', async () => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    await apply(store, node('node1'), namespace('blue'), layer2('blue/net', '10.20.0.0/24'));
    await running.settled();
    const mac = '02:03:04:05:06:07';
    await apply(store, pod('blue/web', 'node1', selection([{ ...wanted, mac }])));
    await running.settled();
    expect(await networksOf(store, 'blue/web')).toMatchObject({
      'blue/net': { ip_addresses: ['10.20.0.40/24'], mac_address: mac },
    });
  });

  test('that NAD is where the settings say', async () => {
    const store = new MemoryStore();
    await using running = startManager(store, {}, { configNamespace: 'kube-ovn' });
    await apply(store, node('node1'), namespace('blue'), layer2('blue/net', '10.20.0.0/24'));
    await running.settled();
    const there = { ...wanted, namespace: 'kube-ovn' };
    await apply(store, pod('blue/web', 'node1', selection([there])));
    await apply(store, pod('blue/old', 'node1', selection([wanted])));
    await running.settled();
    expect(await addressesOf(store, 'blue/web')).toEqual({ 'blue/net': '10.20.0.40/24' });
    expect(await addressesOf(store, 'blue/old')).toEqual({});
  });

  test.each([
    [
      [{ ...wanted, namespace: 'other' }],
      'unexpected default NSE namespace "other", expected "ovn-kubernetes"',
    ],
    [
      [{ name: 'default', ips: wanted.ips }],
      'unexpected default NSE namespace "blue", expected "ovn-kubernetes"',
    ],
    [[{ ...wanted, name: 'other' }], 'unexpected default NSE name "other", expected "default"'],
    [[wanted, wanted], 'has 2 entries; one is allowed'],
  ])('%j is refused', async (entries, message) => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    await apply(store, node('node1'), namespace('blue'), layer2('blue/net', '10.20.0.0/24'));
    await running.settled();
    await apply(store, pod('blue/web', 'node1', selection(entries)));
    await running.settled();
    expect(await networksOf(store, 'blue/web')).toBeUndefined();
    expect(running.problems()).toEqual([expect.stringContaining(message)]);
  });
});

test('a pod whose networks overlap is not wired', async () => {
  const store = new MemoryStore();
  await using running = start(store, 'node1');
  await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  await apply(store, layer2('blue/extra', '10.20.7.0/24', 'Secondary'));
  await running.settled();
  await apply(store, pod('blue/web', 'node1', { 'k8s.v1.cni.cncf.io/networks': 'extra' }));
  await running.settled();
  expect(await networksOf(store, 'blue/web')).toBeUndefined();
  expect(running.problems()).toEqual([
    'Pod blue/web: its networks blue_net and blue_extra overlap (10.20.0.0/16 and 10.20.7.0/24): attach it to one of them',
  ]);
});

test('an address that two pods carry belongs to the one that is left, and to nobody else', async () => {
  const store = new MemoryStore();
  await using running = start(store, 'node1');
  await apply(store, node('node1'), namespace('blue'), layer2('blue/net', '10.20.0.0/29'));
  await running.settled();
  await apply(store, pod('blue/a', 'node1'));
  await running.settled();
  const { metadata } = (await store.get(pods, 'blue/a')) ?? pod('blue/a');
  await apply(store, pod('blue/copy', 'node1', metadata.annotations));
  await running.settled();
  expect(running.problems()).toContainEqual(
    expect.stringMatching(/^Pod blue\/copy: blue\/net\/blue\/copy: 10.20.0.3 is already allocated/),
  );
  await remove.pod(store, 'blue/a');
  await running.settled();
  expect(running.problems()).toEqual([]);
  for (const name of ['b', 'c', 'd', 'e']) await apply(store, pod(`blue/${name}`, 'node1'));
  await running.settled();
  const addresses = await Promise.all(
    ['copy', 'b', 'c', 'd', 'e'].map(
      async (name) => (await addressesOf(store, `blue/${name}`))['blue/net'],
    ),
  );
  expect(addresses).toEqual([
    '10.20.0.3/29',
    '10.20.0.4/29',
    '10.20.0.5/29',
    '10.20.0.6/29',
    undefined,
  ]);
});

describe('a pod that waits is looked at again for what concerns it, and for nothing else', () => {
  /** Counts how often pods are looked at from now on. */
  function looks(): () => readonly string[] {
    const release = vi.spyOn(PodPools.prototype, 'release');
    onTestFinished(() => release.mockRestore());
    return () => release.mock.calls.map(([key]) => key);
  }

  test('networks, nodes and pods of others', async () => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    // Nobody gives addresses on node2: these wait on and on.
    await apply(store, node('node1'), node('node2'), namespace('plain', {}));
    const waiting = Array.from({ length: 30 }, (_, k) => `plain/p${k}`);
    await apply(store, ...waiting.map((key) => pod(key, 'node2')));
    await apply(store, namespace('late'), pod('late/web', 'node1'));
    await apply(store, namespace('other', {}), pod('other/gone', 'node1'));
    await running.settled();
    const seen = looks();
    for (const name of ['red', 'green'])
      await apply(store, namespace(name), layer3(`${name}/net`, '10.20.0.0/16/24'));
    await apply(store, node('node3'));
    await remove.pod(store, 'other/gone');
    await running.settled();
    expect(seen().filter((key) => key !== 'other/gone')).toEqual([]);
    await apply(store, layer3('late/net', '10.30.0.0/16/24'));
    await running.settled();
    expect(await addressesOf(store, 'late/web')).toEqual({
      'late/net': '10.30.0.3/24',
      default: '10.244.0.4/24',
    });
    expect(seen().filter((key) => waiting.includes(key))).toEqual([]);
  });

  test('a NAD in another namespace that it names, and one that counts now because another one went', async () => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    const shared = (key: string, subnets: string): ReturnType<typeof rawNad> =>
      rawNad(key, {
        cniVersion: '1.1.0',
        type: 'ovn-k8s-cni-overlay',
        name: 'shared',
        netAttachDefName: key,
        topology: 'layer2',
        subnets,
      });
    await apply(store, node('node1'), namespace('default', {}), namespace('plain', {}));
    const asking = { 'k8s.v1.cni.cncf.io/networks': 'default/lan' };
    await apply(store, pod('plain/web', 'node1', asking));
    await running.settled();
    expect(running.problems()).toEqual([expect.stringContaining('"default/lan"')]);
    await apply(store, shared('other/lan', '10.9.0.0/24'));
    await running.settled();
    await apply(store, shared('default/lan', '10.7.0.0/24'));
    await running.settled();
    expect((await addressesOf(store, 'plain/web'))['default/lan']).toBeUndefined();
    await remove.nad(store, 'other/lan');
    await running.settled();
    expect((await addressesOf(store, 'plain/web'))['default/lan']).toBe('10.7.0.1/24');
  });
});

describe('a pod that nobody has wired yet gets what there is now, without a restart', () => {
  test('when a second primary network comes, so that the choice is the manager’s', () =>
    secondPrimaryBeforeWiring(new MemoryStore()));

  test('when a Layer3 network takes the place of a Layer2 one, so that the address is the node’s', () =>
    layer2ReplacedBeforeWiring(new MemoryStore()));
});

describe('several primary networks', () => {
  test('what a pod asks for when it is created counts, not what it asks for later', () =>
    requestChangedBeforeWiring(new MemoryStore()));

  test('a pod that can’t be wired as it was created stays so, whatever it asks for later', () =>
    requestCorrectedBeforeWiring(new MemoryStore()));

  test('what a pod asks for counts from before it is scheduled', async () => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    await apply(store, node('node1'), namespace('blue'), layer3('blue/one', '10.20.0.0/16/24'));
    await apply(store, layer3('blue/two', '10.30.0.0/16/24'));
    await running.settled();
    const asking = (name: string): object => ({ 'k8s.ovn.org/requested-primary-udn': name });
    await apply(store, pod('blue/web', undefined, { ...asking('two') }));
    await running.settled();
    const patch = { metadata: { annotations: asking('one') }, spec: { nodeName: 'node1' } };
    await store.patch(pods, 'blue/web', patch, { fieldManager: 'user' });
    await running.settled();
    expect(Object.keys(await addressesOf(store, 'blue/web')).toSorted()).toEqual([
      'blue/two',
      'default',
    ]);
  });

  test('a pod takes the first one with room for what it asks, or the one that it names', async () => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    await apply(store, node('node1'), namespace('blue'));
    await apply(store, layer2('blue/small', '10.20.0.0/29'));
    await running.settled();
    await apply(store, layer3('blue/large', '10.30.0.0/16/24'));
    await running.settled();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
      await apply(store, pod(`blue/${name}`, 'node1'));
    const wanted = { 'k8s.ovn.org/requested-primary-udn': 'large' };
    await apply(store, pod('blue/g', 'node1', wanted));
    await apply(store, pod('blue/h', 'node1', { 'k8s.ovn.org/requested-primary-udn': 'other' }));
    await running.settled();
    const primary = async (name: string): Promise<string> => {
      const { default: _default, ...rest } = await addressesOf(store, `blue/${name}`);
      return Object.entries(rest)
        .map(([nad, ip]) => `${nad} ${ip}`)
        .join();
    };
    expect(await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(primary))).toEqual([
      'blue/small 10.20.0.3/29',
      'blue/small 10.20.0.4/29',
      'blue/small 10.20.0.5/29',
      'blue/small 10.20.0.6/29',
      expect.stringContaining('blue/large 10.30.0.'),
      expect.stringContaining('blue/large 10.30.0.'),
      expect.stringContaining('blue/large 10.30.0.'),
      '',
    ]);
    const there = { namespace: 'ovn-kubernetes', name: 'default', ips: ['10.40.0.9/24'] };
    await apply(store, layer2('blue/third', '10.40.0.0/24'));
    await apply(
      store,
      pod('blue/i', 'node1', { 'v1.multus-cni.io/default-network': JSON.stringify([there]) }),
    );
    await running.settled();
    expect(await primary('i')).toBe('blue/third 10.40.0.9/24');
    expect(running.problems()).toEqual([
      expect.stringContaining(
        'requested primary network "other" is no primary network of namespace "blue": delete the pod and create it with one of small, large, third',
      ),
    ]);
  });
});

describe('an address that was given a moment ago rests', () => {
  const addressOf = async (store: Store, key: string, nad: string): Promise<string> => {
    const text = (await store.get(pods, key))?.metadata.annotations?.['k8s.ovn.org/pod-networks'];
    const carried = JSON.parse(text ?? '{}') as Record<string, { ip_addresses?: string[] }>;
    return carried[nad]?.ip_addresses?.join() ?? '';
  };

  test.each([
    ['Layer2', layer2('blue/net', '10.30.0.0/24'), '10.30.0'],
    ['Layer3', layer3('blue/net', '10.30.0.0/16/24'), '10.30.0'],
  ])('when a %s network is deleted and made again', async (_topology, network, prefix) => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    await apply(store, node('node1'), namespace('blue'), network);
    await running.settled();
    await apply(store, pod('blue/one', 'node1'), pod('blue/two', 'node1'));
    await running.settled();
    expect(await addressOf(store, 'blue/two', 'blue/net')).toBe(`${prefix}.4/24`);
    for (const key of ['blue/one', 'blue/two']) await remove.pod(store, key);
    await remove.udn(store, 'blue/net');
    await running.settled();
    await apply(store, network);
    await running.settled();
    await apply(store, pod('blue/three', 'node1'));
    await running.settled();
    expect(await addressOf(store, 'blue/three', 'blue/net')).toBe(`${prefix}.5/24`);
  });

  test('when the process starts again, as far as pods tell what was given last', async () => {
    const store = new MemoryStore();
    {
      await using before = start(store, 'node1');
      await apply(store, node('node1'), namespace('blue'), layer2('blue/net', '10.30.0.0/24'));
      await before.settled();
      for (const key of ['blue/one', 'blue/two']) {
        await apply(store, pod(key, 'node1'));
        await before.settled();
      }
      await remove.pod(store, 'blue/one');
    }
    await using running = start(store, 'node1');
    await running.settled();
    await apply(store, pod('blue/three', 'node1'));
    await running.settled();
    expect(await addressOf(store, 'blue/three', 'blue/net')).toBe('10.30.0.5/24');
    expect(await addressOf(store, 'blue/three', 'default')).toBe('10.244.0.5/24');
  });
});

describe('what is wrong with the address of a pod is told as it is now', () => {
  const carrying = (address: string): Readonly<Record<string, string>> => ({
    'k8s.v1.cni.cncf.io/networks': '[{"name":"wide"}]',
    'k8s.ovn.org/pod-networks': JSON.stringify({
      'blue/wide': {
        ip_addresses: [address],
        mac_address: '0a:58:0a:28:00:03',
        role: 'secondary',
      },
    }),
  });
  const wide = (subnets: string): ReturnType<typeof rawNad> =>
    rawNad('blue/wide', {
      cniVersion: '1.1.0',
      type: 'ovn-k8s-cni-overlay',
      name: 'wide',
      netAttachDefName: 'blue/wide',
      topology: 'layer3',
      subnets,
    });
  const told = (running: Running): readonly string[] =>
    running.problems().filter((line) => line.includes('10.40.'));

  test('when its network has other ranges, and when that is gone', async () => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    await apply(store, node('node1'), namespace('blue', {}), wide('10.40.0.0/16/24'));
    await running.settled();
    await apply(store, pod('blue/web', 'node1', carrying('10.40.0.3/24')));
    await running.settled();
    expect(told(running)).toEqual([]);
    const { spec } = wide('10.41.0.0/16/24');
    const change = { spec };
    await store.patch(nadKind, 'blue/wide', change, { fieldManager: 'user' });
    await running.settled();
    expect(told(running)).toEqual([
      expect.stringContaining('10.40.0.3 is no host address of 10.41.0.0/24 (network "wide")'),
    ]);
    await remove.nad(store, 'blue/wide');
    await running.settled();
    expect(told(running)).toEqual([]);
  });

  test('when its node goes', async () => {
    const store = new MemoryStore();
    await using running = start(store, 'node1');
    await apply(store, node('node1'), namespace('plain', {}), pod('plain/web', 'node1'));
    await running.settled();
    expect(running.problems()).toEqual([]);
    await remove.node(store, 'node1');
    await running.settled();
    expect(running.problems().join()).toContain('there is no node "node1"');
  });
});

test('manager and node record the addresses that each gives a new pod, in one trace', async () => {
  const store = new MemoryStore();
  await apply(store, namespace('blue'), layer2('blue/net', '10.20.0.0/16'), node('n1'));
  const spans: Record<'manager' | 'nodes', Span[]> = { manager: [], nodes: [] };
  const traces = {
    manager: new PodTraces({ ratio: 1, send: (span) => spans.manager.push(span) }),
    nodes: new PodTraces({ ratio: 1, send: (span) => spans.nodes.push(span) }),
  };
  await using running = startTraced(traces, systemClock, store, 'n1');
  await running.settled();
  const began = Date.now();
  await apply(store, pod('blue/new', 'n1'));
  await running.settled();
  expect(Object.keys((await networksOf(store, 'blue/new')) as object).toSorted()).toEqual([
    'blue/net',
    'default',
  ]);
  const allocated = ({ manager, nodes }: typeof spans): unknown =>
    [...manager, ...nodes].map(({ name, attributes }) => [
      name,
      attributes['heddle.allocated_by'],
      attributes['heddle.nads'],
    ]);
  expect(allocated(spans)).toEqual([
    ['allocate addresses', 'cluster', ['blue/net']],
    ['allocate addresses', 'node', ['default']],
  ]);
  const [first, second] = [...spans.manager, ...spans.nodes];
  expect(first).toMatchObject({ traceId: second?.traceId, parentId: second?.parentId });
  for (const { start, end } of [...spans.manager, ...spans.nodes]) {
    expect(start).toBeGreaterThan(began - 20);
    expect(end).toBeGreaterThan(start);
    expect(end).toBeLessThan(Date.now() + 20);
  }
});
