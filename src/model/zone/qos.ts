/** EgressQoS and NetworkQoS: the networks that each has rows on, and whose addresses these need. */
import { matchesSelector } from '../../api/selectors.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import type { NetworkName } from '../model.ts';
import type { Qos, QosNetworks } from '../read/qos.ts';
import type { PodSelection } from '../rules/selections.ts';
import type { AttachmentTables } from './attachments.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { NetworkTables } from './networks.ts';
import { placedSelections, uniqueBy, type PolicyTables, type SelectionKey } from './policies.ts';
import type { RenderedTables } from './rendered-networks.ts';
import type { ZoneBasis } from './zone-basis.ts';

export type QosKey = [kind: Qos['kind'], namespace: string, name: string];
export type QosUnit = [network: NetworkName, ...qos: QosKey];
/** NetworkQoSes of which the priority does not say which decides. */
export type QosRank = [network: NetworkName, namespace: string, priority: string];

interface QosPlacement {
  readonly kind: Qos['kind'];
  readonly namespace: string;
  readonly name: string;
  readonly priority: number;
  readonly networks: readonly NetworkName[];
  /** Pods whose packets are meant, and pods to whom they go. */
  readonly selections: readonly PodSelection[];
  /** The former alone. */
  readonly sources: readonly PodSelection[];
  /** Sets of addresses by which rows know pods: of each rule, or the sources of all of them. */
  readonly sets: readonly string[];
}

/** The set of the pods whose packets a NetworkQoS means. */
export const SOURCES = 'src';

const setsOf = ({ kind, rules }: Qos): readonly string[] =>
  kind === 'EgressQoS'
    ? rules.map((_rule, index) => String(index))
    : [
        ...(rules.length === 0 ? [] : [SOURCES]),
        ...rules.flatMap(({ to }, index) =>
          to.some((destination) => destination.kind === 'pods') ? [String(index)] : [],
        ),
      ];

export type QosTables = ReturnType<typeof qosTables>;

export function qosTables(
  known: ZoneBasis &
    NamespaceTables &
    NetworkTables &
    AttachmentTables &
    RenderedTables &
    Pick<PolicyTables, 'namespaceNetworks'>,
) {
  const { graph, recorder, attachments, definitions, namespaces, registrations, rendered } = known;
  const qoses = new FactTable<QosKey, Qos, { namespace: [string] }>('qoses', recorder, {
    indexes: { namespace: ({ namespace }) => [namespace] },
  });
  /** Networks that pods of a namespace are on here. */
  const networksHere = new DerivedFacts(
    'networksHere',
    graph,
    qoses.distinct('namespace'),
    (namespace: string) => ({
      networks: [
        ...new Set(attachments.by('namespace', namespace).map(({ network }) => network)),
      ].sort(),
    }),
    { object: (namespace) => `Namespace ${namespace}` },
  );

  /** A network is known by what its NADs are labelled with. */
  function isSelected(network: NetworkName, selectors: readonly QosNetworks[]): boolean {
    const nads = registrations.part(network, 'nads') ?? [];
    return nads.some((key) => {
      const nad = definitions.get(key);
      return (
        nad !== undefined &&
        selectors.some((one) =>
          one.kind === 'cluster'
            ? nad.isOfCluster && matchesSelector(one.selector, nad.labels)
            : matchesSelector(one.selector, nad.labels) &&
              matchesSelector(one.namespaceSelector, namespaces.part(nad.namespace, 'labels')),
        )
      );
    });
  }

  function place(...key: QosKey): QosPlacement | undefined {
    const qos = qoses.get(...key);
    if (qos === undefined) return undefined;
    const { kind, namespace, name, priority, networks: selectors, rules } = qos;
    const primary = known.namespaceNetworks.get(namespace)?.networks ?? [];
    const networks = (networksHere.get(namespace)?.networks ?? []).filter(
      (network) =>
        rendered.part(network, 'name') !== undefined &&
        (selectors === undefined ? primary.includes(network) : isSelected(network, selectors)),
    );
    const byId = (selections: readonly PodSelection[]): readonly PodSelection[] =>
      uniqueBy(selections, ({ id }) => id);
    const sources = byId(rules.map(({ pods }) => pods));
    const destinations = rules.flatMap(({ to }) =>
      to.flatMap((destination) => (destination.kind === 'pods' ? [destination.selection] : [])),
    );
    const selections = byId([...sources, ...destinations]);
    const sets = setsOf(qos);
    return { kind, namespace, name, priority, networks, selections, sources, sets };
  }

  return {
    qoses,
    qosPlacements: new DerivedFacts<
      QosKey,
      QosPlacement,
      {
        unit: QosUnit;
        rank: QosRank;
        set: [...unit: QosUnit, set: string];
        selection: SelectionKey;
        source: SelectionKey;
      }
    >('qosPlacements', graph, qoses, place, {
      object: (kind, namespace, name) => `${kind} ${namespace}/${name}`,
      indexes: {
        unit: ({ kind, namespace, name, networks }) =>
          networks.map((network) => [network, kind, namespace, name]),
        rank: ({ kind, namespace, priority, networks }) =>
          kind === 'NetworkQoS'
            ? networks.map((network) => [network, namespace, String(priority)])
            : [],
        set: ({ kind, namespace, name, networks, sets }) =>
          networks.flatMap((network) => sets.map((set) => [network, kind, namespace, name, set])),
        selection: placedSelections,
        source: ({ networks, sources }) => placedSelections({ networks, selections: sources }),
      },
    }),
  };
}
