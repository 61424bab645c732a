/** The informers of a process → the facts of its zone. */
import { pods } from '../api/kinds.ts';
import type { NadRegistry } from '../api/nad/nad-registry.ts';
import type { ObjectKey } from '../api/objects.ts';
import type { Pod } from '../api/types.ts';
import { objectKinds } from '../model/read/object-kinds.ts';
import { ObjectIntake } from '../model/zone/intake.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import type { Informer, ObjectView } from '../store/informer.ts';
import type { Informers } from '../store/informers.ts';
import { orGiveUp } from '../process/waiting.ts';

export interface ZoneInformersOptions {
  /** Of the process, which runs them. */
  readonly informers: Informers;
  readonly facts: ZoneFacts;
  /** The informer of pods has those of this node alone. */
  readonly hasOwnPodsOnly: boolean;
  /** Called after each change that the facts took in. */
  readonly onChange: () => void;
}

/** Pods, with word of each that changes from now on. */
type ZonePods = Pick<ObjectView<Pod>, 'get' | 'keys'> & {
  onChange(handler: (change: { readonly key: ObjectKey }) => void): () => void;
};

/** How pods of other nodes are followed. */
interface OtherPodsView {
  /** Absent where one informer has the pods of all nodes. */
  readonly informer: Informer<Pod> | undefined;
  readonly stop: AbortController;
  /** Resolves when those that existed are in the facts. */
  readonly known: Promise<void>;
}

export class ZoneInformers {
  readonly #options: ZoneInformersOptions;
  readonly #intake: ObjectIntake;
  readonly #podReaders = new Set<(change: { readonly key: ObjectKey }) => void>();
  #others: OtherPodsView | undefined;

  constructor(options: ZoneInformersOptions) {
    this.#options = options;
    this.#intake = new ObjectIntake(options.facts);
    for (const { kind } of objectKinds)
      options.informers.of(kind).onChange(({ key, after }) => {
        if (kind.kind === pods.kind) this.#takePod(key);
        else this.#intake.take(kind.kind, { key, after });
        options.onChange();
      });
    options.facts.otherPods.onWanted((areWanted) => {
      if (areWanted) this.#followOtherPods();
      else this.#leaveOtherPods();
    });
  }

  /** The NADs as the zone has them. */
  get registry(): NadRegistry {
    return this.#intake.registry;
  }

  /** Pods as the zone has them: those of this node, and of other nodes while these are followed. */
  get pods(): ZonePods {
    const own = this.#options.informers.of(pods);
    return {
      get: (key) => this.#pod(key),
      keys: () => new Set([...own.keys(), ...(this.#others?.informer?.keys() ?? [])]),
      onChange: (handler) => {
        this.#podReaders.add(handler);
        return () => this.#podReaders.delete(handler);
      },
    };
  }

  /** Resolves when everything that existed at the start is known. */
  async synced(limit: number): Promise<void> {
    const kinds = objectKinds.map(({ kind }) => kind);
    await this.#options.informers.synced(kinds, undefined, limit);
    const late = AbortSignal.timeout(limit);
    if (this.#others !== undefined)
      await orGiveUp(this.#others.known, late, 'the pods of other nodes');
  }

  /** A pod is what one of both informers has of it: of one that is made anew on another node they tell in any order. */
  #takePod(key: ObjectKey): void {
    this.#intake.take(pods.kind, { key, after: this.#pod(key) });
    for (const read of this.#podReaders) read({ key });
  }

  #pod(key: ObjectKey): Pod | undefined {
    return this.#options.informers.of(pods).get(key) ?? this.#others?.informer?.get(key);
  }

  /** Where the informer of pods has those of this node alone, another one brings the rest. */
  #followOtherPods(): void {
    const { facts, informers, hasOwnPodsOnly, onChange } = this.#options;
    const stop = new AbortController();
    const selection = { otherFields: { 'spec.nodeName': facts.nodeName } };
    const informer = hasOwnPodsOnly ? informers.also(pods, selection, stop.signal) : undefined;
    const known = async (): Promise<void> => {
      await (informer ?? informers.of(pods)).whenSynced;
      if (stop.signal.aborted) return;
      facts.otherPods.known();
      onChange();
    };
    const others = { informer, stop, known: known() };
    // Who waits for it gets it; otherwise the end of the process ends it.
    others.known.catch(() => undefined);
    this.#others = others;
    const take = ({ key }: { readonly key: ObjectKey }): void => {
      this.#takePod(key);
      onChange();
    };
    if (informer !== undefined) informer.onChange(take);
    // Once more for each that the informer of all has already.
    else informers.of(pods).until(stop.signal).onChange(take);
  }

  /** Nothing depends on them any more. */
  #leaveOtherPods(): void {
    const left = this.#others;
    this.#others = undefined;
    left?.stop.abort();
    const known = left?.informer ?? this.#options.informers.of(pods);
    for (const key of known.keys()) this.#takePod(key);
  }
}
