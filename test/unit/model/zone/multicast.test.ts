import { expect, test } from 'vitest';
import type { MulticastTables } from '../../../../src/model/zone/multicast.ts';
import { blue, exampleZone, factsOf, type Zone } from '../../../support/zone/zones.ts';

const zone: Zone = {
  ...exampleZone,
  settings: {
    ...exampleZone.settings,
    features: { ...exampleZone.settings.features, multicast: true },
  },
  multicastNamespaces: ['blue'],
};
const networksOf = ({ multicast }: MulticastTables, name: string): unknown =>
  multicast.peek(name)?.networks;

test('pods of a namespace that asks for it send multicast on the default network and on its primary ones', () => {
  const facts = factsOf(zone);
  expect(networksOf(facts, 'blue')).toEqual(['default', blue.name]);
  expect(networksOf(facts, 'kube-system')).toBeUndefined();
});

test('a network without rows here has none of it', () => {
  expect(networksOf(factsOf(zone, {}), 'blue')).toEqual(['default']);
});
