/** Networks as their objects declare them, and the names and numbers that follow (reference/topology.md §1, §2; reference/node.md §1). */
import { nthAddress, parsePrefix, type Prefix } from '../../allocators/addresses.ts';
import { annotationOf } from '../../api/annotations/annotations.ts';
import { SECONDARY_GATEWAY, tunnelKeys } from '../../api/annotations/network-annotations.ts';
import { MASQUERADE_NUMBERS, masqueradeNumbers } from '../../api/annotations/node-annotations.ts';
import { DEFAULT_NETWORK, ovnPrefix, parseNetworkName } from '../../api/nad/network-name.ts';
import { familyCidrs, type NetworkConfig } from '../../api/nad/network-config.ts';
import { isOptedIn } from '../../api/nad/secondary-gateway.ts';
import { readNad } from '../../api/nad/registered-nad.ts';
import { objectKey } from '../../api/objects.ts';
import type { NetworkAttachmentDefinition } from '../../api/types.ts';
import type { Findings } from '../findings.ts';
import type { Snapshot } from '../snapshot.ts';

/** First key of transit and Layer2 switches: this and the id (reference/topology.md §2). */
const FIRST_SWITCH_KEY = 16_711_683;
/** Own addresses of networks in the masquerade subnet begin there (reference/node.md §1.1). */
const FIRST_OWN_ADDRESS = 10;
/** The last id that tunnel keys and own addresses follow from. */
const LAST_FIXED_ID = 4095;
const FIRST_CONNECTION_MARK = 3;
export const FIRST_PACKET_MARK = 4096;
const DEFAULT_MARK = 1;

type Settings = Pick<Snapshot, 'settings'>;

/** What a proof has to know of a network. */
export interface VerifiedNetwork {
  readonly name: string;
  readonly id: number;
  /** `UserDefinedNetwork blue/net`; `cluster` for the default network. */
  readonly object: string;
  readonly prefix: string;
  readonly topology: NetworkConfig['topology'];
  readonly role: NetworkConfig['role'];
  /** Its pods leave the cluster by it: of secondary networks, those whose NADs ask for that. */
  readonly hasGateway: boolean;
  readonly subnets: readonly Prefix[];
  /** Where hosts may have addresses in subnets that nodes share, beside the second one of each. */
  readonly hostSubnets: readonly Prefix[];
  readonly joinSubnets: readonly Prefix[];
  readonly transitSubnets: readonly Prefix[];
  /** NADs by which pods name it. */
  readonly nads: readonly string[];
  readonly namespaces: readonly string[];
  readonly physical: string | undefined;
  readonly vlan: number | undefined;
  /** Tunnel keys that were given to it, of its switch and its router. */
  readonly tunnelKeys: readonly number[];
  /** Own addresses at the gateway router and at the host's port, one per family. */
  readonly gatewayAddresses: readonly string[];
  readonly hostAddresses: readonly string[];
  readonly connectionMark: number;
  readonly packetMark: number;
  readonly table: number;
  readonly hostPort: string;
}

const prefixes = (cidrs: readonly string[]): readonly Prefix[] =>
  cidrs.map(parsePrefix).filter((prefix) => prefix !== undefined);

const objectOf = (name: string, nad: string): string => {
  const owner = parseNetworkName(name);
  if (owner === undefined) return `NetworkAttachmentDefinition ${nad}`;
  return owner.kind === 'ClusterUserDefinedNetwork'
    ? `${owner.kind} ${owner.name}`
    : `${owner.kind} ${owner.namespace}/${owner.name}`;
};

type Numbers = Pick<
  VerifiedNetwork,
  'gatewayAddresses' | 'hostAddresses' | 'connectionMark' | 'packetMark' | 'table' | 'hostPort'
>;

/** `given`: the number that the node says the network has there, which one of a large id has none without (reference/api.md §6.8). */
function numbersOf(id: number, given: number | undefined, { settings }: Settings): Numbers {
  const number = id > LAST_FIXED_ID ? given : id;
  const own = (offset: number): string[] =>
    number === undefined || number === 0
      ? []
      : familyCidrs(settings.masqueradeSubnets).map((cidr) =>
          nthAddress(cidr, FIRST_OWN_ADDRESS + 2 * number + offset),
        );
  return {
    gatewayAddresses: own(-1),
    hostAddresses: own(0),
    connectionMark: id === 0 ? DEFAULT_MARK : FIRST_CONNECTION_MARK + id,
    packetMark: FIRST_PACKET_MARK + id,
    table: settings.routingTables + id,
    hostPort: `ovn-k8s-mp${id}`,
  };
}

/** Key of the switch that all zones share. */
export const sharedSwitchKey = ({ id, tunnelKeys: keys }: VerifiedNetwork): number | undefined =>
  id > LAST_FIXED_ID ? keys[0] : FIRST_SWITCH_KEY + id;

function defaultNetwork(snapshot: Settings): VerifiedNetwork {
  const { clusterSubnets, joinSubnets, transitSubnets } = snapshot.settings;
  return {
    name: DEFAULT_NETWORK,
    id: 0,
    object: 'cluster',
    prefix: '',
    topology: 'layer3',
    role: 'primary',
    hasGateway: true,
    hostSubnets: [],
    subnets: prefixes(clusterSubnets.map(({ cidr }) => cidr)),
    joinSubnets: prefixes(familyCidrs(joinSubnets)),
    transitSubnets: prefixes(familyCidrs(transitSubnets)),
    nads: [],
    namespaces: [],
    physical: undefined,
    vlan: undefined,
    tunnelKeys: [],
    ...numbersOf(0, undefined, snapshot),
  };
}

/** A NAD, and what it says of its network. */
interface ReadNad {
  readonly key: string;
  readonly nad: NetworkAttachmentDefinition;
  readonly id: number;
  readonly config: NetworkConfig;
}

/** What was read before of NADs that have not changed since: those are the same values. */
export class NetworkMemory {
  readonly #readings = new WeakMap<NetworkAttachmentDefinition, ReadNad | 'none'>();
  readonly #networks = new Map<
    string,
    { nads: readonly ReadNad[]; number: number | undefined; network: VerifiedNetwork }
  >();
  #defaultNetwork: VerifiedNetwork | undefined;

  read(nad: NetworkAttachmentDefinition, { settings }: Settings): ReadNad | undefined {
    let known = this.#readings.get(nad);
    if (known === undefined) {
      const reading = readNad(nad, settings);
      known =
        reading.kind !== 'network' || reading.nad.networkId === undefined
          ? 'none'
          : {
              key: objectKey(nad.metadata),
              nad,
              id: reading.nad.networkId,
              config: reading.nad.config,
            };
      this.#readings.set(nad, known);
    }
    return known === 'none' ? undefined : known;
  }

  network(
    name: string,
    nads: readonly [ReadNad, ...ReadNad[]],
    number: number | undefined,
    of: Settings,
  ): VerifiedNetwork {
    const known = this.#networks.get(name);
    if (
      known?.number === number &&
      known?.nads.length === nads.length &&
      nads.every((one, i) => one === known.nads[i])
    )
      return known.network;
    const network = networkOf(nads, number, of);
    this.#networks.set(name, { nads, number, network });
    return network;
  }

  defaultNetwork(of: Settings): VerifiedNetwork {
    return (this.#defaultNetwork ??= defaultNetwork(of));
  }
}

function networkOf(
  nads: readonly [ReadNad, ...ReadNad[]],
  number: number | undefined,
  of: Settings,
): VerifiedNetwork {
  const [{ config, id, key, nad }] = nads;
  return {
    name: config.name,
    id,
    object: objectOf(config.name, key),
    prefix: ovnPrefix(config.name),
    topology: config.topology,
    role: config.role,
    hasGateway:
      config.role === 'primary' ||
      isOptedIn(
        nads.map((one) => annotationOf(one.nad, SECONDARY_GATEWAY)),
        config,
        of.settings,
      ),
    subnets: prefixes(config.subnets.map(({ cidr }) => cidr)),
    hostSubnets: prefixes(
      config.defaultGatewayIPs.length > 0
        ? config.subnets.map(({ cidr }) => cidr)
        : config.infrastructureSubnets,
    ),
    joinSubnets: prefixes(familyCidrs(config.joinSubnets)),
    transitSubnets: prefixes([
      ...familyCidrs(config.transitSubnets),
      ...familyCidrs(of.settings.transitSubnets),
    ]),
    physical:
      config.topology === 'localnet' ? (config.physicalNetworkName ?? config.name) : undefined,
    vlan: config.vlan,
    tunnelKeys: tunnelKeys(nad).value ?? [],
    ...numbersOf(id, number, of),
    nads: nads.map((one) => one.key),
    namespaces: nads.map((one) => one.nad.metadata.namespace ?? ''),
  };
}

/**
 * Every network that has an id, the default one first; findings name ids that two networks have, and NADs of one network that do not agree.
 */
export function networksOf(
  snapshot: Settings & Pick<Snapshot, 'node' | 'objects'>,
  findings: Findings,
  memory = new NetworkMemory(),
): readonly VerifiedNetwork[] {
  const byName = new Map<string, [ReadNad, ...ReadNad[]]>();
  for (const nad of snapshot.objects.attachmentDefinitions) {
    const read = memory.read(nad, snapshot);
    if (read === undefined) continue;
    const known = byName.get(read.config.name);
    if (known === undefined) byName.set(read.config.name, [read]);
    else known.push(read);
  }
  // Of two that claim the same the order says which is named: not that in which they came.
  const sorted = [...byName].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [, nads] of sorted) nads.sort((a, b) => (a.key < b.key ? -1 : 1));
  for (const [name, [first, ...others]] of sorted)
    for (const { key, id } of others)
      if (id !== first.id)
        findings.wrong(
          'identities',
          `NetworkAttachmentDefinition ${key}`,
          `has network id ${id}, and another one of network ${name} has ${first.id}`,
          objectOf(name, first.key),
          [name],
        );
  const self = snapshot.objects.nodes.find(({ metadata }) => metadata.name === snapshot.node);
  const numbers = (self && masqueradeNumbers(self).value) ?? new Map<string, number>();
  const networks = [
    memory.defaultNetwork(snapshot),
    ...sorted.map(([name, nads]) => memory.network(name, nads, numbers.get(name), snapshot)),
  ];
  const byId = new Map<number, VerifiedNetwork>();
  for (const network of networks) {
    const other = byId.get(network.id);
    if (other !== undefined)
      findings.wrong(
        'identities',
        `network id ${network.id}`,
        `is of ${other.name} and of ${network.name}: marks, routing tables, tunnel keys and masquerade addresses follow from it`,
        network.object,
        [other.name, network.name],
      );
    byId.set(network.id, network);
  }
  const byAddress = new Map<string, VerifiedNetwork>();
  for (const network of networks)
    for (const address of network.gatewayAddresses) {
      const other = byAddress.get(address);
      if (other !== undefined && other.id !== network.id)
        findings.wrong(
          'identities',
          `masquerade address ${address}`,
          `is of ${other.name} and of ${network.name}, as annotation ${MASQUERADE_NUMBERS} of Node ${snapshot.node} has it`,
          network.object,
          [other.name, network.name],
        );
      byAddress.set(address, network);
    }
  return networks;
}
