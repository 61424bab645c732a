import { expect, test } from 'vitest';
import type { NameTables } from '../../../../src/model/zone/network-names.ts';
import { namedFacts, namedZone } from '../../../support/zone/named-networks.ts';
import { secondaryLayer3 } from '../../../support/zone/zone-variants.ts';
import type { Zone } from '../../../support/zone/zones.ts';

test('networks are answered for whose NADs all ask for it, where the cluster does', () => {
  expect(namedFacts().namesOf()).toEqual(['blue_blue', 'red_red']);
  expect(namedFacts(namedZone, ['blue/blue']).namesOf()).toEqual(['blue_blue']);
  expect(namedFacts(namedZone, []).namesOf()).toEqual([]);
  const of = (settings: object) =>
    namedFacts({ ...namedZone, settings: { ...namedZone.settings, ...settings } }).namesOf();
  expect(of({ networkNames: false })).toEqual([]);
  expect(of({ hasVrfs: false })).toEqual([]);
  expect(of({ allowedDefaultServices: ['default/kubernetes'] })).toEqual([]);
});

test('they are forwarded by the ports of these networks, and the default network is not', () => {
  const forwarding = namedFacts().forwardedDns();
  expect(forwarding).toMatchObject({ ways: [], networks: [1, 2], named: [1, 2] });
  expect(forwarding?.serviceWays.map(({ vip, protocol }) => `${protocol} ${vip}`)).toEqual([
    'UDP 10.96.0.10:53',
    'UDP [fd00:10:96::a]:53',
    'TCP 10.96.0.10:53',
    'TCP [fd00:10:96::a]:53',
  ]);
  expect(namedFacts(namedZone, []).forwardedDns()).toBeUndefined();
});

test('rules with names do not need the option, nor does it need rules', () => {
  const off = { ...namedZone.settings, forwardsDns: false };
  expect(namedFacts({ ...namedZone, settings: off }).forwardedDns()).toMatchObject({
    ways: [],
    named: [1, 2],
  });
});

test('from a network that is not there nothing is known', () => {
  const names: NameTables = namedFacts();
  expect(names.namesFrom(77)).toBeUndefined();
});

test('the name of a service on a secondary network is told where it would be told without', () => {
  const told = (zone: Zone, network: number): unknown => {
    const names: NameTables = namedFacts(zone);
    return names.namesFrom(network)?.clusterService('blue/api')?.clusterIps;
  };
  const named = {
    ...namedZone,
    networks: [...namedZone.networks, { ...secondaryLayer3, secondaryGateway: '{}' }],
    askedNetworks: { 'blue/api': 'sec' },
  };
  for (const network of [1, 2]) expect(told(named, network)).toEqual(told(namedZone, network));
  expect(told(named, 1)).not.toEqual([]);
  expect(told({ ...named, askedNetworks: { 'blue/api': 'gone' } }, 1)).toEqual([]);
});

test('who asks for it in vain is told so, and what to do', () => {
  const problems = (
    labels: Readonly<Record<string, string>>,
    zone = namedZone,
  ): readonly string[] => {
    const facts = namedFacts(zone, []);
    for (const [nad, value] of Object.entries(labels)) {
      const definition = facts.definitions.peek(nad) ?? expect.unreachable(nad);
      facts.definitions.put(nad, { ...definition, labels: { 'k8s.ovn.org/network-names': value } });
    }
    facts.refresh(0);
    return [...facts.nameProblems()].map(({ object, message }) => `${object}: ${message}`);
  };
  expect(problems({ 'blue/blue': 'true', 'red/red': 'false' })).toEqual([]);
  expect(problems({ 'blue/blue': 'yes' })).toEqual([
    'NetworkAttachmentDefinition blue/blue: label k8s.ovn.org/network-names: "yes" is neither "true" nor "false"; names of the network are what the cluster\'s DNS says',
  ]);
  const off = { ...namedZone, settings: { ...namedZone.settings, networkNames: false } };
  expect(problems({ 'blue/blue': 'true' }, off)[0]).toContain('--network-names false');
  const secondary = namedZone.networks.map((one) =>
    one.name === 'red_red' ? { ...one, role: 'secondary' as const } : one,
  );
  expect(problems({ 'red/red': 'true' }, { ...namedZone, networks: secondary })[0]).toContain(
    'on primary networks alone; remove the label',
  );
  const shared = namedZone.networks.map((one) =>
    one.name === 'red_red' ? { ...one, nads: ['red/red', 'violet/red'] } : one,
  );
  expect(problems({ 'red/red': 'true' }, { ...namedZone, networks: shared })[0]).toContain(
    'NetworkAttachmentDefinition violet/red of the same network does not have it',
  );
});
