/** How rows say whose they are: marks of networks, ids of objects, and the names that are hashes of ids (reference/topology.md §3). */

import { hash } from 'node:crypto';
import type { Network } from '../../model/model.ts';
import { isDefault } from '../../model/rules/names.ts';

export const NETWORK_ID = 'k8s.ovn.org/network';
const TOPOLOGY_ID = 'k8s.ovn.org/topology';
export const ROLE_ID = 'k8s.ovn.org/role';
export const NAD_ID = 'k8s.ovn.org/nad';
export const OWNER_CONTROLLER_ID = 'k8s.ovn.org/owner-controller';
/** Says for which EgressService a policy is there, `<namespace>/<name>`: it has no object id. */
export const SERVICE_ID = 'EgressSVC';
/** Ends it where the pod is on another node. */
export const SERVICE_ELSEWHERE = ':ic';
export const OWNER_TYPE_ID = 'k8s.ovn.org/owner-type';
export const NAME_ID = 'k8s.ovn.org/name';
export const KIND_ID = 'k8s.ovn.org/kind';
export const OWNER_ID = 'k8s.ovn.org/owner';
export const OBJECT_ID = 'k8s.ovn.org/id';
export const ENABLED_SERVICE_ID = 'k8s.ovn.org/udn-enabled-default-service';
export const MASQUERADE_ROUTE_ID = 'k8s.ovn.org/node-masquerade-subnet';

export type ExternalIds = Readonly<Record<string, string>>;

/** Network and topology; nothing for the cluster default network, whose rows are known by their names. */
export const networkIds = (network: Pick<Network, 'name' | 'topology'>): ExternalIds =>
  isDefault(network) ? {} : { [NETWORK_ID]: network.name, [TOPOLOGY_ID]: network.topology };

/** Network, topology and role: of switches and gateway routers. */
export const networkRoleIds = (network: Network): ExternalIds =>
  isDefault(network) ? {} : { ...networkIds(network), [ROLE_ID]: network.role };

/**
 * External ids of an object. `keys` are in the order of the owner type's declaration: the id is
 * `<controller>:<owner type>:<value>:<value>…` in that order; `name` stands for `k8s.ovn.org/name`.
 */
export function objectIds(
  controller: string,
  ownerType: string,
  keys: Readonly<Record<string, string>>,
): ExternalIds & { readonly [OBJECT_ID]: string } {
  const named: Record<string, string> = {};
  let id = `${controller}:${ownerType}`;
  for (const [key, value] of Object.entries(keys)) {
    named[key === 'name' ? NAME_ID : key] = value;
    id += `:${value}`;
  }
  return {
    [OWNER_CONTROLLER_ID]: controller,
    [OWNER_TYPE_ID]: ownerType,
    ...named,
    [OBJECT_ID]: id,
  };
}

/**
 * Name of a port group or address set: `a` and 128 bits of the SHA-256 hash of its object id, as ovn-kubernetes names them by the 64-bit
 * FNV-1a hash. Ids have texts of tenants in them, and for FNV-1a anybody finds in seconds a selector whose set would be that of another's policy.
 */
export const hashedName = (id: string): string => `a${hash('sha256', id).slice(0, 32)}`;

const OFFSET_BASIS = 14695981039346656037n;
const PRIME = 1099511628211n;
const encoder = new TextEncoder();

/** The name that ovn-kubernetes gives it: `a` and the 64-bit FNV-1a hash of its object id, in decimal. */
export function nameInReference(id: string): string {
  let found = OFFSET_BASIS;
  for (const byte of encoder.encode(id)) found = BigInt.asUintN(64, (found ^ BigInt(byte)) * PRIME);
  return `a${found}`;
}
