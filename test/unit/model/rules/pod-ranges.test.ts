import { describe, expect, test } from 'vitest';
import { formatPrefix } from '../../../../src/allocators/addresses.ts';
import {
  addressingProblem,
  hostText,
  nodeRanges,
  sharedRanges,
} from '../../../../src/model/rules/pod-ranges.ts';
import { layer2Secondary, overlay, yellow } from '../../../support/zone/zones.ts';

const shared = (network: object) => sharedRanges(network as Parameters<typeof sharedRanges>[0]);
const MAC = '0a:58:0a:f4:00:05';
const problem = (
  more: { addresses?: readonly string[]; macAddress?: string; tunnelId?: number },
  ranges = nodeRanges('default', ['10.244.0.0/24']),
  requested: readonly string[] = [],
): string | undefined =>
  addressingProblem({ addresses: ['10.244.0.5/24'], macAddress: MAC, ...more }, ranges, requested);

describe('addresses of a node for its pods', () => {
  test('are those of its subnets without gateway and management port', () => {
    const ranges = nodeRanges('default', ['10.244.0.0/24']);
    expect(ranges.excluded.map(formatPrefix)).toEqual(['10.244.0.1/32', '10.244.0.2/32']);
    expect(ranges.reservedMacs).toEqual(['0a:58:0a:f4:00:01', '0a:58:0a:f4:00:02']);
  });

  test('are none in a subnet with no room for these', () => {
    expect(nodeRanges('default', ['10.244.0.0/31']).excluded.map(formatPrefix)).toEqual([
      '10.244.0.0/31',
    ]);
  });
});

describe('addresses of a network that all nodes share', () => {
  test('leave out gateways of a primary one, and its tunnel ids those of its routers', () => {
    const primary = shared(yellow);
    expect(primary.excluded.map(formatPrefix)).toEqual(['105.105.0.1/32', '105.105.0.2/32']);
    expect(primary.firstTunnelId).toBe(10);
    expect(shared(layer2Secondary)).toMatchObject({ excluded: [], firstTunnelId: 1 });
  });

  test('leave out what is excluded, and give reserved ones on request alone', () => {
    const ranges = shared({
      ...layer2Secondary,
      excludeSubnets: ['10.40.0.0/24'],
      reservedSubnets: ['10.40.1.0/24'],
    });
    expect(ranges.excluded.map(formatPrefix)).toEqual(['10.40.0.0/24']);
    expect(ranges.onRequestOnly.map(formatPrefix)).toEqual(['10.40.1.0/24']);
  });

  test('leave out the MAC of the router that announces an IPv6 subnet', () => {
    expect(shared(overlay).reservedMacs).toHaveLength(1);
  });
});

describe('what a pod says that it has', () => {
  test('is right inside of the subnet, once per subnet', () => {
    expect(problem({})).toBeUndefined();
    expect(problem({ addresses: [] })).toBe('no address of 10.244.0.0/24 (network "default")');
    expect(problem({ addresses: ['10.244.0.5/24', '10.244.0.6/24'] })).toBe(
      'more than one address of 10.244.0.0/24 (network "default")',
    );
  });

  test('is not what belongs to the gateway, or to nobody', () => {
    expect(problem({ addresses: ['10.244.0.1/24'] })).toContain('network "default"');
    expect(problem({ macAddress: '0a:58:0a:f4:00:01' })).toContain('gateway');
    expect(problem({ macAddress: '00:00:00:00:00:00' })).toContain('one interface');
    expect(problem({ macAddress: '01:00:5e:00:00:01' })).toContain('one interface');
    expect(problem({ addresses: ['10.244.0.5'] })).toContain('prefix length');
  });

  test('is no tunnel id of the infrastructure', () => {
    const ranges = shared(yellow);
    expect(problem({ addresses: ['105.105.0.5/16'], tunnelId: 9 }, ranges)).toContain(
      'begin at 10',
    );
    expect(problem({ addresses: ['105.105.0.5/16'], tunnelId: 10 }, ranges)).toBeUndefined();
  });

  test('is what it asked for on a network that gives no addresses', () => {
    const ranges = shared({ ...layer2Secondary, subnets: [] });
    expect(problem({ addresses: ['1.2.3.4/24'] }, ranges)).toContain('not asked for');
    expect(problem({ addresses: ['1.2.3.4/24'] }, ranges, ['1.2.3.4/24'])).toBeUndefined();
  });
});

test('an address is the same text however it is spelt; what is none stays', () => {
  expect(hostText('FD00:0::5/64')).toBe('fd00::5');
  expect(hostText('10.0.0.5')).toBe('10.0.0.5');
  expect(hostText('x')).toBe('x');
});
