/** Rows that hang on routers: their peers on switches, routes, address translation, policies. */

import { ipOf } from '../allocators/addresses.ts';
import { identifiedPolicyKey, natKey, policyKey, routeKey } from './keys.ts';
import type { NetworkOnNode } from './network-on-node.ts';
import { OBJECT_ID, type ExternalIds } from './object-ids.ts';
import { holds, type Rows } from './rows.ts';

/** A switch port that leads to a router port. */
export function addRouterPeer(
  rows: Rows,
  name: string,
  routerPort: string,
  logicalSwitch: string,
  more: {
    readonly addresses?: string;
    readonly options?: Readonly<Record<string, string>>;
    readonly external_ids?: Readonly<Record<string, string>>;
    readonly groups?: readonly string[];
  },
): void {
  rows.named(
    'Logical_Switch_Port',
    name,
    {
      type: 'router',
      addresses: [more.addresses ?? 'router'],
      options: { 'router-port': routerPort, ...more.options },
      external_ids: more.external_ids,
    },
    holds('Logical_Switch', logicalSwitch, 'ports'),
    ...(more.groups ?? []).map((group) => holds('Port_Group', group, 'ports')),
  );
}

export interface Route {
  readonly prefix: string;
  readonly nexthop: string;
  readonly policy?: 'src-ip' | 'dst-ip';
  readonly outputPort?: string;
  /** The network's own ids when left out. */
  readonly externalIds?: Readonly<Record<string, string>>;
}

export function addRoute(rows: Rows, on: NetworkOnNode, router: string, route: Route): void {
  rows.keyed(
    'Logical_Router_Static_Route',
    routeKey(router, {
      prefix: route.prefix,
      policy: route.policy,
      outputPort: route.outputPort,
      nexthop: route.nexthop,
    }),
    {
      ip_prefix: route.prefix,
      nexthop: route.nexthop,
      policy: route.policy,
      output_port: route.outputPort,
      external_ids: route.externalIds ?? on.networkIds,
    },
    holds('Logical_Router', router, 'static_routes'),
  );
}

export interface Snat {
  readonly logicalIp: string;
  readonly externalIp: string;
  readonly logicalPort?: string;
  readonly match?: string;
}

export function addNat(rows: Rows, on: NetworkOnNode, router: string, nat: Snat): void {
  const range = on.settings.ephemeralPortRange;
  rows.keyed(
    'NAT',
    natKey(router, {
      type: 'snat',
      logicalIp: nat.logicalIp,
      logicalPort: nat.logicalPort,
      limited: false,
    }),
    {
      type: 'snat',
      logical_ip: nat.logicalIp,
      external_ip: nat.externalIp,
      logical_port: nat.logicalPort,
      match: nat.match,
      options: { stateless: 'false' },
      external_port_range: range === '' ? undefined : range,
      external_ids: on.networkIds,
    },
    holds('Logical_Router', router, 'nat'),
  );
}

/** Sends what this node's pods have for an address of the node to the host (topology.md §7.5). */
export function addNodeAddressPolicy(
  rows: Rows,
  on: NetworkOnNode,
  address: string,
  nexthop: string,
  priority: number,
): void {
  const { clusterRouter, nodeSwitch, routerToSwitch } = on.names;
  // The comment names the switch: it is how rows of a node that is gone are recognised.
  const match = `inport == "${routerToSwitch}" && ${ipOf(address)}.dst == ${address} /* ${nodeSwitch} */`;
  rows.keyed(
    'Logical_Router_Policy',
    policyKey(clusterRouter, priority, match),
    { priority, match, action: 'reroute', nexthops: [nexthop], external_ids: on.networkIds },
    holds('Logical_Router', clusterRouter, 'policies'),
  );
}

/** A policy with an object id lets traffic pass, before policies of lower priority reroute it. */
export function addAllowPolicy(
  rows: Rows,
  router: string,
  policy: {
    readonly ids: ExternalIds & { readonly [OBJECT_ID]: string };
    readonly priority: number;
    readonly match: string;
    readonly options?: Readonly<Record<string, string>>;
  },
): void {
  rows.keyed(
    'Logical_Router_Policy',
    identifiedPolicyKey(policy.ids[OBJECT_ID], policy.match),
    {
      priority: policy.priority,
      match: policy.match,
      action: 'allow',
      options: policy.options,
      external_ids: policy.ids,
    },
    holds('Logical_Router', router, 'policies'),
  );
}
