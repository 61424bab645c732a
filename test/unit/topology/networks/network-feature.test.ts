import { describe, expect, test } from 'vitest';
import type { NetworkOnNode } from '../../../../src/topology/parts/network-on-node.ts';
import type { NetworkPart } from '../../../../src/topology/parts/part.ts';
import {
  networkFeature,
  networkObjects,
  networkRank,
} from '../../../../src/topology/networks/network-feature.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { blue, exampleZone, factsOf } from '../../../support/zone/zones.ts';

const part = (name: string): NetworkPart => ({
  rules: { [name]: { text: 'A rule.', source: 'reference/topology.md §7' } },
  claims: [],
  build(rows, on) {
    rows.by(name).named('Logical_Switch', `${on.network.name}-${name}`, {});
  },
});
const feature = networkFeature(
  'layer3',
  [part('first'), part('second')],
  (_facts, network) => ({ network }) as unknown as NetworkOnNode,
);

describe('the feature of a topology', () => {
  test('has a unit for each network of the topology, with the rows of all parts for its object', () => {
    const units = builtUnits(factsOf(exampleZone), [feature]);
    expect(units.map(({ unit }) => unit)).toEqual([
      'layer3/network default',
      'layer3/network blue_blue',
    ]);
    expect(units[1]?.rows.map(({ key, rule, object }) => [key, rule, object])).toEqual([
      ['blue_blue-first', 'first', 'UserDefinedNetwork blue/blue'],
      ['blue_blue-second', 'second', 'UserDefinedNetwork blue/blue'],
    ]);
  });

  test('has the rules of its parts', () => {
    expect(Object.keys(feature.rules)).toEqual(['first', 'second']);
  });
});

test('of two networks that want one name the one of the lower id has it', () => {
  expect(networkRank(factsOf(exampleZone), [blue.name])).toBe(1);
  expect(networkRank(factsOf(exampleZone), ['default'])).toBe(0);
});

test('rows of a network that is not known are marked with nobody', () => {
  expect(networkObjects(factsOf(exampleZone), [blue.name])).toEqual([
    'UserDefinedNetwork blue/blue',
  ]);
  expect(networkObjects(factsOf(exampleZone), ['unknown'])).toBeUndefined();
});
