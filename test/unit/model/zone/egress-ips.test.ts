import { describe, expect, test } from 'vitest';
import { errorText } from '../../../../src/api/error-text.ts';
import type { EgressIp } from '../../../../src/model/read/egress-ips.ts';
import type { EgressIpTables } from '../../../../src/model/zone/egress-ips.ts';
import { secondaryLayer3, secondaryPod } from '../../../support/zone/zone-variants.ts';
import {
  blue,
  bluePod,
  exampleZone,
  factsOf,
  yellow,
  type Zone,
} from '../../../support/zone/zones.ts';

const HERE = 'ovn-worker';

const egressIp = (name: string, changes: Partial<EgressIp> = {}): EgressIp => {
  const items = changes.items ?? [{ node: HERE, address: '172.18.0.200' }];
  return {
    name,
    created: '2026-01-01T00:00:00Z',
    namespaceSelector: {},
    podSelector: {},
    mark: 50_000,
    families: ['v4'],
    ...changes,
    items,
    isHere: items.some(({ node }) => node === HERE),
  };
};
const pod = (namespace: string, name: string, labels: Record<string, string> = {}) => ({
  namespace,
  name,
  node: HERE,
  labels,
  namedPorts: [],
});
const zoneWith = (...egressIps: readonly EgressIp[]): Zone => ({
  ...exampleZone,
  attachments: [bluePod],
  pods: [pod('blue', 'pod1')],
  egressIps,
});
const served = (facts: EgressIpTables): string | undefined =>
  facts.egressPorts.peek('blue', 'pod1', 'blue/blue')?.egressIp;

test('a pod leaves with it on its secondary network, too, where that has a gateway', () => {
  const used = (secondaryGateway: string | undefined) => {
    const facts = factsOf({
      ...zoneWith(egressIp('one')),
      networks: [
        ...exampleZone.networks,
        { ...secondaryLayer3, ...(secondaryGateway === undefined ? {} : { secondaryGateway }) },
      ],
      attachments: [bluePod, secondaryPod],
    });
    return [
      served(facts),
      facts.egressPorts.peek('blue', 'pod1', 'blue/sec')?.addresses,
      facts.egressUses.peek('one')?.networks,
    ];
  };
  expect(used('{}')).toEqual(['one', ['10.80.0.5'], expect.arrayContaining(['blue_sec'])]);
  expect(used(undefined)).toEqual(['one', undefined, expect.not.arrayContaining(['blue_sec'])]);
});

describe('of several EgressIPs', () => {
  const old = egressIp('z-old', { created: '2025-01-01T00:00:00Z' });
  const young = egressIp('a-young', { items: [], mark: 50_001 });

  test('the oldest serves a pod, and the others are told', () => {
    const facts = factsOf(zoneWith(young, old));
    expect(served(facts)).toBe('z-old');
    expect([...facts.egressProblems()]).toEqual([
      {
        object: 'EgressIP a-young',
        message: expect.stringContaining(
          'will not be configured for pod blue_pod1 since another egressIP object z-old is serving it',
        ) as string,
      },
    ]);
  });

  test('one that does not select the pod does not count', () => {
    const other = { ...old, podSelector: { matchLabels: { app: 'web' } } };
    expect(served(factsOf(zoneWith(young, other)))).toBe('a-young');
  });

  test('a mark, or an address of this node, is that of the oldest', () => {
    const copy = egressIp('copy');
    const facts = factsOf(zoneWith(copy, old));
    expect([facts.egressMarkOf('z-old'), facts.egressMarkOf('copy')]).toEqual([50_000, undefined]);
    expect(facts.egressAddressesHere('z-old')).toEqual([
      { node: HERE, address: '172.18.0.200', role: 'holder' },
    ]);
    expect(facts.egressAddressesHere('copy')).toEqual([]);
  });
});

test('an interface that leads out is served, of the families of its EgressIP', () => {
  const facts = factsOf(zoneWith(egressIp('out')));
  expect(facts.egressPorts.peek('blue', 'pod1', 'blue/blue')).toEqual({
    egressIp: 'out',
    namespace: 'blue',
    pod: 'pod1',
    network: blue.name,
    addresses: ['103.103.0.3'],
    isOwn: true,
  });
  expect([...facts.egressPorts.setOf('served', blue.name, 'v4')]).toEqual(['103.103.0.3']);
  const other = factsOf(zoneWith(egressIp('out', { families: ['v6'] })));
  expect(other.egressPorts.peek('blue', 'pod1', 'blue/blue')?.addresses).toEqual([]);
});

test('of a pod whose namespace is not known yet it can not be told', () => {
  const facts = factsOf({ ...zoneWith(egressIp('out')), namespaces: [] });
  const failures = [...facts.graph.failures()];
  expect(failures.map(({ table, object }) => `${table} ${object}`)).toContain(
    'podEgress Pod blue/pod1',
  );
  // The words that the pod's networks are refused with: it is one problem.
  expect(JSON.stringify(failures.map(({ error }) => errorText(error)))).toContain(
    'metadata.namespace: there is no namespace',
  );
});

test.each([
  ['172.19.0.5', 'is in no network of the gateway'],
  ['172.18.0.4', 'is an address of node ovn-worker2'],
])('address %s is not used here: it %s', (address, reason) => {
  const facts = factsOf(zoneWith(egressIp('out', { items: [{ node: HERE, address }] })));
  facts.nodeAddresses.put('ovn-worker2', {
    name: 'ovn-worker2',
    own: ['172.18.0.4'],
    all: [],
    nextHops: [],
  });
  facts.refresh(0);
  expect(facts.egressAddressesHere('out')).toEqual([]);
  expect([...facts.egressProblems()].map(({ message }) => message).join()).toContain(reason);
});

describe('an address in a network of another network card', () => {
  const ETH1 = { device: 'eth1', index: 7, networks: ['10.9.0.0/24'], routes: {} };
  const out = (address: string) =>
    factsOf(zoneWith(egressIp('out', { items: [{ node: HERE, address }] })));

  test('is at that card: the one with the longest network', () => {
    const facts = out('10.9.0.100');
    facts.hostCards.put('eth2', { ...ETH1, device: 'eth2', networks: ['10.0.0.0/8'] });
    facts.hostCards.put('eth1', ETH1);
    facts.refresh(0);
    expect(facts.egressAddressesHere('out').map(({ card }) => card)).toEqual(['eth1']);
    expect(facts.egressPlaces.keysBy('card', 'eth1')).toEqual(['out']);
    expect([...facts.egressProblems()]).toEqual([]);
    // When it goes, and the other one with it, the object is told.
    facts.hostCards.delete('eth1');
    facts.refresh(0);
    expect(facts.egressAddressesHere('out').map(({ card }) => card)).toEqual(['eth2']);
    facts.hostCards.delete('eth2');
    facts.refresh(0);
    expect(facts.egressAddressesHere('out')).toEqual([]);
    expect([...facts.egressProblems()].map(({ message }) => message).join()).toContain(
      'nor of another network card',
    );
  });

  test('is never at a card where the gateway has its network, nor at the bridge', () => {
    const facts = out('172.18.0.200');
    facts.hostCards.put('eth1', { ...ETH1, networks: ['172.18.0.0/24'] });
    facts.refresh(0);
    expect(facts.egressAddressesHere('out').map(({ card }) => card)).toEqual([undefined]);
    const bridge = facts.own('gateway')?.bridge ?? '';
    const other = out('10.9.0.100');
    other.hostCards.put(bridge, { ...ETH1, device: bridge });
    other.refresh(0);
    expect(other.egressAddressesHere('out')).toEqual([]);
  });

  test('can not be told before cards can be read', () => {
    const facts = out('10.9.0.100');
    facts.hostRoutes.put('v4', { routes: [], unreadable: 'no socket' });
    facts.refresh(0);
    expect([...facts.graph.failures()].map(({ table }) => table)).toContain('egressPlaces');
  });
});

test('networks whose pods may leave here are used here', () => {
  const zone = { ...zoneWith(egressIp('out')), attachments: [] };
  const facts = factsOf(zone, {});
  expect(facts.egressUses.peek('out')?.networks).toEqual([blue.name, 'default']);
  expect(facts.rendered.peek(blue.name)).toBeDefined();
  expect(facts.rendered.peek(yellow.name)).toBeUndefined();
  const elsewhere = egressIp('out', { items: [{ node: 'ovn-worker2', address: '172.18.0.200' }] });
  expect(factsOf({ ...zone, egressIps: [elsewhere] }, {}).rendered.peek(blue.name)).toBeUndefined();
});

test('where EgressIPs are off nobody is served', () => {
  const { settings } = exampleZone;
  const features = { ...settings.features, egressIp: false };
  const facts = factsOf({ ...zoneWith(egressIp('out')), settings: { ...settings, features } });
  expect(served(facts)).toBeUndefined();
  expect(facts.egressAddressesHere('out')).toEqual([]);
});
