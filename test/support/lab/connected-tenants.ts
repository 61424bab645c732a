/** Tenants with a network of each kind, and two that have ranges of others: each with a pod on two nodes, and a service in front of one. */
import { SERVER_PORT } from '../../../src/lab/pods.ts';

/** Of services, for datagrams. */
export const DATAGRAM_PORT = 81;

export interface Tenant {
  /** Of the namespace, the network, and its label. */
  readonly name: string;
  readonly topology: 'Layer2' | 'Layer3';
  /** Last byte of its cluster IPs. */
  readonly number: number;
  /** Second byte of its ranges, and where its pods are; its number and place among the tenants where it is nobody's twin. */
  readonly twinOf?: string;
}
/** Two of each topology that are connected, and one that is not. */
export const MEMBERS: readonly Tenant[] = [
  { name: 'routed', topology: 'Layer3', number: 31 },
  { name: 'ways', topology: 'Layer3', number: 32 },
  { name: 'flat', topology: 'Layer2', number: 33 },
  { name: 'plain', topology: 'Layer2', number: 34 },
];
export const APART: Tenant = { name: 'apart', topology: 'Layer3', number: 35 };
/** With the ranges of a member of each topology, and pods on the same nodes: with one and the same address. */
export const TWINS: readonly Tenant[] = [
  { name: 'rerouted', topology: 'Layer3', number: 36, twinOf: 'routed' },
  { name: 'flattened', topology: 'Layer2', number: 37, twinOf: 'flat' },
];
/** Members that nobody overlaps. */
export const LINKED = MEMBERS.map(({ name }) => name).filter((name) =>
  TWINS.every(({ twinOf }) => twinOf !== name),
);
export const TENANTS = [...MEMBERS, APART, ...TWINS];

const originalOf = (tenant: Tenant): Tenant =>
  TENANTS.find(({ name }) => name === tenant.twinOf) ?? tenant;

const subnets = (tenant: Tenant): unknown[] => {
  const { topology, number } = originalOf(tenant);
  return topology === 'Layer2'
    ? [`10.${number}.0.0/16`, `fd${number}::/64`]
    : [
        { cidr: `10.${number}.0.0/16`, hostSubnet: 24 },
        { cidr: `fd${number}::/48`, hostSubnet: 64 },
      ];
};
export const clusterIps = ({ number }: Tenant): [string, string] => [
  `172.16.1.${number}`,
  `fd00:10:96::${number}`,
];

/** At the first one servers answer; nobody needs to listen at the other. */
const PORTS = [
  { name: 'web', port: 80, targetPort: SERVER_PORT, protocol: 'TCP' },
  { name: 'datagrams', port: DATAGRAM_PORT, targetPort: 5001, protocol: 'UDP' },
] as const;

/** Its service, with what else its `spec` is to have, and with addresses of a load balancer where there is one. */
export const serviceOf = (
  tenant: Tenant,
  spec: object = {},
  ingress: readonly string[] = [],
): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: tenant.name },
  spec: {
    clusterIP: clusterIps(tenant)[0],
    clusterIPs: clusterIps(tenant),
    ipFamilies: ['IPv4', 'IPv6'],
    ipFamilyPolicy: 'RequireDualStack',
    ports: PORTS,
    ...spec,
  },
  status: { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } },
});

/** A namespace with its network, a pod on each of two nodes, and a service in front of the second one. */
export const objectsOf = (tenant: Tenant, service = serviceOf(tenant)): object[] => {
  const { name, topology } = tenant;
  const index = TENANTS.indexOf(originalOf(tenant));
  const nodes = [`n${(index % 3) + 1}`, `n${((index + 1) % 3) + 1}`];
  const spec = { role: 'Primary', subnets: subnets(tenant) };
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { 'k8s.ovn.org/primary-user-defined-network': '', tenant: name } },
    },
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'ClusterUserDefinedNetwork',
      metadata: {
        name,
        labels: { meets: String(MEMBERS.includes(tenant)), shares: String(tenant !== APART) },
      },
      spec: {
        namespaceSelector: { matchLabels: { tenant: name } },
        network: { topology, [topology.toLowerCase()]: spec },
      },
    },
    ...nodes.map((nodeName, n) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: n === 0 ? 'client' : 'server', namespace: name, labels: { app: 'web' } },
      spec: { nodeName, containers: [{ name: 'web', image: 'web' }] },
    })),
    service,
    // As Kubernetes writes them: with addresses on the default network.
    ...(['IPv4', 'IPv6'] as const).map((addressType) => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: `web-${addressType.toLowerCase()}`,
        namespace: name,
        labels: {
          'kubernetes.io/service-name': 'web',
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        },
      },
      addressType,
      ports: PORTS.map(({ name: port, targetPort, protocol }) => ({
        name: port,
        port: targetPort,
        protocol,
      })),
      endpoints: [
        {
          addresses: [
            addressType === 'IPv4' ? `10.128.0.${tenant.number}` : `fd01::${tenant.number}`,
          ],
          nodeName: nodes[1],
          conditions: { ready: true },
          targetRef: { kind: 'Pod', namespace: name, name: 'server' },
        },
      ],
    })),
  ];
};

export const connect = (
  connectivity: readonly string[],
  selected: Readonly<Record<string, string>> = { meets: 'true' },
): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterNetworkConnect',
  metadata: { name: 'meeting' },
  spec: {
    connectSubnets: [
      { cidr: '192.168.0.0/16', networkPrefix: 24 },
      { cidr: 'fd68::/112', networkPrefix: 120 },
    ],
    connectivity,
    networkSelectors: [
      {
        networkSelectionType: 'ClusterUserDefinedNetworks',
        clusterUserDefinedNetworkSelector: { networkSelector: { matchLabels: selected } },
      },
    ],
  },
});
