/** A cluster manager with many nodes and networks, on a store in memory. */
import { namespaces, nodes, userDefinedNetworks } from '../../src/api/kinds.ts';
import { ClusterManager } from '../../src/cluster/manager.ts';
import { delegatingStore } from '../../src/store/delegating-store.ts';
import { Informers } from '../../src/store/informers.ts';
import type { Store } from '../../src/store/store.ts';
import { layer3, namespace, node, silent, testSettings } from '../support/cluster/cluster.ts';
import { MemoryStore } from '../support/cluster/memory-store.ts';

export const USER = { fieldManager: 'user' };

export interface Cluster extends AsyncDisposable {
  /** What is written through it is read back before things are settled. */
  readonly store: Store;
  /** Resolves when all that was written is dealt with. */
  settled(): Promise<void>;
  addNetworks(from: number, to: number): Promise<void>;
  addNode(index: number): Promise<void>;
  /** Ends the manager, and starts another one, with all that it has to read. */
  restart(): Promise<void>;
  /** How often the manager and the users have written. */
  writes(): number;
}

export const nodeName = (index: number): string => `node${String(index).padStart(3, '0')}`;

/** Answers each write in a turn of its own, as a server at the end of a socket does: answers in memory let no timer through. */
function answeringInTurn(store: Store): Store {
  let last = Promise.resolve();
  const inTurn = async <T>(write: () => Promise<T>): Promise<T> => {
    last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
    await last;
    return write();
  };
  return delegatingStore(store, {
    create: (kind, object, options) => inTurn(() => store.create(kind, object, options)),
    patch: (kind, key, patch, options) => inTurn(() => store.patch(kind, key, patch, options)),
    patchStatus: (kind, key, patch, options) =>
      inTurn(() => store.patchStatus(kind, key, patch, options)),
  });
}

const cluster = {
  ...testSettings.cluster,
  clusterSubnets: [{ cidr: '10.128.0.0/9', hostLength: 24 }],
};
const settings = { ...testSettings, cluster };

async function startManager(store: Store): Promise<
  AsyncDisposable & {
    readonly informers: Informers;
    settled(): Promise<void>;
  }
> {
  const informers = new Informers({ store, log: silent });
  const stop = new AbortController();
  const { signal } = stop;
  const manager = new ClusterManager({ store, informers, settings, log: silent, signal });
  const running = Promise.all([informers.run(signal), manager.run()]);
  await manager.started;
  return {
    informers,
    async settled() {
      await informers.readBack(signal);
      await manager.caughtUp();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

export async function clusterOf(networks: number, nodeCount: number): Promise<Cluster> {
  const memory = new MemoryStore();
  const store = answeringInTurn(memory);
  let manager = await startManager(store);
  const addNode = async (index: number): Promise<void> => {
    const name = nodeName(index);
    await manager.informers.store.create(
      nodes,
      node(name, { 'k8s.ovn.org/node-chassis-id': name }),
      USER,
    );
  };
  const addNetworks = async (from: number, to: number): Promise<void> => {
    const write = manager.informers.store;
    for (let index = from; index < to; index += 1) {
      await write.create(namespaces, namespace(`tenant${index}`), USER);
      await write.create(
        userDefinedNetworks,
        layer3(`tenant${index}/net`, '100.96.0.0/12/24'),
        USER,
      );
    }
    await manager.settled();
  };
  for (let index = 0; index < nodeCount; index += 1) await addNode(index);
  await manager.settled();
  await addNetworks(0, networks);
  return {
    get store() {
      return manager.informers.store;
    },
    settled: () => manager.settled(),
    addNetworks,
    addNode,
    async restart() {
      await manager[Symbol.asyncDispose]();
      manager = await startManager(store);
      await manager.settled();
    },
    writes: () => memory.writes.length,
    [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose](),
  };
}
