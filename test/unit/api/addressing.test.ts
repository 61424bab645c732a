import { describe, expect, test } from 'vitest';
import {
  clusterNetworkName,
  networkName,
  ovnSecondaryNetworkName,
  parseNetworkName,
} from '../../../src/api/nad/network-name.ts';
import type { NetworkRanges } from '../../../src/api/validation/overlap.ts';
import {
  clusterOverlap,
  externalOverlap,
  findTransitSubnets,
  formatOverlap,
  networkOverlap,
  nodeOverlap,
} from '../../../src/api/validation/overlap.ts';
import { parseFamilyCidrs } from '../../../src/api/nad/subnet-lists.ts';
import { settings } from './objects.ts';

describe('names of networks', () => {
  test('say what they were made from', () => {
    expect(networkName('udn-test', 'l3-primary')).toBe('udn-test_l3-primary');
    expect(parseNetworkName('udn-test_l3-primary')).toEqual({
      kind: 'UserDefinedNetwork',
      namespace: 'udn-test',
      name: 'l3-primary',
    });
    expect(clusterNetworkName('yellow-net')).toBe('cluster_udn_yellow-net');
    expect(parseNetworkName('cluster_udn_yellow-net')).toEqual({
      kind: 'ClusterUserDefinedNetwork',
      name: 'yellow-net',
    });
    expect(parseNetworkName(ovnSecondaryNetworkName('blue', 'net'))).toEqual({
      kind: 'OVNSecondaryNetwork',
      namespace: 'blue',
      name: 'net',
    });
  });

  test.each(['default', 'tenant', 'A_b', 'a_b/c', 'a_b_c', '_a', 'a_', 'cluster_udn_', ''])(
    '%j is the network of no object',
    (name) => {
      expect(parseNetworkName(name)).toBeUndefined();
    },
  );
});

const network = (changes: Partial<NetworkRanges>): NetworkRanges => ({
  topology: 'layer3',
  role: 'primary',
  subnets: [{ cidr: '10.20.0.0/16' }],
  excludeSubnets: [],
  joinSubnets: settings.udnJoinSubnets,
  transitSubnets: {},
  ...changes,
});
const overlapOf = (changes: Partial<NetworkRanges>): string | undefined => {
  const overlap = networkOverlap(network(changes), settings);
  return overlap && formatOverlap(overlap);
};
const subnets = (...cidrs: string[]): Partial<NetworkRanges> => ({
  subnets: cidrs.map((cidr) => ({ cidr })),
});

describe('ranges of a network', () => {
  test.each([
    [
      subnets('10.244.128.0/17'),
      'user defined subnet "10.244.128.0/17" overlaps cluster subnet "10.244.0.0/16"',
    ],
    [
      subnets('172.16.0.0/12'),
      'user defined subnet "172.16.0.0/12" overlaps service subnet "172.16.1.0/24"',
    ],
    [
      subnets('100.64.1.0/24'),
      'user defined subnet "100.64.1.0/24" overlaps built-in join subnet "100.64.0.0/16"',
    ],
    [
      subnets('fd98::/48'),
      'user defined subnet "fd98::/48" overlaps built-in join subnet "fd98::/64"',
    ],
    [
      subnets('169.254.0.0/24'),
      'user defined subnet "169.254.0.0/24" overlaps masquerade subnet "169.254.0.0/17"',
    ],
    [
      subnets('100.88.4.0/24'),
      'user defined subnet "100.88.4.0/24" overlaps transit switch subnet "100.88.0.0/16"',
    ],
    [
      subnets('100.65.0.0/20'),
      'user defined join subnet "100.65.0.0/16" overlaps user defined subnet "100.65.0.0/20"',
    ],
    [
      subnets('10.1.0.0/16', '10.1.2.0/24'),
      'user defined subnet "10.1.2.0/24" overlaps user defined subnet "10.1.0.0/16"',
    ],
    [
      { joinSubnets: { v4: '100.64.0.0/17' } },
      'user defined join subnet "100.64.0.0/17" overlaps built-in join subnet "100.64.0.0/16"',
    ],
    [
      {
        ...subnets('10.1.0.0/16'),
        topology: 'layer2',
        transitSubnets: { v4: '10.1.4.0/24' },
      } as const,
      'user defined subnet "10.1.0.0/16" overlaps transit switch subnet "10.1.4.0/24"',
    ],
  ])('may not overlap: %j', (changes, message) => {
    expect(overlapOf(changes)).toBe(message);
  });

  test.each([
    [subnets('10.20.0.0/16', 'fd20::/48')],
    // A layer2 network has transit subnets of its own; a secondary one no join and no transit switch.
    [
      {
        ...subnets('100.88.4.0/24'),
        topology: 'layer2',
        transitSubnets: { v4: '100.90.0.0/16' },
      } as const,
    ],
    [{ ...subnets('100.65.0.0/20'), role: 'secondary' } as const],
    // Localnet is on the underlay.
    [{ ...subnets('10.244.0.0/16'), topology: 'localnet' } as const],
    // What pods never get may be the cluster's.
    [
      {
        ...subnets('172.16.0.0/16'),
        topology: 'layer2',
        role: 'secondary',
        excludeSubnets: ['172.16.1.0/24'],
      } as const,
    ],
  ])('are fine: %j', (changes) => {
    expect(overlapOf(changes)).toBeUndefined();
  });

  test('may not cover a network of a node', () => {
    const nodes = [{ name: 'worker', hostAddresses: ['172.18.0.3/16', 'fc00:f853::3/64'] }];
    expect(nodeOverlap([{ cidr: '172.18.5.0/24' }], nodes)).toBe(
      'user defined subnet "172.18.5.0/24" overlaps the network 172.18.0.0/16 of node "worker" ' +
        '(address 172.18.0.3/16): choose a range that no node has an address in',
    );
    expect(nodeOverlap([{ cidr: '10.0.0.0/8' }], nodes)).toBeUndefined();
  });
});

describe('a subnet on the underlay', () => {
  const subnet = [{ cidr: '192.168.5.0/24' }];

  test('may not be one of the cluster, of a node or of another network there', () => {
    expect(externalOverlap(subnet, settings)).toBeUndefined();
    expect(externalOverlap([{ cidr: '172.16.1.0/25' }], settings)).toContain(
      'user defined subnet "172.16.1.0/25" overlaps service subnet "172.16.1.0/24"',
    );
    const nodes = [{ name: 'worker', hostAddresses: ['192.168.0.3/16'] }];
    expect(externalOverlap(subnet, settings, nodes)).toContain('of node "worker"');
    const others = [
      { name: 'OVNSecondaryNetwork red/overlay', subnets: [{ cidr: '192.168.0.0/16' }] },
    ];
    expect(externalOverlap(subnet, settings, [], others)).toBe(
      'user defined subnet "192.168.5.0/24" overlaps a subnet of OVNSecondaryNetwork red/overlay: choose another range',
    );
  });
});

test('settings of a cluster may not overlap each other', () => {
  expect(clusterOverlap(settings)).toBeUndefined();
  const overlap = clusterOverlap({ ...settings, serviceSubnets: ['10.244.3.0/24'] });
  expect(overlap && formatOverlap(overlap)).toBe(
    'service subnet "10.244.3.0/24" overlaps cluster subnet "10.244.0.0/16"',
  );
});

describe('the transit subnets of a primary layer2 network', () => {
  const find = (pods: string, join?: string): ReturnType<typeof findTransitSubnets> => {
    const joinSubnets = join === undefined ? undefined : parseFamilyCidrs(join);
    return findTransitSubnets(
      {
        topology: 'layer2',
        role: 'primary',
        subnets: pods.split(',').map((cidr) => ({ cidr })),
        excludeSubnets: [],
        joinSubnets: joinSubnets?.kind === 'value' ? joinSubnets.value : settings.udnJoinSubnets,
      },
      settings,
    );
  };

  // reference/api.md §14.
  test.each([
    ['10.12.0.0/16,fd12:dbba::/64', undefined, '100.88.0.0/16', 'fd97::/64'],
    ['100.88.0.0/15,fd97::/63', undefined, '100.90.0.0/16', 'fd97:0:0:2::/64'],
    ['10.12.0.0/16,fd12:dbba::/64', '100.88.0.0/17,fd97::/65', '100.89.0.0/16', 'fd97:0:0:1::/64'],
    [
      '100.88.0.0/15,fd97::/65',
      '100.90.0.0/16,fd97:0:0:1::/64',
      '100.91.0.0/16',
      'fd97:0:0:2::/64',
    ],
  ])('for pods in %s and join subnets %s are %s and %s', (pods, join, v4, v6) => {
    expect(find(pods, join)).toEqual({ kind: 'value', value: { v4, v6 } });
  });

  test('are of the families of its subnets', () => {
    expect(find('10.12.0.0/16')).toEqual({ kind: 'value', value: { v4: '100.88.0.0/16' } });
  });

  test('are not looked for without end', () => {
    const pods = Array.from({ length: 12 }, (_, i) => `100.${88 + i}.0.0/16`).join(',');
    expect(find(pods)).toEqual({
      kind: 'invalid',
      error:
        "can't generate transit subnets: failed to find non-overlapping transit subnet after 10 attempts",
    });
  });

  test('are not looked for when other ranges overlap', () => {
    expect(find('10.244.0.0/16')).toEqual({
      kind: 'invalid',
      error: 'user defined subnet "10.244.0.0/16" overlaps cluster subnet "10.244.0.0/16"',
    });
  });
});
