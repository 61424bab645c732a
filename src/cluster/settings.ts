import { MAX_NETWORK_ID } from '../allocators/ids.ts';
import type { ConnectRange } from '../allocators/connect-subnets.ts';
import type { LabelSelector } from '../api/types.ts';
import type { ClusterSettings } from '../model/model.ts';

/** How many networks there may be (reference/api.md §12: a tenant is not to use up the cluster's). */
export interface NetworkLimits {
  /** User-defined networks in all. */
  readonly networks: number;
  /** UserDefinedNetworks, OVNSecondaryNetworks and NADs of their own in one namespace. */
  readonly networksPerNamespace: number;
  /** Networks that every node knows as soon as they come; those that come when there are so many are on demand. */
  readonly preallocated: number;
}

/** What tenants may connect with each other by NetworkConnects (docs/decisions/tenant-connects.md). */
export interface TenantConnectSettings {
  /** Where the links of their connections come from, one range per family. */
  readonly pool: readonly ConnectRange[];
  /** Namespaces that may have a part in it; undefined = all. */
  readonly namespaces?: LabelSelector | undefined;
  /** What they may open. */
  readonly types: readonly TenantConnectType[];
  /** NetworkConnects of one namespace that count. */
  readonly perNamespace: number;
}

export const TENANT_CONNECT_TYPES = ['PodNetwork', 'ServiceNetwork'] as const;
export type TenantConnectType = (typeof TENANT_CONNECT_TYPES)[number];

export interface ClusterManagerSettings {
  readonly cluster: ClusterSettings;
  readonly limits: NetworkLimits;
  /** Undefined where tenants connect nothing themselves. */
  readonly tenantConnects?: TenantConnectSettings | undefined;
  /** Nodes that get no subnets (another network provider serves them). */
  readonly noHostSubnetNodes?: LabelSelector | undefined;
  /** Name of the lease that managers compete for. */
  readonly leaseName: string;
  /** Who this manager is among several. */
  readonly identity: string;
}

/**
 * A node that has pods on 50 secondary networks of a namespace has 9,100 flows of them, 182 each (ovn-controller 25.03): as many as one policy
 * may cost. A pod gets its port on a further one within a second; among 200 it takes twice to three times as long as among 100. And the ids
 * last for hundreds of namespaces that use theirs up.
 */
export const DEFAULT_LIMITS: NetworkLimits = {
  networks: MAX_NETWORK_ID,
  networksPerNamespace: 50,
  preallocated: 256,
};
/** A network reaches as many others; each is a link on every node that has it. */
export const DEFAULT_CONNECTS_PER_NAMESPACE = 10;
export const DEFAULT_LEASE_NAME = 'heddle-cluster-manager';

/** Objects of a kind whose writes may be under way at a time: one that hangs in an admission webhook holds up itself alone. */
export const WRITERS = 32;
