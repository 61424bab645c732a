/** What each node is to have of each network, subnets and masquerade numbers (reference/api.md §6.4): decided in memory, written by others. */
import { AllocationError } from '../../allocators/allocation-error.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import { oldestFirst } from '../../api/order.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { Node } from '../../api/types.ts';
import type { ObjectView } from '../../store/informer.ts';
import type { Log } from '../../store/log.ts';
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

export class NodeNetworks {
  readonly subnets = new NodeSubnets();
  readonly numbers: NodeNumbers;
  readonly #options: NodeNetworksOptions;
  readonly #records = new Map<string, NodeRecord>();
  /** Failures as they were reported last, by network. */
  readonly #reported = new Map<string, string>();
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

  /** Adopts what the nodes carry, then allocates what is missing, before anything is written. */
  adopt(): void {
    for (const network of this.#options.registry.networks()) this.#setNetwork(network.name);
    for (const name of this.#servedNodes()) {
      const node = this.#options.nodes.get(name);
      if (node === undefined) continue;
      const record = this.#recordOf(name);
      record.read(node);
      this.#options.onTaken(name, this.subnets.adopt(name, record.carried));
      this.#keepUnreadable(record);
      this.numbers.settleAll(node);
    }
    for (const network of this.subnets.networks()) this.#allocateAll(network);
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
  networkChanged(name: string): void {
    this.#options.onChanged(this.numbers.settleOnNodes(name));
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

  /** It is known now what nodes use: what they have of networks that nothing uses there goes. */
  usesKnown(nodes: Iterable<string> = this.#records.keys()): void {
    for (const node of nodes) {
      const networks = new Set([
        ...(this.#records.get(node)?.networks() ?? []),
        ...this.numbers.networksOf(node),
      ]);
      this.usesChanged([...networks].map((network) => [node, network]));
    }
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

  #allocateAll(network: string): void {
    const concerned = this.#isOnDemand(network)
      ? this.#options.uses.nodesOf(network).union(new Set(this.subnets.holdersOf(network)))
      : undefined;
    const changed = this.#servedNodes().filter(
      (node) => concerned?.has(node) !== false && this.#settle(node, network),
    );
    this.#report(network);
    this.#options.onChanged(changed);
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
    this.#options.onTaken(name, this.subnets.adopt(name, record.carried));
    for (const network of record.carried.keys())
      if (this.subnets.has(network) && this.#settle(name, network)) this.#report(network);
    this.#keepUnreadable(record);
  }
}
