/** Objects that declare networks → NADs in the namespaces that should have them (api.md §4). */
import { AllocationError } from '../allocators/allocation-error.ts';
import { networkAttachmentDefinitions } from '../api/kinds.ts';
import { NETWORK_FINALIZER, renderNad } from '../api/nad.ts';
import { PRIMARY_NETWORK_LABEL } from '../api/network-annotations.ts';
import type { NetworkConfig } from '../api/network-config.ts';
import { objectKey } from '../api/objects.ts';
import type { NetworkAttachmentDefinition } from '../api/types.ts';
import type { Clock } from '../store/clock.ts';
import type { Change } from '../store/informer.ts';
import { StoreError, type Store } from '../store/store.ts';
import { WorkQueue, type Again, type Failure } from '../store/work-queue.ts';
import {
  declarationKey,
  invalidPrimaryNetwork,
  kindOf,
  networkOf,
  parseDeclarationKey,
  roleOf,
  targetNamespaces,
  unsupportedNetwork,
  type Declaration,
} from './declarations.ts';
import type { ClusterInformers } from './informers.ts';
import type { DurationRecorder } from './metrics.ts';
import { correctNad, readNad, withIdentity } from './nads.ts';
import type { NetworkOutcome, NetworkProblem } from './network-outcome.ts';
import type { NetworkRegistry } from './network-registry.ts';
import { hostAddressesOf, refusalOfNew } from './new-network-rules.ts';
import { podsUsing } from './pods-using.ts';
import { oldestFirst } from './order.ts';
import { OrphanedNads, ownerKeyOf } from './orphaned-nads.ts';
import type { ClusterManagerSettings, Log } from './settings.ts';

export interface NetworkControllerOptions {
  readonly store: Pick<Store, 'create' | 'patch' | 'delete' | 'get'>;
  readonly informers: ClusterInformers;
  readonly registry: NetworkRegistry;
  readonly settings: ClusterManagerSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly durations: DurationRecorder;
  /** Networks whose NADs we changed, before the informer says so. */
  readonly onNetworks: (names: readonly string[]) => void;
  /** The outcome of an object is known or has changed. */
  readonly onOutcome: (key: string) => void;
  readonly onFailure: (failure: Failure) => void;
}

export const FIELD_MANAGER = 'user-defined-network-controller';

/** Why an object's NAD can't be as wanted; becomes a condition, not a retry. */
class NetworkRefusal extends Error {
  readonly reason: string | undefined;

  constructor(message: string, reason?: string) {
    super(message);
    this.name = 'NetworkRefusal';
    this.reason = reason;
  }
}

export class NetworkController {
  readonly queue: WorkQueue;
  readonly #options: NetworkControllerOptions;
  readonly #orphans: OrphanedNads;
  /** Resolves when everything that came before has been decided. */
  #lastTurn: Promise<void> = Promise.resolve();
  readonly #outcomes = new Map<string, NetworkOutcome>();
  /** Networks of which there are durations, by object. */
  readonly #measured = new Map<string, string>();

  constructor(options: NetworkControllerOptions) {
    this.#options = options;
    this.#orphans = new OrphanedNads(options.store, options.informers.nads);
    // Decisions are made one at a time, in order: whether a namespace has a primary network, whether a prefix is free.
    this.queue = new WorkQueue({
      reconcile: (key, signal) => this.#reconcile(key, signal),
      onFailure: options.onFailure,
      parallelism: 8,
      clock: options.clock,
    });
  }

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
    const declared = oldestFirst<Declaration>([
      ...udns.list(),
      ...cudns.list(),
      ...secondaries.list(),
    ]);
    for (const object of declared) this.queue.add(declarationKey(object));
    for (const informer of [udns, cudns, secondaries])
      informer.onChange((change: Pick<Change<Declaration>, 'before' | 'after'>) => {
        const object = change.after ?? change.before;
        if (object !== undefined && wantedOf(change.before) !== wantedOf(change.after))
          this.queue.add(declarationKey(object));
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
      if (after === undefined) this.retryRefused();
    });
    nodes.onChange(({ before, after }) => {
      const hosts = (node: typeof after): string =>
        JSON.stringify([node?.metadata.name, hostAddressesOf(node)]);
      if (hosts(before) !== hosts(after)) this.retryRefused();
    });
    pods.onChange(({ before, after }) => {
      const namespace = (after ?? before)?.metadata.namespace;
      if (after === undefined && namespace !== undefined) this.#podGone(namespace);
    });
  }

  /** Objects with a problem may fare better now. */
  retryRefused(): void {
    for (const [key, { problems }] of this.#outcomes) if (problems.length > 0) this.queue.add(key);
  }

  #namespaceChanged(namespace: string): void {
    const { udns, cudns, secondaries } = this.#options.informers;
    for (const object of [
      ...udns.inNamespace(namespace),
      ...secondaries.inNamespace(namespace),
      ...cudns.list(),
    ])
      this.queue.add(declarationKey(object));
  }

  #wakeOwner(nad: NetworkAttachmentDefinition | undefined): void {
    const owner = nad === undefined ? undefined : ownerKeyOf(nad);
    if (owner !== undefined) this.queue.add(owner);
  }

  #podGone(namespace: string): void {
    for (const [key, { problems }] of this.#outcomes)
      if (problems.some((problem) => problem.namespace === namespace)) this.queue.add(key);
  }

  #object(key: string): Declaration | undefined {
    const { kind, object } = parseDeclarationKey(key);
    const { udns, cudns, secondaries } = this.#options.informers;
    switch (kind) {
      case 'UserDefinedNetwork':
        return udns.get(object);
      case 'ClusterUserDefinedNetwork':
        return cudns.get(object);
      case 'OVNSecondaryNetwork':
        return secondaries.get(object);
    }
  }

  /** Objects are protected side by side, which takes a request each; the rest is done in the order in which they came. */
  async #reconcile(key: string, signal: AbortSignal): Promise<Again | void> {
    const before = this.#lastTurn;
    const turn = Promise.withResolvers<void>();
    this.#lastTurn = turn.promise;
    try {
      const object = this.#object(key);
      if (object !== undefined) await this.#protect(object, signal);
      await before;
      signal.throwIfAborted();
      return await this.#reconcileInTurn(key, object?.metadata.uid, signal);
    } finally {
      // An error must not let a later one begin before an earlier one has ended.
      void before.then(turn.resolve);
    }
  }

  async #reconcileInTurn(
    key: string,
    protectedUid: string | undefined,
    signal: AbortSignal,
  ): Promise<Again | void> {
    const { clock, durations } = this.#options;
    const object = this.#object(key);
    if (object === undefined) {
      const problems = await this.#removeOrphans(key, undefined, signal);
      if (problems.length === 0) this.#outcomes.delete(key);
      else this.#outcomes.set(key, { ready: [], deleting: [], problems });
      this.#options.onOutcome(key);
      const measured = this.#measured.get(key);
      if (measured !== undefined) durations.forget(measured);
      this.#measured.delete(key);
      return;
    }
    const began = clock.now();
    const isLeaving = object.metadata.deletionTimestamp !== undefined;
    if (object.metadata.uid !== protectedUid) await this.#protect(object, signal);
    const outcome = isLeaving
      ? await this.#withdraw(object, signal)
      : await this.#provide(object, signal);
    durations.nadSync(networkOf(object), clock.now() - began);
    this.#measured.set(key, networkOf(object));
    this.#outcomes.set(key, outcome);
    this.#options.onOutcome(key);
  }

  /** Removes NADs of objects that had this key before. Returns what is in the way. */
  async #removeOrphans(
    key: string,
    uid: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly NetworkProblem[]> {
    const problems: NetworkProblem[] = [];
    for (const nad of await this.#orphans.of(key, uid, signal)) {
      const problem = await this.#removeNad(nad, signal);
      if (problem !== undefined) problems.push(problem);
      else
        this.#options.log.info({ nad: objectKey(nad.metadata) }, 'NAD of a former object removed');
    }
    return problems;
  }

  /** The object must not vanish before its NADs. */
  async #protect(object: Declaration, signal: AbortSignal): Promise<void> {
    const { finalizers = [], deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined || finalizers.includes(NETWORK_FINALIZER)) return;
    await this.#patchFinalizers(object, [...finalizers, NETWORK_FINALIZER], signal);
  }

  async #patchFinalizers(
    object: Declaration,
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

  async #provide(object: Declaration, signal: AbortSignal): Promise<NetworkOutcome> {
    const targets = targetNamespaces(object, this.#options.informers.namespaces.list());
    const ready: string[] = [];
    const deleting: string[] = [];
    const { uid } = object.metadata;
    const problems = [...(await this.#removeOrphans(declarationKey(object), uid, signal))];
    for (const namespace of targets) {
      try {
        if ((await this.#ensureNad(object, namespace, signal)) === 'ready') ready.push(namespace);
        else deleting.push(`${namespace}/${object.metadata.name}`);
      } catch (error) {
        problems.push(problemOf(namespace, error));
      }
    }
    for (const nad of this.#ownNads(object)) {
      const namespace = nad.metadata.namespace ?? '';
      if (targets.includes(namespace)) continue;
      const problem = await this.#removeNad(nad, signal);
      if (problem !== undefined) problems.push(problem);
    }
    return { ready, deleting, problems };
  }

  async #withdraw(object: Declaration, signal: AbortSignal): Promise<NetworkOutcome> {
    const finalizers = object.metadata.finalizers ?? [];
    if (!finalizers.includes(NETWORK_FINALIZER)) return { ready: [], deleting: [], problems: [] };
    const problems: NetworkProblem[] = [];
    for (const nad of await this.#nadsToWithdraw(object, signal)) {
      const problem = await this.#removeNad(nad, signal);
      if (problem !== undefined) problems.push(problem);
    }
    if (problems.length > 0) return { ready: [], deleting: [], problems };
    await this.#patchFinalizers(
      object,
      finalizers.filter((one) => one !== NETWORK_FINALIZER),
      signal,
    );
    this.#options.log.info({ network: networkOf(object) }, 'network removed');
    return { ready: [], deleting: [], problems: [] };
  }

  #ownNads(object: Declaration): readonly NetworkAttachmentDefinition[] {
    const { uid } = object.metadata;
    return uid === undefined ? [] : this.#options.informers.nadsByOwner.get(uid);
  }

  /** Own NADs as the informer shows them, and those that it may not show yet. */
  async #nadsToWithdraw(
    object: Declaration,
    signal: AbortSignal,
  ): Promise<readonly NetworkAttachmentDefinition[]> {
    const shown = this.#ownNads(object);
    const keys = new Set(shown.map(({ metadata }) => objectKey(metadata)));
    const written = this.#options.registry
      .nads()
      .filter(({ key, ownerUid }) => ownerUid === object.metadata.uid && !keys.has(key));
    const found = await Promise.all(
      written.map(({ key }) => this.#options.store.get(networkAttachmentDefinitions, key, signal)),
    );
    return [...shown, ...found.filter((nad) => nad !== undefined)];
  }

  /** Brings the NAD of one namespace to what the object says. Throws NetworkRefusal with what is in the way. */
  async #ensureNad(
    object: Declaration,
    namespace: string,
    signal: AbortSignal,
  ): Promise<'ready' | 'deleting'> {
    const { informers, registry, settings, store } = this.#options;
    const isPrimary = roleOf(object) === 'primary';
    const labels = informers.namespaces.get(namespace)?.metadata.labels ?? {};
    if (isPrimary && !Object.hasOwn(labels, PRIMARY_NETWORK_LABEL))
      throw new NetworkRefusal(invalidPrimaryNetwork(namespace));
    const unsupported = unsupportedNetwork(object);
    if (unsupported !== undefined) throw new NetworkRefusal(unsupported);
    const desired = renderNad(object, namespace, settings.cluster);
    if (!desired.ok) throw new NetworkRefusal(desired.error);
    const nad = desired.value;
    const key = objectKey(nad.metadata);
    const existing = informers.nads.get(key);
    if (existing !== undefined) {
      if (!isOwnedBy(existing, object) && ownerKeyOf(existing) === declarationKey(object))
        return 'deleting';
      if (!isOwnedBy(existing, object))
        throw new NetworkRefusal(
          `foreign NetworkAttachmentDefinition with the desired name already exist [${key}]`,
        );
      if (existing.metadata.deletionTimestamp !== undefined) return 'deleting';
      const patch = correctNad(existing, nad);
      if (patch !== undefined) {
        const written = await store.patch(networkAttachmentDefinitions, key, patch, {
          fieldManager: FIELD_MANAGER,
          signal,
        });
        this.#observe(written);
      }
      return 'ready';
    }
    const config = this.#configOf(nad);
    const refusal = refusalOfNew(object, namespace, config, {
      informers,
      registry,
      limits: settings.limits,
    });
    if (refusal !== undefined) throw new NetworkRefusal(refusal.message, refusal.reason);
    await registry.holdWhile(config.name, async () => {
      const identity = registry.identify(config.name, config);
      try {
        const created = await store.create(
          networkAttachmentDefinitions,
          withIdentity(nad, config.name, identity),
          { fieldManager: FIELD_MANAGER, signal },
        );
        this.#observeCreated(created);
      } catch (error) {
        if (!(error instanceof StoreError) || error.code !== 'already-exists') throw error;
        throw new NetworkRefusal(
          `foreign NetworkAttachmentDefinition with the desired name already exist [${key}]`,
        );
      }
    });
    return 'ready';
  }

  #configOf(nad: NetworkAttachmentDefinition): NetworkConfig {
    const read = readNad(nad, this.#options.settings.cluster);
    if (read.kind !== 'network')
      throw new NetworkRefusal(
        `rendered NetworkAttachmentDefinition can't be read: ${read.kind === 'invalid' ? read.error : 'not ours'}`,
      );
    return read.nad.config;
  }

  /** Removes a NAD unless pods use it. Returns what is in the way. */
  async #removeNad(
    nad: NetworkAttachmentDefinition,
    signal: AbortSignal,
  ): Promise<NetworkProblem | undefined> {
    const { informers, store } = this.#options;
    const { namespace = '', name, uid, finalizers = [] } = nad.metadata;
    const key = objectKey(nad.metadata);
    const use = podsUsing(key, informers.pods.inNamespace(namespace));
    if (use !== undefined)
      return {
        namespace,
        message: `failed to delete NetworkAttachmentDefinition [${namespace}/${name}]: ${use}`,
      };
    try {
      if (nad.metadata.deletionTimestamp === undefined)
        await store.delete(networkAttachmentDefinitions, key, {
          signal,
          ...(uid === undefined ? {} : { uid }),
        });
      if (finalizers.includes(NETWORK_FINALIZER))
        await store.patch(
          networkAttachmentDefinitions,
          key,
          { metadata: { finalizers: finalizers.filter((one) => one !== NETWORK_FINALIZER) } },
          { fieldManager: FIELD_MANAGER, signal },
        );
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'not-found') throw error;
    }
    return undefined;
  }

  #observe(nad: NetworkAttachmentDefinition): void {
    const { registry, settings, onNetworks } = this.#options;
    const read = readNad(nad, settings.cluster);
    if (read.kind === 'network') onNetworks(registry.observe(read.nad.key, read.nad.uid, read.nad));
  }

  #observeCreated(nad: NetworkAttachmentDefinition): void {
    const { registry, settings, onNetworks, log } = this.#options;
    const read = readNad(nad, settings.cluster);
    if (read.kind !== 'network') return;
    log.info(
      { network: read.nad.config.name, nad: read.nad.key, id: read.nad.networkId },
      'network created',
    );
    onNetworks(registry.created(read.nad));
  }
}

function problemOf(namespace: string, error: unknown): NetworkProblem {
  if (error instanceof NetworkRefusal)
    return error.reason === undefined
      ? { namespace, message: error.message }
      : { namespace, reason: error.reason, message: error.message };
  if (error instanceof AllocationError) return { namespace, message: error.message };
  if (error instanceof StoreError && ['invalid', 'forbidden', 'not-supported'].includes(error.code))
    return { namespace, message: error.message };
  throw error;
}

/** What an object asks for, as text: a change of its status alone asks for nothing. */
function wantedOf(object: Declaration | undefined): string {
  if (object === undefined) return '';
  const { labels, annotations, finalizers, deletionTimestamp, uid } = object.metadata;
  return JSON.stringify([uid, deletionTimestamp, finalizers, labels, annotations, object.spec]);
}

const isOwnedBy = (nad: NetworkAttachmentDefinition, { metadata }: Declaration): boolean =>
  nad.metadata.ownerReferences?.some(
    ({ controller, uid }) => controller === true && uid === metadata.uid,
  ) === true;
