/**
 * Networks whose pods reach each other: the primary networks of one namespace (reference/api.md §8), and those whose pods are connected. What
 * connects A with B and B with C says nothing of A and C.
 */
import { overlaps, parsePrefix, type Prefix } from '../../allocators/addresses.ts';
import { tupleKey, type KeySource } from '../../facts/keys.ts';
import type { DerivationGraph } from '../../facts/derivation-graph.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import type { FactTable } from '../../facts/fact-table.ts';
import { memberOf, type Connect, type ConnectMember } from '../read/connects.ts';
import type { Network, NamespaceFacts } from '../model.ts';
import { DEFAULT_NETWORK, type NetworkDefinition } from '../read/networks.ts';

/** The primary networks of a namespace that asks for one, in the order of their names. */
interface NamespacePrimaries {
  readonly networks: readonly string[];
}

/** Networks that a network's pods reach beside their own, in the order of their names. */
export interface Neighbours {
  /** They are primary networks of the same namespace. */
  readonly siblings: readonly string[];
  /** Siblings, and networks of connections that join pods. */
  readonly all: readonly string[];
}

/** What this follows from. */
interface Known {
  readonly graph: DerivationGraph;
  readonly namespaces: FactTable<NamespaceFacts>;
  readonly definitions: FactTable<NetworkDefinition>;
  readonly networks: FactTable<Network>;
  readonly connects: FactTable<Connect>;
}

const sorted = (names: Iterable<string>): readonly string[] => [...new Set(names)].sort();

const prefixesOf = ({ subnets }: Pick<Network, 'subnets'>): readonly Prefix[] =>
  subnets.map(({ cidr }) => parsePrefix(cidr)).filter((prefix) => prefix !== undefined);

export class NetworkReach {
  readonly #known: Known;
  readonly #primaries: DerivedFacts<NamespacePrimaries>;
  readonly #neighbours: DerivedFacts<Neighbours>;
  readonly #members: DerivedFacts<ConnectMember>;

  constructor(known: Known) {
    const { graph } = known;
    this.#known = known;
    this.#primaries = new DerivedFacts(
      'primaries',
      graph,
      known.namespaces,
      (namespace = '') => this.#primariesOf(namespace),
      { indexes: { network: ({ networks }) => networks } },
    );
    this.#neighbours = new DerivedFacts(
      'neighbours',
      graph,
      known.networks,
      (network = '') => this.#neighboursOf(network),
      {
        indexes: {
          pair: ({ siblings }, network) =>
            siblings.flatMap((other) => (network < other ? tupleKey(network, other) : [])),
        },
      },
    );
    this.#members = new DerivedFacts(
      'connectMembers',
      graph,
      known.connects.distinct('member', 2),
      (connect = '', id = '') => memberOf(known.connects.get(connect), Number(id)),
      { arity: 2 },
    );
  }

  /** Primary networks of a namespace; none where it asks for none, or has none yet. */
  primariesOf(namespace: string): readonly string[] {
    return this.#primaries.table.part(namespace, 'networks') ?? [];
  }

  /** Networks that are primary ones of a namespace beside that one. */
  siblingsOf(network: string): readonly string[] {
    return this.#neighbours.table.part(network, 'siblings') ?? [];
  }

  /** Networks whose pods are reached from that one's. */
  reachedFrom(network: string): readonly string[] {
    return this.#neighbours.table.part(network, 'all') ?? [];
  }

  /** A network of a connection, whatever other networks it has. */
  memberOf(connect: string, networkId: string): ConnectMember | undefined {
    return this.#members.table.get(connect, networkId);
  }

  /** Networks that reach any other. */
  get neighbours(): FactTable<Neighbours> {
    return this.#neighbours.table;
  }

  /** Two primary networks of one namespace, each pair once. */
  get siblingPairs(): KeySource {
    return this.#neighbours.table.distinct('pair', 2);
  }

  #primariesOf(namespace: string): NamespacePrimaries | undefined {
    const { namespaces, definitions, networks } = this.#known;
    if (namespaces.part(namespace, 'isLabelled') !== true) return undefined;
    const found = definitions
      .by('namespace', namespace)
      .map(({ network }) => network)
      .filter((name) => name !== DEFAULT_NETWORK && networks.part(name, 'role') === 'primary');
    return found.length === 0 ? undefined : { networks: sorted(found) };
  }

  #neighboursOf(name: string): Neighbours | undefined {
    const { networks, connects } = this.#known;
    const network = networks.get(name);
    if (network === undefined) return undefined;
    const others = this.#primaries.table
      .by('network', name)
      .flatMap((primaries) => primaries.networks)
      .filter((other) => other !== name);
    // The cluster manager makes no networks that overlap; if there are any they stay apart.
    const own = prefixesOf(network);
    const siblings = sorted(others).filter((other) => {
      const theirs = prefixesOf({ subnets: networks.part(other, 'subnets') ?? [] });
      return !own.some((prefix) => theirs.some((one) => overlaps(prefix, one)));
    });
    const connected = connects
      .by('network', String(network.id))
      .filter(({ hasPods }) => hasPods)
      .flatMap(({ members }) => members)
      .flatMap(({ networkId }) => networks.keysBy('id', String(networkId)))
      .filter((other) => other !== name);
    const all = sorted([...siblings, ...connected]);
    return all.length === 0 ? undefined : { siblings, all };
  }
}
