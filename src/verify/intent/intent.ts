/** What objects say about a node, put together once for all checks. */
import {
  formatPrefix,
  hasAddress,
  nthAddress,
  withoutPrefix,
  type Prefix,
} from '../../allocators/addresses.ts';
import {
  chassisId,
  encapIps,
  gatewayConfig,
  hostCidrs,
  nodeId,
  nodeSubnets,
  nodeSubnetsOn,
} from '../../api/annotations/node-annotations.ts';
import { openDefaultPorts, type OpenPort } from '../../api/annotations/pod-annotations.ts';
import { objectKey } from '../../api/objects.ts';
import type { Node, Pod } from '../../api/types.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import type { Findings } from '../findings.ts';
import type { Objects, Snapshot } from '../snapshot.ts';
import { allOf, NONE, ofPrefix, type Ranges } from '../headers/ranges.ts';
import { connectionsOf, type VerifiedConnection } from './connections.ts';
import { networksOf, type VerifiedNetwork } from './networks.ts';
import { portsOf, type VerifiedPort } from './pods.ts';

export interface VerifiedNode {
  readonly name: string;
  readonly id: number | undefined;
  readonly chassis: string | undefined;
  readonly tunnelAddresses: readonly string[];
  readonly addresses: readonly string[];
  readonly bridge: string | undefined;
  readonly bridgePort: string | undefined;
  readonly vlan: number;
  readonly nextHops: readonly string[];
  /** Of its host's port on the default network: the second address of each subnet (reference/topology.md §2). */
  readonly defaultHostAddresses: readonly string[];
}

/** An object, and the networks that it lets touch each other. */
export interface Join {
  readonly object: string;
  readonly networks: readonly string[];
  readonly members: ReadonlySet<string>;
  /** Pods of one begin connections with pods of the others; else services are opened alone. */
  readonly opensPods: boolean;
  /** Of the subnets of all of them. */
  readonly addresses: Ranges;
}

const ofConnections = new WeakMap<
  VerifiedConnection,
  { readonly networks: readonly (VerifiedNetwork | undefined)[]; readonly join: Join }
>();

type Named = ReadonlyMap<string, VerifiedNetwork>;

/** The same value for the same connection of the same networks: who compares need not look at these. */
function joinOfConnection(connection: VerifiedConnection, byName: Named): Join {
  const { object, networks: members, opensPods } = connection;
  const networks = [...members].map((name) => byName.get(name));
  const known = ofConnections.get(connection);
  if (known !== undefined && networks.every((one, index) => one === known.networks[index]))
    return known.join;
  const join = joinOf(object, members, opensPods, byName);
  ofConnections.set(connection, { networks, join });
  return join;
}

const joinOf = (
  object: string,
  members: ReadonlySet<string>,
  opensPods: boolean,
  byName: Named,
): Join => ({
  object,
  networks: [...members],
  members,
  opensPods,
  addresses: allOf([...members].map((name) => addressesOf(byName.get(name)))),
});

/** Of the subnets of a network. */
export const addressesOf = (network: VerifiedNetwork | undefined): Ranges =>
  network === undefined ? NONE : allOf(network.subnets.map(ofPrefix));

export interface Intent {
  readonly node: string;
  readonly networks: readonly VerifiedNetwork[];
  readonly byName: ReadonlyMap<string, VerifiedNetwork>;
  readonly byId: ReadonlyMap<number, VerifiedNetwork>;
  readonly ports: ReadonlyMap<string, VerifiedPort>;
  readonly connections: readonly VerifiedConnection[];
  readonly joins: readonly Join[];
  readonly nodes: ReadonlyMap<string, VerifiedNode>;
  readonly here: VerifiedNode | undefined;
  /** Of the host's port here on networks that have subnets by node. */
  readonly hostAddresses: ReadonlyMap<string, readonly string[]>;
  /** Ports that pods open on the default network, by `<namespace>/<pod>`; pods that open none are missing. */
  readonly openPorts: ReadonlyMap<string, readonly OpenPort[]>;
  /** EgressIPs by their packet marks, and by their addresses. */
  readonly egressMarks: ReadonlyMap<number, string>;
  readonly egressAddresses: Pick<ReadonlyMap<string, string>, 'get' | 'has'>;
  /** Interfaces of `<namespace>/<pod>`. */
  portsOfPod(pod: string): readonly VerifiedPort[];
  /** The network that an address of the masquerade subnet stands for. */
  ownerOf(address: string): VerifiedNetwork | undefined;
  /** A prefix as rows have it. */
  textOf(prefix: Prefix): string;
  /** The object of a network; of one that there is none of, its name. */
  objectOf(network: string | undefined): string;
  /** The object that lets two networks touch. */
  joinedBy(a: string, b: string): string | undefined;
  /** Objects that join a network with others. */
  joinsOf(network: string): readonly Join[];
  /** Networks that share something with this one, with the object that wants it. */
  neighbours(network: string): ReadonlyMap<string, string>;
}

/** None of a subnet that is too small. */
export const secondOf = (cidr: string): readonly string[] =>
  hasAddress(cidr, 2) ? [nthAddress(cidr, 2)] : [];

const readNodes = new WeakMap<Node, VerifiedNode>();

/** A node; what was read of it is the same value while it does not change. */
function nodeOf(node: Node): VerifiedNode {
  const known = readNodes.get(node);
  if (known !== undefined) return known;
  const gateway = gatewayConfig(node).value;
  const isOpen = gateway !== undefined && gateway.mode !== 'disabled';
  const read: VerifiedNode = {
    name: node.metadata.name,
    id: nodeId(node).value,
    chassis: chassisId(node).value,
    tunnelAddresses: encapIps(node).value ?? [],
    addresses: (hostCidrs(node).value ?? []).map(withoutPrefix),
    bridge: isOpen ? gateway.bridge : undefined,
    bridgePort: isOpen ? gateway.interfaceId : undefined,
    vlan: isOpen ? gateway.vlan : 0,
    nextHops: isOpen ? gateway.nextHops : [],
    defaultHostAddresses: (nodeSubnetsOn(node, DEFAULT_NETWORK).value ?? []).flatMap(secondOf),
  };
  readNodes.set(node, read);
  return read;
}

export const nodesOf = ({
  objects,
}: Pick<Snapshot, 'objects'>): ReadonlyMap<string, VerifiedNode> =>
  new Map(objects.nodes.map((node) => [node.metadata.name, nodeOf(node)]));

const NO_ADDRESSES: ReadonlyMap<string, readonly string[]> = new Map();
const readHostAddresses = new WeakMap<Node, Intent['hostAddresses']>();

/** Of the node that is proved; the same value while its Node does not change. */
export function hostAddressesOf({
  node,
  objects,
}: Pick<Snapshot, 'node' | 'objects'>): Intent['hostAddresses'] {
  const self = objects.nodes.find(({ metadata }) => metadata.name === node);
  if (self === undefined) return NO_ADDRESSES;
  const known = readHostAddresses.get(self);
  if (known !== undefined) return known;
  const subnets = nodeSubnets(self).value ?? new Map<string, readonly string[]>();
  const read = new Map([...subnets].map(([network, cidrs]) => [network, cidrs.flatMap(secondOf)]));
  readHostAddresses.set(self, read);
  return read;
}

/** Networks that may touch, with the object that wants it: those of a connection, and primary networks of one namespace (OKEP-5252). */
export function joinsOf(
  networks: readonly VerifiedNetwork[],
  connections: readonly VerifiedConnection[],
): readonly Join[] {
  const byName = new Map(networks.map((network) => [network.name, network]));
  const byNamespace = new Map<string, Set<string>>();
  for (const { name, role, namespaces } of networks)
    if (role === 'primary')
      for (const namespace of namespaces)
        byNamespace.set(namespace, (byNamespace.get(namespace) ?? new Set()).add(name));
  return [
    ...connections.map((connection) => joinOfConnection(connection, byName)),
    ...[...byNamespace]
      .filter(([, names]) => names.size > 1)
      .map(([name, names]) => joinOf(`Namespace ${name}`, names, true, byName)),
  ];
}

/** What joins each network with others: of two joins of the same networks the first one is named. */
export class Joins {
  readonly #byNetwork = new Map<string, Join[]>();

  constructor(joins: readonly Join[]) {
    for (const join of joins)
      for (const network of join.networks) {
        const known = this.#byNetwork.get(network);
        if (known === undefined) this.#byNetwork.set(network, [join]);
        else known.push(join);
      }
  }

  /** Objects that join a network with others. */
  of(network: string): readonly Join[] {
    return this.#byNetwork.get(network) ?? NO_JOINS;
  }

  between(a: string, b: string): string | undefined {
    if (a === b) return undefined;
    return this.of(a).find(({ members }) => members.has(b))?.object;
  }

  neighbours(network: string): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    for (const { object, networks } of this.of(network))
      for (const other of networks)
        if (other !== network && !found.has(other)) found.set(other, object);
    return found;
  }
}

const NO_JOINS: readonly Join[] = [];

const openPortsOf = (pods: readonly Pod[]): ReadonlyMap<string, readonly OpenPort[]> =>
  new Map(
    pods.flatMap((pod): [string, readonly OpenPort[]][] => {
      const ports = openDefaultPorts(pod).value ?? [];
      return ports.length === 0 ? [] : [[objectKey(pod.metadata), ports]];
    }),
  );

/** Marks of EgressIPs, which nobody has twice. */
export function egressMarksOf(
  { egressIps }: Pick<Objects, 'egressIps'>,
  findings: Findings,
): ReadonlyMap<number, string> {
  const marks = new Map<number, string>();
  const sorted = egressIps.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const { metadata } of sorted) {
    const mark = Number(metadata.annotations?.['k8s.ovn.org/egressip-mark']);
    if (!Number.isInteger(mark)) continue;
    const object = `EgressIP ${metadata.name}`;
    const other = marks.get(mark);
    if (other !== undefined)
      findings.wrong('identities', object, `has mark ${mark}, as ${other} has`, object);
    marks.set(mark, object);
  }
  return marks;
}

export const egressAddressesOf = ({
  egressIps,
}: Pick<Objects, 'egressIps'>): ReadonlyMap<string, string> =>
  new Map(
    egressIps.flatMap(({ metadata, spec }) =>
      spec.egressIPs.map((address) => [address, `EgressIP ${metadata.name}`]),
    ),
  );

/** Networks by their own addresses in the masquerade subnet. */
export const ownersOf = (
  networks: readonly VerifiedNetwork[],
): ReadonlyMap<string, VerifiedNetwork> =>
  new Map(
    networks.flatMap((network) =>
      [...network.gatewayAddresses, ...network.hostAddresses].map((address) => [address, network]),
    ),
  );

function portsByPod(ports: Iterable<VerifiedPort>): ReadonlyMap<string, readonly VerifiedPort[]> {
  const byPod = new Map<string, VerifiedPort[]>();
  for (const port of ports) {
    const known = byPod.get(port.pod);
    if (known === undefined) byPod.set(port.pod, [port]);
    else known.push(port);
  }
  return byPod;
}

const NO_PORTS: readonly VerifiedPort[] = [];

export function intentOf(snapshot: Snapshot, findings: Findings): Intent {
  const networks = networksOf(snapshot, findings);
  const connections = connectionsOf(snapshot.objects, networks, findings);
  const joins = joinsOf(networks, connections);
  const joined = new Joins(joins);
  const ports = portsOf(snapshot.objects.pods, networks);
  const byPod = portsByPod(ports.values());
  const owners = ownersOf(networks);
  const nodes = nodesOf(snapshot);
  const byName = new Map(networks.map((network) => [network.name, network]));
  return {
    node: snapshot.node,
    networks,
    byName,
    byId: new Map(networks.map((network) => [network.id, network])),
    ports,
    connections,
    joins,
    nodes,
    here: nodes.get(snapshot.node),
    hostAddresses: hostAddressesOf(snapshot),
    openPorts: openPortsOf(snapshot.objects.pods),
    egressMarks: egressMarksOf(snapshot.objects, findings),
    egressAddresses: egressAddressesOf(snapshot.objects),
    portsOfPod: (pod) => byPod.get(pod) ?? NO_PORTS,
    ownerOf: (address) => owners.get(address),
    textOf: formatPrefix,
    objectOf: (network) =>
      network === undefined ? 'no object' : (byName.get(network)?.object ?? `network ${network}`),
    joinedBy: (a, b) => joined.between(a, b),
    joinsOf: (network) => joined.of(network),
    neighbours: (network) => joined.neighbours(network),
  };
}
