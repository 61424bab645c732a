/** ACLs as every owner writes them (reference/topology.md §3.4). */

import type { LogSeverity } from '../../api/annotations/acl-logging.ts';
import { RowReference, type Containment, type TableClaim } from '../../desired/rows.ts';
import { idKey } from './found.ts';
import { OBJECT_ID, type ExternalIds } from './object-ids.ts';
import { ACL_LOGGING_METER } from '../numbers.ts';
import { NORTHBOUND, type Rows } from './unit-rows.ts';

export const ACL_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'ACL',
  keyOf: idKey,
  isolates: true,
  needs: ['tier', 'options'],
};

/** Seen from the pod: `Ingress` is to it. */
export type Direction = 'Ingress' | 'Egress';
export const DIRECTIONS: readonly Direction[] = ['Ingress', 'Egress'];

export interface Acl {
  readonly ids: ExternalIds & { readonly [OBJECT_ID]: string };
  readonly direction: Direction;
  readonly priority: number;
  readonly tier: number;
  readonly action: 'allow' | 'allow-related' | 'allow-stateless' | 'drop' | 'pass';
  readonly match: string;
  /** Names of the address sets that the match speaks of. */
  readonly sets?: readonly string[];
  /** Egress only: looked at after load balancing instead of before it. */
  readonly afterLoadBalancing?: boolean;
  /** Shown in logs. */
  readonly name?: string;
  /** Severity of what is logged of packets that the row decides on; none are by default. */
  readonly severity?: LogSeverity | undefined;
}

/** `ACL.name` has at most this many characters. */
const LONGEST_NAME = 63;

export function addAcl(rows: Rows, acl: Acl, ...containers: Containment[]): void {
  rows.naming(
    (acl.sets ?? []).map((set) => new RowReference('Address_Set', set)),
    'ACL',
    acl.ids[OBJECT_ID],
    {
      direction: acl.direction === 'Ingress' ? 'to-lport' : 'from-lport',
      priority: acl.priority,
      tier: acl.tier,
      action: acl.action,
      match: acl.match,
      name: acl.name?.slice(0, LONGEST_NAME),
      log: acl.severity === undefined ? undefined : true,
      severity: acl.severity,
      // OVN from 26.03 on works everything out again for an ACL that comes or goes with a meter.
      meter: acl.severity === undefined ? undefined : ACL_LOGGING_METER,
      options:
        acl.direction === 'Egress' && acl.afterLoadBalancing === true
          ? { 'apply-after-lb': 'true' }
          : undefined,
      external_ids: acl.ids,
    },
    ...containers,
  );
}

/** `inport == @group` for traffic of the group's ports, `outport == @group` for traffic to them. */
export const ofGroup = (direction: Direction, group: string): string =>
  `${direction === 'Ingress' ? 'outport' : 'inport'} == @${group}`;

/** Terms joined with `||`, in parentheses when there are several. */
export const anyOf = (terms: readonly string[]): string =>
  terms.length === 1 ? (terms[0] ?? '') : `(${terms.join(' || ')})`;
