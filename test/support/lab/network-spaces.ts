/** Three namespaces, each with its pods on another kind of network: the default one, and a primary one of each layer, of both families. */
import { stringify } from 'yaml';
import type { Endpoint } from '../../../src/lab/connectivity.ts';
import { SERVER_PORT } from '../../../src/lab/pods.ts';

const NETWORKS = {
  plain: undefined,
  routed: {
    topology: 'Layer3',
    layer3: {
      role: 'Primary',
      subnets: [
        { cidr: '10.60.0.0/16', hostSubnet: 24 },
        { cidr: 'fd00:10:60::/48', hostSubnet: 64 },
      ],
    },
  },
  flat: {
    topology: 'Layer2',
    layer2: { role: 'Primary', subnets: ['10.61.0.0/16', 'fd00:10:61::/64'] },
  },
} as const;

export type Space = keyof typeof NETWORKS;
export const SPACES = Object.keys(NETWORKS) as readonly Space[];

/** The namespace, and its network. */
export function spaceObjects(
  namespace: Space,
  labels: Readonly<Record<string, string>> = {},
): readonly object[] {
  const spec = NETWORKS[namespace];
  const primary = spec === undefined ? {} : { 'k8s.ovn.org/primary-user-defined-network': '' };
  const space = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels: { ...labels, ...primary } },
  };
  if (spec === undefined) return [space];
  const metadata = { namespace, name: 'net' };
  return [space, { apiVersion: 'k8s.ovn.org/v1', kind: 'UserDefinedNetwork', metadata, spec }];
}

const REQUEST = 'k8s.ovn.org/requested-primary-udn';
/** What `routed` has besides: another primary network, of the other layer, with pods that ask for it. */
export const secondNetwork = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: { namespace: 'routed', name: 'second' },
  spec: {
    topology: 'Layer2',
    layer2: { role: 'Primary', subnets: ['10.62.0.0/16', 'fd00:10:62::/64'] },
  },
};
/** Called `<name>-second`, and labelled as the pod that has that name on the first network. */
export const podOnSecond = (nodeName: string, name: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    namespace: 'routed',
    name: `${name}-second`,
    labels: { app: name },
    annotations: { [REQUEST]: 'second' },
  },
  spec: { nodeName, containers: [{ name: 'main', image: 'box' }] },
});

const PAIR = 'pair';
const pairNetwork = (name: string, network: object): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterUserDefinedNetwork',
  metadata: { name },
  spec: { namespaceSelector: { matchLabels: { networks: PAIR } }, network },
});
const podOnPair = (nodeName: string, name: string, network: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: PAIR, name, labels: { app: name }, annotations: { [REQUEST]: network } },
  spec: { nodeName, containers: [{ name: 'main', image: 'box' }] },
});
/**
 * A namespace that two ClusterUserDefinedNetworks select, with the subnets of both networks of `routed` and so with addresses of its pods, and a pod of each
 * on each of two nodes.
 */
export const pairObjects = (labels: Readonly<Record<string, string>>): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: PAIR,
      labels: { ...labels, networks: PAIR, 'k8s.ovn.org/primary-user-defined-network': '' },
    },
  },
  pairNetwork('pair-first', NETWORKS.routed),
  pairNetwork('pair-second', secondNetwork.spec),
  ...(['first', 'second'] as const).flatMap((which) => [
    podOnPair('n1', `near-${which}`, `pair-${which}`),
    podOnPair('n2', `far-${which}`, `pair-${which}`),
  ]),
];

/** A space, or the second network of `routed`. */
export type Place = Space | 'second';
export const PLACES: readonly Place[] = [...SPACES, 'second'];
/** `<namespace>/<pod>` of the pod of that name there. */
export const podAt = (place: Place, name: string): string =>
  place === 'second' ? `routed/${name}-second` : `${place}/${name}`;

/** A pod, labelled `app` with its name if nothing else is said, on the first primary network of its namespace. */
export const podOn = (
  nodeName: string,
  namespace: string,
  name: string,
  annotations: Readonly<Record<string, string>> = {},
  app = name,
): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    namespace,
    name,
    labels: { app },
    annotations: namespace === 'routed' ? { ...annotations, [REQUEST]: 'net' } : annotations,
  },
  spec: { nodeName, containers: [{ name: 'main', image: 'box' }] },
});

/** Service `web` of a namespace, for the pod of that name. */
export const webService = (
  namespace: Space,
  pod: string,
  { clusterIp, nodePort }: { readonly clusterIp: string; readonly nodePort: number },
): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace, name: 'web' },
  spec: {
    type: 'NodePort',
    clusterIP: clusterIp,
    clusterIPs: [clusterIp],
    selector: { app: pod },
    ports: [{ name: 'web', port: 80, targetPort: SERVER_PORT, nodePort }],
  },
});

/** What is behind service `web` of a namespace: a pod, by its IPv4 address on the default network. */
export function webSlice({ pod: key, node, addresses }: Endpoint): object {
  const [namespace, name] = key.split('/');
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace,
      name: 'web',
      labels: {
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
    },
    addressType: 'IPv4',
    ports: [{ name: 'web', protocol: 'TCP', port: SERVER_PORT }],
    endpoints: [
      {
        addresses: addresses.slice(0, 1),
        nodeName: node,
        conditions: { ready: true },
        targetRef: { kind: 'Pod', namespace, name },
      },
    ],
  };
}

export const manifestsText = (all: readonly object[]): string =>
  all.map((one) => stringify(one)).join('---\n');
