/**
 * Objects → zone. Takes the change of one object at a time and works only on what it concerns; values that stay the same
 * keep their identity.
 */
import { DEFAULT_NAD_KEY, nadOfKey } from '../api/nad/nad-key.ts';
import { PRIMARY_NETWORK_LABEL } from '../api/annotations/network-annotations.ts';
import { objectKey, type KubeObject, type ObjectKey } from '../api/objects.ts';
import type {
  ClusterNetworkConnect,
  Namespace,
  NetworkAttachmentDefinition,
  Node,
  Pod,
  Service,
} from '../api/types.ts';
import type { ZoneConnectStatus } from '../api/zone-status.ts';
import { openPortsProblem, readInterfaces, type PodInterface } from './attachments.ts';
import { zoneConnects } from './connects.ts';
import type {
  AllowedDefaultService,
  Attachment,
  ClusterSettings,
  LocalNode,
  Network,
  NetworkName,
  NodeFacts,
  Zone,
} from './model.ts';
import {
  assembleNetwork,
  DEFAULT_NETWORK,
  defaultNetwork,
  readDefinition,
  type AssembledNetwork,
  type NetworkDefinition,
} from './networks.ts';
import { readLocalNode, readNodeFacts, readNodeSubnets } from './nodes.ts';
import type { ObjectReading } from './reading.ts';
import { isDeepStrictEqual } from 'node:util';

/** Something about one object that keeps it, and it alone, out of the zone. */
export interface ModelProblem {
  /** `Pod blue/web`. */
  readonly object: string;
  /** What is wrong and what to do. */
  readonly message: string;
}

/** One change of an object: `before` absent = new, `after` absent = gone. */
export interface ModelChange<T extends KubeObject> {
  readonly key: ObjectKey;
  readonly after: T | undefined;
}

interface NodeEntry {
  readonly facts: ObjectReading<NodeFacts>;
  readonly local: ObjectReading<LocalNode> | undefined;
  readonly subnets: ReadonlyMap<string, readonly string[]>;
}

interface PodEntry {
  readonly pod: Pod;
  readonly interfaces: readonly PodInterface[];
}

export class ZoneBuilder {
  readonly #nodeName: string;
  readonly #settings: ClusterSettings;
  readonly #problems = new Map<string, string>();
  readonly #pending = new Map<string, string>();
  readonly #nodes = new Map<ObjectKey, NodeEntry>();
  readonly #definitions = new Map<ObjectKey, NetworkDefinition>();
  readonly #namespaces = new Map<ObjectKey, { readonly isLabelled: boolean }>();
  readonly #pods = new Map<ObjectKey, PodEntry>();
  readonly #services = new Map<ObjectKey, AllowedDefaultService>();
  readonly #connects = new Map<ObjectKey, ClusterNetworkConnect>();
  readonly #networks = new Map<string, Network>();
  readonly #dirtyNetworks = new Set<string>([DEFAULT_NETWORK]);
  #zone: Zone | undefined;
  #isDirty = true;

  constructor(nodeName: string, settings: ClusterSettings) {
    this.#nodeName = nodeName;
    this.#settings = settings;
  }

  node({ key, after }: ModelChange<Node>): void {
    const before = this.#nodes.get(key);
    const entry = after === undefined ? undefined : this.#readNode(after);
    if (entry === undefined) this.#nodes.delete(key);
    else this.#nodes.set(key, entry);
    this.#note(`Node ${key}`, entry?.local ?? entry?.facts);
    const subnetsBefore = before?.subnets ?? new Map<string, readonly string[]>();
    const subnetsAfter = entry?.subnets ?? new Map<string, readonly string[]>();
    for (const network of new Set([...subnetsBefore.keys(), ...subnetsAfter.keys()])) {
      if (!isDeepStrictEqual(subnetsBefore.get(network), subnetsAfter.get(network)))
        this.#dirtyNetworks.add(network);
    }
    this.#isDirty = true;
  }

  networkAttachmentDefinition({ key, after }: ModelChange<NetworkAttachmentDefinition>): void {
    const before = this.#definitions.get(key);
    const reading = after === undefined ? undefined : readDefinition(after, this.#settings);
    this.#note(`NetworkAttachmentDefinition ${key}`, reading);
    if (reading?.kind === 'value') this.#definitions.set(key, reading.value);
    else this.#definitions.delete(key);
    if (before !== undefined) this.#dirtyNetworks.add(before.name);
    if (reading?.kind === 'value') this.#dirtyNetworks.add(reading.value.name);
    this.#isDirty = true;
  }

  namespace({ key, after }: ModelChange<Namespace>): void {
    if (after === undefined) this.#namespaces.delete(key);
    else {
      const isLabelled = Object.hasOwn(after.metadata.labels ?? {}, PRIMARY_NETWORK_LABEL);
      this.#namespaces.set(key, { isLabelled });
    }
    for (const definition of this.#definitions.values()) {
      if (definition.namespace === key) this.#dirtyNetworks.add(definition.name);
    }
    this.#isDirty = true;
  }

  pod({ key, after }: ModelChange<Pod>): void {
    const pod = after?.spec.nodeName === this.#nodeName ? after : undefined;
    const reading = pod === undefined ? undefined : readInterfaces(pod);
    this.#note(`Pod ${key}`, reading);
    const openPorts = pod === undefined ? undefined : openPortsProblem(pod);
    if (openPorts !== undefined) this.#problems.set(`Pod ${key}`, openPorts);
    const interfaces = reading?.kind === 'value' ? reading.value : [];
    const before = this.#pods.get(key);
    if (
      before?.pod.metadata.uid === pod?.metadata.uid &&
      isDeepStrictEqual(before?.interfaces ?? [], interfaces)
    )
      return;
    if (pod === undefined || interfaces.length === 0) this.#pods.delete(key);
    else this.#pods.set(key, { pod, interfaces });
    this.#isDirty = true;
  }

  service({ key, after }: ModelChange<Service>): void {
    if (!this.#settings.allowedDefaultServices.includes(key)) return;
    const clusterIps = after?.spec.clusterIPs ?? [];
    if (isDeepStrictEqual(this.#services.get(key)?.clusterIps ?? [], clusterIps)) return;
    if (clusterIps.length === 0) this.#services.delete(key);
    else this.#services.set(key, { key, clusterIps });
    this.#isDirty = true;
  }

  clusterNetworkConnect({ key, after }: ModelChange<ClusterNetworkConnect>): void {
    if (after === undefined) this.#connects.delete(key);
    else this.#connects.set(key, after);
  }

  /** How far each accepted ClusterNetworkConnect is on the node; none while the node itself is not known. */
  connects(): readonly ZoneConnectStatus[] {
    const zone = this.zone();
    return zone === undefined
      ? []
      : zoneConnects(this.#connects.values(), zone.node, zone.networks);
  }

  /** Objects that are wrong, by object. */
  get problems(): readonly ModelProblem[] {
    return [...this.#problems].map(([object, message]) => ({ object, message }));
  }

  /** Objects that wait for an allocation, and which. */
  get pending(): readonly ModelProblem[] {
    return [...this.#pending].map(([object, message]) => ({ object, message }));
  }

  /** The zone, or undefined while the node itself is not known well enough; `problems` and `pending` say why. */
  zone(): Zone | undefined {
    if (!this.#isDirty) return this.#zone;
    this.#isDirty = false;
    const local = this.#nodes.get(this.#nodeName)?.local;
    if (local?.kind !== 'value') return (this.#zone = undefined);
    this.#assembleNetworks();
    const next: Zone = {
      settings: this.#settings,
      node: local.value,
      remoteNodes: this.#remoteNodes(),
      namespaces: [...this.#namespaces.keys()].sort(),
      networks: [...this.#networks.values()].sort((a, b) => a.id - b.id),
      attachments: [...this.#pods.values()].flatMap((entry) => this.#attachments(entry)),
      allowedDefaultServices: [...this.#services.values()].sort((a, b) => (a.key < b.key ? -1 : 1)),
    };
    return (this.#zone = keepIdentity(this.#zone, next));
  }

  #readNode(node: Node): NodeEntry {
    const name = node.metadata.name;
    return {
      facts: readNodeFacts(node),
      local: name === this.#nodeName ? readLocalNode(node) : undefined,
      subnets: readNodeSubnets(node),
    };
  }

  #remoteNodes(): readonly NodeFacts[] {
    const facts: NodeFacts[] = [];
    for (const [name, entry] of this.#nodes) {
      if (name !== this.#nodeName && entry.facts.kind === 'value') facts.push(entry.facts.value);
    }
    return facts.sort((a, b) => a.id - b.id);
  }

  #assembleNetworks(): void {
    for (const name of this.#dirtyNetworks) {
      const nodeSubnets = new Map<string, readonly string[]>();
      for (const [node, { subnets }] of this.#nodes) {
        const found = subnets.get(name);
        if (found !== undefined) nodeSubnets.set(node, found);
      }
      const assembled = this.#assemble(name, nodeSubnets);
      this.#note(`Network ${name}`, assembled?.network);
      for (const { nad, message } of assembled?.leftOut ?? [])
        this.#note(`NetworkAttachmentDefinition ${nad}`, { kind: 'problem', message });
      if (assembled?.network.kind !== 'value') this.#networks.delete(name);
      else if (!isDeepStrictEqual(this.#networks.get(name), assembled.network.value))
        this.#networks.set(name, assembled.network.value);
    }
    this.#dirtyNetworks.clear();
  }

  #assemble(
    name: string,
    nodeSubnets: ReadonlyMap<string, readonly string[]>,
  ): AssembledNetwork | undefined {
    if (name === DEFAULT_NETWORK) {
      const value = defaultNetwork(this.#settings, nodeSubnets);
      return { network: { kind: 'value', value }, leftOut: [] };
    }
    const definitions = [...this.#definitions.values()].filter(
      (definition) => definition.name === name,
    );
    // A NAD that was left out before gets a new chance.
    for (const { nad } of definitions) this.#problems.delete(`NetworkAttachmentDefinition ${nad}`);
    return assembleNetwork(definitions, nodeSubnets, {
      settings: this.#settings,
      isPrimaryIn: (namespace) => this.#namespaces.get(namespace)?.isLabelled ?? false,
    });
  }

  /** An interface names a NAD; its network is the one that the NAD stands for. */
  #attachments({ pod, interfaces }: PodEntry): readonly Attachment[] {
    return interfaces.flatMap(({ nadKey, podNetwork, openDefaultPorts }) => {
      const nad = nadOfKey(nadKey);
      const network =
        nadKey === DEFAULT_NAD_KEY ? DEFAULT_NETWORK : this.#definitions.get(nad)?.config.name;
      if (network === undefined) return [];
      return [
        {
          namespace: pod.metadata.namespace ?? '',
          pod: pod.metadata.name,
          podUid: pod.metadata.uid ?? '',
          node: this.#nodeName,
          network: network as NetworkName,
          nadKey,
          role: podNetwork.role ?? (nadKey === DEFAULT_NAD_KEY ? 'primary' : 'secondary'),
          macAddress: podNetwork.macAddress,
          addresses: podNetwork.addresses,
          openDefaultPorts,
        },
      ];
    });
  }

  #note(object: string, reading: ObjectReading<unknown> | undefined): void {
    if (reading?.kind === 'problem') this.#problems.set(object, reading.message);
    else this.#problems.delete(object);
    if (reading?.kind === 'pending') this.#pending.set(object, reading.waitsFor);
    else this.#pending.delete(object);
  }
}

/** `next`, with every member that equals that of `before` being the same value. */
function keepIdentity(before: Zone | undefined, next: Zone): Zone {
  if (before === undefined) return next;
  const known = new Map(before.attachments.map((attachment) => [podKey(attachment), attachment]));
  const attachments = next.attachments.map((attachment) => {
    const old = known.get(podKey(attachment));
    return isDeepStrictEqual(old, attachment) && old !== undefined ? old : attachment;
  });
  const members: Zone = { ...next, attachments };
  const kept = Object.fromEntries(
    (Object.keys(members) as (keyof Zone)[]).map((key) => [
      key,
      isDeepStrictEqual(before[key], members[key]) ? before[key] : members[key],
    ]),
  ) as unknown as Zone;
  return (Object.keys(kept) as (keyof Zone)[]).every((key) => kept[key] === before[key])
    ? before
    : kept;
}

const podKey = (attachment: Attachment): string =>
  `${objectKey({ namespace: attachment.namespace, name: attachment.pod })} ${attachment.nadKey}`;
