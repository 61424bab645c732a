/** The part of address management that a node's daemon runs: its own pods, from its own subnets. */
import { orAborted } from '../store/abort.ts';
import type { NadRegistry } from '../api/nad/nad-registry.ts';
import { systemClock, type Clock } from '../store/clock.ts';
import type { Informers } from '../store/informers.ts';
import type { ClusterSettings } from '../model/model.ts';
import type { ObjectEvent } from '../store/store.ts';
import { EventWriter, objectOfEvent, type DropLimit } from '../store/event-writer.ts';
import { PodInformers } from './pod-informers.ts';
import { PodAddresses } from './pod-addresses.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import type { Log } from '../store/log.ts';
import type { PodTraces } from '../traces/pod-traces.ts';
import { caughtUp } from '../store/caught-up.ts';

export interface NodePodAddressesOptions {
  /** Of the daemon, which runs them. */
  readonly informers: Informers;
  readonly node: string;
  /** The NADs of the daemon, kept by the intake of its zone. */
  readonly registry: NadRegistry;
  readonly settings: ClusterSettings;
  readonly log: Log;
  readonly clock?: Clock;
  readonly randomBytes?: (count: number) => Uint8Array;
  readonly onEventDropped?: (limit: DropLimit) => void;
  /** Where spans of allocations go, if anywhere. */
  readonly traces?: PodTraces;
  /** Stops it. */
  readonly signal: AbortSignal;
}

export class NodePodAddresses {
  readonly #options: NodePodAddressesOptions;
  readonly #views: PodInformers;
  readonly #addresses: PodAddresses;
  readonly #events: EventWriter;
  readonly #started = Promise.withResolvers<void>();

  constructor(options: NodePodAddressesOptions) {
    this.#options = options;
    const { settings, log, node, registry, clock = systemClock, randomBytes } = options;
    const { store } = options.informers;
    this.#views = new PodInformers(options.informers, options.signal);
    this.#events = new EventWriter({
      store,
      clock,
      log,
      onDropped: (limit) => options.onEventDropped?.(limit),
      onFailure: ({ key, error, attempt }) => {
        log.warn({ object: objectOfEvent(key), error, attempt }, 'event not written yet');
      },
    });
    this.#addresses = new PodAddresses({
      store: {
        get: (kind, key, until) => store.get(kind, key, until),
        patchStatus: (kind, key, patch, write) => store.patchStatus(kind, key, patch, write),
        event: async (event) => this.#events.emit(event),
      },
      informers: this.#views,
      registry,
      scope: { kind: 'node', node },
      settings,
      clock,
      log,
      onFailure: ({ key, error, attempt }) => {
        log.warn({ pod: key, error, attempt }, 'not reconciled, will be tried again');
      },
      ...(randomBytes === undefined ? {} : { randomBytes }),
      ...(options.traces === undefined ? {} : { traces: options.traces }),
    });
    this.#started.promise.catch(() => undefined);
  }

  /** Works until the signal aborts; resolves when everything under way has ended. */
  async run(): Promise<void> {
    const { informers, signal } = this.#options;
    try {
      await informers.synced(this.#views.kinds, signal);
      const working = [this.#addresses, this.#events].map(({ queue }) => queue.run(signal));
      this.#addresses.follow();
      this.#started.resolve();
      await Promise.all(working);
    } catch (error) {
      this.#started.reject(error);
      if (!signal.aborted) throw error;
    }
  }

  /** Resolves when the informers are read and the pods are followed. */
  get started(): Promise<void> {
    return this.#started.promise;
  }

  /** Resolves when the node's pods have what can be given for what the informers show, and they show it. */
  async caughtUp(signal: AbortSignal = this.#options.signal): Promise<void> {
    await orAborted(this.#started.promise, signal);
    const queues = [this.#addresses.queue, this.#events.queue];
    await caughtUp({ informers: this.#options.informers, queues, signal });
  }

  /** Takes an event to be written with those of pods, within their limits. */
  emit(event: ObjectEvent): void {
    this.#events.emit(event);
  }

  problems(): readonly ZoneProblem[] {
    return [...this.#addresses.problems()].map(([pod, message]) => ({
      object: `Pod ${pod}`,
      message,
    }));
  }
}
