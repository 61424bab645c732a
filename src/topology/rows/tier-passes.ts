/** Rows that pass packets on to a later tier of ACLs (reference/topology.md §3.4). */
import type { Containment } from '../../desired/rows.ts';
import { ACL_TIER_PASS } from '../numbers.ts';
import { addAcl } from './acls.ts';
import type { ExternalIds, OBJECT_ID } from './object-ids.ts';
import type { Rows } from './unit-rows.ts';

/** What OVN has cut, by a row of any tier. */
const CUT = 'ct.est && ct_mark.blocked == 1';

/**
 * ACLs of tier `tier` cut connections, too, that were there before them. Below that tier what has been cut is passed on: on the way to a port OVN 25.03 to
 * 26.03 lets it go on in the first tier without a row for it, so that every second packet passes (ovn-org/ovn 2c67789ce mends it). Only what has been cut:
 * of all else that no row decides on OVN notes in that tier that it is to be remembered, without which no answer comes back. `match`: what the rows of `tier`
 * are about.
 */
export function addTierPasses(
  rows: Rows,
  tier: number,
  match: string,
  ids: (below: string) => ExternalIds & { readonly [OBJECT_ID]: string },
  container: Containment,
): void {
  for (let below = 0; below < tier; below += 1)
    addAcl(
      rows,
      {
        ids: ids(`pass-${below}`),
        direction: 'Ingress',
        priority: ACL_TIER_PASS,
        tier: below,
        action: 'pass',
        match: `${CUT} && ${match}`,
      },
      container,
    );
}
