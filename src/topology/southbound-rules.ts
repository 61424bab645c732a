/** How rows of the Southbound database are recognised: chassis of other nodes, and their tunnel endpoints (topology.md §21). */

import type { LocalNode } from '../model/model.ts';
import type { DatabaseRules } from '../ovsdb/plan/desired.ts';
import { mapOf, textOf } from './found-rows.ts';
import { encapKey } from './keys.ts';

export interface SouthboundContext {
  readonly node: Pick<LocalNode, 'chassisId'>;
}

export function southboundRules(context: SouthboundContext): DatabaseRules {
  return {
    Chassis: {
      keyOf: (row) => textOf(row, 'name'),
      isOurs: (row) =>
        textOf(row, 'name') !== context.node.chassisId &&
        mapOf(row, 'other_config').get('is-remote') === 'true',
      foreignColumns: ['nb_cfg', 'external_ids', 'transport_zones', 'vtep_logical_switches'],
      sharedColumns: ['other_config'],
    },
    Encap: {
      container: { table: 'Chassis', column: 'encaps' },
      keyOf: (row) => encapKey(textOf(row, 'type') ?? '', textOf(row, 'ip') ?? ''),
      // Those of this node are ovn-controller's.
      isOurs: (row) =>
        textOf(row, 'type') === 'geneve' &&
        textOf(row, 'chassis_name') !== context.node.chassisId &&
        mapOf(row, 'options').get('csum') === 'true',
    },
  };
}
