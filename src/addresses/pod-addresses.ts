/** Addresses of pods, written to the pods' annotation (reference/api.md §6.9, §7.2): on one node, or for whole networks. */
import { isDeepStrictEqual } from 'node:util';
import { AllocationError } from '../allocators/allocation-error.ts';
import { explain } from '../api/annotations/annotations.ts';
import { PRIMARY_NETWORK_LABEL, REMOVAL } from '../api/annotations/network-annotations.ts';
import { networkAttachmentDefinitions, pods as podKind } from '../api/kinds.ts';
import { nadOfKey } from '../api/nad/nad-key.ts';
import type { NadRegistry } from '../api/nad/nad-registry.ts';
import { DEFAULT_NETWORK } from '../api/nad/network-name.ts';
import { NODE_SUBNETS } from '../api/annotations/node-annotations.ts';
import { objectKey } from '../api/objects.ts';
import {
  isWithoutNetworks,
  formatPodNetworks,
  POD_NETWORKS,
  podNetworks,
  REQUESTED_AT_CREATION,
  requestText,
  type PodNetwork,
} from '../api/annotations/pod-annotations.ts';
import type { Pod } from '../api/types.ts';
import type { ClusterSettings } from '../model/model.ts';
import type { Clock } from '../store/clock.ts';
import { StoreError, type Store } from '../store/store.ts';
import { CONFLICT_DELAY, WorkQueue, type Failure } from '../store/work-queue.ts';
import type { PodInformers } from './pod-informers.ts';
import { ServedNads } from './served-nads.ts';
import { oldestFirst } from '../api/order.ts';
import type { PersistentAddresses } from './persistent-addresses.ts';
import { defaultRouteFamilies, podEntry } from './pod-entries.ts';
import {
  allocatedBy,
  annotatedNetworks,
  labelOf,
  permitAttachment,
  planPod,
  readNetworkRequests,
  requestToKeep,
  SELECTED_PRIMARY,
  type PlannedNad,
  type PodContext,
  type PodPlan,
  type WantedAttachment,
} from '../model/rules/pod-plan.ts';
import { checkPod } from '../model/read/attachments.ts';
import { PodPools } from './pod-pools.ts';
import { isInScope, type PodScope } from './pod-scope.ts';
import type { PodTraces } from '../traces/pod-traces.ts';
import { WaitingPods, type Awaited } from './waiting-pods.ts';
import { AttachmentErrors, type AttachmentError } from './attachment-errors.ts';
import type { Log } from '../store/log.ts';

export interface PodAddressesOptions {
  readonly store: Pick<Store, 'get' | 'patchStatus' | 'event'>;
  readonly informers: Pick<PodInformers, 'pods' | 'namespaces' | 'nodes'>;
  /** The NADs of this process; all that exist are there before pods are followed. */
  readonly registry: NadRegistry;
  readonly scope: PodScope;
  readonly settings: ClusterSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly onFailure: (failure: Failure) => void;
  /** Addresses that outlive pods; only where networks are shared. */
  readonly claims?: PersistentAddresses;
  /** True for a NAD that is to go: it gets a new pod only where no other network has room. */
  readonly isLeaving?: (nadKey: string) => boolean;
  /** Called with the NADs of which a pod has an address, or is to get one; without a node, or a pod, there are none. */
  readonly onWanted?: (pod: string, node: string | undefined, nads: ReadonlySet<string>) => void;
  readonly randomBytes?: (count: number) => Uint8Array;
  /** Where spans of allocations go, if anywhere. */
  readonly traces?: PodTraces;
}

export class PodAddresses {
  readonly queue: WorkQueue;
  readonly #options: PodAddressesOptions;
  readonly #nads: ServedNads;
  readonly #pools: PodPools;
  readonly #waiting = new WaitingPods();
  /** Pods that don't have all they want; the others wait for nothing once they were looked at. */
  readonly #lacking = new Set<string>();
  /** What pods asked for before somebody changed that. */
  readonly #firstRequests = new Map<string, string | null>();
  readonly #attachmentErrors = new AttachmentErrors();
  /** What else is wrong with pods, as their users were told. */
  readonly #checked = new Map<string, string>();
  /** Since when pods are known here, by the monotonic clock: those whose traces are recorded. */
  readonly #since = new Map<string, number>();

  constructor(options: PodAddressesOptions) {
    this.#options = options;
    this.#nads = new ServedNads(options.registry);
    this.#pools = new PodPools({
      ...options,
      nads: this.#nads,
      permitted: (pod, nadKey) => {
        const permit = permitAttachment(nadKey, readNetworkRequests(pod), this.#contextOf(pod));
        return permit?.kind === 'value' ? permit.value : undefined;
      },
      onConflict: (pod, nadKey, problem) => this.#emitConflict(pod, nadKey, problem),
    });
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
    const problems = new Map(this.#pools.conflicts());
    for (const [key, error] of this.#attachmentErrors.messages()) {
      const conflict = problems.get(key);
      problems.set(key, conflict === undefined ? error : `${conflict}\n${error}`);
    }
    return problems;
  }

  /** Keys of the NADs of which the pod has an address, or gets one once its turn comes. */
  wantedBy(pod: Pod): ReadonlySet<string> {
    return wantedNads(this.#plan(pod));
  }

  /** Follows the pods from now on, oldest first. The informers must be synchronised. */
  follow(): void {
    const { pods, namespaces, nodes } = this.#options.informers;
    this.#nads.follow(({ nads: changed, networks }) => {
      for (const network of networks) this.#pools.networkChanged(network);
      this.#options.claims?.served(new Set(changed.map(namespaceOf)));
      this.#retry(
        changed.flatMap((key): Awaited[] => [`namespace ${namespaceOf(key)}`, `nad ${key}`]),
      );
      // Pods that have all they want have a problem now.
      const gone = changed.filter((key) => this.#nads.get(key) === undefined);
      if (gone.length === 0) return;
      for (const { metadata } of pods.list()) {
        const carried = metadata.annotations?.[POD_NETWORKS] ?? '';
        if (gone.some((key) => carried.includes(`"${key}`))) this.queue.add(objectKey(metadata));
      }
    });
    const ours = pods.list().filter((pod) => isInScope(this.#options.scope, pod));
    for (const pod of oldestFirst(ours)) this.queue.add(objectKey(pod.metadata));
    pods.onChange(({ key, before, after }) => {
      // Pods of other nodes are nothing to a node, however often they change.
      if (![before, after].some((pod) => pod !== undefined && isInScope(this.#options.scope, pod)))
        return;
      if (before !== undefined && after !== undefined && wantsSame(before, after)) return;
      this.#noteRequest(key, before, after);
      this.#noteArrival(key, before, after);
      this.queue.add(key);
    });
    namespaces.onChange(({ key }) => this.#retry([`namespace ${key}`]));
    nodes.onChange(({ key, before, after }) => {
      const carried = (node: typeof after): string | undefined =>
        node?.metadata.annotations?.[NODE_SUBNETS];
      if (before !== undefined && after !== undefined && carried(before) === carried(after)) return;
      this.#pools.nodeChanged(key);
      this.#retry([`node ${key}`]);
      // Its pods that have all they want have a problem now.
      if (after === undefined)
        for (const pod of pods.list())
          if (pod.spec.nodeName === key) this.queue.add(objectKey(pod.metadata));
    });
    this.#options.claims?.onChange((namespace, network) => {
      for (const pod of oldestFirst(pods.inNamespace(namespace))) {
        // A pod whose claim went keeps what it carries; a claim that came takes it over.
        if (isInScope(this.#options.scope, pod)) this.#pools.adopt(pod);
        this.queue.add(objectKey(pod.metadata));
      }
      this.#pools.settleConflicts();
      this.#retry([`room ${network}`]);
    });
  }

  /** Pods that wait for one of these may get it now. */
  #retry(awaited: readonly Awaited[]): void {
    const { pods } = this.#options.informers;
    const waiting = [...this.#waiting.of(awaited)]
      .map((key) => pods.get(key))
      .filter((pod) => pod !== undefined);
    for (const { metadata } of oldestFirst(waiting)) this.queue.add(objectKey(metadata));
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const pod = this.#options.informers.pods.get(key);
    this.#retry(this.#pools.release(key, pod).map((pool): Awaited => `room ${pool}`));
    if (pod === undefined) {
      this.#options.onWanted?.(key, undefined, new Set());
      this.#attachmentErrors.forget(key);
      this.#checked.delete(key);
      this.#waiting.delete(key);
      this.#lacking.delete(key);
      this.#since.delete(key);
      return;
    }
    if (!isInScope(this.#options.scope, pod)) return;
    this.#waiting.delete(key);
    this.#lacking.delete(key);
    this.#pools.adopt(pod);
    const plan = this.#plan(pod);
    this.#options.onWanted?.(key, pod.spec.nodeName, nadsOf(pod, plan));
    // What changes while something is written must not be missed.
    this.#wait(pod);
    await this.#carryOut(pod, plan, signal);
    if (!this.#lacking.has(key)) this.#waiting.delete(key);
  }

  async #carryOut(pod: Pod, plan: PodPlan, signal: AbortSignal): Promise<void> {
    if (plan.kind === 'invalid') {
      this.#lacking.add(objectKey(pod.metadata));
      if (plan.reportedBy === 'cluster') this.#wait(pod, [`node ${pod.spec.nodeName ?? ''}`]);
    }
    if (!(await this.#keepRequest(pod, plan, signal))) return;
    if (plan.kind === 'none') await this.#report(pod, []);
    else if (plan.kind === 'invalid') {
      const { message, isAwaited, reportedBy } = plan;
      const isOurs = reportedBy === this.#options.scope.kind;
      await this.#report(pod, isOurs ? [{ message, event: isAwaited ? 'later' : 'at once' }] : []);
    } else if (plan.kind === 'undecided') await this.#choose(pod, plan, signal);
    else await this.#serve(pod, plan.attachments, signal);
  }

  /** What a pod asked for first is known to those who saw it; it is kept until it is written down. */
  #noteRequest(key: string, before: Pod | undefined, after: Pod | undefined): void {
    if (before === undefined || after === undefined || before.metadata.uid !== after.metadata.uid)
      this.#firstRequests.delete(key);
    else if (requestText(before) !== requestText(after) && !this.#firstRequests.has(key))
      this.#firstRequests.set(key, requestText(before));
  }

  /** Writes down what the pod asked for when it was created, where that has to be; false when its plan is to be made from that. */
  async #keepRequest(pod: Pod, plan: PodPlan, signal: AbortSignal): Promise<boolean> {
    if (this.#options.scope.kind === 'node') return true;
    const first = this.#firstRequests.get(objectKey(pod.metadata));
    const kept = requestToKeep(pod, plan, this.#contextOf(pod), first);
    if (kept === undefined) return true;
    await this.#patch(pod, { [REQUESTED_AT_CREATION]: keptText(kept) }, signal);
    return kept === requestText(pod);
  }

  #plan(pod: Pod): PodPlan {
    const { informers, scope } = this.#options;
    const node = pod.spec.nodeName;
    if (
      scope.kind === 'cluster' &&
      node !== undefined &&
      !isWithoutNetworks(pod) &&
      informers.nodes.get(node) === undefined
    )
      return {
        kind: 'invalid',
        reportedBy: 'cluster',
        isAwaited: true,
        message: `spec.nodeName: there is no node "${node}": add a Node of that name, or correct the name`,
      };
    return planPod(pod, this.#contextOf(pod), this.#options.settings.configNamespace);
  }

  #contextOf({ metadata }: Pod): PodContext {
    const { namespace = '' } = metadata;
    const labels = this.#options.informers.namespaces.get(namespace)?.metadata.labels;
    const isKnown = this.#options.informers.namespaces.get(namespace) !== undefined;
    return {
      isLabelled: labelOf(
        namespace,
        isKnown ? Object.hasOwn(labels ?? {}, PRIMARY_NETWORK_LABEL) : undefined,
      ),
      primaries: this.#nads.primariesOf(namespace),
      nad: (nad) => this.#nads.get(nad),
      isOfNamespace: (network) =>
        this.#nads.ofNetwork(network).some((nad) => nad.namespace === namespace),
    };
  }

  /** What the pod carries and may not have; its node says so. */
  #refusals(pod: Pod): readonly AttachmentError[] {
    if (this.#options.scope.kind !== 'node' || isWithoutNetworks(pod)) return [];
    const carried = podNetworks(pod);
    const [unreadable] = carried.errors;
    if (unreadable !== undefined) return [{ message: explain(unreadable), event: 'at once' }];
    const [requests, context] = [readNetworkRequests(pod), this.#contextOf(pod)];
    return requests.carried
      .map((nadKey) => permitAttachment(nadKey, requests, context))
      .filter((permit) => permit?.kind === 'problem')
      .map(({ message }) => ({ message, event: 'at once' }));
  }

  /** The pod is looked at again when something changes that its plan is made from, or something else of what is `awaited`. */
  #wait(pod: Pod, awaited: readonly Awaited[] = []): void {
    const { selections, carried, namespace } = readNetworkRequests(pod);
    const nads = [
      ...selections.map((selection) => `${selection.namespace}/${selection.name}`),
      ...carried.map(nadOfKey),
    ];
    this.#waiting.add(objectKey(pod.metadata), [
      `namespace ${namespace}`,
      ...nads.map((nad): Awaited => `nad ${nad}`),
      ...awaited,
    ]);
  }

  /** Several primary networks: the cluster manager alone chooses the first one with room for what the pod asks (reference/api.md §8). */
  async #choose(
    pod: Pod,
    { candidates, isRequested, request }: Extract<PodPlan, { kind: 'undecided' }>,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#options.scope.kind === 'node') {
      const names = candidates.map(({ name }) => name).join(', ');
      const message = `waits for the cluster manager to choose among the primary networks ${names}`;
      await this.#report(pod, [{ message, event: 'never' }]);
      return;
    }
    const [first] = candidates;
    if (isRequested && first !== undefined) {
      await this.#patch(pod, { [SELECTED_PRIMARY]: first.key }, signal);
      return;
    }
    const { isLeaving = () => false } = this.#options;
    const full: string[] = [];
    const awaited: Awaited[] = [];
    for (const nad of [
      ...candidates.filter(({ key }) => !isLeaving(key)),
      ...candidates.filter(({ key }) => isLeaving(key)),
    ]) {
      const attachment: WantedAttachment = {
        nadKey: nad.key,
        role: 'primary',
        nad,
        request,
      };
      const found = this.#pools.poolOf(pod, attachment);
      if (found === undefined) {
        full.push(`${nad.name}: node "${pod.spec.nodeName ?? ''}" has no subnet of it`);
        awaited.push(`node ${pod.spec.nodeName ?? ''}`);
        continue;
      }
      awaited.push(`room ${found.id}`);
      try {
        this.#pools.allocate(pod, attachment, found);
      } catch (error) {
        if (!(error instanceof AllocationError)) throw error;
        full.push(`${nad.name}: ${error.message}`);
        continue;
      }
      await this.#patch(pod, { [SELECTED_PRIMARY]: nad.key }, signal);
      return;
    }
    const message = `no primary network has room for it: ${full.join('; ')}`;
    this.#wait(pod, awaited);
    if (pod.metadata.annotations?.[REQUESTED_AT_CREATION] === undefined)
      await this.#patch(pod, { [REQUESTED_AT_CREATION]: keptText(requestText(pod)) }, signal);
    await this.#report(pod, [{ message, event: 'at once' }]);
  }

  async #serve(
    pod: Pod,
    attachments: readonly WantedAttachment[],
    signal: AbortSignal,
  ): Promise<void> {
    const { scope, settings, claims } = this.#options;
    const carried = annotatedNetworks(pod);
    const entries = new Map(carried);
    const errors: AttachmentError[] = [];
    const elsewhere = defaultRouteFamilies(attachments);
    for (const attachment of attachments) {
      if (allocatedBy(attachment) !== scope.kind) continue;
      const complete = completeEntry(attachment, carried);
      if (complete !== undefined) {
        await claims?.takeOver(pod, attachment, complete.addresses, signal);
        continue;
      }
      const found = this.#pools.poolOf(pod, attachment);
      if (found === undefined) {
        const network = attachment.nad?.config.name ?? DEFAULT_NETWORK;
        errors.push({
          message: `node "${pod.spec.nodeName ?? ''}" has no subnet of network ${network} yet`,
          event: 'later',
        });
        this.#wait(pod, [`node ${pod.spec.nodeName ?? ''}`]);
        continue;
      }
      if (attachment.nad !== undefined && !(await this.#gives(attachment.nad, signal))) {
        errors.push({ message: `NAD ${attachment.nad.key} is being removed`, event: 'later' });
        this.queue.addAfter(objectKey(pod.metadata), CONFLICT_DELAY);
        continue;
      }
      const obstacle = claims?.obstacle(pod, attachment, (claim) =>
        this.#pools.usersOf(claim, found),
      );
      if (obstacle !== undefined) {
        errors.push({ message: obstacle, event: 'at once' });
        this.#wait(pod, [`room ${found.id}`]);
        continue;
      }
      try {
        const held = this.#pools.allocate(pod, attachment, found);
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
        // A node's own subnet may be another one, too.
        this.#wait(pod, [`room ${found.id}`, `node ${pod.spec.nodeName ?? ''}`]);
        if (claims !== undefined) await claims.recordFailure(pod, attachment, error, signal);
        errors.push({ message: error.message, event: 'at once' });
      }
    }
    // Whose part the rest is changes with the networks: who has nothing to give now looks again then.
    if (attachments.some(({ nadKey }) => !entries.has(nadKey)))
      this.#lacking.add(objectKey(pod.metadata));
    const text = formatPodNetworks(entries);
    if (
      text !== undefined &&
      entries.size > 0 &&
      text !== formatPodNetworks(carried) &&
      (await this.#patch(pod, { [POD_NETWORKS]: text }, signal))
    )
      this.#traceAllocation(
        pod,
        [...entries.keys()].filter((nadKey) => !carried.has(nadKey)),
      );
    await this.#report(pod, errors, entries.keys());
  }

  /** True for a NAD that is there still, and is not about to go: the pod that gets an address now holds it. An informer may be late. */
  async #gives({ key }: PlannedNad, signal: AbortSignal): Promise<boolean> {
    const known = this.#nads.get(key);
    const found = await this.#options.store.get(networkAttachmentDefinitions, key, signal);
    if (found === undefined || known === undefined || known === 'other') return false;
    const { uid = '', deletionTimestamp, annotations = {} } = found.metadata;
    return (
      uid === known.uid && (deletionTimestamp === undefined || !Object.hasOwn(annotations, REMOVAL))
    );
  }

  #noteArrival(key: string, before: Pod | undefined, after: Pod | undefined): void {
    const { traces, scope, clock } = this.#options;
    if (after === undefined || traces?.isRecorded(after) !== true) return;
    const isNew =
      before === undefined ||
      before.metadata.uid !== after.metadata.uid ||
      !isInScope(scope, before);
    if (isNew) this.#since.set(key, clock.monotonic());
  }

  #traceAllocation(pod: Pod, nads: readonly string[]): void {
    const { traces, clock, scope } = this.#options;
    const start = this.#since.get(objectKey(pod.metadata));
    if (traces === undefined || start === undefined || nads.length === 0) return;
    traces.record(pod, {
      name: 'allocate addresses',
      start,
      end: clock.monotonic(),
      attributes: { 'heddle.nads': nads, 'heddle.allocated_by': scope.kind },
    });
  }

  /** Writes annotations unless somebody changed the pod meanwhile; it is looked at again then. Returns whether they are written. */
  async #patch(
    pod: Pod,
    annotations: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<boolean> {
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
      if (error.code === 'conflict') this.queue.addAfter(objectKey(pod.metadata), CONFLICT_DELAY);
      return false;
    }
    return true;
  }

  async #report(
    pod: Pod,
    found: readonly AttachmentError[],
    networks: Iterable<string> = [],
  ): Promise<void> {
    const key = objectKey(pod.metadata);
    const { scope, clock, store } = this.#options;
    const errors = [...this.#refusals(pod), ...found];
    if (errors.length > 0) this.#lacking.add(key);
    const report = this.#attachmentErrors.set(key, errors, {
      lacks: this.#lacking.has(key),
      now: clock.monotonic(),
    });
    if (report.again !== undefined) this.queue.addAfter(key, report.again);
    if (report.news !== undefined)
      await store.event({
        regarding: pod,
        type: 'Warning',
        reason: scope.kind === 'cluster' ? 'ErrorAllocatingPod' : 'ErrorReconcilingPod',
        message: report.news,
      });
    // One that has ended needs no network any more.
    if (report.isOver && !isWithoutNetworks(pod))
      await store.event({
        regarding: pod,
        type: 'Normal',
        reason: 'NetworksAllocated',
        message: `has its addresses on all of its networks now: ${[...networks].toSorted().join(', ')}`,
      });
    await this.#reportChecks(pod);
  }

  /** What is wrong with a pod, and harms no attachment, its node tells its user, too: once, as long as it is so. */
  async #reportChecks(pod: Pod): Promise<void> {
    if (this.#options.scope.kind !== 'node') return;
    const key = objectKey(pod.metadata);
    const message = checkPod(pod).join('\n');
    if (this.#checked.get(key) === message) return;
    if (message === '') this.#checked.delete(key);
    else {
      this.#checked.set(key, message);
      const reason = 'ErrorReconcilingPod';
      await this.#options.store.event({ regarding: pod, type: 'Warning', reason, message });
    }
  }

  #emitConflict(pod: Pod, nadKey: string, problem: string): void {
    const { log, store } = this.#options;
    const key = objectKey(pod.metadata);
    log.warn(
      { pod: key, nad: nadKey, error: problem },
      'a pod carries an address that is not free for it',
    );
    const message = `${nadKey}/${key}: ${problem}`;
    void store
      .event({ regarding: pod, type: 'Warning', reason: 'ErrorAllocatingPod', message })
      .catch((error: unknown) => {
        log.warn({ pod: key, error }, 'event could not be written');
      });
  }
}

/** A pod keeps what it carries; only what is missing is given. */
function completeEntry(
  { nadKey, nad }: WantedAttachment,
  carried: ReadonlyMap<string, PodNetwork>,
): PodNetwork | undefined {
  const entry = carried.get(nadKey);
  const needsNone = nad !== undefined && nad.config.subnets.length === 0;
  return needsNone || (entry?.addresses.length ?? 0) > 0 ? entry : undefined;
}

/** Longest request, in characters, that is written down as it is; one that is longer is no name anyway. */
const LONGEST_REQUEST = 600;

const keptText = (asked: string | null): string =>
  JSON.stringify(
    asked !== null && asked.length > LONGEST_REQUEST
      ? `${asked.slice(0, LONGEST_REQUEST)}…`
      : asked,
  );

/** Keys of the NADs that a plan is about. */
function wantedNads(plan: PodPlan): ReadonlySet<string> {
  if (plan.kind === 'undecided') return new Set(plan.candidates.map(({ key }) => key));
  if (plan.kind !== 'attachments') return new Set();
  return new Set(plan.attachments.map(({ nadKey }) => nadOfKey(nadKey)));
}

/** The same, and those of which the pod carries an address: it uses them whatever becomes of its plan. */
const nadsOf = (pod: Pod, plan: PodPlan): ReadonlySet<string> =>
  isWithoutNetworks(pod)
    ? new Set()
    : wantedNads(plan).union(new Set([...annotatedNetworks(pod).keys()].map(nadOfKey)));

const namespaceOf = (nadKey: string): string => nadKey.slice(0, nadKey.indexOf('/'));

/** True when a change of a pod is nothing to its addresses. */
const wantsSame = (a: Pod, b: Pod): boolean =>
  a.metadata.uid === b.metadata.uid &&
  isDeepStrictEqual(a.metadata.annotations, b.metadata.annotations) &&
  isDeepStrictEqual(a.spec, b.spec) &&
  a.status?.phase === b.status?.phase;
