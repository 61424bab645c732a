/** From networks that a user applies to what is wanted: NADs, node subnets, Northbound rows. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import {
  networkAttachmentDefinitions,
  nodes as nodeKind,
  userDefinedNetworks,
} from '../../src/api/kinds.ts';
import { networkId } from '../../src/api/annotations/network-annotations.ts';
import { nodeSubnets } from '../../src/api/annotations/node-annotations.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import { KubernetesStore } from '../../src/store/kubernetes/kubernetes-store.ts';
import { ManifestStore } from '../../src/store/manifests/manifest-store.ts';
import { objectRules } from '../../src/store/object-rules.ts';
import type { Store } from '../../src/store/store.ts';
import type { OvsdbClient } from 'ovsdb-client-ts';
import { apply, layer3, namespace, node, startManager } from '../support/cluster/cluster.ts';
import { command, type RunningCommand } from '../support/run/heddle.ts';
import { startKubeApi, type KubeApi } from '../support/cluster/kube-api.ts';
import { servedDefinitions } from '../support/cluster/served-definitions.ts';
import { temporaryFolder } from '../support/ovsdb/ovsdb-server.ts';
import { until } from '../support/run/until.ts';
import { timed, type Benchmark, type Figure } from './benchmark.ts';
import { loadedClient, northboundServer } from './fill.ts';

interface Size {
  readonly networks: number;
  readonly nodes: number;
}

const LIMIT = 180_000;
/** Node daemons are started for so many nodes at most; the others are remote to them. */
const MOST_ZONES = 3;

export const tenant = (k: number): readonly KubeObject[] => [
  namespace(`t${k}`),
  layer3(`t${k}/net`, '10.100.0.0/16/24'),
];
const tenants = (first: number, count: number): readonly KubeObject[] =>
  Array.from({ length: count }, (_, k) => tenant(first + k)).flat();

/** A node with all that its own daemon would say of it. */
function readyNode(index: number): KubeObject {
  const address = `172.18.${Math.floor(index / 200)}.${10 + (index % 200)}`;
  const hex = (value: number): string => value.toString(16).padStart(2, '0');
  const gateway = {
    mode: 'shared',
    'bridge-id': 'br-ex',
    'interface-id': `br-ex_n${index}`,
    'mac-address': `0a:58:ac:12:${hex(Math.floor(index / 200))}:${hex(10 + (index % 200))}`,
    'ip-addresses': [`${address}/16`],
    'next-hops': ['172.18.255.1'],
    'node-port-enable': 'true',
    'vlan-id': '0',
  };
  return node(`n${index}`, {
    'k8s.ovn.org/node-chassis-id': `c${index}`,
    'k8s.ovn.org/node-encap-ips': JSON.stringify([address]),
    'k8s.ovn.org/node-primary-ifaddr': JSON.stringify({ ipv4: `${address}/16` }),
    'k8s.ovn.org/host-cidrs': JSON.stringify([`${address}/16`]),
    'k8s.ovn.org/l3-gateway-config': JSON.stringify({ default: gateway }),
  });
}

export const readyNodes = (count: number): readonly KubeObject[] =>
  Array.from({ length: count }, (_, index) => readyNode(index + 1));

/** True when `networks` NADs have an id, and every node a subnet of each and of the default network. */
async function isAllocated(store: Store, { networks, nodes }: Size): Promise<boolean> {
  const nads = await store.list(networkAttachmentDefinitions);
  const list = await store.list(nodeKind);
  return (
    nads.filter((nad) => networkId(nad).value !== undefined).length === networks &&
    list.length === nodes &&
    list.every((one) => nodeSubnets(one).value?.size === networks + 1)
  );
}

async function onManifests(
  { networks, nodes }: Size,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  using folder = temporaryFolder();
  using state = temporaryFolder();
  const write = (name: string, objects: readonly KubeObject[]): Promise<void> =>
    writeFile(
      join(folder.path, name),
      objects.map((object) => stringify(object, { aliasDuplicateObjects: false })).join('---\n'),
    );
  await write('nodes.yaml', readyNodes(nodes));
  const store = await ManifestStore.open({
    manifests: folder.path,
    state: state.path,
    rules: objectRules,
  });
  try {
    await using running = startManager(store);
    const settled = (size: Size): Promise<void> =>
      until('allocations', () => isAllocated(store, size), LIMIT);
    await settled({ networks: 0, nodes });
    progress(`${nodes} nodes are there`);
    const [, wall] = await timed(async () => {
      await write('networks.yaml', tenants(0, networks));
      await settled({ networks, nodes });
    });
    await running.settled();
    const problems = running.manager.problems();
    if (problems.length > 0) throw new Error(JSON.stringify(problems.slice(0, 3)));
    return [{ name: 'file written to NADs and node subnets', value: wall, unit: 'ms' }];
  } finally {
    await store.close();
  }
}

/** One request after the other, as `kubectl apply` sends them, or as many at a time as there are. */
type Pace = 'sequential' | 'concurrent';

/** What a user's program does: objects of one namespace follow each other, over connections that stay. */
async function applyTenants(store: Store, size: Size, pace: Pace): Promise<void> {
  if (pace === 'sequential') await apply(store, ...tenants(1, size.networks));
  else
    await Promise.all(
      Array.from({ length: size.networks }, (_, k) => apply(store, ...tenant(k + 1))),
    );
}

/** Processor time of processes so far, in milliseconds (`/proc/PID/stat`, 100 ticks a second). */
function processorTimeOf(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((a, b) => a + b, 0) * 10;
}

/** How often anything was written so far: the API server counts. */
async function writesSoFar(api: KubeApi): Promise<number> {
  const { body } = await api.call('GET', '/api/v1/namespaces?limit=1');
  return Number((body as { metadata: { resourceVersion: string } }).metadata.resourceVersion);
}

const rowCount = ({ replica }: OvsdbClient): number =>
  ['Logical_Switch', 'Logical_Switch_Port', 'Logical_Router_Port', 'Logical_Router_Static_Route']
    .map((table) => replica.size(table))
    .reduce((a, b) => a + b, 0);

/** Row counts once they have not changed for a second. */
async function stableCounts(clients: readonly OvsdbClient[]): Promise<readonly number[]> {
  let before: readonly number[] = [];
  for (;;) {
    const now = clients.map(rowCount);
    if (now.every((count, index) => count > 0 && count === before[index])) return now;
    before = now;
    await pause(1000);
  }
}

async function onKubernetes(
  size: Size,
  pace: Pace,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  const { networks, nodes } = size;
  const api = await startKubeApi();
  if (typeof api === 'string') {
    progress(`not measured: ${api}`);
    return [];
  }
  await using cleanup = new AsyncDisposableStack();
  cleanup.use(api);
  await api.install(servedDefinitions);
  const user = new KubernetesStore({ connection: api.connection });
  cleanup.defer(() => user.close());
  await apply(user, ...readyNodes(nodes));
  const common = [
    `--kubeconfig=${api.kubeconfig}`,
    '--metrics-bind-address=127.0.0.1:0',
    '--log-level=warn',
  ];
  const manager = cleanup.use(command('cluster', ...common));
  const clients: OvsdbClient[] = [];
  const daemons: RunningCommand[] = [];
  for (let index = 1; index <= Math.min(nodes, MOST_ZONES); index += 1) {
    const server = cleanup.use(await northboundServer());
    clients.push(cleanup.use(await loadedClient(server)));
    daemons.push(
      cleanup.use(
        // No pod uses the networks: everywhere, they are rendered all the same.
        command(
          'node',
          ...common,
          `--node=n${index}`,
          '--socket=none',
          '--render=everywhere',
          `--nb=${server.remote}`,
        ),
      ),
    );
  }
  // What one network takes is seen at the first one; the others are alike.
  const without = await stableCounts(clients);
  await apply(user, ...tenant(0));
  await until('the first network', () => clients.every((c, i) => rowCount(c) > (without[i] ?? 0)));
  const withOne = await stableCounts(clients);
  progress(`rows: ${without.join(' ')} without, ${withOne.join(' ')} with one network`);
  const wanted = withOne.map((count, index) => count + networks * (count - (without[index] ?? 0)));
  const processes = {
    'the manager': [manager.pid],
    'a node daemon': daemons.map(({ pid }) => pid),
    'API server and etcd': await api.pids(),
  };
  const spent = (): number[] => Object.values(processes).map(processorTimeOf);
  const [usedBefore, writesBefore] = [spent(), await writesSoFar(api)];
  const [applied, wall] = await timed(async () => {
    const [, duration] = await timed(() => applyTenants(user, size, pace));
    await until(
      `${wanted.join(' ')} Northbound rows`,
      () => clients.every((client, index) => rowCount(client) === wanted[index]),
      LIMIT,
    );
    return duration;
  });
  await statusesWritten(user, networks);
  const [usedAfter, writes] = [spent(), (await writesSoFar(api)) - writesBefore];
  const [first] = await user.list(nodeKind);
  const carried = JSON.stringify(first?.metadata.annotations ?? {}).length;
  return [
    { name: 'the requests of the user alone', value: applied, unit: 'ms' },
    {
      name: 'first request to settled Northbound',
      value: wall,
      unit: 'ms',
      floor: applied,
      ...goals[`${networks}x${nodes}`],
    },
    {
      name: 'writes of ours per network',
      value: (writes - 2 * networks) / networks,
      unit: 'writes',
    },
    ...Object.entries(processes).map(([name, pids], index): Figure => ({
      name: `processor time of ${name}`,
      value:
        ((usedAfter[index] ?? 0) - (usedBefore[index] ?? 0)) /
        (name === 'a node daemon' ? pids.length : 1),
      unit: 'ms',
    })),
    { name: 'annotations of a node', value: carried / 1000, unit: 'kB' },
  ];
}

/** Resolves when every network says that it was created, and nothing has been written for a while. */
async function statusesWritten(store: Store, networks: number): Promise<void> {
  const isReported = async (): Promise<boolean> =>
    (await store.list(userDefinedNetworks)).filter((one) =>
      one.status?.conditions?.some(
        ({ type, status }) => type === 'NetworkCreated' && status === 'True',
      ),
    ).length ===
    networks + 1;
  await until('statuses', isReported, LIMIT);
  await pause(2000);
}

/** What ovn-kubernetes takes on such a machine. */
const goals: Readonly<Record<string, { readonly goal: number }>> = {
  '50x3': { goal: 4000 },
  '10x50': { goal: 10_000 },
};

const SIZES: readonly Size[] = [
  { networks: 50, nodes: 3 },
  { networks: 10, nodes: 50 },
  { networks: 50, nodes: 50 },
];

export const benchmarks: readonly Benchmark[] = SIZES.flatMap((size): readonly Benchmark[] => {
  const title = `${size.networks} Layer3 networks on ${size.nodes} nodes`;
  const name = `${size.networks}x${size.nodes}`;
  return [
    {
      name: `converge-manifests-${name}`,
      title: `${title}: manifests to NADs and node subnets`,
      run: (progress) => onManifests(size, progress),
    },
    ...(['sequential', 'concurrent'] as const).map((pace): Benchmark => {
      const how = pace === 'sequential' ? 'one request after the other' : 'all at once';
      return {
        name: `converge-kubernetes-${name}-${pace}`,
        title: `${title}, ${how}: a Kubernetes API server to settled Northbound databases of up to ${MOST_ZONES} zones, all processes on this machine`,
        run: (progress) => onKubernetes(size, pace, progress),
      };
    }),
  ];
});
