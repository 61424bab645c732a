/** Policies of namespaces, and the networks that each has rows on. */
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import { union } from '../../facts/keys.ts';
import type { NetworkName } from '../model.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import { portQueries, type Policy, type PolicyRule, type PortQuery } from '../read/policies.ts';
import type { PodSelection } from '../rules/selections.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { NetworkTables } from './networks.ts';
import type { RenderedTables } from './rendered-networks.ts';
import type { ZoneBasis } from './zone-basis.ts';

export type PolicyKey = [namespace: string, name: string, kind: string];
/** Pods that a policy selects, on a network. */
export type SelectionKey = [network: NetworkName, selection: string];

/** A policy, the networks that it has rows on, and whose addresses these need. */
export interface Placement<P = Policy> {
  readonly policy: P;
  readonly networks: readonly NetworkName[];
  readonly selections: readonly PodSelection[];
  readonly ports: readonly PortQuery[];
}

export type PolicyTables = ReturnType<typeof policyTables>;

export const uniqueBy = <T>(items: readonly T[], key: (item: T) => string): T[] => [
  ...new Map(items.map((item) => [key(item), item])).values(),
];

/** What rules select: peers, and pods whose ports they mean by a name. */
export const selectionsOf = (
  rules: readonly Pick<PolicyRule, 'peers'>[],
  ports: readonly PortQuery[],
): readonly PodSelection[] =>
  uniqueBy(
    [...rules.flatMap(({ peers }) => peers), ...ports.map(({ selection }) => selection)],
    ({ id }) => id,
  );

/** Selections of a placement on each of its networks. */
export const placedSelections = ({
  networks,
  selections,
}: Pick<Placement, 'networks' | 'selections'>): SelectionKey[] =>
  networks.flatMap((network) => selections.map(({ id }): SelectionKey => [network, id]));

export function policyTables(known: ZoneBasis & NamespaceTables & NetworkTables & RenderedTables) {
  const { graph, definitions, networks, namespaces, rendered } = known;
  const policies = new FactTable<PolicyKey, Policy, { namespace: [string] }>(
    'policies',
    known.recorder,
    { indexes: { namespace: ({ namespace }) => [namespace] } },
  );
  /** Networks that policies of a namespace are for. */
  const namespaceNetworks = new DerivedFacts(
    'namespaceNetworks',
    graph,
    union(policies.distinct('namespace'), namespaces),
    (namespace: string) => ({ networks: primaryNetworks(namespace) }),
    { object: (namespace) => `Namespace ${namespace}` },
  );
  const placements = new DerivedFacts<
    PolicyKey,
    Placement,
    {
      unit: [network: NetworkName, ...policy: PolicyKey];
      namespace: [network: NetworkName, namespace: string];
      selection: SelectionKey;
    }
  >('placements', graph, policies, (...key) => place(...key), {
    object: (namespace, name, kind) => `${kind} ${namespace}/${name}`,
    indexes: {
      unit: ({ policy: { namespace, name, kind }, networks: places }) =>
        places.map((network) => [network, namespace, name, kind]),
      namespace: ({ policy: { namespace }, networks: places }) =>
        places.map((network) => [network, namespace]),
      selection: placedSelections,
    },
  });

  /** Primary networks that have a NAD in the namespace; the default one where there is none or the namespace did not ask for any. */
  function primaryNetworks(namespace: string): readonly NetworkName[] {
    const primary = new Set(
      definitions
        .by('namespace', namespace)
        .map(({ network }) => network)
        .filter(
          (network) => network !== DEFAULT_NETWORK && networks.part(network, 'role') === 'primary',
        ),
    );
    const isAlone = namespaces.part(namespace, 'isLabelled') === true && primary.size > 0;
    return [...(isAlone ? [] : [DEFAULT_NETWORK]), ...[...primary].sort()] as NetworkName[];
  }

  /** Networks of NADs; primary ones have the policies of Kubernetes. */
  function secondaryNetworks(nads: readonly string[] | 'all'): readonly NetworkName[] {
    if (nads === 'all')
      return rendered
        .by('role', 'secondary')
        .map(({ name }) => name)
        .sort();
    const found = nads
      .map((nad) => definitions.part(nad, 'network') ?? DEFAULT_NETWORK)
      .filter(
        (network) => network !== DEFAULT_NETWORK && networks.part(network, 'role') === 'secondary',
      );
    return [...new Set(found)].sort() as NetworkName[];
  }

  function place(...key: PolicyKey): Placement | undefined {
    const policy = policies.get(...key);
    if (policy === undefined) return undefined;
    const places =
      policy.nads === undefined
        ? (namespaceNetworks.get(policy.namespace)?.networks ?? [])
        : secondaryNetworks(policy.nads);
    const ports = policy.rules.flatMap((rule) => portQueries(policy, rule));
    return {
      policy,
      networks: places.filter((network) => rendered.part(network, 'name') !== undefined),
      selections: selectionsOf(policy.rules, ports),
      ports,
    };
  }

  return { policies, namespaceNetworks, placements };
}
