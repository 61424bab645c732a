/** Names of networks (api.md §3.1). They are made here and nowhere else; users can't choose them. */

/** Name of the cluster default network. */
export const DEFAULT_NETWORK = 'default';

/** The name as OVN names have it: no `-`, no `/`. Networks that differ only there would share objects. */
export const ovnName = (name: string): string => name.replaceAll(/[-/]/g, '.');

/**
 * What comes before the names of OVN objects of a network or NAD key: `blue_blue-network` → `blue_blue.network_`,
 * `blue/l3-net` → `blue.l3.net_`; empty for `default` (topology.md §1.2).
 */
export const ovnPrefix = (name: string): string =>
  name === DEFAULT_NETWORK ? '' : `${ovnName(name)}_`;

const CLUSTER_PREFIX = 'cluster_udn_';

/** Network of the UserDefinedNetwork `<namespace>/<name>`. */
export const networkName = (namespace: string, name: string): string => `${namespace}_${name}`;

/** Network of the ClusterUserDefinedNetwork `name`. */
export const clusterNetworkName = (name: string): string => `${CLUSTER_PREFIX}${name}`;

export type NetworkOwner =
  | { readonly kind: 'ClusterUserDefinedNetwork'; readonly name: string }
  | { readonly kind: 'UserDefinedNetwork'; readonly namespace: string; readonly name: string };

/**
 * The object that a network name stands for; undefined for the default network and for networks of NADs that no
 * UserDefinedNetwork made. `_` occurs in no namespace and no object name, so the answer is unique.
 */
export function parseNetworkName(network: string): NetworkOwner | undefined {
  if (network.startsWith(CLUSTER_PREFIX)) {
    const name = network.slice(CLUSTER_PREFIX.length);
    return name === '' ? undefined : { kind: 'ClusterUserDefinedNetwork', name };
  }
  const [namespace, name, ...rest] = network.split('_');
  if (!namespace || !name || rest.length > 0) return undefined;
  return { kind: 'UserDefinedNetwork', namespace, name };
}
