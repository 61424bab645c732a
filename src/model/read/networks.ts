/** NADs and node subnets → networks. */
import { formatAddress, parsePrefix } from '../../allocators/addresses.ts';
import { masqueradeAddresses, maxMasqueradeNetworkId } from '../../allocators/node-addresses.ts';
import type { RegisteredNetwork } from '../../api/nad/nad-registry.ts';
import { readNad, type RegisteredNad } from '../../api/nad/registered-nad.ts';
import { annotationOf } from '../../api/annotations/annotations.ts';
import {
  NETWORK_ID,
  ON_DEMAND,
  networkId,
  SECONDARY_GATEWAY,
  SERVICE_POOL,
  TUNNEL_KEYS,
  tunnelKeys,
} from '../../api/annotations/network-annotations.ts';
import { networkAttachmentDefinitions } from '../../api/kinds.ts';
import type { NetworkConfig } from '../../api/nad/network-config.ts';
import { DEFAULT_NETWORK as DEFAULT_NAME } from '../../api/nad/network-name.ts';
import { objectKey } from '../../api/objects.ts';
import type { NetworkAttachmentDefinition } from '../../api/types.ts';
import type {
  ClusterSettings,
  MasqueradePair,
  Network,
  NetworkName,
  NetworkSubnet,
  PerFamily,
} from '../model.ts';
import type { ObjectKind } from './object-kind.ts';
import { awaited, optional, type ObjectReading, reading } from './reading.ts';
import { unheeded } from './unheeded.ts';

export const DEFAULT_NETWORK = DEFAULT_NAME as NetworkName;

/** A NAD that counts for its network. */
export interface NetworkDefinition {
  readonly network: string;
  /** Namespace of the NAD. */
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Ranges for services, as the NAD's annotation says them. */
  readonly servicePool: string | undefined;
  /** Whether and how pods leave a secondary network, as the NAD's annotation says it. */
  readonly secondaryGateway: string | undefined;
  /** It was made from a ClusterUserDefinedNetwork, whose labels it has. */
  readonly isOfCluster: boolean;
}

/** What the NADs of a network say together. */
export interface NetworkRegistration {
  readonly config: NetworkConfig;
  readonly id: number;
  readonly tunnelKeys: readonly number[];
  /** Nodes report it where something uses it. */
  readonly isOnDemand: boolean;
  /** When the NAD was created that decides what the network is. */
  readonly created: string;
  /** Round of the process in which the network was first seen with its id and keys. */
  readonly since: number;
  /** Keys of the NADs that count, sorted. */
  readonly nads: readonly string[];
  /** The object that asks for the network: `UserDefinedNetwork blue/blue`, or the NAD that decides what it is. */
  readonly object: string;
}

/** What a NAD is read from: while it stays the same, so does what it says. */
const definitionTexts = (nad: NetworkAttachmentDefinition): readonly unknown[] => {
  const { uid, creationTimestamp, ownerReferences } = nad.metadata;
  const owner = ownerReferences?.find(({ controller }) => controller === true);
  return [
    nad.spec?.config,
    annotationOf(nad, NETWORK_ID),
    annotationOf(nad, TUNNEL_KEYS),
    annotationOf(nad, ON_DEMAND),
    annotationOf(nad, SERVICE_POOL),
    annotationOf(nad, SECONDARY_GATEWAY),
    uid,
    creationTimestamp,
    owner?.kind,
    owner?.name,
    owner?.uid,
    JSON.stringify(nad.metadata.labels),
  ];
};

/** Reads a NAD; one of another plugin is noted as such. */
function readDefinition(
  nad: NetworkAttachmentDefinition,
  settings: ClusterSettings,
): ObjectReading<RegisteredNad | 'other'> {
  const read = readNad(nad, settings);
  if (read.kind === 'other') return { kind: 'value', value: 'other' };
  if (read.kind === 'invalid') return { kind: 'problem', message: read.error };
  return reading(() => {
    awaited(networkId(nad), 'network id (annotation k8s.ovn.org/network-id)');
    optional(tunnelKeys(nad));
    return read.nad;
  });
}

/** A network as the registry of NADs decided, as a fact; undefined before it has an id. */
export function registrationOf(
  network: RegisteredNetwork,
  since: number,
): NetworkRegistration | undefined {
  const [first] = network.nads;
  if (first === undefined || network.id === undefined) return undefined;
  return {
    config: network.config,
    id: network.id,
    tunnelKeys: first.tunnelKeys ?? [],
    isOnDemand: first.isOnDemand,
    created: first.creationTimestamp,
    since,
    nads: network.nads.map(({ key }) => key).sort(),
    object: objectOf(first),
  };
}

/** The object that a NAD was made from, else the NAD: NADs have the names of their objects. */
function objectOf({
  ownerKind,
  key,
  name,
}: Pick<RegisteredNad, 'ownerKind' | 'key' | 'name'>): string {
  switch (ownerKind) {
    case 'ClusterUserDefinedNetwork':
      return `${ownerKind} ${name}`;
    case 'UserDefinedNetwork':
    case 'OVNSecondaryNetwork':
      return `${ownerKind} ${key}`;
    default:
      return `NetworkAttachmentDefinition ${key}`;
  }
}

/** The object that the rows of a NAD's network are there for, as far as the NAD's metadata tells. */
function ownersOf({ metadata }: NetworkAttachmentDefinition): readonly string[] {
  const { name, ownerReferences } = metadata;
  const owner = ownerReferences?.find(({ controller }) => controller === true);
  return owner === undefined
    ? []
    : [objectOf({ ownerKind: owner.kind, key: objectKey(metadata), name })];
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

/**
 * The network that its NADs describe together; `isOptedIn`: they ask for a gateway of a secondary one; `number`: its masquerade number on this
 * node, if it has one.
 */
export const assembleNetwork = (
  { config, id, tunnelKeys: keys, nads, object }: NetworkRegistration,
  settings: ClusterSettings,
  { isOptedIn, number }: { readonly isOptedIn: boolean; readonly number: number | undefined },
): Network => ({
  ...config,
  name: config.name as NetworkName,
  id,
  ...(number === undefined ? {} : { masqueradeNumber: number }),
  joinSubnets: forFamiliesOf(config.subnets, config.joinSubnets),
  masquerade:
    number !== undefined && (config.role === 'primary' || isOptedIn)
      ? masqueradePairs(config, number, settings)
      : {},
  ...(isOptedIn ? { isOptedIn } : {}),
  nads,
  tunnelKeys: keys,
  object,
});

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

/** None for a family whose masquerade subnet has no room for the network: it is not admitted then. */
function masqueradePairs(
  config: NetworkConfig,
  number: number,
  settings: ClusterSettings,
): PerFamily<MasqueradePair> {
  const subnets = forFamiliesOf(config.subnets, settings.masqueradeSubnets);
  const pair = (subnet: string | undefined): MasqueradePair | undefined => {
    const prefix = subnet === undefined ? undefined : parsePrefix(subnet);
    if (prefix === undefined || number > maxMasqueradeNetworkId(prefix)) return undefined;
    const { gatewayRouter, managementPort } = masqueradeAddresses(prefix, number);
    return {
      gatewayRouter: formatAddress(gatewayRouter),
      managementPort: formatAddress(managementPort),
    };
  };
  const [v4, v6] = [pair(subnets.v4), pair(subnets.v6)];
  return { ...(v4 === undefined ? {} : { v4 }), ...(v6 === undefined ? {} : { v6 }) };
}

export const definitionKind = {
  kind: networkAttachmentDefinitions,
  table: 'definitions',
  texts: definitionTexts,
  read: (nad, { settings }) => readDefinition(nad, settings),
  onUnreadable: 'keep',
  others: ownersOf,
  checks: [
    unheeded({
      'k8s.ovn.org/route-advertisements':
        'advertises no networks: nobody outside is told the way to pods of this one',
    }),
  ],
} as const satisfies ObjectKind<NetworkAttachmentDefinition, RegisteredNad | 'other'>;
