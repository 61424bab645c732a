import { describe, expect, test } from 'vitest';
import {
  clusterNetworkConnects,
  namespaces,
  nodes,
  userDefinedNetworks,
  zoneStatuses,
} from '../../../src/api/kinds.ts';
import type { ClusterNetworkConnect } from '../../../src/api/types.ts';
import type { ZoneConnectStatus, ZoneStatus } from '../../../src/api/zone-status.ts';
import type { Store } from '../../../src/store/store.ts';
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
  remove,
  startManager,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const get = async (store: Store, name: string): Promise<ClusterNetworkConnect> => {
  const found = await store.get(clusterNetworkConnects, name);
  if (found === undefined) throw new Error(`no ClusterNetworkConnect ${name}`);
  return found;
};
const statusOf = async (store: Store, name: string): Promise<readonly string[]> => {
  const { status } = await get(store, name);
  return [status?.status ?? '-', ...describeConditions(status?.conditions ?? [])];
};
const annotations = async (store: Store, name: string): Promise<readonly string[]> => {
  const { metadata } = await get(store, name);
  return ['network-connect-subnet', 'connect-router-tunnel-key'].map(
    (key) => metadata.annotations?.[`k8s.ovn.org/${key}`] ?? '-',
  );
};
/** Accepted in a cluster where no node has reported. */
/** Where no node has a zone, nothing is left to be done for an accepted connection. */
const ACCEPTED = [
  'Success',
  'Accepted=True ValidationSucceeded: All validation checks passed successfully',
];
const refused = (reason: string, message: string): readonly string[] => [
  'Failure',
  `Accepted=False ${reason}: ${message}`,
];

test('selected networks get subnets, and the connect router a tunnel key', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  for (const name of ['a', 'b', 'c']) await apply(store, namespace(name));
  await apply(store, layer3('a/net', '10.1.0.0/16'), layer2('b/net', '10.2.0.0/16'));
  await apply(store, clusterLayer3('net', inNamespaces('c'), '10.3.0.0/16'));
  await apply(store, connect('all', ['a', 'b', 'c'], '192.168.0.0/16/24'));
  await running.settled();
  expect(await statusOf(store, 'all')).toEqual(ACCEPTED);
  expect(await annotations(store, 'all')).toEqual([
    '{"layer2_2":{"ipv4":"192.168.1.0/31"},"layer3_1":{"ipv4":"192.168.0.0/24"},"layer3_3":{"ipv4":"192.168.2.0/24"}}',
    '16715780',
  ]);
  await remove.udn(store, 'a/net');
  await running.settled();
  expect((await annotations(store, 'all'))[0]).toBe(
    '{"layer2_2":{"ipv4":"192.168.1.0/31"},"layer3_3":{"ipv4":"192.168.2.0/24"}}',
  );
  await store.patch(namespaces, 'b', { metadata: { labels: null } }, { fieldManager: 'user' });
  await running.settled();
  expect(await statusOf(store, 'all')).toEqual(
    refused(
      'InsufficientNetworks',
      'Only 1 network selected, minimum 2 networks required for connection',
    ),
  );
});

test('a CUDN is selected by its labels, or by its name as in the examples of OKEP-5224', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('a'), namespace('b'));
  await apply(store, clusterLayer3('blue', inNamespaces('a'), '10.1.0.0/16'));
  await apply(store, clusterLayer3('green', inNamespaces('b'), '10.2.0.0/16'));
  const { spec, ...rest } = connect('all', [], '192.168.0.0/16/24');
  const networkSelectors = [
    {
      networkSelectionType: 'ClusterUserDefinedNetworks' as const,
      clusterUserDefinedNetworkSelector: { networkSelector: inNamespaces('blue', 'green') },
    },
  ];
  await apply(store, { ...rest, spec: { ...spec, networkSelectors } });
  await running.settled();
  expect(await statusOf(store, 'all')).toEqual(ACCEPTED);
});

describe('is refused, with the reason', () => {
  test.each([
    [
      'InsufficientNetworks',
      [layer3('a/net', '10.1.0.0/16')],
      '192.168.0.0/16/24',
      'Only 1 network selected, minimum 2 networks required for connection',
    ],
    [
      'ConnectSubnetConflict',
      [layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16')],
      '10.96.0.0/12/24',
      'Connect subnet 10.96.0.0/12 conflicts with service subnet 10.96.0.0/16 of the cluster',
    ],
    [
      'ConnectSubnetConflict',
      [layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16')],
      '169.254.0.0/18/24',
      'Connect subnet 169.254.0.0/18 conflicts with masquerade subnet 169.254.0.0/17 of the cluster',
    ],
    [
      'ConnectSubnetConflict',
      [layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16')],
      '10.244.128.0/17/24',
      'Connect subnet 10.244.128.0/17 conflicts with pod subnet 10.244.0.0/16 of the cluster',
    ],
    [
      'ConnectSubnetConflict',
      [layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16')],
      '100.64.0.0/17/24',
      'Connect subnet 100.64.0.0/17 conflicts with join subnet 100.64.0.0/16 of the cluster',
    ],
    [
      'ConnectSubnetConflict',
      [layer2('a/net', '10.1.0.0/16')],
      '10.244.128.0/17/24',
      'Connect subnet 10.244.128.0/17 conflicts with pod subnet 10.244.0.0/16 of the cluster',
    ],
    [
      'ConnectSubnetConflict',
      [layer3('a/net', '192.168.1.0/24/26')],
      '192.168.0.0/16/24',
      "Connect subnet 192.168.0.0/16 conflicts with pod subnet 192.168.1.0/24 of network 'a/net'",
    ],
    [
      'ConnectSubnetConflict',
      [layer3('a/net', '192.168.1.0/24/26'), layer3('b/net', '10.2.0.0/16')],
      '192.168.0.0/16/24',
      "Connect subnet 192.168.0.0/16 conflicts with pod subnet 192.168.1.0/24 of network 'a/net'",
    ],
    [
      'ConnectSubnetConflict',
      [layer3('a/net', '10.1.0.0/16'), layer2('b/net', '10.2.0.0/16')],
      '100.88.0.0/14/24',
      "Connect subnet 100.88.0.0/14 conflicts with transit subnet 100.88.0.0/16 of network 'a/net'",
    ],
    [
      'ConnectSubnetConflict',
      [layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16')],
      '100.65.128.0/17/24',
      "Connect subnet 100.65.128.0/17 conflicts with join subnet 100.65.0.0/16 of network 'a/net'",
    ],
    [
      'OverlappingNetworkSubnets',
      [layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.1.0.0/20')],
      '192.168.0.0/16/24',
      "Cannot connect networks 'a/net' and 'b/net': overlapping pod subnets 10.1.0.0/20 detected.",
    ],
    [
      'ConnectSubnetExhausted',
      [
        layer3('a/net', '10.1.0.0/16'),
        layer3('b/net', '10.2.0.0/16'),
        layer3('c/net', '10.3.0.0/16'),
      ],
      '192.168.0.0/24/25',
      'Insufficient IP addresses in connect subnet 192.168.0.0/24.',
    ],
  ])('%s', async (reason, networks, range, message) => {
    const store = new MemoryStore();
    await using running = startManager(store);
    for (const name of ['a', 'b', 'c']) await apply(store, namespace(name));
    await apply(store, ...networks, connect('all', ['a', 'b', 'c'], range));
    await running.settled();
    expect(await statusOf(store, 'all')).toEqual(refused(reason, message));
    expect(store.events).toMatchObject([{ type: 'Warning', reason, message }]);
    expect(running.manager.problems()).toEqual([{ object: 'ClusterNetworkConnect all', message }]);
  });

  test('the network of a node, unless networks are connected already', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    const at = (address: string): Readonly<Record<string, string>> => ({
      'k8s.ovn.org/host-cidrs': JSON.stringify([address]),
    });
    await apply(store, namespace('a'), namespace('b'), node('n1', at('172.18.0.2/16')));
    await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16'));
    await apply(store, connect('late', ['a', 'b'], '172.18.128.0/17/24'));
    await apply(store, connect('early', ['a', 'b'], '192.168.0.0/16/24'));
    await running.settled();
    expect(await statusOf(store, 'late')).toEqual(
      refused(
        'ConnectSubnetConflict',
        "Connect subnet 172.18.128.0/17 conflicts with the network 172.18.0.0/16 of node 'n1'",
      ),
    );
    const metadata = { annotations: at('192.168.7.2/24') };
    await store.patch(nodes, 'n1', { metadata }, { fieldManager: 'user' });
    await running.settled();
    expect(await statusOf(store, 'late')).toEqual(ACCEPTED);
    expect(await statusOf(store, 'early')).toEqual(ACCEPTED);
  });

  test('IPFamilyMismatch', async () => {
    const store = new MemoryStore();
    const clusterSubnets = [
      { cidr: '10.244.0.0/16', hostLength: 24 },
      { cidr: 'fd00:10:244::/48', hostLength: 64 },
    ];
    await using running = startManager(store, {}, { clusterSubnets });
    await apply(store, namespace('a'), namespace('b'));
    await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', 'fd20::/48'));
    await apply(store, connect('all', ['a', 'b'], '192.168.0.0/16/24', 'fd01::/112/120'));
    await running.settled();
    expect(await statusOf(store, 'all')).toEqual(
      refused(
        'IPFamilyMismatch',
        "Cannot connect single-stack IPv4 network 'a/net' with single-stack IPv6 network 'b/net'. Networks must use the same IP family",
      ),
    );
  });

  test.each([
    [
      'a secondary network',
      { topology: 'Layer3', layer3: { role: 'Secondary', subnets: [{ cidr: '10.2.0.0/16' }] } },
      "Network 'extra' has role 'Secondary'. Only 'Primary' role networks are supported",
    ],
    [
      'a localnet network',
      {
        topology: 'Localnet',
        localnet: { role: 'Secondary', physicalNetworkName: 'physnet', subnets: ['10.2.0.0/16'] },
      },
      "Network 'extra' has type 'localnet'. Localnet networks are not supported",
    ],
    [
      'a network without overlay',
      {
        topology: 'Layer3',
        layer3: { role: 'Primary', subnets: [{ cidr: '10.2.0.0/16' }] },
        transport: 'NoOverlay',
        noOverlay: { outboundSNAT: 'Enabled', routing: 'Managed' },
      },
      "Network connect feature is not supported when overlay tunneling is disabled: network 'extra' has transport 'no-overlay'",
    ],
  ] as const)('UnsupportedNetworkType: %s', async (_what, network, message) => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('a'), namespace('b'));
    const blue = clusterLayer3('blue', inNamespaces('a'), '10.1.0.0/16');
    const extra = clusterLayer3('extra', inNamespaces('b'), '10.2.0.0/16');
    await apply(store, blue, { ...extra, spec: { ...extra.spec, network } });
    const { spec, ...rest } = connect('all', [], '192.168.0.0/16/24');
    const networkSelectors = [
      {
        networkSelectionType: 'ClusterUserDefinedNetworks' as const,
        clusterUserDefinedNetworkSelector: { networkSelector: {} },
      },
    ];
    await apply(store, { ...rest, spec: { ...spec, networkSelectors } });
    await running.settled();
    expect(await statusOf(store, 'all')).toEqual(refused('UnsupportedNetworkType', message));
  });

  test('ConnectSubnetOverlap: the later one of two that select a network, until the first is gone', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    for (const name of ['a', 'b', 'c']) await apply(store, namespace(name));
    await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16'));
    await apply(store, layer3('c/net', '10.3.0.0/16'));
    await apply(store, connect('first', ['a', 'b'], '192.168.0.0/16/24'));
    await apply(store, connect('second', ['b', 'c'], '192.168.128.0/17/24'));
    await running.settled();
    expect(await statusOf(store, 'first')).toEqual(ACCEPTED);
    expect(await statusOf(store, 'second')).toEqual(
      refused(
        'ConnectSubnetOverlap',
        "Connect subnet 192.168.128.0/17 overlaps with ClusterNetworkConnect 'first' which also selects network 'b/net'. Each ClusterNetworkConnect selecting the same network must use non-overlapping connect subnets",
      ),
    );
    await store.delete(clusterNetworkConnects, 'first');
    await running.settled();
    expect(await statusOf(store, 'second')).toEqual(ACCEPTED);
  });
});

describe('Ready-In-Zone-<node>', () => {
  const notReported = (name: string): string =>
    `Ready-In-Zone-${name}=Unknown NotReported: Node ${name} has not reported this ClusterNetworkConnect: is "heddle node" running there?`;
  const report = (name: string, connects: readonly ZoneConnectStatus[]): ZoneStatus => ({
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'ZoneStatus',
    metadata: { name },
    status: { observedAt: '2026-01-01T00:00:00Z', networks: [], connects, problems: [] },
  });

  test('is unknown until the node reports, and a connection that nobody has programmed is no success', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    const chassis = { 'k8s.ovn.org/node-chassis-id': 'c' };
    await apply(store, node('node1', chassis), node('node2', chassis), node('bare'));
    await apply(store, namespace('a'), namespace('b'));
    await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16'));
    await apply(store, connect('all', ['a', 'b'], '192.168.0.0/16/24'));
    await running.settled();
    expect(await statusOf(store, 'all')).toEqual([
      'Failure',
      ...ACCEPTED.slice(1),
      notReported('node1'),
      notReported('node2'),
    ]);
    await apply(store, report('node1', [{ name: 'all', state: 'Programmed' }]));
    await running.settled();
    expect(await statusOf(store, 'all')).toEqual([
      'Failure',
      ...ACCEPTED.slice(1),
      'Ready-In-Zone-node1=True OVNSetupSucceeded: Connect router and all ports created successfully',
      notReported('node2'),
    ]);
    await remove.node(store, 'node2');
    await running.settled();
    expect((await statusOf(store, 'all'))[0]).toBe('Success');
  });

  test('says what each node that is there reports; status is Success only when all is well', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('node1'), node('node2'), namespace('a'), namespace('b'));
    await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16'));
    await apply(store, connect('all', ['a', 'b'], '192.168.0.0/16/24'));
    await apply(store, report('node1', [{ name: 'all', state: 'Programmed' }]));
    await apply(store, report('node2', [{ name: 'all', state: 'Failed', message: 'too small' }]));
    await apply(store, report('stranger', [{ name: 'all', state: 'Failed' }]));
    await running.settled();
    const ready =
      'Ready-In-Zone-node1=True OVNSetupSucceeded: Connect router and all ports created successfully';
    expect(await statusOf(store, 'all')).toEqual([
      'Failure',
      ...ACCEPTED.slice(1),
      ready,
      'Ready-In-Zone-node2=False OVNSetupFailed: too small',
    ]);
    const connects = [{ name: 'all', state: 'Programmed' }];
    await store.patchStatus(
      zoneStatuses,
      'node2',
      { status: { connects } },
      { fieldManager: 'node2' },
    );
    await running.settled();
    expect(await statusOf(store, 'all')).toEqual([
      'Success',
      ...ACCEPTED.slice(1),
      ready,
      ready.replace('node1', 'node2'),
    ]);
  });

  test('goes with the node, and with the report', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, node('node1'), node('node2'), namespace('a'), namespace('b'));
    await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16'));
    await apply(store, connect('all', ['a', 'b'], '192.168.0.0/16/24'));
    for (const name of ['node1', 'node2'])
      await apply(store, report(name, [{ name: 'all', state: 'Pending', message: 'later' }]));
    await running.settled();
    const pending = (name: string): string => `Ready-In-Zone-${name}=False OVNSetupFailed: later`;
    const failure = ['Failure', ...ACCEPTED.slice(1)];
    expect(await statusOf(store, 'all')).toEqual([...failure, pending('node1'), pending('node2')]);
    await remove.node(store, 'node1');
    await running.settled();
    expect(await statusOf(store, 'all')).toEqual([...failure, pending('node2')]);
    await store.patchStatus(
      zoneStatuses,
      'node2',
      { status: { connects: [] } },
      { fieldManager: 'node2' },
    );
    await running.settled();
    expect(await statusOf(store, 'all')).toEqual([...failure, notReported('node2')]);
  });
});

describe('networks that overlap', () => {
  const sharing = (name: string, namespaces: readonly string[], range: string) => {
    const { spec, ...rest } = connect(name, namespaces, range);
    return { ...rest, spec: { ...spec, connectivity: ['ServiceNetwork' as const] } };
  };
  const bridged = async (store: Store, name: string): Promise<string | undefined> =>
    (await get(store, name)).metadata.annotations?.['k8s.ovn.org/network-connect-bridged'];
  const acceptedWith = (networks: number): readonly string[] => [
    'Success',
    `${ACCEPTED[1]}; pod subnets overlap: ${networks === 1 ? '1 network shares' : `${networks} networks share`} services over the external bridge of each node`,
  ];

  test('share services over the external bridge, without a link; others have links among them', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    for (const name of ['a', 'b', 'c', 'd']) await apply(store, namespace(name));
    await apply(store, layer3('a/net', '10.1.0.0/16'), layer2('b/net', '10.1.0.0/20'));
    await apply(store, sharing('pair', ['a', 'b'], '192.168.0.0/17/24'));
    await apply(store, sharing('all', ['a', 'b', 'c', 'd'], '192.168.128.0/17/24'));
    await running.settled();
    expect(await statusOf(store, 'pair')).toEqual(acceptedWith(2));
    expect((await annotations(store, 'pair'))[0]).toBe('{}');
    expect(await bridged(store, 'pair')).toBe('[1,2]');
    expect((await get(store, 'pair')).status).toMatchObject({ networks: 2 });
    await apply(store, layer3('c/net', '10.3.0.0/16'));
    await running.settled();
    // Nobody is there to be linked with.
    expect(await bridged(store, 'all')).toBe('[1,2,3]');
    await apply(store, layer2('d/net', '10.4.0.0/16'));
    await running.settled();
    expect(await statusOf(store, 'all')).toEqual(acceptedWith(2));
    expect(await bridged(store, 'all')).toBe('[1,2]');
    expect((await annotations(store, 'all'))[0]).toBe(
      '{"layer2_4":{"ipv4":"192.168.129.0/31"},"layer3_3":{"ipv4":"192.168.128.0/24"}}',
    );
  });

  test('go over the bridge from when a range is appended, and have links again when nobody overlaps', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    for (const name of ['a', 'b', 'c']) await apply(store, namespace(name));
    await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16'));
    await apply(store, sharing('all', ['a', 'b', 'c'], '192.168.0.0/16/24'));
    await running.settled();
    expect(await statusOf(store, 'all')).toEqual(ACCEPTED);
    expect(await bridged(store, 'all')).toBeUndefined();
    const { spec } = layer3('b/net', '10.2.0.0/16,10.1.128.0/17');
    await store.patch(userDefinedNetworks, 'b/net', { spec }, { fieldManager: 'user' });
    await running.settled();
    expect(await statusOf(store, 'all')).toEqual(acceptedWith(2));
    expect(await bridged(store, 'all')).toBe('[1,2]');
    await remove.udn(store, 'b/net');
    await apply(store, layer3('c/net', '10.3.0.0/16'));
    await running.settled();
    expect(await statusOf(store, 'all')).toEqual(ACCEPTED);
    expect(await bridged(store, 'all')).toBeUndefined();
    expect(Object.keys(JSON.parse((await annotations(store, 'all'))[0] ?? '') as object)).toEqual([
      'layer3_1',
      'layer3_3',
    ]);
  });

  test('are apart in what a third network of two connections can reach: the later one is refused, or goes over the bridge', async () => {
    const store = new MemoryStore();
    const first = startManager(store);
    for (const name of ['a', 'b', 'c', 'd']) await apply(store, namespace(name));
    await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.1.0.0/17'));
    await apply(store, layer3('c/net', '10.3.0.0/16'), layer3('d/net', '10.4.0.0/16'));
    await apply(store, connect('left', ['a', 'c'], '192.168.0.0/18/24'));
    await first.settled();
    await apply(store, connect('right', ['b', 'c'], '192.168.64.0/18/24'));
    await apply(store, sharing('services', ['b', 'c', 'd'], '192.168.128.0/18/24'));
    await first.settled();
    expect(await statusOf(store, 'left')).toEqual(ACCEPTED);
    expect(await statusOf(store, 'right')).toEqual(
      refused(
        'OverlappingNetworkSubnets',
        "Cannot connect networks 'b/net' and 'c/net': overlapping pod subnets 10.1.0.0/17 detected, as ClusterNetworkConnect 'left' connects 'c/net' with 'a/net'.",
      ),
    );
    expect(await statusOf(store, 'services')).toEqual(acceptedWith(1));
    expect(await bridged(store, 'services')).toBe('[2]');
    await first.stop();
    const writes = store.writes.length;
    await using second = startManager(store);
    await second.settled();
    // Events are said once more.
    expect(store.writes.slice(writes).filter(({ verb }) => verb !== 'event')).toEqual([]);
    await store.delete(clusterNetworkConnects, 'left');
    await second.settled();
    expect(await statusOf(store, 'right')).toEqual(ACCEPTED);
    expect(await statusOf(store, 'services')).toEqual(ACCEPTED);
    expect(await bridged(store, 'services')).toBeUndefined();
  });

  test('that have links both keep them when one grows into the other: the older one stays accepted', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    for (const name of ['a', 'b', 'c']) await apply(store, namespace(name));
    await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16'));
    await apply(store, layer3('c/net', '10.3.0.0/16'));
    await apply(store, connect('left', ['a', 'c'], '192.168.0.0/17/24'));
    await running.settled();
    await apply(store, connect('right', ['b', 'c'], '192.168.128.0/17/24'));
    await running.settled();
    const before = await annotations(store, 'right');
    const { spec } = layer3('b/net', '10.2.0.0/16,10.1.128.0/17');
    await store.patch(userDefinedNetworks, 'b/net', { spec }, { fieldManager: 'user' });
    await running.settled();
    expect(await statusOf(store, 'left')).toEqual(ACCEPTED);
    expect((await statusOf(store, 'right'))[1]).toContain('OverlappingNetworkSubnets');
    expect(await annotations(store, 'right')).toEqual(before);
  });

  test('are refused where pods are to be connected, and a manager that starts again keeps both', async () => {
    const store = new MemoryStore();
    const first = startManager(store);
    for (const name of ['a', 'b']) await apply(store, namespace(name));
    await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.1.0.0/16'));
    await apply(store, sharing('all', ['a', 'b'], '192.168.0.0/16/24'));
    await first.settled();
    await first.stop();
    const writes = store.writes.length;
    await using second = startManager(store);
    await second.settled();
    expect(store.writes.slice(writes)).toEqual([]);
    await store.patch(
      clusterNetworkConnects,
      'all',
      { spec: { connectivity: ['PodNetwork', 'ServiceNetwork'] } },
      { fieldManager: 'user' },
    );
    await second.settled();
    expect(await statusOf(store, 'all')).toEqual(
      refused(
        'OverlappingNetworkSubnets',
        "Cannot connect networks 'a/net' and 'b/net': overlapping pod subnets 10.1.0.0/16 detected.",
      ),
    );
  });
});

test('a manager that starts again keeps what was given', async () => {
  const store = new MemoryStore();
  const first = startManager(store);
  for (const name of ['a', 'b', 'c']) await apply(store, namespace(name));
  await apply(store, layer3('a/net', '10.1.0.0/16'), layer2('b/net', '10.2.0.0/16'));
  await apply(store, connect('all', ['a', 'b', 'c'], '192.168.0.0/16/24'));
  await first.settled();
  const before = await annotations(store, 'all');
  await first.stop();
  const writes = store.writes.length;
  await using second = startManager(store);
  await second.settled();
  expect(store.writes.slice(writes)).toEqual([]);
  await apply(store, layer2('c/net', '10.4.0.0/16'));
  await second.settled();
  const [subnets, key] = await annotations(store, 'all');
  expect(key).toBe(before[1]);
  expect(JSON.parse(subnets ?? '')).toMatchObject(JSON.parse(before[0] ?? '') as object);
});
