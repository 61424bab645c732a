import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  clusterFamilies,
  hasGateway,
  hasTransitLink,
  joinAddresses,
  joinSubnet,
  joinSubnets,
  layer2Ranges,
  nodeRanges,
  transitLink,
} from '../../../../src/model/rules/network-addresses.ts';
import {
  blue,
  defaultNetwork,
  dualYellow,
  dualZone,
  ipv4Settings,
  layer2Secondary,
  yellow,
} from '../../../support/zone/zones.ts';

test('families of the cluster are those of its pod subnets, IPv4 first', () => {
  expect(clusterFamilies(ipv4Settings)).toEqual(['v4']);
  expect(clusterFamilies(dualZone.settings)).toEqual(['v4', 'v6']);
});

describe('the join subnet of a network', () => {
  test('is its own, or that of all user-defined networks; the default network has another one', () => {
    const { joinSubnets: _own, ...rest } = blue;
    expect(joinSubnet(ipv4Settings, blue, 'v4')).toBe('100.65.0.0/16');
    expect(joinSubnet(ipv4Settings, { ...rest, joinSubnets: {} }, 'v4')).toBe('100.65.0.0/16');
    expect(joinSubnet(ipv4Settings, { ...defaultNetwork, joinSubnets: {} }, 'v4')).toBe(
      '100.64.0.0/16',
    );
  });

  test('is none for a network without a gateway', () => {
    expect([blue, defaultNetwork, layer2Secondary].map(hasGateway)).toEqual([true, true, false]);
    expect(joinSubnets(ipv4Settings, layer2Secondary)).toEqual([]);
  });

  test('has an address for each node whose id fits', () => {
    expect(joinAddresses(ipv4Settings, blue, { id: 2 })).toEqual(['100.65.0.2']);
    expect(joinAddresses(ipv4Settings, blue, { id: 70_000 })).toEqual([]);
  });
});

describe('a range of pods (reference/topology.md §2)', () => {
  test('of a node begins with gateway and management port, IPv4 before IPv6', () => {
    expect(nodeRanges(['fd00::/64', '10.0.0.0/24'])).toEqual([
      {
        family: 'v4',
        cidr: '10.0.0.0/24',
        gateway: '10.0.0.1',
        gatewayInterface: '10.0.0.1/24',
        management: '10.0.0.2',
      },
      {
        family: 'v6',
        cidr: 'fd00::/64',
        gateway: 'fd00::1',
        gatewayInterface: 'fd00::1/64',
        management: 'fd00::2',
      },
    ]);
  });

  test('of a Layer2 network has the gateway that was configured, or the first address that is free', () => {
    const gatewayOf = (more: object): string | undefined =>
      layer2Ranges({ ...yellow, ...more })[0]?.gateway;
    expect(gatewayOf({})).toBe('105.105.0.1');
    expect(gatewayOf({ defaultGatewayIPs: ['105.105.0.9'] })).toBe('105.105.0.9');
    expect(layer2Ranges(dualYellow).map(({ family }) => family)).toEqual(['v4', 'v6']);
  });
});

describe('the link of a transit router to the gateway router of a node', () => {
  test('is the pair of addresses with the number of the node', () => {
    expect(transitLink(yellow, { id: 2 }, 'v4')).toEqual({
      router: '100.88.0.4',
      routerInterface: '100.88.0.4/31',
      gateway: '100.88.0.5',
      gatewayInterface: '100.88.0.5/31',
    });
    expect(transitLink(dualYellow, { id: 2 }, 'v6')?.gatewayInterface).toBe('fd97::5/127');
    expect(transitLink(yellow, { id: 2 }, 'v6')).toBeUndefined();
  });

  test('is not there for an id that does not fit', () => {
    expect(hasTransitLink('100.88.0.0/24', { id: 127 })).toBe(true);
    expect(hasTransitLink('100.88.0.0/24', { id: 128 })).toBe(false);
  });

  test('shares no address with that of another node', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: 32_000 }), { minLength: 2, maxLength: 20 }),
        (ids) => {
          const addresses = ids.flatMap((id) => {
            const link = transitLink(yellow, { id }, 'v4');
            return link === undefined ? [] : [link.router, link.gateway];
          });
          return new Set(addresses).size === 2 * ids.length;
        },
      ),
    );
  });
});
