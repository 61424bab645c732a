/** A node with two networks of one subnet, in values: what a proof reads when all is as it should be, to be changed by tests. */
import type { NetworkAttachmentDefinition, Node, Pod } from '../../../src/api/types.ts';
import type { Row } from '../../../src/verify/rows.ts';
import type { Flow, HostState, Objects, Settings, Snapshot } from '../../../src/verify/snapshot.ts';

export const SETTINGS: Settings = {
  tunnelSources: [],
  clusterSubnets: [{ cidr: '10.128.0.0/14' }],
  serviceSubnets: ['172.16.1.0/24'],
  joinSubnets: { v4: '100.64.0.0/16' },
  udnJoinSubnets: { v4: '100.65.0.0/16' },
  transitSubnets: { v4: '100.88.0.0/16' },
  masqueradeSubnets: { v4: '169.254.0.0/17' },
  mtu: 1400,
  routingTables: 10_000,
  defaultAccess: [],
  secondaryGateways: true,
  policies: { passesIcmp: false },
  features: { egressFirewall: true },
  dnsServers: 'kube-system/kube-dns',
};

/** NAD `<namespace>/<name>` of a Layer3 network with that id. */
export const nad = (
  namespace: string,
  id: number,
  { network = `${namespace}_net`, name = 'net' } = {},
): NetworkAttachmentDefinition => ({
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: {
    name,
    namespace,
    annotations: {
      'k8s.ovn.org/network-name': network,
      'k8s.ovn.org/network-id': String(id),
    },
  },
  spec: {
    config: JSON.stringify({
      cniVersion: '1.1.0',
      type: 'ovn-k8s-cni-overlay',
      name: network,
      netAttachDefName: `${namespace}/${name}`,
      topology: 'layer3',
      role: 'primary',
      subnets: '10.20.0.0/16/24',
    }),
  },
});

/** A pod of the network of its namespace, with 10.20.0.`last`. */
export const pod = (namespace: string, name: string, last: number): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace,
    uid: `${namespace}-${name}`,
    annotations: {
      'k8s.ovn.org/pod-networks': JSON.stringify({
        [`${namespace}/net`]: {
          ip_addresses: [`10.20.0.${last}/24`],
          mac_address: `0a:58:0a:14:00:0${last}`,
          role: 'primary',
        },
      }),
    },
  },
  spec: { nodeName: 'n1' },
});

export const NODE: Node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1', annotations: { 'k8s.ovn.org/node-chassis-id': 'chassis-1' } },
};

export const OBJECTS: Objects = {
  attachmentDefinitions: [nad('blue', 1), nad('green', 2)],
  clusterNetworks: [],
  networks: [],
  connects: [],
  namespaces: [],
  nodes: [NODE],
  pods: [pod('blue', 'a', 3), pod('green', 'a', 3)],
  services: [],
  slices: [],
  egressIps: [],
};

const ids = (values: readonly string[]): unknown => ['set', values.map((one) => ['uuid', one])];
const map = (values: Readonly<Record<string, string>>): unknown => ['map', Object.entries(values)];

/** Switch and router of a network, with the port of its pod. */
function rowsOfNetwork(network: string): Readonly<Record<string, readonly Row[]>> {
  const [namespace = ''] = network.split('_');
  const owned = map({
    'k8s.ovn.org/network': network,
    heddle: `UserDefinedNetwork ${namespace}/net`,
  });
  const at = (name: string): unknown => ['uuid', `${network} ${name}`];
  const mac = '0a:58:0a:14:00:03 10.20.0.3';
  return {
    Logical_Switch: [
      {
        _uuid: at('switch'),
        name: `${network}_n1`,
        ports: ids([`${network} stor`, `${network} pod`]),
        acls: ids([]),
        other_config: map({}),
        external_ids: owned,
      },
    ],
    Logical_Router: [
      {
        _uuid: at('router'),
        name: `${network}_ovn_cluster_router`,
        ports: ids([`${network} rtos`]),
        static_routes: ids([]),
        policies: ids([]),
        nat: ids([]),
        options: map({}),
        external_ids: owned,
      },
    ],
    Logical_Switch_Port: [
      {
        _uuid: at('stor'),
        name: `stor-${network}_n1`,
        type: 'router',
        options: map({ 'router-port': `rtos-${network}_n1` }),
      },
      {
        _uuid: at('pod'),
        name: `${namespace}.net_${namespace}_a`,
        type: '',
        addresses: mac,
        port_security: mac,
        options: map({ 'requested-chassis': 'chassis-1' }),
      },
    ],
    Logical_Router_Port: [
      { _uuid: at('rtos'), name: `rtos-${network}_n1`, networks: '10.20.0.1/24', options: map({}) },
    ],
  };
}

/** Rows of two networks. */
export const northboundOf = (
  one: string,
  other: string,
): Readonly<Record<string, readonly Row[]>> => {
  const [first, second] = [rowsOfNetwork(one), rowsOfNetwork(other)];
  return Object.fromEntries(
    Object.keys(first).map((table) => [table, [...(first[table] ?? []), ...(second[table] ?? [])]]),
  );
};

export const NORTHBOUND = northboundOf('blue_net', 'green_net');

/** VRFs, ports, rules and routes of both networks. */
export const HOST: Required<Pick<HostState, 'links' | 'rules' | 'routes'>> = {
  links: [
    { name: 'breth0' },
    ...[1, 2].flatMap((id) => [
      { name: `mp${id}-udn-vrf`, table: 10_000 + id },
      { name: `ovn-k8s-mp${id}`, master: `mp${id}-udn-vrf` },
    ]),
  ],
  rules: [
    { priority: 1000, family: 'v4', table: 0, isL3mdev: true, isWider: false },
    ...[1, 2].flatMap((id) => [
      {
        priority: 2000,
        family: 'v4',
        table: 10_000 + id,
        mark: 0x1000 + id,
        isL3mdev: false,
        isWider: false,
      } as const,
      {
        priority: 2000,
        family: 'v4',
        table: 10_000 + id,
        destination: `169.254.0.${10 + 2 * id}/32`,
        isL3mdev: false,
        isWider: false,
      } as const,
    ]),
  ],
  routes: [
    {
      table: 254,
      family: 'v4',
      destination: '0.0.0.0/0',
      isUnicast: true,
      hops: [{ device: 'breth0', via: '172.18.0.1' }],
    },
    ...[1, 2].flatMap((id) => [
      {
        table: 10_000 + id,
        family: 'v4',
        destination: '10.20.0.0/16',
        isUnicast: true,
        hops: [{ device: `ovn-k8s-mp${id}`, via: '10.20.0.1' }],
      } as const,
      {
        table: 10_000 + id,
        family: 'v4',
        destination: '0.0.0.0/0',
        isUnicast: true,
        hops: [{ device: 'breth0', via: '172.18.0.1' }],
      } as const,
      {
        table: 10_000 + id,
        family: 'v4',
        destination: '0.0.0.0/0',
        isUnicast: false,
        hops: [],
      } as const,
    ]),
  ],
};

export const snapshot = (more: Partial<Snapshot> = {}): Snapshot => ({
  node: 'n1',
  settings: SETTINGS,
  objects: OBJECTS,
  northbound: new Map(Object.entries(NORTHBOUND)),
  host: HOST,
  unread: [],
  ...more,
});

/** A flow as `ovs-ofctl` lists it. */
export const flow = (table: number, match: string, actions: string): Flow => ({
  table,
  priority: 100,
  cookie: '0x1',
  match,
  actions,
});
