/** Logical routers and what hangs on them: ports, routes, address translation, policies; and how such rows are recognised. */

import { ipOf } from '../../allocators/addresses.ts';
import { RowReference, type FoundRow, type TableClaim } from '../../desired/rows.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { claimByName, idKey, isSet, mapOf, numberOf, textOf } from './found.ts';
import { identifiedPolicyKey, natKey, policyKey, routeKey } from './row-keys.ts';
import type { NetworkOnNode } from '../parts/network-on-node.ts';
import type { AddressSet } from './address-sets.ts';
import { OBJECT_ID, type ExternalIds } from './object-ids.ts';
import { holds, NORTHBOUND, type Rows } from './unit-rows.ts';

export const ROUTER_CLAIM = claimByName(NORTHBOUND, 'Logical_Router');

export const ROUTER_PORT_CLAIM = claimByName(NORTHBOUND, 'Logical_Router_Port', {
  container: { table: 'Logical_Router', column: 'ports' },
  // Written by ovn-northd.
  foreignColumns: ['ipv6_prefix', 'status'],
});

/** What ovn-kubernetes and earlier releases gave a port in place of a chassis group: it goes where the port is ours. */
export const GATEWAY_CHASSIS_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'Gateway_Chassis',
  container: { table: 'Logical_Router_Port', column: 'gateway_chassis' },
  keyOf: (row, port) => {
    const name = textOf(row, 'name');
    return port !== undefined && name?.startsWith(`${port.key}-`) === true ? name : undefined;
  },
  markedBy: (_row, port) => (port === undefined ? [] : [port]),
};

export const ROUTE_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'Logical_Router_Static_Route',
  container: { table: 'Logical_Router', column: 'static_routes' },
  keyOf: (row, router) =>
    router === undefined ? undefined : (idKey(row) ?? foundRouteKey(row, router.key)),
};

export const POLICY_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'Logical_Router_Policy',
  container: { table: 'Logical_Router', column: 'policies' },
  keyOf(row, router) {
    const id = idKey(row);
    const match = textOf(row, 'match') ?? '';
    if (id !== undefined) return identifiedPolicyKey(id, match);
    return router && policyKey(router.key, numberOf(row, 'priority') ?? 0, match);
  },
};

export const NAT_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'NAT',
  container: { table: 'Logical_Router', column: 'nat' },
  keyOf: (row, router) =>
    router === undefined ? undefined : (idKey(row) ?? foundNatKey(row, router.key)),
  needs: ['match'],
};

/** Option of a route: who came by its next hop is answered by it (ovn-nb(5)). */
export const SYMMETRIC_REPLY = 'ecmp_symmetric_reply';

const foundRouteKey = (row: FoundRow, router: string): string =>
  routeKey(router, {
    prefix: textOf(row, 'ip_prefix') ?? '',
    policy: textOf(row, 'policy'),
    outputPort: textOf(row, 'output_port'),
    nexthop: textOf(row, 'nexthop') ?? '',
    isSymmetric: mapOf(row, 'options').get(SYMMETRIC_REPLY) === 'true',
  });

const foundNatKey = (row: FoundRow, router: string): string =>
  natKey(router, {
    type: textOf(row, 'type') ?? '',
    logicalIp: textOf(row, 'logical_ip') ?? '',
    logicalPort: textOf(row, 'logical_port'),
    limited: isSet(row, 'allowed_ext_ips') || isSet(row, 'exempted_ext_ips'),
  });

export interface Route {
  readonly prefix: string;
  readonly nexthop: string;
  readonly policy?: 'src-ip' | 'dst-ip';
  readonly outputPort?: string;
  readonly externalIds: ExternalIds;
}

export function addRoute(rows: Rows, router: string, route: Route): void {
  const { prefix, nexthop, policy, outputPort, externalIds } = route;
  rows.keyed(
    'Logical_Router_Static_Route',
    routeKey(router, { prefix, policy, outputPort, nexthop }),
    { ip_prefix: prefix, nexthop, policy, output_port: outputPort, external_ids: externalIds },
    holds('Logical_Router', router, 'static_routes'),
  );
}

/** A route of a pod by one of several next hops; replies to who came by one of them go back by it (ovn-nb(5)). */
export function addSymmetricRoute(
  rows: Rows,
  router: string,
  route: Pick<Route, 'prefix' | 'nexthop'> & {
    readonly outputPort: string;
    readonly bfd: RowReference | undefined;
  },
): void {
  const { prefix, nexthop, outputPort, bfd } = route;
  const policy = 'src-ip';
  rows.keyed(
    'Logical_Router_Static_Route',
    routeKey(router, { prefix, policy, outputPort, nexthop, isSymmetric: true }),
    {
      ip_prefix: prefix,
      nexthop,
      policy,
      output_port: outputPort,
      options: { [SYMMETRIC_REPLY]: 'true' },
      bfd,
    },
    holds('Logical_Router', router, 'static_routes'),
  );
}

/** A route that is known by its object id: its prefix may change. */
export function addIdentifiedRoute(
  rows: Rows,
  router: string,
  route: Omit<Route, 'externalIds'> & {
    readonly externalIds: ExternalIds & { readonly [OBJECT_ID]: string };
  },
): void {
  const { prefix, nexthop, externalIds } = route;
  rows.keyed(
    'Logical_Router_Static_Route',
    externalIds[OBJECT_ID],
    { ip_prefix: prefix, nexthop, external_ids: externalIds },
    holds('Logical_Router', router, 'static_routes'),
  );
}

export interface Snat {
  readonly logicalIp: string;
  readonly externalIp: string;
  readonly logicalPort?: string;
  readonly match?: string;
}

export function addNat(rows: Rows, onNode: NetworkOnNode, router: string, nat: Snat): void {
  const { logicalIp, externalIp, logicalPort, match } = nat;
  const range = onNode.settings.ephemeralPortRange;
  rows.keyed(
    'NAT',
    natKey(router, { type: 'snat', logicalIp, logicalPort, limited: false }),
    {
      type: 'snat',
      logical_ip: logicalIp,
      external_ip: externalIp,
      logical_port: logicalPort,
      match,
      options: { stateless: 'false' },
      external_port_range: range === '' ? undefined : range,
      external_ids: onNode.networkIds,
    },
    holds('Logical_Router', router, 'nat'),
  );
}

/** Source translation of one address that is known by its object id: the address that it gives may change. */
export function addIdentifiedNat(
  rows: Rows,
  { ephemeralPortRange: range }: Pick<ClusterSettings, 'ephemeralPortRange'>,
  router: string,
  nat: Required<Omit<Snat, 'match'>> & {
    readonly ids: ExternalIds & { readonly [OBJECT_ID]: string };
  },
): void {
  const { logicalIp, externalIp, logicalPort, ids } = nat;
  rows.keyed(
    'NAT',
    ids[OBJECT_ID],
    {
      type: 'snat',
      logical_ip: logicalIp,
      external_ip: externalIp,
      logical_port: logicalPort,
      options: { stateless: 'false' },
      external_port_range: range === '' ? undefined : range,
      external_ids: ids,
    },
    holds('Logical_Router', router, 'nat'),
  );
}

/** Sends what this node's pods have for an address of the node to the host (reference/topology.md §7.5). */
export function addNodeAddressPolicy(
  rows: Rows,
  onNode: NetworkOnNode,
  address: string,
  nexthop: string,
  priority: number,
): void {
  const { clusterRouter, nodeSwitch, routerToSwitch } = onNode.names;
  // The comment names the switch: by it ovn-kubernetes recognises rows of a node that is gone.
  const match = `inport == "${routerToSwitch}" && ${ipOf(address)}.dst == ${address} /* ${nodeSwitch} */`;
  rows.keyed(
    'Logical_Router_Policy',
    policyKey(clusterRouter, priority, match),
    { priority, match, action: 'reroute', nexthops: [nexthop], external_ids: onNode.networkIds },
    holds('Logical_Router', clusterRouter, 'policies'),
  );
}

interface IdentifiedPolicy {
  readonly ids: ExternalIds & { readonly [OBJECT_ID]: string };
  readonly priority: number;
  readonly match: string;
  readonly options?: Readonly<Record<string, string>> | undefined;
  /** Address sets that the match names. */
  readonly sets?: readonly AddressSet[];
}

/** A policy with an object id lets traffic pass, before policies of lower priority reroute it. */
export const addAllowPolicy = (rows: Rows, router: string, policy: IdentifiedPolicy): void =>
  addIdentifiedPolicy(rows, router, policy, 'allow');

export const addDropPolicy = (rows: Rows, router: string, policy: IdentifiedPolicy): void =>
  addIdentifiedPolicy(rows, router, policy, 'drop');

function addIdentifiedPolicy(
  rows: Rows,
  router: string,
  { ids, priority, match, options, sets = [] }: IdentifiedPolicy,
  action: 'allow' | 'drop',
): void {
  rows.naming(
    sets.map(({ name }) => new RowReference('Address_Set', name)),
    'Logical_Router_Policy',
    identifiedPolicyKey(ids[OBJECT_ID], match),
    { priority, match, action, options, external_ids: ids },
    holds('Logical_Router', router, 'policies'),
  );
}
