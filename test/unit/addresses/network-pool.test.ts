import { describe, expect, test } from 'vitest';
import { formatAddress, formatInterfaceAddress } from '../../../src/allocators/addresses.ts';
import { nodePool, sharedPool, type NetworkPool } from '../../../src/addresses/network-pool.ts';
import type { NetworkConfig } from '../../../src/api/nad/network-config.ts';

const zeros = (count: number): Uint8Array => new Uint8Array(count);
const config = (changes: Partial<NetworkConfig> = {}): NetworkConfig => ({
  name: 'blue_net',
  topology: 'layer2',
  role: 'primary',
  mtu: 1400,
  subnets: [{ cidr: '10.30.0.0/24' }],
  excludeSubnets: [],
  reservedSubnets: [],
  infrastructureSubnets: [],
  defaultGatewayIPs: [],
  joinSubnets: {},
  transitSubnets: {},
  allowPersistentIPs: false,
  ...changes,
});
const line = (
  pool: NetworkPool,
  owner: string,
  request: { readonly ips?: readonly string[]; readonly mac?: string } = {},
): string => {
  const { addresses, macAddress, tunnelId } = pool.allocate(
    owner,
    { ips: [], ...request },
    owner,
    zeros,
  );
  return `${addresses.map(formatInterfaceAddress).join(' ')} ${macAddress} ${tunnelId ?? '-'}`;
};

describe('pool of a Layer2 network', () => {
  test('a primary one keeps .1 and .2 and the port keys below 10', () => {
    const pool = sharedPool(config());
    expect(pool.gateways.map(formatAddress)).toEqual(['10.30.0.1']);
    expect(line(pool, 'a')).toBe('10.30.0.3/24 0a:58:0a:1e:00:03 10');
    expect(line(pool, 'a')).toBe('10.30.0.3/24 0a:58:0a:1e:00:03 10');
  });

  test('a secondary one begins at .1', () => {
    expect(line(sharedPool(config({ role: 'secondary' })), 'a')).toBe(
      '10.30.0.1/24 0a:58:0a:1e:00:01 1',
    );
  });

  test('localnet ports have no tunnel id', () => {
    const pool = sharedPool(config({ topology: 'localnet', role: 'secondary' }));
    expect(line(pool, 'a')).toBe('10.30.0.1/24 0a:58:0a:1e:00:01 -');
  });

  test('without subnets pods bring their own addresses, or none', () => {
    const pool = sharedPool(config({ role: 'secondary', subnets: [] }));
    expect(line(pool, 'a')).toBe(' 02:00:00:00:00:00 1');
    expect(line(pool, 'b', { ips: ['192.168.2.205/24'] })).toBe(
      '192.168.2.205/24 0a:58:c0:a8:02:cd 2',
    );
  });

  test('excluded and infrastructure subnets are nobody’s, reserved ones for those who ask', () => {
    const pool = sharedPool(
      config({
        subnets: [{ cidr: '10.30.0.0/28' }],
        infrastructureSubnets: ['10.30.0.4/30'],
        excludeSubnets: ['10.30.0.8/31'],
        reservedSubnets: ['10.30.0.0/30'],
      }),
    );
    expect(pool.gateways.map(formatAddress)).toEqual(['10.30.0.4']);
    expect(line(pool, 'a')).toMatch(/^10\.30\.0\.10\/28 /);
    expect(line(pool, 'b', { ips: ['10.30.0.2/28'] })).toMatch(/^10\.30\.0\.2\/28 /);
    expect(() => line(pool, 'c', { ips: ['10.30.0.6/28'] })).toThrow('is not for pods');
  });

  test.each([
    [['10.30.0.9'], [], '10.30.0.9', '10.30.0.1'],
    [['10.30.0.2'], [], '10.30.0.2', '10.30.0.1'],
    [[], ['10.30.0.16/30'], '10.30.0.16', '10.30.0.17'],
    [['10.30.0.17'], ['10.30.0.16/30'], '10.30.0.17', '10.30.0.16'],
  ])(
    'gateways %j in infrastructure %j: %s',
    (defaultGatewayIPs, infrastructureSubnets, gateway, other) => {
      const pool = sharedPool(config({ defaultGatewayIPs, infrastructureSubnets }));
      expect(pool.gateways.map(formatAddress)).toEqual([gateway]);
      expect(() => line(pool, 'a', { ips: [gateway] })).toThrow('is not for pods');
      if (infrastructureSubnets.length > 0)
        expect(() => line(pool, 'a', { ips: [other] })).toThrow('is not for pods');
    },
  );
});

describe('requests', () => {
  test('of addresses and MACs in use are refused, and nothing is kept', () => {
    const pool = sharedPool(config());
    line(pool, 'a', { ips: ['10.30.0.7/24'], mac: '02:00:00:00:00:07' });
    expect(() => line(pool, 'b', { ips: ['10.30.0.7'] })).toThrow(
      'failed to ensure requested or annotated IPs [10.30.0.7/32] for b: provided IP is already allocated',
    );
    expect(() => line(pool, 'b', { ips: ['10.30.0.8'], mac: '02:00:00:00:00:07' })).toThrow(
      'failed to reserve MAC address "02:00:00:00:00:07" for b: MAC address already in use by a',
    );
    expect(() => line(pool, 'b', { mac: '0a:58:0a:1e:00:01' })).toThrow(
      'in use by the network itself',
    );
    expect(line(pool, 'c', { ips: ['10.30.0.8'] })).toBe('10.30.0.8/24 0a:58:0a:1e:00:08 11');
  });

  test('must name one address per subnet', () => {
    const pool = sharedPool(config());
    expect(() => line(pool, 'a', { ips: ['10.30.0.7', '10.30.0.8'] })).toThrow(
      "network blue_net expects 1 IP(s), got 2: requested IPs family types must match network's IP family configuration",
    );
    expect(() => line(pool, 'a', { ips: ['fd00::1'] })).toThrow('family');
    expect(() => line(pool, 'a', { ips: ['nonsense'] })).toThrow('"nonsense" is no IP address');
  });
});

describe('pool of a node subnet', () => {
  test('begins at .3', () => {
    expect(line(nodePool('blue_net', ['10.20.1.0/24', 'fd20:0:0:1::/64']), 'a')).toBe(
      '10.20.1.3/24 fd20:0:0:1::3/64 0a:58:0a:14:01:03 -',
    );
  });

  test('takes over what is written, instead of what was set aside', () => {
    const pool = nodePool('blue_net', ['10.20.1.0/24']);
    line(pool, 'a');
    const carried = {
      addresses: ['10.20.1.9/24'],
      macAddress: '02:00:00:00:00:09',
      gateways: [],
      routes: [],
    };
    expect(pool.adopt('a', carried)).toBeUndefined();
    expect(line(pool, 'b')).toMatch(/^10\.20\.1\.4\/24/);
    expect(line(pool, 'a')).toBe('10.20.1.9/24 02:00:00:00:00:09 -');
    expect(pool.adopt('c', carried)).toBe('10.20.1.9 is already allocated to a');
    pool.release('a');
    expect(pool.adopt('c', carried)).toBeUndefined();
  });
});
