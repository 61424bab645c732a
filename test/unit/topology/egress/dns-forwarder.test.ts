import { expect, test } from 'vitest';
import {
  dnsForwarderRoutes,
  dnsServiceAddresses,
} from '../../../../src/topology/egress/dns-forwarder.ts';
import { egressFirewall } from '../../../../src/topology/egress/firewall.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import type { Zone } from '../../../support/zone/zones.ts';
import {
  firewallWithNames,
  forwardingFacts,
  forwardingZone,
} from '../../../support/zone/forwarded-dns.ts';

test('the forwarder has a route over the port of the host, whether it listens or not', () => {
  for (const isOpen of [false, true]) {
    const [unit] = builtUnits(forwardingFacts(isOpen), [dnsForwarderRoutes]);
    expect(unit?.rows.map(({ columns }) => [columns['ip_prefix'], columns['nexthop']])).toEqual([
      ['169.254.0.6/32', '10.244.0.2'],
      ['fd69::6/128', 'fd00:10:244::2'],
    ]);
  }
});

const zoneOf = (settings: Partial<Zone['settings']> = {}): Zone => {
  const zone = forwardingZone();
  return {
    ...zone,
    settings: { ...zone.settings, ...settings },
    firewalls: [
      firewallWithNames('default', '*.example.org'),
      firewallWithNames('blue', '*.example.org'),
    ],
  };
};

test('pods behind an EgressFirewall ask it, those of primary networks with names in rules the service itself', () => {
  const units = builtUnits(forwardingFacts(true, zoneOf()), [egressFirewall]);
  const dns = units.map(
    ({ rows }) => rows.find(({ key }) => key.endsWith(':dns'))?.columns['match'],
  );
  expect(dns[0]).toContain('(ip4.dst == 169.254.0.6 || ip6.dst == fd69::6)');
  const [service] = builtUnits(forwardingFacts(true, zoneOf()), [dnsServiceAddresses]);
  const [v4, v6] = (service?.rows ?? []).map(({ columns }) => columns);
  expect([v4?.['addresses'], v6?.['addresses']]).toEqual([['10.96.0.10'], ['fd00:10:96::a']]);
  for (const set of [v4, v6]) expect(dns[1]).toContain(`.dst == $${set?.['name'] as string} && `);
  expect(dns[1]).toContain('(udp.dst == 53 || tcp.dst == 53)');
  const cidrs = {
    ...zoneOf(),
    firewalls: [firewallWithNames('default', 'a.b'), firewallWithNames('blue')],
  };
  const withoutNames = builtUnits(forwardingFacts(true, cidrs), [egressFirewall]);
  expect(withoutNames.map(({ rows }) => rows.length)).toEqual([4, 0]);
});

test.each([{ hasVrfs: false }, { allowedDefaultServices: [] }])(
  'with a wildcard nothing leaves networks whose pods it is not asked by: $settings',
  (settings) => {
    const facts = forwardingFacts(true, zoneOf(settings));
    const units = builtUnits(facts, [egressFirewall]);
    const texts = units.map(({ unit, rows, problems }) => ({
      unit,
      acls: rows
        .filter(({ columns }) => columns['action'] !== 'pass')
        .map(({ columns }) => `${Number(columns['priority'])} ${columns['action'] as string}`),
      problems,
    }));
    expect(texts).toEqual([
      expect.objectContaining({ acls: ['10001 allow', '10000 allow'], problems: [] }),
      expect.objectContaining({
        acls: ['10000 drop', '9999 drop'],
        problems: [expect.stringContaining('rule about *.example.org') as string],
      }),
    ]);
  },
);
