/** Pods as policies know them: by labels, and by the addresses that they have on a network and on those that are reached from there. */
import { withoutPrefix, overlaps } from '../../allocators/addresses.ts';
import { PRIMARY_NETWORK_LABEL } from '../../api/annotations/network-annotations.ts';
import { hostCidrs, nodeSubnetsOn } from '../../api/annotations/node-annotations.ts';
import { objectKey } from '../../api/objects.ts';
import { matchesSelector, NAME_LABEL } from '../../api/selectors.ts';
import type { LabelSelector, Namespace, Node, Pod } from '../../api/types.ts';
import { addressesNamed } from '../headers/matched.ts';
import type { Ranges } from '../headers/ranges.ts';
import { secondOf, type Intent } from '../intent/intent.ts';
import type { VerifiedPort } from '../intent/pods.ts';
import type { Objects } from '../snapshot.ts';
import type { Selection } from './read.ts';

/** An interface of a pod that runs, or will. */
export interface PolicedPort {
  readonly port: VerifiedPort;
  readonly pod: Pod;
}

/** Objects as policies and firewalls ask for them. */
export interface PolicedObjects {
  namespace(name: string): Namespace | undefined;
  /** With their labels, addresses of the host and subnets of that network. */
  nodes(network: string): readonly Node[];
  /** Interfaces on a network of pods that run, or will. */
  portsOn(network: string): readonly PolicedPort[];
}

export const isDone = ({ status }: Pod): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** As they were read. */
export function policedObjects(
  intent: Pick<Intent, 'ports'>,
  { namespaces, nodes, pods }: Pick<Objects, 'namespaces' | 'nodes' | 'pods'>,
): PolicedObjects {
  const spaces = new Map(namespaces.map((one) => [one.metadata.name, one]));
  const running = new Map(
    pods.filter((pod) => !isDone(pod)).map((pod) => [objectKey(pod.metadata), pod]),
  );
  const byNetwork = new Map<string, PolicedPort[]>();
  for (const port of intent.ports.values()) {
    const pod = running.get(port.pod);
    if (pod === undefined) continue;
    const known = byNetwork.get(port.network);
    if (known === undefined) byNetwork.set(port.network, [{ port, pod }]);
    else known.push({ port, pod });
  }
  return {
    namespace: (name) => spaces.get(name),
    nodes: () => nodes,
    portsOn: (network) => byNetwork.get(network) ?? [],
  };
}

/** Ports by namespace. */
type Placed = ReadonlyMap<string, readonly PolicedPort[]>;

const PROTOCOLS: Readonly<Record<string, number>> = { TCP: 6, UDP: 17, SCTP: 132 };

/** Pods as policies on one network know them. */
export class SelectedPods {
  readonly #network: string;
  readonly #intent: Intent;
  readonly #objects: PolicedObjects;
  /** Of the network, and of those whose pods are reached from there. */
  readonly #near: Placed;
  readonly #pods: ReadonlyMap<string, Pod>;
  readonly #selected = new Map<string, readonly PolicedPort[]>();
  #owners: ReadonlyMap<string, string> | undefined;

  constructor(network: string, intent: Intent, objects: PolicedObjects) {
    this.#network = network;
    this.#intent = intent;
    this.#objects = objects;
    this.#near = this.#nearby();
    this.#pods = new Map(objects.portsOn(network).map(({ port, pod }) => [port.pod, pod]));
  }

  /** Of a pod that is being deleted, or whose namespace is, policies may be gone before it. */
  isStaying({ namespace, pod: key }: VerifiedPort): boolean {
    const pod = this.#pods.get(key);
    const space = this.#objects.namespace(namespace);
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
    const labels = this.#objects.namespace(namespace)?.metadata.labels;
    return matchesSelector(namespaces, { ...labels, [NAME_LABEL]: namespace });
  }

  /** Numbers that a pod calls by a name. */
  numbersOf({ pod }: PolicedPort, protocol: number, name: string): readonly number[] {
    const all = (pod.spec.containers ?? []).flatMap(({ ports = [] }) => ports);
    return all
      .filter((one) => one.name === name && PROTOCOLS[one.protocol] === protocol)
      .map(({ containerPort }) => containerPort);
  }

  /** The same of a pod of the network. */
  ownNumbersOf(port: VerifiedPort, protocol: number, name: string): readonly number[] {
    const pod = this.#pods.get(port.pod);
    return pod === undefined ? [] : this.numbersOf({ port, pod }, protocol, name);
  }

  /** Ports of pods that a selection means where it stands in a policy on the network. */
  on({ namespaces, pods }: Selection): readonly PolicedPort[] {
    const key = JSON.stringify([namespaces, pods]);
    const known = this.#selected.get(key);
    if (known !== undefined) return known;
    const found = [...this.#near]
      .filter(([namespace]) => this.#isOf(namespaces, namespace))
      .flatMap(([, ports]) =>
        ports.filter(({ pod }) => matchesSelector(pods, pod.metadata.labels)),
      );
    this.#selected.set(key, found);
    return found;
  }

  /** Those of all pods there. */
  all(): readonly PolicedPort[] {
    return [...this.#near.values()].flat();
  }

  /** The pod that has an address there, `<namespace>/<name>`. */
  ownerOf(address: string): string | undefined {
    this.#owners ??= new Map(
      this.all().flatMap(({ port }) =>
        port.addresses.map((one): [string, string] => [one, port.pod]),
      ),
    );
    return this.#owners.get(address);
  }

  /** Of pods of the network, and of primary interfaces on networks whose pods they reach. */
  #nearby(): Placed {
    const found = new Map<string, PolicedPort[]>();
    for (const name of [this.#network, ...this.#reached()])
      for (const one of this.#objects.portsOn(name)) {
        if (name !== this.#network && one.port.role !== 'primary') continue;
        const own = found.get(one.port.namespace);
        if (own === undefined) found.set(one.port.namespace, [one]);
        else own.push(one);
      }
    return found;
  }

  /** Networks that a connection of pods joins with it, and those of a namespace that asks for a primary one; of the latter not those that overlap. */
  #reached(): ReadonlySet<string> {
    const { byName } = this.#intent;
    const own = byName.get(this.#network)?.subnets ?? [];
    const found = new Set<string>();
    for (const { object, networks, opensPods } of this.#intent.joinsOf(this.#network)) {
      if (!opensPods) continue;
      const [kind, name = ''] = object.split(' ');
      const isNamespace = kind === 'Namespace';
      const labels = this.#objects.namespace(name)?.metadata.labels ?? {};
      if (isNamespace && !Object.hasOwn(labels, PRIMARY_NETWORK_LABEL)) continue;
      for (const other of networks) {
        const theirs = byName.get(other)?.subnets ?? [];
        const isApart = !own.some((one) => theirs.some((prefix) => overlaps(one, prefix)));
        if (other !== this.#network && (!isNamespace || isApart)) found.add(other);
      }
    }
    return found;
  }

  /** Addresses of the nodes that a selector means: of the host, and of its port on the network. */
  addressesOfNodes(selector: LabelSelector): Ranges {
    return addressesNamed(
      this.#nodes(selector).flatMap((node) => [
        ...(hostCidrs(node).value ?? []).map(withoutPrefix),
        ...(nodeSubnetsOn(node, this.#network).value ?? []).flatMap(secondOf),
      ]),
    );
  }

  /** True when a selector means this node. */
  isHere(selector: LabelSelector): boolean {
    return this.#nodes(selector).some(({ metadata }) => metadata.name === this.#intent.node);
  }

  #nodes(selector: LabelSelector): readonly Node[] {
    return this.#objects
      .nodes(this.#network)
      .filter(({ metadata }) => matchesSelector(selector, metadata.labels));
  }

  /** Of the host's ports of this node on the network, by which probes come whatever policies say (reference/topology.md §7.2). */
  hostAddresses(): readonly string[] {
    const { topology, subnets = [] } = this.#intent.byName.get(this.#network) ?? {};
    if (topology !== 'layer3')
      return subnets.flatMap((subnet) => secondOf(this.#intent.textOf(subnet)));
    return this.#intent.hostAddresses.get(this.#network) ?? [];
  }
}
