/** Addresses of networks' pools as a node takes them from services, and who shares them. */
import { expect, test } from 'vitest';
import type { Service } from '../../../../src/api/types.ts';
import type { Connect } from '../../../../src/model/read/connects.ts';
import type { PoolTables } from '../../../../src/model/zone/service-pools.ts';
import type { ZoneFacts } from '../../../../src/model/zone/zone.ts';
import { red } from '../../../support/zone/named-networks.ts';
import { service, withServices } from '../../../support/zone/services.ts';
import {
  blue,
  colored,
  exampleZone,
  factsOf,
  yellow,
  type Zone,
} from '../../../support/zone/zones.ts';

const POOL = '192.0.2.0/28';
const CLASS = 'k8s.ovn.org/udn-loadbalancer';
const pooledYellow = {
  ...yellow,
  infrastructureSubnets: ['105.105.255.0/24'],
  servicePool: '105.105.255.0/25',
};
const tenants: Zone = {
  ...exampleZone,
  networks: [
    ...exampleZone.networks.map((one) =>
      one.name === blue.name ? { ...one, servicePool: POOL } : one,
    ),
    { ...red, servicePool: POOL },
    pooledYellow,
  ],
  namespaces: [...exampleZone.namespaces, 'red', 'yellow'],
};
const pooled = (key: string, ...addresses: readonly string[]): Service =>
  service(
    key,
    { type: 'LoadBalancer', loadBalancerClass: CLASS, clusterIPs: [`10.96.9.${key.length}`] },
    { loadBalancer: { ingress: addresses.map((ip) => ({ ip })) } },
  );
const used = (facts: ZoneFacts, network: string): readonly string[] =>
  facts.poolAddresses.peek(network)?.addresses ?? [];
const problems = (facts: ZoneFacts): readonly string[] =>
  [...facts.modelProblems()].map(({ object, message }) => `${object}: ${message}`);

test('services have the addresses of the pool of their own network, whatever others have', () => {
  const facts = factsOf(
    withServices(
      tenants,
      pooled('blue/a', '192.0.2.1'),
      pooled('red/ab', '192.0.2.1'),
      pooled('yellow/abc', '105.105.255.9'),
    ),
  );
  expect(used(facts, 'blue_blue')).toEqual(['192.0.2.1']);
  expect(used(facts, red.name)).toEqual(['192.0.2.1']);
  expect(used(facts, yellow.name)).toEqual(['105.105.255.9']);
  expect(problems(facts)).toEqual([]);
  const { externalIps, isExposed, isLoadBalancer } =
    facts.services.peek('blue/a') ?? expect.unreachable();
  expect({ externalIps, isExposed, isLoadBalancer }).toEqual({
    externalIps: [],
    isExposed: false,
    isLoadBalancer: false,
  });
});

test("an address that is not of the pool, or somebody else's, leads nowhere, and it is said why", () => {
  const node = '192.0.2.7';
  const facts = factsOf(
    withServices(
      tenants,
      // Of another network's pool, of no pool, a pod's, and a node's.
      pooled('blue/a', '105.105.255.9', '198.51.100.1', '103.103.0.3', node),
      // The gateway's, and a pod's.
      pooled('yellow/a', '105.105.255.0', '105.105.0.3'),
    ),
  );
  facts.nodeAddresses.put('far', { name: 'far', own: [node], all: [], nextHops: [] });
  facts.refresh(0);
  expect(used(facts, 'blue_blue')).toEqual([]);
  expect(used(facts, yellow.name)).toEqual([]);
  const said = problems(facts).join('\n');
  for (const text of [
    `status.loadBalancer.ingress: "105.105.255.9" is not in the pool of the service's network: pods don't reach the service by it`,
    '"198.51.100.1" is not in the pool',
    '"103.103.0.3" is not in the pool',
    `"${node}" is an address of node`,
    '"105.105.255.0" is not in the pool',
    '"105.105.0.3" is not in the pool',
  ])
    expect(said).toContain(text);
});

test('of two services of a network with one address the older one has it', () => {
  const facts = factsOf(
    withServices(tenants, pooled('blue/b', '192.0.2.1'), pooled('blue/abc', '192.0.2.1')),
  );
  expect(problems(facts)).toEqual([
    `Service blue/b: status.loadBalancer.ingress: "192.0.2.1" is that of service blue/abc of the same network: pods don't reach the service by it; the cluster manager gives it one of the pool, else take it out of the status`,
  ]);
  expect(facts.poolIpsOn('blue_blue', 'blue/b')).toEqual([]);
  expect(facts.poolIpsOn('blue_blue', 'blue/abc')).toEqual(['192.0.2.1']);
});

test('a pool is what all NADs of the network say; one that can not be used is none, and is said', () => {
  const facts = factsOf(tenants);
  const tables: PoolTables = facts;
  const say = (nad: string, servicePool: string | undefined): void => {
    const definition = facts.definitions.peek(nad) ?? expect.unreachable(nad);
    facts.definitions.put(nad, { ...definition, servicePool });
    facts.refresh(0);
  };
  const pool = (): readonly string[] | undefined => tables.servicePools.peek('blue_blue')?.cidrs;
  expect(pool()).toEqual([POOL]);
  say('blue/blue', '103.103.7.0/24');
  expect(pool()).toBeUndefined();
  expect(problems(facts)).toEqual([
    'NetworkAttachmentDefinition blue/blue: metadata.annotations[k8s.ovn.org/service-pool]: "103.103.7.0/24" overlaps subnet 103.103.0.0/16 of the network, which nodes get parts of; choose a range outside of it',
  ]);
  say('blue/blue', undefined);
  expect(pool()).toBeUndefined();
  expect(problems(facts)).toEqual([]);
  const both = {
    ...tenants,
    networks: tenants.networks.map((one) =>
      one.name === blue.name ? { ...one, nads: ['blue/blue', 'violet/blue'] } : one,
    ),
  };
  const shared = factsOf(both);
  const definition = shared.definitions.peek('violet/blue') ?? expect.unreachable();
  shared.definitions.put('violet/blue', { ...definition, servicePool: '192.0.2.0/29' });
  shared.refresh(0);
  expect(shared.servicePools.peek('blue_blue')?.cidrs).toEqual(['192.0.2.0/29']);
  expect(problems(shared).join('\n')).toContain(
    'NetworkAttachmentDefinition blue/blue: annotation k8s.ovn.org/service-pool: NetworkAttachmentDefinition violet/blue of the same network has another one',
  );
});

test('a connection shares an address that no other network of it has', () => {
  const members = (...ids: readonly number[]): Connect => ({
    ...colored,
    hasServices: true,
    members: ids.map((networkId, index) => ({
      networkId,
      topology: networkId === yellow.id ? 'layer2' : 'layer3',
      subnets: [`192.168.${index}.0/24`],
    })),
  });
  const shares = (connect: Connect, network: string, address: string): boolean =>
    factsOf({ ...tenants, connects: [connect] }).isPoolAddressShared(
      connect.name,
      network,
      address,
    );
  expect(shares(members(blue.id, yellow.id), 'blue_blue', '192.0.2.1')).toBe(true);
  expect(shares(members(blue.id, yellow.id), yellow.name, '105.105.255.9')).toBe(true);
  // Has the same pool.
  expect(shares(members(blue.id, red.id), 'blue_blue', '192.0.2.1')).toBe(false);
  // Has pods there.
  expect(shares(members(blue.id, yellow.id), 'blue_blue', '105.105.0.9')).toBe(false);
});
