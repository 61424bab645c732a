import { expect, test } from 'vitest';
import type { DefaultAccessTables } from '../../../../src/model/zone/default-access.ts';
import type { ZoneFacts } from '../../../../src/model/zone/zone.ts';
import { withDefaultAccess } from '../../../support/zone/default-access.ts';
import { red } from '../../../support/zone/named-networks.ts';
import { exampleZone, factsOf, type Zone } from '../../../support/zone/zones.ts';

const LABEL = 'k8s.ovn.org/default-network-access';
const tenants: Zone = {
  ...exampleZone,
  networks: [...exampleZone.networks, red],
  namespaces: [...exampleZone.namespaces, 'red'],
};
const used = (facts: ZoneFacts): string[] =>
  [...facts.rendered.entries()].map(([name]) => name).toSorted();
const label = (facts: ZoneFacts, nad: string, value: string): void => {
  const definition = facts.definitions.peek(nad) ?? expect.unreachable(nad);
  facts.definitions.put(nad, { ...definition, labels: { [LABEL]: value } });
  facts.refresh(0);
};

test('a network that lets the default network in is in use where a pod of a named namespace is', () => {
  const zone = withDefaultAccess(tenants, ['blue_blue']);
  const facts = factsOf(zone, {});
  expect(used(facts)).toEqual(['blue_blue', 'default']);
  expect(used(factsOf({ ...zone, attachments: [] }, {}))).toEqual(['default']);
  label(facts, 'red/red', 'true');
  expect(used(facts)).toEqual(['blue_blue', 'default', 'red_red']);
});

test('a network lets it in when all of its NADs do, and no longer when one does not', () => {
  const shared = tenants.networks.map((one) =>
    one.name === 'red_red' ? { ...one, nads: ['red/red', 'violet/red'] } : one,
  );
  const facts = factsOf(withDefaultAccess({ ...tenants, networks: shared }, []));
  const open = (): string[] => [...facts.accessNetworks.keys()].map(([name]) => name);
  label(facts, 'red/red', 'true');
  expect(open()).toEqual([]);
  label(facts, 'violet/red', 'true');
  expect(open()).toEqual(['red_red']);
  label(facts, 'violet/red', 'True');
  expect(open()).toEqual([]);
});

test('who asks in vain is told so, and what to do', () => {
  const problems = (zone: Zone, labels: Readonly<Record<string, string>>): readonly string[] => {
    const facts = factsOf(zone);
    for (const [nad, value] of Object.entries(labels)) label(facts, nad, value);
    const tables: DefaultAccessTables = facts;
    return [...tables.accessProblems()].map(({ object, message }) => `${object}: ${message}`);
  };
  const zone = withDefaultAccess(tenants, []);
  expect(problems(zone, { 'blue/blue': 'true', 'red/red': 'false' })).toEqual([]);
  expect(problems(zone, { 'blue/blue': 'yes' })).toEqual([
    `NetworkAttachmentDefinition blue/blue: label ${LABEL}: "yes" is neither "true" nor "false"; the default network reaches no service of the network`,
  ]);
  expect(problems(tenants, { 'blue/blue': 'true' })[0]).toContain('(--default-network-access)');
  const named = { ...zone, settings: { ...zone.settings, defaultAccess: ['blue'] } };
  expect(problems(named, {})).toEqual([
    'Namespace blue: --default-network-access names it, and its pods have a primary network of their own: they reach no services of others by the default network; take it out of the setting',
  ]);
});
