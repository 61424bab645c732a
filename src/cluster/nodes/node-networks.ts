/** What each node is to have of each network, subnets and masquerade numbers (reference/api.md §6.4): decided in memory, written by others. */
import { AllocationError } from '../../allocators/allocation-error.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import { oldestFirst } from '../../api/order.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { Node } from '../../api/types.ts';
import type { ObjectView } from '../../store/informer.ts';
import type { Log } from '../../store/log.ts';
import { nextTurn, ownTurn } from '../../store/turn.ts';
import type { NetworkRegistry } from '../networks/network-registry.ts';
import type { ClusterManagerSettings } from '../settings.ts';
import { NodeNumbers } from './node-numbers.ts';
import { NodeRecord } from './node-record.ts';
import type { NetworkOnNode, NetworkUses } from './network-uses.ts';
import { NodeSubnets, type SubnetFailures } from './node-subnets.ts';

export interface NodeNetworksOptions {
  readonly nodes: Pick<ObjectView<Node>, 'get' | 'list'>;
  readonly registry: NetworkRegistry;
  /** Which nodes use which networks. */
  readonly uses: NetworkUses;
  readonly settings: ClusterManagerSettings;
  readonly log: Log;
  /** Called with nodes that have to be written. */
  readonly onChanged: (nodes: Iterable<string>) => void;
  /** Called when the nodes that lack a subnet of a network change. */
  readonly onFailures: (network: string, failures: SubnetFailures) => void;
  /** Called with what a node carries and other nodes have, in words. */
  readonly onTaken: (node: string, subnets: readonly string[]) => void;
}

/** Nodes that are given a subnet of one network in one go. */
const NODES_AT_ONCE = 50;

export class NodeNetworks {
  readonly subnets = new NodeSubnets();
  readonly numbers: NodeNumbers;
  readonly #options: NodeNetworksOptions;
  readonly #records = new Map<string, NodeRecord>();
  /** Failures as they were reported last, by network. */
  readonly #reported = new Map<string, string>();
  /** Uses that changed before everything was adopted; undefined: it is. */
  #early: NetworkOnNode[] | undefined = [];
  /** Nodes with subnets, oldest first; undefined = to be listed anew. */
  #served: readonly string[] | undefined;

  constructor(options: NodeNetworksOptions) {
    this.#options = options;
    this.numbers = new NodeNumbers(options);
    this.subnets.setNetwork(DEFAULT_NETWORK, options.settings.cluster.clusterSubnets);
  }

  /** Share of the room for annotations that each node has in use, from 0 to 1. */
  annotationUsage(): ReadonlyMap<string, number> {
    return new Map([...this.#records].map(([node, { usage }]) => [node, usage]));
  }

  /**
   * Adopts what the nodes carry, then allocates what is missing, before anything is written or another network is decided on: what changes
   * meanwhile waits in queues that do not run yet.
   */
  async adopt(signal: AbortSignal): Promise<void> {
    for (const { name } of this.#options.registry.networks()) {
      await ownTurn();
      this.#setNetwork(name);
    }
    for (const name of this.#servedNodes()) {
      await nextTurn();
      if (signal.aborted) return;
      const node = this.#options.nodes.get(name);
      if (node === undefined) continue;
      const record = this.#recordOf(name);
      record.read(node);
      this.#adopt(name, record);
      this.numbers.settleAll(node);
    }
    for (const network of this.subnets.networks()) {
      await this.#allocateAll(network);
      if (signal.aborted) return;
    }
    const early = this.#early ?? [];
    this.#early = undefined;
    this.usesChanged(early);
  }

  /** True for a node that is to have subnets. */
  isServed({ metadata }: Node): boolean {
    const selector = this.#options.settings.noHostSubnetNodes;
    return selector === undefined || !matchesSelector(selector, metadata.labels);
  }

  /** A node came or went, or is served from now on, or no more. */
  servedChanged(): void {
    this.#served = undefined;
  }

  /** A network came, grew, went, or can be read again. */
  async networkChanged(name: string): Promise<void> {
    this.#options.onChanged(this.numbers.settleOnNodes(name));
    const isNew = this.#setNetwork(name);
    if (!this.subnets.has(name)) {
      this.#forgetNetwork(name);
      return;
    }
    if (!isNew) return;
    // Nodes may carry subnets of a network that is only now known: all of them count before one is given away.
    for (const node of this.#servedNodes()) {
      const record = this.#recordOf(node);
      const carried = record.subnetsOf(name);
      if (carried === undefined) continue;
      this.subnets.adopt(node, new Map([[name, carried]]));
      record.forgetCarried((network) => network === name);
    }
    await this.#allocateAll(name);
  }

  /** Something on a node uses a network from now on, or nothing does any more. */
  usesChanged(changes: readonly NetworkOnNode[]): void {
    if (this.#early !== undefined) {
      this.#early.push(...changes);
      return;
    }
    const { nodes } = this.#options;
    let isFreed = false;
    for (const [name, network] of changes) {
      if (!this.#isOnDemand(network)) continue;
      const node = nodes.get(name);
      if (node === undefined || !this.isServed(node)) continue;
      if (this.numbers.settle(name, network)) this.#options.onChanged([name]);
      if (!this.subnets.has(network)) continue;
      const held = this.subnets.subnetsOf(name, network).length;
      if (this.#settle(name, network)) this.#options.onChanged([name]);
      this.#report(network);
      isFreed ||= this.subnets.subnetsOf(name, network).length < held;
    }
    if (isFreed) this.#retryMissing();
  }

  /** It is known now what a node uses: what it has of networks that nothing uses there goes. */
  usesKnown(node: string): void {
    const networks = new Set([
      ...(this.#records.get(node)?.networks() ?? []),
      ...this.numbers.networksOf(node),
    ]);
    this.usesChanged([...networks].map((network) => [node, network]));
  }

  /** Takes in a served node as it is, and gives what was missing. */
  observe(node: Node): NodeRecord {
    const { name } = node.metadata;
    const record = this.#recordOf(name);
    if (record.read(node)) this.#takeOver(name, record);
    this.numbers.settleAll(node);
    const missing = [...record.missing];
    for (const network of missing) {
      this.#settle(name, network);
      this.#report(network);
    }
    return record;
  }

  /** A node that is gone or not served any more releases what it held, and nodes that found nothing try again. */
  forgetNode(name: string): void {
    const record = this.#records.get(name);
    if (record === undefined) return;
    this.#records.delete(name);
    this.numbers.forgetNode(name);
    this.subnets.releaseNode(name);
    for (const network of this.subnets.networks()) this.#report(network);
    this.#retryMissing();
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
      else if (record.set(name, [])) this.#options.onChanged([node]);
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

  /** Each node's part is complete in itself, so that others have their turn in between. */
  async #allocateAll(network: string): Promise<void> {
    const concerned = this.#isOnDemand(network)
      ? this.#options.uses.nodesOf(network).union(new Set(this.subnets.holdersOf(network)))
      : undefined;
    const nodes = this.#servedNodes().filter((node) => concerned?.has(node) !== false);
    for (let from = 0; from < nodes.length; from += NODES_AT_ONCE) {
      await ownTurn();
      const some = nodes.slice(from, from + NODES_AT_ONCE);
      this.#options.onChanged(
        some.filter((node) => this.#isThere(node) && this.#settle(node, network)),
      );
    }
    this.#report(network);
  }

  /** Gives the node subnets of the network, if they fit into its annotations; true when the node has to be written. */
  #allocate(node: string, network: string): boolean {
    const record = this.#recordOf(node);
    record.missing.delete(network);
    this.subnets.allocate(node, network);
    let given = this.subnets.subnetsOf(node, network);
    if (given.length > 0 && !record.hasRoomFor(network, given)) {
      this.subnets.refuse(
        node,
        network,
        `the annotations of the node have no room for another network (${Math.round(record.usage * 100)} % of 240 KiB are in use): delete networks, or give them to fewer nodes`,
      );
      given = this.subnets.subnetsOf(node, network);
    }
    if (this.subnets.failuresOf(network).has(node)) record.missing.add(network);
    return record.set(network, given);
  }

  /** Nodes that found nothing before try again. */
  #retryMissing(): void {
    for (const [node, { missing }] of this.#records)
      if (missing.size > 0) this.#options.onChanged([node]);
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
      .filter((node) => this.isServed(node))
      .map(({ metadata }) => metadata.name);
    return this.#served;
  }

  /** False for a node that went, or is not served any more, since somebody listed it. */
  #isThere(name: string): boolean {
    const node = this.#options.nodes.get(name);
    return node !== undefined && this.isServed(node);
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

  /** Somebody else wrote the annotation: what fits is adopted, what was given stays, and the rest is written over. */
  #takeOver(name: string, record: NodeRecord): void {
    const carried = [...record.carried.keys()];
    this.#adopt(name, record);
    for (const network of carried)
      if (this.subnets.has(network) && this.#settle(name, network)) this.#report(network);
  }

  /** Of networks that are known what the node carries is adopted, as far as it fits. */
  #adopt(name: string, record: NodeRecord): void {
    this.#options.onTaken(name, this.subnets.adopt(name, record.carried));
    this.#keepUnreadable(record);
    record.forgetCarried((network) => this.subnets.has(network));
  }
}
