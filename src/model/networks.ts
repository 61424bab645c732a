/** NADs and node subnets → networks. */
import { AllocationError } from '../allocators/allocation-error.ts';
import { formatAddress, parsePrefix } from '../allocators/addresses.ts';
import { masqueradeAddresses } from '../allocators/node-addresses.ts';
import { incompatibility, parseNad } from '../api/nad/nad.ts';
import { annotationOf } from '../api/annotations/annotations.ts';
import {
  NETWORK_ID,
  networkId,
  TUNNEL_KEYS,
  tunnelKeys,
} from '../api/annotations/network-annotations.ts';
import type { NetworkConfig } from '../api/nad/network-config.ts';
import { DEFAULT_NETWORK as DEFAULT_NAME } from '../api/nad/network-name.ts';
import { objectKey, type OwnerReference } from '../api/objects.ts';
import type { NetworkAttachmentDefinition } from '../api/types.ts';
import type {
  ClusterSettings,
  MasqueradePair,
  Network,
  NetworkName,
  NetworkSubnet,
  PerFamily,
} from './model.ts';
import { awaited, optional, type ObjectReading, reading } from './reading.ts';

export const DEFAULT_NETWORK = DEFAULT_NAME as NetworkName;

/** What one NAD says of its network. */
export interface NetworkDefinition {
  readonly name: string;
  readonly config: NetworkConfig;
  readonly id: number;
  readonly tunnelKeys: readonly number[];
  /** NAD key `<namespace>/<name>`. */
  readonly nad: string;
  readonly namespace: string;
  /** Made from a UserDefinedNetwork or ClusterUserDefinedNetwork, not by hand. */
  readonly isGenerated: boolean;
  /** The object that asks for the network: `UserDefinedNetwork blue/blue`, or the NAD itself. */
  readonly object: string;
}

/** What a NAD's definition is read from: while it stays the same, so does the definition. */
export const definitionTexts = (nad: NetworkAttachmentDefinition): readonly unknown[] => {
  const owner = controllerOf(nad);
  return [
    nad.spec?.config,
    annotationOf(nad, NETWORK_ID),
    annotationOf(nad, TUNNEL_KEYS),
    owner?.kind,
    owner?.name,
  ];
};

/** Reads a NAD; undefined for one that is not of a network of ours. */
export function readDefinition(
  nad: NetworkAttachmentDefinition,
  settings: ClusterSettings,
): ObjectReading<NetworkDefinition> | undefined {
  const parsed = parseNad(nad, settings);
  if (parsed.outcome === 'invalid') return { kind: 'problem', message: parsed.error };
  if (parsed.outcome !== 'network') return undefined;
  const { config } = parsed;
  return reading(() => ({
    name: config.name,
    config,
    id: awaited(networkId(nad), 'network id (annotation k8s.ovn.org/network-id)'),
    tunnelKeys: optional(tunnelKeys(nad)) ?? [],
    nad: objectKey(nad.metadata),
    namespace: nad.metadata.namespace ?? '',
    isGenerated: controllerOf(nad) !== undefined,
    object: objectOf(nad),
  }));
}

const controllerOf = ({ metadata }: NetworkAttachmentDefinition): OwnerReference | undefined =>
  metadata.ownerReferences?.find((owner) => owner.controller === true);

/** The object that a NAD was made from, else the NAD. */
function objectOf(nad: NetworkAttachmentDefinition): string {
  const { namespace = '', name } = nad.metadata;
  const owner = controllerOf(nad);
  switch (owner?.kind) {
    case 'ClusterUserDefinedNetwork':
      return `${owner.kind} ${owner.name}`;
    case 'UserDefinedNetwork':
    case 'OVNSecondaryNetwork':
      return `${owner.kind} ${objectKey({ namespace, name: owner.name })}`;
    default:
      return `NetworkAttachmentDefinition ${objectKey({ namespace, name })}`;
  }
}

/** The cluster default network, which no NAD has to describe. */
export const defaultNetwork = (settings: ClusterSettings): Network => ({
  name: DEFAULT_NETWORK,
  id: 0,
  topology: 'layer3',
  role: 'primary',
  subnets: settings.clusterSubnets,
  excludeSubnets: [],
  reservedSubnets: [],
  infrastructureSubnets: [],
  defaultGatewayIPs: [],
  joinSubnets: forFamiliesOf(settings.clusterSubnets, settings.joinSubnets),
  transitSubnets: {},
  allowPersistentIPs: false,
  masquerade: {},
  mtu: settings.mtu,
  nads: [],
  tunnelKeys: [],
  object: 'cluster',
});

/** A network, and the NADs that can't stand for it. */
export interface AssembledNetwork {
  readonly network: ObjectReading<Network>;
  readonly leftOut: readonly { readonly nad: string; readonly message: string }[];
}

/**
 * The network that its NADs describe together; undefined when there is none. They must agree (api.md §3.4): those that
 * were generated count before those made by hand, then the smaller key; one that disagrees is left out.
 */
export function assembleNetwork(
  definitions: readonly NetworkDefinition[],
  settings: ClusterSettings,
): AssembledNetwork | undefined {
  const sorted = [...definitions].sort(
    (a, b) => Number(b.isGenerated) - Number(a.isGenerated) || (a.nad < b.nad ? -1 : 1),
  );
  const [first] = sorted;
  if (first === undefined) return undefined;
  const { config, id } = first;
  const leftOut = sorted.slice(1).flatMap((other) => {
    const key = other.id === id ? incompatibility(config, other.config) : NETWORK_ID;
    if (key === undefined) return [];
    const message = `CNI config does not match that of network ${config.name}, which ${first.nad} describes: "${key}" differs; make it equal or give the network another name`;
    return [{ nad: other.nad, message }];
  });
  const excluded = new Set(leftOut.map(({ nad }) => nad));
  const masquerade = masqueradePairs(config, id, settings);
  if (!masquerade.ok) return { network: { kind: 'problem', message: masquerade.error }, leftOut };
  const value: Network = {
    ...config,
    name: config.name as NetworkName,
    id,
    joinSubnets: forFamiliesOf(config.subnets, config.joinSubnets),
    masquerade: masquerade.value,
    nads: sorted
      .map(({ nad }) => nad)
      .filter((nad) => !excluded.has(nad))
      .sort(),
    tunnelKeys: first.tunnelKeys,
    object: first.object,
  };
  return { network: { kind: 'value', value }, leftOut };
}

const isV6 = (cidr: string): boolean => cidr.includes(':');

/** The families that a network's subnets have; a network without subnets has none. */
function forFamiliesOf(
  subnets: readonly NetworkSubnet[],
  values: PerFamily<string>,
): PerFamily<string> {
  const v6 = subnets.some(({ cidr }) => isV6(cidr));
  const v4 = subnets.some(({ cidr }) => !isV6(cidr));
  return {
    ...(v4 && values.v4 !== undefined ? { v4: values.v4 } : {}),
    ...(v6 && values.v6 !== undefined ? { v6: values.v6 } : {}),
  };
}

function masqueradePairs(
  config: NetworkConfig,
  id: number,
  settings: ClusterSettings,
):
  | { readonly ok: true; readonly value: PerFamily<MasqueradePair> }
  | { readonly ok: false; readonly error: string } {
  if (config.role !== 'primary') return { ok: true, value: {} };
  const subnets = forFamiliesOf(config.subnets, settings.masqueradeSubnets);
  const pair = (subnet: string | undefined): MasqueradePair | undefined => {
    const prefix = subnet === undefined ? undefined : parsePrefix(subnet);
    if (prefix === undefined) return undefined;
    const { gatewayRouter, managementPort } = masqueradeAddresses(prefix, id);
    return {
      gatewayRouter: formatAddress(gatewayRouter),
      managementPort: formatAddress(managementPort),
    };
  };
  try {
    const [v4, v6] = [pair(subnets.v4), pair(subnets.v6)];
    return {
      ok: true,
      value: { ...(v4 === undefined ? {} : { v4 }), ...(v6 === undefined ? {} : { v6 }) },
    };
  } catch (error) {
    if (!(error instanceof AllocationError)) throw error;
    return { ok: false, error: `${error.message}; configure a larger masquerade subnet` };
  }
}
