import { expect, test } from 'vitest';
import { chassisGroup } from '../../../../src/topology/database/chassis-group.ts';
import { exampleZone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

test('the chassis of the zone is in one group, by which every router that translates is bound to it (reference/topology.md §5)', () => {
  expect(featureTexts([chassisGroup], exampleZone)).toEqual([
    'HA_Chassis C1 chassis_name=C1 priority=1 < HA_Chassis_Group/heddle-this-chassis.ha_chassis',
    'HA_Chassis_Group heddle-this-chassis',
  ]);
});
