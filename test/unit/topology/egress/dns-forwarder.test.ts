import { expect, test } from 'vitest';
import { dnsForwarderRoutes } from '../../../../src/topology/egress/dns-forwarder.ts';
import { egressFirewall } from '../../../../src/topology/egress/firewall.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
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

test('pods behind an EgressFirewall ask it; with a wildcard nothing leaves networks where it is not', () => {
  const zone = forwardingZone();
  const facts = forwardingFacts(true, {
    ...zone,
    firewalls: [
      firewallWithNames('default', '*.example.org'),
      firewallWithNames('blue', '*.example.org'),
    ],
  });
  const units = builtUnits(facts, [egressFirewall]);
  const texts = units.map(({ unit, rows, problems }) => ({
    unit,
    acls: rows.map(
      ({ columns }) => `${Number(columns['priority'])} ${columns['action'] as string}`,
    ),
    problems,
  }));
  expect(texts).toEqual([
    expect.objectContaining({ acls: ['10001 allow', '10000 allow'], problems: [] }),
    expect.objectContaining({
      acls: ['10000 drop', '9999 drop'],
      problems: [expect.stringContaining('rule about *.example.org') as string],
    }),
  ]);
  const dns = units.flatMap(({ rows }) => rows).find(({ key }) => key.endsWith(':dns'));
  expect(dns?.columns['match']).toContain('(ip4.dst == 169.254.0.6 || ip6.dst == fd69::6)');
});
