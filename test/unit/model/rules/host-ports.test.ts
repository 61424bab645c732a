import { describe, expect, test } from 'vitest';
import type { HostPortRequest } from '../../../../src/model/read/host-ports.ts';
import {
  admitHostPorts,
  hadPortBefore,
  hostPortAddress,
  hostPortClaim,
  overlaps,
  type HostPortOwners,
} from '../../../../src/model/rules/host-ports.ts';

const OWN = ['172.18.0.3', '192.0.2.3', 'fd00::3'];
const NOBODY: HostPortOwners = {
  addresses: OWN,
  most: 1024,
  nodePort: () => undefined,
  external: () => undefined,
  olderPod: () => undefined,
};
const port = (hostPort: number, more: Partial<HostPortRequest> = {}): HostPortRequest => ({
  protocol: 'TCP',
  hostPort,
  containerPort: 80,
  ...more,
});
const admit = (ports: readonly HostPortRequest[], owners: Partial<HostPortOwners> = {}) =>
  admitHostPorts({ namespace: 'blue', name: 'web', created: '', ports }, { ...NOBODY, ...owners });

describe('a port of the node', () => {
  test.each([
    [undefined, OWN],
    ['0.0.0.0', ['172.18.0.3', '192.0.2.3']],
    ['::', ['fd00::3']],
    ['192.0.2.3', ['192.0.2.3']],
  ])('with hostIP %s is at %j', (hostIp, addresses) => {
    const found = admit([port(8080, hostIp === undefined ? {} : { hostIp })]);
    expect(found).toEqual({
      ports: [{ protocol: 'TCP', port: 8080, containerPort: 80, addresses, loopback: [] }],
    });
  });

  test.each(['127.0.0.1', '::1'])('at %s is for processes of the host', (hostIp) => {
    expect(admit([port(8080, { hostIp })]).ports).toEqual([
      { protocol: 'TCP', port: 8080, containerPort: 80, addresses: [], loopback: [hostIp] },
    ]);
  });
});

describe('is refused, with who has it,', () => {
  const refused = (
    ports: readonly HostPortRequest[],
    owners: Partial<HostPortOwners> = {},
  ): string => admit(ports, owners).refused ?? 'nothing';

  test('a node port of a service', () => {
    const owners = {
      nodePort: (protocol: string, number: number): string | undefined =>
        protocol === 'TCP' && number === 30_080 ? 'red/web' : undefined,
    };
    expect(refused([port(30_080)], owners)).toMatch(
      /^spec\.containers: hostPort 30080\/TCP is the node port of service red\/web: .*; give it another port/,
    );
    expect(refused([port(30_080, { protocol: 'UDP' })], owners)).toBe('nothing');
  });

  test('a port of an older pod', () => {
    expect(refused([port(80)], { olderPod: () => 'red/web' })).toContain(
      'hostPort 80/TCP is that of the older pod red/web of this node',
    );
  });

  test('an external address and port of a service, there alone', () => {
    const found = admit([port(80)], {
      external: (address) => (address === '192.0.2.3' ? 'red/web' : undefined),
    });
    expect(found.ports[0]?.addresses).toEqual(['172.18.0.3', 'fd00::3']);
    expect(found.refused).toContain(
      'hostPort 80/TCP is at 192.0.2.3 an external address and port of service red/web',
    );
  });

  test('an address that is not of the node, the port of tunnels, and what is asked for twice', () => {
    expect(refused([port(80, { hostIp: '8.8.8.8' })])).toContain(
      'hostPort 80/TCP at 8.8.8.8 asks for an address that this node does not have',
    );
    expect(refused([port(6081, { protocol: 'UDP' })])).toContain('port of tunnels');
    expect(refused([port(6081)])).toBe('nothing');
    expect(refused([port(80), port(80, { containerPort: 81 })])).toContain('asked for twice');
  });

  test('what is more than one pod may have; a few are told', () => {
    const many = Array.from({ length: 20 }, (_, n) => port(1000 + n));
    const { ports, refused: told } = admit(many, { most: 30 });
    expect(ports).toHaveLength(10);
    expect(told).toContain('more than one pod may have: 30 addresses with ports');
    expect(told).toContain('and 5 more for reasons like these');
  });
});

test('two ports overlap if they are one at some address', () => {
  const tcp = port(80);
  expect(overlaps(tcp, port(80, { hostIp: '192.0.2.3' }))).toBe(true);
  expect(overlaps(tcp, port(81))).toBe(false);
  expect(overlaps(tcp, port(80, { protocol: 'UDP' }))).toBe(false);
  const at = (hostIp: string): HostPortRequest => port(80, { hostIp });
  expect(overlaps(at('192.0.2.3'), at('192.0.2.3'))).toBe(true);
  expect(overlaps(at('192.0.2.3'), at('127.0.0.1'))).toBe(false);
  expect(overlaps(at('0.0.0.0'), at('127.0.0.1'))).toBe(true);
  expect(overlaps(at('0.0.0.0'), at('::'))).toBe(false);
  expect(hostPortClaim(at('::'))).toBe('TCP 80');
});

test('of two pods the older one came before, then the one of the first name', () => {
  const pod = (namespace: string, name: string, created: string) => ({
    namespace,
    name,
    created,
    ports: [],
  });
  const old = pod('z', 'z', '2026-01-01T00:00:00Z');
  const young = pod('a', 'a', '2026-01-02T00:00:00Z');
  expect([hadPortBefore(old, young), hadPortBefore(young, old)]).toEqual([true, false]);
  expect(hadPortBefore(pod('a', 'b', ''), pod('a', 'c', ''))).toBe(true);
  expect(hadPortBefore(pod('b', 'a', ''), pod('a', 'c', ''))).toBe(false);
});

test('gateway routers have them at the first address of the service subnet', () => {
  const settings = { serviceSubnets: ['10.96.0.0/16', 'fd00:10:96::/112'] };
  expect(hostPortAddress(settings, 'v4')).toBe('10.96.0.0');
  expect(hostPortAddress(settings, 'v6')).toBe('fd00:10:96::');
  expect(hostPortAddress({ serviceSubnets: ['10.96.0.0/16'] }, 'v6')).toBeUndefined();
});
