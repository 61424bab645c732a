/** Logical switches, their ports and QoS rules; and how such rows are recognised. */

import { familyOf, withoutPrefix } from '../../allocators/addresses.ts';
import type { TableClaim } from '../../desired/rows.ts';
import { claimByName, idKey } from './found.ts';
import { holds, NORTHBOUND, type Rows } from './unit-rows.ts';
import type { ExternalIds } from './object-ids.ts';

export const SWITCH_CLAIM = claimByName(NORTHBOUND, 'Logical_Switch');

export const SWITCH_PORT_CLAIM = claimByName(NORTHBOUND, 'Logical_Switch_Port', {
  container: { table: 'Logical_Switch', column: 'ports' },
  // Written by ovn-northd.
  foreignColumns: ['up', 'dynamic_addresses', 'tag'],
});

export const QOS_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'QoS',
  container: { table: 'Logical_Switch', column: 'qos_rules' },
  keyOf: idKey,
};

/** What a switch says of itself that all zones of its network have a copy of (reference/topology.md §9.1, §13.1). */
export const sharedSwitchConfig = (name: string, tunnelKey: number): Record<string, string> => ({
  'interconn-ts': name,
  'requested-tnl-key': String(tunnelKey),
  mcast_snoop: 'true',
  mcast_querier: 'false',
  mcast_flood_unregistered: 'true',
});

/** What a switch says of the subnets of its pods. */
export const subnetConfig = (cidrs: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    cidrs.map((cidr) =>
      familyOf(cidr) === 'v4' ? ['subnet', cidr] : ['ipv6_prefix', withoutPrefix(cidr)],
    ),
  );

/** A switch port that leads to a router port. */
export function addRouterPeer(
  rows: Rows,
  name: string,
  routerPort: string,
  logicalSwitch: string,
  more: {
    readonly addresses?: string;
    readonly options?: Readonly<Record<string, string>>;
    readonly external_ids?: ExternalIds;
    readonly groups?: readonly string[];
  },
): void {
  rows.named(
    'Logical_Switch_Port',
    name,
    {
      type: 'router',
      // As ovn-northd would set it, and read back as one more change of all.
      up: true,
      addresses: [more.addresses ?? 'router'],
      options: { 'router-port': routerPort, ...more.options },
      external_ids: more.external_ids,
    },
    holds('Logical_Switch', logicalSwitch, 'ports'),
    ...(more.groups ?? []).map((group) => holds('Port_Group', group, 'ports')),
  );
}
