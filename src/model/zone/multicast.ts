/** Namespaces whose pods send multicast to each other, and the networks on which they do. */
import { DerivedFacts } from '../../facts/derived-facts.ts';
import type { NetworkName } from '../model.ts';
import { multicastSenders } from '../read/multicast.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import type { PodSelection } from '../rules/selections.ts';
import type { GroupTables } from './namespace-groups.ts';
import type { NamespaceTables } from './namespaces.ts';
import { placedSelections, type SelectionKey } from './policies.ts';
import type { RenderedTables } from './rendered-networks.ts';
import type { ZoneBasis } from './zone-basis.ts';

interface MulticastPlacement {
  readonly namespace: string;
  readonly networks: readonly NetworkName[];
  readonly selections: readonly PodSelection[];
}

export type MulticastTables = ReturnType<typeof multicastTables>;

export function multicastTables(known: ZoneBasis & NamespaceTables & GroupTables & RenderedTables) {
  const { namespaces, groupedNamespaces, rendered } = known;

  /** The default network, and the primary ones on which the namespace has a group. */
  function place(namespace: string): MulticastPlacement | undefined {
    if (namespaces.part(namespace, 'hasMulticast') !== true) return undefined;
    const primary = groupedNamespaces.by('namespace', namespace).map(({ network }) => network);
    const networks = [DEFAULT_NETWORK, ...[...new Set(primary)].sort()];
    return {
      namespace,
      networks: networks.filter((network) => rendered.part(network, 'name') !== undefined),
      selections: [multicastSenders(namespace)],
    };
  }

  return {
    multicast: new DerivedFacts<
      [namespace: string],
      MulticastPlacement,
      { unit: [network: NetworkName, namespace: string]; selection: SelectionKey }
    >('multicast', known.graph, namespaces, place, {
      object: (namespace) => `Namespace ${namespace}`,
      indexes: {
        unit: ({ namespace, networks }) => networks.map((network) => [network, namespace]),
        selection: placedSelections,
      },
    }),
  };
}
