/** Where what is read of objects goes: an entry per table that a declaration of a kind names. */
import { NadRegistry } from '../../api/nad/nad-registry.ts';
import type { KubeObject, ObjectKey } from '../../api/objects.ts';
import type { Pod } from '../../api/types.ts';
import type { FactTable } from '../../facts/fact-table.ts';
import { written, type Key } from '../../facts/keys.ts';
import type { AdminKey } from './admin-policies.ts';
import type { PodKey, PodTables } from './pods.ts';
import type { PolicyKey } from './policies.ts';
import type { QosKey } from './qos.ts';
import type { NodeFacts, PodInterface } from '../model.ts';
import { registrationOf } from '../read/networks.ts';
import { NO_SUBNETS, type SubnetsOfNode } from '../read/node-subnets.ts';
import type { NumbersOnNode } from '../read/masquerade-numbers.ts';
import { isLocalNode } from '../read/nodes.ts';
import type { ObjectFacts } from '../read/object-kinds.ts';
import { identitiesOf } from '../rules/admission.ts';
import { claimsOf } from '../rules/service-admission.ts';
import type { ZoneFacts } from './zone.ts';

export interface ObjectId {
  readonly kind: string;
  readonly key: ObjectKey;
  readonly namespace: string;
  readonly name: string;
}

export function objectId(kind: string, key: ObjectKey): ObjectId {
  const [first = '', second] = key.split('/');
  return second === undefined
    ? { kind, key, namespace: '', name: first }
    : { kind, key, namespace: first, name: second };
}

/** Facts of objects of one or more kinds. Methods, so that those of all kinds fit one record. */
export interface ObjectTable<F> {
  /** What was read of the object last. */
  peek(id: ObjectId): F | undefined;
  /** Takes what was read; undefined where there is nothing of it, and `object` too when that is gone. */
  put(id: ObjectId, fact: F | undefined, object: KubeObject | undefined): void;
  /** True if something of this very object is in force; by default what `peek` finds. */
  holds?(id: ObjectId, object: KubeObject): boolean;
}

export type ObjectTables = { readonly [T in keyof ObjectFacts]: ObjectTable<ObjectFacts[T]> };

/** A table with a fact per object. */
const plain = <K extends Key, F extends object>(
  table: Pick<FactTable<K, F>, 'peek' | 'put'>,
  keyOf: (id: ObjectId) => K,
): ObjectTable<F> => ({
  peek: (id) => table.peek(...keyOf(id)),
  put: (id, fact) => table.put(written(keyOf(id)), fact),
});

const byKey = ({ key }: ObjectId): [string] => [key];
const policyKey = ({ kind, namespace, name }: ObjectId): PolicyKey => [namespace, name, kind];
const byName = ({ namespace, name }: ObjectId): PodKey => [namespace, name];

export function tablesOf(facts: ZoneFacts, registry = new NadRegistry()): ObjectTables {
  const interfaces = new InterfaceTable(facts);
  return {
    namespaces: plain(facts.namespaces, byKey),
    nodes: nodeTable(facts),
    nodeLabels: plain(facts.nodeLabels, byKey),
    nodeAddresses: plain(facts.nodeAddresses, byKey),
    gatewayMacs: plain(facts.gatewayMacs, byKey),
    nodeSubnets: new SubnetTable(facts),
    masqueradeNumbers: new NumberTable(facts),
    definitions: new DefinitionTable(facts, registry),
    connects: plain(facts.connects, byKey),
    declaredServices: serviceTable(facts),
    endpointSlices: plain(facts.endpointSlices, byKey),
    sliceNames: plain(facts.sliceNames, byKey),
    policies: {
      peek: (id) => facts.policies.peek(...policyKey(id)),
      put: (id, fact, object) => facts.putPolicy(policyKey(id), fact, object === undefined),
    },
    admins: plain(facts.admins, ({ kind, key }): AdminKey => [kind, key]),
    firewalls: plain(facts.firewalls, byName),
    egressIps: plain(facts.egressIps, byKey),
    trafficClasses: plain(facts.trafficClasses, byKey),
    assignedEgress: plain(facts.assignedEgress, byKey),
    requestedEgress: plain(facts.requestedEgress, byKey),
    egressServices: plain(facts.egressServices, byName),
    externalRoutes: plain(facts.externalRoutes, byKey),
    gatewayPods: plain(facts.gatewayPods, byName),
    qoses: plain(facts.qoses, ({ kind, namespace, name }): QosKey => [
      kind as QosKey[0],
      namespace,
      name,
    ]),
    pods: plain(facts.pods, byName),
    endingPods: plain(facts.endingPods, byName),
    hostNetworkPods: plain(facts.hostNetworkPods, byName),
    hostPortRequests: plain(facts.hostPortRequests, byName),
    interfaces,
    networkRequests: networkRequestTable(facts, interfaces),
  };
}

/** This node's own facts outlive even its object. */
function nodeTable(facts: ZoneFacts): ObjectTables['nodes'] {
  const { nodeName, nodes, self } = facts;
  /** With the round in which the node first had its identities. */
  const dated = (node: NodeFacts): NodeFacts => {
    const before = nodes.peek(node.name);
    const isSame =
      before !== undefined && identitiesOf(before).join() === identitiesOf(node).join();
    return { ...node, since: (isSame ? before.since : undefined) ?? facts.roundFor(true) };
  };
  return {
    peek: ({ key }) => (key === nodeName ? self : nodes).peek(key),
    holds: ({ key }) => key === nodeName || nodes.peek(key) !== undefined,
    put({ key }, fact, object) {
      if (fact === undefined) {
        // An allocation that is awaited again leaves in force what there was.
        if (key !== nodeName && object === undefined) nodes.delete(key);
      } else if (key !== nodeName) nodes.put(key, dated(fact));
      else if (isLocalNode(fact)) self.put(key, fact);
    },
  };
}

class SubnetTable implements ObjectTable<SubnetsOfNode> {
  readonly #facts: ZoneFacts;
  readonly #subnets = new Map<ObjectKey, SubnetsOfNode>();

  constructor(facts: ZoneFacts) {
    this.#facts = facts;
  }

  peek({ key }: ObjectId): SubnetsOfNode | undefined {
    return this.#subnets.get(key);
  }

  put(
    { key: name }: ObjectId,
    after: SubnetsOfNode | undefined,
    node: KubeObject | undefined,
  ): void {
    const { nodeName, problems, nodeSubnets, nodesWithoutSubnets } = this.#facts;
    if (name === nodeName && node === undefined) return;
    const before = this.#subnets.get(name);
    if (after === undefined) this.#subnets.delete(name);
    else this.#subnets.set(name, after);
    const { byNetwork, unreadable, problem } = after ?? NO_SUBNETS;
    problems.note(
      `Node ${name}`,
      'subnets',
      problem === undefined ? undefined : { kind: 'problem', message: problem },
    );
    nodesWithoutSubnets.put(name, unreadable === undefined ? undefined : { reason: unreadable });
    for (const network of before?.byNetwork.keys() ?? [])
      if (!byNetwork.has(network)) nodeSubnets.delete([network, name]);
    for (const [network, subnet] of byNetwork)
      if (before?.byNetwork.get(network) !== subnet) nodeSubnets.put([network, name], subnet);
  }
}

/** Masquerade numbers of this node; they outlive even its object. */
class NumberTable implements ObjectTable<NumbersOnNode> {
  readonly #facts: ZoneFacts;
  #numbers: NumbersOnNode | undefined;

  constructor(facts: ZoneFacts) {
    this.#facts = facts;
  }

  peek({ key }: ObjectId): NumbersOnNode | undefined {
    return key === this.#facts.nodeName ? this.#numbers : undefined;
  }

  put({ key }: ObjectId, after: NumbersOnNode | undefined): void {
    const { nodeName, problems, masqueradeNumbers } = this.#facts;
    if (key !== nodeName || after === undefined) return;
    const before = this.#numbers?.byNetwork;
    this.#numbers = after;
    const { problem, byNetwork } = after;
    problems.note(
      `Node ${key}`,
      'masquerade numbers',
      problem === undefined ? undefined : { kind: 'problem', message: problem },
    );
    for (const network of before?.keys() ?? [])
      if (!byNetwork.has(network)) masqueradeNumbers.delete(network);
    for (const [network, number] of byNetwork)
      if (before?.get(network) !== number) masqueradeNumbers.put(network, { number });
  }
}

type Definition = ObjectFacts['definitions'];

/** NADs of one network are judged together, as in the cluster manager. */
class DefinitionTable implements ObjectTable<Definition> {
  readonly #facts: ZoneFacts;
  readonly #registry: NadRegistry;

  constructor(facts: ZoneFacts, registry: NadRegistry) {
    this.#facts = facts;
    this.#registry = registry;
  }

  peek({ key }: ObjectId): Definition | undefined {
    return this.#registry.nad(key);
  }

  put({ key }: ObjectId, nad: Definition | undefined): void {
    const networks = this.#registry.set(key, nad);
    if (nad === undefined || nad === 'other') {
      this.#facts.definitions.delete(key);
      this.#noteRefusal(key, undefined);
    }
    for (const network of networks) this.#register(network);
  }

  /** Takes over what the NADs of a network are decided to say together. */
  #register(name: string): void {
    const { definitions, registrations } = this.#facts;
    const network = this.#registry.network(name);
    const [before, after] = [
      registrations.peek(name),
      network && registrationOf(network, this.#facts.roundFor(true)),
    ];
    const isSame =
      before?.id === after?.id && before?.tunnelKeys.join() === after?.tunnelKeys.join();
    registrations.put(name, after && { ...after, since: (isSame ? before : after)?.since ?? 0 });
    // Its switch spans all zones: each has a port for every pod of it.
    this.#facts.otherPods.want(`network ${name}`, network?.config.topology === 'layer2');
    const refused = this.#registry.refusedNads(name);
    for (const nad of this.#registry.ofNetwork(name)) {
      const { key, namespace, labels, servicePool, secondaryGateway, ownerKind } = nad;
      const why = refused.get(key);
      const isOfCluster = ownerKind === 'ClusterUserDefinedNetwork';
      definitions.put(
        key,
        why === undefined
          ? { network: name, namespace, labels, servicePool, secondaryGateway, isOfCluster }
          : undefined,
      );
      this.#noteRefusal(key, why);
    }
  }

  #noteRefusal(nad: string, message: string | undefined): void {
    this.#facts.problems.note(
      `NetworkAttachmentDefinition ${nad}`,
      'registry',
      message === undefined ? undefined : { kind: 'problem', message },
    );
  }
}

/** With the rounds in which a service first had its external addresses. */
function serviceTable(facts: ZoneFacts): ObjectTables['declaredServices'] {
  const { declaredServices, enabledServices, settings } = facts;
  return {
    peek: ({ key }) => declaredServices.peek(key),
    put({ key }, service) {
      const before = declaredServices.peek(key)?.since ?? {};
      const round = facts.roundFor(true);
      const claims = service === undefined ? [] : claimsOf(service.facts);
      const since = Object.fromEntries(claims.map((claim) => [claim, before[claim] ?? round]));
      declaredServices.put(key, service && { ...service, since });
      if (!settings.allowedDefaultServices.includes(key)) return;
      enabledServices.put(key, service && { key, clusterIps: service.facts.clusterIps });
    },
  };
}

/** True for the same claim of the same pod. */
const hasSameAddresses = (a: PodInterface, b: PodInterface): boolean =>
  a.podUid === b.podUid &&
  a.macAddress === b.macAddress &&
  a.addresses.join() === b.addresses.join();

/** Interfaces of this node's pods, and those of other nodes'. */
class InterfaceTable implements ObjectTable<readonly PodInterface[]> {
  readonly #facts: ZoneFacts;
  /** NAD keys of the interfaces of each pod, by the table that these are in. */
  readonly #nadKeys: ReadonlyMap<PodTables['interfaces'], Map<ObjectKey, readonly string[]>>;

  constructor(facts: ZoneFacts) {
    this.#facts = facts;
    this.#nadKeys = new Map([
      [facts.interfaces, new Map()],
      [facts.remoteInterfaces, new Map()],
    ]);
  }

  peek({ key, namespace, name }: ObjectId): readonly PodInterface[] {
    return [...this.#nadKeys].flatMap(([table, known]) =>
      (known.get(key) ?? []).flatMap((nadKey) => table.peek(namespace, name, nadKey) ?? []),
    );
  }

  /** True if there are interfaces of this very pod, read before. */
  holds(id: ObjectId, { metadata, spec }: Pod): boolean {
    const [one] = this.peek(id);
    return one?.podUid === (metadata.uid ?? '') && one.node === spec.nodeName;
  }

  put(id: ObjectId, interfaces: readonly PodInterface[] = [], pod: Pod | undefined): void {
    const isOwn = pod?.spec.nodeName === this.#facts.nodeName;
    for (const [table, known] of this.#nadKeys)
      this.#put(table, known, id, isOwn === (table === this.#facts.interfaces) ? interfaces : []);
  }

  #put(
    table: PodTables['interfaces'],
    known: Map<ObjectKey, readonly string[]>,
    { key, namespace, name }: ObjectId,
    interfaces: readonly PodInterface[],
  ): void {
    const nadKeys = interfaces.map(({ nadKey }) => nadKey);
    for (const nadKey of known.get(key) ?? [])
      if (!nadKeys.includes(nadKey)) table.delete([namespace, name, nadKey]);
    for (const one of interfaces) {
      const before = table.peek(namespace, name, one.nadKey);
      const { since } = before !== undefined && hasSameAddresses(before, one) ? before : one;
      table.put([namespace, name, one.nadKey], { ...one, since });
    }
    if (nadKeys.length === 0) known.delete(key);
    else known.set(key, nadKeys);
  }
}

/** Of a torn annotation what was read last stays in force, as far as the pod may have it. */
function networkRequestTable(
  facts: ZoneFacts,
  interfaces: InterfaceTable,
): ObjectTables['networkRequests'] {
  const { networkRequests } = facts;
  return {
    peek: (id) => networkRequests.peek(id.namespace, id.name),
    put(id, requests, pod: Pod | undefined) {
      const { carried = [] } =
        (pod !== undefined && requests?.isTorn === true && interfaces.holds(id, pod)
          ? networkRequests.peek(id.namespace, id.name)
          : requests) ?? {};
      networkRequests.put([id.namespace, id.name], requests && { ...requests, carried });
    },
  };
}
