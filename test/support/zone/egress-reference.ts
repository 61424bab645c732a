/**
 * Object sets with egress objects, and the Northbound rows of node ovn-worker that ovn-kubernetes has for them: by the facts of
 * docs/reference/egress.md and topology.md, written by hand and not by our code. Rows that networks have whatever leaves them are not among these.
 */

import { readFirewall } from '../../../src/model/read/egress-firewalls.ts';
import type { EgressIp } from '../../../src/model/read/egress-ips.ts';
import { DEFAULT_NETWORK } from '../../../src/model/read/networks.ts';
import { readEgressQos, readNetworkQos } from '../../../src/model/read/qos.ts';
import type { ObjectReading } from '../../../src/model/read/reading.ts';
import type { Attachment } from '../../../src/model/model.ts';
import { service, withServices } from './services.ts';
import { bluePod, exampleZone, inLocalMode, yellow, yellowPod, type Zone } from './zones.ts';

/** A row, and the rows by whose columns it is held. In its texts `$(id)` and `@(id)` stand for the name of the set or group with that id. */
export interface ReferenceRow {
  readonly table: string;
  readonly columns: Readonly<Record<string, unknown>>;
  readonly in: readonly (readonly [table: string, name: string, column: string])[];
}

export interface ObjectSet {
  readonly zone: Zone;
  readonly rows: readonly ReferenceRow[];
}

const D = 'default-network-controller';
const BLUE = 'blue_blue-network-controller';
const [HERE, THERE] = ['ovn-worker', 'ovn-worker2'];
const TRANSIT_ROUTER = 'cluster_udn_yellow.net_transit_router';
const [EGRESS_HERE, EGRESS_THERE] = ['172.18.0.200', '172.18.0.201'];
const MARK = '50000';

/** Ids of an object: `<controller>:<type>:<value>:<value>…`. */
const ids = (
  controller: string,
  type: string,
  keys: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => ({
  'k8s.ovn.org/id': [controller, type, ...Object.values(keys)].join(':'),
  'k8s.ovn.org/owner-controller': controller,
  'k8s.ovn.org/owner-type': type,
  ...Object.fromEntries(
    Object.entries(keys).map(([key, value]) => [key === 'name' ? 'k8s.ovn.org/name' : key, value]),
  ),
});

const set = (addresses: readonly string[], of: Readonly<Record<string, string>>): ReferenceRow => ({
  table: 'Address_Set',
  columns: { name: `$(${of['k8s.ovn.org/id']})`, addresses, external_ids: of },
  in: [],
});
const policy = (router: string, columns: ReferenceRow['columns']): ReferenceRow => ({
  table: 'Logical_Router_Policy',
  columns,
  in: [['Logical_Router', router, 'policies']],
});

// Pods, by where they are and on which network.

const pod = (
  like: Attachment,
  namespace: string,
  name: string,
  address: string,
  changes: Partial<Attachment> = {},
): Attachment => ({
  ...like,
  namespace,
  pod: name,
  addresses: [address],
  macAddress: `0a:58:${address
    .replace(/\/.*/, '')
    .split('.')
    .map((one) => Number(one).toString(16).padStart(2, '0'))
    .join(':')}`,
  ...changes,
});
const onDefault = { network: DEFAULT_NETWORK, nadKey: 'default' };
const far = { node: THERE };
const OWN = [
  bluePod,
  pod(bluePod, 'web', 'pod3', '10.244.0.5/24', onDefault),
  pod(yellowPod, 'yellow', 'pod4', '105.105.0.5/16', { tunnelId: 12 }),
  pod(bluePod, 'out', 'own', '10.244.0.6/24', onDefault),
  pod(bluePod, 'hops', 'pod5', '10.244.0.7/24', onDefault),
];
const FAR = [
  pod(bluePod, 'blue', 'pod2', '103.103.1.3/24', far),
  pod(bluePod, 'web', 'far', '10.244.1.5/24', { ...onDefault, ...far }),
  pod(yellowPod, 'yellow', 'far', '105.105.0.6/16', { ...far, tunnelId: 13 }),
  pod(bluePod, 'out', 'far', '10.244.1.6/24', { ...onDefault, ...far }),
];
const LABELS: Readonly<Record<string, string>> = { web: 'fixed', blue: 'fixed', yellow: 'fixed' };
const fixed = { matchLabels: { leaves: 'fixed' } };

/** Networks and pods alone. */
export const PLAIN: Zone = {
  ...exampleZone,
  networks: [...exampleZone.networks, yellow],
  namespaces: [...exampleZone.namespaces, 'yellow', 'web', 'out', 'hops'],
  attachments: OWN,
  remoteAttachments: FAR,
  nodeLabels: [
    { name: HERE, labels: {} },
    { name: THERE, labels: { role: 'cp' } },
  ],
  pods: [...OWN, ...FAR].map(({ namespace, pod: name, node }) => ({
    namespace,
    name,
    node,
    labels: { leaves: LABELS[namespace] ?? '', app: name },
    namedPorts: [],
  })),
};

// EgressIPs.

const egressIp = (items: EgressIp['items'], mark: number): EgressIp => ({
  name: 'eip1',
  created: '2026-01-01T00:00:00Z',
  namespaceSelector: {},
  podSelector: fixed,
  mark,
  families: ['v4'],
  items,
  isHere: items.some(({ node }) => node === HERE),
});
const egressIpIds = (priority: string, name: string, network: string) =>
  ids(D, 'EgressIP', { priority, name: `eip1_${name}`, 'ip-family': 'ip4', network });
const servedPods = (network: string, ...addresses: readonly string[]): ReferenceRow =>
  set(addresses, ids(D, 'EgressIP', { name: 'egressip-served-pods', 'ip-family': 'v4', network }));
const reroute = (
  [router, network]: readonly [string, string],
  name: string,
  address: string,
  nexthops: readonly string[],
  mark?: string,
): ReferenceRow =>
  policy(router, {
    priority: 100,
    match: `ip4.src == ${address}`,
    action: 'reroute',
    nexthops,
    ...(mark === undefined ? {} : { options: { pkt_mark: mark } }),
    external_ids: egressIpIds('100', name, network),
  });
const mark = (
  [router, network]: readonly [string, string],
  name: string,
  address: string,
): ReferenceRow =>
  policy(router, {
    priority: 95,
    match: `ip4.src == ${address} && pkt.mark == 0`,
    action: 'allow',
    options: { pkt_mark: MARK },
    external_ids: egressIpIds('95', name, network),
  });
const snat = (name: string, address: string): ReferenceRow => ({
  table: 'NAT',
  columns: {
    type: 'snat',
    logical_ip: address,
    external_ip: EGRESS_HERE,
    logical_port: `k8s-${HERE}`,
    options: { stateless: 'false' },
    external_port_range: '32768-60999',
    external_ids: ids(D, 'EgressIP', { name: `eip1_${name}`, 'ip-family': 'ip4' }),
  },
  in: [['Logical_Router', `GR_${HERE}`, 'nat']],
});
const DEFAULT = ['ovn_cluster_router', 'default'] as const;
const BLUES = ['blue_blue_ovn_cluster_router', 'blue_blue'] as const;
const YELLOWS = [TRANSIT_ROUTER, 'cluster_udn_yellow-net'] as const;
const GR_BLUE = [`GR_blue_blue_${HERE}`, 'blue_blue'] as const;
const GR_YELLOW = [`GR_cluster_udn_yellow.net_${HERE}`, 'cluster_udn_yellow-net'] as const;

const byGateway: ObjectSet = {
  zone: {
    ...PLAIN,
    egressIps: [
      egressIp(
        [
          { node: HERE, address: EGRESS_HERE },
          { node: THERE, address: EGRESS_THERE },
        ],
        50_000,
      ),
    ],
  },
  rows: [
    reroute(BLUES, 'blue/pod1', '103.103.0.3', ['100.65.0.2', '100.88.0.3'], MARK),
    mark(GR_BLUE, 'blue/pod1', '103.103.0.3'),
    mark(GR_BLUE, 'blue/pod2', '103.103.1.3'),
    reroute(DEFAULT, 'web/pod3', '10.244.0.5', ['100.64.0.2', '100.88.0.3']),
    snat('web/pod3', '10.244.0.5'),
    snat('web/far', '10.244.1.5'),
    reroute(YELLOWS, 'yellow/pod4', '105.105.0.5', ['100.88.0.5', '100.88.0.7'], MARK),
    // Also for pods of other nodes, by what has the address here.
    reroute(YELLOWS, 'yellow/far', '105.105.0.6', ['100.88.0.5'], MARK),
    mark(GR_YELLOW, 'yellow/pod4', '105.105.0.5'),
    mark(GR_YELLOW, 'yellow/far', '105.105.0.6'),
    servedPods('default', '10.244.0.5'),
    servedPods('blue_blue', '103.103.0.3'),
    servedPods('cluster_udn_yellow-net', '105.105.0.5'),
  ],
};

const ON_CARD = '10.10.10.100';
const byCard: ObjectSet = {
  zone: {
    ...PLAIN,
    // There on the default network alone.
    pods: (PLAIN.pods ?? []).map((one) => (one.namespace === 'web' ? one : { ...one, labels: {} })),
    hostCards: [
      {
        device: 'eth1',
        index: 7,
        networks: ['10.10.10.0/24'],
        routes: { v4: [{ destination: '10.10.10.0/24' }] } as never,
      },
    ],
    egressIps: [egressIp([{ node: HERE, address: ON_CARD }], 50_001)],
  },
  rows: [
    reroute(DEFAULT, 'web/pod3', '10.244.0.5', ['10.244.0.2'], '1009'),
    reroute(DEFAULT, 'web/far', '10.244.1.5', ['10.244.0.2'], '1009'),
    servedPods('default', '10.244.0.5'),
  ],
};

// EgressFirewalls.

const valueOf = <T>(reading: ObjectReading<T>): T => {
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  return reading.value;
};
const RULES = [
  { type: 'Allow', to: { cidrSelector: '8.8.8.8/32' }, ports: [{ protocol: 'TCP', port: 443 }] },
  { type: 'Allow', to: { dnsName: 'www.example.com' } },
  { type: 'Allow', to: { nodeSelector: { matchLabels: { role: 'cp' } } } },
  {
    type: 'Allow',
    to: { cidrSelector: '103.0.0.0/8' },
    ports: [
      { protocol: 'TCP', port: 53 },
      { protocol: 'UDP', port: 53 },
    ],
  },
  { type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } },
];
const firewallOf = (namespace: string) =>
  valueOf(
    readFirewall({
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'EgressFirewall',
      metadata: { namespace, name: 'default' },
      spec: { egress: RULES },
    }),
  );
const acl = (
  namespace: string,
  group: string,
  index: number,
  action: 'allow' | 'drop',
  match: string,
): ReferenceRow => ({
  table: 'ACL',
  columns: {
    name: `EF:${namespace}:${index}`,
    direction: 'to-lport',
    priority: 10_000 - index,
    tier: 2,
    action,
    match: `${match.replace(/&& <ports>/, `&& inport == @(${group}) &&`)}${match.includes('<ports>') ? '' : ` && inport == @(${group})`}`,
    meter: 'acl-logging',
    external_ids: ids(D, 'EgressFirewall', { name: namespace, 'rule-index': String(index) }),
  },
  in: [['Port_Group', `@(${group})`, 'acls']],
});
const DNS_SET = `${D}:EgressFirewallDNS:www.example.com:v4`;
const aclsOf = (namespace: string, controller: string, subnet: string): readonly ReferenceRow[] => {
  const group = `${controller}:Namespace:${namespace}`;
  const without = (cidr: string, isIn: boolean): string =>
    isIn ? `(ip4.dst == ${cidr} && ip4.dst != ${subnet})` : `(ip4.dst == ${cidr})`;
  return [
    acl(
      namespace,
      group,
      0,
      'allow',
      '(ip4.dst == 8.8.8.8/32) && <ports> ((tcp && ( tcp.dst == 443 )))',
    ),
    acl(namespace, group, 1, 'allow', `(ip4.dst == $(${DNS_SET}))`),
    acl(namespace, group, 2, 'allow', '(ip4.dst == 172.18.0.4)'),
    acl(
      namespace,
      group,
      3,
      'allow',
      `${without('103.0.0.0/8', subnet.startsWith('103.'))} && <ports> ((udp && ( udp.dst == 53 )) || (tcp && ( tcp.dst == 53 )))`,
    ),
    acl(namespace, group, 4, 'drop', without('0.0.0.0/0', true)),
  ];
};
const firewalls: ObjectSet = {
  zone: { ...PLAIN, firewalls: [firewallOf('blue'), firewallOf('web')] },
  rows: [
    ...aclsOf('blue', BLUE, '103.103.0.0/16'),
    ...aclsOf('web', D, '10.244.0.0/16'),
    set(
      ['93.184.216.34'],
      ids(D, 'EgressFirewallDNS', { name: 'www.example.com', 'ip-family': 'v4' }),
    ),
  ],
};

// EgressQoS and NetworkQoS.

/** By their names: not `join`, nor one that begins with `join_`, `transit_switch` or `ext_`. */
const MARKED_SWITCHES = [
  HERE,
  `blue_blue_${HERE}`,
  'blue_blue_join',
  'blue_blue_transit_switch',
  'cluster_udn_yellow.net_ovn_layer2_switch',
];
const egressQosRow = (priority: number, dscp: number, to: string): ReferenceRow => ({
  table: 'QoS',
  columns: {
    direction: 'to-lport',
    priority,
    match: `(${to}) && ip4.src == $(${D}:EgressQoS:web:${priority}:v4)`,
    action: new Map([['dscp', dscp]]),
    external_ids: ids(D, 'EgressQoS', { priority: String(priority), name: 'web' }),
  },
  in: MARKED_SWITCHES.map((name) => ['Logical_Switch', name, 'qos_rules'] as const),
});
const egressQosSet = (priority: number, ...addresses: readonly string[]): ReferenceRow =>
  set(
    addresses,
    ids(D, 'EgressQoS', { name: 'web', priority: String(priority), 'ip-family': 'v4' }),
  );
const qoses: ObjectSet = {
  zone: {
    ...PLAIN,
    qoses: [
      valueOf(
        readEgressQos({
          apiVersion: 'k8s.ovn.org/v1',
          kind: 'EgressQoS',
          metadata: { namespace: 'web', name: 'default' },
          spec: {
            egress: [
              { dscp: 46, dstCIDR: '203.0.113.0/24' },
              { dscp: 10, podSelector: { matchLabels: { app: 'bulk' } } },
            ],
          },
        }),
      ),
      valueOf(
        readNetworkQos({
          apiVersion: 'k8s.ovn.org/v1alpha1',
          kind: 'NetworkQoS',
          metadata: { namespace: 'blue', name: 'gold' },
          spec: {
            priority: 5,
            egress: [
              {
                dscp: 46,
                bandwidth: { rate: 10_000, burst: 2000 },
                classifier: {
                  to: [{ ipBlock: { cidr: '203.0.113.0/24' } }],
                  ports: [{ protocol: 'TCP', port: 443 }],
                },
              },
            ],
          },
        }),
      ),
    ],
  },
  rows: [
    egressQosRow(1000, 46, 'ip4.dst == 203.0.113.0/24'),
    egressQosRow(999, 10, 'ip4.dst == 0.0.0.0/0 || ip6.dst == ::/0'),
    egressQosSet(1000, '10.244.0.5'),
    egressQosSet(999),
    {
      table: 'QoS',
      columns: {
        direction: 'to-lport',
        priority: 10_050,
        match: `ip4.src == {$(${BLUE}:NetworkQoS:blue:gold:src:0:v4)} && ip4.dst == 203.0.113.0/24 && tcp && tcp.dst == 443`,
        action: new Map([['dscp', 46]]),
        bandwidth: new Map([
          ['rate', 10_000],
          ['burst', 2000],
        ]),
        external_ids: {
          ...ids(BLUE, 'NetworkQoS', { name: 'blue:gold', 'rule-index': '0' }),
          'k8s.ovn.org/network': 'blue_blue',
        },
      },
      in: [['Logical_Switch', `blue_blue_${HERE}`, 'qos_rules']],
    },
    set(
      ['103.103.0.3'],
      ids(BLUE, 'NetworkQoS', {
        name: 'blue:gold',
        'rule-index': 'src',
        'ip-block-index': '0',
        'ip-family': 'v4',
      }),
    ),
  ],
};

// EgressServices.

const servicePolicy = (address: string, nexthop: string, of: string): ReferenceRow =>
  policy('ovn_cluster_router', {
    priority: 101,
    match: `ip4.src == ${address}`,
    action: 'reroute',
    nexthops: [nexthop],
    external_ids: { EgressSVC: of },
  });
const egressServiceOn = (host: string, rows: readonly ReferenceRow[]): ObjectSet => ({
  zone: {
    ...withServices(
      PLAIN,
      service(
        'out/lb',
        { type: 'LoadBalancer', clusterIPs: ['10.96.3.3'] },
        { loadBalancer: { ingress: [{ ip: '172.18.0.240' }] } },
      ),
    ),
    selectors: { 'out/lb': { leaves: '' } },
    egressServices: [
      {
        key: 'out/lb',
        namespace: 'out',
        name: 'lb',
        created: '2026-01-01T00:00:00Z',
        isByNetwork: false,
        host,
        isHere: host === HERE,
      },
    ],
  },
  rows: [
    ...rows,
    set(
      ['10.244.0.6'],
      ids(D, 'EgressService', { name: 'egresssvc-served-pods', 'ip-family': 'v4' }),
    ),
  ],
});

// External routes.

const route = (nexthop: string, more: object = {}): ReferenceRow => ({
  table: 'Logical_Router_Static_Route',
  columns: {
    ip_prefix: '10.244.0.7/32',
    policy: 'src-ip',
    nexthop,
    output_port: `rtoe-GR_${HERE}`,
    options: { ecmp_symmetric_reply: 'true' },
    ...more,
  },
  in: [['Logical_Router', `GR_${HERE}`, 'static_routes']],
});
/** Of the pods of namespace hops; in these tests every other pod leaves otherwise, or has no namespace with labels. */
const routed: Zone = {
  ...PLAIN,
  attachments: OWN.filter(({ namespace }) => namespace === 'hops'),
  remoteAttachments: [],
  pods: [],
  externalRoutes: [
    {
      name: 'gw1',
      created: '',
      namespaceSelector: {},
      hops: [
        { address: '172.18.0.10', isWatched: true },
        { address: '172.18.0.11', isWatched: false },
      ],
      pods: [],
    },
  ],
};
const routeRows: readonly ReferenceRow[] = [
  {
    table: 'BFD',
    columns: { logical_port: `rtoe-GR_${HERE}`, dst_ip: '172.18.0.10' },
    in: [],
  },
  route('172.18.0.10', { bfd: 'BFD 172.18.0.10' }),
  route('172.18.0.11'),
];
const HYBRID = ids(D, 'HybridNodeRoute', { name: HERE, 'ip-family': 'v4' });

export const OBJECT_SETS: Readonly<Record<string, ObjectSet>> = {
  'EgressIP in the network of the gateway': byGateway,
  'EgressIP in the network of another card': byCard,
  EgressFirewalls: firewalls,
  'EgressQoS and NetworkQoS': qoses,
  'EgressService of this node': egressServiceOn(HERE, [
    servicePolicy('10.244.0.6', '10.244.0.2', 'out/lb'),
    servicePolicy('10.244.1.6', '10.244.0.2', 'out/lb:ic'),
  ]),
  'EgressService of another node': egressServiceOn(THERE, [
    servicePolicy('10.244.0.6', '100.88.0.3', 'out/lb'),
  ]),
  'external routes': { zone: routed, rows: routeRows },
  'external routes in local gateway mode': {
    zone: inLocalMode(routed),
    rows: [
      ...routeRows,
      policy('ovn_cluster_router', {
        priority: 501,
        match: `inport == "rtos-${HERE}" && ip4.src == $(${HYBRID['k8s.ovn.org/id']}) && ip4.dst != 10.244.0.0/16`,
        action: 'reroute',
        nexthops: ['100.64.0.2'],
      }),
      set(['10.244.0.7'], HYBRID),
    ],
  },
};
