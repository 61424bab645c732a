import { describe, expect, test } from 'vitest';
import {
  announcedSubnets,
  isServed,
  servedSubnets,
} from '../../../../src/model/rules/flat-networks.ts';
import { layer2Secondary, overlay, underlay } from '../../../support/zone/zones.ts';

describe('a network of an OVNSecondaryNetwork (reference/topology.md §22)', () => {
  test('is known by its name', () => {
    expect([overlay, underlay, layer2Secondary].map(({ name }) => isServed(name))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('has OVN answer by DHCP for each of its subnets; other networks have it answer nobody', () => {
    expect(servedSubnets(overlay)).toEqual([{ family: 'v6', cidr: 'fd20:60::/64' }]);
    expect(servedSubnets(layer2Secondary)).toEqual([]);
  });

  test('has its IPv6 subnet announced, but not on the underlay, where others route', () => {
    expect(announcedSubnets(overlay)).toEqual(['fd20:60::/64']);
    expect(announcedSubnets({ ...overlay, topology: 'localnet' })).toEqual([]);
    expect(announcedSubnets({ ...overlay, subnets: [{ cidr: '10.0.0.0/16' }] })).toEqual([]);
  });

  test('with a subnet that has no address to spare has no router to announce it', () => {
    expect(announcedSubnets({ ...overlay, subnets: [{ cidr: 'fd20:60::/126' }] })).toHaveLength(1);
    expect(announcedSubnets({ ...overlay, subnets: [{ cidr: 'fd20:60::/127' }] })).toEqual([]);
  });
});
