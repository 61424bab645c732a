import { ClusterManager } from '../../../src/cluster/manager.ts';
import { NodePodAddresses } from '../../../src/addresses/node-pod-addresses.ts';
import { resourceKinds } from '../../../src/api/kinds.ts';
import { Informers } from '../../../src/store/informers.ts';
import type { Store } from '../../../src/store/store.ts';
import { silent, testSettings } from './cluster.ts';
import { crashingStore } from './crashing-store.ts';
import { leaseLossStore } from './lease-loss-store.ts';
import { nadsOf } from './nads-of.ts';
import { ZoneOfProcess } from './zone-of-process.ts';
import type { MemoryDatabase } from '../ovsdb/memory-database.ts';

export interface Life {
  /** Writes after which the process is killed; undefined = it lives on. */
  readonly writes?: number;
  readonly isLastDone?: boolean;
  /** Leadership is lost at the last write, and the process lives on. */
  readonly losesLease?: boolean;
}

/** The manager and the pod addresses of some nodes, in one process that may be killed. */
export interface ClusterProcess extends AsyncDisposable {
  /** True while its manager leads. */
  isLeading(): boolean;
  /** Resolves when leadership has been taken away. */
  readonly lost: Promise<void>;
  /** Resolves when all is done, or when the process has been killed. */
  settled(): Promise<void>;
  problems(): readonly string[];
}

/** Each is a candidate of its own for leadership. */
let processes = 0;

export function startProcess(
  store: Store,
  nodes: readonly string[],
  { writes, isLastDone = false, losesLease = false }: Life = {},
  databases: ReadonlyMap<string, MemoryDatabase> = new Map(),
): ClusterProcess {
  const controller = new AbortController();
  const { signal } = controller;
  const lost = Promise.withResolvers<void>();
  let isLost = false;
  const onLost = (): void => {
    isLost = true;
    lost.resolve();
  };
  const onCrash = (): void => controller.abort(new Error('killed'));
  const losing = (count: number): Store =>
    losesLease
      ? leaseLossStore(store, { writes: count, onLost })
      : crashingStore(store, { writes: count, isLastDone, onCrash });
  const used = writes === undefined ? store : losing(writes);
  const informers = new Informers({ store: used, log: silent });
  const registry = nadsOf(informers);
  const manager = new ClusterManager({
    store: used,
    informers,
    settings: { ...testSettings, identity: `test-${(processes += 1)}` },
    log: silent,
    signal,
  });
  const onNodes = nodes.map(
    (node) =>
      new NodePodAddresses({
        informers,
        node,
        registry,
        settings: testSettings.cluster,
        log: silent,
        signal,
      }),
  );
  const zones = [...databases].map(
    ([node, northbound]) =>
      new ZoneOfProcess({
        node,
        northbound,
        informers,
        signal,
        // There are far fewer of them than of writes into objects.
        transactions: writes === undefined ? Infinity : 1 + (writes % 5),
        isLastDone,
        onCrash,
      }),
  );
  const parts = [manager, ...onNodes];
  const runs = [informers.run(signal), ...parts.map((part) => part.run())];
  return {
    isLeading: () => manager.isLeading,
    lost: lost.promise,
    async settled() {
      // Each may wait for what another one writes.
      for (let round = 0; round < 3; round += 1)
        for (const part of parts)
          try {
            await part.started;
            await informers.refresh(resourceKinds, signal);
            await part.caughtUp();
          } catch (error) {
            if (!signal.aborted && !isLost) throw error;
          }
      for (const zone of zones) await zone.settled();
    },
    problems: () =>
      [
        ...parts
          .flatMap((part) => part.problems())
          .map(({ object, message }) => `${object}: ${message}`),
        ...zones.flatMap((zone) => zone.problems()),
      ].toSorted(),
    async [Symbol.asyncDispose]() {
      controller.abort(new Error('stopped'));
      await Promise.all(runs);
      for (const zone of zones) zone[Symbol.dispose]();
    },
  };
}
