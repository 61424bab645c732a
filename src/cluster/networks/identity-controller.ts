/** Ids and tunnel keys of networks, on every NAD that stands for them (reference/api.md §6.2). */
import { AllocationError } from '../../allocators/allocation-error.ts';
import { networkAttachmentDefinitions } from '../../api/kinds.ts';
import {
  networkId,
  NETWORK_ID,
  NETWORK_NAME,
  ON_DEMAND,
  TUNNEL_KEYS,
} from '../../api/annotations/network-annotations.ts';
import { nameRefusal } from '../../api/nad/network-name.ts';
import type { NetworkAttachmentDefinition } from '../../api/types.ts';
import type { Clock } from '../../store/clock.ts';
import type { Change } from '../../store/informer.ts';
import { StoreError, type Store } from '../../store/store.ts';
import { oldestFirst } from '../../api/order.ts';
import { objectKey } from '../../api/objects.ts';
import { inParallel } from '../../store/in-parallel.ts';
import { ownTurn } from '../../store/turn.ts';
import { WorkQueue, type Failure } from '../../store/work-queue.ts';
import type { ClusterInformers } from '../informers.ts';
import { readNad, type NadReading } from '../../api/nad/registered-nad.ts';
import { identityAnnotations } from './nads.ts';
import { LIMIT_REACHED, overLimit } from './new-network-rules.ts';
import type { NetworkRegistry } from './network-registry.ts';
import type { Log } from '../../store/log.ts';
import { WRITERS, type ClusterManagerSettings } from '../settings.ts';

export interface IdentityControllerOptions {
  readonly store: Pick<Store, 'patch' | 'event'>;
  readonly informers: ClusterInformers;
  readonly registry: NetworkRegistry;
  readonly settings: ClusterManagerSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** A network came, changed or went, and its identity is settled. */
  readonly onNetwork: (name: string) => Promise<void>;
  readonly onFailure: (failure: Failure) => void;
}

const NAD_FIELD_MANAGER = 'clustermanager-nad-controller';

export class IdentityController {
  readonly queue: WorkQueue;
  readonly #options: IdentityControllerOptions;
  readonly #readings = new WeakMap<NetworkAttachmentDefinition, NadReading>();
  /** What was reported of a NAD, by its key; the same problem is reported once. */
  readonly #reported = new Map<string, string>();
  readonly #problems = new Map<string, string>();
  /** NADs of ours that can't be read, with the reason. */
  readonly #unreadable = new Map<string, string>();
  /** NADs that came when their namespace had as many networks as it may, with what to do. */
  readonly #beyondLimit = new Map<string, string>();

  constructor(options: IdentityControllerOptions) {
    this.#options = options;
    this.queue = new WorkQueue({
      reconcile: (key, signal) => this.#reconcile(key, signal),
      onFailure: options.onFailure,
      parallelism: WRITERS,
      clock: options.clock,
    });
  }

  /** NADs that don't count, with the reason. */
  problems(): ReadonlyMap<string, string> {
    return this.#problems;
  }

  /** Reads the NADs that are there, in turns: those that are still the same when they are adopted cost nothing then. */
  async readAhead(): Promise<void> {
    for (const nad of this.#options.informers.nads.list()) {
      await ownTurn();
      this.#read(nad);
    }
  }

  /** Objects of an informer are never changed: each is read once. */
  #read(nad: NetworkAttachmentDefinition): NadReading {
    const reading = this.#readings.get(nad) ?? readNad(nad, this.#options.settings.cluster);
    this.#readings.set(nad, reading);
    return reading;
  }

  /** Reads every NAD and adopts what they carry, before anything is allocated. */
  adopt(): void {
    const { informers, registry, log } = this.#options;
    // Those that have been served count before those that came meanwhile.
    const [served = [], fresh = []] = [true, false].map((isServed) =>
      oldestFirst(
        informers.nads.list().filter((nad) => (networkId(nad).value !== undefined) === isServed),
      ),
    );
    for (const nad of [...served, ...fresh]) this.#observe({ before: undefined, after: nad });
    for (const [nad, error] of registry.adopt())
      log.warn(
        { nad, error },
        'network id of the annotation can’t be kept, the network gets another one',
      );
  }

  /** Follows the NADs from now on. */
  follow(): void {
    const { informers, registry } = this.#options;
    const [waiting, served] = [registry.nads(), new Set<string>()];
    for (const { config } of waiting)
      if (!served.has(config.name)) {
        served.add(config.name);
        this.wake([config.name]);
      }
    informers.nads.onChange((change) => {
      this.wake(this.#observe(change));
      this.queue.add(`nad/${change.key}`);
      if (change.after === undefined)
        this.#admitWaiting(change.key.slice(0, change.key.indexOf('/')));
    });
    for (const key of this.#beyondLimit.keys()) this.queue.add(`nad/${key}`);
  }

  /** A namespace has room for networks again. */
  #admitWaiting(namespace: string): void {
    const { informers } = this.#options;
    const waiting = [...this.#beyondLimit.keys()]
      .filter((key) => key.startsWith(`${namespace}/`))
      .map((key) => informers.nads.get(key))
      .filter((nad) => nad !== undefined);
    for (const nad of oldestFirst(waiting)) {
      this.wake(this.#observe({ before: nad, after: nad }));
      this.queue.add(`nad/${objectKey(nad.metadata)}`);
    }
  }

  wake(networks: Iterable<string>): void {
    for (const name of networks) this.queue.add(`network/${name}`);
  }

  /** Networks that could not be served get another chance, e.g. because one was deleted. */
  retryRefused(): void {
    for (const nad of this.#problems.keys()) {
      const name = this.#options.registry.nad(nad)?.config.name;
      if (name !== undefined) this.wake([name]);
    }
  }

  /** Brings the registry up to date; returns the networks that are affected. */
  #observe({
    before,
    after,
  }: Pick<Change<NetworkAttachmentDefinition>, 'before' | 'after'>): readonly string[] {
    const { registry, settings } = this.#options;
    const nad = after ?? before;
    if (nad === undefined) return [];
    const { name, namespace = '', uid } = nad.metadata;
    const key = `${namespace}/${name}`;
    const read = after === undefined ? undefined : this.#read(after);
    if (read?.kind === 'invalid') this.#unreadable.set(key, read.error);
    else this.#unreadable.delete(key);
    const stoodFor =
      read?.kind === 'invalid' ? after?.metadata.annotations?.[NETWORK_NAME] : undefined;
    // Nobody holds the allocations of a network that was never theirs.
    const isTheirs = stoodFor !== undefined && nameRefusal(stoodFor, nad.metadata) === undefined;
    const unreadable = registry.markUnreadable(key, isTheirs ? stoodFor : undefined);
    const found = read?.kind === 'network' ? read.nad : undefined;
    const isNew = found?.networkId === undefined && registry.nad(key) === undefined;
    const excess = found && isNew ? overLimit(namespace, { registry, ...settings }) : undefined;
    if (excess === undefined) this.#beyondLimit.delete(key);
    else this.#beyondLimit.set(key, excess.message);
    const counting = excess === undefined ? found : undefined;
    const affected = registry.observe(key, uid, read?.kind === 'other' ? 'other' : counting);
    return [...affected, ...unreadable];
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const slash = key.indexOf('/');
    const name = key.slice(slash + 1);
    if (key.slice(0, slash) === 'nad') await this.#checkNad(name);
    else await this.#serve(name, signal);
  }

  /** Reports a NAD of ours that can't be read, or is one too many. */
  async #checkNad(key: string): Promise<void> {
    const excess = this.#beyondLimit.get(key);
    const error = this.#unreadable.get(key);
    if (excess !== undefined) await this.#emitEvent(key, excess, excess, LIMIT_REACHED);
    else if (error !== undefined)
      await this.#emitEvent(key, error, `Failed to parse network config: ${error}`);
    else if (this.#options.registry.nad(key) === undefined) this.#forget(key);
  }

  async #serve(name: string, signal: AbortSignal): Promise<void> {
    const { registry, onNetwork } = this.#options;
    const network = registry.network(name);
    for (const [nad, why] of registry.refusedNads(name)) {
      await this.#emitEvent(nad, why);
      await this.#withdrawAnnotations(nad, signal);
    }
    if (network === undefined) {
      if (registry.release(name)) this.retryRefused();
      await onNetwork(name);
      return;
    }
    // Its first NAD is about to be created: nobody may count with a network that may yet come to nothing.
    if (network.nads.every(({ key }) => registry.isReserved(key))) return;
    const identity = await this.#identify(name);
    // One that can't be written keeps no other from it.
    const failures =
      identity === undefined
        ? []
        : await inParallel(WRITERS, network.nads, ({ key }) =>
            this.#annotate(key, identityAnnotations(name, identity), signal),
          );
    // Writes of many networks may be answered at once, and each of these means work for all nodes.
    await ownTurn();
    await onNetwork(name);
    if (failures[0] !== undefined) throw failures[0].error;
  }

  async #identify(name: string): Promise<ReturnType<NetworkRegistry['identify']> | undefined> {
    const { registry } = this.#options;
    const network = registry.network(name);
    if (network === undefined) return undefined;
    try {
      const identity = registry.identify(name, network.config);
      for (const { key } of network.nads) this.#forget(key);
      return identity;
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      const { message } = error;
      for (const { key } of network.nads)
        await this.#emitEvent(key, message, message, 'NetworkAllocationFailed');
      return undefined;
    }
  }

  async #annotate(
    key: string,
    wanted: Readonly<Record<string, string | null>>,
    signal: AbortSignal,
  ): Promise<void> {
    const current = this.#options.informers.nads.get(key);
    // A NAD that we have just created carries its identity; the informer will show it.
    if (current === undefined) return;
    const before = current.metadata.annotations ?? {};
    const changed = Object.entries(wanted).filter(
      ([name, value]) => (before[name] ?? null) !== value,
    );
    if (changed.length > 0) await this.#patch(key, Object.fromEntries(changed), signal);
  }

  /** A NAD that doesn't count must not be taken for a network by the nodes. */
  async #withdrawAnnotations(key: string, signal: AbortSignal): Promise<void> {
    const nad = this.#options.informers.nads.get(key);
    const present = [NETWORK_NAME, NETWORK_ID, TUNNEL_KEYS, ON_DEMAND].filter(
      (name) => nad?.metadata.annotations?.[name] !== undefined,
    );
    if (present.length > 0)
      await this.#patch(key, Object.fromEntries(present.map((name) => [name, null])), signal);
  }

  async #patch(
    key: string,
    annotations: Readonly<Record<string, string | null>>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.#options.store.patch(
        networkAttachmentDefinitions,
        key,
        { metadata: { annotations } },
        { fieldManager: NAD_FIELD_MANAGER, signal },
      );
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'not-found') throw error;
    }
  }

  async #emitEvent(
    key: string,
    problem: string,
    message = problem,
    reason = 'InvalidConfig',
  ): Promise<void> {
    const { informers, store, log } = this.#options;
    this.#problems.set(key, problem);
    const nad = informers.nads.get(key);
    if (nad === undefined || this.#reported.get(key) === problem) return;
    this.#reported.set(key, problem);
    log.warn({ nad: key, error: problem }, 'NAD can’t be used');
    await store.event({ regarding: nad, type: 'Warning', reason, message });
  }

  #forget(key: string): void {
    this.#reported.delete(key);
    this.#problems.delete(key);
  }
}
