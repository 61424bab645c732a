/** Who allocates for a zone: the cluster manager of this process, where there is one and it leads, and the addresses of the node's own pods. */
import type { NodePodAddresses } from '../addresses/node-pod-addresses.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import type { ClusterManager } from '../cluster/manager.ts';
import type { Logger } from '../process/logger.ts';
import type { ObjectEvent } from '../store/store.ts';
import { orGiveUp, TimedOutError, until } from '../process/waiting.ts';

export interface ZoneAllocationsOptions {
  readonly node: string;
  /** Makes the manager of this process; absent where another process is that. */
  readonly makeManager: (() => ClusterManager) | undefined;
  readonly podAddresses: NodePodAddresses | undefined;
  /** How many allocations are missing. */
  readonly pending: () => number;
  /** Throws what ended a part of the process. */
  readonly throwFailure: () => void;
  readonly log: Logger;
}

/** Milliseconds without any allocation of the process that leads, after which a node goes on without what is missing. */
const ALLOCATION_TIMEOUT = 5000;

export class ZoneAllocations {
  readonly #options: ZoneAllocationsOptions;
  #manager: ClusterManager | undefined;

  constructor(options: ZoneAllocationsOptions) {
    this.#options = options;
    this.#manager = options.makeManager?.();
  }

  /** What goes on until `signal` aborts; each rejects with what ended it before. */
  run(signal: AbortSignal): readonly Promise<void>[] {
    const { makeManager, podAddresses } = this.#options;
    return [
      ...(makeManager === undefined ? [] : [this.#runManager(makeManager, signal)]),
      ...(podAddresses === undefined ? [] : [this.#runPodAddresses(podAddresses, signal)]),
    ];
  }

  /** Waits until all that can be allocated is; a problem of one object is not waited for. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    const { podAddresses, node } = this.#options;
    if (this.#manager !== undefined) await this.#isAllocated(this.#manager, signal);
    if (podAddresses === undefined) return;
    await orGiveUp(
      podAddresses.caughtUp(signal),
      signal,
      `the addresses of the pods of node ${node}`,
    );
    // Endpoints of services follow from these addresses.
    if (this.#manager !== undefined) await this.#isAllocated(this.#manager, signal);
  }

  /** Takes an event to be written, by who writes those of this node's pods. */
  emit(event: ObjectEvent): void {
    this.#options.podAddresses?.emit(event);
  }

  problems(): readonly ZoneProblem[] {
    return [
      ...(this.#manager?.problems() ?? []),
      ...(this.#options.podAddresses?.problems() ?? []),
    ];
  }

  /** Whether our manager makes the allocations: it leads, or another process is known to. */
  async #leads(manager: ClusterManager, signal: AbortSignal): Promise<boolean> {
    const { throwFailure } = this.#options;
    await until(
      () => {
        throwFailure();
        return manager.isLeading || manager.isWaitingToLead;
      },
      signal,
      'the cluster manager of this process to lead, or another one',
    );
    return manager.isLeading;
  }

  /** The manager competes for leadership again when it lost it: somebody has to allocate for later networks. */
  async #runManager(make: () => ClusterManager, signal: AbortSignal): Promise<void> {
    for (;;) {
      const manager = this.#manager ?? make();
      this.#manager = manager;
      const reason = await manager.run();
      if (signal.aborted) return;
      this.#options.log.warn({ component: 'cluster', reason }, 'leadership was lost; trying again');
      this.#manager = undefined;
    }
  }

  /** Starts after the first reconcile of networks, however long that takes: before it every pod would be reported as one without networks. */
  async #runPodAddresses(addresses: NodePodAddresses, signal: AbortSignal): Promise<void> {
    if (this.#manager !== undefined && (await this.#leads(this.#manager, signal)))
      // Once it lost the lead another process does that. What else ended it is reported by who runs it.
      await this.#manager.caughtUp(signal).catch(() => undefined);
    if (!signal.aborted) await addresses.run();
  }

  async #isAllocated(manager: ClusterManager, signal: AbortSignal): Promise<void> {
    if (!(await this.#leads(manager, signal)) && !(await this.#isDoneByOthers(manager, signal)))
      return;
    if (manager.isLeading)
      await orGiveUp(manager.caughtUp(signal), signal, 'the cluster manager to allocate');
  }

  /**
   * Another process is the cluster manager: its allocations are awaited, not made. An object that gets none harms itself alone: it is reported
   * as waiting, everything else goes on. False when that is so.
   */
  async #isDoneByOthers(manager: ClusterManager, signal: AbortSignal): Promise<boolean> {
    const { pending } = this.#options;
    for (let before = Infinity; ;) {
      const missing = pending();
      if (missing === 0 || manager.isLeading) return true;
      if (missing >= before) return false;
      before = missing;
      const limit = AbortSignal.any([signal, AbortSignal.timeout(ALLOCATION_TIMEOUT)]);
      await until(
        () => pending() < missing || manager.isLeading,
        limit,
        'allocations by the cluster manager that leads',
      ).catch((error: unknown) => {
        if (signal.aborted || !(error instanceof TimedOutError)) throw error;
      });
    }
  }
}
