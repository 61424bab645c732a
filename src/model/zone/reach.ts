/**
 * Networks whose pods reach each other: the primary networks of one namespace (reference/api.md §8), and those whose pods are connected. What
 * connects A with B and B with C says nothing of A and C.
 */
import { overlaps, parsePrefix, type Prefix } from '../../allocators/addresses.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import type { Network } from '../model.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import type { ConnectTables } from './connects.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { NetworkTables } from './networks.ts';
import type { ZoneBasis } from './zone-basis.ts';

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

export type ReachTables = ReturnType<typeof reachTables>;

const sorted = (names: Iterable<string>): readonly string[] => [...new Set(names)].sort();

const prefixesOf = ({ subnets }: Pick<Network, 'subnets'>): readonly Prefix[] =>
  subnets.map(({ cidr }) => parsePrefix(cidr)).filter((prefix) => prefix !== undefined);

export function reachTables(known: ZoneBasis & NamespaceTables & NetworkTables & ConnectTables) {
  const { graph, namespaces, definitions, networks, connects } = known;
  const primaries = new DerivedFacts<
    [namespace: string],
    NamespacePrimaries,
    { network: [network: string] }
  >('primaries', graph, namespaces, (namespace) => primariesIn(namespace), {
    object: (namespace) => `Namespace ${namespace}`,
    indexes: { network: (found) => found.networks },
  });
  /** Networks that reach any other. */
  const neighbours = new DerivedFacts<
    [network: string],
    Neighbours,
    { pair: [network: string, other: string] }
  >('neighbours', graph, networks, (network) => neighboursOf(network), {
    object: (network) => `network ${network}`,
    indexes: {
      pair: ({ siblings }, network) =>
        siblings.filter((other) => network < other).map((other) => [network, other]),
    },
  });

  function primariesIn(namespace: string): NamespacePrimaries | undefined {
    if (namespaces.part(namespace, 'isLabelled') !== true) return undefined;
    const found = definitions
      .by('namespace', namespace)
      .map(({ network }) => network)
      .filter((name) => name !== DEFAULT_NETWORK && networks.part(name, 'role') === 'primary');
    return found.length === 0 ? undefined : { networks: sorted(found) };
  }

  function neighboursOf(name: string): Neighbours | undefined {
    const network = networks.get(name);
    if (network === undefined) return undefined;
    const others = primaries
      .by('network', name)
      .flatMap((found) => found.networks)
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
      .flatMap(({ networkId }) => known.networksOfId(networkId))
      .filter((other) => other !== name);
    const all = sorted([...siblings, ...connected]);
    return all.length === 0 ? undefined : { siblings, all };
  }

  return {
    neighbours,

    /** Primary networks of a namespace; none where it asks for none, or has none yet. */
    primariesOf: (namespace: string): readonly string[] =>
      primaries.part(namespace, 'networks') ?? [],

    /** Networks that are primary ones of a namespace beside that one. */
    siblingsOf: (network: string): readonly string[] => neighbours.part(network, 'siblings') ?? [],

    /** Networks whose pods are reached from that one's. */
    reachedFrom: (network: string): readonly string[] => neighbours.part(network, 'all') ?? [],
  };
}
