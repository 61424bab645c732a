import { expect, test } from 'vitest';
import { familiesOf } from '../../../../src/topology/policy/placed.ts';
import { withNetwork } from '../../../support/zone/zone-variants.ts';
import { dualYellow, dualZone, factsOf, localnet, yellow } from '../../../support/zone/zones.ts';

test('families of a network are those of its subnets, and none where it gives no addresses', () => {
  expect(familiesOf(factsOf(withNetwork(yellow)), yellow.name)).toEqual(['v4']);
  expect(familiesOf(factsOf(withNetwork(dualYellow, dualZone)), yellow.name)).toEqual(['v4', 'v6']);
  expect(familiesOf(factsOf(withNetwork({ ...localnet, subnets: [] })), localnet.name)).toEqual([]);
  expect(familiesOf(factsOf(withNetwork(yellow)), 'unknown')).toEqual([]);
});
