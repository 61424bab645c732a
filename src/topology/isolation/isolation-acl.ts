/** ACLs of the group of isolated pods (reference/topology.md §17.1). */

import { DEFAULT_CONTROLLER } from '../../model/rules/names.ts';
import { addAcl, type Acl } from '../rows/acls.ts';
import { TIER_ISOLATION } from '../numbers.ts';
import { objectIds } from '../rows/object-ids.ts';
import { SECONDARY_PODS } from '../rows/port-groups.ts';
import { holds, type Rows } from '../rows/unit-rows.ts';

const CONTAINER = holds('Port_Group', SECONDARY_PODS.name, 'acls');

export function addIsolationAcl(
  rows: Rows,
  name: string,
  acl: Pick<Acl, 'direction' | 'priority' | 'action' | 'match'>,
): void {
  const ids = objectIds(DEFAULT_CONTROLLER, 'UDNIsolation', { name, direction: acl.direction });
  addAcl(rows, { ids, tier: TIER_ISOLATION, ...acl }, CONTAINER);
}
