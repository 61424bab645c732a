/** Node ids, transit addresses and what nodes have of networks, written to each Node at once (reference/api.md §6.3, §6.4). */
import { familyCidrsJson } from '../../api/annotations/annotations.ts';
import {
  HOST_CIDRS,
  MASQUERADE_NUMBERS,
  NODE_ID,
  NODE_SUBNETS,
  NODE_TRANSIT_ADDRESSES,
  nodeId,
} from '../../api/annotations/node-annotations.ts';
import { nodes as nodeKind } from '../../api/kinds.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import { oldestFirst } from '../../api/order.ts';
import type { Node } from '../../api/types.ts';
import { Batch } from '../../store/batch.ts';
import type { Clock } from '../../store/clock.ts';
import type { Change, ObjectView } from '../../store/informer.ts';
import type { Log } from '../../store/log.ts';
import type { Store } from '../../store/store.ts';
import { WorkQueue, type Failure } from '../../store/work-queue.ts';
import type { DurationRecorder } from '../metrics.ts';
import type { NetworkRegistry } from '../networks/network-registry.ts';
import type { ClusterManagerSettings } from '../settings.ts';
import { NodeIds } from './node-ids.ts';
import { NodeNetworks } from './node-networks.ts';
import { NodeNotices } from './node-notices.ts';
import { NodeRecord } from './node-record.ts';
import type { NetworkUses } from './network-uses.ts';
import type { SubnetFailures } from './node-subnets.ts';

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
  readonly batch: Batch;
  /** What nodes are to have of networks. */
  readonly networks: NodeNetworks;
  readonly #options: NodeControllerOptions;
  readonly #ids: NodeIds;
  readonly #notices: NodeNotices;

  constructor(options: NodeControllerOptions) {
    this.#options = options;
    const { clock, whenIdle, settings, onFailure } = options;
    this.#ids = new NodeIds(settings.cluster);
    this.#notices = new NodeNotices(options);
    this.networks = new NodeNetworks({
      ...options,
      onChanged: (names) => this.batch.add(names),
      onTaken: (name, subnets) => this.#notices.noteTakenSubnets(name, subnets),
    });
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
  }

  /** What is wrong with what nodes say of themselves, and which networks find no masquerade number there, by node. */
  *problems(): Iterable<readonly [node: string, message: string]> {
    yield* this.#notices.problems();
    yield* this.networks.numbers.problems();
  }

  /** Adopts what the nodes carry, then allocates what is missing, before the queues run. */
  async adopt(signal: AbortSignal): Promise<void> {
    const all = oldestFirst(this.#options.nodes.list());
    // An id that a node carries counts before one that only follows from its addresses.
    for (const node of all) if (nodeId(node).value !== undefined) this.#adoptId(node);
    for (const node of all) this.#adoptId(node);
    await this.networks.adopt(signal);
  }

  /** Follows the nodes from now on. */
  follow(): void {
    this.#options.nodes.onChange((change: Change<Node>) => {
      const { before, after } = change;
      if (
        before === undefined ||
        after === undefined ||
        this.networks.isServed(before) !== this.networks.isServed(after)
      )
        this.networks.servedChanged();
      else if (
        [...OURS, HOST_CIDRS].every(
          (key) => before.metadata.annotations?.[key] === after.metadata.annotations?.[key],
        )
      )
        return;
      this.batch.add([change.key]);
    });
  }

  #adoptId(node: Node): void {
    const taken = this.#ids.adopt(node);
    if (taken !== undefined) this.#notices.noteTakenId(node.metadata.name, taken);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<void> {
    const node = this.#options.nodes.get(name);
    if (node === undefined) {
      this.batch.add(this.#ids.release(name));
      this.#notices.forget(name);
      this.networks.forgetNode(name);
      return;
    }
    const isServed = this.networks.isServed(node);
    if (!isServed) this.networks.forgetNode(name);
    const record = isServed ? this.networks.observe(node) : new NodeRecord();
    this.#adoptId(node);
    const isIdKnown = this.#ids.idOf(name) !== undefined;
    const id = this.#ids.allocate(name);
    await this.#notices.reportId(node, id);
    await this.#notices.reportErrors(node, record.takeErrors());
    await this.#notices.reportTornId(node, id, isIdKnown);
    await this.#notices.reportTaken(node, id);
    await this.#write(node, record, id, signal);
    await this.#notices.reportUsage(node, record);
    await this.#notices.reportHostAddresses(node);
  }

  async #write(
    node: Node,
    record: NodeRecord,
    id: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, clock, durations } = this.#options;
    const transit = id === undefined ? undefined : this.#ids.transitAddresses(id);
    const wanted: Readonly<Record<string, string | null>> = {
      [NODE_ID]: id === undefined ? null : String(id),
      [NODE_TRANSIT_ADDRESSES]:
        transit === undefined ? null : JSON.stringify(familyCidrsJson(transit)),
      [NODE_SUBNETS]: record.text() ?? null,
      [MASQUERADE_NUMBERS]: this.networks.numbers.text(node),
    };
    const before = node.metadata.annotations ?? {};
    const changed = Object.entries(wanted).filter(
      ([key, value]) => (before[key] ?? null) !== value,
    );
    if (changed.length === 0) {
      record.wroteAll();
      return;
    }
    const began = clock.monotonic();
    const given = record.writing();
    await store.patchStatus(
      nodeKind,
      node.metadata.name,
      { metadata: { annotations: Object.fromEntries(changed) } },
      { fieldManager: 'clustermanager-node-controller', signal },
    );
    const duration = clock.monotonic() - began;
    record.wrote(given);
    for (const network of given) {
      // A network that went meanwhile must not come back as a series.
      if (network !== DEFAULT_NETWORK && this.networks.subnets.has(network))
        durations.nodeAnnotation(network, duration);
    }
  }
}
