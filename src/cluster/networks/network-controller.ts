/** Objects that declare networks → NADs in the namespaces that should have them (reference/api.md §4). */
import { NETWORK_FINALIZER } from '../../api/nad/nad.ts';
import { objectKey } from '../../api/objects.ts';
import type { NetworkAttachmentDefinition } from '../../api/types.ts';
import type { Clock } from '../../store/clock.ts';
import type { Change } from '../../store/informer.ts';
import { WorkQueue, type Failure } from '../../store/work-queue.ts';
import type { NetworkObject } from '../../api/nad/network-spec.ts';
import {
  networkObjectKey,
  kindOf,
  networkOf,
  parseNetworkObjectKey,
  targetNamespaces,
} from './network-objects.ts';
import { WRITERS } from '../settings.ts';
import { inParallel } from '../../store/in-parallel.ts';
import {
  OwnedNads,
  FIELD_MANAGER,
  problemOf,
  type OwnedNadsOptions,
  type NadDecision,
} from './owned-nads.ts';
import type { DurationRecorder } from '../metrics.ts';
import type { NetworkOutcome, NetworkProblem } from './network-outcome.ts';
import { rangesOf } from './appended-subnets.ts';
import { hostNetworksOf } from '../nodes/host-networks.ts';
import { oldestFirst } from '../../api/order.ts';
import { ownerKeyOf } from './orphaned-nads.ts';

export interface NetworkControllerOptions extends Omit<OwnedNadsOptions, 'onDropped'> {
  readonly clock: Clock;
  readonly durations: DurationRecorder;
  /** The outcome of an object is known or has changed. */
  readonly onOutcome: (key: string) => void;
  /** The id of a network that is not made is free again. */
  readonly onFreed: () => void;
  readonly onFailure: (failure: Failure) => void;
}

export class NetworkController {
  readonly queue: WorkQueue;
  readonly #options: NetworkControllerOptions;
  readonly #nads: OwnedNads;
  readonly #outcomes = new Map<string, NetworkOutcome>();
  /** Objects with a problem, by the namespace where it is; '' = wherever the network is. */
  readonly #refusedIn = new Map<string, Set<string>>();
  /** Objects that were refused in favour of others. */
  readonly #undecided = new Set<string>();
  /** Networks of which there are durations, by object. */
  readonly #measured = new Map<string, string>();

  constructor(options: NetworkControllerOptions) {
    this.#options = options;
    const onDropped = (): void => {
      this.#retryDecisions();
      options.onFreed();
    };
    this.#nads = new OwnedNads({ ...options, onDropped });
    // Decisions are made at once when a key's turn comes (whether a namespace has a primary network, whether a prefix is free); only
    // writes are waited for, each by its own object.
    this.queue = new WorkQueue({
      reconcile: (key, signal) => this.#reconcile(key, signal),
      onFailure: options.onFailure,
      parallelism: WRITERS,
      clock: options.clock,
    });
  }

  /** What came of an object; undefined until it has been looked at. */
  outcomeOf(key: string): NetworkOutcome | undefined {
    return this.#outcomes.get(key);
  }

  /** Every object with its outcome, for status and metrics. */
  outcomes(): ReadonlyMap<string, NetworkOutcome> {
    return this.#outcomes;
  }

  /** Follows the objects from now on, oldest first. */
  follow(): void {
    const { udns, cudns, secondaries, namespaces, nodes, nads, pods } = this.#options.informers;
    const declared = oldestFirst(this.#options.informers.networkObjects());
    for (const object of declared) this.queue.add(networkObjectKey(object));
    for (const informer of [udns, cudns, secondaries])
      informer.onChange((change: Pick<Change<NetworkObject>, 'before' | 'after'>) => {
        const object = change.after ?? change.before;
        if (object === undefined || wantedOf(change.before) === wantedOf(change.after)) return;
        this.queue.add(networkObjectKey(object));
        if (change.before !== undefined) this.#retryBeside(object);
      });
    namespaces.onChange(({ key, before, after }) => {
      const [labels, labelsBefore] = [after?.metadata.labels, before?.metadata.labels];
      const same =
        before !== undefined &&
        after !== undefined &&
        before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
        JSON.stringify(labels) === JSON.stringify(labelsBefore);
      if (!same) this.#namespaceChanged(key);
    });
    nads.onChange(({ before, after }) => {
      this.#wakeOwner(before);
      this.#wakeOwner(after);
    });
    this.#options.registry.onFreed((namespace) => this.#retryIn(namespace));
    nodes.onChange(({ before, after }) => {
      const hosts = (node: typeof after): string =>
        JSON.stringify([node?.metadata.name, hostNetworksOf(node).addresses]);
      const isChanged = before === undefined || after === undefined;
      if (isChanged || hosts(before) !== hosts(after)) this.retryRefused();
    });
    // What is in use there may be used by others now, or by nobody.
    pods.onChange(({ before, after }) => {
      const namespace = (after ?? before)?.metadata.namespace;
      if (namespace !== undefined) this.#retryIn(namespace);
    });
  }

  /** Objects with a problem may fare better now. */
  retryRefused(): void {
    for (const [key, { problems }] of this.#outcomes) if (problems.length > 0) this.queue.add(key);
  }

  /** A network came, changed or went: what was refused because of it, or beside it, is decided again. */
  networkChanged(name: string): void {
    const { registry, informers } = this.#options;
    if (registry.network(name) === undefined) this.retryRefused();
    else
      for (const { namespace, ownerUid } of registry.ofNetwork(name))
        for (const key of this.#refusedIn.get(namespace) ?? []) {
          const object = informers.networkObject(key);
          if (object?.metadata.uid === ownerUid) this.queue.add(key);
        }
  }

  /** Objects whose problem is in that namespace. */
  #retryIn(namespace: string): void {
    for (const place of [namespace, ''])
      for (const key of this.#refusedIn.get(place) ?? []) this.queue.add(key);
  }

  /** The selector or the range of an object was in the way of others. */
  #retryBeside(object: NetworkObject): void {
    if (object.kind === 'ClusterUserDefinedNetwork')
      for (const { namespace } of this.#options.registry.ofNetwork(networkOf(object)))
        this.#retryIn(namespace);
    if (object.kind === 'OVNSecondaryNetwork')
      for (const key of new Set([...this.#refusedIn.values()].flatMap((keys) => [...keys])))
        if (parseNetworkObjectKey(key).kind === object.kind) this.queue.add(key);
  }

  #setOutcome(key: string, outcome: NetworkOutcome | undefined): void {
    for (const { namespace } of this.#outcomes.get(key)?.problems ?? []) {
      const keys = this.#refusedIn.get(namespace);
      keys?.delete(key);
      if (keys?.size === 0) this.#refusedIn.delete(namespace);
    }
    if (outcome === undefined) this.#outcomes.delete(key);
    else this.#outcomes.set(key, outcome);
    for (const { namespace } of outcome?.problems ?? []) {
      const keys = this.#refusedIn.get(namespace) ?? new Set();
      this.#refusedIn.set(namespace, keys.add(key));
    }
  }

  #retryDecisions(): void {
    for (const key of this.#undecided) this.queue.addUnlessDelayed(key);
  }

  #namespaceChanged(namespace: string): void {
    const { udns, cudns, secondaries } = this.#options.informers;
    for (const object of [
      ...udns.inNamespace(namespace),
      ...secondaries.inNamespace(namespace),
      ...cudns.list(),
    ])
      this.queue.add(networkObjectKey(object));
  }

  #wakeOwner(nad: NetworkAttachmentDefinition | undefined): void {
    const owner = nad === undefined ? undefined : ownerKeyOf(nad);
    if (owner !== undefined) this.queue.add(owner);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { clock, durations } = this.#options;
    const object = this.#options.informers.networkObject(key);
    if (object === undefined) {
      const problems = await this.#nads.removeFormer(key, undefined, signal);
      // One of the same name may have come meanwhile; it is queued.
      if (this.#options.informers.networkObject(key) !== undefined) return;
      this.#undecided.delete(key);
      this.#setOutcome(
        key,
        problems.length === 0 ? undefined : { ready: [], deleting: [], problems },
      );
      this.#options.onOutcome(key);
      const measured = this.#measured.get(key);
      if (measured !== undefined) durations.forget(measured);
      this.#measured.delete(key);
      return;
    }
    const began = clock.monotonic();
    const isLeaving = object.metadata.deletionTimestamp !== undefined;
    const outcome = isLeaving
      ? await this.#reconcileDelete(object, signal)
      : await this.#reconcileNads(object, signal);
    durations.nadSync(networkOf(object), clock.monotonic() - began);
    this.#measured.set(key, networkOf(object));
    this.#setOutcome(key, { ...outcome, generation: object.metadata.generation });
    this.#options.onOutcome(key);
  }

  /** The object must not vanish before its NADs. */
  async #protect(object: NetworkObject, signal: AbortSignal): Promise<void> {
    const { finalizers = [], deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined || finalizers.includes(NETWORK_FINALIZER)) return;
    await this.#patchFinalizers(object, [...finalizers, NETWORK_FINALIZER], signal);
  }

  async #patchFinalizers(
    object: NetworkObject,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { resourceVersion } = object.metadata;
    await this.#options.store.patch(
      kindOf(object),
      objectKey(object.metadata),
      { metadata: { finalizers } },
      {
        fieldManager: FIELD_MANAGER,
        signal,
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
    );
  }

  async #reconcileNads(object: NetworkObject, signal: AbortSignal): Promise<NetworkOutcome> {
    const targets = targetNamespaces(object, this.#options.informers.namespaces.list());
    const ready: string[] = [];
    const deleting: string[] = [];
    const problems: NetworkProblem[] = [];
    const decisions = new Map<string, NadDecision>();
    const key = networkObjectKey(object);
    this.#undecided.delete(key);
    const growth = this.#nads.grow(object, targets);
    for (const { cidr: _, ...refusal } of [...growth.refused, ...growth.missing])
      problems.push({ namespace: object.metadata.namespace ?? '', ...refusal });
    const everywhere = this.#nads.refusalsEverywhere(object, targets);
    problems.push(...everywhere);
    for (const namespace of everywhere.length > 0 ? [] : targets)
      try {
        decisions.set(namespace, this.#nads.decide(growth.object, namespace));
      } catch (error) {
        problems.push(problemOf(namespace, error));
      }
    if (problems.length > 0) this.#undecided.add(key);
    const open = new Set(decisions.values());
    try {
      await this.#protect(object, signal);
      const { uid } = object.metadata;
      problems.unshift(...(await this.#nads.removeFormer(key, uid, signal)));
      // A namespace whose admission hangs holds up no other.
      const failures = await inParallel(WRITERS, [...decisions], async ([namespace, decision]) => {
        try {
          const result = await this.#nads.carryOut(decision, signal);
          if (result === 'ready') ready.push(namespace);
          else deleting.push(`${namespace}/${object.metadata.name}`);
        } catch (error) {
          problems.push(problemOf(namespace, error));
        } finally {
          open.delete(decision);
        }
      });
      if (failures[0] !== undefined) throw failures[0].error;
    } finally {
      for (const decision of open) this.#nads.drop(decision);
    }
    const wanted = new Set(targets);
    const others = this.#nads
      .of(object)
      .filter(({ metadata }) => !wanted.has(metadata.namespace ?? ''));
    problems.push(...(await this.#removeAll(others, signal)));
    const isNowhere = growth.granted.length === 0 && ready.length + deleting.length === 0;
    const refusedSubnets =
      isNowhere && problems.length > 0 ? rangesOf(object) : growth.refused.map(({ cidr }) => cidr);
    return { ready: ready.toSorted(), deleting: deleting.toSorted(), problems, refusedSubnets };
  }

  /** Returns what is in the way, by namespace. */
  async #removeAll(
    nads: readonly NetworkAttachmentDefinition[],
    signal: AbortSignal,
  ): Promise<readonly NetworkProblem[]> {
    const problems: NetworkProblem[] = [];
    const failures = await inParallel(WRITERS, nads, async (nad) => {
      const problem = await this.#nads.remove(nad, signal);
      if (problem !== undefined) problems.push(problem);
    });
    if (failures[0] !== undefined) throw failures[0].error;
    return problems.toSorted((a, b) => (a.namespace < b.namespace ? -1 : 1));
  }

  async #reconcileDelete(object: NetworkObject, signal: AbortSignal): Promise<NetworkOutcome> {
    const finalizers = object.metadata.finalizers ?? [];
    if (!finalizers.includes(NETWORK_FINALIZER)) return { ready: [], deleting: [], problems: [] };
    const problems = await this.#removeAll(await this.#nads.all(object, signal), signal);
    if (problems.length > 0) return { ready: [], deleting: [], problems };
    await this.#patchFinalizers(
      object,
      finalizers.filter((one) => one !== NETWORK_FINALIZER),
      signal,
    );
    this.#options.log.info({ network: networkOf(object) }, 'network removed');
    return { ready: [], deleting: [], problems: [] };
  }
}

/** What an object asks for, as text: a change of its status alone asks for nothing. */
function wantedOf(object: NetworkObject | undefined): string {
  if (object === undefined) return '';
  const { labels, annotations, finalizers, deletionTimestamp, uid } = object.metadata;
  return JSON.stringify([uid, deletionTimestamp, finalizers, labels, annotations, object.spec]);
}
