import { expect, test } from 'vitest';
import { CLOSED } from '../../../../src/model/read/egress-firewalls.ts';
import type { FirewallTables } from '../../../../src/model/zone/egress-firewalls.ts';
import { Unreadable } from '../../../../src/facts/unreadable.ts';
import { secondaryLayer3, secondaryPod } from '../../../support/zone/zone-variants.ts';
import { blue, bluePod, exampleZone, factsOf, type Zone } from '../../../support/zone/zones.ts';

const firewalls = (...namespaces: string[]): NonNullable<Zone['firewalls']> =>
  namespaces.map((namespace) => ({ namespace, name: 'default', rules: CLOSED }));
const networksOf = ({ firewallPlacements }: FirewallTables, namespace: string): unknown =>
  firewallPlacements.peek(namespace, 'default')?.networks;

test('a firewall is in force on the networks that its pods leave by', () => {
  const facts = factsOf({ ...exampleZone, firewalls: firewalls('blue', 'default') });
  expect(networksOf(facts, 'blue')).toEqual([blue.name]);
  expect(networksOf(facts, 'default')).toEqual(['default']);
});

test('also on a secondary network with a gateway, by whosever NAD its pods are there', () => {
  const zone: Zone = {
    ...exampleZone,
    networks: [...exampleZone.networks, { ...secondaryLayer3, secondaryGateway: '{}' }],
    attachments: [bluePod, secondaryPod],
    firewalls: firewalls('blue', 'default'),
  };
  expect(networksOf(factsOf(zone), 'blue')).toEqual([blue.name, secondaryLayer3.name]);
  // None of its pods is there.
  expect(networksOf(factsOf(zone), 'default')).toEqual(['default']);
});

test('not on one without rows here, nor where EgressFirewalls are off', () => {
  const zone = { ...exampleZone, firewalls: firewalls('blue') };
  expect(networksOf(factsOf(zone, {}), 'blue')).toEqual([]);
  const { settings } = exampleZone;
  const features = { ...settings.features, egressFirewall: false };
  expect(networksOf(factsOf({ ...zone, settings: { ...settings, features } }), 'blue')).toBe(
    undefined,
  );
});

test('its pods on a node are counted in powers of two', () => {
  const counted = (pods: number): unknown => {
    const attachments = Array.from({ length: pods }, (_, index) => ({
      ...bluePod,
      pod: `p${index}`,
      macAddress: `0a:58:67:67:00:1${index}`,
      addresses: [`103.103.0.${index + 10}/24`],
    }));
    const facts = factsOf({ ...exampleZone, attachments, firewalls: firewalls('blue', 'default') });
    expect(facts.firewallPlacements.peek('default', 'default')?.mostPods).toBe(0);
    return facts.firewallPlacements.peek('blue', 'default')?.mostPods;
  };
  expect([0, 1, 2, 3, 4, 5].map(counted)).toEqual([0, 1, 2, 4, 4, 8]);
});

test('while it can not be worked out where it is in force no port of its pods is made', () => {
  const facts = factsOf({ ...exampleZone, attachments: [bluePod], firewalls: firewalls('blue') });
  expect(() => facts.policedPorts.get('blue', 'pod1', 'blue/blue')).not.toThrow();
  facts.namespaceNetworks.get = () => {
    throw new Error('broken');
  };
  const placed = facts.firewalls.peek('blue', 'default');
  if (placed === undefined) throw new Error('no firewall');
  facts.firewalls.put(['blue', 'default'], { ...placed, rules: [] });
  facts.refresh(0);
  expect(() => facts.policedPorts.get('blue', 'pod1', 'blue/blue')).toThrow(Unreadable);
});
