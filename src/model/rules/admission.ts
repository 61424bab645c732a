/**
 * What can have rows in this zone: all but objects whose rows would have the names or addresses of others', or whose subnets
 * are too small for the addresses that rows need. Pure; of two that clash the one of the lower id wins.
 */
import { familyOf, hasAddress } from '../../allocators/addresses.ts';
import { LAST_FIXED_NETWORK_ID } from '../../allocators/ids.ts';
import { isDynamicTunnelKey, switchTunnelKey } from '../../allocators/tunnel-keys.ts';
import { NETWORK_ID, TUNNEL_KEYS } from '../../api/annotations/network-annotations.ts';
import { familyCidrs, isRoutedLayer2, tunnelKeyCount } from '../../api/nad/network-config.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import { networkMasqueradeOffsets, POD_SUBNET_OFFSETS } from '../../allocators/node-addresses.ts';
import type { ClusterSettings, Network, NodeFacts } from '../model.ts';
import { isDefault, switchesOf } from './names.ts';
import { clusterFamilies, hasGateway, hasTransitLink, joinSubnets } from './network-addresses.ts';
import type { NetworkRegistration } from '../read/networks.ts';
import type { ObjectReading } from '../read/reading.ts';
import { whyNotRendered } from './rendering.ts';

/**
 * Names become parts of matches, where a quote would end a string: only these characters get there. Names of Kubernetes
 * objects have no others; the name of a network in a NAD's CNI configuration is free text.
 */
const SAFE_NAME = /^[A-Za-z0-9._/-]+$/;

/** Why names can't be part of rows; undefined if they can. */
export function nameProblem(...names: readonly string[]): string | undefined {
  const unsafe = names.find((name) => !SAFE_NAME.test(name));
  return unsafe === undefined
    ? undefined
    : `the name ${JSON.stringify(unsafe)} may only hold letters, digits and "." "_" "-" "/"; rename it`;
}

/** Something with an id: where two clash, the lower one comes first. */
interface Ranked {
  readonly id: number;
  readonly name: string;
}

export const comesBefore = (a: Ranked, b: Ranked): boolean =>
  a.id < b.id || (a.id === b.id && a.name < b.name);

/** A node keeps what it had before another one says that it has it; of those of a start the lower id comes first. */
export const nodeComesBefore = (a: NodeFacts, b: NodeFacts): boolean =>
  (a.since ?? 0) === (b.since ?? 0) ? comesBefore(a, b) : (a.since ?? 0) < (b.since ?? 0);

/** A network with what decides who has a tunnel key. */
export type KeyedNetwork = Pick<NetworkRegistration, 'id' | 'tunnelKeys' | 'since' | 'created'> & {
  readonly name: string;
};

/** Keys of a network's datapaths, those that follow from its id included: packets between nodes are told apart by nothing else. */
export const tunnelKeysOf = ({ id, tunnelKeys }: KeyedNetwork): readonly string[] => [
  ...new Set(
    [...tunnelKeys.toReversed(), ...(id > LAST_FIXED_NETWORK_ID ? [] : [switchTunnelKey(id)])].map(
      String,
    ),
  ),
];

/** As for nodes; of networks of a start the older one comes first. */
export function keyedNetworkComesBefore(a: KeyedNetwork, b: KeyedNetwork): boolean {
  if (a.since !== b.since) return a.since < b.since;
  return a.created === b.created ? comesBefore(a, b) : a.created < b.created;
}

/** What belongs to one node alone. */
export const identitiesOf = (node: NodeFacts): readonly string[] => [
  `node id ${node.id}`,
  `chassis id ${node.chassisId}`,
  ...node.encapIps.map((ip) => `tunnel address ${ip}`),
];

const RENAMED = 'if one of them is the name that the machine had before, delete that Node';

/** Annotations of a node but its id follow from its host, which writes them again. */
const remedyFor = (identity: string): string =>
  identity.startsWith('tunnel')
    ? `${RENAMED}; else correct --encap-ip, or the address, of the wrong one`
    : identity.startsWith('chassis')
      ? `${RENAMED}; else give the wrong one, a cloned machine perhaps, another system-id (external_ids of its Open_vSwitch database)`
      : 'correct the annotations of the wrong one';

/** Another node, if it is its identities' owner before `node` is. */
export function admitNode(
  node: NodeFacts,
  ownerOf: (identity: string) => string | undefined,
): ObjectReading<NodeFacts> {
  for (const identity of identitiesOf(node)) {
    const owner = ownerOf(identity);
    if (owner === undefined) continue;
    const message = `node "${node.name}": ${identity} is that of node "${owner}" too; ${remedyFor(identity)}`;
    return { kind: 'problem', message };
  }
  return { kind: 'value', value: node };
}

/** Something that no two networks of a zone can both have. */
interface NetworkIdentity {
  readonly id: string;
  /** What is wrong when another network has it too, and what to do. */
  readonly clash: (owner: string) => string;
}

/** Key of a Layer2 network's transit router; undefined for other networks, and while the cluster manager has given none. */
export const transitRouterKey = (
  network: Pick<Network, 'topology' | 'role' | 'hasRouter' | 'tunnelKeys'>,
): number | undefined => (isRoutedLayer2(network) ? network.tunnelKeys[1] : undefined);

/** Key of the switch of a network that spans zones: its transit switch, or its one switch on Layer2. Throws for a network that was not admitted. */
export function switchKey({ name, id, tunnelKeys }: Network): number {
  const key = id > LAST_FIXED_NETWORK_ID ? tunnelKeys[0] : switchTunnelKey(id);
  if (key === undefined) throw new Error(`network ${name} has no tunnel key`);
  return key;
}

const ANOTHER_KEY = `remove the annotation ${TUNNEL_KEYS} from its NADs: the cluster manager gives another one`;

function networkIdentities(network: Network, node: string): readonly NetworkIdentity[] {
  const prefix = ovnPrefix(network.name);
  return [
    ...switchesOf(network, node).map((name) => ({
      id: `switch ${name}`,
      clash: (owner: string) =>
        `its switch "${name}" would have the name of one of network "${owner}"; rename one of the two`,
    })),
    {
      id: `prefix ${prefix}`,
      clash: (owner) =>
        `its rows would have the prefix "${prefix}", as those of network "${owner}"; rename one of the two`,
    },
  ];
}

export const idsOfNetwork = (network: Network, node: string): readonly string[] =>
  networkIdentities(network, node).map(({ id }) => id);

export interface AdmissionContext {
  readonly settings: ClusterSettings;
  readonly node: Pick<NodeFacts, 'name' | 'id'>;
  /** Subnets of the network on this node; layer3 only. */
  readonly nodeSubnets: readonly string[];
  /** The admitted network of a lower id that has that identity. */
  readonly ownerOf: (identity: string) => string | undefined;
  /** A tunnel key of it that another network had before it. */
  readonly takenKey: { readonly key: string; readonly owner: string } | undefined;
}

/** Whether a network has rows here. */
export type NetworkAdmission = ObjectReading<Network> & {
  /** A refused network that may have been written with other settings: what there is of it stays. */
  readonly keepsRows?: boolean;
};

/** A network that gets rows here once something uses it; pending: one that this release does not render, or without keys yet. */
export function admitNetwork(network: Network, context: AdmissionContext): NetworkAdmission {
  const waitsFor = isDefault(network)
    ? undefined
    : (whyNotRendered(network) ?? missingKeys(network));
  if (waitsFor !== undefined) return { kind: 'pending', waitsFor };
  const clash =
    nameProblem(network.name, context.node.name) ??
    wrongKey(network) ??
    takenIdentity(network, context) ??
    keyProblem(network, context);
  const small = clash === undefined ? smallSubnet(network, context) : undefined;
  const problem = clash ?? small;
  if (problem === undefined) return { kind: 'value', value: network };
  const message = `network ${JSON.stringify(network.name)}: ${problem}`;
  return { kind: 'problem', message, keepsRows: small !== undefined };
}

/** A router that spans zones has one key in all of them, or packets of one network would arrive in another. */
const missingKeys = (network: Network): string | undefined =>
  network.tunnelKeys.length < tunnelKeyCount(network, network.id)
    ? `waits for tunnel keys of its switch and router (annotation ${TUNNEL_KEYS} of its NADs)`
    : undefined;

/** Keys of other ranges are those of switches, and those that ovn-northd gives. */
function wrongKey(network: Network): string | undefined {
  const router = transitRouterKey(network);
  if (router !== undefined && !isDynamicTunnelKey(router))
    return `the tunnel key ${router} of its router is none that routers have; ${ANOTHER_KEY}`;
  const [own] = network.id > LAST_FIXED_NETWORK_ID ? network.tunnelKeys : [];
  return own === undefined || isDynamicTunnelKey(own)
    ? undefined
    : `the tunnel key ${own} of its switch is none that networks of its id have; ${ANOTHER_KEY}`;
}

/**
 * UDNs `a-b` and `a.b` have one prefix, a node `join` would have the join switch for its pods.
 */
function takenIdentity(network: Network, { node, ownerOf }: AdmissionContext): string | undefined {
  for (const { id, clash } of networkIdentities(network, node.name)) {
    const owner = ownerOf(id);
    if (owner !== undefined) return clash(owner);
  }
  const switches = switchesOf(network, node.name);
  return new Set(switches).size < switches.length
    ? `node "${node.name}" has the name of a switch of every network; rename the node`
    : undefined;
}

/** Datapaths of one key are one network to a node that gets a packet of it. */
function keyProblem(network: Network, { takenKey }: AdmissionContext): string | undefined {
  if (takenKey === undefined) return undefined;
  const { key, owner } = takenKey;
  return key === String(transitRouterKey(network))
    ? `the tunnel key ${key} of its router is that of network "${owner}" too; ${ANOTHER_KEY}`
    : `the tunnel key ${key} (network id ${network.id}) is that of network "${owner}" too; remove the annotations ${NETWORK_ID} and ${TUNNEL_KEYS} from its NADs: the cluster manager gives others`;
}

/** Which subnet has no room for what this node needs of it, and what to do. */
function smallSubnet(
  network: Network,
  { settings, node, nodeSubnets }: AdmissionContext,
): string | undefined {
  const firstPod = POD_SUBNET_OFFSETS.managementPort + 1;
  const isSmall = (cidr: string): boolean => !hasAddress(cidr, firstPod);
  if (network.topology === 'layer3') {
    const podSubnet = nodeSubnets.find(isSmall);
    if (podSubnet !== undefined)
      return `subnet ${podSubnet} of node "${node.name}" has no room for a gateway, a management port and pods; give its nodes larger subnets`;
  } else if (hasGateway(network)) {
    const subnet = network.subnets.map(({ cidr }) => cidr).find(isSmall);
    if (subnet !== undefined)
      return `subnet ${subnet} has no room for a gateway, a management port and pods; give the network a larger one`;
    const transit = familyCidrs(network.transitSubnets).find((one) => !hasTransitLink(one, node));
    if (transit !== undefined)
      return `transit subnet ${transit} has no pair of addresses for node "${node.name}" with id ${node.id}; give the network a larger one`;
  }
  const join = joinSubnets(settings, network).find((subnet) => !hasAddress(subnet, node.id));
  if (join !== undefined)
    return `join subnet ${join} has no address for node "${node.name}" with id ${node.id}; give the network a larger one`;
  if (!hasGateway(network) || isDefault(network)) return undefined;
  if (network.masqueradeNumber === undefined) return undefined;
  const offset = networkMasqueradeOffsets(network.masqueradeNumber).managementPort;
  const families = new Set([
    ...clusterFamilies(settings),
    ...network.subnets.map(({ cidr }) => familyOf(cidr)),
  ]);
  const masquerade = [...families]
    .flatMap((family) => settings.masqueradeSubnets[family] ?? [])
    .find((subnet) => !hasAddress(subnet, offset));
  return masquerade === undefined
    ? undefined
    : `masquerade subnet ${masquerade} has no addresses for network id ${network.id}; configure a larger one`;
}
