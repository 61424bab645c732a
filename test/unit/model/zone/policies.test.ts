import { describe, expect, test } from 'vitest';
import { readPolicy, type Policy } from '../../../../src/model/read/policies.ts';
import {
  placedSelections,
  uniqueBy,
  type PolicyTables,
} from '../../../../src/model/zone/policies.ts';
import { multiPolicy, networkPolicy } from '../../../support/zone/policed-zone.ts';
import {
  blue,
  exampleZone,
  factsOf,
  layer2Secondary,
  more,
  networkName,
  type Zone,
} from '../../../support/zone/zones.ts';

const read = (object: Parameters<typeof readPolicy>[0]): Policy => {
  const reading = readPolicy(object);
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  return reading.value;
};
const inBlue = read(networkPolicy('blue/closed', { podSelector: {} }));
const inDefault = read(networkPolicy('default/closed', { podSelector: {} }));
const places = (tables: PolicyTables, { namespace, name, kind }: Policy): unknown =>
  tables.placements.peek(namespace, name, kind)?.networks;

describe('a NetworkPolicy', () => {
  const zone: Zone = { ...exampleZone, policies: [inBlue, inDefault] };

  test('is on the primary networks of its namespace, all of them, and on the default one only where there is none', () => {
    expect(places(factsOf(zone), inBlue)).toEqual([blue.name]);
    expect(places(factsOf(zone), inDefault)).toEqual(['default']);
    const two = { ...zone, networks: [...zone.networks, more] };
    expect(places(factsOf(two), inBlue)).toEqual([blue.name, more.name]);
  });

  test('is on the default network, too, while the namespace does not ask for a primary one', () => {
    const facts = factsOf(zone);
    const namespace = facts.namespaces.peek('blue');
    if (namespace === undefined) throw new Error('no namespace blue');
    facts.namespaces.put('blue', { ...namespace, isLabelled: false });
    facts.refresh(0);
    expect(places(facts, inBlue)).toEqual(['default', blue.name]);
  });

  test('has no rows on a network that has none here', () => {
    expect(places(factsOf(zone, {}), inBlue)).toEqual([]);
  });
});

test('a MultiNetworkPolicy is on the secondary networks of the NADs that it names, never on primary ones', () => {
  const [nad = ''] = layer2Secondary.nads;
  const policy = read(
    multiPolicy('blue/multi', `${nad}, blue/blue, blue/unknown`, { podSelector: {} }),
  );
  const facts = factsOf({
    ...exampleZone,
    networks: [...exampleZone.networks, layer2Secondary],
    policies: [policy],
  });
  expect(places(facts, policy)).toEqual([layer2Secondary.name]);
});

test('what a placement selects is selected on each of its networks; of equal selections there is one', () => {
  const [a, b] = [networkName('a'), networkName('b')];
  const selection = {
    id: 's',
    namespaceSelector: {},
    podSelector: {},
    isLegacy: false,
  };
  expect(placedSelections({ networks: [a, b], selections: [selection] })).toEqual([
    [a, 's'],
    [b, 's'],
  ]);
  expect(uniqueBy(['ab', 'ac', 'b'], ([first = '']) => first)).toEqual(['ac', 'b']);
});
