/** Nodes: what this one and the others say of themselves, and their subnets. */
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import { Unreadable } from '../../facts/unreadable.ts';
import type { LocalNode, NodeAddresses, NodeFacts, NodeSubnet } from '../model.ts';
import type { NodeGatewayMac } from '../read/nodes.ts';
import { isProblem, valueOf, type ObjectReading } from '../read/reading.ts';
import { admitNode, identitiesOf, nodeComesBefore } from '../rules/admission.ts';
import type { AddressOwners } from '../rules/service-admission.ts';
import { problemOf, type ModelProblem } from './problems.ts';
import type { ZoneBasis } from './zone-basis.ts';

export interface NodeLabels {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export type NodeTables = ReturnType<typeof nodeTables>;

export function nodeTables({ nodeName, graph, recorder }: ZoneBasis) {
  /** This node, by its name; its last report that could be read. */
  const self = new FactTable<[node: string], LocalNode>('self', recorder);
  /** What other nodes say of themselves. */
  const nodes = new FactTable<[node: string], NodeFacts, { identity: [string] }>(
    'nodes',
    recorder,
    { indexes: { identity: identitiesOf } },
  );
  const nodeSubnets = new FactTable<[network: string, node: string], NodeSubnet>(
    'nodeSubnets',
    recorder,
  );
  /** Masquerade numbers that this node was given for networks. */
  const masqueradeNumbers = new FactTable<[network: string], { readonly number: number }>(
    'masqueradeNumbers',
    recorder,
  );
  /** Nodes of which it is not known which subnets they have, and why. */
  const nodesWithoutSubnets = new FactTable<[node: string], { readonly reason: string }>(
    'nodesWithoutSubnets',
    recorder,
  );
  /** Where nodes are reached, this one and those of which nothing else is known. */
  const nodeAddresses = new FactTable<[node: string], NodeAddresses, { address: [string] }>(
    'nodeAddresses',
    recorder,
    { indexes: { address: ({ own, all, nextHops }) => [...own, ...all, ...nextHops] } },
  );
  /** MAC addresses of the gateways of all nodes. */
  const gatewayMacs = new FactTable<[node: string], NodeGatewayMac>('gatewayMacs', recorder);
  /** Labels of all nodes. */
  const nodeLabels = new FactTable<[node: string], NodeLabels>('nodeLabels', recorder);

  const nodeAdmissions = new DerivedFacts<
    [node: string],
    ObjectReading<NodeFacts>,
    { problem: [] }
  >('nodeAdmissions', graph, nodes, (name) => admit(name), {
    object: (node) => `Node ${node}`,
    indexes: { problem: isProblem },
  });
  /** Other nodes, as far as no node of a lower id has their identities. */
  const remoteNodes = new DerivedFacts(
    'remoteNodes',
    graph,
    nodeAdmissions,
    (name) => valueOf(nodeAdmissions.get(name)),
    { object: (node) => `Node ${node}` },
  );

  function admit(name: string): ObjectReading<NodeFacts> | undefined {
    const node = nodes.get(name);
    if (node === undefined) return undefined;
    const local = self.get(nodeName);
    const own = new Set(local === undefined ? [] : identitiesOf(local));
    return admitNode(node, (identity) =>
      own.has(identity)
        ? nodeName
        : nodes
            .by('identity', identity)
            .find(
              (other) =>
                nodeComesBefore(other, node) && nodeAdmissions.get(other.name)?.kind === 'value',
            )?.name,
    );
  }

  return {
    self,
    nodes,
    nodeSubnets,
    masqueradeNumbers,
    nodesWithoutSubnets,
    nodeAddresses,
    nodeLabels,
    gatewayMacs,
    remoteNodes,

    /** A fact of this node. Throws `Unreadable` before the node is known. */
    own: <F extends keyof LocalNode>(field: F): LocalNode[F] => {
      const isKnown = self.part(nodeName, 'name') !== undefined;
      if (!isKnown) throw new Unreadable(`node ${nodeName} is not known yet`);
      return self.part(nodeName, field) as LocalNode[F];
    },

    /** Subnets of a network on a node, v4 first. Throws `Unreadable` where that can't be known. */
    subnetsOn: (network: string, node: string): readonly string[] => {
      const entry = nodeSubnets.get(network, node);
      const reason = entry === undefined ? nodesWithoutSubnets.get(node)?.reason : entry.unreadable;
      if (reason !== undefined)
        throw new Unreadable(`subnet of network ${network} on node ${node}: ${reason}`);
      return entry?.cidrs ?? [];
    },

    /** Whose address it is among nodes. */
    nodeAt: (address: string): ReturnType<AddressOwners['ofNode']> => {
      const found = nodeAddresses.by('address', address);
      const of = (field: 'own' | 'all' | 'nextHops'): string | undefined =>
        found.find((node) => node[field].includes(address))?.name;
      const own = of('own');
      if (own !== undefined) return { what: `an address of node ${own}`, isExtra: false };
      const routed = of('nextHops');
      if (routed !== undefined) return { what: `the next hop of node ${routed}`, isExtra: false };
      const extra = of('all');
      return extra === undefined
        ? undefined
        : { what: `an address that node ${extra} has beside its own`, isExtra: true };
    },

    *nodeProblems(): Iterable<ModelProblem> {
      for (const name of nodeAdmissions.keysBy('problem'))
        yield* problemOf(`Node ${name}`, nodeAdmissions.peek(name));
    },
  };
}
