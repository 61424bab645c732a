/** Namespaces, nodes and pods as policies and firewalls ask for them, while they change. */
import { isDeepStrictEqual } from 'node:util';
import { nodeSubnetsOnEach } from '../../api/annotations/node-annotations.ts';
import type { Namespace, Node, Pod } from '../../api/types.ts';
import type { VerifiedPort } from '../intent/pods.ts';
import { isDone, type PolicedObjects, type PolicedPort } from '../policies/selected-pods.ts';
import type { Readers } from './readers.ts';

/** A pod with its interfaces. */
interface PlacedPod {
  readonly pod: Pod;
  readonly ports: readonly VerifiedPort[];
}

/** What of objects policies ask about: the rest may change as it likes. */
const ofNamespace = (one: Namespace | undefined): unknown =>
  one && [one.metadata.labels, one.metadata.deletionTimestamp];

const ofNode = (one: Node | undefined): unknown =>
  one && [one.metadata.labels, one.metadata.annotations?.['k8s.ovn.org/host-cidrs']];

/** Those of some networks of which a node has other subnets. */
function withOtherSubnets(
  before: Node | undefined,
  now: Node | undefined,
  networks: readonly string[],
): readonly string[] {
  const [was, is] = [before, now].map((one) => one && nodeSubnetsOnEach(one, networks).value);
  return networks.filter(
    (network) =>
      was === undefined ||
      is === undefined ||
      !isDeepStrictEqual(was.get(network), is.get(network)),
  );
}

const ofPod = (one: PlacedPod | undefined): unknown =>
  one && [
    one.pod.metadata.labels,
    one.pod.metadata.deletionTimestamp,
    isDone(one.pod),
    one.pod.spec.containers?.map(({ ports }) => ports),
    one.ports,
  ];

export class KeptPoliced {
  readonly #readers: Readers;
  readonly #namespaces = new Map<string, Namespace>();
  readonly #nodes = new Map<string, Node>();
  readonly #pods = new Map<string, PlacedPod>();
  /** Keys of pods with interfaces on each network. */
  readonly #byNetwork = new Map<string, Set<string>>();
  /** As checks read them. */
  readonly objects: PolicedObjects;

  constructor(readers: Readers) {
    this.#readers = readers;
    this.objects = {
      namespace: (name) => {
        readers.note('policed namespace', name);
        return this.#namespaces.get(name);
      },
      nodes: (network) => {
        readers.note('policed nodes', network);
        return [...this.#nodes.values()];
      },
      portsOn: (network) => {
        readers.note('pods on', network);
        return this.#portsOn(network);
      },
    };
  }

  setNamespace(name: string, namespace: Namespace | undefined): void {
    const before = this.#namespaces.get(name);
    replace(this.#namespaces, name, namespace);
    if (!isDeepStrictEqual(ofNamespace(before), ofNamespace(namespace)))
      this.#readers.changed('policed namespace', name);
  }

  setNode(name: string, node: Node | undefined): void {
    const before = this.#nodes.get(name);
    replace(this.#nodes, name, node);
    const networks = this.#readers.keysOf('policed nodes');
    if (networks.length === 0) return;
    const isAlike = isDeepStrictEqual(ofNode(before), ofNode(node));
    for (const network of isAlike ? withOtherSubnets(before, node, networks) : networks)
      this.#readers.changed('policed nodes', network);
  }

  setPod(key: string, pod: PlacedPod | undefined): void {
    const before = this.#pods.get(key);
    replace(this.#pods, key, pod);
    const [left, taken] = [before, pod].map(
      (one) => new Set(one?.ports.map(({ network }) => network)),
    ) as [Set<string>, Set<string>];
    for (const network of left) if (!taken.has(network)) this.#leave(network, key);
    for (const network of taken) {
      const known = this.#byNetwork.get(network);
      if (known === undefined) this.#byNetwork.set(network, new Set([key]));
      else known.add(key);
    }
    if (!isDeepStrictEqual(ofPod(before), ofPod(pod)))
      for (const network of new Set([...left, ...taken])) this.#readers.changed('pods on', network);
  }

  #leave(network: string, key: string): void {
    const known = this.#byNetwork.get(network);
    known?.delete(key);
    if (known?.size === 0) this.#byNetwork.delete(network);
  }

  #portsOn(network: string): readonly PolicedPort[] {
    const found: PolicedPort[] = [];
    for (const key of this.#byNetwork.get(network) ?? []) {
      const known = this.#pods.get(key);
      if (known === undefined || isDone(known.pod)) continue;
      for (const port of known.ports)
        if (port.network === network) found.push({ port, pod: known.pod });
    }
    return found;
  }
}

function replace<T>(all: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) all.delete(key);
  else all.set(key, value);
}
