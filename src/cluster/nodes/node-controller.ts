/** Node ids, transit addresses and node subnets, written to each Node at once (reference/api.md §6.3, §6.4). */
import { AllocationError } from '../../allocators/allocation-error.ts';
import {
  formatInterfaceAddress,
  parseInterfaceAddress,
  parsePrefix,
} from '../../allocators/addresses.ts';
import { FIRST_NODE_ID, IdAllocator, MAX_NODE_ID } from '../../allocators/ids.ts';
import { nodeAddress, nodeIdOfAddress } from '../../allocators/node-addresses.ts';
import { familyCidrsJson, type AnnotationError } from '../../api/annotations/annotations.ts';
import {
  HOST_CIDRS,
  MASQUERADE_NUMBERS,
  NODE_ID,
  NODE_SUBNETS,
  NODE_TRANSIT_ADDRESSES,
  nodeId,
  nodeTransitAddresses,
} from '../../api/annotations/node-annotations.ts';
import { nodes as nodeKind } from '../../api/kinds.ts';
import type { FamilyCidrs } from '../../api/nad/network-config.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import { oldestFirst } from '../../api/order.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { Node } from '../../api/types.ts';
import type { Clock } from '../../store/clock.ts';
import type { Change, ObjectView } from '../../store/informer.ts';
import type { Log } from '../../store/log.ts';
import type { Store } from '../../store/store.ts';
import { WorkQueue, type Failure } from '../../store/work-queue.ts';
import { Batch } from '../../store/batch.ts';
import type { DurationRecorder } from '../metrics.ts';
import { familiesOf } from '../networks/nads.ts';
import type { NetworkRegistry } from '../networks/network-registry.ts';
import type { ClusterManagerSettings } from '../settings.ts';
import { hostNetworksOf } from './host-networks.ts';
import { NodeNumbers } from './node-numbers.ts';
import { NodeRecord } from './node-record.ts';
import type { NetworkOnNode, NetworkUses } from './network-uses.ts';
import { NodeSubnets, type SubnetFailures } from './node-subnets.ts';

export interface NodeControllerOptions {
  readonly store: Pick<Store, 'patchStatus' | 'event'>;
  readonly nodes: ObjectView<Node>;
  readonly registry: NetworkRegistry;
  /** Which nodes use which networks. */
  readonly uses: NetworkUses;
  readonly settings: ClusterManagerSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly durations: DurationRecorder;
  /** Resolves when no network is being worked on, so that nodes are written once for all of them. */
  readonly whenIdle: () => Promise<void>;
  /** Called when the nodes that lack a subnet of a network change. */
  readonly onFailures: (network: string, failures: SubnetFailures) => void;
  readonly onFailure: (failure: Failure) => void;
}

/** Milliseconds: nodes are written when no network has changed for `minDelay`, at the latest after `maxDelay`. */
const BATCH = { minDelay: 20, maxDelay: 1000 };

/** Annotations of a Node that the manager reads and writes. */
const OURS = [NODE_ID, NODE_TRANSIT_ADDRESSES, NODE_SUBNETS, MASQUERADE_NUMBERS];

export class NodeController {
  readonly queue: WorkQueue;
  readonly subnets = new NodeSubnets();
  readonly batch: Batch;
  readonly #numbers: NodeNumbers;
  readonly #options: NodeControllerOptions;
  readonly #ids = new IdAllocator(FIRST_NODE_ID, MAX_NODE_ID);
  readonly #records = new Map<string, NodeRecord>();
  readonly #reported = new Map<string, string>();
  /** Nodes whose annotations were reported as nearly full. */
  readonly #nearlyFull = new Set<string>();
  /** Nodes for which no id was left. */
  readonly #withoutId = new Set<string>();
  /** Ids of annotations that can't be read, as they were told of, by node. */
  readonly #tornIds = new Map<string, string>();
  /** What nodes carry and another node has, in words, until they are told: an id, subnets. */
  readonly #taken = new Map<string, { id?: string; subnets: readonly string[] }>();
  /** What is wrong with the addresses that nodes say of themselves. */
  readonly #hostProblems = new Map<string, string>();
  /** Nodes with subnets, oldest first; undefined = to be listed anew. */
  #served: readonly string[] | undefined;

  constructor(options: NodeControllerOptions) {
    this.#options = options;
    this.#numbers = new NodeNumbers(options);
    const { clock, whenIdle, settings, onFailure } = options;
    this.queue = new WorkQueue({
      reconcile: (name, signal) => this.#reconcile(name, signal),
      onFailure,
      parallelism: 8,
      clock,
    });
    this.batch = new Batch({
      clock,
      ...BATCH,
      whenIdle,
      flush: (names) => {
        for (const name of names) this.queue.add(name);
      },
    });
    this.subnets.setNetwork(DEFAULT_NETWORK, settings.cluster.clusterSubnets);
  }

  /** Share of the room for annotations that each node has in use, from 0 to 1. */
  annotationUsage(): ReadonlyMap<string, number> {
    return new Map([...this.#records].map(([node, { usage }]) => [node, usage]));
  }

  /** What is wrong with what nodes say of themselves, and which networks find no masquerade number there, by node. */
  *problems(): Iterable<readonly [node: string, message: string]> {
    yield* this.#hostProblems;
    yield* this.#numbers.problems();
  }

  /** Adopts what the nodes carry, then allocates what is missing, before anything is written. */
  adopt(): void {
    for (const network of this.#options.registry.networks()) this.#setNetwork(network.name);
    const all = oldestFirst(this.#options.nodes.list());
    // An id that a node carries counts before one that only follows from its addresses.
    for (const node of all) if (nodeId(node).value !== undefined) this.#adoptId(node);
    for (const node of all) this.#adoptId(node);
    for (const name of this.#servedNodes()) {
      const node = this.#options.nodes.get(name);
      if (node === undefined) continue;
      const record = this.#recordOf(name);
      record.read(node);
      this.#noteTaken(name, { subnets: this.subnets.adopt(name, record.carried) });
      this.#keepUnreadable(record);
      this.#numbers.settleAll(node);
    }
    for (const network of this.subnets.networks()) this.#allocateAll(network);
  }

  /** Follows the nodes from now on. */
  follow(): void {
    this.#options.nodes.onChange((change: Change<Node>) => {
      const { before, after } = change;
      if (
        before === undefined ||
        after === undefined ||
        this.#isServed(before) !== this.#isServed(after)
      )
        this.#served = undefined;
      else if (
        [...OURS, HOST_CIDRS].every(
          (key) => before.metadata.annotations?.[key] === after.metadata.annotations?.[key],
        )
      )
        return;
      this.batch.add([change.key]);
    });
  }

  /** A network came, grew, went, or can be read again. */
  networkChanged(name: string): void {
    this.batch.add(this.#numbers.settleOnNodes(name));
    const isNew = this.#setNetwork(name);
    if (!this.subnets.has(name)) {
      this.#forgetNetwork(name);
      return;
    }
    if (!isNew) return;
    // Nodes may carry subnets of a network that is only now known.
    for (const node of this.#servedNodes()) {
      const carried = this.#recordOf(node).subnetsOf(name);
      if (carried !== undefined) this.subnets.adopt(node, new Map([[name, carried]]));
    }
    this.#allocateAll(name);
  }

  /** Something on a node uses a network from now on, or nothing does any more. */
  usesChanged(changes: readonly NetworkOnNode[]): void {
    const { nodes } = this.#options;
    let isFreed = false;
    for (const [name, network] of changes) {
      if (!this.#isOnDemand(network)) continue;
      const node = nodes.get(name);
      if (node === undefined || !this.#isServed(node)) continue;
      if (this.#numbers.settle(name, network)) this.batch.add([name]);
      if (!this.subnets.has(network)) continue;
      const held = this.subnets.subnetsOf(name, network).length;
      if (this.#settle(name, network)) this.batch.add([name]);
      this.#report(network);
      isFreed ||= this.subnets.subnetsOf(name, network).length < held;
    }
    if (isFreed) this.#retryMissing();
  }

  /** It is known now what nodes use: what they have of networks that nothing uses there goes. */
  usesKnown(nodes: Iterable<string> = this.#records.keys()): void {
    for (const node of nodes) {
      const networks = new Set([
        ...(this.#records.get(node)?.networks() ?? []),
        ...this.#numbers.networksOf(node),
      ]);
      this.usesChanged([...networks].map((network) => [node, network]));
    }
  }

  /** True where the node is to have a subnet of the network. */
  #isWanted(node: string, network: string): boolean {
    return !this.#isOnDemand(network) || this.#options.uses.has(node, network);
  }

  #isOnDemand(network: string): boolean {
    return this.#options.registry.identityOf(network)?.isOnDemand === true;
  }

  /** Gives a node what it is to have of the network, or takes back what nothing there uses; true when the node has to be written. */
  #settle(node: string, network: string): boolean {
    if (this.#isWanted(node, network)) return this.#allocate(node, network);
    const record = this.#recordOf(node);
    record.missing.delete(network);
    if (this.#options.uses.isUnused(node, network)) this.subnets.releaseFrom(node, network);
    return record.set(network, this.subnets.subnetsOf(node, network));
  }

  #setNetwork(name: string): boolean {
    const { registry, log } = this.#options;
    const network = registry.network(name);
    if (network?.config.topology !== 'layer3' || registry.identityOf(name) === undefined) {
      this.#reported.delete(name);
      return name !== DEFAULT_NETWORK && this.subnets.removeNetwork(name);
    }
    try {
      return this.subnets.setNetwork(name, network.config.subnets, registry.grantedTo(name));
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      log.error({ network: name, error: error.message }, 'network has unusable subnets');
      return false;
    }
  }

  /** What the nodes have of it goes, but that of a network whose NADs can't be read. */
  #forgetNetwork(name: string): void {
    const isKept = this.#options.registry.isUnreadable(name);
    for (const [node, record] of this.#records) {
      record.missing.delete(name);
      if (isKept) this.#keepUnreadable(record);
      else if (record.set(name, [])) this.batch.add([node]);
    }
    // There may be room for others now.
    if (!isKept) this.#retryMissing();
  }

  /** A NAD that is broken at the moment must not move the addresses of its pods. */
  #keepUnreadable(record: NodeRecord): void {
    for (const [network, subnets] of record.carried)
      if (
        !this.subnets.has(network) &&
        !record.has(network) &&
        this.#options.registry.isUnreadable(network)
      )
        record.set(network, subnets);
  }

  #allocateAll(network: string): void {
    const concerned = this.#isOnDemand(network)
      ? this.#options.uses.nodesOf(network).union(new Set(this.subnets.holdersOf(network)))
      : undefined;
    const changed = this.#servedNodes().filter(
      (node) => concerned?.has(node) !== false && this.#settle(node, network),
    );
    this.#report(network);
    this.batch.add(changed);
  }

  /** Gives the node subnets of the network, if they fit into its annotations; true when the node has to be written. */
  #allocate(node: string, network: string): boolean {
    const record = this.#recordOf(node);
    record.missing.delete(network);
    this.subnets.allocate(node, network);
    const subnets = this.subnets.subnetsOf(node, network);
    if (subnets.length > 0 && !record.hasRoomFor(network, subnets))
      this.subnets.refuse(
        node,
        network,
        `the annotations of the node have no room for another network (${Math.round(record.usage * 100)} % of 240 KiB are in use): delete networks, or give them to fewer nodes`,
      );
    const given = this.subnets.subnetsOf(node, network);
    if (this.subnets.failuresOf(network).has(node)) record.missing.add(network);
    return record.set(network, given);
  }

  /** Nodes that found nothing before try again. */
  #retryMissing(): void {
    for (const [node, { missing }] of this.#records) if (missing.size > 0) this.batch.add([node]);
  }

  /** Reports changed failures only. */
  #report(network: string): void {
    const failures = this.subnets.failuresOf(network);
    const text = failures.size === 0 ? '[]' : JSON.stringify([...failures]);
    if (text === (this.#reported.get(network) ?? '[]')) return;
    this.#reported.set(network, text);
    this.#options.onFailures(network, failures);
  }

  #servedNodes(): readonly string[] {
    this.#served ??= oldestFirst(this.#options.nodes.list())
      .filter((node) => this.#isServed(node))
      .map(({ metadata }) => metadata.name);
    return this.#served;
  }

  #isServed({ metadata }: Node): boolean {
    const selector = this.#options.settings.noHostSubnetNodes;
    return selector === undefined || !matchesSelector(selector, metadata.labels);
  }

  #recordOf(node: string): NodeRecord {
    const known = this.#records.get(node);
    if (known !== undefined) return known;
    const record = new NodeRecord();
    for (const network of this.subnets.networks())
      if (this.#isWanted(node, network)) record.missing.add(network);
    this.#records.set(node, record);
    return record;
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<void> {
    const node = this.#options.nodes.get(name);
    if (node === undefined) {
      this.#withoutId.delete(name);
      this.#tornIds.delete(name);
      this.#taken.delete(name);
      if (this.#ids.release(name) !== undefined) this.batch.add(this.#withoutId);
      this.#hostProblems.delete(name);
      this.#forgetNode(name);
      return;
    }
    const isServed = this.#isServed(node);
    if (!isServed) this.#forgetNode(name);
    const record = isServed ? this.#recordOf(name) : new NodeRecord();
    if (isServed) {
      if (record.read(node)) this.#takeOver(name, record);
      this.#numbers.settleAll(node);
      const missing = [...record.missing];
      for (const network of missing) {
        this.#settle(name, network);
        this.#report(network);
      }
    }
    this.#adoptId(node);
    const isIdKnown = this.#ids.idOf(name) !== undefined;
    const id = await this.#allocateId(node);
    await this.#reportErrors(node, record.takeErrors());
    await this.#reportTornId(node, id, isIdKnown);
    await this.#reportTaken(node, id);
    await this.#write(node, record, id, signal);
    await this.#reportUsage(node, record);
    await this.#reportHostAddresses(node);
  }

  /** Somebody else wrote the annotation: what fits is adopted, what was given stays, and the rest is written over. */
  #takeOver(name: string, record: NodeRecord): void {
    this.#noteTaken(name, { subnets: this.subnets.adopt(name, record.carried) });
    for (const network of record.carried.keys())
      if (this.subnets.has(network) && this.#settle(name, network)) this.#report(network);
    this.#keepUnreadable(record);
  }

  async #write(
    node: Node,
    record: NodeRecord,
    id: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, clock, durations } = this.#options;
    const transit = id === undefined ? undefined : this.#transitAddresses(id);
    const wanted: Readonly<Record<string, string | null>> = {
      [NODE_ID]: id === undefined ? null : String(id),
      [NODE_TRANSIT_ADDRESSES]:
        transit === undefined ? null : JSON.stringify(familyCidrsJson(transit)),
      [NODE_SUBNETS]: record.text() ?? null,
      [MASQUERADE_NUMBERS]: this.#numbers.text(node),
    };
    const before = node.metadata.annotations ?? {};
    const changed = Object.entries(wanted).filter(
      ([key, value]) => (before[key] ?? null) !== value,
    );
    if (changed.length === 0) {
      record.unwritten.clear();
      return;
    }
    const given = [...record.unwritten];
    const began = clock.monotonic();
    await store.patchStatus(
      nodeKind,
      node.metadata.name,
      { metadata: { annotations: Object.fromEntries(changed) } },
      { fieldManager: 'clustermanager-node-controller', signal },
    );
    const duration = clock.monotonic() - began;
    for (const network of given) {
      record.unwritten.delete(network);
      // A network that went meanwhile must not come back as a series.
      if (network !== DEFAULT_NETWORK && this.subnets.has(network))
        durations.nodeAnnotation(network, duration);
    }
  }

  /** A node that is gone or not served any more releases what it held, and nodes that found nothing try again. */
  #forgetNode(name: string): void {
    const record = this.#records.get(name);
    if (record === undefined) return;
    this.#records.delete(name);
    this.#nearlyFull.delete(name);
    this.#numbers.forgetNode(name);
    this.subnets.releaseNode(name);
    for (const network of this.subnets.networks()) this.#report(network);
    this.#retryMissing();
  }

  #adoptId(node: Node): void {
    if (this.#ids.idOf(node.metadata.name) !== undefined) return;
    const { value, errors } = nodeId(node);
    const id = value ?? (errors.length === 0 ? undefined : this.#idOfTransitAddresses(node));
    if (id === undefined) return;
    try {
      this.#ids.reserve(node.metadata.name, id);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      const owner = this.#ids.ownerOf(id);
      // An annotation that can't be read is told of as that.
      if (value === id && owner !== undefined)
        this.#noteTaken(node.metadata.name, {
          id: `${id} is the id of node ${owner}, which keeps it`,
        });
    }
  }

  #noteTaken(node: string, taken: { id?: string; subnets?: readonly string[] }): void {
    const { subnets = [], ...others } = this.#taken.get(node) ?? {};
    const all = [...subnets, ...(taken.subnets ?? [])];
    if (taken.id === undefined && all.length === 0) return;
    this.#taken.set(node, { ...others, ...taken, subnets: all });
  }

  /** A node that carries what is another one's, such as one made from a copy, gets its own, and others know it by that: somebody should know. */
  async #reportTaken(node: Node, given: number | undefined): Promise<void> {
    const { name } = node.metadata;
    const taken = this.#taken.get(name);
    if (taken === undefined) return;
    this.#taken.delete(name);
    const { id, subnets } = taken;
    const [first] = subnets;
    const more = subnets.length > 1 ? ` (and ${subnets.length - 1} more)` : '';
    const messages = [
      ...(id === undefined
        ? []
        : [
            `annotation ${NODE_ID}: ${id}; ${given === undefined ? 'no id is left for the node' : `the node gets id ${given}`}`,
          ]),
      ...(first === undefined
        ? []
        : [
            `annotation ${NODE_SUBNETS}: ${first}, which keeps it${more}; the node gets another one`,
          ]),
    ];
    for (const message of messages) {
      this.#options.log.warn({ node: name }, message);
      await this.#options.store.event({
        regarding: node,
        type: 'Warning',
        reason: 'InvalidAnnotation',
        message: `Node ${name}: ${message}`,
      });
    }
  }

  async #allocateId(node: Node): Promise<number | undefined> {
    const { name } = node.metadata;
    try {
      const id = this.#ids.allocate(name);
      this.#withoutId.delete(name);
      return id;
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      if (this.#withoutId.has(name)) return undefined;
      this.#withoutId.add(name);
      await this.#options.store.event({
        regarding: node,
        type: 'Warning',
        reason: 'NodeIdAllocationFailed',
        message: `no node id left: at most ${MAX_NODE_ID - FIRST_NODE_ID + 1} nodes can be part of the cluster, remove nodes that are gone`,
      });
      return undefined;
    }
  }

  #transitAddresses(id: number): FamilyCidrs {
    const { clusterSubnets, transitSubnets } = this.#options.settings.cluster;
    const families = familiesOf(clusterSubnets);
    const address = (cidr: string | undefined): string | undefined => {
      const prefix = cidr === undefined ? undefined : parsePrefix(cidr);
      return prefix === undefined || !families.has(prefix.family)
        ? undefined
        : formatInterfaceAddress(nodeAddress(prefix, id));
    };
    const [v4, v6] = [address(transitSubnets.v4), address(transitSubnets.v6)];
    return { ...(v4 === undefined ? {} : { v4 }), ...(v6 === undefined ? {} : { v6 }) };
  }

  /** The id that the transit addresses of a node were made of; undefined where they are none of ours, or don't agree. */
  #idOfTransitAddresses(node: Node): number | undefined {
    const { transitSubnets } = this.#options.settings.cluster;
    const { value = {} } = nodeTransitAddresses(node);
    const ids = (['v4', 'v6'] as const).flatMap((family) => {
      const [cidr, text] = [transitSubnets[family], value[family]];
      if (text === undefined) return [];
      const subnet = cidr === undefined ? undefined : parsePrefix(cidr);
      const address = parseInterfaceAddress(text);
      return subnet === undefined || address === undefined
        ? [undefined]
        : [nodeIdOfAddress(subnet, address)];
    });
    return new Set(ids).size === 1 ? ids[0] : undefined;
  }

  /** A node id that can't be read is told of once; all that follows from the id depends on whether it is kept. */
  async #reportTornId(node: Node, id: number | undefined, isKept: boolean): Promise<void> {
    const { name } = node.metadata;
    const [error] = nodeId(node).errors;
    if (error === undefined) {
      this.#tornIds.delete(name);
      return;
    }
    if (this.#tornIds.get(name) === error.message) return;
    this.#tornIds.set(name, error.message);
    const { log, store } = this.#options;
    log.warn({ node: name, error: error.message, id }, 'annotation can’t be read');
    const given = id === undefined ? 'no id is left' : `the node gets id ${id}`;
    const outcome = isKept
      ? `it is written again as it was: ${id}`
      : `what it was is not known, ${given}`;
    await store.event({
      regarding: node,
      type: 'Warning',
      reason: 'InvalidAnnotation',
      message: `${error.message}; ${outcome}`,
    });
  }

  /** An annotation that can't be read is written anew from what the node was given; somebody should know who breaks it. */
  async #reportErrors(node: Node, [error]: readonly AnnotationError[]): Promise<void> {
    if (error === undefined) return;
    const { log, store } = this.#options;
    log.warn({ node: node.metadata.name, error: error.message }, 'annotation can’t be read');
    await store.event({
      regarding: node,
      type: 'Warning',
      reason: 'InvalidAnnotation',
      message: `${error.message}; it is written again as it was`,
    });
  }

  /** Networks are judged by the addresses of nodes: a node that says what can't be is the one to be told. */
  async #reportHostAddresses(node: Node): Promise<void> {
    const { name } = node.metadata;
    const { problem } = hostNetworksOf(node);
    if (problem === this.#hostProblems.get(name)) return;
    if (problem === undefined) this.#hostProblems.delete(name);
    else {
      this.#hostProblems.set(name, problem);
      await this.#options.store.event({
        regarding: node,
        type: 'Warning',
        reason: 'InvalidAnnotation',
        message: problem,
      });
    }
  }

  /** Says so before there is no room for another network, once. */
  async #reportUsage(node: Node, record: NodeRecord): Promise<void> {
    const { name } = node.metadata;
    if (!record.isNearlyFull) this.#nearlyFull.delete(name);
    if (!record.isNearlyFull || this.#nearlyFull.has(name)) return;
    this.#nearlyFull.add(name);
    const share = Math.round(record.usage * 100);
    const message = `annotations: ${share} % of the room for annotations (240 of 256 KiB) is in use, most of it by the subnets of networks: networks that come when it is full get no subnet on this node; delete networks, or give them to fewer nodes`;
    this.#options.log.warn({ node: name, share }, message);
    await this.#options.store.event({
      regarding: node,
      type: 'Warning',
      reason: 'AnnotationsNearlyFull',
      message,
    });
  }
}
