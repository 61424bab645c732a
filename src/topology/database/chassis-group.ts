/** Where a zone's routers translate addresses: on its one chassis (reference/topology.md §5). */

import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import { RowReference, SETTINGS, type TableClaim } from '../../desired/rows.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { claimByName, textOf } from '../rows/found.ts';
import { holds, NORTHBOUND, Rows } from '../rows/unit-rows.ts';

/** The group of this zone's chassis, and nothing else. */
const THIS_CHASSIS = 'heddle-this-chassis';

/**
 * What makes a router port a distributed gateway port, at which OVN translates addresses. One group for the whole zone: of a Gateway_Chassis of each port
 * ovn-northd makes a Southbound group each, and works out everything anew when it reads that back.
 */
export const ON_THIS_CHASSIS = {
  ha_chassis_group: new RowReference('HA_Chassis_Group', THIS_CHASSIS),
} as const;

const CHASSIS_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'HA_Chassis',
  container: { table: 'HA_Chassis_Group', column: 'ha_chassis' },
  keyOf: (row, group) => (group?.key === THIS_CHASSIS ? textOf(row, 'chassis_name') : undefined),
};

export const chassisGroup: Feature<ZoneFacts> = {
  name: 'database/chassis-group',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'chassis-group': {
      text: 'Routers that translate addresses do so on the chassis of the zone, by one group for all of them.',
      source: 'reference/topology.md §5',
    },
  },
  claims: [claimByName(NORTHBOUND, 'HA_Chassis_Group'), CHASSIS_CLAIM],
  build(facts, _args, out) {
    const rows = Rows.northbound(out, SETTINGS).by('chassis-group');
    const chassis = facts.own('chassisId');
    rows.named('HA_Chassis_Group', THIS_CHASSIS, {});
    rows.keyed(
      'HA_Chassis',
      chassis,
      { chassis_name: chassis, priority: 1 },
      holds('HA_Chassis_Group', THIS_CHASSIS, 'ha_chassis'),
    );
  },
};
