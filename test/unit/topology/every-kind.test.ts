import { expect, test } from 'vitest';
import { zoneFeatures } from '../../../src/topology/features.ts';
import { everyKind } from '../../support/zone/all-kinds.ts';
import { builtUnits } from '../../support/zone/built-rows.ts';
import { dualZone, factsOf, inLocalMode } from '../../support/zone/zones.ts';

/** What northd and ovn-controller are asked about (test/integration/topology/every-kind.test.ts) has to be everything. */
test('no feature is without rows in the zone of every kind', () => {
  const zone = everyKind(dualZone);
  const units = [zone, inLocalMode(zone)].flatMap((one) => builtUnits(factsOf(one)));
  const idle = zoneFeatures.filter(
    ({ name }) => !units.some(({ unit, rows }) => unit.split(' ')[0] === name && rows.length > 0),
  );
  expect(idle.map(({ name }) => name)).toEqual([]);
  expect(units.filter(({ failure }) => failure !== undefined)).toEqual([]);
});
