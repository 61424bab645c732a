/**
 * What is known of the cluster, for one node's zone: tables that objects are read into, and tables that follow from them.
 * Who builds rows or host state reads nothing else.
 */
import { tupleKey, type KeySource } from '../../facts/keys.ts';
import { ReadRecorder } from '../../facts/reads.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import { switchTunnelKey } from '../../allocators/tunnel-keys.ts';
import { DerivationGraph } from '../../facts/derivation-graph.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import type { Connect } from '../read/connects.ts';
import {
  admitNetwork,
  admitNode,
  comesBefore,
  identitiesOf,
  idsOfNetwork,
  keyedNetworkComesBefore,
  nodeComesBefore,
  tunnelKeysOf,
  type NetworkAdmission,
} from '../rules/admission.ts';
import { AttachmentFacts } from './attachment-facts.ts';
import { backendsOf, type Backends } from '../rules/backends.ts';
import { slicesWithin, type SliceFacts } from '../read/endpoint-slices.ts';
import type {
  AllowedDefaultService,
  Attachment,
  ClusterSettings,
  HostNetworkPod,
  LocalNode,
  NamespaceFacts,
  Network,
  NetworkName,
  NodeAddresses,
  NodeFacts,
  NodeSubnet,
  PodFacts,
  PodInterface,
  Topology,
} from '../model.ts';
import {
  assembleNetwork,
  DEFAULT_NETWORK,
  defaultNetwork,
  type NetworkDefinition,
  type NetworkRegistration,
} from '../read/networks.ts';
import { prefixesOfPort } from '../rules/names.ts';
import { hasGateway } from '../rules/network-addresses.ts';
import type { PodNetworkRequests } from '../rules/pod-plan.ts';
import { PolicyFacts } from './policy-facts.ts';
import { ProblemList, problemOf, type ModelProblem } from './problems.ts';
import { isProblem, valueOf, type ObjectReading } from '../read/reading.ts';
import { NetworkReach } from './reach.ts';
import {
  claimOf,
  claimsOf,
  hadBefore,
  ServiceAdmission,
  type AdmittedService,
  type NamedRange,
  type SeenService,
} from '../rules/service-admission.ts';
import type { ServiceNetworks } from '../read/services.ts';
import { OtherPods } from './other-pods.ts';
import { Unreadable } from '../../facts/unreadable.ts';
import { NetworkUsage } from './usage.ts';

/** A namespace whose pods have a group of their own on a user-defined network. */
export interface GroupedNamespace {
  readonly network: NetworkName;
  readonly namespace: string;
}

export interface ZoneFactsOptions {
  /** Render every network, whether something uses it or not. */
  readonly renderEverywhere?: boolean;
  /** Milliseconds for which a network stays rendered after its last use; default 60,000. */
  readonly gracePeriod?: number;
}

const DEFAULT_GRACE_PERIOD = 60_000;

/** The service whose endpoints are the API servers. */
const API_SERVICE = 'default/kubernetes';

/** User of a network that is always in use. */
const ALWAYS = 'always';
const PODS = 'pods';
const CONNECTS = 'connects';
const SIBLINGS = 'primary networks of the same namespace';
const SERVICES = 'services';
const HOST_PODS = "pods on the host's network";

/** Buckets of a network: its topology, and, with a gateway, `<topology> with gateway`. */
const topologiesOf = (network: Network): readonly string[] =>
  hasGateway(network) ? [network.topology, withGateway(network.topology)] : [network.topology];
const withGateway = (topology: Topology): string => `${topology} with gateway`;

/** Networks that NADs ask for, and the default one. */
const withDefault = (source: KeySource): KeySource => ({
  steps: source.steps,
  *tuples() {
    yield [DEFAULT_NETWORK];
    for (const tuple of source.tuples()) if (tuple[0] !== DEFAULT_NETWORK) yield tuple;
  },
  onKeys: (listener) =>
    source.onKeys((tuple, isPresent) => {
      if (tuple[0] !== DEFAULT_NETWORK) listener(tuple, isPresent);
    }),
});

export class ZoneFacts {
  readonly nodeName: string;
  /** The same for the life of the process: reading them is not recorded. */
  readonly settings: ClusterSettings;
  readonly recorder = new ReadRecorder();
  readonly graph = new DerivationGraph(this.recorder);
  readonly problems = new ProblemList();
  /**
   * Objects, `Kind namespace/name`, of which nothing is known as they could not be read since the start, each with others whose rows may be there
   * for it.
   */
  readonly unreadable = new Map<string, readonly string[]>();

  /** This node, by its name; its last report that could be read. */
  readonly self: FactTable<LocalNode>;
  /** What other nodes say of themselves. */
  readonly nodes: FactTable<NodeFacts>;
  /** By network and node. */
  readonly nodeSubnets: FactTable<NodeSubnet>;
  /** Nodes of which it is not known which subnets they have, and why. */
  readonly nodesWithoutSubnets: FactTable<{ readonly reason: string }>;
  readonly namespaces: FactTable<NamespaceFacts>;
  /** NADs that count for their networks, by NAD key. */
  readonly definitions: FactTable<NetworkDefinition>;
  /** What the NADs of each network say together, by network. */
  readonly registrations: FactTable<NetworkRegistration>;
  /** Pods by namespace and name: this node's, and those of other nodes as soon as something asks for them. */
  readonly pods: FactTable<PodFacts>;
  /** Pods of this node that share the host's network, by namespace and name. */
  readonly hostNetworkPods: FactTable<HostNetworkPod>;
  /** Services open to every primary network. */
  readonly enabledServices: FactTable<AllowedDefaultService>;
  /** Services with cluster IPs as their objects say them, by namespace and name as one text. */
  readonly declaredServices: FactTable<SeenService>;
  /** Where nodes are reached, this one and those of which nothing else is known. */
  readonly nodeAddresses: FactTable<NodeAddresses>;
  /** By namespace and name as one text. */
  readonly endpointSlices: FactTable<SliceFacts>;
  /** Connections of networks, by name, as soon as they have subnets. */
  readonly connects: FactTable<Connect>;
  readonly usage: NetworkUsage;

  /** Other nodes, as far as no node of a lower id has their identities. */
  readonly remoteNodes: FactTable<NodeFacts>;
  /** Every network that is known, rendered or not. */
  readonly networks: FactTable<Network>;
  /** Which of them reach each other. */
  readonly reach: NetworkReach;
  /** Interfaces of pods: what they say, and what they may have. */
  readonly attaching: AttachmentFacts;
  /** Networks that have rows here: admitted and in use. */
  readonly rendered: FactTable<Network>;
  /** Namespaces with a group on a rendered network, by NAD key. */
  readonly groupedNamespaces: FactTable<GroupedNamespace>;
  /** Services with the external addresses that they may have, by the same key. */
  readonly services: FactTable<AdmittedService>;
  /** Network policies, and what follows from them. */
  readonly policing: PolicyFacts;
  /** Endpoints of services on rendered networks, by network and service. */
  readonly backends: FactTable<Backends>;

  readonly #serviceNetworks: FactTable<ServiceNetworks>;
  /** Connections that have rows here: of what asks, a network that joins concerns none. */
  readonly #renderedConnects: FactTable<{ readonly name: string }>;
  /** Networks that are used here for themselves, and by whom. */
  readonly #directUse: FactTable<{ readonly users: readonly string[] }>;
  /** Whether the pods of other nodes are known; no entry while nothing asks for them. */
  /** Pods of other nodes, which are followed for those that depend on them. */
  readonly otherPods: OtherPods;
  readonly #nodeAdmissions: DerivedFacts<ObjectReading<NodeFacts>>;
  readonly #admissions: DerivedFacts<NetworkAdmission>;
  #round = 0;

  constructor(nodeName: string, settings: ClusterSettings, options: ZoneFactsOptions = {}) {
    const { graph, recorder } = this;
    this.nodeName = nodeName;
    this.settings = settings;
    this.self = new FactTable('self', recorder);
    this.nodes = new FactTable('nodes', recorder, { indexes: { identity: identitiesOf } });
    this.nodeSubnets = new FactTable('nodeSubnets', recorder, { arity: 2 });
    this.nodesWithoutSubnets = new FactTable('nodesWithoutSubnets', recorder);
    this.namespaces = new FactTable('namespaces', recorder);
    this.definitions = new FactTable('definitions', recorder, {
      indexes: { namespace: ({ namespace }) => [namespace] },
    });
    this.registrations = new FactTable('registrations', recorder, {
      indexes: { key: (registration, name) => tunnelKeysOf({ ...registration, name }) },
    });
    this.hostNetworkPods = new FactTable('hostNetworkPods', recorder, { arity: 2 });
    this.pods = new FactTable('pods', recorder, {
      arity: 2,
      indexes: { namespace: ({ namespace }) => [namespace] },
    });
    this.otherPods = new OtherPods(recorder);
    this.enabledServices = new FactTable('enabledServices', recorder);
    this.declaredServices = new FactTable('declaredServices', recorder, {
      indexes: {
        address: ({ facts }) => facts.clusterIps,
        claim: ({ facts }) => claimsOf(facts),
      },
    });
    this.nodeAddresses = new FactTable('nodeAddresses', recorder, {
      indexes: { address: ({ own, all, nextHops }) => [...own, ...all, ...nextHops] },
    });
    this.endpointSlices = new FactTable('endpointSlices', recorder, {
      indexes: { service: ({ network, service }) => [tupleKey(network, service)] },
    });
    this.connects = new FactTable('connects', recorder, {
      indexes: {
        member: ({ name, members }) =>
          members.map(({ networkId }) => tupleKey(name, String(networkId))),
        network: ({ members }) => members.map(({ networkId }) => String(networkId)),
        way: ({ name, members }) =>
          members.flatMap((from) =>
            members.flatMap((to) =>
              from === to ? [] : tupleKey(name, String(from.networkId), String(to.networkId)),
            ),
          ),
      },
    });
    const directUse = graph.add({ name: 'directUse' });
    this.#directUse = new FactTable('directUse', recorder, {}, directUse);
    this.usage = new NetworkUsage(graph, options.gracePeriod ?? DEFAULT_GRACE_PERIOD);

    this.#nodeAdmissions = new DerivedFacts(
      'nodeAdmissions',
      graph,
      this.nodes,
      (name) => this.#admitNode(name),
      { indexes: { problem: isProblem } },
    );
    const remoteNodes = new DerivedFacts('remoteNodes', graph, this.#nodeAdmissions.table, (name) =>
      valueOf(this.#nodeAdmissions.table.get(name)),
    );
    const networks = new DerivedFacts(
      'networks',
      graph,
      withDefault(this.registrations),
      (name) => this.#assemble(name),
      {
        indexes: {
          identity: (network) => idsOfNetwork(network, nodeName),
          prefix: ({ name }) => [ovnPrefix(name)],
          id: ({ id }) => [String(id)],
        },
      },
    );
    this.#admissions = new DerivedFacts(
      'admissions',
      graph,
      networks.table,
      (name) => this.#admitNetwork(name),
      {
        indexes: {
          problem: isProblem,
          keepsRows: ({ keepsRows }) => (keepsRows === true ? [''] : []),
        },
      },
    );
    this.networks = networks.table;
    this.attaching = new AttachmentFacts(this);
    const rendered = new DerivedFacts(
      'rendered',
      graph,
      this.usage.table,
      (name) => valueOf(this.#admissions.table.get(name)),
      { indexes: { topology: topologiesOf } },
    );
    this.reach = new NetworkReach(this);
    const admission = new ServiceAdmission(settings);
    const admittedServices = new DerivedFacts<AdmittedService>(
      'services',
      graph,
      this.declaredServices,
      (service) => this.#admitService(service, admission),
      { indexes: { refused: ({ refused }) => (refused === undefined ? [] : ['']) } },
    );
    this.services = admittedServices.table;
    const serviceNetworks = new DerivedFacts<ServiceNetworks>(
      'serviceNetworks',
      graph,
      this.services,
      (service) => this.#networksOf(service),
      {
        indexes: {
          place: ({ networks: names, service }) => names.map((name) => tupleKey(name, service)),
          exposed: ({ networks: names, isExposed }) => (isExposed ? names : []),
        },
      },
    );
    this.#serviceNetworks = serviceNetworks.table;
    /** Whose services they reach. */
    const hostPodNetworks = new DerivedFacts(
      'hostPodNetworks',
      graph,
      this.hostNetworkPods,
      (namespace = '') => ({ networks: this.reach.primariesOf(namespace) }),
      { arity: 2, indexes: { network: ({ networks: names }) => names } },
    );
    const backends = new DerivedFacts(
      'backends',
      graph,
      serviceNetworks.table.distinct('place', 2),
      (network, service) =>
        this.#backendsOf(network ?? '', service ?? '', rendered.table, serviceNetworks.table),
      {
        arity: 2,
        indexes: {
          hosts: ({ network, ports }) =>
            ports.some(({ hasHostEndpoints }) => hasHostEndpoints) ? [network] : [],
        },
      },
    );
    const groupedNamespaces = new DerivedFacts(
      'groupedNamespaces',
      graph,
      this.definitions,
      (nad) => this.#groupOf(nad, rendered.table),
      {
        indexes: {
          group: ({ network, namespace }) => [tupleKey(network, namespace)],
          namespace: ({ namespace }) => [namespace],
        },
      },
    );
    this.remoteNodes = remoteNodes.table;
    this.rendered = rendered.table;
    this.groupedNamespaces = groupedNamespaces.table;
    this.backends = backends.table;
    this.policing = new PolicyFacts(this);
    const renderedConnects = new DerivedFacts(
      'renderedConnects',
      graph,
      this.connects,
      (name = '') => (this.#isAnyRendered(name) ? { name } : undefined),
    );
    this.#renderedConnects = renderedConnects.table;
    const connectUses = new DerivedFacts(
      'connectUses',
      graph,
      this.connects,
      (name) => this.#useThroughConnect(name),
      { indexes: { network: ({ networks }) => networks } },
    );
    const siblingUses = new DerivedFacts('siblingUses', graph, this.reach.neighbours, (network) =>
      this.#useThroughSiblings(network),
    );

    this.usage.use(DEFAULT_NETWORK, ALWAYS);
    const follow = (source: KeySource, user: string): void => {
      this.usage.comesBehind(source);
      source.onKeys(([network = ''], isPresent) => {
        if (isPresent) this.usage.use(network, user);
        else this.usage.release(network, user);
      });
    };
    /** Of uses that reach as far as networks are connected: not those that come from connections. */
    const followDirect = (source: KeySource, user: string): void => {
      follow(source, user);
      for (const step of source.steps) directUse.comesBehind(step);
      source.onKeys(([network = ''], isPresent) => {
        const users = new Set(this.#directUse.peek(network)?.users);
        if (isPresent) users.add(user);
        else users.delete(user);
        this.#directUse.put(network, users.size === 0 ? undefined : { users: [...users] });
      });
    };
    followDirect(this.attachments.distinct('network'), PODS);
    followDirect(serviceNetworks.table.distinct('exposed'), SERVICES);
    followDirect(hostPodNetworks.table.distinct('network'), HOST_PODS);
    follow(connectUses.table.distinct('network'), CONNECTS);
    follow(siblingUses.table, SIBLINGS);
    if (options.renderEverywhere === true) follow(this.networks, ALWAYS);
  }

  /**
   * Brings everything that follows from objects up to date, `now` in milliseconds of any clock that runs forward. Before
   * this node is known no network has rows.
   */
  refresh(now: number): void {
    this.#round += 1;
    this.otherPods.expire(now);
    this.usage.begin(now);
    this.graph.refresh();
  }

  /**
   * Grows with each refresh: what is read in one round came at the same time. Pods of other nodes that were there when they were
   * asked for came with those of the start.
   */
  roundFor(isOwn: boolean): number {
    return isOwn || this.otherPods.peekKnown() === true ? this.#round : 0;
  }

  /**
   * For the host, whose state does not say for which object it is there: false while some of what nobody wants may be that of something that is not
   * known. What namespaces have in them does not count: nobody keeps the state of others by what he writes.
   */
  get isComplete(): boolean {
    return (
      [...this.unreadable.keys()].every((object) => object.includes('/')) &&
      this.graph.failures().next().done === true &&
      this.otherPods.peekKnown() !== false &&
      this.keptNetworks.length === 0
    );
  }

  /** Networks in use that settings have no room for: they may have been written with other settings, and what there is of them stays. */
  get keptNetworks(): readonly string[] {
    return this.#admissions.table
      .keysBy('keepsRows', '')
      .filter((network) => this.usage.table.peek(network) !== undefined);
  }

  /** When facts change by themselves, on the clock of `refresh`. */
  get nextExpiry(): number | undefined {
    const ends = [this.usage.nextExpiry, this.otherPods.nextExpiry].filter(
      (end) => end !== undefined,
    );
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  /** What pods ask for, by namespace and name. */
  get networkRequests(): FactTable<PodNetworkRequests> {
    return this.attaching.networkRequests;
  }

  /** What pods of this node say of their interfaces, by namespace, pod and NAD key. */
  get interfaces(): FactTable<PodInterface> {
    return this.attaching.interfaces;
  }

  /** Those of the pods of other nodes; none while nothing asks for them. */
  get remoteInterfaces(): FactTable<PodInterface> {
    return this.attaching.remoteInterfaces;
  }

  /** Interfaces that pods of this node may have, with their networks, by the same key. */
  get attachments(): FactTable<Attachment> {
    return this.attaching.attachments;
  }

  /** Those of the pods of other nodes. */
  get remoteAttachments(): FactTable<Attachment> {
    return this.attaching.remoteAttachments;
  }

  /** The network of an id, as far as it is known. */
  networkOfId(id: number): Network | undefined {
    const [network] = this.networks.by('id', String(id));
    return network;
  }

  /** A network in use brings those that it is connected with: their services and routers have to be here. */
  #useThroughConnect(connect: string): { readonly networks: readonly string[] } | undefined {
    const members = this.connects.part(connect, 'members') ?? [];
    const networks = members.flatMap(({ networkId }) =>
      this.networks.keysBy('id', String(networkId)),
    );
    const isUsed = networks.some((network) => this.#directUse.get(network) !== undefined);
    return isUsed ? { networks } : undefined;
  }

  /** So it does with the other primary networks of its namespaces: pods here reach them through this node alone. */
  #useThroughSiblings(network = ''): { readonly network: string } | undefined {
    const siblings = this.reach.siblingsOf(network);
    return siblings.some((sibling) => this.#directUse.get(sibling) !== undefined)
      ? { network }
      : undefined;
  }

  /** Connections that share the services of a network. */
  connectsSharingServices(networkId: number): readonly string[] {
    return this.connects
      .keysBy('network', String(networkId))
      .filter((connect) => this.connects.part(connect, 'hasServices') === true);
  }

  /**
   * Another service with a cluster IP and port of that one, on another network of the connection: of the two the connection shares
   * the one that comes first by its name.
   */
  sharedBefore(connect: string, key: string): string | undefined {
    const service = this.services.get(key);
    const networks = this.#serviceNetworks.get(key)?.networks ?? [];
    return service?.clusterIps
      .flatMap((address) => this.declaredServices.keysBy('address', address))
      .filter((other) => other < key)
      .find((other) => {
        const ports = this.services.part(other, 'ports') ?? [];
        const theirs = this.#serviceNetworks.get(other)?.networks ?? [];
        return (
          theirs.some(
            (network) => !networks.includes(network) && this.isMember(connect, network),
          ) &&
          ports.some(({ protocol, port }) =>
            service.ports.some((own) => own.protocol === protocol && own.port === port),
          )
        );
      });
  }

  /** Networks of a connection, as far as they are known. */
  membersOf(connect: string): readonly Network[] {
    return (this.connects.part(connect, 'members') ?? [])
      .map(({ networkId }) => this.networkOfId(networkId))
      .filter((network) => network !== undefined);
  }

  /** Those that have a switch on this node: a Layer3 network without a subnet here has none. */
  membersHere(connect: string): readonly Network[] {
    return this.membersOf(connect).filter(
      ({ name, topology }) =>
        this.rendered.part(name, 'name') !== undefined &&
        (topology !== 'layer3' || this.subnetsOn(name, this.nodeName).length > 0),
    );
  }

  isMember(connect: string, network: string): boolean {
    return this.membersOf(connect).some(({ name }) => name === network);
  }

  /** True if a network of the connection has rows here: the others have no use of it. */
  isConnectRendered(connect: string): boolean {
    return this.#renderedConnects.get(connect) !== undefined;
  }

  #isAnyRendered(connect: string): boolean {
    return (this.connects.part(connect, 'members') ?? []).some(({ networkId }) =>
      this.networks
        .keysBy('id', String(networkId))
        .some((network) => this.rendered.part(network, 'name') !== undefined),
    );
  }

  /** For who builds something of the pods of all nodes. Throws `Unreadable` before they are known. */
  requireOtherPods(): void {
    if (this.otherPods.areKnown !== true)
      throw new Unreadable('the pods of other nodes are not read yet');
  }

  /** A fact of this node. Throws `Unreadable` before the node is known. */
  own<K extends keyof LocalNode>(field: K): LocalNode[K] {
    const isKnown = this.self.part(this.nodeName, 'name') !== undefined;
    if (!isKnown) throw new Unreadable(`node ${this.nodeName} is not known yet`);
    return this.self.part(this.nodeName, field) as LocalNode[K];
  }

  /** Rendered networks of a topology. */
  renderedOf(topology: Topology): KeySource {
    return this.rendered.bucket('topology', topology);
  }

  /** Those of them that have a gateway. */
  renderedWithGateway(topology: Topology): KeySource {
    return this.rendered.bucket('topology', withGateway(topology));
  }

  /** Subnets of a network on a node, v4 first. Throws `Unreadable` where that can't be known. */
  subnetsOn(network: string, node: string): readonly string[] {
    const entry = this.nodeSubnets.get(network, node);
    const reason =
      entry === undefined ? this.nodesWithoutSubnets.get(node)?.reason : entry.unreadable;
    if (reason !== undefined)
      throw new Unreadable(`subnet of network ${network} on node ${node}: ${reason}`);
    return entry?.cidrs ?? [];
  }

  /**
   * True for a port whose name the infrastructure of a network has, or will have as soon as something uses the network: no
   * pod can have it.
   */
  isInfrastructurePort(port: string, pod: string): boolean {
    const bridge = this.own('gateway')?.bridge;
    return prefixesOfPort(port, pod, this.nodeName, bridge).some(
      (prefix) => this.networks.keysBy('prefix', prefix).length > 0,
    );
  }

  /** True if pods of the namespace have a group of their own on the network. */
  isGrouped(network: string, namespace: string): boolean {
    if (!this.hasNamespaceGroups) return false;
    return network === DEFAULT_NETWORK
      ? this.namespaces.part(namespace, 'name') !== undefined
      : this.groupedNamespaces.keysBy('group', tupleKey(network, namespace)).length > 0;
  }

  /** Rules per namespace exist for these features only. */
  get hasNamespaceGroups(): boolean {
    const { egressFirewall, multicast } = this.settings.features;
    return egressFirewall || multicast;
  }

  /** Why a network has no rows here although it is known: refused, or not rendered in this release. */
  admission(network: string): ObjectReading<Network> | undefined {
    return this.#admissions.table.get(network);
  }

  /** Objects that are wrong, and why; what reads as a value is elsewhere. */
  *modelProblems(): Iterable<ModelProblem> {
    yield* this.problems.problems();
    for (const name of this.#nodeAdmissions.table.keysBy('problem', ''))
      yield* problemOf(`Node ${name}`, this.#nodeAdmissions.table.peek(name));
    for (const name of this.#admissions.table.keysBy('problem', ''))
      yield* problemOf(this.networks.peek(name)?.object ?? '', this.#admissions.table.peek(name));
    for (const name of this.services.keysBy('refused', '')) {
      const message = this.services.peek(name)?.refused;
      if (message !== undefined) yield { object: `Service ${name}`, message };
    }
    yield* this.attaching.problems();
  }

  /** Objects that wait for an allocation, and which. */
  modelPending(): Iterable<ModelProblem> {
    return this.problems.pending();
  }

  #admitNode(name: string): ObjectReading<NodeFacts> | undefined {
    const node = this.nodes.get(name);
    if (node === undefined) return undefined;
    const self = this.self.get(this.nodeName);
    const own = new Set(self === undefined ? [] : identitiesOf(self));
    return admitNode(node, (identity) =>
      own.has(identity)
        ? this.nodeName
        : this.nodes
            .by('identity', identity)
            .find(
              (other) =>
                nodeComesBefore(other, node) &&
                this.#nodeAdmissions.table.get(other.name)?.kind === 'value',
            )?.name,
    );
  }

  #assemble(name: string): Network | undefined {
    if (name === DEFAULT_NETWORK) return defaultNetwork(this.settings);
    const registration = this.registrations.get(name);
    return registration && assembleNetwork(registration, this.settings);
  }

  #admitNetwork(name: string): NetworkAdmission | undefined {
    const network = this.networks.get(name);
    const id = this.self.part(this.nodeName, 'id');
    if (network === undefined || id === undefined) return undefined;
    return admitNetwork(network, {
      settings: this.settings,
      node: { name: this.nodeName, id },
      nodeSubnets: this.nodeSubnets.get(name, this.nodeName)?.cidrs ?? [],
      ownerOf: (identity) =>
        this.networks
          .by('identity', identity)
          .find(
            (other) =>
              comesBefore(other, network) &&
              this.#admissions.table.get(other.name)?.kind === 'value',
          )?.name,
      takenKey: this.#takenKey(name),
    });
  }

  /** A tunnel key of a network that another one had before it, and which. */
  #takenKey(name: string): { readonly key: string; readonly owner: string } | undefined {
    const registration = this.registrations.get(name);
    if (registration === undefined) return undefined;
    const network = { ...registration, name };
    for (const key of tunnelKeysOf(network)) {
      if (key === String(switchTunnelKey(0))) return { key, owner: DEFAULT_NETWORK };
      const owner = this.registrations.keysBy('key', key).find((other) => {
        const found = this.registrations.get(other);
        return (
          found !== undefined &&
          keyedNetworkComesBefore({ ...found, name: other }, network) &&
          this.#admissions.table.get(other)?.kind !== 'problem'
        );
      });
      if (owner !== undefined) return { key, owner };
    }
    return undefined;
  }

  /** What it may have; what others have is looked for only of services with external addresses. */
  #admitService(key: string, admission: ServiceAdmission): AdmittedService | undefined {
    const service = this.declaredServices.get(key);
    if (service === undefined) return undefined;
    const { externalIps, ports, namespace } = service.facts;
    return admission.admit(service, {
      ranges: externalIps.length === 0 ? [] : [...this.#rangesAround(namespace)],
      clusterIp: (address) =>
        this.declaredServices.keysBy('address', address).find((other) => other !== key),
      ofNode: (address) => this.#nodeAt(address),
      isApiServer: (address) =>
        this.endpointSlices
          .by('service', tupleKey(DEFAULT_NETWORK, API_SERVICE))
          .some(({ endpoints }) => endpoints.some(({ addresses }) => addresses.includes(address))),
      olderService: (address) =>
        ports
          .map((port) => claimOf(address, port))
          .flatMap((claim) =>
            this.declaredServices.by('claim', claim).map((one) => ({ claim, one })),
          )
          .find(
            ({ claim, one }) =>
              one.facts.key !== key &&
              hadBefore(claim, one, service) &&
              this.services.part(one.facts.key, 'externalIps')?.includes(address) === true,
          )?.one.facts.key,
    });
  }

  /** Ranges of the networks that a service of the namespace is on, and of those that they are connected with: others don't meet its packets. */
  *#rangesAround(namespace: string): Iterable<NamedRange> {
    const primaries = this.reach.primariesOf(namespace);
    const names = new Set(primaries);
    const connects = new Set<string>();
    for (const name of primaries)
      for (const connect of this.connects.keysBy(
        'network',
        String(this.networks.part(name, 'id') ?? 0),
      )) {
        connects.add(connect);
        for (const member of this.membersOf(connect)) names.add(member.name);
      }
    for (const name of names) {
      for (const { cidr } of this.networks.part(name, 'subnets') ?? [])
        yield { cidr, name: `the subnet of network ${name}` };
      const { v4, v6 } = this.networks.part(name, 'joinSubnets') ?? {};
      for (const cidr of [v4, v6])
        if (cidr !== undefined) yield { cidr, name: `the join subnet of network ${name}` };
    }
    for (const connect of connects)
      for (const { cidr } of this.connects.part(connect, 'ranges') ?? [])
        yield { cidr, name: `the subnet of ClusterNetworkConnect ${connect}` };
  }

  #nodeAt(address: string): { readonly what: string; readonly isExtra: boolean } | undefined {
    const nodes = this.nodeAddresses.by('address', address);
    const of = (field: 'own' | 'all' | 'nextHops'): string | undefined =>
      nodes.find((node) => node[field].includes(address))?.name;
    const own = of('own');
    if (own !== undefined) return { what: `an address of node ${own}`, isExtra: false };
    const routed = of('nextHops');
    if (routed !== undefined) return { what: `the next hop of node ${routed}`, isExtra: false };
    const extra = of('all');
    return extra === undefined
      ? undefined
      : { what: `an address that node ${extra} has beside its own`, isExtra: true };
  }

  /** Its namespace's primary networks; while it has none that it asks for, the service is nowhere. */
  #networksOf(key: string): ServiceNetworks | undefined {
    const namespace = this.services.part(key, 'namespace') ?? '';
    const isExposed = this.services.part(key, 'isExposed') ?? false;
    const isLabelled = this.namespaces.part(namespace, 'isLabelled');
    if (isLabelled === undefined) return undefined;
    if (!isLabelled) return { service: key, networks: [DEFAULT_NETWORK], isExposed };
    const networks = this.reach.primariesOf(namespace);
    return { service: key, networks, isExposed };
  }

  /** Of a service on several networks each has the endpoints of all that it reaches (reference/api.md §8). */
  #backendsOf(
    network: string,
    key: string,
    rendered: FactTable<Network>,
    places: FactTable<ServiceNetworks>,
  ): Backends | undefined {
    const service = this.services.get(key);
    if (rendered.part(network, 'name') === undefined || service === undefined) return undefined;
    const siblings = this.reach.siblingsOf(network);
    const networks = places.part(key, 'networks') ?? [];
    const { serviceLimits } = this.settings;
    const parts = [network, ...networks.filter((name) => siblings.includes(name))].map((name) => {
      const { taken, left } = slicesWithin(
        this.endpointSlices.by('service', tupleKey(name, key)),
        serviceLimits,
      );
      const subnets = (this.networks.part(name, 'subnets') ?? []).map(({ cidr }) => cidr);
      return { network: name, subnets, slices: taken, left };
    });
    const entry = this.#entryOf(networks, key);
    return backendsOf(service, parts, entry, this.nodeName, serviceLimits);
  }

  /** The network by whose gateway router traffic from outside gets to a service: the oldest one that has endpoints of it. */
  #entryOf(networks: readonly string[], service: string): string | undefined {
    if (networks.length < 2) return networks[0];
    const byAge = networks.toSorted(
      (a, b) => (this.networks.part(a, 'id') ?? 0) - (this.networks.part(b, 'id') ?? 0),
    );
    const hasEndpoints = (name: string): boolean =>
      this.endpointSlices
        .by('service', tupleKey(name, service))
        .some(({ endpoints }) => endpoints.some(({ state }) => state !== 'unready'));
    return byAge.find(hasEndpoints) ?? byAge[0];
  }

  #groupOf(nad: string, rendered: FactTable<Network>): GroupedNamespace | undefined {
    const network = this.definitions.part(nad, 'network');
    const namespace = this.definitions.part(nad, 'namespace');
    if (!this.hasNamespaceGroups || network === undefined || namespace === undefined)
      return undefined;
    if (network === DEFAULT_NETWORK || rendered.part(network, 'role') !== 'primary')
      return undefined;
    return this.namespaces.part(namespace, 'isLabelled') === true
      ? { network: network as NetworkName, namespace }
      : undefined;
  }
}
