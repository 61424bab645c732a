/** A zone with objects of every kind that has rows, in every form that makes a difference. */
import { readAdminPolicy } from '../../../src/model/read/admin-policies.ts';
import type { Attachment, PodFacts } from '../../../src/model/model.ts';
import { readPolicy, type Policy } from '../../../src/model/read/policies.ts';
import type { ObjectReading } from '../../../src/model/read/reading.ts';
import type { PodSelection } from '../../../src/model/rules/selections.ts';
import { adminPolicy, multiPolicy, networkPolicy } from './policed-zone.ts';
import { withDefaultAccess } from './default-access.ts';
import {
  clusterDns,
  pooledService,
  servicesOfAllKinds,
  withPool,
  withServices,
} from './services.ts';
import {
  blue,
  bluePod,
  bluePodDefault,
  farYellowPod,
  layer2Secondary,
  localnet,
  networkName,
  overlay,
  overlayPod,
  underlay,
  yellow,
  yellowPod,
  type Zone,
  type ZoneNetwork,
} from './zones.ts';

const valueOf = <T>(reading: ObjectReading<T>): T => {
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  return reading.value;
};

const web = { podSelector: { matchLabels: { app: 'web' } } };

const policies: readonly Policy[] = [
  networkPolicy('blue/peers', {
    ...web,
    ingress: [
      {
        from: [web, { namespaceSelector: {} }],
        ports: [{ port: 80 }, { port: 90, endPort: 99 }, { port: 'http' }],
      },
      { from: [{ ipBlock: { cidr: '198.51.100.0/24', except: ['198.51.100.8/29'] } }] },
    ],
    egress: [
      { to: [{ ipBlock: { cidr: '2001:db8::/32' } }], ports: [{ protocol: 'SCTP', port: 9 }] },
      { ports: [{ protocol: 'UDP', port: 53 }] },
    ],
  }),
  networkPolicy('default/closed', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }),
  multiPolicy('blue/secondary', 'l2, ln', { podSelector: {}, ingress: [{ from: [web] }] }),
].map((policy) => valueOf(readPolicy(policy)));

const rule = (action: string, end: string): object => ({
  action,
  [end]: [{ namespaces: {} }],
  ports: [{ portNumber: { port: 443 } }, { namedPort: 'http' }],
});
const admins = [
  adminPolicy('guard', {
    priority: 3,
    subject: { namespaces: {} },
    ingress: [rule('Pass', 'from'), rule('Allow', 'from')],
    egress: [{ action: 'Deny', to: [{ networks: ['198.51.100.0/24'] }] }],
  }),
  adminPolicy('default', { subject: { namespaces: {} }, ingress: [rule('Deny', 'from')] }),
  adminPolicy('cluster', {
    tier: 'Baseline',
    priority: 7,
    subject: { namespaces: {} },
    egress: [{ action: 'Accept', to: [{ networks: ['198.51.100.0/24'] }] }],
  }),
].map((policy) => valueOf(readAdminPolicy(policy)));

/** A machine that moved here a moment ago. */
const machine: Attachment = {
  ...farYellowPod,
  machine: { name: 'vm', hasArrived: false },
};
const arrived: Attachment = {
  ...machine,
  pod: 'arrived',
  node: 'ovn-worker',
  podUid: 'b7a2d6c0-0000-4000-8000-000000000009',
  created: '2026-01-02T00:00:00Z',
  tunnelId: 12,
  machine: { name: 'vm', hasArrived: true },
};

const onSecondary: Attachment = {
  ...bluePod,
  network: layer2Secondary.name,
  nadKey: 'blue/l2',
  role: 'secondary',
  macAddress: '0a:58:0a:28:00:01',
  addresses: ['10.40.0.1/16'],
  tunnelId: 1,
};

const pod = (namespace: string, name: string): PodFacts => ({
  namespace,
  name,
  node: 'ovn-worker',
  labels: { app: 'web' },
  namedPorts: [{ name: 'http', protocol: 'TCP', port: 8080 }],
});

const EVERY_BLUE: PodSelection = {
  id: 'blue_LS{}',
  namespace: 'blue',
  podSelector: {},
  isLegacy: false,
};

/** A second primary network of namespace blue, with the families of the first one. */
function sibling(zone: Zone): ZoneNetwork {
  const first = zone.networks.find(({ name }) => name === blue.name) ?? blue;
  const moved = (text: string): string => text.replaceAll('103', '106');
  const { v4, v6 } = first.masquerade;
  return {
    ...first,
    name: networkName('blue_second'),
    id: 9,
    subnets: first.subnets.map((subnet) => ({ ...subnet, cidr: moved(subnet.cidr) })),
    masquerade: {
      ...(v4 && { v4: { gatewayRouter: '169.254.0.27', managementPort: '169.254.0.28' } }),
      ...(v6 && { v6: { gatewayRouter: 'fd69::1b', managementPort: 'fd69::1c' } }),
    },
    nads: ['blue/second'],
    nodeSubnets: new Map([...first.nodeSubnets].map(([node, cidrs]) => [node, cidrs.map(moved)])),
    object: 'UserDefinedNetwork blue/second',
  };
}

const kindsOf = (zone: Zone): Zone => ({
  ...withServices(zone, ...servicesOfAllKinds, ...pooledService, ...clusterDns),
  networks: [
    ...withPool(zone).networks,
    sibling(zone),
    yellow,
    layer2Secondary,
    localnet,
    overlay,
    underlay,
    {
      ...blue,
      name: networkName('cluster_udn_store-1'),
      id: 8,
      role: 'secondary',
      nads: ['blue/store-1'],
      masquerade: {},
      object: 'ClusterUserDefinedNetwork store-1',
    },
  ],
  settings: {
    ...zone.settings,
    features: {
      egressIp: true,
      egressFirewall: true,
      egressService: true,
      externalRoutes: true,
      multicast: true,
    },
    policies: {
      passesIcmp: true,
      allowsStateless: true,
      mostFlows: 10_000,
      mostFirewallFlows: 200_000,
      mostQosFlows: 100_000,
    },
  },
  namespaces: [...zone.namespaces, 'yellow'],
  multicastNamespaces: ['blue', 'default'],
  attachments: [
    bluePod,
    { ...bluePodDefault, openDefaultPorts: [{ protocol: 'tcp', port: 80 }, { protocol: 'icmp' }] },
    yellowPod,
    arrived,
    onSecondary,
    {
      ...onSecondary,
      network: localnet.name,
      nadKey: 'blue/ln',
      macAddress: '0a:58:0a:32:01:03',
      addresses: ['10.50.1.3/16'],
    },
    overlayPod,
  ],
  remoteAttachments: [machine],
  pods: [
    pod('blue', 'pod1'),
    // What has an EgressIP leaves by no next hop.
    { ...pod('yellow', 'pod2'), labels: { app: 'web', leaves: 'by-hops' } },
    pod('yellow', 'arrived'),
  ],
  policies: [
    ...policies,
    ...policies.slice(0, 1).map((one) => ({ ...one, name: 'untracked', isStateless: true })),
  ],
  externalRoutes: [
    {
      name: 'gateways',
      created: '',
      namespaceSelector: {},
      hops: [
        { address: '172.18.0.50', isWatched: true },
        { address: 'fd00:172:18::50', isWatched: false },
      ],
      pods: [{ podSelector: {}, namespaceSelector: {}, network: '', isWatched: true }],
    },
  ],
  hostPortRequests: [
    {
      namespace: 'blue',
      name: 'pod1',
      created: '2026-01-01T00:00:00Z',
      ports: [
        { protocol: 'TCP', hostPort: 8080, containerPort: 80 },
        { protocol: 'UDP', hostPort: 5353, containerPort: 53, hostIp: '127.0.0.1' },
      ],
    },
  ],
  gatewayPods: [
    {
      namespace: 'default',
      name: 'router',
      labels: {},
      hostAddresses: ['172.18.0.4', 'fd00:172:18::4'],
      networks: [],
    },
  ],
  firewalls: ['blue', 'default'].map((namespace) => ({
    namespace,
    name: 'default',
    rules: [
      { isAllowed: true, destination: { kind: 'nodes', selector: {} }, ports: [] },
      { isAllowed: false, destination: { kind: 'name', name: 'www.example.org' }, ports: [] },
      {
        isAllowed: false,
        destination: { kind: 'cidr', cidr: '8.8.8.0/24' },
        ports: [{ protocol: 'tcp', port: 443 }],
      },
    ],
  })),
  qoses: [
    {
      kind: 'EgressQoS',
      namespace: 'blue',
      name: 'default',
      created: '',
      priority: 0,
      rules: [{ pods: EVERY_BLUE, dscp: 46, to: [], ports: [] }],
    },
    {
      kind: 'NetworkQoS',
      namespace: 'blue',
      name: 'gold',
      created: '',
      networks: [{ kind: 'nads', namespaceSelector: {}, selector: {} }],
      priority: 5,
      rules: [
        {
          pods: EVERY_BLUE,
          dscp: 10,
          rate: 1000,
          burst: 200,
          to: [
            { kind: 'pods', selection: EVERY_BLUE },
            { kind: 'block', block: { cidr: '8.8.8.0/24', except: ['8.8.8.8/32'] } },
          ],
          ports: [{ protocol: 'tcp', port: 443 }],
        },
      ],
    },
  ],
  egressIps: [
    {
      name: 'out',
      created: '2026-01-01T00:00:00Z',
      namespaceSelector: {},
      podSelector: { matchExpressions: [{ key: 'leaves', operator: 'DoesNotExist' }] },
      mark: 50_000,
      families: ['v4', 'v6'],
      items: [
        { node: 'ovn-worker', address: '172.18.0.200' },
        { node: 'ovn-worker2', address: 'fc00:f853::200' },
      ],
      isHere: true,
    },
    {
      name: 'to-mgmt',
      created: '2026-01-02T00:00:00Z',
      namespaceSelector: {},
      podSelector: { matchExpressions: [{ key: 'leaves', operator: 'DoesNotExist' }] },
      trafficSelector: { matchLabels: { group: 'mgmt' } },
      mark: 50_001,
      families: ['v4', 'v6'],
      items: [
        { node: 'ovn-worker', address: '172.18.0.202' },
        { node: 'ovn-worker', address: 'fc00:f853::202' },
      ],
      isHere: true,
    },
  ],
  trafficClasses: [
    { name: 'mgmt', labels: { group: 'mgmt' }, cidrs: ['192.168.250.0/24', 'fd01::/64'] },
  ],
  egressServices: [
    {
      key: 'blue/outside',
      namespace: 'blue',
      name: 'outside',
      created: '2026-01-01T00:00:00Z',
      isByNetwork: false,
      host: 'ovn-worker',
      isHere: true,
    },
  ],
  admins,
  connects: [
    {
      name: 'colored-net',
      isAccepted: true,
      tunnelKey: 16715782,
      ranges: [{ cidr: '192.168.0.0/16', networkPrefix: 24 }],
      hasPods: true,
      hasServices: true,
      members: [
        { networkId: 1, topology: 'layer3', subnets: ['192.168.0.0/24'] },
        { networkId: 3, topology: 'layer2', subnets: ['192.168.1.0/31'] },
      ],
      bridged: [],
    },
    {
      name: 'shared-net',
      isAccepted: true,
      tunnelKey: 16715783,
      ranges: [{ cidr: '192.169.0.0/16', networkPrefix: 24 }],
      hasPods: false,
      hasServices: true,
      members: [],
      bridged: [1, 3],
    },
  ],
});

export const everyKind = (zone: Zone): Zone => withDefaultAccess(kindsOf(zone));
