/** Names of networks (reference/api.md §3.1): made of their objects' names here and nowhere else, or chosen in the configuration of a NAD. */
import { objectKey, type ObjectMeta } from '../objects.ts';

/** Name of the cluster default network. */
export const DEFAULT_NETWORK = 'default';

/** The name as OVN names have it: no `-`, no `/`. Networks that differ only there would share objects. */
export const ovnName = (name: string): string => name.replaceAll(/[-/]/g, '.');

/**
 * What comes before the names of OVN objects of a network or NAD key: `blue_blue-network` → `blue_blue.network_`,
 * `blue/l3-net` → `blue.l3.net_`; empty for `default` (reference/topology.md §1.2).
 */
export const ovnPrefix = (name: string): string =>
  name === DEFAULT_NETWORK ? '' : `${ovnName(name)}_`;

const CLUSTER_PREFIX = 'cluster_udn_';

/** Network of the UserDefinedNetwork `<namespace>/<name>`. */
export const networkName = (namespace: string, name: string): string => `${namespace}_${name}`;

/** Network of the ClusterUserDefinedNetwork `name`. */
export const clusterNetworkName = (name: string): string => `${CLUSTER_PREFIX}${name}`;

const SECONDARY_PREFIX = 'secondary_';

/** Network of the OVNSecondaryNetwork `<namespace>/<name>`. */
export const ovnSecondaryNetworkName = (namespace: string, name: string): string =>
  `${SECONDARY_PREFIX}${namespace}_${name}`;

export type NetworkOwner =
  | { readonly kind: 'ClusterUserDefinedNetwork'; readonly name: string }
  | {
      readonly kind: 'UserDefinedNetwork' | 'OVNSecondaryNetwork';
      readonly namespace: string;
      readonly name: string;
    };

const OBJECT_NAME = /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/;

/**
 * The object that a network name stands for; undefined for the default network and for names that no object's network has. `_`
 * occurs in no namespace and no object name, so the answer is unique.
 */
export function parseNetworkName(network: string): NetworkOwner | undefined {
  if (network.startsWith(CLUSTER_PREFIX)) {
    const name = network.slice(CLUSTER_PREFIX.length);
    return OBJECT_NAME.test(name) ? { kind: 'ClusterUserDefinedNetwork', name } : undefined;
  }
  const parts = network.split('_');
  const isSecondary = parts.length === 3 && network.startsWith(SECONDARY_PREFIX);
  const [namespace = '', name = '', ...rest] = isSecondary ? parts.slice(1) : parts;
  if (rest.length > 0 || !OBJECT_NAME.test(namespace) || !OBJECT_NAME.test(name)) return undefined;
  return { kind: isSecondary ? 'OVNSecondaryNetwork' : 'UserDefinedNetwork', namespace, name };
}

/** What CNI allows; nothing of it can end a string in a match, or be taken for a separator (reference/api.md §3.1). */
const SAFE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

export const isSafeNetworkName = (name: string): boolean => SAFE_NAME.test(name);

/**
 * Why a NAD may not stand for a network of that name, with what to do; undefined if it may. The name of an object's network is that
 * object's alone, whether or not the object exists: a tenant must not be there first.
 */
export function nameRefusal(
  network: string,
  nad: Pick<ObjectMeta, 'name' | 'namespace' | 'ownerReferences'>,
): string | undefined {
  const owner = parseNetworkName(network);
  if (owner === undefined || isNadOf(owner, nad)) return undefined;
  const object = owner.kind === 'ClusterUserDefinedNetwork' ? owner.name : objectKey(owner);
  return `name: "${network}" is the network of ${owner.kind} ${object}, not of NAD ${objectKey(nad)}: choose a name without "_"`;
}

/** NADs have the name of their object; those of namespaced objects are in its namespace, the others name it as their controller. */
const isNadOf = (
  owner: NetworkOwner,
  { name, namespace, ownerReferences = [] }: Parameters<typeof nameRefusal>[1],
): boolean =>
  owner.name === name &&
  (owner.kind === 'ClusterUserDefinedNetwork'
    ? ownerReferences.some(
        (one) => one.controller === true && one.kind === owner.kind && one.name === owner.name,
      )
    : owner.namespace === namespace);
