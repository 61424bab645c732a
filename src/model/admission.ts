/**
 * What can have rows in this zone: all but objects whose rows would have the names or addresses of others', or whose subnets
 * are too small for the addresses that rows need. Pure; of two that clash the one of the lower id wins.
 */
import { hasAddress } from '../allocators/addresses.ts';
import { networkMasqueradeOffsets, POD_SUBNET_OFFSETS } from '../allocators/node-addresses.ts';
import type { ClusterSettings, Network, NodeFacts } from './model.ts';
import { isDefault, switchesOf } from './names.ts';
import { clusterFamilies, hasGateway, joinSubnets } from './network-addresses.ts';
import type { ObjectReading } from './reading.ts';
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

/** What belongs to one node alone. */
export const identitiesOf = (node: NodeFacts): readonly string[] => [
  `node id ${node.id}`,
  `chassis id ${node.chassisId}`,
  ...node.encapIps.map((ip) => `tunnel address ${ip}`),
];

/** Another node, if it is its identities' owner before `node` is. */
export function admitNode(
  node: NodeFacts,
  ownerOf: (identity: string) => string | undefined,
): ObjectReading<NodeFacts> {
  for (const identity of identitiesOf(node)) {
    const owner = ownerOf(identity);
    if (owner === undefined) continue;
    const message = `node "${node.name}": ${identity} is that of node "${owner}" too; correct the annotations of the wrong one`;
    return { kind: 'problem', message };
  }
  return { kind: 'value', value: node };
}

export interface AdmissionContext {
  readonly settings: ClusterSettings;
  readonly node: Pick<NodeFacts, 'name' | 'id'>;
  /** Subnets of the network on this node. */
  readonly nodeSubnets: readonly string[];
  /** The admitted network of a lower id that has a switch of that name. */
  readonly ownerOf: (logicalSwitch: string) => string | undefined;
}

/** A network that gets rows here once something uses it; pending: one that this release does not render. */
export function admitNetwork(network: Network, context: AdmissionContext): ObjectReading<Network> {
  const notRendered = whyNotRendered(network);
  if (notRendered !== undefined && !isDefault(network))
    return { kind: 'pending', waitsFor: notRendered };
  const problem =
    nameProblem(network.name, context.node.name) ??
    smallSubnet(network, context) ??
    takenSwitch(network, context);
  return problem === undefined
    ? { kind: 'value', value: network }
    : { kind: 'problem', message: `network ${JSON.stringify(network.name)}: ${problem}` };
}

/**
 * UDNs `a-b` and `a.b` have one prefix, a node `join` would have the join switch for its pods.
 */
function takenSwitch(network: Network, { node, ownerOf }: AdmissionContext): string | undefined {
  const switches = switchesOf(network, node.name);
  for (const name of switches) {
    const owner = ownerOf(name);
    if (owner !== undefined)
      return `its switch "${name}" would have the name of one of network "${owner}"; rename one of the two`;
  }
  return new Set(switches).size < switches.length
    ? `node "${node.name}" has the name of a switch of every network; rename the node`
    : undefined;
}

/** Which subnet has no room for what this node needs of it, and what to do. */
function smallSubnet(
  network: Network,
  { settings, node, nodeSubnets }: AdmissionContext,
): string | undefined {
  const firstPod = POD_SUBNET_OFFSETS.managementPort + 1;
  const podSubnet = nodeSubnets.find((cidr) => !hasAddress(cidr, firstPod));
  if (podSubnet !== undefined)
    return `subnet ${podSubnet} of node "${node.name}" has no room for a gateway, a management port and pods; give its nodes larger subnets`;
  const join = joinSubnets(settings, network).find((subnet) => !hasAddress(subnet, node.id));
  if (join !== undefined)
    return `join subnet ${join} has no address for node "${node.name}" with id ${node.id}; give the network a larger one`;
  if (!hasGateway(network) || isDefault(network)) return undefined;
  const offset = networkMasqueradeOffsets(network.id).managementPort;
  const masquerade = clusterFamilies(settings)
    .flatMap((family) => settings.masqueradeSubnets[family] ?? [])
    .find((subnet) => !hasAddress(subnet, offset));
  return masquerade === undefined
    ? undefined
    : `masquerade subnet ${masquerade} has no addresses for network id ${network.id}; configure a larger one`;
}
