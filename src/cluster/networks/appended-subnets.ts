/**
 * Ranges that a Layer3 network grows by (seed 003): each is judged as those of a new network are, and one that is refused leaves the
 * network as it is.
 */
import { formatPrefix, parsePrefix } from '../../allocators/addresses.ts';
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
export interface SubnetRefusal extends NetworkRefusalText {
  /** As written in the object. */
  readonly cidr: string;
}

export interface Growth {
  /** The object with the ranges that its network has and gets, and no others. */
  readonly object: NetworkObject;
  /** What the network grows by, whether or not its NADs show it yet. */
  readonly appended: readonly SubnetEntry[];
  readonly refused: readonly SubnetRefusal[];
  readonly missing: readonly SubnetRefusal[];
}

/** What becomes of the ranges of an object. `namespaces`: those in which its network should be. */
export function growthOf(
  object: NetworkObject,
  namespaces: readonly string[],
  context: GrowthContext,
): Growth {
  const unchanged = { object, appended: [], refused: [], missing: [] };
  const layer3 = layer3Of(object);
  const name = networkOf(object);
  const nads = context.registry
    .ofNetwork(name)
    .filter(({ ownerUid }) => ownerUid === object.metadata.uid);
  const held = new Map(nads.flatMap(({ config }) => config.subnets.map((one) => [one.cidr, one])));
  // A network without a NAD is judged as a new one, in each namespace.
  if (layer3 === undefined || held.size === 0) return unchanged;
  const granted = new Set(context.registry.grantedTo(name).map(({ cidr }) => cidr));
  const places = [...new Set([...nads.map(({ namespace }) => namespace), ...namespaces])];
  const kept: Layer3Subnet[] = [];
  const appended: SubnetEntry[] = [];
  const refused: SubnetRefusal[] = [];
  for (const subnet of layer3.subnets) {
    const cidr = canonical(subnet.cidr);
    const isGranted = granted.has(cidr);
    const refusal =
      held.has(cidr) || isGranted
        ? undefined
        : (renderRefusal(withSubnets(object, layer3, [...kept, subnet]), places, context) ??
          refusalOfRange({ cidr }, { name, role: roleOf(object) }, places, context));
    if (refusal !== undefined) refused.push({ ...refusal, cidr: subnet.cidr });
    else kept.push(subnet);
    // What is granted stays so: an informer may yet show a NAD from before.
    if (refusal === undefined && (isGranted || !held.has(cidr)))
      appended.push({
        cidr,
        ...(subnet.hostSubnet === undefined ? {} : { hostLength: subnet.hostSubnet }),
      });
  }
  const asked = new Set(layer3.subnets.map(({ cidr }) => canonical(cidr)));
  const missing = [...held.values()].filter(({ cidr }) => !asked.has(cidr));
  const subnets = [
    ...kept,
    ...missing.map(({ cidr, hostLength }) => ({
      cidr,
      ...(hostLength === undefined ? {} : { hostSubnet: hostLength }),
    })),
  ];
  return {
    object: withSubnets(object, layer3, subnets),
    appended,
    refused,
    missing: missing.map(({ cidr }) => ({
      cidr,
      message: `subnet ${cidr} is in use by network ${name} and can't be removed: write it again`,
    })),
  };
}

const canonical = (cidr: string): string => {
  const prefix = parsePrefix(cidr);
  return prefix === undefined ? cidr : formatPrefix(prefix);
};

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
  return rendered.ok ? undefined : { message: rendered.error };
}
