/** NADs of the objects that declare networks: written, corrected and removed, one namespace at a time (reference/api.md §4). */
import { AllocationError } from '../../allocators/allocation-error.ts';
import { networkAttachmentDefinitions, pods as podKind } from '../../api/kinds.ts';
import { NETWORK_FINALIZER, renderNad } from '../../api/nad/nad.ts';
import { invalidPrimaryNetwork } from '../../api/nad/primary-networks.ts';
import { PRIMARY_NETWORK_LABEL, REMOVAL } from '../../api/annotations/network-annotations.ts';
import { objectKey, type ObjectMeta } from '../../api/objects.ts';
import type { NetworkAttachmentDefinition, Pod } from '../../api/types.ts';
import { StoreError, type Store, type WriteOptions } from '../../store/store.ts';
import type { NetworkObject } from '../../api/nad/network-spec.ts';
import { networkObjectKey, networkOf, roleOf, unsupportedNetwork } from './network-objects.ts';
import type { ClusterInformers } from '../informers.ts';
import { registeredNad, type RegisteredNad } from '../../api/nad/registered-nad.ts';
import { correctNad, withIdentity } from './nads.ts';
import type { NetworkProblem } from './network-outcome.ts';
import { hasRoomForRouter, withGateway } from './network-gateways.ts';
import { withPool } from './network-pools.ts';
import type { NetworkRegistry } from './network-registry.ts';
import { growthOf, type Growth } from './appended-subnets.ts';
import { refusalEverywhere, refusalOfNew, type NewNetworkContext } from './new-network-rules.ts';
import { OrphanedNads, ownerKeyOf } from './orphaned-nads.ts';
import { podsUsing } from './pods-using.ts';
import type { Log } from '../../store/log.ts';
import type { ClusterManagerSettings } from '../settings.ts';

export const FIELD_MANAGER = 'user-defined-network-controller';

export interface OwnedNadsOptions {
  readonly store: Pick<Store, 'create' | 'patch' | 'delete' | 'get' | 'list'>;
  readonly informers: ClusterInformers;
  readonly registry: NetworkRegistry;
  readonly settings: ClusterManagerSettings;
  readonly log: Log;
  /** NADs of which the pod has an address, or is to get one. */
  readonly wantedBy: (pod: Pod) => ReadonlySet<string>;
  /** A NAD that others had to make room for is not made: its network's id is free, too. */
  readonly onDropped: () => void;
  /** Networks whose NADs we changed, before the informer says so. */
  readonly onNetworks: (names: readonly string[]) => void;
}

/** Why an object's NAD can't be as wanted; becomes a condition, not a retry. */
class NetworkRefusal extends Error {
  readonly reason: string | undefined;

  constructor(message: string, reason?: string) {
    super(message);
    this.name = 'NetworkRefusal';
    this.reason = reason;
  }
}

/** What the NAD of a namespace needs to be as its object wants it. */
export type NadDecision =
  | { readonly kind: 'ready' | 'deleting' }
  | { readonly kind: 'patch'; readonly key: string; readonly patch: object }
  | {
      readonly kind: 'create';
      readonly key: string;
      readonly nad: NetworkAttachmentDefinition;
      /** As it is in the registry until it is made. */
      readonly registered: RegisteredNad;
    };

const foreign = (key: string): NetworkRefusal =>
  new NetworkRefusal(
    `foreign NetworkAttachmentDefinition with the desired name already exist [${key}]`,
  );

export class OwnedNads {
  readonly #options: OwnedNadsOptions;
  readonly #orphans: OrphanedNads;

  constructor(options: OwnedNadsOptions) {
    this.#options = options;
    this.#orphans = new OrphanedNads(options.store, options.informers.nads);
  }

  /** NADs that the object controls, as the informer shows them. */
  of(object: NetworkObject): readonly NetworkAttachmentDefinition[] {
    const { uid } = object.metadata;
    return uid === undefined ? [] : this.#options.informers.nadsByOwner.get(uid);
  }

  /** NADs that the object controls, also those that the informer may not show yet. */
  async all(
    object: NetworkObject,
    signal: AbortSignal,
  ): Promise<readonly NetworkAttachmentDefinition[]> {
    const shown = this.of(object);
    const keys = new Set(shown.map(({ metadata }) => objectKey(metadata)));
    const written = this.#options.registry
      .nads()
      .filter(({ key, ownerUid }) => ownerUid === object.metadata.uid && !keys.has(key));
    const found = await Promise.all(
      written.map(({ key }) => this.#options.store.get(networkAttachmentDefinitions, key, signal)),
    );
    return [...shown, ...found.filter((nad) => nad !== undefined)];
  }

  get #context(): NewNetworkContext {
    const { informers, registry, settings } = this.#options;
    return { informers, registry, limits: settings.limits };
  }

  /** Which ranges of the object its network has and gets. At once: what it gets is nobody else's from now on. */
  grow(object: NetworkObject, namespaces: readonly string[]): Growth {
    const { registry, settings } = this.#options;
    const growth = growthOf(object, namespaces, { ...this.#context, cluster: settings.cluster });
    registry.grant(networkOf(object), growth.granted);
    return growth;
  }

  /** Why a network that has no NAD yet may come to none of the namespaces; see `refusalEverywhere`. */
  refusalsEverywhere(
    object: NetworkObject,
    namespaces: readonly string[],
  ): readonly NetworkProblem[] {
    const { registry, settings } = this.#options;
    const isNew = !registry
      .ofNetwork(networkOf(object))
      .some(({ ownerUid }) => ownerUid === object.metadata.uid);
    if (!isNew || this.of(object).length > 0) return [];
    return namespaces.flatMap((namespace) => {
      const hasRouter = hasRoomForRouter(object, undefined);
      const rendered = renderNad(object, namespace, settings.cluster, { hasRouter });
      if (rendered.kind === 'invalid') return [];
      const { config } = rendered.value;
      const refusal = refusalEverywhere(object, namespace, config, this.#context);
      return refusal === undefined ? [] : [{ namespace, ...refusal }];
    });
  }

  /**
   * What the NAD of one namespace needs. At once, in memory: a NAD that is to be made is in the registry from now on, so that what is
   * decided next counts with it, and its write can take as long as it takes. Throws; see `problemOf`.
   */
  decide(object: NetworkObject, namespace: string): NadDecision {
    const { informers, registry, settings } = this.#options;
    const isPrimary = roleOf(object) === 'primary';
    const found = informers.namespaces.get(namespace);
    if (isPrimary && !Object.hasOwn(found?.metadata.labels ?? {}, PRIMARY_NETWORK_LABEL))
      throw new NetworkRefusal(invalidPrimaryNetwork(namespace, found !== undefined));
    const unsupported = unsupportedNetwork(object);
    if (unsupported !== undefined) throw new NetworkRefusal(unsupported);
    const hasRouter = hasRoomForRouter(object, registry.network(networkOf(object))?.config);
    const desired = renderNad(object, namespace, settings.cluster, { hasRouter });
    if (desired.kind === 'invalid') throw new NetworkRefusal(desired.error);
    const { config } = desired.value;
    const key = objectKey(desired.value.nad.metadata);
    const existing = informers.nads.get(key);
    const pooled = withPool(desired.value.nad, config, object, existing, settings.cluster);
    const nad = withGateway(pooled, config, object, existing, settings.cluster);
    if (existing !== undefined) {
      if (!isOwnedBy(existing, object) && ownerKeyOf(existing) === networkObjectKey(object))
        return { kind: 'deleting' };
      if (!isOwnedBy(existing, object)) throw foreign(key);
      if (existing.metadata.deletionTimestamp !== undefined) return { kind: 'deleting' };
      const patch = correctNad(existing, nad);
      if (patch !== undefined) return { kind: 'patch', key, patch };
      const why = registry.refusedNads(networkOf(object)).get(key);
      if (why !== undefined) throw new NetworkRefusal(why);
      return { kind: 'ready' };
    }
    const written = registry.nad(key);
    if (written !== undefined) {
      if (written.ownerUid !== object.metadata.uid) throw foreign(key);
      // The informer has yet to show it.
      return { kind: 'ready' };
    }
    const refusal = refusalOfNew(object, namespace, config, this.#context);
    if (refusal !== undefined) throw new NetworkRefusal(refusal.message, refusal.reason);
    const identity = registry.identify(config.name, config);
    const wanted = withIdentity(nad, config.name, identity);
    const registered = registeredNad(wanted, config);
    registry.reserve(registered);
    return { kind: 'create', key, nad: wanted, registered };
  }

  /** Writes what was decided. `deleting`: an old NAD must go first. Throws; see `problemOf`. */
  async carryOut(decision: NadDecision, signal: AbortSignal): Promise<'ready' | 'deleting'> {
    const { store } = this.#options;
    const options = { fieldManager: FIELD_MANAGER, signal };
    switch (decision.kind) {
      case 'ready':
      case 'deleting':
        return decision.kind;
      case 'patch':
        await store.patch(networkAttachmentDefinitions, decision.key, decision.patch, options);
        return 'ready';
      case 'create':
        try {
          const { metadata } = await store.create(
            networkAttachmentDefinitions,
            decision.nad,
            options,
          );
          this.#created(decision.registered, metadata);
          return 'ready';
        } catch (error) {
          this.drop(decision);
          if (!(error instanceof StoreError) || error.code !== 'already-exists') throw error;
          throw foreign(decision.key);
        }
    }
  }

  /** Takes back what was decided and is not carried out. */
  drop(decision: NadDecision): void {
    if (decision.kind !== 'create') return;
    this.#options.registry.unreserve(decision.key);
    this.#options.onDropped();
  }

  /**
   * Removes a NAD unless pods use it. Returns what is in the way. Who gives addresses reads the NAD before: from its mark on it gives none, and
   * all pods that came before are listed after it. `wantedBy`: NADs of which a pod is to get an address.
   */
  async remove(
    nad: NetworkAttachmentDefinition,
    signal: AbortSignal,
    wantedBy: OwnedNadsOptions['wantedBy'] = this.#options.wantedBy,
  ): Promise<NetworkProblem | undefined> {
    const { informers, store } = this.#options;
    const options = { fieldManager: FIELD_MANAGER, signal };
    const { namespace = '', name, uid, finalizers = [] } = nad.metadata;
    const key = objectKey(nad.metadata);
    const usedBy = (pods: readonly Pod[]): NetworkProblem | undefined => {
      const use = podsUsing(key, pods, wantedBy);
      return use === undefined
        ? undefined
        : {
            namespace,
            message: `failed to delete NetworkAttachmentDefinition [${namespace}/${name}]: ${use}`,
          };
    };
    const use = usedBy(informers.pods.inNamespace(namespace));
    if (use !== undefined) return use;
    try {
      if (nad.metadata.deletionTimestamp === undefined)
        await store.delete(networkAttachmentDefinitions, key, {
          signal,
          ...(uid === undefined ? {} : { uid }),
        });
      if (finalizers.includes(NETWORK_FINALIZER)) {
        await this.#mark(key, '', options);
        const late = usedBy(await store.list(podKind, signal, { namespace }));
        if (late !== undefined) {
          await this.#mark(key, null, options);
          return late;
        }
        await store.patch(
          networkAttachmentDefinitions,
          key,
          { metadata: { finalizers: finalizers.filter((one) => one !== NETWORK_FINALIZER) } },
          options,
        );
      }
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'not-found') throw error;
    }
    // A watch that was cut may never show a NAD that came and went meanwhile.
    if (finalizers.every((one) => one === NETWORK_FINALIZER))
      this.#options.onNetworks(this.#options.registry.removed(key, uid));
    return undefined;
  }

  async #mark(key: string, mark: '' | null, options: WriteOptions): Promise<void> {
    const patch = { metadata: { annotations: { [REMOVAL]: mark } } };
    await this.#options.store.patch(networkAttachmentDefinitions, key, patch, options);
  }

  /** Removes NADs of objects that had this key before. Returns what is in the way. */
  async removeFormer(
    key: string,
    uid: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly NetworkProblem[]> {
    const problems: NetworkProblem[] = [];
    for (const nad of await this.#orphans.of(key, uid, signal)) {
      // Nobody stands for it, and its owner may be forged: it gets no further pods.
      const problem = await this.remove(nad, signal, () => new Set());
      if (problem !== undefined) problems.push(problem);
      else
        this.#options.log.info({ nad: objectKey(nad.metadata) }, 'NAD of a former object removed');
    }
    return problems;
  }

  #created(nad: RegisteredNad, { uid = '', creationTimestamp = '' }: ObjectMeta): void {
    const { registry, onNetworks, log } = this.#options;
    const { key, networkId, config } = nad;
    log.info({ network: config.name, nad: key, id: networkId }, 'network created');
    onNetworks(registry.created({ ...nad, uid, creationTimestamp }));
  }
}

/** What an error of `decide` or `carryOut` means for the object; throws those that only mean to try again. */
export function problemOf(namespace: string, error: unknown): NetworkProblem {
  if (error instanceof NetworkRefusal)
    return error.reason === undefined
      ? { namespace, message: error.message }
      : { namespace, reason: error.reason, message: error.message };
  if (error instanceof AllocationError) return { namespace, message: error.message };
  if (
    error instanceof StoreError &&
    ['invalid', 'forbidden', 'unauthenticated', 'not-supported'].includes(error.code)
  )
    return { namespace, message: error.message };
  throw error;
}

const isOwnedBy = (nad: NetworkAttachmentDefinition, { metadata }: NetworkObject): boolean =>
  nad.metadata.ownerReferences?.some(
    ({ controller, uid }) => controller === true && uid === metadata.uid,
  ) === true;
