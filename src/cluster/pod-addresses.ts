/** Addresses of pods, written to the pods' annotation (api.md §6.9, §7.2): on one node, or for whole networks. */
import { randomBytes as systemRandomBytes } from 'node:crypto';
import { AllocationError } from '../allocators/allocation-error.ts';
import { pods as podKind } from '../api/kinds.ts';
import { DEFAULT_NETWORK } from '../api/network-name.ts';
import { nodeSubnets } from '../api/node-annotations.ts';
import { objectKey } from '../api/objects.ts';
import { formatPodNetworks, POD_NETWORKS, type PodNetwork } from '../api/pod-annotations.ts';
import type { Pod } from '../api/types.ts';
import type { ClusterSettings } from '../model/model.ts';
import type { Clock } from '../store/clock.ts';
import type { Index } from '../store/informer.ts';
import { StoreError, type Store } from '../store/store.ts';
import { WorkQueue, type Failure } from '../store/work-queue.ts';
import type { ClusterInformers } from './informers.ts';
import { NadIndex } from './nad-index.ts';
import { nodePool, sharedPool, type NetworkPool } from './network-pool.ts';
import { oldestFirst } from './order.ts';
import { PodConflicts } from './pod-conflicts.ts';
import { defaultRouteFamilies, podEntry } from './pod-entries.ts';
import {
  allocatedBy,
  carriedNetworks,
  isWithoutNetworks,
  planPod,
  SELECTED_PRIMARY,
  type PodPlan,
  type WantedAttachment,
} from './pod-plan.ts';
import { requestedAddresses } from './requested-addresses.ts';
import type { PersistentAddresses } from './persistent-addresses.ts';
import type { Log } from './settings.ts';
import { CONFLICT_REST } from './settling.ts';

/** Whose pods, and which of their networks. */
export type PodScope =
  /** Networks with a subnet per node, for the pods of this node. */
  | { readonly kind: 'node'; readonly node: string }
  /** Networks whose subnets are shared by all nodes, for every pod. */
  | { readonly kind: 'cluster' };

export interface PodAddressesOptions {
  readonly store: Pick<Store, 'patchStatus' | 'event'>;
  readonly informers: Pick<ClusterInformers, 'pods' | 'namespaces' | 'nodes' | 'nads'>;
  readonly scope: PodScope;
  readonly settings: ClusterSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly onFailure: (failure: Failure) => void;
  /** Addresses that outlive pods; only where networks are shared. */
  readonly claims?: PersistentAddresses;
  readonly randomBytes?: (count: number) => Uint8Array;
}

interface Holding {
  readonly uid: string;
  /** Pools in which the pod holds something, with its owner name there. */
  readonly pools: Map<string, string>;
}

/** An attachment that can't be served, and whether that is news for the pod's user. */
interface Trouble {
  readonly message: string;
  readonly isEvent: boolean;
}

export class PodAddresses {
  readonly queue: WorkQueue;
  readonly #options: PodAddressesOptions;
  readonly #nads: NadIndex;
  /** Pods by the NADs that they carry. */
  readonly #carriers: Index<Pod>;
  readonly #pools = new Map<string, { readonly made: string; readonly pool: NetworkPool }>();
  readonly #holdings = new Map<string, Holding>();
  /** Pods that don't have all they want: they are tried again when something changes. */
  readonly #waiting = new Set<string>();
  readonly #troubles = new Map<string, string>();
  readonly #conflicts = new PodConflicts();
  readonly #told = new Map<string, string>();

  constructor(options: PodAddressesOptions) {
    this.#options = options;
    this.#nads = new NadIndex(options.settings);
    this.#carriers = options.informers.pods.index((pod) => [
      ...new Set([...carriedNetworks(pod).keys()].map(nadOfKey)),
    ]);
    this.queue = new WorkQueue({
      reconcile: (key, signal) => this.#reconcile(key, signal),
      onFailure: options.onFailure,
      // Addresses are taken in memory at once; only the writes are waited for.
      parallelism: 8,
      clock: options.clock,
    });
  }

  /** Pods that could not get what they need, with the reason. */
  problems(): ReadonlyMap<string, string> {
    const problems = new Map(this.#conflicts.problems());
    for (const [key, trouble] of this.#troubles) {
      const conflict = problems.get(key);
      problems.set(key, conflict === undefined ? trouble : `${conflict}\n${trouble}`);
    }
    return problems;
  }

  /** Follows the pods from now on, oldest first. The informers must be synchronised. */
  follow(): void {
    const { pods, namespaces, nodes, nads } = this.#options.informers;
    nads.onChange((change) => {
      if (this.#nads.update(change)) this.#retry();
    });
    for (const pod of oldestFirst(pods.list())) this.queue.add(objectKey(pod.metadata));
    pods.onChange(({ key, after }) => {
      this.queue.add(key);
      if (after === undefined || isWithoutNetworks(after)) this.#retry();
    });
    namespaces.onChange(() => this.#retry());
    nodes.onChange(({ before, after }) => {
      const carried = (node: typeof after): string =>
        JSON.stringify([...(node === undefined ? [] : (nodeSubnets(node).value ?? []))]);
      if (before === undefined || after === undefined || carried(before) !== carried(after))
        this.#retry();
    });
    this.#options.claims?.onChange((namespace) => {
      for (const pod of oldestFirst(pods.inNamespace(namespace))) {
        // A pod whose claim went keeps what it carries; a claim that came takes it over.
        if (this.#isMine(pod)) this.#adopt(pod);
        this.queue.add(objectKey(pod.metadata));
      }
      this.#settleConflicts();
      this.#retry();
    });
  }

  /** Pods that wait for something may get it now. */
  #retry(): void {
    const { pods } = this.#options.informers;
    const waiting = [...this.#waiting]
      .map((key) => pods.get(key))
      .filter((pod) => pod !== undefined);
    for (const { metadata } of oldestFirst(waiting)) this.queue.add(objectKey(metadata));
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const pod = this.#options.informers.pods.get(key);
    const uid = pod?.metadata.uid ?? '';
    const holding = this.#holdings.get(key);
    if (
      holding !== undefined &&
      (pod === undefined || isWithoutNetworks(pod) || holding.uid !== uid)
    )
      this.#release(key);
    if (pod === undefined) {
      for (const said of [this.#troubles, this.#told]) said.delete(key);
      this.#waiting.delete(key);
      return;
    }
    if (!this.#isMine(pod)) return;
    this.#waiting.delete(key);
    this.#adopt(pod);
    const plan = this.#plan(pod);
    if (plan.kind === 'none') await this.#report(pod, []);
    else if (plan.kind === 'invalid') {
      this.#waiting.add(key);
      const isOurs = plan.toldBy === this.#options.scope.kind;
      await this.#report(pod, isOurs ? [{ message: plan.message, isEvent: true }] : []);
    } else if (plan.kind === 'undecided') await this.#choose(pod, plan, signal);
    else await this.#serve(pod, plan.attachments, signal);
  }

  #isMine({ spec }: Pod): boolean {
    const { scope } = this.#options;
    return scope.kind === 'cluster' || spec.nodeName === scope.node;
  }

  #plan(pod: Pod): PodPlan {
    const { informers, scope } = this.#options;
    const { namespace = '' } = pod.metadata;
    const node = pod.spec.nodeName;
    if (
      scope.kind === 'cluster' &&
      node !== undefined &&
      !isWithoutNetworks(pod) &&
      informers.nodes.get(node) === undefined
    )
      return {
        kind: 'invalid',
        toldBy: 'cluster',
        message: `spec.nodeName: there is no node "${node}": add a Node of that name, or correct the name`,
      };
    return planPod(pod, {
      namespace: informers.namespaces.get(namespace),
      primaries: this.#nads.primariesOf(namespace),
      nad: (nad) => this.#nads.get(nad),
      configNamespace: this.#options.settings.configNamespace,
    });
  }

  /** Several primary networks: the cluster manager alone chooses the first one with room for what the pod asks (seed 003). */
  async #choose(
    pod: Pod,
    { candidates, request }: Extract<PodPlan, { kind: 'undecided' }>,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#options.scope.kind === 'node') {
      const names = candidates.map(({ name }) => name).join(', ');
      const message = `waits for the cluster manager to choose among the primary networks ${names}`;
      await this.#report(pod, [{ message, isEvent: false }]);
      return;
    }
    const full: string[] = [];
    for (const nad of candidates) {
      const attachment: WantedAttachment = {
        nadKey: nad.key,
        role: 'primary',
        nad,
        request,
      };
      const found = this.#poolOf(pod, attachment);
      if (found === undefined) {
        full.push(`${nad.name}: node "${pod.spec.nodeName ?? ''}" has no subnet of it`);
        continue;
      }
      try {
        this.#take(pod, attachment, found.id, found.pool);
      } catch (error) {
        if (!(error instanceof AllocationError)) throw error;
        full.push(`${nad.name}: ${error.message}`);
        continue;
      }
      await this.#patch(pod, { [SELECTED_PRIMARY]: nad.key }, signal);
      return;
    }
    const message = `no primary network has room for it: ${full.join('; ')}`;
    await this.#report(pod, [{ message, isEvent: true }]);
  }

  async #serve(
    pod: Pod,
    attachments: readonly WantedAttachment[],
    signal: AbortSignal,
  ): Promise<void> {
    const { scope, settings, claims } = this.#options;
    const carried = carriedNetworks(pod);
    const entries = new Map(carried);
    const troubles: Trouble[] = [];
    const elsewhere = defaultRouteFamilies(attachments);
    for (const attachment of attachments) {
      if (allocatedBy(attachment) !== scope.kind) continue;
      const complete = this.#completeEntry(attachment, carried);
      if (complete !== undefined) {
        await claims?.takeOver(pod, attachment, complete.addresses, signal);
        continue;
      }
      const obstacle = claims?.obstacle(pod, attachment);
      if (obstacle !== undefined) {
        troubles.push({ message: obstacle, isEvent: true });
        continue;
      }
      const found = this.#poolOf(pod, attachment);
      if (found === undefined) {
        const network = attachment.nad?.config.name ?? DEFAULT_NETWORK;
        troubles.push({
          message: `node "${pod.spec.nodeName ?? ''}" has no subnet of network ${network} yet`,
          isEvent: false,
        });
        continue;
      }
      try {
        const held = this.#take(pod, attachment, found.id, found.pool);
        const entry = podEntry({
          attachment,
          ...held,
          layer2Gateways: found.pool.gateways,
          defaultRouteElsewhere: elsewhere,
          settings,
        });
        entries.set(attachment.nadKey, entry);
        if (claims !== undefined) await claims.record(pod, attachment, entry.addresses, signal);
      } catch (error) {
        if (!(error instanceof AllocationError)) throw error;
        if (claims !== undefined) await claims.recordFailure(pod, attachment, error, signal);
        troubles.push({ message: error.message, isEvent: true });
      }
    }
    const text = formatPodNetworks(entries);
    if (text !== undefined && entries.size > 0 && text !== formatPodNetworks(carried))
      await this.#patch(pod, { [POD_NETWORKS]: text }, signal);
    await this.#report(pod, troubles);
  }

  /** A pod keeps what it carries; only what is missing is given. */
  #completeEntry(
    { nadKey, nad }: WantedAttachment,
    carried: ReadonlyMap<string, PodNetwork>,
  ): PodNetwork | undefined {
    const entry = carried.get(nadKey);
    const needsNone = nad !== undefined && nad.config.subnets.length === 0;
    return needsNone || (entry?.addresses.length ?? 0) > 0 ? entry : undefined;
  }

  #take(
    pod: Pod,
    attachment: WantedAttachment,
    id: string,
    pool: NetworkPool,
  ): ReturnType<NetworkPool['allocate']> {
    const key = objectKey(pod.metadata);
    const { claims, randomBytes = systemRandomBytes } = this.#options;
    const claimed = claims?.addressesFor(pod, attachment) ?? [];
    const owner = claims?.ownerFor(pod, attachment) ?? ownerOf(pod, attachment.nadKey);
    const { mac } = attachment.request;
    const description = `${attachment.nadKey}/${key}`;
    const held = pool.allocate(
      owner,
      {
        ips: requestedAddresses(attachment, claimed, description),
        ...(mac === undefined ? {} : { mac }),
      },
      description,
      randomBytes,
    );
    if (owner === ownerOf(pod, attachment.nadKey)) this.#hold(pod, id, owner);
    return held;
  }

  /** Takes over what the pod carries of the networks that are ours to give, before anything else. */
  #adopt(pod: Pod): void {
    if (isWithoutNetworks(pod)) return;
    for (const [nadKey, entry] of carriedNetworks(pod)) {
      const attachment = this.#attachmentOf(pod, nadKey, entry);
      if (attachment === undefined) continue;
      // Pools that don't exist yet adopt all pods when they are made.
      const found = this.#poolOf(pod, attachment);
      if (found !== undefined) this.#adoptEntry(pod, attachment, entry, found.id, found.pool);
    }
  }

  #adoptEntry(
    pod: Pod,
    attachment: WantedAttachment,
    entry: PodNetwork,
    id: string,
    pool: NetworkPool,
  ): void {
    const claimOwner = this.#options.claims?.ownerFor(pod, attachment);
    const owner = claimOwner ?? ownerOf(pod, attachment.nadKey);
    const key = objectKey(pod.metadata);
    if (allocatedBy(attachment) !== this.#options.scope.kind) {
      pool.count(owner, entry);
      this.#hold(pod, id, owner);
      return;
    }
    if (claimOwner !== undefined) pool.release(ownerOf(pod, attachment.nadKey));
    const problem = pool.adopt(owner, entry);
    if (claimOwner === undefined) this.#hold(pod, id, owner);
    const message = problem === undefined ? undefined : `${attachment.nadKey}/${key}: ${problem}`;
    if (!this.#conflicts.set(key, attachment.nadKey, message) || message === undefined) return;
    this.#options.log.warn(
      { pod: key, nad: attachment.nadKey, error: problem },
      'a pod carries an address that is not free for it',
    );
    void this.#options.store
      .event({
        regarding: pod,
        type: 'Warning',
        reason: 'ErrorAllocatingPod',
        message,
      })
      .catch((error: unknown) => {
        this.#options.log.warn({ pod: key, error }, 'event could not be written');
      });
  }

  /** The attachment that an entry of the annotation stands for; undefined if it is none that we give addresses for. */
  #attachmentOf(pod: Pod, nadKey: string, entry: PodNetwork): WantedAttachment | undefined {
    const plan = this.#plan(pod);
    const planned =
      plan.kind === 'attachments'
        ? plan.attachments.find((attachment) => attachment.nadKey === nadKey)
        : undefined;
    const nad = nadKey === DEFAULT_NETWORK ? undefined : this.#nads.get(nadOfKey(nadKey));
    if (nad === 'other' || (nad === undefined && nadKey !== DEFAULT_NETWORK)) return undefined;
    const attachment: WantedAttachment = {
      nadKey,
      role: entry.role ?? 'secondary',
      nad,
      request: planned?.request ?? { ips: [], defaultRoute: [] },
    };
    // The cluster manager chooses among several primary networks, so it counts those with node subnets too.
    const counts =
      allocatedBy(attachment) === this.#options.scope.kind ||
      (this.#options.scope.kind === 'cluster' &&
        nad !== undefined &&
        nad.config.role === 'primary' &&
        this.#nads.primariesOf(nad.namespace).length > 1);
    return counts ? attachment : undefined;
  }

  /** The pool that serves a pod's attachment; made, with all that pods carry of it, when it is first needed. */
  #poolOf(
    pod: Pod,
    attachment: WantedAttachment,
  ): { readonly id: string; readonly pool: NetworkPool } | undefined {
    const { nad } = attachment;
    if (nad !== undefined && nad.config.topology !== 'layer3') {
      const made = JSON.stringify(nad.config);
      const id =
        nad.config.subnets.length === 0 && nad.config.topology === 'localnet'
          ? `${nad.config.name} ${pod.spec.nodeName ?? ''}`
          : nad.config.name;
      return this.#pool(id, nad.config.name, made, () => sharedPool(nad.config));
    }
    const network = nad?.config.name ?? DEFAULT_NETWORK;
    const node = this.#options.informers.nodes.get(pod.spec.nodeName ?? '');
    const subnets = node === undefined ? undefined : nodeSubnets(node).value?.get(network);
    if (subnets === undefined || subnets.length === 0) return undefined;
    const id = `${network} ${pod.spec.nodeName ?? ''}`;
    return this.#pool(id, network, JSON.stringify(subnets), () => nodePool(network, subnets));
  }

  #pool(
    id: string,
    network: string,
    made: string,
    make: () => NetworkPool,
  ): { readonly id: string; readonly pool: NetworkPool } {
    const known = this.#pools.get(id);
    if (known?.made === made) return { id, pool: known.pool };
    const pool = make();
    this.#pools.set(id, { made, pool });
    this.#options.claims?.adopt(id, pool);
    const nads =
      network === DEFAULT_NETWORK
        ? [DEFAULT_NETWORK]
        : this.#nads.ofNetwork(network).map(({ key }) => key);
    const carriers = new Set(nads.flatMap((nad) => this.#carriers.get(nad)));
    for (const pod of oldestFirst(carriers)) {
      if (isWithoutNetworks(pod) || !this.#isMine(pod)) continue;
      for (const [nadKey, entry] of carriedNetworks(pod)) {
        const attachment = this.#attachmentOf(pod, nadKey, entry);
        if (attachment === undefined || this.#poolId(pod, attachment) !== id) continue;
        this.#adoptEntry(pod, attachment, entry, id, pool);
      }
    }
    return { id, pool };
  }

  #poolId(pod: Pod, { nad }: WantedAttachment): string {
    const network = nad?.config.name ?? DEFAULT_NETWORK;
    const isShared =
      nad !== undefined &&
      nad.config.topology !== 'layer3' &&
      (nad.config.topology === 'layer2' || nad.config.subnets.length > 0);
    return isShared ? network : `${network} ${pod.spec.nodeName ?? ''}`;
  }

  #hold(pod: Pod, pool: string, owner: string): void {
    const key = objectKey(pod.metadata);
    const holding = this.#holdings.get(key) ?? {
      uid: pod.metadata.uid ?? '',
      pools: new Map<string, string>(),
    };
    holding.pools.set(`${pool}\n${owner}`, owner);
    this.#holdings.set(key, holding);
  }

  #release(key: string): void {
    for (const [place, owner] of this.#holdings.get(key)?.pools ?? [])
      this.#pools.get(place.slice(0, place.indexOf('\n')))?.pool.release(owner);
    this.#holdings.delete(key);
    this.#conflicts.forget(key);
    this.#settleConflicts();
  }

  /** What was released belongs to the pods that carry it, before anybody else gets it. */
  #settleConflicts(): void {
    for (const key of this.#conflicts.pods()) {
      const pod = this.#options.informers.pods.get(key);
      if (pod !== undefined) this.#adopt(pod);
    }
  }

  /** Writes annotations unless somebody changed the pod meanwhile; it is looked at again then. */
  async #patch(
    pod: Pod,
    annotations: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    const { resourceVersion } = pod.metadata;
    const fieldManager =
      this.#options.scope.kind === 'cluster'
        ? 'clustermanager-pod-controller'
        : 'node-pod-controller';
    try {
      await this.#options.store.patchStatus(
        podKind,
        objectKey(pod.metadata),
        { metadata: { annotations } },
        { fieldManager, signal, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
      );
    } catch (error) {
      if (!(error instanceof StoreError) || !['conflict', 'not-found'].includes(error.code))
        throw error;
      if (error.code === 'conflict') this.queue.addAfter(objectKey(pod.metadata), CONFLICT_REST);
    }
  }

  async #report(pod: Pod, troubles: readonly Trouble[]): Promise<void> {
    const key = objectKey(pod.metadata);
    if (troubles.length === 0) {
      this.#troubles.delete(key);
      this.#told.delete(key);
      return;
    }
    this.#waiting.add(key);
    this.#troubles.set(key, troubles.map(({ message }) => message).join('\n'));
    const message = troubles
      .filter(({ isEvent }) => isEvent)
      .map((trouble) => trouble.message)
      .join('\n');
    if (message === '' || this.#told.get(key) === message) return;
    this.#told.set(key, message);
    await this.#options.store.event({
      regarding: pod,
      type: 'Warning',
      reason: this.#options.scope.kind === 'cluster' ? 'ErrorAllocatingPod' : 'ErrorReconcilingPod',
      message,
    });
  }
}

/** Owner of what a pod holds: a pod of the same name that comes later is somebody else. */
const ownerOf = ({ metadata }: Pod, nadKey: string): string =>
  `${objectKey(metadata)} (${metadata.uid ?? ''}) ${nadKey}`;

/** `<namespace>/<name>` of the NAD behind a key that may count repetitions. */
const nadOfKey = (nadKey: string): string => nadKey.split('/').slice(0, 2).join('/');
