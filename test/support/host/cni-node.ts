/** The CNI plugin of a node at work, with a host of its own; and a program that does nothing else, to be killed. */
import { dirname, join } from 'node:path';
import type { KubeObject } from '../../../src/api/objects.ts';
import { networkAttachmentDefinitions, pods } from '../../../src/api/kinds.ts';
import { CniPlugin } from '../../../src/cni/server/cni-plugin.ts';
import { serveCni } from '../../../src/cni/server/cni-socket.ts';
import { openDatabase } from '../../../src/databases/open-database.ts';
import { hostTables } from '../../../src/zone/host.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { ContainerTurns } from '../../../src/cni/server/container-turns.ts';
import { NetworkStatusWriter } from '../../../src/cni/server/network-status-writer.ts';
import { keepPodPorts } from '../../../src/cni/server/pod-port-keeper.ts';
import { FORGETTING, PodConnections } from '../../../src/cni/server/pod-connections.ts';
import { PodPorts } from '../../../src/cni/server/pod-ports.ts';
import { Conntrack } from '../../../src/node/conntrack/conntrack.ts';
import { openConntrackSocket } from '../../../src/node/linux/network-socket.ts';
import { PodLinks } from '../../../src/cni/links/pod-links.ts';
import { Informers } from '../../../src/store/informers.ts';
import { apply, silent } from '../cluster/cluster.ts';
import { HOST_SETTINGS } from './host-units.ts';
import { MemoryStore } from '../cluster/memory-store.ts';

export interface CniNodeOptions {
  /** Path of the CNI socket. */
  readonly socket: string;
  /** Remote of Open_vSwitch. */
  readonly ovs: string;
  /** Network namespace of the host, as a path. */
  readonly host: string;
  readonly objects: readonly KubeObject[];
  /** Milliseconds for one request. */
  readonly limit?: number;
}

export interface CniNode extends AsyncDisposable {
  readonly store: MemoryStore;
}

/** `conntrack`: what stands in for the host's own. */
export async function startCniNode(
  { socket, ovs, host, objects, limit }: CniNodeOptions,
  conntrack: Pick<Conntrack, 'forget' | 'forgotten'> = new Conntrack(() =>
    openConntrackSocket(host),
  ),
): Promise<CniNode> {
  const log = createLogger('silent');
  const stopping = new AbortController();
  const store = new MemoryStore();
  await apply(store, ...objects);
  const informers = new Informers({ store, log: silent });
  const [podView, nadView] = [informers.of(pods), informers.of(networkAttachmentDefinitions)];
  const running = informers.run(stopping.signal);
  await informers.synced([pods, networkAttachmentDefinitions]);
  const database = openDatabase({
    name: 'Open_vSwitch',
    flag: '--ovs',
    remotes: ovs,
    tls: {},
    tables: hostTables(HOST_SETTINGS),
    lock: 'heddle_host',
    log,
  });
  await database.ready(AbortSignal.timeout(20_000));
  const shared = {
    node: 'n1',
    pods: podView,
    nads: nadView,
    ports: new PodPorts(database),
    links: new PodLinks({ host }),
    turns: new ContainerTurns(),
    linkFactsOf: (network: string | undefined) => ({
      mtu: network === undefined ? 1400 : 1300,
      isOnUnderlay: false,
    }),
    log,
  };
  const connections = new PodConnections({
    conntrack,
    file: join(dirname(socket), FORGETTING),
    log,
  });
  void connections.resume();
  const keeper = keepPodPorts(shared, database);
  const statuses = new NetworkStatusWriter({ ...shared, store: informers.store });
  const plugin = new CniPlugin({
    ...shared,
    statuses,
    connections,
    problemsOf: (object) => (object === 'Pod blue/poor' ? ['no address is left'] : []),
    ...(limit === undefined ? {} : { limit }),
  });
  const serving = await serveCni({
    path: socket,
    answer: (text, signal) => plugin.answer(text, signal),
    log,
  });
  return {
    store,
    async [Symbol.asyncDispose]() {
      await keeper[Symbol.asyncDispose]();
      await serving[Symbol.asyncDispose]();
      await statuses[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
      stopping.abort();
      await running;
    },
  };
}

if (import.meta.main) {
  await startCniNode(JSON.parse(process.argv[2] ?? '') as CniNodeOptions);
  process.stdout.write('ready\n');
}
