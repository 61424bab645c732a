/** Services and EndpointSlices as an API server has them, and zones with what is read from them. */

import { endpointSlices, services } from '../../../src/api/kinds.ts';
import { objectKey, type KubeObject, type ResourceKind } from '../../../src/api/objects.ts';
import type { EndpointSlice, Service } from '../../../src/api/types.ts';
import { readStored } from '../../../src/api/validation/stored-object.ts';
import { readSlice } from '../../../src/model/read/endpoint-slices.ts';
import { readService } from '../../../src/model/read/services.ts';
import type { Zone, ZoneSlice } from './zones.ts';

const placeOf = (key: string): { namespace: string; name: string } => {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
};

const stored = <T extends KubeObject>(kind: ResourceKind<T>, object: unknown): T => {
  const reading = readStored(kind, object);
  if (reading.kind === 'invalid') throw new Error(reading.error);
  return reading.value;
};

/** A service of one TCP port 80 unless `spec` says otherwise. */
export const service = (
  key: string,
  spec: Readonly<Record<string, unknown>>,
  status: Readonly<Record<string, unknown>> = {},
): Service =>
  stored(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: placeOf(key),
    spec: { ports: [{ port: 80 }], ...spec },
    status,
  });

/** Address, or address and node, or all of an endpoint. */
export type EndpointText = string | Readonly<Record<string, unknown>>;

const endpointOf = (endpoint: EndpointText): Readonly<Record<string, unknown>> => {
  if (typeof endpoint !== 'string') return endpoint;
  const [address, nodeName] = endpoint.split(' on ');
  return { addresses: [address], ...(nodeName === undefined ? {} : { nodeName }) };
};

export interface SliceOptions {
  /** A primary network; the default network's slices are those of Kubernetes itself. */
  readonly network?: string;
  readonly ports?: readonly Readonly<Record<string, unknown>>[];
  /** Several slices of one service need names. */
  readonly name?: string;
}

/** A slice of a service: `10.0.0.3 on ovn-worker`. */
export const slice = (
  key: string,
  endpoints: readonly EndpointText[],
  { network, ports = [{ port: 8080 }], name = 'a' }: SliceOptions = {},
): EndpointSlice => {
  const { namespace, name: of } = placeOf(key);
  const found = endpoints.map(endpointOf);
  const [first] = (found[0]?.['addresses'] ?? []) as readonly string[];
  return stored(endpointSlices, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace,
      name: `${of}-${name}`,
      labels:
        network === undefined
          ? { 'kubernetes.io/service-name': of }
          : { 'k8s.ovn.org/service-name': of },
      annotations: network === undefined ? {} : { 'k8s.ovn.org/endpointslice-network': network },
    },
    addressType: first?.includes(':') === true ? 'IPv6' : 'IPv4',
    endpoints: found,
    ports,
  });
};

/** The zone with these services, and the slices that hold their endpoints. */
export const withServices = (
  zone: Zone,
  ...objects: readonly (Service | EndpointSlice)[]
): Zone => ({
  ...zone,
  services: objects.flatMap((object) =>
    object.kind === 'Service' ? (readService(object) ?? []) : [],
  ),
  endpointSlices: objects.flatMap((object): ZoneSlice[] => {
    const found = object.kind === 'EndpointSlice' ? readSlice(object) : undefined;
    return found === undefined ? [] : [{ ...found, name: objectKey(object.metadata) }];
  }),
});

/** A service with an address of the pool that `withPool` gives network blue_blue. */
export const pooledService: readonly (Service | EndpointSlice)[] = [
  service(
    'blue/pooled',
    {
      type: 'LoadBalancer',
      loadBalancerClass: 'k8s.ovn.org/udn-loadbalancer',
      clusterIPs: ['10.96.1.60'],
    },
    { loadBalancer: { ingress: [{ ip: '198.18.5.7', ipMode: 'VIP' }] } },
  ),
  slice('blue/pooled', ['103.103.0.3 on ovn-worker'], { network: 'blue_blue' }),
];

export const withPool = (zone: Zone): Zone => ({
  ...zone,
  networks: zone.networks.map((network) =>
    network.name === 'blue_blue' ? { ...network, servicePool: '198.18.5.0/28' } : network,
  ),
});

/** Services of every kind that makes a difference, on network blue_blue and on the default one. */
export const servicesOfAllKinds: readonly (Service | EndpointSlice)[] = [
  service('blue/web', { clusterIPs: ['10.96.1.1'] }),
  slice('blue/web', ['103.103.0.3 on ovn-worker', '103.103.1.5 on ovn-worker2'], {
    network: 'blue_blue',
  }),
  service(
    'blue/outside',
    {
      type: 'LoadBalancer',
      clusterIPs: ['10.96.1.2', 'fd00:10:96::1:2'],
      ports: [
        { name: 'http', port: 80, nodePort: 30080 },
        { name: 'dns', port: 53, nodePort: 30053, protocol: 'UDP' },
      ],
      externalTrafficPolicy: 'Local',
      sessionAffinity: 'ClientIP',
    },
    { loadBalancer: { ingress: [{ ip: '172.19.0.9' }] } },
  ),
  slice('blue/outside', ['103.103.0.3 on ovn-worker'], {
    network: 'blue_blue',
    ports: [
      { name: 'http', port: 8080 },
      { name: 'dns', port: 53, protocol: 'UDP' },
    ],
  }),
  service('default/kubernetes', { clusterIPs: ['10.96.0.1'] }),
  slice('default/kubernetes', ['172.18.0.3', '172.18.0.4'], { ports: [{ port: 6443 }] }),
  service('kube-system/agent', {
    type: 'NodePort',
    clusterIPs: ['10.96.0.7'],
    ports: [{ port: 80, nodePort: 30090 }],
  }),
  slice('kube-system/agent', ['172.18.0.3 on ovn-worker', '10.244.1.7 on ovn-worker2']),
];

const dnsPorts = [
  { name: 'dns', port: 53, protocol: 'UDP' },
  { name: 'dns-tcp', port: 53 },
];

/** The cluster's DNS service, with a pod of each node behind it. */
export const clusterDns: readonly (Service | EndpointSlice)[] = [
  service('kube-system/kube-dns', {
    clusterIPs: ['10.96.0.10', 'fd00:10:96::a'],
    ports: dnsPorts,
  }),
  slice('kube-system/kube-dns', ['10.244.0.8 on ovn-worker', '10.244.1.8 on ovn-worker2'], {
    ports: dnsPorts,
  }),
  slice('kube-system/kube-dns', ['fd00:10:244:1::8 on ovn-worker2'], {
    name: 'b',
    ports: dnsPorts,
  }),
];
