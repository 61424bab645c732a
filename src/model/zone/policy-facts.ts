/**
 * What follows from policies and pods: which networks a policy is for, which pods each selection has, and which policies each port of
 * this node is under. Worked out per pod, so that a pod that changes costs the selections that it enters and leaves.
 */
import { familyOf, withoutPrefix, type Family } from '../../allocators/addresses.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { LabelSelector } from '../../api/types.ts';
import type { SetVersion } from '../../facts/counted-set.ts';
import { tupleKey, union } from '../../facts/keys.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import { adminPortQueries, type AdminPolicy } from '../read/admin-policies.ts';
import type { ZoneFacts } from './facts.ts';
import type { NetworkName } from '../model.ts';
import { multicastSenders } from '../read/multicast.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import {
  portQueries,
  type Policy,
  type PolicyDirection,
  type PortQuery,
  type Protocol,
} from '../read/policies.ts';
import type { PodSelection } from '../rules/selections.ts';
import { FailedFact, Unreadable } from '../../facts/unreadable.ts';

/** The primary networks of a namespace. */
interface NamespaceNetworks {
  readonly networks: readonly NetworkName[];
}

/** A policy, the networks that it has rows on, and whose addresses these need. */
interface Placement<P = Policy> {
  readonly policy: P;
  readonly networks: readonly NetworkName[];
  readonly selections: readonly PodSelection[];
  readonly ports: readonly PortQuery[];
}

/** A namespace whose pods send multicast to each other, and the networks on which they do. */
interface MulticastPlacement {
  readonly namespace: string;
  readonly networks: readonly NetworkName[];
  readonly selections: readonly PodSelection[];
}

/** A selection on a network, and the ports that policies mean by a name on its pods. */
interface PlacedSelection {
  readonly network: NetworkName;
  readonly selection: PodSelection;
  readonly ports: readonly { readonly protocol: Protocol; readonly name: string }[];
}

/** Selections that pods of a namespace are in by their labels, by `tupleKey(network, id)`. */
interface NamespaceSelections {
  readonly selections: readonly { readonly key: string; readonly podSelector: LabelSelector }[];
}

/** Selections that a pod is in, whether it is on their networks or not. */
interface PodSelections {
  readonly selections: readonly string[];
}

/** What a pod is on the network of a selection that it is in, or on one that is reached from there. */
export interface SelectedPod {
  /** The selection, as `tupleKey(network, id)`. */
  readonly selection: string;
  /** Without prefix length. */
  readonly addresses: readonly string[];
  readonly ports: readonly {
    readonly protocol: Protocol;
    readonly name: string;
    readonly port: number;
  }[];
}

/** A number that a name of a port stands for on some pods of a selection. */
interface NamedNumber {
  readonly selection: string;
  readonly protocol: Protocol;
  readonly name: string;
  readonly port: number;
}

export interface NodeLabels {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Policies that a port of this node is under. */
export interface PolicedPort {
  readonly admins: readonly Pick<AdminPolicy, 'kind' | 'name'>[];
  readonly policies: readonly { readonly namespace: string; readonly name: string }[];
  readonly directions: readonly PolicyDirection[];
}

const NO_PORTS: SelectedPod['ports'] = [];

/** Names of ports of one protocol on pods of a selection. */
export const portBucket = (selection: string, protocol: string, name: string): string =>
  tupleKey(selection, protocol, name);

const uniqueBy = <T>(items: readonly T[], key: (item: T) => string): T[] => [
  ...new Map(items.map((item) => [key(item), item])).values(),
];

const selectionBuckets = ({
  networks,
  selections,
}: Pick<Placement, 'networks' | 'selections'>): string[] =>
  networks.flatMap((network) => selections.map(({ id }) => tupleKey(network, id)));

/** What is read, or what it was last if it can't be worked out now. */
function orLast<T>(read: () => T, last: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof FailedFact) return last();
    throw error;
  }
}

export class PolicyFacts {
  /** Policies by namespace, name and kind. */
  readonly policies: FactTable<Policy>;
  /** Those of administrators, by kind and name. */
  readonly admins: FactTable<AdminPolicy>;
  /** Labels of all nodes, by name. */
  readonly nodeLabels: FactTable<NodeLabels>;
  /** Selections that some policy needs, by network and id. */
  readonly selections: FactTable<PlacedSelection>;
  /** Pods of selections, by selection and `tupleKey` of the pod. */
  readonly selected: FactTable<SelectedPod>;
  /** By selection, protocol, name and number. */
  readonly namedNumbers: FactTable<NamedNumber>;
  /** By the keys of attachments. */
  readonly ports: FactTable<PolicedPort>;
  /** By the keys of policies. */
  readonly placements: FactTable<Placement>;
  /** By the keys of policies of administrators. */
  readonly adminPlacements: FactTable<Placement<AdminPolicy>>;
  /** By namespace. */
  readonly multicast: FactTable<MulticastPlacement>;

  readonly #facts: ZoneFacts;
  readonly #namespaceNetworks: FactTable<NamespaceNetworks>;
  readonly #namespaceSelections: FactTable<NamespaceSelections>;

  constructor(facts: ZoneFacts) {
    const { graph, recorder } = facts;
    this.#facts = facts;
    this.policies = new FactTable('policies', recorder, {
      arity: 3,
      indexes: { namespace: ({ namespace }) => [namespace] },
    });
    this.admins = new FactTable('admins', recorder, { arity: 2 });
    this.nodeLabels = new FactTable('nodeLabels', recorder);
    const namespaceNetworks = new DerivedFacts<NamespaceNetworks>(
      'namespaceNetworks',
      graph,
      union(this.policies.distinct('namespace'), facts.namespaces),
      (namespace = '') => ({ networks: this.#primaryNetworks(namespace) }),
    );
    const placements = new DerivedFacts<Placement>(
      'placements',
      graph,
      this.policies,
      (...key) => this.#place(key),
      {
        arity: 3,
        indexes: {
          unit: ({ policy, networks }) =>
            networks.map((network) =>
              tupleKey(network, policy.namespace, policy.name, policy.kind),
            ),
          namespace: ({ policy, networks }) =>
            networks.map((network) => tupleKey(network, policy.namespace)),
          selection: selectionBuckets,
        },
      },
    );
    const adminPlacements = new DerivedFacts<Placement<AdminPolicy>>(
      'adminPlacements',
      graph,
      this.admins,
      (...key) => this.#placeAdmin(key),
      {
        arity: 2,
        indexes: {
          network: ({ networks }) => networks,
          unit: ({ policy, networks }) =>
            networks.map((network) => tupleKey(network, policy.kind, policy.name)),
          rule: ({ policy: { kind, name, rules }, networks }) =>
            networks.flatMap((network) =>
              rules.map(({ direction, index }) =>
                tupleKey(network, kind, name, direction, String(index)),
              ),
            ),
          selection: selectionBuckets,
        },
      },
    );
    const multicast = new DerivedFacts<MulticastPlacement>(
      'multicast',
      graph,
      facts.namespaces,
      (namespace = '') => this.#placeMulticast(namespace),
      {
        indexes: {
          unit: ({ namespace, networks }) =>
            networks.map((network) => tupleKey(network, namespace)),
          selection: selectionBuckets,
        },
      },
    );
    const selections = new DerivedFacts<PlacedSelection>(
      'selections',
      graph,
      union(
        placements.table.distinct('selection', 2),
        adminPlacements.table.distinct('selection', 2),
        multicast.table.distinct('selection', 2),
      ),
      (network = '', id = '') => this.#mergeSelection(network as NetworkName, id),
      {
        arity: 2,
        indexes: {
          namespace: ({ selection: { namespace } }) => (namespace === undefined ? [] : [namespace]),
          anywhere: ({ selection: { namespace } }) => (namespace === undefined ? [''] : []),
        },
      },
    );
    const namespaceSelections = new DerivedFacts<NamespaceSelections>(
      'namespaceSelections',
      graph,
      facts.namespaces,
      (namespace = '') => this.#selectionsOfNamespace(namespace),
    );
    const podSelections = new DerivedFacts<PodSelections>(
      'podSelections',
      graph,
      facts.pods,
      (namespace = '', pod = '') => this.#selectionsOfPod(namespace, pod),
      {
        arity: 2,
        indexes: {
          pair: ({ selections: found }, pod) => found.map((selection) => tupleKey(selection, pod)),
        },
      },
    );
    const selected = new DerivedFacts<SelectedPod>(
      'selected',
      graph,
      podSelections.table.distinct('pair', 2),
      (selection = '', pod = '') => this.#selectedPod(selection, pod),
      {
        arity: 2,
        indexes: {
          port: ({ selection, ports }) =>
            ports.map(({ protocol, name, port }) =>
              tupleKey(selection, protocol, name, String(port)),
            ),
        },
        sets: {
          selection: ({ selection, addresses }) =>
            addresses.map((address) => [tupleKey(selection, familyOf(address)), address]),
          port: ({ selection, addresses, ports }) =>
            ports.flatMap(({ protocol, name, port }) =>
              addresses.map((address) => [
                tupleKey(selection, protocol, name, String(port), familyOf(address)),
                address,
              ]),
            ),
        },
      },
    );
    const namedNumbers = new DerivedFacts<NamedNumber>(
      'namedNumbers',
      graph,
      selected.table.distinct('port', 4),
      (selection = '', protocol = '', name = '', port = '') => ({
        selection,
        protocol: protocol as Protocol,
        name,
        port: Number(port),
      }),
      {
        arity: 4,
        indexes: {
          name: ({ selection, protocol, name }) => [portBucket(selection, protocol, name)],
        },
      },
    );
    const ports = new DerivedFacts<PolicedPort>(
      'policedPorts',
      graph,
      facts.attachments,
      (...key) => this.#policiesOf(key),
      { arity: 3 },
    );
    this.placements = placements.table;
    this.adminPlacements = adminPlacements.table;
    this.multicast = multicast.table;
    this.selections = selections.table;
    this.selected = selected.table;
    this.namedNumbers = namedNumbers.table;
    this.ports = ports.table;
    this.#namespaceNetworks = namespaceNetworks.table;
    this.#namespaceSelections = namespaceSelections.table;
  }

  /** Addresses of the pods of a selection on a network. */
  addressesOf(network: string, selection: string, family: Family): SetVersion {
    return this.selected.setOf('selection', tupleKey(tupleKey(network, selection), family));
  }

  /** Those of the pods that call a port by a name and a number: its key in `namedNumbers`. */
  addressesWithPort(number: readonly string[], family: Family): SetVersion {
    return this.selected.setOf('port', tupleKey(...number, family));
  }

  /** Primary networks that have a NAD in the namespace; the default one where there is none or the namespace did not ask for any. */
  #primaryNetworks(namespace: string): readonly NetworkName[] {
    const { definitions, networks, namespaces } = this.#facts;
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
  #secondaryNetworks(nads: readonly string[]): readonly NetworkName[] {
    const { definitions, networks } = this.#facts;
    const found = nads
      .map((nad) => definitions.part(nad, 'network') ?? DEFAULT_NETWORK)
      .filter(
        (network) => network !== DEFAULT_NETWORK && networks.part(network, 'role') === 'secondary',
      );
    return [...new Set(found)].sort() as NetworkName[];
  }

  #place(key: readonly string[]): Placement | undefined {
    const policy = this.policies.get(...key);
    if (policy === undefined) return undefined;
    const networks =
      policy.nads === undefined
        ? (this.#namespaceNetworks.get(policy.namespace)?.networks ?? [])
        : this.#secondaryNetworks(policy.nads);
    const ports = policy.rules.flatMap((rule) => portQueries(policy, rule));
    const selections = [
      ...policy.rules.flatMap(({ peers }) => peers),
      ...ports.map(({ selection }) => selection),
    ];
    return {
      policy,
      networks: this.#renderedOf(networks),
      selections: uniqueBy(selections, ({ id }) => id),
      ports,
    };
  }

  /** The default network, and the primary ones of the namespaces that the policy is about. */
  #placeAdmin(key: readonly string[]): Placement<AdminPolicy> | undefined {
    const policy = this.admins.get(...key);
    if (policy === undefined) return undefined;
    const { namespaceSelector } = policy.subject;
    const primary = this.#facts.namespaces
      .all()
      .filter(({ labels }) => matchesSelector(namespaceSelector, labels))
      .flatMap(({ name }) => this.#lastNetworks(name));
    const networks = new Set([DEFAULT_NETWORK, ...primary]);
    const ports = policy.rules.flatMap((rule) => adminPortQueries(policy, rule));
    const selections = [
      ...policy.rules.flatMap(({ peers }) => peers),
      ...ports.map(({ selection }) => selection),
    ];
    return {
      policy,
      networks: [...networks].sort().filter((network) => this.#wasRendered(network)),
      selections: uniqueBy(selections, ({ id }) => id),
      ports,
    };
  }

  /**
   * Networks of a namespace, as they were last where they can't be worked out: a policy of all namespaces is not held up by one of them. Pods of
   * that one get no ports meanwhile.
   */
  #lastNetworks(namespace: string): readonly NetworkName[] {
    const networks = this.#namespaceNetworks;
    return (
      orLast(
        () => networks.get(namespace),
        () => networks.peek(namespace),
      )?.networks ?? []
    );
  }

  /** The default network, and the primary ones on which the namespace has a group. */
  #placeMulticast(namespace: string): MulticastPlacement | undefined {
    const { namespaces, groupedNamespaces } = this.#facts;
    if (namespaces.part(namespace, 'hasMulticast') !== true) return undefined;
    const primary = groupedNamespaces.by('namespace', namespace).map(({ network }) => network);
    return {
      namespace,
      networks: this.#renderedOf([DEFAULT_NETWORK, ...[...new Set(primary)].sort()]),
      selections: [multicastSenders(namespace)],
    };
  }

  #renderedOf(networks: readonly NetworkName[]): readonly NetworkName[] {
    return networks.filter((network) => this.#facts.rendered.part(network, 'name') !== undefined);
  }

  #wasRendered(network: NetworkName): boolean {
    const { rendered } = this.#facts;
    const name = orLast(
      () => rendered.part(network, 'name'),
      () => rendered.peek(network)?.name,
    );
    return name !== undefined;
  }

  #mergeSelection(network: NetworkName, id: string): PlacedSelection | undefined {
    const bucket = tupleKey(network, id);
    const placed = [
      ...this.placements.by('selection', bucket),
      ...this.adminPlacements.by('selection', bucket),
    ];
    const selection = [...placed, ...this.multicast.by('selection', bucket)]
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
      ports: uniqueBy(ports, ({ protocol, name }) => tupleKey(protocol, name)),
    };
  }

  #selectionsOfNamespace(namespace: string): NamespaceSelections {
    const labels = this.#facts.namespaces.part(namespace, 'labels');
    const found = [
      ...this.selections.by('namespace', namespace),
      ...this.selections
        .by('anywhere', '')
        .filter(({ selection }) => matchesSelector(selection.namespaceSelector, labels)),
    ];
    return {
      selections: found.map(({ network, selection: { id, podSelector } }) => ({
        key: tupleKey(network, id),
        podSelector,
      })),
    };
  }

  #selectionsOfPod(namespace: string, pod: string): PodSelections {
    const labels = this.#facts.pods.part(tupleKey(namespace, pod), 'labels');
    const possible = this.#namespaceSelections.get(namespace)?.selections ?? [];
    return {
      selections: possible.flatMap(({ key, podSelector }) =>
        matchesSelector(podSelector, labels) ? [key] : [],
      ),
    };
  }

  #selectedPod(selection: string, pod: string): SelectedPod | undefined {
    const { attachments, remoteAttachments, pods } = this.#facts;
    const [network] = JSON.parse(selection) as readonly string[];
    const wanted = this.selections.part(selection, 'ports') ?? [];
    const reached = this.#facts.reach.reachedFrom(network ?? '');
    const addresses = [...attachments.by('pod', pod), ...remoteAttachments.by('pod', pod)]
      .filter(
        (attachment) =>
          attachment.network === network ||
          (attachment.role === 'primary' && reached.includes(attachment.network)),
      )
      .flatMap((attachment) => attachment.addresses.map(withoutPrefix));
    if (addresses.length === 0) return undefined;
    const ports =
      wanted.length === 0
        ? NO_PORTS
        : (pods.part(pod, 'namedPorts') ?? [])
            .map(({ protocol, name, port }) => ({
              protocol: protocol.toLowerCase() as Protocol,
              name,
              port,
            }))
            .filter(({ protocol, name }) =>
              wanted.some((query) => query.protocol === protocol && query.name === name),
            );
    return { selection, addresses, ports };
  }

  /** A pod's interface on the default network beside a primary one is closed anyway. */
  #policiesOf(key: readonly string[]): PolicedPort | undefined {
    const attachment = this.#facts.attachments.get(...key);
    if (attachment === undefined || attachment.role === 'infrastructure-locked') return undefined;
    const { namespace, pod, network } = attachment;
    const labels = this.#facts.pods.part(tupleKey(namespace, pod), 'labels');
    // By their keys: while it is not known on which networks a policy is, no port of its pods is made.
    const found = this.policies
      .by('namespace', namespace)
      .filter(
        ({ podSelector, name, kind }) =>
          matchesSelector(podSelector, labels) &&
          this.placements.get(namespace, name, kind)?.networks.includes(network) === true,
      );
    const admins = attachment.role === 'primary' ? this.#adminsOf(network, namespace, labels) : [];
    if (found.length === 0 && admins.length === 0) return undefined;
    return {
      admins,
      policies: found.map(({ name }) => ({ namespace, name })),
      directions: (['Ingress', 'Egress'] as const).filter((direction) =>
        found.some(({ directions }) => directions.includes(direction)),
      ),
    };
  }

  #adminsOf(
    network: NetworkName,
    namespace: string,
    labels: Readonly<Record<string, string>> | undefined,
  ): PolicedPort['admins'] {
    const spaceLabels = this.#facts.namespaces.part(namespace, 'labels');
    return this.admins
      .all()
      .filter(
        ({ subject, kind, name }) =>
          matchesSelector(subject.namespaceSelector, spaceLabels) &&
          matchesSelector(subject.podSelector, labels) &&
          this.#isPlaced(kind, name, network),
      )
      .map(({ kind, name }) => ({ kind, name }));
  }

  /** A policy that selects a pod of a network is on that network: until it is, the pod is not told from those that it is not about. */
  #isPlaced(kind: string, name: string, network: NetworkName): boolean {
    if (this.adminPlacements.get(kind, name)?.networks.includes(network) === true) return true;
    if (this.#facts.rendered.part(network, 'name') === undefined) return false;
    throw new Unreadable(`${kind} ${name} is not yet on network ${network}`);
  }
}
