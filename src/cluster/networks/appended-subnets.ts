/**
 * Ranges that a Layer3 network grows by (reference/api.md §8): each is judged as those of a new network are, and one that is refused leaves the
 * network as it is.
 */
import { canonicalCidr } from '../../allocators/addresses.ts';
import { renderNad } from '../../api/nad/nad.ts';
import type { SubnetEntry } from '../../api/nad/network-config.ts';
import type { NetworkObject } from '../../api/nad/network-spec.ts';
import type { Layer3Config, Layer3Subnet } from '../../api/types.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { networkOf, roleOf } from './network-objects.ts';
import {
  refusalOfRange,
  type NetworkRefusalText,
  type NewNetworkContext,
} from './new-network-rules.ts';

export interface GrowthContext extends NewNetworkContext {
  readonly cluster: ClusterSettings;
}

/** A range that an object asks for and its network does not get, or that it has and the object does not name any more. */
interface SubnetRefusal extends NetworkRefusalText {
  /** As written in the object. */
  readonly cidr: string;
}

export interface Growth {
  /** The object with the ranges that its network has and gets, and no others. */
  readonly object: NetworkObject;
  /** What the network may have from now on, whether or not its NADs show it yet; empty for one that has no NAD. */
  readonly granted: readonly SubnetEntry[];
  readonly refused: readonly SubnetRefusal[];
  readonly missing: readonly SubnetRefusal[];
}

/** What becomes of the ranges of an object. `namespaces`: those in which its network should be. */
export function growthOf(
  object: NetworkObject,
  namespaces: readonly string[],
  context: GrowthContext,
): Growth {
  const { registry } = context;
  const layer3 = layer3Of(object);
  const name = networkOf(object);
  const nads = registry.ofNetwork(name).filter(({ ownerUid }) => ownerUid === object.metadata.uid);
  // A network without a NAD is judged as a new one, in each namespace.
  if (layer3 === undefined || nads.length === 0)
    return { object, granted: [], refused: [], missing: [] };
  // Asked of the NADs once: what somebody writes into them later is not the network's.
  const before = registry.grantedTo(name);
  const held = new Map(
    (before.length > 0 ? before : nads.flatMap(({ config }) => config.subnets)).map(
      (one) => [one.cidr, one] as const,
    ),
  );
  const places = [...new Set([...nads.map(({ namespace }) => namespace), ...namespaces])];
  const kept: Layer3Subnet[] = [];
  const refused: SubnetRefusal[] = [];
  for (const subnet of layer3.subnets) {
    const cidr = canonicalCidr(subnet.cidr);
    const refusal = held.has(cidr)
      ? undefined
      : (renderRefusal(withSubnets(object, layer3, [...kept, subnet]), places, context) ??
        refusalOfRange({ cidr }, { name, role: roleOf(object) }, places, context));
    if (refusal === undefined) kept.push(subnet);
    else refused.push({ ...refusal, cidr: subnet.cidr });
  }
  const asked = new Set(layer3.subnets.map(({ cidr }) => canonicalCidr(cidr)));
  const missing = [...held.values()].filter(({ cidr }) => !asked.has(cidr));
  return {
    object: withSubnets(object, layer3, [...kept, ...missing.map(asWritten)]),
    granted: [...kept.map(asEntry), ...missing],
    refused,
    missing: missing.map(({ cidr }) => ({
      cidr,
      message: `subnet ${cidr} is in use by network ${name} and can't be removed: write it again`,
    })),
  };
}

const asEntry = ({ cidr, hostSubnet }: Layer3Subnet): SubnetEntry => ({
  cidr: canonicalCidr(cidr),
  ...(hostSubnet === undefined ? {} : { hostLength: hostSubnet }),
});

const asWritten = ({ cidr, hostLength }: SubnetEntry): Layer3Subnet => ({
  cidr,
  ...(hostLength === undefined ? {} : { hostSubnet: hostLength }),
});

/** Ranges of an object as written; none where they can't change anyway. */
export const rangesOf = (object: NetworkObject): readonly string[] =>
  roleOf(object) === 'primary' ? (layer3Of(object)?.subnets ?? []).map(({ cidr }) => cidr) : [];

function layer3Of(object: NetworkObject): Layer3Config | undefined {
  switch (object.kind) {
    case 'UserDefinedNetwork':
      return object.spec.layer3;
    case 'ClusterUserDefinedNetwork':
      return object.spec.network.layer3;
    case 'OVNSecondaryNetwork':
      return undefined;
  }
}

function withSubnets(
  object: NetworkObject,
  layer3: Layer3Config,
  subnets: readonly Layer3Subnet[],
): NetworkObject {
  const changed = { layer3: { ...layer3, subnets } };
  switch (object.kind) {
    case 'UserDefinedNetwork':
      return { ...object, spec: { ...object.spec, ...changed } };
    case 'ClusterUserDefinedNetwork':
      return {
        ...object,
        spec: { ...object.spec, network: { ...object.spec.network, ...changed } },
      };
    case 'OVNSecondaryNetwork':
      return object;
  }
}

/** What the cluster's own ranges, or those of the network itself, have against it. */
function renderRefusal(
  object: NetworkObject,
  [namespace = '']: readonly string[],
  { cluster }: GrowthContext,
): NetworkRefusalText | undefined {
  const rendered = renderNad(object, namespace, cluster);
  return rendered.kind === 'value' ? undefined : { message: rendered.error };
}
