/**
 * Objects → facts. Takes the change of one object at a time, reads it again only where a text that matters changed, and
 * puts only what is another now.
 */
import { aclLogging } from '../../api/annotations/acl-logging.ts';
import { annotationOf, explain } from '../../api/annotations/annotations.ts';
import { PRIMARY_NETWORK_LABEL } from '../../api/annotations/network-annotations.ts';
import { DEFAULT_NAD_KEY } from '../../api/nad/nad-key.ts';
import { NadRegistry } from '../../api/nad/nad-registry.ts';
import { NODE_SUBNETS } from '../../api/annotations/node-annotations.ts';
import { type KubeObject, type ObjectKey } from '../../api/objects.ts';
import type { AdminKind } from '../../api/validation/admin-policies.ts';
import type {
  AdminNetworkPolicy,
  BaselineAdminNetworkPolicy,
  ClusterNetworkConnect,
  EndpointSlice,
  MultiNetworkPolicy,
  Namespace,
  NetworkAttachmentDefinition,
  NetworkPolicy,
  Node,
  Pod,
  Service,
} from '../../api/types.ts';
import { readConnect } from '../read/connects.ts';
import {
  interfaceTexts,
  openPortsProblem,
  readHostNetworkPod,
  readInterfaces,
  readPod,
} from '../read/attachments.ts';
import type { FactTable } from '../../facts/fact-table.ts';
import { readSlice } from '../read/endpoint-slices.ts';
import { readAdminPolicy } from '../read/admin-policies.ts';
import { closedAdminPolicy, denyingEverybody } from '../read/closed-admin-policies.ts';
import type { ZoneFacts } from './facts.ts';
import { identitiesOf } from '../rules/admission.ts';
import type { NodeFacts, PodInterface } from '../model.ts';
import { multicastEnabled } from '../read/multicast.ts';
import { definitionTexts, ownersOf, readDefinition, registrationOf } from '../read/networks.ts';
import { NO_SUBNETS, readNodeSubnets, type SubnetsOfNode } from '../read/node-subnets.ts';
import { closedPolicy, needsPods, readPolicy, type Policy } from '../read/policies.ts';
import {
  isTorn as isTornNode,
  nodeTexts,
  readLocalNode,
  readNodeAddresses,
  readNodeFacts,
} from '../read/nodes.ts';
import { readWish } from '../rules/pod-plan.ts';
import { adminPolicyFlows } from '../rules/policy-cost.ts';
import { claimsOf } from '../rules/service-admission.ts';
import { declareService } from '../read/services.ts';
import { unheeded } from '../read/unheeded.ts';

/** One change of an object; `after` absent = gone. */
export interface ModelChange<T extends KubeObject> {
  readonly key: ObjectKey;
  readonly after: T | undefined;
}

/** True for the same claim of the same pod. */
const hasSameAddresses = (a: PodInterface, b: PodInterface): boolean =>
  a.podUid === b.podUid &&
  a.macAddress === b.macAddress &&
  a.addresses.join() === b.addresses.join();

export class ObjectIntake {
  readonly #facts: ZoneFacts;
  /** The NADs, for whoever else in this process asks what they say. */
  readonly registry = new NadRegistry();
  /** What each object was read from last. */
  readonly #texts = new Map<string, readonly unknown[]>();
  readonly #subnets = new Map<ObjectKey, SubnetsOfNode>();
  /** NAD keys of the interfaces of each pod, by the table that these are in. */
  readonly #nadKeys = new Map<FactTable<PodInterface>, Map<ObjectKey, readonly string[]>>();

  constructor(facts: ZoneFacts) {
    this.#facts = facts;
  }

  node({ key, after }: ModelChange<Node>): void {
    const object = `Node ${key}`;
    const { labels = {} } = after?.metadata ?? {};
    this.#noteUnheeded('Node', key, after);
    this.#facts.policing.nodeLabels.put(key, after && { name: key, labels });
    if (this.#hasChanged(`${object} facts`, after && nodeTexts(after))) this.#readNode(key, after);
    const { nodeAddresses } = this.#facts;
    const addresses = (after?.status?.addresses ?? []).map(({ address }) => address);
    if (this.#hasChanged(`${object} addresses`, after && [...nodeTexts(after), ...addresses]))
      nodeAddresses.put(key, after && readNodeAddresses(after, nodeAddresses.peek(key)));
    if (this.#hasChanged(`${object} subnets`, after && [annotationOf(after, NODE_SUBNETS)]))
      this.#readSubnets(key, after);
  }

  networkAttachmentDefinition({ key, after }: ModelChange<NetworkAttachmentDefinition>): void {
    const object = `NetworkAttachmentDefinition ${key}`;
    this.#noteUnheeded('NetworkAttachmentDefinition', key, after);
    if (!this.#hasChanged(object, after && definitionTexts(after))) return;
    const reading = after && readDefinition(after, this.#facts.settings);
    this.#facts.problems.note(object, 'definition', reading);
    // What can't be read leaves in force what was read last.
    const isInForce = this.registry.nad(key) !== undefined;
    this.#noteUnreadable(
      object,
      reading?.kind === 'problem' && !isInForce,
      after && ownersOf(after),
    );
    if (reading?.kind === 'problem' && isInForce) return;
    const nad = reading?.kind === 'value' ? reading.value : undefined;
    const isOther = after !== undefined && reading === undefined;
    const networks = this.registry.set(key, isOther ? 'other' : nad);
    if (nad === undefined) {
      this.#facts.definitions.delete(key);
      this.#noteRefusal(key, undefined);
    }
    for (const network of networks) this.#register(network);
  }

  namespace({ key, after }: ModelChange<Namespace>): void {
    const labels = after?.metadata.labels ?? {};
    this.#noteUnheeded('Namespace', key, after);
    const isLabelled = Object.hasOwn(labels, PRIMARY_NETWORK_LABEL);
    const logging = after && aclLogging(after);
    const [error] = logging?.errors ?? [];
    this.#facts.problems.note(
      `Namespace ${key}`,
      'logging',
      error && { kind: 'problem', message: explain(error) },
    );
    const multicast = after && multicastEnabled(after);
    this.#facts.problems.note(`Namespace ${key}`, 'multicast', multicast);
    const hasMulticast =
      this.#facts.settings.features.multicast &&
      multicast?.kind === 'value' &&
      multicast.value.isEnabled;
    this.#facts.namespaces.put(
      key,
      after && { name: key, isLabelled, labels, logging: logging?.value ?? {}, hasMulticast },
    );
    this.#facts.otherPods.want(`Namespace ${key}`, hasMulticast);
  }

  /** Pods of other nodes are kept from the moment on that something asks for them; their nodes report what is wrong with them. */
  pod({ key, after }: ModelChange<Pod>): void {
    const { nodeName, pods, hostNetworkPods, wishes, problems, otherPods } = this.#facts;
    const isOwn = after?.spec.nodeName === nodeName;
    const isOther = otherPods.areWanted && !isOwn && after?.spec.nodeName !== undefined;
    const pod = isOwn || isOther ? after : undefined;
    const [namespace = '', name = ''] = key.split('/');
    pods.put([namespace, name], pod && readPod(pod));
    hostNetworkPods.put([namespace, name], isOwn ? readHostNetworkPod(after) : undefined);
    const object = `Pod ${key}`;
    this.#noteUnheeded('Pod', key, isOwn ? after : undefined);
    if (!this.#hasChanged(object, pod && interfaceTexts(pod))) return;
    const reading = pod && readInterfaces(pod, this.#facts.roundFor(isOwn));
    const openPorts = pod && openPortsProblem(pod);
    problems.note(object, 'interfaces', isOwn ? reading : undefined);
    problems.note(
      object,
      'open ports',
      !isOwn || openPorts === undefined ? undefined : { kind: 'problem', message: openPorts },
    );
    const isTorn = reading?.kind === 'problem' && this.#isOfPod(key, pod);
    this.#noteUnreadable(object, reading?.kind === 'problem' && !isTorn);
    const wish = pod && readWish(pod);
    // Of a torn annotation what was read last stays in force, as far as the pod may have it.
    const carried = (isTorn ? wishes.peek(namespace, name) : wish)?.carried ?? [];
    wishes.put([namespace, name], wish && { ...wish, carried });
    if (isTorn) return;
    const interfaces = reading?.kind === 'value' ? reading.value : [];
    const { interfaces: own, remoteInterfaces: remote } = this.#facts;
    this.#putInterfaces(isOwn ? remote : own, key, []);
    this.#putInterfaces(isOwn ? own : remote, key, interfaces);
    // A virtual machine may move to another node or come from one.
    const canMove = interfaces.some(({ machine, nadKey }) => machine && nadKey !== DEFAULT_NAD_KEY);
    otherPods.want(object, isOwn && canMove);
  }

  /** `others` are objects whose rows may be there for it. */
  #noteUnreadable(object: string, isUnreadable: boolean, others: readonly string[] = []): void {
    if (isUnreadable) this.#facts.unreadable.set(object, others);
    else this.#facts.unreadable.delete(object);
  }

  #noteUnheeded(kind: string, key: ObjectKey, after: KubeObject | undefined): void {
    this.#facts.problems.note(`${kind} ${key}`, 'unheeded', after && unheeded(after));
  }

  #putInterfaces(
    table: FactTable<PodInterface>,
    key: ObjectKey,
    interfaces: readonly PodInterface[],
  ): void {
    const [namespace = '', name = ''] = key.split('/');
    const known = this.#nadKeys.get(table);
    const nadKeys = interfaces.map(({ nadKey }) => nadKey);
    for (const nadKey of known?.get(key) ?? [])
      if (!nadKeys.includes(nadKey)) table.delete([namespace, name, nadKey]);
    for (const one of interfaces) {
      const before = table.peek(namespace, name, one.nadKey);
      const { since } = before !== undefined && hasSameAddresses(before, one) ? before : one;
      table.put([namespace, name, one.nadKey], { ...one, since });
    }
    if (nadKeys.length === 0) known?.delete(key);
    else if (known === undefined) this.#nadKeys.set(table, new Map([[key, nadKeys]]));
    else known.set(key, nadKeys);
  }

  /** True if there are interfaces of this very pod, read before. */
  #isOfPod(key: ObjectKey, pod: Pod | undefined): boolean {
    const [namespace = '', name = ''] = key.split('/');
    return [...this.#nadKeys].some(([table, known]) => {
      const [nadKey = ''] = known.get(key) ?? [];
      const found = table.peek(namespace, name, nadKey);
      return found?.podUid === (pod?.metadata.uid ?? '') && found.node === pod?.spec.nodeName;
    });
  }

  service({ key, after }: ModelChange<Service>): void {
    const { settings, enabledServices, declaredServices } = this.#facts;
    const service = after && declareService(after, settings.serviceLimits);
    this.#noteUnheeded('Service', key, after);
    const before = declaredServices.peek(key)?.since ?? {};
    const round = this.#facts.roundFor(true);
    const claims = service === undefined ? [] : claimsOf(service.facts);
    const since = Object.fromEntries(claims.map((claim) => [claim, before[claim] ?? round]));
    declaredServices.put(key, service && { ...service, since });
    if (!settings.allowedDefaultServices.includes(key)) return;
    enabledServices.put(key, service && { key, clusterIps: service.facts.clusterIps });
  }

  endpointSlice({ key, after }: ModelChange<EndpointSlice>): void {
    this.#facts.endpointSlices.put(key, after && readSlice(after));
  }

  /** What can't be read leaves in force what was read last; where that is nothing, the pods of the namespace are closed. */
  policy(
    kind: Policy['kind'],
    { key, after }: ModelChange<NetworkPolicy | MultiNetworkPolicy>,
  ): void {
    const { otherPods } = this.#facts;
    const { policies } = this.#facts.policing;
    const path = [...key.split('/'), kind];
    const reading = after && readPolicy(after);
    this.#facts.problems.note(`${kind} ${key}`, 'policy', reading);
    if (reading?.kind === 'value') {
      policies.put(path, reading.value);
      otherPods.want(`${kind} ${key}`, needsPods(reading.value));
    } else if (after === undefined) {
      policies.delete(path);
      otherPods.want(`${kind} ${key}`, false);
    } else if (policies.peek(...path) === undefined) policies.put(path, closedPolicy(after));
  }

  /** What can't be read leaves in force what was read last; where that is nothing, or what costs too much, the policy is closed. */
  adminPolicy(
    kind: AdminKind,
    { key, after }: ModelChange<AdminNetworkPolicy | BaselineAdminNetworkPolicy>,
  ): void {
    const { admins } = this.#facts.policing;
    const reading = after && readAdminPolicy(after);
    const logging = after && aclLogging(after).errors[0];
    const object = `${kind} ${key}`;
    this.#facts.problems.note(object, 'policy', reading);
    this.#facts.problems.note(
      object,
      'logging',
      logging && { kind: 'problem', message: explain(logging) },
    );
    if (after === undefined) {
      admins.delete([kind, key]);
      this.#facts.otherPods.want(object, false);
    }
    const isNew = admins.peek(kind, key) === undefined;
    const closed = after !== undefined && isNew ? closedAdminPolicy(after) : undefined;
    const policy = reading?.kind === 'value' ? reading.value : closed;
    const { mostFlows } = this.#facts.settings.policies;
    const isTooCostly = policy !== undefined && adminPolicyFlows(policy) > mostFlows;
    this.#facts.problems.note(
      object,
      'cost',
      isTooCostly
        ? {
            kind: 'problem',
            message: `its rules would cost each node more than ${mostFlows} flows (max-flows-per-policy): until it costs less the pods that it is about get nothing if it has rules for ingress, and send nothing if it has rules for egress; write fewer networks, ports and rules, or several policies`,
          }
        : undefined,
    );
    const isUnknown = after !== undefined && policy === undefined && isNew;
    this.#facts.policing.unknownAdmins.put([kind, key], isUnknown ? { kind } : undefined);
    if (policy === undefined) return;
    admins.put([kind, key], isTooCostly ? denyingEverybody(policy) : policy);
    this.#facts.otherPods.want(object, true);
  }

  clusterNetworkConnect({ key, after }: ModelChange<ClusterNetworkConnect>): void {
    const reading = after && readConnect(after);
    // One that has no subnets yet may never get them: its conditions say why.
    this.#facts.problems.note(
      `ClusterNetworkConnect ${key}`,
      'allocations',
      reading?.kind === 'problem' ? reading : undefined,
    );
    const isInForce = this.#facts.connects.peek(key) !== undefined;
    this.#noteUnreadable(`ClusterNetworkConnect ${key}`, reading?.kind === 'problem' && !isInForce);
    if (reading?.kind === 'problem') return;
    this.#facts.connects.put(key, reading?.kind === 'value' ? reading.value : undefined);
  }

  /** Takes over what the NADs of a network are decided to say together. */
  #register(name: string): void {
    const { definitions, registrations } = this.#facts;
    const network = this.registry.network(name);
    const [before, after] = [
      registrations.peek(name),
      network && registrationOf(network, this.#facts.roundFor(true)),
    ];
    const isSame =
      before?.id === after?.id && before?.tunnelKeys.join() === after?.tunnelKeys.join();
    registrations.put(name, after && { ...after, since: (isSame ? before : after)?.since ?? 0 });
    // Its switch spans all zones: each has a port for every pod of it.
    this.#facts.otherPods.want(`network ${name}`, network?.config.topology === 'layer2');
    const refused = this.registry.refusedNads(name);
    for (const { key, namespace } of this.registry.ofNetwork(name)) {
      const why = refused.get(key);
      definitions.put(key, why === undefined ? { network: name, namespace } : undefined);
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

  /** What can't be read leaves in force what was read last; this node's own facts outlive even its object. */
  #readNode(name: string, node: Node | undefined): void {
    const { nodeName, problems, nodes, unreadableNodes, self } = this.#facts;
    if (name === nodeName) {
      const reading = node && readLocalNode(node);
      problems.note(`Node ${name}`, 'facts', reading);
      if (reading?.kind === 'value') self.put(name, reading.value);
    } else {
      const reading = node && readNodeFacts(node);
      problems.note(`Node ${name}`, 'facts', reading);
      if (node === undefined) nodes.delete(name);
      else if (reading?.kind === 'value') nodes.put(name, this.#dated(reading.value));
      const isUnknown = nodes.peek(name) === undefined && reading?.kind === 'problem';
      unreadableNodes.put(
        name,
        isUnknown && node !== undefined && isTornNode(node)
          ? { reason: reading.message }
          : undefined,
      );
    }
  }

  /** With the round in which the node first had its identities. */
  #dated(node: NodeFacts): NodeFacts {
    const before = this.#facts.nodes.peek(node.name);
    const isSame =
      before !== undefined && identitiesOf(before).join() === identitiesOf(node).join();
    return { ...node, since: (isSame ? before.since : undefined) ?? this.#facts.roundFor(true) };
  }

  #readSubnets(name: string, node: Node | undefined): void {
    const { nodeName, problems, nodeSubnets, nodesWithoutSubnets } = this.#facts;
    if (name === nodeName && node === undefined) return;
    const before = this.#subnets.get(name);
    const after = node === undefined ? undefined : readNodeSubnets(node, before);
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

  /** True if an object is to be read again: its texts are others than last time. */
  #hasChanged(about: string, texts: readonly unknown[] | undefined): boolean {
    const before = this.#texts.get(about);
    if (texts === undefined) return this.#texts.delete(about);
    if (before?.length === texts.length && texts.every((text, i) => text === before[i]))
      return false;
    this.#texts.set(about, texts);
    return true;
  }
}
