/** The part of address management that a node's daemon runs: its own pods, from its own subnets. */
import { systemClock, type Clock } from '../../store/clock.ts';
import type { Store } from '../../store/store.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { EventWriter, objectOfEvent } from '../status/event-writer.ts';
import { PodInformers } from '../informers.ts';
import { PodAddresses } from './pod-addresses.ts';
import type { ManagerProblem } from '../manager.ts';
import type { Log } from '../settings.ts';
import { settle } from '../settling.ts';

export interface NodePodAddressesOptions {
  readonly store: Store;
  readonly node: string;
  readonly settings: ClusterSettings;
  readonly log: Log;
  readonly clock?: Clock;
  readonly randomBytes?: (count: number) => Uint8Array;
  /** Stops it. */
  readonly signal: AbortSignal;
}

export class NodePodAddresses {
  readonly #options: NodePodAddressesOptions;
  readonly #clock: Clock;
  readonly #informers: PodInformers;
  readonly #addresses: PodAddresses;
  readonly #events: EventWriter;
  readonly #started = Promise.withResolvers<void>();

  constructor(options: NodePodAddressesOptions) {
    this.#options = options;
    const { store, settings, log, node, clock = systemClock, randomBytes } = options;
    this.#clock = clock;
    this.#informers = new PodInformers(clock, log);
    this.#events = new EventWriter({
      store,
      clock,
      log,
      onFailure: ({ key, error, attempt }) => {
        log.warn({ object: objectOfEvent(key), error, attempt }, 'event not written yet');
      },
    });
    this.#addresses = new PodAddresses({
      store: {
        patchStatus: (kind, key, patch, write) => store.patchStatus(kind, key, patch, write),
        event: async (event) => this.#events.tell(event),
      },
      informers: this.#informers,
      scope: { kind: 'node', node },
      settings,
      clock,
      log,
      onFailure: ({ key, error, attempt }) => {
        log.warn({ pod: key, error, attempt }, 'not reconciled, will be tried again');
      },
      ...(randomBytes === undefined ? {} : { randomBytes }),
    });
    this.#started.promise.catch(() => undefined);
  }

  /** Works until the signal aborts; resolves when everything under way has ended. */
  async run(): Promise<void> {
    const { store, signal } = this.#options;
    try {
      const following = this.#informers.run(store, signal);
      await Promise.race([this.#informers.synced(), following]);
      if (signal.aborted) throw signal.reason;
      const working = [this.#addresses, this.#events].map(({ queue }) => queue.run(signal));
      this.#addresses.follow();
      this.#started.resolve();
      await Promise.all([following, ...working]);
    } catch (error) {
      this.#started.reject(error);
      if (!signal.aborted) throw error;
    }
  }

  /** Resolves when the node's pods have what can be given for what the store holds. */
  async settled(signal: AbortSignal = this.#options.signal): Promise<void> {
    await this.#started.promise;
    await settle({
      queues: [this.#addresses.queue, this.#events.queue],
      isIdle: () => this.#addresses.queue.size + this.#events.queue.size === 0,
      areCurrent: () => this.#informers.areCurrent(this.#options.store, signal),
      clock: this.#clock,
      signal,
    });
  }

  problems(): readonly ManagerProblem[] {
    return [...this.#addresses.problems()].map(([pod, message]) => ({
      object: `Pod ${pod}`,
      message,
    }));
  }
}
