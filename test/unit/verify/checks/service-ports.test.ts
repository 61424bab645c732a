import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  endOf,
  headersOf,
  isEndpoint,
  strangePorts,
} from '../../../../src/verify/checks/service-ports.ts';
import type { VerifiedService } from '../../../../src/verify/intent/services.ts';
import type { Row } from '../../../../src/verify/rows.ts';

const SERVICE: VerifiedService = {
  key: 'blue/web',
  networks: new Set(['blue_net']),
  clusterAddresses: ['172.16.1.5', 'fd02::5'],
  externalAddresses: ['192.0.2.9'],
  poolAddresses: [],
  nodePorts: new Set([30_080]),
  ports: new Set([80, 53]),
  opens: new Set(['tcp 80', 'udp 53']),
  opensAtNodes: new Set(['tcp 30080']),
};
const balancer = (protocol: unknown, ...vips: readonly string[]): Row => ({
  protocol,
  vips: ['map', vips.map((vip) => [vip, ''])],
});

test.each([
  ['172.16.1.5:80', { address: '172.16.1.5', port: 80 }],
  ['172.16.1.5', { address: '172.16.1.5' }],
  ['[fd02::5]:80', { address: 'fd02::5', port: 80 }],
  ['fd02::5', { address: 'fd02::5' }],
  ['^NODEIP_IPv4_0:30080', { address: '^NODEIP_IPv4_0', port: 30_080 }],
])('%s is read as an address and a port', (written, end) => {
  expect(endOf(written)).toEqual(end);
});

test('whatever is written, reading it throws nothing', () => {
  fc.assert(
    fc.property(fc.string(), (written) => {
      expect(typeof endOf(written).address).toBe('string');
    }),
  );
});

describe('a load balancer answers', () => {
  test('at ports of its service, and at nodes at those that it has there', () => {
    const right = balancer(
      'tcp',
      '172.16.1.5:80',
      '[fd02::5]:80',
      '192.0.2.9:80',
      '192.0.2.9:30080',
      '172.18.0.2:30080',
      '^NODEIP_IPv4_0:30080',
      '^Service_variable',
    );
    expect(strangePorts(right, SERVICE)).toEqual([]);
    expect(strangePorts(balancer('udp', '172.16.1.5:53'), SERVICE)).toEqual([]);
    expect(strangePorts(balancer(['set', []], '172.16.1.5:80'), SERVICE)).toEqual([]);
  });

  test.each([
    ['another port', 'tcp', '172.16.1.5:22', 'tcp 22'],
    ['another protocol', 'udp', '172.16.1.5:80', 'udp 80'],
    ['every port', 'tcp', '172.16.1.5', 'every port'],
    ['the port of nodes at its own address', 'tcp', '172.16.1.5:30080', 'tcp 30080'],
    ['another port of nodes', 'tcp', '172.18.0.2:22', 'tcp 22'],
  ])('and not at %s', (_, protocol, vip, port) => {
    expect(strangePorts(balancer(protocol, vip), SERVICE)).toEqual([
      `answers for ${vip} (${port}), and Service blue/web has no such port`,
    ]);
  });
});

test('an endpoint has its ports, and one without ports has all', () => {
  const ends = new Set(['10.20.0.3 tcp 8080', 'fd01::3 tcp 8080', '10.20.0.4']);
  const row = balancer('tcp');
  expect(isEndpoint(row, '10.20.0.3:8080', ends)).toBe(true);
  expect(isEndpoint(row, '[fd01::3]:8080', ends)).toBe(true);
  expect(isEndpoint(row, '10.20.0.4:22', ends)).toBe(true);
  expect(isEndpoint(row, '10.20.0.3:22', ends)).toBe(false);
  expect(isEndpoint(balancer('udp'), '10.20.0.3:8080', ends)).toBe(false);
  expect(isEndpoint(row, '10.20.0.5:8080', ends)).toBe(false);
});

test('what it lets pass is said by address, protocol and ports', () => {
  const row = balancer('tcp', '172.16.1.5:443', '172.16.1.5:80', '[fd02::5]:80', '192.0.2.9');
  expect(headersOf(row, ['10.60.0.0/16'])).toEqual([
    { sources: ['10.60.0.0/16'], destinations: ['172.16.1.5'], protocol: 'tcp', ports: [80, 443] },
    { sources: ['10.60.0.0/16'], destinations: ['192.0.2.9'], protocol: 'tcp' },
    { sources: ['10.60.0.0/16'], destinations: ['fd02::5'], protocol: 'tcp', ports: [80] },
  ]);
});
