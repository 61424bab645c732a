/**
 * Which pods each selection of policies has. Worked out per pod, so that a pod that changes costs the selections that it enters and
 * leaves.
 */
import { familyOf, withoutPrefix, type Family } from '../../allocators/addresses.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { LabelSelector } from '../../api/types.ts';
import type { SetVersion } from '../../facts/counted-set.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { keyText, union } from '../../facts/keys.ts';
import type { NetworkName } from '../model.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import type { Protocol } from '../read/policies.ts';
import type { PodSelection } from '../rules/selections.ts';
import type { AdminTables } from './admin-policies.ts';
import type { AttachmentTables } from './attachments.ts';
import type { dnsForwardingTables } from './dns-forwarding.ts';
import type { MulticastTables } from './multicast.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { PodKey, PodTables } from './pods.ts';
import { uniqueBy, type PolicyTables, type SelectionKey } from './policies.ts';
import type { QosTables } from './qos.ts';
import type { ReachTables } from './reach.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** A selection on a network, and the ports that policies mean by a name on its pods. */
interface PlacedSelection {
  readonly network: NetworkName;
  readonly selection: PodSelection;
  readonly ports: readonly { readonly protocol: Protocol; readonly name: string }[];
  /** Packets of its pods of this node are meant on that network. */
  readonly isSource: boolean;
}

/** Selections that pods of a namespace are in by their labels. */
interface NamespaceSelections {
  readonly selections: readonly {
    readonly key: SelectionKey;
    readonly podSelector: LabelSelector;
  }[];
}

/** Selections that a pod is in, whether it is on their networks or not. */
interface PodSelections {
  readonly selections: readonly SelectionKey[];
}

/** What a pod is on the network of a selection that it is in, or on one that is reached from there. */
export interface SelectedPod {
  readonly selection: SelectionKey;
  /** Without prefix length. */
  readonly addresses: readonly string[];
  /** Those that it sends from on the network of the selection, on this node; none where nobody asks for them. */
  readonly ownAddresses: readonly string[];
  readonly ports: readonly {
    readonly protocol: Protocol;
    readonly name: string;
    readonly port: number;
  }[];
}

type SelectedKey = [...SelectionKey, ...PodKey];
/** Pods of a selection that call a port by a name and a number. */
export type NumberKey = [...SelectionKey, protocol: Protocol, name: string, port: string];

const NO_PORTS: SelectedPod['ports'] = [];
const NO_ADDRESSES: readonly string[] = [];

export type SelectionTables = ReturnType<typeof selectionTables>;

export function selectionTables(
  known: ZoneBasis &
    NamespaceTables &
    ReachTables &
    PodTables &
    AttachmentTables &
    PolicyTables &
    AdminTables &
    QosTables &
    MulticastTables &
    Pick<ReturnType<typeof dnsForwardingTables>, 'dnsForwarderFor'>,
) {
  const { graph, namespaces, pods, placements, adminPlacements, multicast, qosPlacements } = known;
  /** Selections that some policy needs. */
  const selections = new DerivedFacts<
    SelectionKey,
    PlacedSelection,
    { namespace: [string]; anywhere: [] }
  >(
    'selections',
    graph,
    union(
      placements.distinct('selection'),
      adminPlacements.distinct('selection'),
      multicast.distinct('selection'),
      qosPlacements.distinct('selection'),
    ),
    (...key) => merged(...key),
    {
      object: (network) => `network ${network}`,
      indexes: {
        namespace: ({ selection: { namespace } }) => (namespace === undefined ? [] : [namespace]),
        anywhere: ({ selection: { namespace } }) => (namespace === undefined ? [[]] : []),
      },
    },
  );
  const namespaceSelections = new DerivedFacts(
    'namespaceSelections',
    graph,
    namespaces,
    (namespace) => selectionsIn(namespace),
    { object: (namespace) => `Namespace ${namespace}` },
  );
  const podSelections = new DerivedFacts<PodKey, PodSelections, { pair: SelectedKey }>(
    'podSelections',
    graph,
    pods,
    (...pod) => selectionsOfPod(...pod),
    {
      object: (namespace, pod) => `Pod ${namespace}/${pod}`,
      indexes: {
        pair: ({ selections: found }, pod) => found.map((selection) => [...selection, ...pod]),
      },
    },
  );
  const selectedPods = new DerivedFacts<
    SelectedKey,
    SelectedPod,
    { port: NumberKey },
    {
      selection: [...SelectionKey, Family];
      own: [...SelectionKey, Family];
      port: [...NumberKey, Family];
    }
  >('selectedPods', graph, podSelections.distinct('pair'), (...key) => selected(...key), {
    object: (_network, _selection, namespace, pod) => `Pod ${namespace}/${pod}`,
    indexes: {
      port: ({ selection, ports }) =>
        ports.map(({ protocol, name, port }) => [...selection, protocol, name, String(port)]),
    },
    sets: {
      selection: ({ selection, addresses }) =>
        addresses.map((address) => [[...selection, familyOf(address)], address]),
      own: ({ selection, ownAddresses }) =>
        ownAddresses.map((address) => [[...selection, familyOf(address)], address]),
      port: ({ selection, addresses, ports }) =>
        ports.flatMap(({ protocol, name, port }) =>
          addresses.map((address): [[...NumberKey, Family], string] => [
            [...selection, protocol, name, String(port), familyOf(address)],
            address,
          ]),
        ),
    },
  });

  function merged(network: NetworkName, id: string): PlacedSelection | undefined {
    const placed = [
      ...placements.by('selection', network, id),
      ...adminPlacements.by('selection', network, id),
    ];
    const isSource = qosPlacements.by('source', network, id).length > 0;
    const selection = [
      ...placed,
      ...multicast.by('selection', network, id),
      ...qosPlacements.by('selection', network, id),
    ]
      .flatMap((placement) => placement.selections)
      .find((one) => one.id === id);
    if (selection === undefined) return undefined;
    const ports = placed
      .flatMap((placement) => placement.ports)
      .filter((query) => query.selection.id === id)
      .map(({ protocol, name }) => ({ protocol, name }));
    return {
      network,
      selection,
      ports: uniqueBy(ports, ({ protocol, name }) => keyText([protocol, name])),
      isSource,
    };
  }

  function selectionsIn(namespace: string): NamespaceSelections {
    const labels = namespaces.part(namespace, 'labels');
    const found = [
      ...selections.by('namespace', namespace),
      ...selections
        .by('anywhere')
        .filter(({ selection }) => matchesSelector(selection.namespaceSelector, labels)),
    ];
    return {
      selections: found.map(({ network, selection: { id, podSelector } }) => ({
        key: [network, id],
        podSelector,
      })),
    };
  }

  function selectionsOfPod(...pod: PodKey): PodSelections {
    const labels = pods.part(pod, 'labels');
    const possible = namespaceSelections.get(pod[0])?.selections ?? [];
    return {
      selections: possible.flatMap(({ key, podSelector }) =>
        matchesSelector(podSelector, labels) ? [key] : [],
      ),
    };
  }

  function selected(
    network: NetworkName,
    id: string,
    namespace: string,
    pod: string,
  ): SelectedPod | undefined {
    const { attachments, remoteAttachments } = known;
    const wanted = selections.part([network, id], 'ports') ?? [];
    const reached = known.reachedFrom(network);
    const addresses = [
      ...attachments.by('pod', namespace, pod),
      ...remoteAttachments.by('pod', namespace, pod),
    ]
      .filter(
        (attachment) =>
          attachment.network === network ||
          (attachment.role === 'primary' && reached.includes(attachment.network)),
      )
      .flatMap((attachment) => attachment.addresses.map(withoutPrefix))
      // Who means a pod of DNS means what forwards to it.
      .flatMap((address) =>
        network === DEFAULT_NETWORK ? [address, ...known.dnsForwarderFor(address)] : [address],
      );
    if (addresses.length === 0) return undefined;
    const ownAddresses =
      selections.part([network, id], 'isSource') === true
        ? attachments
            .by('pod', namespace, pod)
            .filter((attachment) => attachment.network === network)
            .flatMap((attachment) => attachment.addresses.map(withoutPrefix))
        : NO_ADDRESSES;
    const ports =
      wanted.length === 0
        ? NO_PORTS
        : (pods.part([namespace, pod], 'namedPorts') ?? [])
            .map(({ protocol, name, port }) => ({
              protocol: protocol.toLowerCase() as Protocol,
              name,
              port,
            }))
            .filter(({ protocol, name }) =>
              wanted.some((query) => query.protocol === protocol && query.name === name),
            );
    return { selection: [network, id], addresses, ownAddresses, ports };
  }

  return {
    selectedPods,

    /** Addresses of the pods of a selection on a network. */
    addressesOf: (network: NetworkName, selection: string, family: Family): SetVersion =>
      selectedPods.setOf('selection', network, selection, family),

    /** Those of this node's pods of a selection whose packets are meant, on that network alone. */
    ownAddressesOf: (network: NetworkName, selection: string, family: Family): SetVersion =>
      selectedPods.setOf('own', network, selection, family),

    /** Those of the pods that call a port by a name and a number. */
    addressesWithPort: (number: NumberKey, family: Family): SetVersion =>
      selectedPods.setOf('port', ...number, family),
  };
}
