/** What UserDefinedNetworks, ClusterUserDefinedNetworks and OVNSecondaryNetworks have in common. Pure. */
import {
  clusterUserDefinedNetworks,
  ovnSecondaryNetworks,
  userDefinedNetworks,
} from '../../api/kinds.ts';
import {
  clusterNetworkName,
  networkName,
  ovnSecondaryNetworkName,
} from '../../api/nad/network-name.ts';
import type { NetworkObject } from '../../api/nad/network-spec.ts';
import { objectKey, type ResourceKind } from '../../api/objects.ts';
import type { Namespace } from '../../api/types.ts';
import type { Role, Topology } from '../../model/model.ts';
import { matchesSelector } from '../../api/selectors.ts';

const KINDS: Readonly<Record<NetworkObject['kind'], ResourceKind<NetworkObject>>> = {
  UserDefinedNetwork: userDefinedNetworks,
  ClusterUserDefinedNetwork: clusterUserDefinedNetworks,
  OVNSecondaryNetwork: ovnSecondaryNetworks,
};

export const kindOf = ({ kind }: Pick<NetworkObject, 'kind'>): ResourceKind<NetworkObject> =>
  KINDS[kind];

export const isNetworkObjectKind = (kind: string): kind is NetworkObject['kind'] =>
  Object.hasOwn(KINDS, kind);

/** `kind/namespace/name`: a key that is unique over the three kinds. */
export const networkObjectKey = ({ kind, metadata }: NetworkObject): string =>
  `${kind}/${objectKey(metadata)}`;

export function parseNetworkObjectKey(key: string): {
  readonly kind: NetworkObject['kind'];
  readonly object: string;
} {
  const slash = key.indexOf('/');
  const kind = key.slice(0, slash);
  if (!isNetworkObjectKind(kind)) throw new Error(`${key} is no key of a network's object`);
  return { kind, object: key.slice(slash + 1) };
}

/** Name of the network that the object declares. */
export function networkOf({ kind, metadata }: NetworkObject): string {
  const { name, namespace = '' } = metadata;
  switch (kind) {
    case 'UserDefinedNetwork':
      return networkName(namespace, name);
    case 'ClusterUserDefinedNetwork':
      return clusterNetworkName(name);
    case 'OVNSecondaryNetwork':
      return ovnSecondaryNetworkName(namespace, name);
  }
}

const TOPOLOGIES = { Layer2: 'layer2', Layer3: 'layer3', Localnet: 'localnet' } as const;

export function topologyOf(object: NetworkObject): Topology {
  if (object.kind === 'OVNSecondaryNetwork')
    return object.spec.hasExternalConnectivity === true ? 'localnet' : 'layer2';
  const spec = object.kind === 'UserDefinedNetwork' ? object.spec : object.spec.network;
  return TOPOLOGIES[spec.topology];
}

export function roleOf(object: NetworkObject): Role {
  if (object.kind === 'OVNSecondaryNetwork') return 'secondary';
  const spec = object.kind === 'UserDefinedNetwork' ? object.spec : object.spec.network;
  return (spec.layer3 ?? spec.layer2)?.role === 'Primary' ? 'primary' : 'secondary';
}

/** Namespaces in which the network should be, sorted; those on their way out are left alone. */
export function targetNamespaces(
  object: NetworkObject,
  namespaces: readonly Namespace[],
): readonly string[] {
  if (object.kind !== 'ClusterUserDefinedNetwork') return [object.metadata.namespace ?? ''];
  return namespaces
    .filter(
      ({ metadata }) =>
        metadata.deletionTimestamp === undefined &&
        matchesSelector(object.spec.namespaceSelector, metadata.labels),
    )
    .map(({ metadata }) => metadata.name)
    .toSorted();
}

/** Why no NAD is made of an object that is valid; undefined if there is no such reason. */
export const unsupportedNetwork = (object: NetworkObject): string | undefined =>
  object.kind === 'ClusterUserDefinedNetwork' && object.spec.uplinks !== undefined
    ? 'spec.uplinks is set but the Uplink feature is disabled, ignoring this CUDN'
    : undefined;
