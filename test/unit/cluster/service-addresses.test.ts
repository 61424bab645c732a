/** Services that have addresses of their network's pool from the cluster manager. */
import { expect, test } from 'vitest';
import {
  egressServices,
  networkAttachmentDefinitions,
  services,
  userDefinedNetworks,
} from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import type { UserDefinedNetwork } from '../../../src/api/types.ts';
import {
  apply,
  clusterLayer3,
  conditions,
  inNamespaces,
  layer2,
  layer3,
  namespace,
  node,
  startManager,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const USER = { fieldManager: 'user' };
const CLASS = 'k8s.ovn.org/udn-loadbalancer';
const POOL = 'k8s.ovn.org/service-pool';
const WISH = 'metallb.io/loadBalancerIPs';

const pooled = <T extends KubeObject>(object: T, pool: string): T => ({
  ...object,
  metadata: { ...object.metadata, annotations: { [POOL]: pool } },
});
const blue = (pool: string): UserDefinedNetwork =>
  pooled(layer3('blue/net', '10.20.0.0/16/24'), pool);

interface Asked {
  readonly spec?: object;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly status?: object;
  readonly created?: string;
}
const service = (key: string, { spec = {}, annotations = {}, status, created }: Asked = {}) => {
  const [in_ = '', name = ''] = key.split('/');
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      namespace: in_,
      name,
      annotations,
      ...(created === undefined ? {} : { creationTimestamp: created }),
    },
    spec: {
      type: 'LoadBalancer',
      loadBalancerClass: CLASS,
      clusterIPs: ['10.96.0.9'],
      ports: [{ port: 80 }],
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  } as KubeObject;
};

/** `10.1.2.3 VIP True AddressAllocated`; without an address it begins with `-`. */
async function stateOf(store: MemoryStore, key: string): Promise<string> {
  const { loadBalancer, conditions: found = [] } = (await store.get(services, key))?.status ?? {};
  const addresses = (loadBalancer?.ingress ?? []).map(({ ip, ipMode }) => `${ip} ${ipMode}`);
  const condition = found.find(({ type }) => type === 'k8s.ovn.org/PoolAddress');
  return [addresses.join() || '-', condition?.status ?? '-', condition?.reason ?? '-'].join(' ');
}
const statesOf = async (
  store: MemoryStore,
  ...keys: readonly string[]
): Promise<readonly string[]> =>
  Promise.all(keys.map(async (key) => `${key} ${await stateOf(store, key)}`));
const told = (store: MemoryStore): readonly string[] =>
  store.events
    .filter(({ regarding }) => regarding.kind === 'Service')
    .map(
      ({ regarding, type, reason, message }) =>
        `${regarding.metadata.name} ${type} ${reason}: ${message}`,
    );

async function prepared(...networks: readonly KubeObject[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  await apply(store, node('n1'), namespace('blue'), namespace('red'), ...networks);
  return store;
}

test("services of the class have addresses of the pool of their namespace's network; two networks may have the same pool", async () => {
  const store = await prepared(
    blue('192.0.2.0/31'),
    pooled(layer3('red/net', '10.30.0.0/16/24'), '192.0.2.0/31'),
  );
  await using running = startManager(store);
  await apply(store, service('blue/a'), service('red/a'), service('blue/b'));
  await apply(store, service('blue/other', { spec: { loadBalancerClass: 'example.com/lb' } }));
  await apply(store, service('blue/none', { spec: { loadBalancerClass: undefined } }));
  await running.settled();
  expect(await statesOf(store, 'blue/a', 'blue/b', 'red/a', 'blue/other', 'blue/none')).toEqual([
    'blue/a 192.0.2.0 VIP True AddressAllocated',
    'blue/b 192.0.2.1 VIP True AddressAllocated',
    'red/a 192.0.2.0 VIP True AddressAllocated',
    'blue/other - - -',
    'blue/none - - -',
  ]);
  expect(told(store)).toEqual([]);
  expect(running.manager.problems()).toEqual([]);
  const nad = await store.get(networkAttachmentDefinitions, 'blue/net');
  expect(nad?.metadata.annotations?.[POOL]).toBe('192.0.2.0/31');
  expect(await conditions(store, 'blue/net')).toContain(
    'ServicePoolAccepted=True ServicePoolAccepted: Services of the network may have addresses of the pool.',
  );
});

test('a manager that takes over leaves everybody what it has, and writes nothing', async () => {
  const store = await prepared(blue('192.0.2.0/28'));
  await apply(
    store,
    ...['e', 'd', 'c', 'b', 'a'].map((name) => service(`blue/${name}`)),
    service('blue/f', { spec: { loadBalancerIP: '192.0.2.9' } }),
  );
  const keys = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `blue/${name}`);
  {
    await using first = startManager(store);
    await first.settled();
    await store.delete(services, 'blue/b');
    await first.settled();
  }
  const before = await statesOf(store, ...keys);
  expect(new Set(before).size).toBe(keys.length);
  const count = store.writes.length;
  await using running = startManager(store);
  await running.settled();
  expect(await statesOf(store, ...keys)).toEqual(before);
  expect(store.writes.slice(count).filter(({ kind }) => kind === 'Service')).toEqual([]);
});

test('of a full pool the next service is told, and has what another one gives back', async () => {
  const store = await prepared(blue('192.0.2.7/32'));
  await using running = startManager(store);
  await apply(store, service('blue/a'));
  await running.settled();
  await apply(store, service('blue/b'));
  await running.settled();
  expect(await stateOf(store, 'blue/b')).toBe('- False PoolExhausted');
  const message =
    'the pool of network blue_net (192.0.2.7/32) has no free IPv4 address; delete services of it, or have the pool enlarged (annotation k8s.ovn.org/service-pool)';
  expect(told(store)).toEqual([`b Warning PoolExhausted: ${message}`]);
  expect(running.manager.problems()).toEqual([{ object: 'Service blue/b', message }]);
  await store.delete(services, 'blue/a');
  await running.settled();
  expect(await stateOf(store, 'blue/b')).toBe('192.0.2.7 VIP True AddressAllocated');
  expect(running.manager.problems()).toEqual([]);
});

test('an address that is asked for is given if it is free and of the pool; what is had meanwhile stays', async () => {
  const store = await prepared(blue('192.0.2.0/28'));
  await using running = startManager(store);
  await apply(store, service('blue/field', { spec: { loadBalancerIP: '192.0.2.5' } }));
  await apply(store, service('blue/annotation', { annotations: { [WISH]: '192.0.2.6' } }));
  await running.settled();
  await apply(store, service('blue/taken', { spec: { loadBalancerIP: '192.0.2.5' } }));
  await apply(store, service('blue/outside', { annotations: { [WISH]: '198.51.100.1' } }));
  await apply(store, service('blue/wrong', { annotations: { [WISH]: 'web' } }));
  await running.settled();
  expect(
    await statesOf(
      store,
      'blue/field',
      'blue/annotation',
      'blue/taken',
      'blue/outside',
      'blue/wrong',
    ),
  ).toEqual([
    'blue/field 192.0.2.5 VIP True AddressAllocated',
    'blue/annotation 192.0.2.6 VIP True AddressAllocated',
    'blue/taken - False AddressTaken',
    'blue/outside - False AddressOutsidePool',
    'blue/wrong 192.0.2.0 VIP False InvalidAddress',
  ]);
  expect(told(store)).toEqual([
    'taken Warning AddressTaken: spec.loadBalancerIP: "192.0.2.5" is that of another service of network blue_net; name another one of 192.0.2.0/28, or none',
    'outside Warning AddressOutsidePool: metadata.annotations[metallb.io/loadBalancerIPs]: "198.51.100.1" is not for services of network blue_net, which has 192.0.2.0/28; name one of these that is not the gateway\'s or the nodes\', or none',
    'wrong Warning InvalidAddress: metadata.annotations[metallb.io/loadBalancerIPs]: "web" is no IP address; name addresses of the network\'s pool, or none',
  ]);
  // One that is had by another: the own one stays.
  await store.patch(
    services,
    'blue/annotation',
    { metadata: { annotations: { [WISH]: '192.0.2.5' } } },
    USER,
  );
  await running.settled();
  expect(await stateOf(store, 'blue/annotation')).toBe('192.0.2.6 VIP False AddressTaken');
  await store.patch(
    services,
    'blue/annotation',
    { metadata: { annotations: { [WISH]: '192.0.2.9' } } },
    USER,
  );
  await running.settled();
  expect(await stateOf(store, 'blue/annotation')).toBe('192.0.2.9 VIP True AddressAllocated');
});

test('a service that is of the class no more gives its address back, and only that', async () => {
  const store = await prepared(blue('192.0.2.0/32'));
  await using running = startManager(store);
  await apply(store, service('blue/a'));
  await running.settled();
  await store.patch(
    services,
    'blue/a',
    { spec: { type: 'ClusterIP', loadBalancerClass: null } },
    USER,
  );
  await apply(store, service('blue/b'));
  await running.settled();
  expect(await statesOf(store, 'blue/a', 'blue/b')).toEqual([
    'blue/a - - -',
    'blue/b 192.0.2.0 VIP True AddressAllocated',
  ]);
  const ingress = [{ ip: '192.0.2.0' }, { ip: '198.51.100.9' }];
  await store.patchStatus(services, 'blue/b', { status: { loadBalancer: { ingress } } }, USER);
  await running.settled();
  // What somebody else writes to a service of ours is put right.
  expect(await stateOf(store, 'blue/b')).toBe('192.0.2.0 VIP True AddressAllocated');
  await store.patch(services, 'blue/b', { spec: { loadBalancerClass: 'example.com/lb' } }, USER);
  await store.patchStatus(services, 'blue/b', { status: { loadBalancer: { ingress } } }, USER);
  await running.settled();
  expect(await stateOf(store, 'blue/b')).toBe('198.51.100.9 VIP - -');
});

test('without a network or a pool it is told which is missing, and has an address as soon as there is one', async () => {
  const store = await prepared(layer3('blue/net', '10.20.0.0/16/24'));
  await using running = startManager(store);
  await apply(
    store,
    namespace('plain', {}),
    service('plain/a'),
    service('blue/a'),
    service('red/a'),
  );
  await apply(store, service('blue/headless', { spec: { clusterIPs: [] } }));
  await running.settled();
  expect(await statesOf(store, 'plain/a', 'blue/a', 'red/a', 'blue/headless')).toEqual([
    'plain/a - False NoNetwork',
    'blue/a - False NoPool',
    'red/a - False NoNetwork',
    'blue/headless - False NoClusterIP',
  ]);
  expect(told(store)).toContain(
    'a Warning NoPool: network blue_net has no addresses for services; who may write its object gives it a pool (annotation k8s.ovn.org/service-pool)',
  );
  await store.patch(
    userDefinedNetworks,
    'blue/net',
    { metadata: { annotations: { [POOL]: '192.0.2.0/31' } } },
    USER,
  );
  await apply(store, pooled(layer3('red/net', '10.30.0.0/16/24'), '198.51.100.0/31'));
  await running.settled();
  expect(await statesOf(store, 'blue/a', 'red/a')).toEqual([
    'blue/a 192.0.2.0 VIP True AddressAllocated',
    'red/a 198.51.100.0 VIP True AddressAllocated',
  ]);
});

test('a pool that can not be used takes no address away: the former one stays in force, and the object says why', async () => {
  const store = await prepared(blue('192.0.2.0/31'));
  await using running = startManager(store);
  await apply(store, service('blue/a'));
  await running.settled();
  const ask = (pool: string | null): Promise<unknown> =>
    store.patch(
      userDefinedNetworks,
      'blue/net',
      { metadata: { annotations: { [POOL]: pool } } },
      USER,
    );
  await ask('10.20.7.0/24');
  await apply(store, service('blue/b'));
  await running.settled();
  expect(await statesOf(store, 'blue/a', 'blue/b')).toEqual([
    'blue/a 192.0.2.0 VIP True AddressAllocated',
    'blue/b 192.0.2.1 VIP True AddressAllocated',
  ]);
  expect(await conditions(store, 'blue/net')).toContain(
    'ServicePoolAccepted=False InvalidServicePool: metadata.annotations[k8s.ovn.org/service-pool]: "10.20.7.0/24" overlaps subnet 10.20.0.0/16 of the network, which nodes get parts of; choose a range outside of it: until then services have addresses of the pool that was in force before, if there was one',
  );
  await ask('192.0.2.1/32, 198.51.100.0/24');
  await running.settled();
  expect(await statesOf(store, 'blue/a', 'blue/b')).toEqual([
    'blue/a 198.51.100.0 VIP True AddressAllocated',
    'blue/b 192.0.2.1 VIP True AddressAllocated',
  ]);
  await ask(null);
  await running.settled();
  expect(await statesOf(store, 'blue/a', 'blue/b')).toEqual([
    'blue/a - False NoPool',
    'blue/b - False NoPool',
  ]);
  expect((await conditions(store, 'blue/net')).join()).not.toContain('ServicePool');
});

test('a NAD that can not be read takes no address away, and nobody else gets it', async () => {
  const store = await prepared(
    pooled(clusterLayer3('both', inNamespaces('blue', 'red'), '10.20.0.0/16/24'), '192.0.2.0/31'),
  );
  await using running = startManager(store);
  await apply(store, service('blue/a'));
  await running.settled();
  // Nobody mends it meanwhile.
  store.beforeWrite = ({ kind, key, fieldManager }) => {
    if (kind === 'NetworkAttachmentDefinition' && key === 'blue/both' && fieldManager !== 'user')
      throw new Error('held back');
  };
  const annotations = { 'k8s.ovn.org/network-id': 'x' };
  await store.patch(
    networkAttachmentDefinitions,
    'blue/both',
    { spec: { config: '{' }, metadata: { annotations } },
    USER,
  );
  await apply(store, service('red/a'));
  await running.settled();
  expect(await stateOf(store, 'blue/a')).toContain('192.0.2.0 VIP');
  expect(await stateOf(store, 'red/a')).not.toContain('192.0.2.0 VIP');
});

test('services of all namespaces of a network share its pool, and dual ones have an address of each family', async () => {
  const network = {
    ...layer2('blue/net', '10.40.0.0/16,fd40::/64'),
    spec: {
      topology: 'Layer2',
      layer2: {
        role: 'Primary',
        subnets: ['10.40.0.0/16', 'fd40::/64'],
        infrastructureSubnets: ['10.40.255.0/29', 'fd40::ff00/120'],
      },
    },
  } as UserDefinedNetwork;
  const store = await prepared(
    pooled(clusterLayer3('both', inNamespaces('red', 'green'), '10.20.0.0/16/24'), '192.0.2.0/31'),
    pooled(network, '10.40.255.0/29,fd40::ff00/120'),
  );
  await using running = startManager(
    store,
    {},
    {
      clusterSubnets: [
        { cidr: '10.244.0.0/16', hostLength: 24 },
        { cidr: 'fd00:10:244::/48', hostLength: 64 },
      ],
      serviceSubnets: ['10.96.0.0/16', 'fd96::/112'],
    },
  );
  const dual = { clusterIPs: ['10.96.0.9', 'fd96::9'] };
  await apply(store, namespace('green'), service('red/a'), service('green/a'));
  await apply(store, service('blue/dual', { spec: dual }), service('red/dual', { spec: dual }));
  await running.settled();
  expect(await statesOf(store, 'red/a', 'green/a', 'blue/dual', 'red/dual')).toEqual([
    'red/a 192.0.2.0 VIP True AddressAllocated',
    'green/a 192.0.2.1 VIP True AddressAllocated',
    // The gateway and the management ports have the first ones.
    'blue/dual 10.40.255.2 VIP,fd40::ff02 VIP True AddressAllocated',
    'red/dual - False PoolExhausted',
  ]);
});

test('an EgressService of such a service is told that nobody outside answers its address', async () => {
  const store = await prepared(blue('192.0.2.0/31'));
  await using running = startManager(store);
  await apply(store, service('blue/a'), {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressService',
    metadata: { namespace: 'blue', name: 'a' },
    spec: {},
  });
  await running.settled();
  expect((await store.get(egressServices, 'blue/a'))?.status?.host).toBe('');
  expect(running.manager.problems()).toEqual([
    {
      object: 'EgressService blue/a',
      message:
        "the address of Service blue/a is of its network's pool (spec.loadBalancerClass k8s.ovn.org/udn-loadbalancer), where nobody outside answers it: its pods send nothing out; take the object out, or give the service another class",
    },
  ]);
});
