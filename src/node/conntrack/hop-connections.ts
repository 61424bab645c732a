/**
 * Which tracked connections are answered by way of a next hop: ovn-northd has the MAC address of who brought their packets kept in them
 * (`ecmp_symmetric_reply`), and answers go there whatever routes say. Pure.
 */
import { withoutPrefix } from '../../allocators/addresses.ts';
import { feature } from '../../desired/features.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import { externalRouteObject } from '../../model/zone/external-routes.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { RowOf } from '../reconcile/claims.ts';
import { CONNECTIONS } from './service-connections.ts';

/** Row of a pod's address and a next hop of it. */
interface HopColumns {
  readonly source: string;
  readonly hop: string;
  /** The host's device into the network of the hop. */
  readonly device: string;
}

export type HopRow = RowOf<{ readonly hop: HopColumns }>;

/** A next hop by which a pod does not leave any more. */
export interface StaleHop extends HopColumns {
  readonly object: string;
}

/** Connections of a pod's address that are answered by way of a MAC address. */
export interface HopConnections {
  readonly source: string;
  readonly mac: string;
}

/** Place of `ct_label.ecmp_reply_eth` (OVN, logical-fields.c). */
const MAC_AT = 32n;
const MAC_BITS = 48n;
const MAC_MASK = (1n << MAC_BITS) - 1n;

/** The MAC address by which a connection is answered; zeros where none is kept. */
export const hopMac = (labels: bigint): string =>
  ((labels >> MAC_AT) & MAC_MASK)
    .toString(16)
    .padStart(12, '0')
    .replace(/..(?!$)/g, '$&:');

/** As ovs-dpctl(8) takes it. */
export const hopLabels = (mac: string): string => {
  const value = BigInt(`0x${mac.replaceAll(':', '')}`) << MAC_AT;
  return `0x${value.toString(16)}/0x${(MAC_MASK << MAC_AT).toString(16)}`;
};

/** Hops that a unit's rows had `before` and do not have `after`. */
export function staleHops(
  before: readonly HopRow[],
  after: readonly HopRow[],
): readonly StaleHop[] {
  const has = new Set(after.map(({ key }) => key));
  return before
    .filter(({ key }) => !has.has(key))
    .map(({ object, columns }) => ({ object, ...columns }));
}

export const hopConnections = feature({
  name: 'host/hop-connections',
  over: (facts: ZoneFacts) => facts.routedPods.distinct('unit'),
  objects(facts, [, ...pod]) {
    const policy = facts.routedPods.peek(...pod)?.policy;
    return policy === undefined ? undefined : [externalRouteObject(policy)];
  },
  rules: {
    'forget-hop': {
      text: 'When a next hop goes, or BFD does not reach it, the connections that are answered by way of it are forgotten; those of other hops live.',
      source: 'reference/topology.md §18.3',
    },
  },
  claims: [],
  build(facts, [, ...pod], out) {
    const routed = facts.routedPods.get(...pod);
    const device = facts.own('gateway')?.bridge;
    if (routed === undefined || device === undefined) return;
    for (const { source, address, isWatched } of routed.routes) {
      if (isWatched && facts.deadHops.get(address) !== undefined) continue;
      const columns: HopColumns = { source: withoutPrefix(source), hop: address, device };
      out.row({
        database: CONNECTIONS,
        table: 'hop',
        key: `${columns.source} ${address}`,
        columns: columns as unknown as DesiredRow['columns'],
        containers: [],
        rule: 'forget-hop',
        object: externalRouteObject(routed.policy),
      });
    }
  },
});
