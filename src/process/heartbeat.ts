/** Says again and again that this daemon is there (src/api/node-lease.ts), until it ends. */
import {
  LEASES,
  microTime,
  NODE_LEASE_NAMESPACE,
  nodeLeaseName,
  type Lease,
} from '../api/node-lease.ts';
import { pause, systemClock, type Clock } from '../store/clock.ts';
import { StoreError, type Store } from '../store/store.ts';
import type { Logger } from './logger.ts';
import { errorText, faultStack } from '../api/error-text.ts';

/** Milliseconds. */
export interface HeartbeatTiming {
  readonly interval: number;
  /** A daemon that has not renewed for this long is taken for gone. */
  readonly duration: number;
}

/** As the kubelet renews the lease of its node: what an API server is known to bear from thousands of nodes. */
export const CLUSTER_HEARTBEAT: HeartbeatTiming = { interval: 10_000, duration: 40_000 };

/** In a state directory a renewal is one small file. */
export const LOCAL_HEARTBEAT: HeartbeatTiming = { interval: 5000, duration: 20_000 };

/** Milliseconds until it is looked again whether there is something to say. */
const WAIT = 1000;

/** Milliseconds that the last word may take when the daemon ends. */
const FAREWELL = 2000;

export interface HeartbeatOptions {
  readonly store: Pick<Store, 'create' | 'patch'>;
  readonly node: string;
  /** Of the Node object, with which the lease goes; undefined while there is none, or while this process keeps nothing: then nothing is written. */
  readonly nodeUid: () => string | undefined;
  /** Who this process is among those that were daemons of the node. */
  readonly identity: string;
  readonly timing: HeartbeatTiming;
  readonly log: Logger;
  readonly clock?: Clock;
}

class HeartbeatWriter {
  readonly #options: HeartbeatOptions;
  readonly #clock: Clock;
  #version: string | undefined;
  #complaint: string | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const uid = this.#options.nodeUid();
      if (uid !== undefined) await this.#try(() => this.#beat(uid, signal), signal);
      await pause(this.#clock, uid === undefined ? WAIT : this.#options.timing.interval, signal);
    }
  }

  /** Says that nobody keeps the zone any more, unless another process does by now. */
  async farewell(): Promise<void> {
    if (this.#version === undefined) return;
    const limit = new AbortController();
    const cancel = this.#clock.after(FAREWELL, () => limit.abort());
    const { store, identity: fieldManager } = this.#options;
    const spec = { holderIdentity: '', renewTime: microTime(this.#clock.now()) };
    await store
      .patch(
        LEASES,
        this.#key,
        { spec },
        { fieldManager, resourceVersion: this.#version, signal: limit.signal },
      )
      .catch(() => undefined); // it is taken for gone a little later
    cancel();
  }

  get #key(): string {
    return `${NODE_LEASE_NAMESPACE}/${nodeLeaseName(this.#options.node)}`;
  }

  async #beat(uid: string, signal: AbortSignal): Promise<void> {
    const { store, node, identity, timing } = this.#options;
    const spec: Lease['spec'] = {
      holderIdentity: identity,
      leaseDurationSeconds: timing.duration / 1000,
      renewTime: microTime(this.#clock.now()),
    };
    const options = { fieldManager: identity, signal };
    const written = await store
      .patch(LEASES, this.#key, { spec }, options)
      .catch(async (error: unknown) => {
        if (!(error instanceof StoreError && error.code === 'not-found')) throw error;
        const { apiVersion, kind } = LEASES;
        const metadata = {
          name: nodeLeaseName(node),
          namespace: NODE_LEASE_NAMESPACE,
          ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node, uid }],
        };
        return store.create(LEASES, { apiVersion, kind, metadata, spec }, options);
      });
    this.#version = written.metadata.resourceVersion;
  }

  /** What keeps it from being written is logged once, not at each attempt. */
  async #try(beat: () => Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await beat();
      this.#complaint = undefined;
    } catch (error) {
      const text = errorText(error);
      if (!signal.aborted && text !== this.#complaint)
        this.#options.log.warn(
          { component: 'heartbeat', stack: faultStack(error) },
          `heartbeat not written: ${text}`,
        );
      this.#complaint = text;
    }
  }
}

/** Begins; what is returned ends it, and says so. */
export function startHeartbeat(options: HeartbeatOptions): AsyncDisposable {
  const writer = new HeartbeatWriter(options);
  const stop = new AbortController();
  const running = writer.run(stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await writer.farewell();
    },
  };
}
