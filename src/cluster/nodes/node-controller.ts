/** Node ids, transit addresses and node subnets, written to each Node at once (api.md §6.3, §6.4). */
import { isDeepStrictEqual } from 'node:util';
import { AllocationError } from '../../allocators/allocation-error.ts';
import { formatInterfaceAddress, parsePrefix } from '../../allocators/addresses.ts';
import { FIRST_NODE_ID, IdAllocator, MAX_NODE_ID } from '../../allocators/ids.ts';
import { nodeAddress } from '../../allocators/node-addresses.ts';
import { nodes as nodeKind } from '../../api/kinds.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { FamilyCidrs } from '../../api/nad/network-config.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import { nodeId, nodeSubnets } from '../../api/annotations/node-annotations.ts';
import type { Node } from '../../api/types.ts';
import type { Clock } from '../../store/clock.ts';
import type { Change, ObjectView } from '../../store/informer.ts';
import type { Store } from '../../store/store.ts';
import { WorkQueue, type Failure } from '../../store/work-queue.ts';
import { Batch } from '../batch.ts';
import type { DurationRecorder } from '../metrics.ts';
import type { NetworkRegistry } from '../networks/network-registry.ts';
import { nodeAnnotations } from './node-annotations.ts';
import { familiesOf } from '../networks/nads.ts';
import { NodeSubnets, type CarriedSubnets, type SubnetFailures } from './node-subnets.ts';
import { oldestFirst } from '../../api/order.ts';
import type { Log } from '../../store/log.ts';
import type { ClusterManagerSettings } from '../settings.ts';

export interface NodeControllerOptions {
  readonly store: Pick<Store, 'patchStatus' | 'event'>;
  readonly nodes: ObjectView<Node>;
  readonly registry: NetworkRegistry;
  readonly settings: ClusterManagerSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly durations: DurationRecorder;
  /** Resolves when no network is being worked on, so that nodes are written once for all of them. */
  readonly whenIdle: () => Promise<void>;
  /** Told when the nodes that lack a subnet of a network change. */
  readonly onFailures: (network: string, failures: SubnetFailures) => void;
  readonly onFailure: (failure: Failure) => void;
}

/** Milliseconds: nodes are written when no network has changed for `minDelay`, at the latest after `maxDelay`. */
const BATCH = { minDelay: 20, maxDelay: 1000 };

export class NodeController {
  readonly queue: WorkQueue;
  readonly subnets = new NodeSubnets();
  readonly #options: NodeControllerOptions;
  readonly #ids = new IdAllocator(FIRST_NODE_ID, MAX_NODE_ID);
  readonly batch: Batch;
  readonly #reported = new Map<string, string>();

  constructor(options: NodeControllerOptions) {
    this.#options = options;
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

  /** Adopts what the nodes carry, then allocates what is missing, before anything is written. */
  adopt(): void {
    for (const network of this.#options.registry.networks()) this.#setNetwork(network.name);
    for (const node of this.#served()) {
      this.#adoptId(node);
      this.subnets.adopt(node.metadata.name, carriedSubnets(node));
    }
    for (const network of this.subnets.networks()) this.#allocate(network);
  }

  /** Follows the nodes from now on. */
  follow(): void {
    this.#options.nodes.onChange((change: Change<Node>) => this.batch.add([change.key]));
  }

  /** A network came, grew or went. */
  networkChanged(name: string): void {
    if (!this.#setNetwork(name)) return;
    // Nodes may carry subnets of a network that is only now known.
    for (const node of this.#served()) {
      const carried = carriedSubnets(node).get(name);
      if (carried !== undefined) this.subnets.adopt(node.metadata.name, new Map([[name, carried]]));
    }
    this.#allocate(name);
    this.batch.add(this.#options.nodes.keys());
  }

  idOf(node: string): number | undefined {
    return this.#ids.idOf(node);
  }

  #setNetwork(name: string): boolean {
    const { registry, log } = this.#options;
    const network = registry.network(name);
    if (network?.config.topology !== 'layer3' || registry.identityOf(name) === undefined) {
      this.#reported.delete(name);
      return name !== DEFAULT_NETWORK && this.subnets.removeNetwork(name);
    }
    try {
      return this.subnets.setNetwork(name, network.config.subnets);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      log.error({ network: name, error: error.message }, 'network has unusable subnets');
      return false;
    }
  }

  #allocate(network: string): void {
    for (const node of this.#served()) this.subnets.allocate(node.metadata.name, network);
    this.#report(network);
  }

  /** Tells of changed failures only. */
  #report(network: string): void {
    const failures = this.subnets.failuresOf(network);
    const text = JSON.stringify([...failures]);
    if (text === (this.#reported.get(network) ?? '[]')) return;
    this.#reported.set(network, text);
    this.#options.onFailures(network, failures);
  }

  #served(): readonly Node[] {
    return oldestFirst(this.#options.nodes.list()).filter((node) => this.#isServed(node));
  }

  #isServed({ metadata }: Node): boolean {
    const selector = this.#options.settings.noHostSubnetNodes;
    return selector === undefined || !matchesSelector(selector, metadata.labels);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<void> {
    const { nodes, store, clock, durations } = this.#options;
    const node = nodes.get(name);
    if (node === undefined) {
      this.#forget(name);
      return;
    }
    if (this.#isServed(node)) {
      this.subnets.adopt(name, carriedSubnets(node));
      for (const network of this.subnets.networks()) {
        this.subnets.allocate(name, network);
        this.#report(network);
      }
    } else this.#forgetSubnets(name);
    this.#adoptId(node);
    const id = await this.#allocateId(node);
    const wanted = nodeAnnotations({
      subnets: this.#withUnreadable(node),
      ...(id === undefined ? {} : { id, transit: this.#transitAddresses(id) }),
    });
    const before = node.metadata.annotations ?? {};
    const changed = Object.entries(wanted).filter(
      ([key, value]) => (before[key] ?? null) !== value,
    );
    if (changed.length === 0) return;
    const given = this.#newSubnets(node);
    const began = clock.now();
    await store.patchStatus(
      nodeKind,
      name,
      { metadata: { annotations: Object.fromEntries(changed) } },
      { fieldManager: 'clustermanager-node-controller', signal },
    );
    const duration = clock.now() - began;
    // A network that went meanwhile must not come back as a series.
    for (const network of given)
      if (this.subnets.has(network)) durations.nodeAnnotation(network, duration);
  }

  /** User-defined networks whose subnets of the node are not on the node yet. */
  #newSubnets(node: Node): readonly string[] {
    const carried = carriedSubnets(node);
    return [...this.subnets.subnetsOf(node.metadata.name)]
      .filter(
        ([network, subnets]) =>
          network !== DEFAULT_NETWORK && !isDeepStrictEqual(carried.get(network), subnets),
      )
      .map(([network]) => network);
  }

  /** A node that is gone gives back what it held, and nodes that found nothing try again. */
  #forget(name: string): void {
    this.#ids.release(name);
    this.#forgetSubnets(name);
  }

  #forgetSubnets(name: string): void {
    const waiting = this.subnets.failingNodes();
    this.subnets.releaseNode(name);
    for (const network of this.subnets.networks()) this.#report(network);
    this.batch.add([...waiting].filter((node) => node !== name));
  }

  #adoptId(node: Node): void {
    // What can't be read is written anew.
    const id = nodeId(node).value;
    if (id === undefined || this.#ids.idOf(node.metadata.name) !== undefined) return;
    try {
      this.#ids.reserve(node.metadata.name, id);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      this.#options.log.warn(
        { node: node.metadata.name, error: error.message },
        'node id of the annotation can’t be kept, the node gets another one',
      );
    }
  }

  async #allocateId(node: Node): Promise<number | undefined> {
    try {
      return this.#ids.allocate(node.metadata.name);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
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

  /**
   * What the node holds, and what it carries of networks whose NADs can't be read at the moment: a broken NAD must not
   * move the addresses of its pods.
   */
  #withUnreadable(node: Node): ReadonlyMap<string, readonly string[]> {
    const held = new Map(this.subnets.subnetsOf(node.metadata.name));
    for (const [network, subnets] of carriedSubnets(node))
      if (!this.subnets.has(network) && this.#options.registry.isUnreadable(network))
        held.set(network, subnets);
    return held;
  }
}

/** What the node carries, as far as it can be read; the rest is written anew. */
function carriedSubnets(node: Node): CarriedSubnets {
  const known = carriedBy.get(node);
  if (known !== undefined) return known;
  const carried = nodeSubnets(node).value ?? new Map<string, readonly string[]>();
  carriedBy.set(node, carried);
  return carried;
}

/** Objects of an informer are never changed: each is read once, however many networks come. */
const carriedBy = new WeakMap<Node, CarriedSubnets>();
