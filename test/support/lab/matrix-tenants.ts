/** The objects of the end-to-end matrix: a tenant for each kind of network, each with the same pods and services. */
import { SERVER_PORT } from '../../../src/lab/pods.ts';

export const NODES = ['n1', 'n2', 'n3'] as const;
export type NodeName = (typeof NODES)[number];

export interface Tenant {
  /** Of the network, and of the namespace that has its services. */
  readonly name: string;
  /** Absent for the cluster default network. */
  readonly topology?: 'Layer2' | 'Layer3';
  /** Second number of its subnet. */
  readonly subnet: number;
  /** Namespace of the pod on the last node, where the network has a second one. */
  readonly second?: string;
  /** Last number of its ports and addresses. */
  readonly number: number;
}
export const TENANTS: readonly Tenant[] = [
  { name: 'default-net', subnet: 128, number: 1 },
  { name: 'layer3', topology: 'Layer3', subnet: 20, number: 2 },
  // The subnet of the one before, so that its pods have the same addresses.
  { name: 'layer3-twin', topology: 'Layer3', subnet: 20, number: 3 },
  { name: 'layer2', topology: 'Layer2', subnet: 30, number: 4 },
  { name: 'cluster-wide', topology: 'Layer3', subnet: 40, second: 'second', number: 5 },
];

/** `beside` shares n1 with `on-n1`. */
export const PODS = { 'on-n1': 'n1', beside: 'n1', 'on-n2': 'n2', 'on-n3': 'n3' } as const;
export type PodName = keyof typeof PODS;

/** `<namespace>/<pod>`. */
export const podKey = ({ name, second }: Tenant, pod: PodName): string =>
  `${pod === 'on-n3' ? (second ?? name) : name}/${pod}`;

export const nodeAddresses = (node: NodeName): readonly [string, string] => {
  const last = 10 + Number(node.slice(1));
  return [`172.18.0.${last}`, `fd00:172:18::${last}`];
};

/** Services of each tenant; what they are for is in the matrix. */
export const SERVICES = {
  all: { hundred: 0, endpoints: ['on-n2'] },
  spread: { hundred: 40, endpoints: ['on-n1', 'on-n2', 'on-n3'] },
  sticky: { hundred: 80, endpoints: ['on-n1', 'on-n2', 'on-n3'] },
  inside: { hundred: 120, endpoints: ['on-n2'] },
  local: { hundred: 160, endpoints: ['on-n2'] },
} as const satisfies Record<string, { hundred: number; endpoints: readonly PodName[] }>;
export type ServiceName = keyof typeof SERVICES;

export const clusterIps = ({ number }: Tenant, service: ServiceName): readonly [string, string] => {
  const last = SERVICES[service].hundred + number + 20;
  return [`172.16.1.${last}`, `fd00:10:96::${last}`];
};
export const nodePort = ({ number }: Tenant): number => 30_080 + number;
export const localPort = ({ number }: Tenant): number => 30_180 + number;
export const healthPort = ({ number }: Tenant): number => 32_080 + number;
/** Of the load balancer; the outside host has a route to it by one node. */
export const balanced = ({ number }: Tenant): string => `203.0.113.${number}`;

/** What every cluster has on its default network, and what pods of primary networks reach all the same. */
export const API = { ips: ['172.16.1.1', 'fd00:10:96::1'], node: 'n1' } as const;
export const DNS = { ips: ['172.16.1.10', 'fd00:10:96::a'], pod: 'kube-system/dns' } as const;

const namespace = (name: string, labels: object): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});

const pod = (key: string, nodeName: NodeName): object => {
  const [namespaceName, name] = key.split('/');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: namespaceName, labels: { pod: name } },
    spec: { nodeName, containers: [{ name: 'web', image: 'web' }] },
  };
};

function network(
  { name, topology, subnet, second }: Tenant,
  labels: Readonly<Record<string, string>>,
): object[] {
  if (topology === undefined) return [];
  const subnets =
    topology === 'Layer2'
      ? [`10.${subnet}.0.0/16`, `fd${subnet}::/64`]
      : [
          { cidr: `10.${subnet}.0.0/16`, hostSubnet: 24 },
          { cidr: `fd${subnet}::/48`, hostSubnet: 64 },
        ];
  const spec = { topology, [topology.toLowerCase()]: { role: 'Primary', subnets } };
  if (second === undefined)
    return [
      {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'UserDefinedNetwork',
        metadata: { name: 'net', namespace: name, labels },
        spec,
      },
    ];
  return [
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'ClusterUserDefinedNetwork',
      metadata: { name, labels },
      spec: { namespaceSelector: { matchLabels: { tenant: name } }, network: spec },
    },
  ];
}

/** A tenant's namespaces, network with these labels, and pods. */
export function tenantObjects(
  tenant: Tenant,
  networkLabels: Readonly<Record<string, string>> = {},
): object[] {
  const { name, topology, second } = tenant;
  const labels = {
    tenant: name,
    ...(topology === undefined ? {} : { 'k8s.ovn.org/primary-user-defined-network': '' }),
  };
  return [
    ...[name, ...(second === undefined ? [] : [second])].map((one) => namespace(one, labels)),
    ...network(tenant, networkLabels),
    ...Object.entries(PODS).map(([one, node]) => pod(podKey(tenant, one as PodName), node)),
  ];
}

/** The namespaces of the API server's service and of DNS, and the pod of DNS. */
export const systemObjects = (dnsNode: NodeName): readonly object[] => [
  namespace('default', {}),
  namespace('kube-system', {}),
  pod(DNS.pod, dnsNode),
];

const DUAL = { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' };

export const service = (key: string, ips: readonly string[], spec: object, status = {}): object => {
  const [namespaceName, name] = key.split('/');
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: namespaceName },
    spec: { ...DUAL, clusterIP: ips[0], clusterIPs: ips, ...spec },
    status,
  };
};

/** Each protocol on port 80. */
export const PORTS = ['TCP', 'UDP'].map((protocol) => ({
  name: protocol.toLowerCase(),
  port: 80,
  targetPort: SERVER_PORT,
  protocol,
}));

/** A tenant's services. */
export function serviceObjects(tenant: Tenant): object[] {
  const of = (name: ServiceName, spec: object, status = {}): object =>
    service(`${tenant.name}/${name}`, clusterIps(tenant, name), spec, status);
  const [tcp] = PORTS;
  const affinity = {
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } },
  };
  return [
    of('all', {
      type: 'NodePort',
      ports: PORTS.map((port) => ({ ...port, nodePort: nodePort(tenant) })),
    }),
    of('spread', { ports: PORTS }),
    of('sticky', { ports: PORTS, ...affinity }),
    of('inside', { ports: PORTS, internalTrafficPolicy: 'Local' }),
    of(
      'local',
      {
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: healthPort(tenant),
        ports: [{ ...tcp, nodePort: localPort(tenant) }],
      },
      { loadBalancer: { ingress: [{ ip: balanced(tenant) }] } },
    ),
  ];
}

/** A pod, a node where it has no name, or a host outside where it has no node, behind a service. */
export interface ServiceEndpoint {
  readonly pod?: string;
  readonly node?: string;
  readonly addresses: readonly string[];
}

/** The slices of a service as Kubernetes writes them: with addresses on the default network. */
export const sliceObjects = (key: string, endpoints: readonly ServiceEndpoint[]): object[] => {
  const [namespaceName, name] = key.split('/');
  return (['IPv4', 'IPv6'] as const).map((addressType, n) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-${addressType.toLowerCase()}`,
      namespace: namespaceName,
      labels: {
        'kubernetes.io/service-name': name,
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
    },
    addressType,
    ports: ['TCP', 'UDP'].map((protocol) => ({
      name: protocol.toLowerCase(),
      port: SERVER_PORT,
      protocol,
    })),
    endpoints: endpoints.flatMap(({ pod: target, node, addresses }) => {
      const address = addresses[n];
      if (address === undefined) return [];
      const [ns, podName] = target?.split('/') ?? [];
      return {
        addresses: [address],
        ...(node === undefined ? {} : { nodeName: node }),
        conditions: { ready: true },
        ...(target === undefined
          ? {}
          : { targetRef: { kind: 'Pod', namespace: ns, name: podName } }),
      };
    }),
  }));
};

/** The API server's service, and that of DNS, with the addresses of the pod behind it. */
export const systemServices = (dns: ServiceEndpoint): readonly object[] => [
  service('default/kubernetes', API.ips, {
    ports: [{ name: 'tcp', port: 443, targetPort: SERVER_PORT, protocol: 'TCP' }],
  }),
  service('kube-system/kube-dns', DNS.ips, { ports: PORTS }),
  ...sliceObjects('default/kubernetes', [{ node: API.node, addresses: nodeAddresses(API.node) }]),
  ...sliceObjects('kube-system/kube-dns', [dns]),
];

/** Lets in the tenant's own pod on n1 alone. */
export const policyObject = ({ name }: Tenant): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'one', namespace: name },
  spec: {
    podSelector: { matchLabels: { pod: 'on-n2' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { pod: 'on-n1' } } }] }],
  },
});
