/** Keys of rows that have no name of their own: built the same way from a desired row and from a row read back. */

/** Rows with an object id are known by it wherever they are. */
export interface RouteIdentity {
  readonly prefix: string;
  readonly policy: string | undefined;
  readonly outputPort: string | undefined;
  readonly nexthop: string;
  readonly isSymmetric?: boolean | undefined;
}

/**
 * A router has one route per prefix, policy and port, whose next hop may change; of default routes, and of those by which replies go back to
 * where the request came from, one per next hop.
 */
export function routeKey(router: string, route: RouteIdentity): string {
  const isDefaultRoute = route.prefix === '0.0.0.0/0' || route.prefix === '::/0';
  return [
    router,
    route.prefix,
    route.policy ?? 'any',
    route.outputPort ?? '-',
    ...(isDefaultRoute || route.isSymmetric === true ? [route.nexthop] : []),
  ].join(' ');
}

export const policyKey = (router: string, priority: number, match: string): string =>
  `${router} ${priority} ${match}`;

/** Policies of several subnets of a network share their object id. */
export const identifiedPolicyKey = (objectId: string, match: string): string =>
  `${objectId} ${match}`;

export interface NatIdentity {
  readonly type: string;
  readonly logicalIp: string;
  readonly logicalPort: string | undefined;
  /** True for a rule limited to an address set: another rule than the one for everything. */
  readonly limited: boolean;
}

/** The external address may change; source, port and limits are what tells one rule from another. */
export const natKey = (router: string, nat: NatIdentity): string =>
  [
    router,
    nat.type,
    nat.logicalIp,
    nat.logicalPort ?? '-',
    ...(nat.limited ? ['limited'] : []),
  ].join(' ');

export const macBindingKey = (logicalPort: string, ip: string): string => `${logicalPort} ${ip}`;

/** Meters of one action and rate share a band. */
export const meterBandKey = (action: string, rate: number): string => `${action} ${rate}`;

export const encapKey = (type: string, ip: string): string => `${type} ${ip}`;

/** The only row of NB_Global. */
export const NB_GLOBAL_KEY = 'NB_Global';

/** The schema's index: one session per port and neighbour. */
export const bfdKey = (logicalPort: string, neighbour: string): string =>
  `${logicalPort} ${neighbour}`;
