/** What a zone's database says of the zone (reference/topology.md §5). */

import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import { SETTINGS, type TableClaim } from '../../desired/rows.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { NB_GLOBAL_KEY } from '../rows/row-keys.ts';
import { NORTHBOUND, Rows } from '../rows/unit-rows.ts';

const NB_GLOBAL_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'NB_Global',
  keyOf: () => NB_GLOBAL_KEY,
  sharedColumns: ['options'],
  foreignColumns: [
    'nb_cfg',
    'nb_cfg_timestamp',
    'sb_cfg',
    'sb_cfg_timestamp',
    'hv_cfg',
    'hv_cfg_timestamp',
    'external_ids',
    'connections',
    'ssl',
    'ipsec',
  ],
};

export const zoneName: Feature<ZoneFacts> = {
  name: 'database/global',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'zone-name': {
      text: 'A zone has the name of its node. The row is everybody’s: nothing else of it is ours.',
      source: 'reference/topology.md §5',
    },
  },
  claims: [NB_GLOBAL_CLAIM],
  build(facts, _args, out) {
    const name = facts.own('name');
    Rows.northbound(out, SETTINGS)
      .by('zone-name')
      .partial('NB_Global', NB_GLOBAL_KEY, { name, options: { name } });
  },
};
