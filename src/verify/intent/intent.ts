/** What objects say about a node, put together once for all checks. */
import {
  formatPrefix,
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
} from '../../api/annotations/node-annotations.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import type { Findings } from '../findings.ts';
import type { Snapshot } from '../snapshot.ts';
import { connectionsOf, type VerifiedConnection } from './connections.ts';
import { networksOf, type VerifiedNetwork } from './networks.ts';
import { portsOf, type VerifiedPort } from './pods.ts';

interface VerifiedNode {
  readonly name: string;
  readonly id: number | undefined;
  readonly chassis: string | undefined;
  readonly tunnelAddresses: readonly string[];
  readonly addresses: readonly string[];
  readonly bridge: string | undefined;
  readonly bridgePort: string | undefined;
  readonly vlan: number;
  readonly nextHops: readonly string[];
}

/** An object, and the networks that it lets touch each other. */
interface Join {
  readonly object: string;
  readonly networks: readonly string[];
}

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
  /** Of the host's port on the default network of this node: the second address of each subnet (reference/topology.md §2). */
  readonly defaultHostAddresses: readonly string[];
  /** A prefix as rows have it. */
  textOf(prefix: Prefix): string;
  /** The object of a network; of one that there is none of, its name. */
  objectOf(network: string | undefined): string;
  /** The object that lets two networks touch. */
  joinedBy(a: string, b: string): string | undefined;
  /** Networks that share something with this one, with the object that wants it. */
  neighbours(network: string): ReadonlyMap<string, string>;
}

function nodesOf({ objects }: Snapshot): ReadonlyMap<string, VerifiedNode> {
  return new Map(
    objects.nodes.map((node): [string, VerifiedNode] => {
      const gateway = gatewayConfig(node).value;
      const isOpen = gateway !== undefined && gateway.mode !== 'disabled';
      return [
        node.metadata.name,
        {
          name: node.metadata.name,
          id: nodeId(node).value,
          chassis: chassisId(node).value,
          tunnelAddresses: encapIps(node).value ?? [],
          addresses: (hostCidrs(node).value ?? []).map(withoutPrefix),
          bridge: isOpen ? gateway.bridge : undefined,
          bridgePort: isOpen ? gateway.interfaceId : undefined,
          vlan: isOpen ? gateway.vlan : 0,
          nextHops: isOpen ? gateway.nextHops : [],
        },
      ];
    }),
  );
}

/** Networks that may touch, with the object that wants it: those of a connection, and primary networks of one namespace (OKEP-5252). */
function joinsOf(
  networks: readonly VerifiedNetwork[],
  connections: readonly VerifiedConnection[],
): readonly Join[] {
  const byNamespace = new Map<string, Set<string>>();
  for (const { name, role, namespaces } of networks)
    if (role === 'primary')
      for (const namespace of namespaces)
        byNamespace.set(namespace, (byNamespace.get(namespace) ?? new Set()).add(name));
  return [
    ...connections.map((one): Join => ({ object: one.object, networks: [...one.networks] })),
    ...[...byNamespace]
      .filter(([, names]) => names.size > 1)
      .map(([name, names]): Join => ({ object: `Namespace ${name}`, networks: [...names] })),
  ];
}

function pairsOf(joins: readonly Join[]): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const pairs = new Map<string, Map<string, string>>();
  for (const { object, networks } of joins)
    for (const a of networks)
      for (const b of networks) {
        if (a === b) continue;
        const known = pairs.get(a) ?? new Map<string, string>();
        if (!known.has(b)) known.set(b, object);
        pairs.set(a, known);
      }
  return pairs;
}

function defaultHostAddresses({ objects, node }: Snapshot): readonly string[] {
  const here = objects.nodes.find(({ metadata }) => metadata.name === node);
  const subnets = here === undefined ? undefined : nodeSubnets(here).value;
  return (subnets?.get(DEFAULT_NETWORK) ?? []).map((cidr) => nthAddress(cidr, 2));
}

const NOBODY: ReadonlyMap<string, string> = new Map();

export function intentOf(snapshot: Snapshot, findings: Findings): Intent {
  const networks = networksOf(snapshot, findings);
  const connections = connectionsOf(snapshot.objects, networks, findings);
  const joins = joinsOf(networks, connections);
  const pairs = pairsOf(joins);
  const nodes = nodesOf(snapshot);
  const byName = new Map(networks.map((network) => [network.name, network]));
  return {
    node: snapshot.node,
    networks,
    byName,
    byId: new Map(networks.map((network) => [network.id, network])),
    ports: portsOf(snapshot.objects.pods, networks),
    connections,
    joins,
    nodes,
    here: nodes.get(snapshot.node),
    defaultHostAddresses: defaultHostAddresses(snapshot),
    textOf: formatPrefix,
    objectOf: (network) =>
      network === undefined ? 'no object' : (byName.get(network)?.object ?? `network ${network}`),
    joinedBy: (a, b) => pairs.get(a)?.get(b),
    neighbours: (network) => pairs.get(network) ?? NOBODY,
  };
}
