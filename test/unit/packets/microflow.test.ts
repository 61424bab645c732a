/** The packet that ovn-trace is asked about, and the interface by which a pod sends it. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PodNetwork } from '../../../src/api/annotations/pod-annotations.ts';
import {
  bridgeFlow,
  microflow,
  MicroflowError,
  sendingInterface,
  type Packet,
} from '../../../src/packets/microflow.ts';

const packet: Packet = {
  inport: 'blue.net_blue_web',
  fromMac: '0a:58:0a:14:00:05',
  toMac: '0A:58:0A:14:00:01',
  from: '10.20.0.5',
  to: '172.16.1.80',
  protocol: 'tcp',
  fromPort: 32_768,
  toPort: 80,
};

describe('the expression', () => {
  test('of a connection that begins', () => {
    expect(microflow(packet)).toBe(
      'inport == "blue.net_blue_web" && eth.src == 0a:58:0a:14:00:05 && eth.dst == 0a:58:0a:14:00:01 && ip4.src == 10.20.0.5 && ip4.dst == 172.16.1.80 && ip.ttl == 64 && tcp.src == 32768 && tcp.dst == 80',
    );
  });

  test('of an echo, and of the answer to one', () => {
    const echo: Packet = { ...packet, from: 'fd00::5', to: 'fd00::6', protocol: 'icmp' };
    expect(microflow(echo)).toContain('icmp6.type == 128 && icmp6.code == 0');
    expect(microflow({ ...packet, protocol: 'icmp', isAnswer: true })).toContain(
      'icmp4.type == 0 && icmp4.code == 0',
    );
  });

  test.each<readonly [string, Partial<Packet>]>([
    ['a port with a quote', { inport: 'a" || 1 == 1 || inport == "b' }],
    ['a MAC address that is none', { fromMac: '1 || ip4' }],
    ['an address that is none', { to: '10.0.0.1 || 1' }],
    ['addresses of two families', { to: 'fd00::1' }],
    ['a port that is none', { toPort: 70_000 }],
    ['no port', { fromPort: Number.NaN }],
  ])('refuses %s', (_what, change) => {
    expect(() => microflow({ ...packet, ...change })).toThrow(MicroflowError);
  });

  test('as a flow of a bridge it has the same fields', () => {
    expect(bridgeFlow(packet, 7)).toBe(
      'tcp,in_port=7,dl_src=0a:58:0a:14:00:05,dl_dst=0a:58:0a:14:00:01,nw_src=10.20.0.5,nw_dst=172.16.1.80,nw_ttl=64,tcp_src=32768,tcp_dst=80',
    );
    const echo: Packet = { ...packet, from: 'fd00::5', to: 'fd00::6', protocol: 'icmp' };
    expect(bridgeFlow({ ...echo, isAnswer: true }, 7)).toBe(
      'icmp6,in_port=7,dl_src=0a:58:0a:14:00:05,dl_dst=0a:58:0a:14:00:01,ipv6_src=fd00::5,ipv6_dst=fd00::6,nw_ttl=64,icmpv6_type=129,icmpv6_code=0',
    );
    expect(bridgeFlow({ ...echo, protocol: 'sctp' }, 7)).toMatch(
      /^sctp6,.*,sctp_src=32768,sctp_dst=80$/,
    );
  });

  test.each<readonly [string, Partial<Packet>, number]>([
    ['a MAC address that is none', { fromMac: '1,actions=drop' }, 7],
    ['an address that is none', { to: '10.0.0.1,nw_tos=1' }, 7],
    ['a number of a port that is none', {}, -1],
    ['a port that is none', { toPort: 70_000 }, 7],
  ])('as a flow of a bridge it refuses %s', (_what, change, port) => {
    expect(() => bridgeFlow({ ...packet, ...change }, port)).toThrow(MicroflowError);
  });

  test('whatever is put in, nothing but its own comparisons comes out', () => {
    const text = fc.string({ maxLength: 30 });
    fc.assert(
      fc.property(text, text, text, text, (inport, toMac, from, to) => {
        try {
          const parts = microflow({ ...packet, inport, toMac, from, to }).split(' && ');
          expect(parts).toHaveLength(8);
        } catch (error) {
          expect(error).toBeInstanceOf(MicroflowError);
        }
      }),
    );
  });
});

const network = (rest: Partial<PodNetwork>): PodNetwork => ({
  addresses: [],
  macAddress: '0a:58:0a:14:00:05',
  gateways: [],
  routes: [],
  ...rest,
});
const networks = new Map([
  [
    'default',
    network({
      addresses: ['10.244.1.5/24'],
      routes: [{ dest: '10.96.0.0/16', nextHop: '10.244.1.1' }],
      role: 'infrastructure-locked',
    }),
  ],
  [
    'blue/net',
    network({
      addresses: ['10.20.0.5/24', 'fd20::5/64'],
      gateways: ['10.20.0.1', 'fd20::1'],
      role: 'primary',
    }),
  ],
  ['blue/storage', network({ addresses: ['10.20.0.7/25'], role: 'secondary' })],
]);

describe('the interface', () => {
  test.each([
    ['10.244.1.9', 'default', '10.244.1.9'],
    ['10.96.0.10', 'default', '10.244.1.1'],
    ['10.20.0.200', 'blue/net', '10.20.0.200'],
    ['10.20.0.9', 'blue/storage', '10.20.0.9'],
    ['8.8.8.8', 'blue/net', '10.20.0.1'],
    ['2001:db8::1', 'blue/net', 'fd20::1'],
  ])('to %s is that of %s, by %s', (address, nadKey, nextHop) => {
    expect(sendingInterface(networks, address)).toMatchObject({ nadKey, nextHop });
  });

  test('of what has an address of a secondary network with a gateway is that network, wherever it goes', () => {
    const out = network({
      addresses: ['10.74.0.5/24'],
      role: 'secondary',
      routes: [{ dest: '10.74.0.0/16', nextHop: '10.74.0.1' }],
      serviceRoutes: [{ dest: '100.65.0.0/16', nextHop: '10.74.0.1' }],
    });
    const all = new Map([...networks, ['blue/out', out] as const]);
    const by = { nadKey: 'blue/out', from: '10.74.0.5' };
    for (const [to, nextHop] of [
      ['172.16.1.90', '10.74.0.1'],
      ['10.74.0.9', '10.74.0.9'],
    ] as const)
      expect(sendingInterface(all, to, '10.74.0.5')).toMatchObject({ ...by, nextHop });
    expect(sendingInterface(all, '172.16.1.90')?.nadKey).not.toBe('blue/out');
  });

  test('is none where no route leads', () => {
    const only = new Map([['blue/storage', network({ addresses: ['10.20.0.7/25'] })]]);
    expect(sendingInterface(only, '8.8.8.8')).toBeUndefined();
    expect(sendingInterface(only, 'no address')).toBeUndefined();
  });
});
