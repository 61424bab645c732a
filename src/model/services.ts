/** Service objects → what load balancers are made from; and which networks a service is on. Pure. */
import { isServedByOthers } from '../api/annotations/proxy-labels.ts';
import type { Protocol, Service } from '../api/types.ts';

/** A port of a service; `name` is what slices call it. */
export interface ServicePort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** Absent without a node port. */
  readonly nodePort?: number;
}

/** A service with cluster IPs. */
export interface ServiceFacts {
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly clusterIps: readonly string[];
  /** External IPs, and those of its load balancer. */
  readonly externalIps: readonly string[];
  readonly ports: readonly ServicePort[];
  /** Traffic from outside goes to endpoints of the node that it comes to. */
  readonly isExternallyLocal: boolean;
  /** Traffic to cluster IPs goes to endpoints of the node that it comes from. */
  readonly isInternallyLocal: boolean;
  /** Seconds for which a client stays with an endpoint; absent without affinity. */
  readonly affinity?: number;
  /** Endpoints count whether they are ready or not. */
  readonly takesUnready: boolean;
  /** It can be reached at the nodes' addresses, or at addresses that are routed to nodes. */
  readonly isExposed: boolean;
  /** Port on nodes that tells load balancers whether the node has endpoints; absent unless only those take traffic from outside. */
  readonly healthCheckNodePort?: number;
}

/** Seconds of client affinity where a service says none. */
const DEFAULT_AFFINITY = 10_800;

/** What a service is; undefined for one without cluster IPs (headless, an external name, or not allocated yet), and for one that others serve. */
export function readService(service: Service): ServiceFacts | undefined {
  const { metadata, spec, status } = service;
  const { name, namespace = '' } = metadata;
  const clusterIps = spec.clusterIPs;
  if (spec.type === 'ExternalName' || clusterIps.length === 0) return undefined;
  if (isServedByOthers(service)) return undefined;
  const isLoadBalancer = spec.type === 'LoadBalancer';
  const ingress = isLoadBalancer ? (status?.loadBalancer?.ingress ?? []) : [];
  const externalIps = [
    ...(spec.externalIPs ?? []),
    // Of an ingress in mode `Proxy` the packets have been translated before they get here.
    ...ingress.flatMap(({ ip, ipMode = 'VIP' }) =>
      ip !== undefined && ipMode === 'VIP' ? ip : [],
    ),
  ];
  const ports = (spec.ports ?? []).map(
    ({ name: portName = '', protocol = 'TCP', port, nodePort }): ServicePort => ({
      name: portName,
      protocol,
      port,
      ...(nodePort === undefined ? {} : { nodePort }),
    }),
  );
  const isAffine = spec.sessionAffinity === 'ClientIP';
  const isExternallyLocal = spec.externalTrafficPolicy === 'Local';
  const { healthCheckNodePort } = spec;
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    clusterIps: [...new Set(clusterIps)],
    externalIps: [...new Set(externalIps)].filter((ip) => !clusterIps.includes(ip)),
    ports,
    isExternallyLocal,
    isInternallyLocal: spec.internalTrafficPolicy === 'Local',
    ...(isAffine
      ? { affinity: spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? DEFAULT_AFFINITY }
      : {}),
    takesUnready: spec.publishNotReadyAddresses ?? false,
    isExposed:
      isLoadBalancer ||
      externalIps.length > 0 ||
      ports.some(({ nodePort }) => nodePort !== undefined),
    ...(isLoadBalancer && isExternallyLocal && healthCheckNodePort !== undefined
      ? { healthCheckNodePort }
      : {}),
  };
}

/** Where a service is: on its namespace's primary networks, or on the cluster default network. */
export interface ServiceNetworks {
  readonly service: string;
  readonly networks: readonly string[];
  readonly isExposed: boolean;
}
