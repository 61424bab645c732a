/** Southbound: the chassis of other nodes, which no ovn-controller of this zone writes (topology.md §13.2). */

import type { LocalNode, NodeFacts } from '../model/model.ts';
import { encapKey } from './keys.ts';
import { holds, type Rows } from './rows.ts';

/** A remote node's chassis and its tunnel endpoints. A chassis needs at least one. */
export function addRemoteChassisRows(rows: Rows, node: NodeFacts): void {
  if (node.encapIps.length === 0) return;
  rows.named('Chassis', node.chassisId, {
    hostname: node.name,
    other_config: { 'is-remote': 'true' },
  });
  for (const ip of node.encapIps) {
    rows.keyed(
      'Encap',
      encapKey('geneve', ip),
      { type: 'geneve', ip, chassis_name: node.chassisId, options: { csum: 'true' } },
      holds('Chassis', node.chassisId, 'encaps'),
    );
  }
}

/** This node's chassis belongs to ovn-controller; it is only told apart from remote ones. */
export function addLocalChassisRows(rows: Rows, node: LocalNode): void {
  rows.partial('Chassis', node.chassisId, { other_config: { 'is-remote': 'false' } });
}
