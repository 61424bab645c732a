/** Random objects over the tenants of the matrix, and random packets of their pods to whatever has an address there. */
import type { SeededRandom } from '../run/seeded-random.ts';
import { OUTSIDE } from '../../../src/lab/node-facts.ts';
import { SERVER_PORT } from '../../../src/lab/pods.ts';
import type { Endpoint } from '../../../src/lab/connectivity.ts';
import type { Asking } from './explained-packets.ts';
import type { MatrixLab } from './matrix-lab.ts';
import {
  API,
  balanced,
  clusterIps,
  DNS,
  localPort,
  nodeAddresses,
  nodePort,
  NODES,
  podKey,
  PODS,
  SERVICES,
  TENANTS,
  type PodName,
  type ServiceName,
  type Tenant,
} from './matrix-tenants.ts';

const POD_NAMES = Object.keys(PODS) as PodName[];
const SERVICE_NAMES = Object.keys(SERVICES) as ServiceName[];

const networkPolicy = (random: SeededRandom, { name }: Tenant, index: number): object => {
  const pod = (): object => ({ matchLabels: { pod: random.pick(POD_NAMES) } });
  const peer = (): object =>
    random.pick([
      () => ({ podSelector: pod() }),
      () => ({ podSelector: {} }),
      () => ({
        namespaceSelector: { matchLabels: { tenant: random.pick(TENANTS).name } },
      }),
      () => ({ namespaceSelector: {}, podSelector: pod() }),
      () => ({
        ipBlock: {
          cidr: random.pick([
            '0.0.0.0/0',
            '::/0',
            `${OUTSIDE.v4}/32`,
            '10.0.0.0/8',
            '172.18.0.0/16',
          ]),
        },
      }),
    ])();
  const ports = (): object[] =>
    random.list(2, () => ({
      protocol: random.pick(['TCP', 'UDP']),
      port: random.pick([SERVER_PORT, 80]),
    }));
  const rules = (side: 'from' | 'to'): object[] =>
    random.list(2, () => ({ [side]: random.list(2, peer), ports: ports() }));
  const types = random.pick([['Ingress'], ['Egress'], ['Ingress', 'Egress']]);
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: `random-${index}`, namespace: name },
    spec: {
      podSelector: random.is(0.3) ? {} : pod(),
      policyTypes: types,
      ...(types.includes('Ingress') ? { ingress: rules('from') } : {}),
      ...(types.includes('Egress') ? { egress: rules('to') } : {}),
    },
  };
};

const firewall = (random: SeededRandom, { name }: Tenant): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  metadata: { name: 'default', namespace: name },
  spec: {
    egress: [...random.list(3, () => undefined), undefined].map(() => ({
      type: random.pick(['Allow', 'Deny']),
      to: {
        cidrSelector: random.pick([
          '0.0.0.0/0',
          '::/0',
          `${OUTSIDE.v4}/32`,
          `${OUTSIDE.v6}/128`,
          '172.18.0.0/16',
          '172.18.0.12/32',
        ]),
      },
      ...(random.is(0.4)
        ? { ports: [{ protocol: random.pick(['TCP', 'UDP']), port: SERVER_PORT }] }
        : {}),
    })),
  },
});

const egressIp = ({ name, number }: Tenant): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name: `random-${name}` },
  spec: {
    egressIPs: [`172.18.0.${200 + number}`],
    namespaceSelector: { matchLabels: { tenant: name } },
  },
});

const connect = (names: readonly string[], connectivity: readonly string[]): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterNetworkConnect',
  metadata: { name: 'random' },
  spec: {
    connectSubnets: [
      { cidr: '192.168.0.0/16', networkPrefix: 24 },
      { cidr: 'fd96::/112', networkPrefix: 120 },
    ],
    connectivity,
    networkSelectors: [
      {
        networkSelectionType: 'PrimaryUserDefinedNetworks',
        primaryUserDefinedNetworkSelector: {
          namespaceSelector: {
            matchExpressions: [{ key: 'tenant', operator: 'In', values: names }],
          },
        },
      },
    ],
  },
});

/** Policies, firewalls, egress addresses and a connection, as somebody might have them. */
export function randomObjects(random: SeededRandom): object[] {
  const some = (chance: number, of: (tenant: Tenant) => object): object[] =>
    TENANTS.filter(() => random.is(chance)).map(of);
  const joined = random.pick([
    undefined,
    connect(['layer3', 'layer2'], ['PodNetwork', 'ServiceNetwork']),
    connect(['layer2', 'cluster-wide'], ['PodNetwork']),
    connect(['layer2', 'layer3-twin'], ['ServiceNetwork']),
    connect(['layer3', 'layer3-twin'], ['ServiceNetwork']),
  ]);
  return [
    ...TENANTS.flatMap((tenant) =>
      random.list(2, () => undefined).map((_, index) => networkPolicy(random, tenant, index)),
    ),
    ...some(0.4, (tenant) => firewall(random, tenant)),
    ...some(0.4, egressIp),
    ...(joined === undefined ? [] : [joined]),
  ];
}

/** A packet of some pod, to a pod, a service, a node, a load balancer or the host outside. */
export function randomAsking(random: SeededRandom, matrix: MatrixLab): Asking {
  const tenant = random.pick(TENANTS);
  const from = matrix.endOf(tenant, random.pick(POD_NAMES));
  // Mostly of its own network: the others are apart.
  const other = random.is(0.5) ? tenant : random.pick(TENANTS);
  const protocol = random.pick(['tcp', 'udp'] as const);
  const family = random.pick([0, 1]);
  const ask = (destination: string, port: number, server?: string): Asking => ({
    from,
    destination,
    port,
    protocol,
    ...(server === undefined ? {} : { server }),
  });
  const addressOf = (end: Endpoint | undefined): string => end?.addresses[family] ?? '';
  const toPod = (): Asking => {
    const pod = podKey(other, random.pick(POD_NAMES));
    return pod === from.pod ? toPod() : ask(pod, SERVER_PORT, pod);
  };
  const toAddress = (): Asking => {
    const pod = podKey(other, random.pick(POD_NAMES));
    if (pod === from.pod) return toAddress();
    const end = random.is(0.7)
      ? matrix.endOf(other, POD_NAMES.find((one) => podKey(other, one) === pod) ?? 'on-n1')
      : matrix.onDefault.get(pod);
    return from.addresses.includes(addressOf(end)) ? toAddress() : ask(addressOf(end), SERVER_PORT);
  };
  const name = random.pick(SERVICE_NAMES);
  const node = random.pick(NODES);
  return random.pick([
    toPod,
    toAddress,
    () => ask(`svc/${other.name}/${name}`, 80),
    () => ask(clusterIps(other, name)[family as 0 | 1], 80),
    () => ask(nodeAddresses(node)[family as 0 | 1], nodePort(other)),
    () => ask(nodeAddresses(node)[family as 0 | 1], localPort(other)),
    () => ask(nodeAddresses(node)[family as 0 | 1], SERVER_PORT),
    () => ask(family === 0 ? OUTSIDE.v4 : OUTSIDE.v6, SERVER_PORT),
    () => ask(balanced(other), 80),
    () => ask(API.ips[family as 0 | 1], 443),
    () => ask(DNS.ips[family as 0 | 1], 80),
  ])();
}
