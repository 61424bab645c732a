import { describe, expect, test } from 'vitest';
import { layer3Network } from '../../../../src/topology/networks/layer3.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import {
  secondaryLayer3,
  withNetwork,
  withoutSubnets,
} from '../../../support/zone/zone-variants.ts';
import { rowTexts } from '../../../support/zone/row-text.ts';
import {
  blue,
  exampleZone,
  factsOf,
  type Zone,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';

const unitsOf = (zone: Zone) => builtUnits(factsOf(zone), [layer3Network]);
const tables = (zone: Zone, unit: string): readonly string[] =>
  [
    ...new Set(
      unitsOf(zone)
        .find((one) => one.unit === `${layer3Network.name} ${unit}`)
        ?.rows.map(({ table }) => table),
    ),
  ].toSorted();

describe('a Layer3 network in the zone of a node (reference/topology.md §7)', () => {
  test('is one unit, so that its switch is never there without what keeps its pods apart', () => {
    expect(unitsOf(exampleZone).map(({ unit }) => unit)).toEqual([
      'layer3/network default',
      'layer3/network blue_blue',
    ]);
    expect(tables(exampleZone, 'blue_blue')).toContain('ACL');
  });

  test('says which subnet it waits for, and has its router all the same', () => {
    expect(unitsOf(withoutSubnets).map(({ waitsFor }) => waitsFor)).toEqual([
      ['a subnet of network default on node ovn-worker'],
      ['a subnet of network blue_blue on node ovn-worker'],
    ]);
    expect(tables(withoutSubnets, 'blue_blue')).toContain('Logical_Router');
    expect(tables(withoutSubnets, 'blue_blue')).not.toContain('NAT');
  });

  test('that is secondary leads out of no node', () => {
    expect(tables(withNetwork(secondaryLayer3), 'blue_sec')).not.toContain('NAT');
  });

  test('that is secondary and has been given a gateway has what leads out of a primary one', () => {
    const rowsIn = (network: ZoneNetwork): readonly string[] =>
      rowTexts(
        unitsOf(withNetwork(network)).find(({ unit }) => unit.endsWith(' blue_blue'))?.rows ?? [],
      ).map((text) => text.replaceAll('role=secondary', 'role=primary'));
    const given = rowsIn({ ...blue, role: 'secondary', secondaryGateway: '{}' });
    const primary = rowsIn(blue);
    expect(given.filter((row) => !primary.includes(row))).toEqual([]);
    // What is of services that pods of a secondary network have by their primary one.
    expect(primary.filter((row) => !given.includes(row))).toEqual([
      expect.stringMatching(/^Logical_Router_Static_Route .*udn-enabled-default-service/),
      expect.stringMatching(/^Logical_Router_Static_Route .*udn-enabled-default-service/),
    ]);
  });
});
