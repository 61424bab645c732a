/** Objects of a cluster as a daemon sees them: nodes, networks (NADs with ids) and pods with their addresses, as many as a benchmark asks for. */
import type { KubeObject, ResourceKind } from '../../src/api/objects.ts';
import { macOf } from '../../src/allocators/addresses.ts';
import { namespaces, networkAttachmentDefinitions, nodes, pods } from '../../src/api/kinds.ts';
import type { ClusterSettings } from '../../src/model/model.ts';
import { DEFAULT_SETTINGS } from '../../src/model/settings.ts';
import type { MemoryStore } from '../support/cluster/memory-store.ts';

export const OWN_NODE = 'node-0';
const PRIMARY_LABEL = 'k8s.ovn.org/primary-user-defined-network';

export const BENCH_SETTINGS: ClusterSettings = {
  ...DEFAULT_SETTINGS,
  clusterSubnets: [{ cidr: '10.0.0.0/8', hostLength: 18 }],
};

/** How large a cluster is, and how many of its networks have pods on our node. */
export interface ZoneSize {
  readonly networks: number;
  readonly nodes: number;
  /** Networks with pods here: the first ones. */
  readonly used: number;
  /** Pods here, spread over the used networks. */
  readonly pods: number;
}

const by = { fieldManager: 'bench' };

/** Networks that a node has subnets of: `net-1`, `net-2` …, up to a number, and any others. */
export type NetworkNumbers = readonly number[];

export const numbersTo = (count: number): NetworkNumbers =>
  Array.from({ length: count }, (_, i) => i + 1);

/** First octets of the cluster default network, and of every other one. */
export const DEFAULT_OCTET = 10;
const NETWORK_OCTET = 103;

/** Of a network with one subnet of 18 bits per node. */
const subnetOf = (octet: number, node: number): string =>
  `${octet}.${node >> 2}.${(node & 3) * 64}.0/18`;

/** Address of a pod; `index` is below 16,000, and another one for each pod of a node on that network. */
export const addressOf = (octet: number, node: number, index: number): string =>
  `${octet}.${node >> 2}.${(node & 3) * 64 + ((index + 3) >> 8)}.${(index + 3) & 255}`;

/** The subnets of a node on some networks. */
export const subnetsOf = (
  node: number,
  networks: NetworkNumbers,
): Record<string, readonly string[]> =>
  Object.fromEntries([
    ['default', [subnetOf(DEFAULT_OCTET, node)]],
    ...networks.map((network) => [`t${network}_net`, [subnetOf(NETWORK_OCTET, node)]]),
  ]) as Record<string, readonly string[]>;

const pair = (index: number): string => `${index >> 8}.${index & 255}`;

export function nodeObject(index: number, networks: NetworkNumbers): KubeObject {
  const ip = `172.20.${pair(index + 1)}`;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: `node-${index}`,
      annotations: {
        'k8s.ovn.org/node-id': String(index + 2),
        'k8s.ovn.org/node-chassis-id': `chassis-${index}`,
        'k8s.ovn.org/node-encap-ips': JSON.stringify([ip]),
        'k8s.ovn.org/node-primary-ifaddr': JSON.stringify({ ipv4: `${ip}/16` }),
        'k8s.ovn.org/host-cidrs': JSON.stringify([`${ip}/16`]),
        'k8s.ovn.org/node-transit-switch-port-ifaddr': JSON.stringify({
          ipv4: `100.88.${pair(index + 2)}/16`,
        }),
        'k8s.ovn.org/node-subnets': JSON.stringify(subnetsOf(index, networks)),
        'k8s.ovn.org/l3-gateway-config': JSON.stringify({
          default: {
            mode: 'shared',
            'bridge-id': 'br-ex',
            'interface-id': `br-ex_node-${index}`,
            'mac-address': '0a:58:ac:14:00:03',
            'ip-addresses': [`${ip}/16`],
            'ip-address': `${ip}/16`,
            'next-hops': ['172.20.255.254'],
            'next-hop': '172.20.255.254',
            'node-port-enable': 'true',
            'vlan-id': '0',
          },
        }),
      },
    },
  };
}

export const namespaceObject = (network: number): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: `t${network}`, labels: { [PRIMARY_LABEL]: '' } },
});

export const nadObject = (network: number): KubeObject => ({
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: {
    namespace: `t${network}`,
    name: 'net',
    annotations: {
      'k8s.ovn.org/network-id': String(network),
      'k8s.ovn.org/network-name': `t${network}_net`,
      'k8s.ovn.org/tunnel-keys': '[]',
    },
    ownerReferences: [
      {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'UserDefinedNetwork',
        name: 'net',
        uid: `00000000-0000-4000-8000-${String(network).padStart(12, '0')}`,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  },
  spec: {
    config: JSON.stringify({
      cniVersion: '1.1.0',
      joinSubnet: '100.65.0.0/16,fd99::/64',
      name: `t${network}_net`,
      netAttachDefName: `t${network}/net`,
      role: 'primary',
      subnets: '103.0.0.0/8/18',
      topology: 'layer3',
      type: 'ovn-k8s-cni-overlay',
    }),
  },
});

const onNetwork = (octet: number, node: string, index: number, role: string): object => {
  const address = addressOf(octet, Number(node.slice('node-'.length)), index);
  return { ip_addresses: [`${address}/18`], mac_address: macOf(address), role };
};

export function podObject(network: number, index: number, node = OWN_NODE): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: `t${network}`,
      name: `pod-${index}`,
      annotations: {
        'k8s.ovn.org/pod-networks': JSON.stringify({
          default: onNetwork(DEFAULT_OCTET, node, index, 'infrastructure-locked'),
          [`t${network}/net`]: onNetwork(NETWORK_OCTET, node, index, 'primary'),
        }),
      },
    },
    spec: { nodeName: node, containers: [] },
    status: { phase: 'Running' },
  };
}

const create = async (
  store: MemoryStore,
  kind: ResourceKind,
  object: KubeObject,
): Promise<void> => {
  await store.create(kind, object, by);
};

export async function addNode(store: MemoryStore, index: number, networks: NetworkNumbers) {
  await create(store, nodes, nodeObject(index, networks));
}

export async function addNetwork(store: MemoryStore, network: number): Promise<void> {
  await create(store, namespaces, namespaceObject(network));
  await create(store, networkAttachmentDefinitions, nadObject(network));
}

export async function addPod(store: MemoryStore, network: number, index: number, node = OWN_NODE) {
  await create(store, pods, podObject(network, index, node));
}

/** Everything of a cluster of that size. */
export async function fillStore(store: MemoryStore, size: ZoneSize): Promise<void> {
  const numbers = numbersTo(size.networks);
  for (const network of numbers) await addNetwork(store, network);
  for (let index = 0; index < size.nodes; index += 1) await addNode(store, index, numbers);
  for (let index = 0; index < size.pods; index += 1)
    await addPod(store, 1 + (index % size.used), index);
}
