import { expect, test } from 'vitest';
import { DEFAULT_NETWORK } from '../../../../src/model/read/networks.ts';
import type { DnsForwarding } from '../../../../src/model/zone/dns-forwarding.ts';
import {
  firewallWithNames,
  forwardingFacts,
  forwardingZone,
} from '../../../support/zone/forwarded-dns.ts';
import { clusterDns, service, slice, withServices } from '../../../support/zone/services.ts';
import { dualZone } from '../../../support/zone/zones.ts';

test('each address and protocol of the service is a way in, with its endpoints of that family', () => {
  const forwarding: DnsForwarding | undefined = forwardingFacts(false).forwardedDns();
  expect(forwarding?.isInside).toBe(true);
  expect(forwarding?.isOpen).toBe(false);
  expect(
    forwarding?.ways.map(({ protocol, vip, address, port, endpoints }) => [
      `${protocol} ${vip} → ${address} ${port}`,
      endpoints.map((one) => one.address),
    ]),
  ).toEqual([
    ['UDP 10.96.0.10:53 → 169.254.0.6 53', ['10.244.0.8', '10.244.1.8']],
    ['UDP [fd00:10:96::a]:53 → fd69::6 53', ['fd00:10:244:1::8']],
    ['TCP 10.96.0.10:53 → 169.254.0.6 53', ['10.244.0.8', '10.244.1.8']],
    ['TCP [fd00:10:96::a]:53 → fd69::6 53', ['fd00:10:244:1::8']],
  ]);
});

test('of primary networks those on which rules have names', () => {
  const zone = forwardingZone();
  const of = (...firewalls: NonNullable<typeof zone.firewalls>) =>
    forwardingFacts(true, { ...zone, firewalls }).forwardedDns()?.networks;
  const ofDefault = firewallWithNames('default', 'www.example.org');
  expect(of(ofDefault)).toEqual([]);
  expect(of(ofDefault, firewallWithNames('blue'))).toEqual([]);
  expect(of(firewallWithNames('blue', '*.example.org'))).toEqual([1]);
});

test('nothing is forwarded where no rule has a name, where it is off, and without endpoints', () => {
  const zone = forwardingZone();
  const of = (one: typeof zone) => forwardingFacts(true, one).forwardedDns();
  expect(of({ ...zone, firewalls: [] })).toBe(undefined);
  expect(of({ ...zone, settings: { ...zone.settings, forwardsDns: false } })).toBe(undefined);
  const [dns] = clusterDns;
  if (dns === undefined) return expect.unreachable();
  expect(of({ ...zone, ...withServices(dualZone, dns), firewalls: zone.firewalls ?? [] })).toBe(
    undefined,
  );
});

test('endpoints that are hosts are not inside, and their port is that of the forwarder', () => {
  const zone = {
    ...withServices(
      dualZone,
      service('kube-system/kube-dns', {
        clusterIPs: ['10.96.0.10'],
        ports: [{ name: 'dns', port: 53, protocol: 'UDP' }],
      }),
      slice('kube-system/kube-dns', ['172.18.0.4 on ovn-worker2'], {
        ports: [{ name: 'dns', port: 5353, protocol: 'UDP' }],
      }),
    ),
    firewalls: forwardingZone().firewalls ?? [],
  };
  expect(forwardingFacts(true, zone).forwardedDns()).toMatchObject({
    isInside: false,
    isOpen: true,
    ways: [{ port: 5353, endpoints: [{ address: '172.18.0.4', port: 5353 }] }],
  });
});

test('who means an endpoint means the forwarder, by its address or by a block; on the default network alone', () => {
  const facts = forwardingFacts(false);
  expect(facts.dnsForwarderFor('10.244.1.8')).toEqual(['169.254.0.6']);
  expect(facts.dnsForwarderFor('10.244.1.9')).toEqual([]);
  const inside = (cidr: string, ...except: string[]) =>
    facts.dnsForwardersIn(DEFAULT_NETWORK, [{ cidr, except }]);
  expect(inside('10.244.0.0/16')).toEqual(['169.254.0.6']);
  expect(inside('10.244.0.0/16', '10.244.0.8/32', '10.244.1.0/24')).toEqual([]);
  expect(inside('::/0')).toEqual(['fd69::6']);
  expect(inside('198.51.100.0/24')).toEqual([]);
  expect(facts.dnsForwardersIn('blue_blue', [{ cidr: '0.0.0.0/0', except: [] }])).toEqual([]);
});
