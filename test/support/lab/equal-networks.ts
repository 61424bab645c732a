/** Very many primary networks on one node, half of each layer, all with the same subnets: each with two pods, a service and a policy. */
import {
  probe,
  type Endpoint,
  type Probe,
  type ProbeResult,
} from '../../../src/lab/connectivity.ts';
import { SERVER_PORT } from '../../../src/lab/pods.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { service, sliceObjects } from './matrix-tenants.ts';

const SPECS = [
  {
    topology: 'Layer3',
    layer3: {
      role: 'Primary',
      subnets: [
        { cidr: '10.60.0.0/16', hostSubnet: 24 },
        { cidr: 'fd00:10:60::/48', hostSubnet: 64 },
      ],
    },
  },
  { topology: 'Layer2', layer2: { role: 'Primary', subnets: ['10.60.0.0/16', 'fd00:10:60::/64'] } },
] as const;

export const spaceName = (index: number): string => `s${index}`;

export const podIn = (index: number, name: string, nodeName: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: spaceName(index), name, labels: { app: name } },
  spec: { nodeName, containers: [{ name: 'main', image: 'box' }] },
});

/** The namespace, its network, pods `a` and `b`, and a policy by which `b` takes TCP from `a` and nothing else. */
export function equalNetwork(index: number, nodeName: string): readonly object[] {
  const namespace = spaceName(index);
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels: { 'k8s.ovn.org/primary-user-defined-network': '' } },
    },
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'UserDefinedNetwork',
      metadata: { namespace, name: 'net' },
      spec: SPECS[index % SPECS.length],
    },
    podIn(index, 'a', nodeName),
    podIn(index, 'b', nodeName),
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { namespace, name: 'from-a' },
      spec: {
        podSelector: { matchLabels: { app: 'b' } },
        ingress: [
          {
            from: [{ podSelector: { matchLabels: { app: 'a' } } }],
            ports: [{ protocol: 'TCP', port: SERVER_PORT }],
          },
        ],
      },
    },
  ];
}

/** Addresses of the service of a network, of both families. */
export const serviceIps = (index: number): readonly [string, string] => [
  `172.16.${2 + Math.floor(index / 200)}.${10 + (index % 200)}`,
  `fd00:10:96::${(0x1000 + index).toString(16)}`,
];

/** A service for pod `b`, and its slices with the addresses that `b` has on the default network. */
export function equalService(index: number, b: Endpoint): readonly object[] {
  const key = `${spaceName(index)}/web`;
  return [
    service(key, serviceIps(index), {
      selector: { app: 'b' },
      ports: [{ name: 'tcp', protocol: 'TCP', port: 80, targetPort: SERVER_PORT }],
    }),
    ...sliceObjects(key, [{ pod: b.pod, node: b.node, addresses: b.addresses }]),
  ];
}

/** So many at once, since each has its sockets. */
const AT_ONCE = 200;

/** The same as `probe`, some at a time. */
export async function probeMany(
  lab: LabRecord,
  probes: readonly Probe[],
  seconds: number,
): Promise<readonly ProbeResult[]> {
  const results: ProbeResult[] = [];
  for (let from = 0; from < probes.length; from += AT_ONCE)
    results.push(...(await probe(lab, probes.slice(from, from + AT_ONCE), seconds)));
  return results;
}
