/** Pools of addresses for services: which a network may have, and what its NADs say together. */
import { describe, expect, test } from 'vitest';
import type { ClusterSettings } from '../../../../src/model/model.ts';
import {
  isInPool,
  readServicePool,
  sharedPool,
  type PooledNetwork,
} from '../../../../src/model/rules/service-pools.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';

const layer2: PooledNetwork = {
  topology: 'layer2',
  role: 'primary',
  subnets: [{ cidr: '10.40.0.0/16' }, { cidr: 'fd40::/64' }],
  infrastructureSubnets: ['10.40.255.0/24', 'fd40::ff00/120'],
  defaultGatewayIPs: [],
  joinSubnets: { v4: '100.65.0.0/16', v6: 'fd99::/64' },
  transitSubnets: { v4: '100.99.0.0/16' },
};
const layer3: PooledNetwork = {
  ...layer2,
  topology: 'layer3',
  infrastructureSubnets: [],
  transitSubnets: {},
};
const read = (
  text: string,
  network = layer2,
  settings: Partial<ClusterSettings> = {},
): readonly string[] | string => {
  const found = readServicePool(text, network, { ...DEFAULT_SETTINGS, ...settings });
  return found.kind === 'value' ? found.value : found.error;
};
const FIELD = 'metadata.annotations[k8s.ovn.org/service-pool]: ';

test('ranges are separated by commas; on a Layer2 network they lie among the addresses of its infrastructure, or outside', () => {
  expect(read('10.40.255.64/26, FD40::FF80/122')).toEqual(['10.40.255.64/26', 'fd40::ff80/122']);
  expect(read(' 192.0.2.7/32,198.51.100.0/24')).toEqual(['192.0.2.7/32', '198.51.100.0/24']);
  expect(read('192.0.2.0/24', layer3)).toEqual(['192.0.2.0/24']);
});

describe('a pool is refused, with field, value and remedy', () => {
  test.each([
    ['', layer2, '"" is no range of addresses; write ranges as 10.1.2.0/24 or fd00::/120'],
    ['192.0.2.0/24,', layer2, '"" is no range of addresses'],
    ['10.1.0.1-10.1.0.9', layer2, '"10.1.0.1-10.1.0.9" is no range of addresses'],
    [
      '192.0.2.1/24',
      layer2,
      '"192.0.2.1/24" has bits behind its prefix length; write 192.0.2.0/24',
    ],
    ['192.0.2.0/24,192.0.2.8/32', layer2, '"192.0.2.8/32" overlaps 192.0.2.0/24 of the same pool'],
    [
      '10.40.3.0/24',
      layer2,
      '"10.40.3.0/24" is in subnet 10.40.0.0/16 of the network, where pods get addresses; choose a range outside of it, or in spec.layer2.infrastructureSubnets',
    ],
    ['10.0.0.0/8', layer2, '"10.0.0.0/8" overlaps the cluster subnet 10.128.0.0/14'],
    [
      '10.40.255.0/24',
      layer3,
      '"10.40.255.0/24" overlaps subnet 10.40.0.0/16 of the network, which nodes get parts of',
    ],
    [
      '100.99.7.0/24',
      layer2,
      `"100.99.7.0/24" overlaps the network's transit subnet 100.99.0.0/16`,
    ],
    ['172.16.1.64/26', layer2, '"172.16.1.64/26" overlaps the service subnet 172.16.1.0/24'],
    ['169.254.9.0/24', layer2, '"169.254.9.0/24" overlaps the '],
    ['224.1.0.0/24', layer2, '"224.1.0.0/24" overlaps the multicast addresses'],
    [
      'fd00:9::/112',
      { ...layer2, subnets: [{ cidr: '10.40.0.0/16' }] },
      '"fd00:9::/112" is of a family of which the network has no subnet; leave it out',
    ],
    ['192.0.2.0/24', { ...layer2, role: 'secondary' as const }, 'remove the annotation'],
    ['192.0.2.0/24', { ...layer2, topology: 'localnet' as const }, 'remove the annotation'],
    [
      Array.from({ length: 17 }, (_, n) => `192.0.${n}.0/24`).join(),
      layer2,
      'has 17 ranges, a pool may have 16; join them',
    ],
  ])('%j', (text, network, why) => {
    const found = read(text, network);
    expect(found).toContain(FIELD);
    expect(found).toContain(why);
  });

  test('outside of what an administrator leaves to services, unless it is in a subnet of the network', () => {
    const limited = { serviceExternalRanges: ['192.0.2.0/24'] };
    expect(read('198.51.100.0/24', layer3, limited)).toContain(
      '"198.51.100.0/24" is neither in a subnet of the network nor in --service-external-ranges (192.0.2.0/24)',
    );
    expect(read('192.0.2.128/25', layer3, limited)).toEqual(['192.0.2.128/25']);
    expect(read('10.40.255.64/26', layer2, limited)).toEqual(['10.40.255.64/26']);
  });
});

test('of several NADs of a network the pool is what all of them have', () => {
  const shared = (...texts: readonly (string | undefined)[]): readonly string[] =>
    sharedPool(texts, layer3, DEFAULT_SETTINGS);
  expect(shared('192.0.2.0/24', '192.0.2.0/25, 198.51.100.0/24')).toEqual(['192.0.2.0/25']);
  expect(shared('192.0.2.0/25', '192.0.2.0/24', '192.0.2.0/24')).toEqual(['192.0.2.0/25']);
  expect(shared('192.0.2.0/24', undefined)).toEqual([]);
  expect(shared('192.0.2.0/24', 'nonsense')).toEqual([]);
  expect(shared()).toEqual([]);
});

test("addresses of the gateway, of the nodes' ports and of all of the subnet are nobody's", () => {
  const pool = ['10.40.255.0/24', 'fd40::ff00/120'];
  const free = (text: string): boolean => isInPool(text, pool, layer2);
  // The gateway and the management ports have the first ones of the infrastructure.
  expect(['10.40.255.0', '10.40.255.1', '10.40.255.2', '10.40.255.255'].map(free)).toEqual([
    false,
    false,
    true,
    false,
  ]);
  expect(['fd40::ff00', 'fd40::ff01', 'fd40::ff02'].map(free)).toEqual([false, false, true]);
  expect(isInPool('192.0.2.0', ['192.0.2.0/31'], layer3)).toBe(true);
  expect(isInPool('192.0.2.2', ['192.0.2.0/31'], layer3)).toBe(false);
  expect(isInPool('web', pool, layer2)).toBe(false);
});
