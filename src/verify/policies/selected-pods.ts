/** Pods as policies know them: by labels, and by the addresses that they have on a network and on those that are reached from there. */
import { withoutPrefix, nthAddress, overlaps } from '../../allocators/addresses.ts';
import { PRIMARY_NETWORK_LABEL } from '../../api/annotations/network-annotations.ts';
import { nodeSubnets, hostCidrs } from '../../api/annotations/node-annotations.ts';
import { objectKey } from '../../api/objects.ts';
import { matchesSelector, NAME_LABEL } from '../../api/selectors.ts';
import type { LabelSelector, Namespace, Node, Pod } from '../../api/types.ts';
import { addressesNamed } from '../headers/matched.ts';
import type { Ranges } from '../headers/ranges.ts';
import type { Intent } from '../intent/intent.ts';
import type { VerifiedPort } from '../intent/pods.ts';
import type { Objects } from '../snapshot.ts';
import type { Selection } from './read.ts';

/** An interface of a pod that runs, or will. */
export interface PolicedPort {
  readonly port: VerifiedPort;
  readonly pod: Pod;
}

const isDone = ({ status }: Pod): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** Ports by namespace. */
type Placed = ReadonlyMap<string, readonly PolicedPort[]>;

const PROTOCOLS: Readonly<Record<string, number>> = { TCP: 6, UDP: 17, SCTP: 132 };

export class SelectedPods {
  readonly #intent: Intent;
  readonly #namespaces: ReadonlyMap<string, Namespace>;
  readonly #nodes: readonly Node[];
  readonly #pods: ReadonlyMap<string, Pod>;
  readonly #byNetwork = new Map<string, Map<string, PolicedPort[]>>();
  readonly #near = new Map<string, Placed>();
  readonly #selected = new Map<string, readonly PolicedPort[]>();
  readonly #owners = new Map<string, ReadonlyMap<string, string>>();

  constructor(intent: Intent, { namespaces, nodes, pods }: Objects) {
    this.#intent = intent;
    this.#namespaces = new Map(namespaces.map((one) => [one.metadata.name, one]));
    this.#nodes = nodes;
    this.#pods = new Map(
      pods.filter((pod) => !isDone(pod)).map((pod) => [objectKey(pod.metadata), pod]),
    );
    for (const port of intent.ports.values()) {
      const pod = this.#pods.get(port.pod);
      if (pod === undefined) continue;
      const known = this.#byNetwork.get(port.network) ?? new Map<string, PolicedPort[]>();
      this.#byNetwork.set(port.network, known);
      const own = known.get(port.namespace);
      if (own === undefined) known.set(port.namespace, [{ port, pod }]);
      else own.push({ port, pod });
    }
  }

  /** Of a pod that is being deleted, or whose namespace is, policies may be gone before it. */
  isStaying({ namespace, pod: key }: VerifiedPort): boolean {
    const pod = this.#pods.get(key);
    const space = this.#namespaces.get(namespace);
    return (
      pod !== undefined &&
      space !== undefined &&
      pod.metadata.deletionTimestamp === undefined &&
      space.metadata.deletionTimestamp === undefined
    );
  }

  isSelected({ namespaces, pods }: Selection, { namespace, pod: key }: VerifiedPort): boolean {
    const pod = this.#pods.get(key);
    return (
      pod !== undefined &&
      this.#isOf(namespaces, namespace) &&
      matchesSelector(pods, pod.metadata.labels)
    );
  }

  #isOf(namespaces: Selection['namespaces'], namespace: string): boolean {
    if (typeof namespaces === 'string') return namespaces === namespace;
    const labels = this.#namespaces.get(namespace)?.metadata.labels;
    return matchesSelector(namespaces, { ...labels, [NAME_LABEL]: namespace });
  }

  /** Numbers that a pod calls by a name. */
  numbersOf({ pod: key }: VerifiedPort, protocol: number, name: string): readonly number[] {
    const all = (this.#pods.get(key)?.spec.containers ?? []).flatMap(({ ports = [] }) => ports);
    return all
      .filter((one) => one.name === name && PROTOCOLS[one.protocol] === protocol)
      .map(({ containerPort }) => containerPort);
  }

  /** Ports of pods that a selection means where it stands in a policy on a network. */
  on(network: string, { namespaces, pods }: Selection): readonly PolicedPort[] {
    const key = JSON.stringify([network, namespaces, pods]);
    const known = this.#selected.get(key);
    if (known !== undefined) return known;
    const found = [...this.#nearby(network)]
      .filter(([namespace]) => this.#isOf(namespaces, namespace))
      .flatMap(([, ports]) =>
        ports.filter(({ pod }) => matchesSelector(pods, pod.metadata.labels)),
      );
    this.#selected.set(key, found);
    return found;
  }

  /** Those of all pods there. */
  all(network: string): readonly PolicedPort[] {
    return [...this.#nearby(network).values()].flat();
  }

  /** The pod that has an address there, `<namespace>/<name>`. */
  ownerOf(network: string, address: string): string | undefined {
    let owners = this.#owners.get(network);
    if (owners === undefined) {
      owners = new Map(
        this.all(network).flatMap(({ port }) =>
          port.addresses.map((one): [string, string] => [one, port.pod]),
        ),
      );
      this.#owners.set(network, owners);
    }
    return owners.get(address);
  }

  /** Of pods of the network, and of primary interfaces on networks whose pods they reach. */
  #nearby(network: string): Placed {
    const known = this.#near.get(network);
    if (known !== undefined) return known;
    const found = new Map<string, PolicedPort[]>();
    for (const name of [network, ...this.#reached(network)])
      for (const [namespace, ports] of this.#byNetwork.get(name) ?? []) {
        const own = found.get(namespace) ?? [];
        found.set(namespace, own);
        own.push(...ports.filter(({ port }) => name === network || port.role === 'primary'));
      }
    this.#near.set(network, found);
    return found;
  }

  /** Networks that a connection of pods joins with it, and those of a namespace that asks for a primary one; of the latter not those that overlap. */
  #reached(network: string): ReadonlySet<string> {
    const { byName } = this.#intent;
    const own = byName.get(network)?.subnets ?? [];
    const found = new Set<string>();
    for (const { object, networks, opensPods } of this.#intent.joinsOf(network)) {
      if (!opensPods) continue;
      const [kind, name = ''] = object.split(' ');
      const isNamespace = kind === 'Namespace';
      const labels = this.#namespaces.get(name)?.metadata.labels ?? {};
      if (isNamespace && !Object.hasOwn(labels, PRIMARY_NETWORK_LABEL)) continue;
      for (const other of networks) {
        const theirs = byName.get(other)?.subnets ?? [];
        const isApart = !own.some((one) => theirs.some((prefix) => overlaps(one, prefix)));
        if (other !== network && (!isNamespace || isApart)) found.add(other);
      }
    }
    return found;
  }

  /** Addresses of the nodes that a selector means: of the host, and of its port on the network. */
  addressesOfNodes(network: string, selector: LabelSelector): Ranges {
    return addressesNamed(
      this.#nodes
        .filter(({ metadata }) => matchesSelector(selector, metadata.labels))
        .flatMap((node) => [
          ...(hostCidrs(node).value ?? []).map(withoutPrefix),
          ...hostAddresses(node, network),
        ]),
    );
  }

  /** Of the host's ports of this node on a network, by which probes come whatever policies say (reference/topology.md §7.2). */
  hostAddresses(network: string): readonly string[] {
    const here = this.#nodes.find(({ metadata }) => metadata.name === this.#intent.node);
    const { topology, subnets = [] } = this.#intent.byName.get(network) ?? {};
    if (topology === 'layer3') return here === undefined ? [] : hostAddresses(here, network);
    return subnets.map((subnet) => nthAddress(this.#intent.textOf(subnet), SECOND));
  }
}

const SECOND = 2;

const hostAddresses = (node: Node, network: string): readonly string[] =>
  (nodeSubnets(node).value?.get(network) ?? []).map((cidr) => nthAddress(cidr, SECOND));
