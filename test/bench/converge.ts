/** From networks that a user applies to what is wanted: NADs, node subnets, Northbound rows. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import { definitions } from '../../src/api/catalog.ts';
import { networkAttachmentDefinitions, nodes as nodeKind } from '../../src/api/kinds.ts';
import { networkId } from '../../src/api/network-annotations.ts';
import { nodeSubnets } from '../../src/api/node-annotations.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import { ManifestStore } from '../../src/store/manifest-store.ts';
import { objectRules } from '../../src/store/object-rules.ts';
import type { Store } from '../../src/store/store.ts';
import type { OvsdbClient } from '../../src/ovsdb/index.ts';
import { layer3, namespace, node, startManager } from '../support/cluster.ts';
import { command } from '../support/heddle.ts';
import { startKubeApi, type KubeApi } from '../support/kube-api.ts';
import { temporaryFolder, until } from '../support/ovsdb-server.ts';
import { timed, type Benchmark, type Figure } from './benchmark.ts';
import { loadedClient, northboundServer } from './fill.ts';

interface Size {
  readonly networks: number;
  readonly nodes: number;
}

const LIMIT = 180_000;
/** Node daemons are started for so many nodes at most; the others are remote to them. */
const MOST_ZONES = 3;

const tenant = (k: number): readonly KubeObject[] => [
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

const readyNodes = (count: number): readonly KubeObject[] =>
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

async function post(api: KubeApi, object: KubeObject): Promise<void> {
  const { namespace: within, name } = object.metadata;
  const paths: Readonly<Record<string, string>> = {
    Node: '/api/v1/nodes',
    Namespace: '/api/v1/namespaces',
    UserDefinedNetwork: `/apis/k8s.ovn.org/v1/namespaces/${within ?? ''}/userdefinednetworks`,
  };
  const { status, body } = await api.call('POST', paths[object.kind] ?? '', object);
  if (status > 299) throw new Error(`${object.kind} ${name}: ${JSON.stringify(body)}`);
}

const rowCount = ({ replica }: OvsdbClient): number =>
  ['Logical_Switch', 'Logical_Switch_Port', 'Logical_Router_Port', 'Logical_Router_Static_Route']
    .map((table) => replica.size(table))
    .reduce((a, b) => a + b, 0);

/** Row counts once they have not changed for a second. */
async function calmCounts(clients: readonly OvsdbClient[]): Promise<readonly number[]> {
  let before: readonly number[] = [];
  for (;;) {
    const now = clients.map(rowCount);
    if (now.every((count, index) => count > 0 && count === before[index])) return now;
    before = now;
    await pause(1000);
  }
}

async function onKubernetes(
  { networks, nodes }: Size,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  const api = await startKubeApi();
  if (typeof api === 'string') {
    progress(`not measured: ${api}`);
    return [];
  }
  await using cleanup = new AsyncDisposableStack();
  cleanup.use(api);
  // Objects are written in the stored version, so nothing needs to be converted.
  await api.install(
    definitions.map(({ spec, ...rest }) => {
      const { conversion: _conversion, ...kept } = spec as typeof spec & { conversion?: unknown };
      return { ...rest, spec: kept };
    }),
  );
  for (const object of readyNodes(nodes)) await post(api, object);
  const common = [
    `--kubeconfig=${api.kubeconfig}`,
    '--metrics-bind-address=127.0.0.1:0',
    '--log-level=warn',
  ];
  cleanup.use(command('cluster', ...common, '--conversion-bind-address=127.0.0.1:0'));
  const clients: OvsdbClient[] = [];
  for (let index = 1; index <= Math.min(nodes, MOST_ZONES); index += 1) {
    const server = cleanup.use(await northboundServer());
    clients.push(cleanup.use(await loadedClient(server)));
    cleanup.use(command('node', ...common, `--node=n${index}`, `--nb=${server.remote}`));
  }
  // What one network takes is seen at the first one; the others are alike.
  const without = await calmCounts(clients);
  for (const object of tenant(0)) await post(api, object);
  await until('the first network', () => clients.every((c, i) => rowCount(c) > (without[i] ?? 0)));
  const withOne = await calmCounts(clients);
  progress(`rows: ${without.join(' ')} without, ${withOne.join(' ')} with one network`);
  const wanted = withOne.map((count, index) => count + networks * (count - (without[index] ?? 0)));
  const [applied, wall] = await timed(async () => {
    const [, duration] = await timed(async () => {
      for (const object of tenants(1, networks)) await post(api, object);
    });
    await until(
      `${wanted.join(' ')} Northbound rows`,
      () => clients.every((client, index) => rowCount(client) === wanted[index]),
      LIMIT,
    );
    return duration;
  });
  return [
    { name: 'applied, one request after the other', value: applied, unit: 'ms' },
    {
      name: 'first request to settled Northbound',
      value: wall,
      unit: 'ms',
      goal: nodes > MOST_ZONES ? 10_000 : 4000,
    },
  ];
}

const SIZES: readonly Size[] = [
  { networks: 50, nodes: 3 },
  { networks: 10, nodes: 50 },
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
    {
      name: `converge-kubernetes-${name}`,
      title: `${title}: a Kubernetes API server to settled Northbound databases of up to ${MOST_ZONES} zones, all processes on this machine`,
      run: (progress) => onKubernetes(size, progress),
    },
  ];
});
