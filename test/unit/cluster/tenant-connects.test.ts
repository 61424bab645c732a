import { describe, expect, test } from 'vitest';
import {
  clusterNetworkConnects,
  namespaces,
  networkConnects,
  nodes,
  userDefinedNetworks,
  zoneStatuses,
} from '../../../src/api/kinds.ts';
import { parsePrefix } from '../../../src/allocators/addresses.ts';
import type { NetworkConnect } from '../../../src/api/types.ts';
import type { TenantConnectSettings } from '../../../src/cluster/settings.ts';
import type { ZoneStatus } from '../../../src/api/zone-status.ts';
import {
  apply,
  clusterLayer3,
  connect,
  describeConditions,
  inNamespaces,
  layer2,
  layer3,
  namespace,
  networkConnect,
  node,
  PRIMARY,
  startManager,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const pool = (cidr: string, networkPrefix: number): TenantConnectSettings['pool'][number] => {
  const prefix = parsePrefix(cidr);
  if (prefix === undefined) throw new Error(cidr);
  return { cidr: prefix, networkPrefix };
};
const ALLOWED: TenantConnectSettings = {
  pool: [pool('172.30.0.0/16', 24)],
  types: ['PodNetwork', 'ServiceNetwork'],
  perNamespace: 10,
};

/** Namespaces with a network `net` each, of ranges that are apart. */
async function tenants(store: MemoryStore, ...names: readonly string[]): Promise<void> {
  await apply(store, ...names.map((name) => namespace(name)));
  for (const [index, name] of names.entries())
    await apply(store, layer3(`${name}/net`, `10.${index + 1}.0.0/16`));
}

const both = (a: string, b: string): readonly NetworkConnect[] => [
  networkConnect(`${a}/to-${b}`, 'net', `${b}/net`),
  networkConnect(`${b}/to-${a}`, 'net', `${a}/net`),
];

/** `<networks> <ranges> <connectivity>` of every ClusterNetworkConnect, and whether it is accepted. */
const connections = async (store: MemoryStore): Promise<readonly string[]> =>
  (await store.list(clusterNetworkConnects))
    .map(({ metadata, spec, status }) => {
      const networks = metadata.annotations?.['k8s.ovn.org/tenant-networks'] ?? metadata.name;
      const ranges = spec.connectSubnets.map(
        ({ cidr, networkPrefix }) => `${cidr}/${networkPrefix}`,
      );
      const accepted = status?.conditions?.find(({ type }) => type === 'Accepted');
      return `${networks} ${ranges.join()} ${(spec.connectivity ?? []).join()} ${accepted?.reason ?? '-'}`;
    })
    .toSorted();

const statusOf = async (store: MemoryStore, key: string): Promise<readonly string[]> => {
  const found = await store.get(networkConnects, key);
  return [
    ...describeConditions(found?.status?.conditions ?? []),
    ...(found?.status?.nodes === undefined ? [] : [found.status.nodes]),
  ];
};
const ACCEPTED = 'Accepted=True ValidationSucceeded: The request counts';
const unanswered = (own: string, peer: string): readonly string[] => {
  const [namespaceName, name] = peer.split('/');
  return [
    ACCEPTED,
    `Connected=False PeerNotAgreed: Nothing is connected until a NetworkConnect that counts, in namespace "${namespaceName}", has network "${name}" and names "${own}" as its peer`,
  ];
};
const A_B = 'a/net b/net 172.30.0.0/23/24 PodNetwork,ServiceNetwork ValidationSucceeded';

test('two tenants that name each other are connected, until one of them withdraws', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await tenants(store, 'a', 'b');
  const [first, second] = both('a', 'b');
  await apply(store, first!);
  await running.settled();
  expect(await connections(store)).toEqual([]);
  expect(await statusOf(store, 'a/to-b')).toEqual(unanswered('a/net', 'b/net'));

  await apply(store, second!);
  await running.settled();
  expect(await connections(store)).toEqual([A_B]);
  const connected = [
    ACCEPTED,
    'Connected=True Connected: Connected with b/net: cluster IPs and pods are reached',
    '0/0',
  ];
  expect(await statusOf(store, 'a/to-b')).toEqual(connected);
  expect((await statusOf(store, 'b/to-a'))[1]).toContain('Connected with a/net');

  await store.delete(networkConnects, 'b/to-a');
  await running.settled();
  expect(await connections(store)).toEqual([]);
  expect(await statusOf(store, 'a/to-b')).toEqual(unanswered('a/net', 'b/net'));

  await apply(store, second!);
  await running.settled();
  expect(await connections(store)).toEqual([A_B]);
  expect(await statusOf(store, 'a/to-b')).toEqual(connected);
  expect(
    store.events
      .filter(({ regarding }) => regarding.metadata.namespace === 'a')
      .filter(({ regarding }) => regarding.kind === 'NetworkConnect')
      .map(({ type, reason }) => `${type} ${reason}`),
  ).toEqual(['Normal Connected', 'Warning Disconnected', 'Normal Connected']);
});

test('who names a network learns nothing of it: absent, silent, another tenant’s and connected elsewhere look the same', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await tenants(store, 'a', 'b', 'c');
  await apply(store, namespace('d'), clusterLayer3('shared', inNamespaces('d'), '10.9.0.0/16'));
  await apply(store, ...both('b', 'c'));
  const peers = ['b/net', 'nowhere/net', 'b/other', 'd/shared', 'c/net'];
  for (const [index, peer] of peers.entries())
    await apply(store, networkConnect(`a/to-${index}`, 'net', peer));
  await running.settled();
  for (const [index, peer] of peers.entries())
    expect(await statusOf(store, `a/to-${index}`)).toEqual(unanswered('a/net', peer));
  expect(
    store.events.filter(
      ({ regarding }) =>
        regarding.metadata.namespace === 'a' && regarding.kind === 'NetworkConnect',
    ),
  ).toEqual([]);
  expect((await connections(store)).map((line) => line.slice(0, 11))).toEqual(['b/net c/net']);
});

test('a connection is for the networks that both named, not for others of their namespaces', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await tenants(store, 'a', 'b');
  await apply(store, layer3('a/more', '10.21.0.0/16'), layer2('b/more', '10.22.0.0/16'));
  await apply(store, ...both('a', 'b'));
  await running.settled();
  const [made] = await store.list(clusterNetworkConnects);
  expect(made?.metadata.annotations?.['k8s.ovn.org/network-connect-subnet']).toBe(
    '{"layer3_1":{"ipv4":"172.30.0.0/24"},"layer3_2":{"ipv4":"172.30.1.0/24"}}',
  );
});

test('what both name in connectivity is opened, and it follows what they say', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await tenants(store, 'a', 'b');
  await apply(store, networkConnect('a/x', 'net', 'b/net', ['ServiceNetwork']));
  await apply(store, networkConnect('b/x', 'net', 'a/net', ['PodNetwork', 'ServiceNetwork']));
  await running.settled();
  expect(await connections(store)).toEqual([
    'a/net b/net 172.30.0.0/23/24 ServiceNetwork ValidationSucceeded',
  ]);
  const set = async (key: string, connectivity: readonly string[]): Promise<void> => {
    await store.patch(networkConnects, key, { spec: { connectivity } }, { fieldManager: 'user' });
    await running.settled();
  };
  const [{ metadata: before } = { metadata: undefined }] = await store.list(clusterNetworkConnects);
  await set('a/x', ['PodNetwork', 'ServiceNetwork']);
  const [{ metadata: after } = { metadata: undefined }] = await store.list(clusterNetworkConnects);
  expect(await connections(store)).toEqual([A_B]);
  expect(after?.uid).toBe(before?.uid);
  await set('a/x', ['PodNetwork']);
  await set('b/x', ['ServiceNetwork']);
  expect(await connections(store)).toEqual([]);
  expect((await statusOf(store, 'a/x'))[1]).toContain('Connected=False ConnectivityMismatch: ');
});

describe('a request does not count', () => {
  const refusal = async (
    prepare: (store: MemoryStore) => Promise<void>,
    changes: Partial<TenantConnectSettings> | 'disabled' = {},
  ): Promise<string> => {
    const store = new MemoryStore();
    await using running = startManager(store, {
      tenantConnects: changes === 'disabled' ? undefined : { ...ALLOWED, ...changes },
    });
    await tenants(store, 'a', 'b');
    await apply(store, networkConnect('b/to-a', 'net', 'a/net'));
    await prepare(store);
    await running.settled();
    const [accepted = '', connected] = await statusOf(store, 'a/x');
    expect(await connections(store)).toEqual([]);
    expect(connected).toBe('Connected=False NotAccepted: The request does not count: see Accepted');
    const text = accepted.replace('Accepted=False ', '');
    const message = text.slice(text.indexOf(': ') + 2);
    expect(running.manager.problems()).toContainEqual({ object: 'NetworkConnect a/x', message });
    expect(
      store.events
        .filter(
          ({ regarding }) => regarding.kind === 'NetworkConnect' && regarding.metadata.name === 'x',
        )
        .map(({ reason }) => reason),
    ).toEqual([text.slice(0, text.indexOf(':'))]);
    return text;
  };
  const asks =
    (network = 'net', peer = 'b/net') =>
    async (store: MemoryStore) =>
      apply(store, networkConnect('a/x', network, peer));

  test.each([
    ['where tenants connect nothing', asks(), 'disabled', 'TenantConnectsDisabled: '],
    [
      'in a namespace that an administrator does not select',
      asks(),
      { namespaces: { matchLabels: { connects: 'allowed' } } },
      'NamespaceNotSelected: namespace "a" may not',
    ],
    ['within its namespace', asks('net', 'a/other'), {}, 'SameNamespace: '],
    ['of a network that is not there', asks('missing'), {}, 'NetworkNotFound: '],
    [
      'for more than administrators let tenants open',
      asks(),
      { types: ['ServiceNetwork'] },
      'ConnectivityNotAllowed: connectivity PodNetwork may not',
    ],
    [
      'beyond the limit',
      async (store) => {
        await apply(store, networkConnect('a/first', 'net', 'nowhere/net'));
        await apply(store, networkConnect('a/x', 'net', 'b/net'));
      },
      { perNamespace: 1 },
      'ConnectLimitReached: of the NetworkConnects of namespace "a" the oldest 1 count',
    ],
  ] as const satisfies readonly (readonly [
    string,
    (store: MemoryStore) => Promise<void>,
    Partial<TenantConnectSettings> | 'disabled',
    string,
  ])[])('%s', async (_, prepare, changes, text) => {
    expect(await refusal(prepare, changes)).toContain(text);
  });

  test('of a secondary network, or of a network of the cluster', async () => {
    const store = new MemoryStore();
    await using running = startManager(store, { tenantConnects: ALLOWED });
    await tenants(store, 'b');
    await apply(store, namespace('a'), clusterLayer3('shared', inNamespaces('a'), '10.9.0.0/16'));
    await apply(store, layer2('a/second', '10.8.0.0/16', 'Secondary'));
    await apply(store, networkConnect('a/x', 'shared', 'b/net'));
    await apply(store, networkConnect('a/y', 'second', 'b/net'));
    await apply(store, networkConnect('b/x', 'net', 'a/shared'));
    await apply(store, networkConnect('b/y', 'net', 'a/second'));
    await running.settled();
    for (const key of ['a/x', 'a/y'])
      expect((await statusOf(store, key))[0]).toContain('Accepted=False NetworkNotFound: ');
    expect(await connections(store)).toEqual([]);
  });

  test('twice for one pair, and the second one speaks when the first one goes', async () => {
    const store = new MemoryStore();
    await using running = startManager(store, { tenantConnects: ALLOWED });
    await tenants(store, 'a', 'b');
    await apply(store, ...both('a', 'b'));
    await apply(store, networkConnect('a/to-b-again', 'net', 'b/net', ['PodNetwork']));
    await running.settled();
    expect((await statusOf(store, 'a/to-b-again'))[0]).toContain(
      'Accepted=False DuplicateConnect: NetworkConnect "to-b" is older',
    );
    expect(await connections(store)).toEqual([A_B]);
    await store.delete(networkConnects, 'a/to-b');
    await running.settled();
    expect(await connections(store)).toEqual([
      'a/net b/net 172.30.0.0/23/24 PodNetwork ValidationSucceeded',
    ]);
  });
});

test('a network that has a primary network of the cluster beside it in vain does not lend its agreement to that', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await tenants(store, 'b');
  await apply(store, namespace('a'), namespace('victim'));
  await apply(store, clusterLayer3('shared', inNamespaces('a', 'victim'), '10.9.0.0/16'));
  await running.settled();
  // Refused, for the namespace has the one of the cluster.
  await apply(store, layer3('a/net', '10.8.0.0/16'));
  await apply(store, ...both('a', 'b'));
  await running.settled();
  expect(await connections(store)).toEqual([]);
  expect((await statusOf(store, 'b/to-a'))[1]).toContain('Connected=False NetworkNotReady: ');
});

test('networks that overlap are told so to both, who agreed', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await apply(store, namespace('a'), namespace('b'));
  await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.1.0.0/16'));
  await apply(store, ...both('a', 'b'));
  await running.settled();
  const message =
    "Connected=False OverlappingNetworkSubnets: Cannot connect networks 'a/net' and 'b/net': overlapping pod subnets 10.1.0.0/16 detected.";
  expect((await statusOf(store, 'a/to-b'))[1]).toBe(message);
  expect((await statusOf(store, 'b/to-a'))[1]).toBe(message);
});

test('networks that overlap share services, and no pods, where both agreed to that', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await apply(store, namespace('a'), namespace('b'));
  await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.1.0.0/16'));
  await apply(store, networkConnect('a/to-b', 'net', 'b/net', ['ServiceNetwork']));
  await apply(store, networkConnect('b/to-a', 'net', 'a/net'));
  await running.settled();
  const [made] = await store.list(clusterNetworkConnects);
  expect(made?.spec.connectivity).toEqual(['ServiceNetwork']);
  expect(made?.metadata.annotations?.['k8s.ovn.org/network-connect-bridged']).toBe('[1,2]');
  for (const key of ['a/to-b', 'b/to-a'])
    expect((await statusOf(store, key))[1]).not.toContain('OverlappingNetworkSubnets');
});

test('the connection goes with a network, and comes back with it', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await tenants(store, 'a', 'b');
  await apply(store, ...both('a', 'b'));
  await running.settled();
  await store.delete(userDefinedNetworks, 'b/net');
  await running.settled();
  expect(await connections(store)).toEqual([]);
  expect(await statusOf(store, 'a/to-b')).toEqual(unanswered('a/net', 'b/net'));
  await apply(store, layer3('b/net', '10.7.0.0/16'));
  await running.settled();
  expect(await connections(store)).toEqual([A_B]);
});

test('a namespace that is no longer selected ends its connections', async () => {
  const store = new MemoryStore();
  const selected = { matchLabels: { connects: 'allowed' } };
  await using running = startManager(store, {
    tenantConnects: { ...ALLOWED, namespaces: selected },
  });
  for (const name of ['a', 'b'])
    await apply(store, namespace(name, { ...PRIMARY, connects: 'allowed' }));
  await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16'));
  await apply(store, ...both('a', 'b'));
  await running.settled();
  expect(await connections(store)).toEqual([A_B]);
  const labels = { connects: null };
  await store.patch(namespaces, 'b', { metadata: { labels } }, { fieldManager: 'user' });
  await running.settled();
  expect(await connections(store)).toEqual([]);
  // Whether the other side may is not told.
  expect(await statusOf(store, 'a/to-b')).toEqual(unanswered('a/net', 'b/net'));
});

test('connections of one network have ranges of their own; others may share them', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await tenants(store, 'a', 'b', 'c', 'd');
  await apply(store, ...both('a', 'b'), ...both('b', 'c'), ...both('c', 'd'));
  await running.settled();
  expect((await connections(store)).map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
    'a/net b/net 172.30.0.0/23/24',
    'b/net c/net 172.30.2.0/23/24',
    'c/net d/net 172.30.0.0/23/24',
  ]);
});

test('ranges keep out of the way of the networks, of nodes and of administrators’ connections', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await apply(store, namespace('a'), namespace('b'), namespace('c'));
  await apply(
    store,
    node('n1', { 'k8s.ovn.org/host-cidrs': '["172.30.2.7/24"]' }),
    layer3('a/net', '172.30.0.0/24/26'),
    layer3('b/net', '10.2.0.0/16'),
    layer3('c/net', '10.3.0.0/16'),
  );
  await apply(store, connect('all', ['b', 'c'], '172.30.4.0/22/24'), ...both('a', 'b'));
  await running.settled();
  expect((await connections(store))[0]).toBe(
    'a/net b/net 172.30.8.0/23/24 PodNetwork,ServiceNetwork ValidationSucceeded',
  );
  // A connection of an administrator that comes later is not refused for one of tenants: theirs makes room.
  await apply(store, connect('later', ['a', 'c'], '172.30.8.0/21/24'));
  await running.settled();
  expect(await connections(store)).toEqual([
    'a/net b/net 172.30.16.0/23/24 PodNetwork,ServiceNetwork ValidationSucceeded',
    'all 172.30.4.0/22/24 PodNetwork ValidationSucceeded',
    'later 172.30.8.0/21/24 PodNetwork ValidationSucceeded',
  ]);
});

test('an administrator’s connection of the same pair is beside it, and what the tenants made goes alone', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await tenants(store, 'a', 'b');
  await apply(store, connect('both', ['a', 'b'], '172.30.0.0/22/24'), ...both('a', 'b'));
  await running.settled();
  const admins = 'both 172.30.0.0/22/24 PodNetwork ValidationSucceeded';
  expect(await connections(store)).toEqual([
    'a/net b/net 172.30.4.0/23/24 PodNetwork,ServiceNetwork ValidationSucceeded',
    admins,
  ]);
  await store.delete(networkConnects, 'a/to-b');
  await running.settled();
  expect(await connections(store)).toEqual([admins]);
});

test('a pool without room is told to both', async () => {
  const store = new MemoryStore();
  const tenantConnects = { ...ALLOWED, pool: [pool('172.30.0.0/23', 24)] };
  await using running = startManager(store, { tenantConnects });
  await tenants(store, 'a', 'b', 'c');
  await apply(store, ...both('a', 'b'));
  await running.settled();
  await apply(store, ...both('b', 'c'));
  await running.settled();
  expect(await connections(store)).toEqual([A_B]);
  for (const key of ['b/to-c', 'c/to-b'])
    expect((await statusOf(store, key))[1]).toContain('Connected=False ConnectSubnetExhausted: ');
  await store.delete(networkConnects, 'a/to-b');
  await running.settled();
  expect((await connections(store))[0]).toContain('b/net c/net 172.30.0.0/23/24');
});

test('a new manager leaves agreed connections as they are, and ends those whose side went meanwhile', async () => {
  const store = new MemoryStore();
  const first = startManager(store, { tenantConnects: ALLOWED });
  await tenants(store, 'a', 'b', 'c');
  await apply(store, ...both('a', 'b'), ...both('b', 'c'));
  await first.settled();
  await first.stop();
  const before = store.writes.length;
  const second = startManager(store, { tenantConnects: ALLOWED });
  await second.settled();
  expect(store.writes.slice(before)).toEqual([]);
  await second.stop();
  await store.delete(networkConnects, 'a/to-b');
  await using third = startManager(store, { tenantConnects: ALLOWED });
  await third.settled();
  expect((await connections(store)).map((line) => line.slice(0, 11))).toEqual(['b/net c/net']);
});

test('what somebody changes of a connection, or takes away, comes back', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await tenants(store, 'a', 'b', 'c');
  await apply(store, ...both('a', 'b'));
  await running.settled();
  const [{ metadata, spec } = { metadata: undefined, spec: undefined }] =
    await store.list(clusterNetworkConnects);
  const name = metadata?.name ?? '';
  const networkSelectors = connect('x', ['a', 'b', 'c'], '172.30.0.0/23/24').spec.networkSelectors;
  await store.patch(
    clusterNetworkConnects,
    name,
    { spec: { networkSelectors } },
    { fieldManager: 'user' },
  );
  await running.settled();
  expect((await store.get(clusterNetworkConnects, name))?.spec).toEqual(spec);
  await store.delete(clusterNetworkConnects, name);
  await running.settled();
  expect(await connections(store)).toEqual([A_B]);
});

test('how many nodes have it is told, and no more of them', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await tenants(store, 'a', 'b');
  const chassis = { 'k8s.ovn.org/node-chassis-id': 'c1' };
  await apply(store, node('n1', chassis), ...both('a', 'b'));
  await running.settled();
  const [{ metadata } = { metadata: undefined }] = await store.list(clusterNetworkConnects);
  const name = metadata?.name ?? '';
  const zone: ZoneStatus = {
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'ZoneStatus',
    metadata: { name: 'n1' },
    status: { networks: [], connects: [{ name, state: 'Failed', message: 'node n1: secret' }] },
  } as unknown as ZoneStatus;
  await store.create(zoneStatuses, zone, { fieldManager: 'node' });
  await running.settled();
  expect(await store.get(nodes, 'n1')).toBeDefined();
  expect((await statusOf(store, 'a/to-b')).slice(1)).toEqual([
    'Connected=False NotProgrammed: The connection is in the data plane of 0/1 nodes',
    '0/1',
  ]);
});

test('a thousand requests that nobody answers make no connection, and ten of each namespace count', async () => {
  const store = new MemoryStore();
  await using running = startManager(store, { tenantConnects: ALLOWED });
  await tenants(store, 'a', 'b');
  await apply(store, ...both('a', 'b'));
  await running.settled();
  for (let index = 0; index < 1000; index += 1)
    await apply(store, networkConnect(`a/x-${index}`, 'net', `x-${index}/net`));
  await running.settled();
  expect(await connections(store)).toEqual([A_B]);
  const list = await store.list(networkConnects);
  const accepted = list.filter(({ status }) =>
    (status?.conditions ?? []).some(({ type, status: is }) => type === 'Accepted' && is === 'True'),
  );
  expect(accepted.filter(({ metadata }) => metadata.namespace === 'a')).toHaveLength(10);
});
