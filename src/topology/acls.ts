/** ACLs as every owner writes them (topology.md §3.4). */

import type { Containment, TableClaim } from '../desired/rows.ts';
import { idKey } from './found.ts';
import { OBJECT_ID, type ExternalIds } from './object-ids.ts';
import { NORTHBOUND, type Rows } from './rows.ts';

export const ACL_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'ACL',
  keyOf: idKey,
  isolates: true,
};

/** Seen from the pod: `Ingress` is to it. */
export type Direction = 'Ingress' | 'Egress';
export const DIRECTIONS: readonly Direction[] = ['Ingress', 'Egress'];

export interface Acl {
  readonly ids: ExternalIds & { readonly [OBJECT_ID]: string };
  readonly direction: Direction;
  readonly priority: number;
  readonly tier: number;
  readonly action: 'allow' | 'allow-related' | 'drop';
  readonly match: string;
  /** Egress only: looked at after load balancing instead of before it. */
  readonly afterLoadBalancing?: boolean;
}

export function addAcl(rows: Rows, acl: Acl, ...containers: Containment[]): void {
  rows.keyed(
    'ACL',
    acl.ids[OBJECT_ID],
    {
      direction: acl.direction === 'Ingress' ? 'to-lport' : 'from-lport',
      priority: acl.priority,
      tier: acl.tier,
      action: acl.action,
      match: acl.match,
      meter: 'acl-logging',
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
