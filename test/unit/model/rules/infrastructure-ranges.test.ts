import { expect, test } from 'vitest';
import { infrastructureRanges } from '../../../../src/model/rules/infrastructure-ranges.ts';
import { dualZone } from '../../../support/zone/zones.ts';

test('are what pods, services, routers and masqueraded hosts have, of both families', () => {
  const { settings } = dualZone;
  const { clusterSubnets, serviceSubnets, joinSubnets, udnJoinSubnets } = settings;
  const { transitSubnets, masqueradeSubnets } = settings;
  const ranges = infrastructureRanges(settings);
  for (const { cidr } of clusterSubnets) expect(ranges).toContain(cidr);
  for (const cidr of serviceSubnets) expect(ranges).toContain(cidr);
  for (const pair of [joinSubnets, udnJoinSubnets, transitSubnets, masqueradeSubnets])
    expect(ranges).toEqual(expect.arrayContaining([pair.v4, pair.v6]));
});
