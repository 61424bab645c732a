/** Service objects → what load balancers are made from; and which networks a service is on. Pure. */
import { askedServiceNetwork } from '../../api/annotations/service-network.ts';
import { isServedByOthers } from '../../api/annotations/proxy-labels.ts';
import { isOfNetworkPool } from '../../api/annotations/service-annotations.ts';
import { services } from '../../api/kinds.ts';
import type { Protocol, Service } from '../../api/types.ts';
import type { ServiceLimits } from '../model.ts';
import type { ObjectKind } from './object-kind.ts';
import { found } from './reading.ts';
import { unheeded } from './unheeded.ts';

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
  /** Those of its network's pool: pods reach it by them, nobody outside does. */
  readonly poolIps: readonly string[];
  readonly ports: readonly ServicePort[];
  /** Traffic from outside goes to endpoints of the node that it comes to. */
  readonly isExternallyLocal: boolean;
  /** Traffic to cluster IPs goes to endpoints of the node that it comes from. */
  readonly isInternallyLocal: boolean;
  /** Seconds for which a client stays with an endpoint; absent without affinity. */
  readonly affinity?: number;
  /** Endpoints count whether they are ready or not. */
  readonly takesUnready: boolean;
  /** Somebody outside may give it an address there. */
  readonly isLoadBalancer: boolean;
  /** It can be reached at the nodes' addresses, or at addresses that are routed to nodes. */
  readonly isExposed: boolean;
  /** Port on nodes that tells load balancers whether the node has endpoints; absent unless only those take traffic from outside. */
  readonly healthCheckNodePort?: number;
}

/** Seconds of client affinity where a service says none. */
const DEFAULT_AFFINITY = 10_800;

/** A service as its object says it is. Which of its external addresses it may have is decided by `admitService`. */
export interface DeclaredService {
  /** Within the limits: what costs too much is left out. */
  readonly facts: ServiceFacts;
  /** What its annotation says of the network that its endpoints are on; absent for one that is where its namespace is. */
  readonly askedNetwork?: string;
  /** Labels of the pods behind it; none where others say which endpoints it has. */
  readonly selector: Readonly<Record<string, string>>;
  /** Addresses that its load balancer gave it. */
  readonly ingress: readonly string[];
  /** When it was created, as the object says it. */
  readonly created: string;
  /** What of it costs more than a service may, and what is left out therefore. */
  readonly excess?: string;
}

/** What a service is; undefined for one without cluster IPs (headless, an external name, or not allocated yet), and for one that others serve. */
export function readService(service: Service): ServiceFacts | undefined {
  const { metadata, spec, status } = service;
  const { name, namespace = '' } = metadata;
  const clusterIps = spec.clusterIPs;
  if (spec.type === 'ExternalName' || clusterIps.length === 0) return undefined;
  if (isServedByOthers(service)) return undefined;
  const isPooled = isOfNetworkPool(service);
  const isLoadBalancer = spec.type === 'LoadBalancer' && !isPooled;
  const ingress = isLoadBalancer || isPooled ? (status?.loadBalancer?.ingress ?? []) : [];
  // Of an ingress in mode `Proxy` the packets have been translated before they get here.
  const given = ingress.flatMap(({ ip, ipMode = 'VIP' }) =>
    ip !== undefined && ipMode === 'VIP' ? ip : [],
  );
  const externalIps = [...(spec.externalIPs ?? []), ...(isPooled ? [] : given)];
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
  const facts = {
    key: `${namespace}/${name}`,
    namespace,
    name,
    clusterIps: [...new Set(clusterIps)],
    externalIps: [],
    poolIps: isPooled ? [...new Set(given)].filter((ip) => !clusterIps.includes(ip)) : [],
    ports,
    isExternallyLocal,
    isInternallyLocal: spec.internalTrafficPolicy === 'Local',
    ...(isAffine
      ? { affinity: spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? DEFAULT_AFFINITY }
      : {}),
    takesUnready: spec.publishNotReadyAddresses ?? false,
    isLoadBalancer,
    isExposed: false,
    ...(isLoadBalancer && isExternallyLocal && healthCheckNodePort !== undefined
      ? { healthCheckNodePort }
      : {}),
  };
  return withExternalIps(
    facts,
    [...new Set(externalIps)].filter((ip) => !clusterIps.includes(ip)),
  );
}

/** What a service asks for. `limits`: what one service may cost every node. */
function declareService(service: Service, limits: ServiceLimits): DeclaredService | undefined {
  const facts = readService(service);
  if (facts === undefined) return undefined;
  const ingress = (service.status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []);
  const askedNetwork = askedServiceNetwork(service);
  const declared = {
    facts,
    ingress,
    ...(askedNetwork === undefined ? {} : { askedNetwork }),
    selector: service.spec.selector ?? {},
    created: service.metadata.creationTimestamp ?? '',
  };
  const { clusterIps, externalIps, poolIps, ports } = facts;
  const addresses = clusterIps.length + externalIps.length + poolIps.length;
  const limit = `one service may have ${limits.entries} (--max-service-entries)`;
  const costOf = (addresses: number): string =>
    `${addresses} addresses with ${ports.length} ports each are ${addresses * ports.length}, ${limit}`;
  if (clusterIps.length * ports.length > limits.entries)
    return {
      ...declared,
      facts: { ...facts, externalIps: [], poolIps: [], ports: [], isExposed: false },
      ingress: [],
      excess: `spec.ports: ${costOf(clusterIps.length)}: none of it is served; spread the ports over several services`,
    };
  if (addresses * ports.length > limits.entries)
    return {
      ...declared,
      facts: { ...withExternalIps(facts, []), poolIps: [] },
      ingress: [],
      excess: `spec.externalIPs and status.loadBalancer.ingress: ${costOf(addresses)}: none of its external addresses leads to it; spread them over several services`,
    };
  return declared;
}

/** The service with those external addresses alone. */
export const withExternalIps = (
  service: ServiceFacts,
  externalIps: readonly string[],
): ServiceFacts => ({
  ...service,
  externalIps,
  isExposed:
    service.isLoadBalancer ||
    externalIps.length > 0 ||
    service.ports.some(({ nodePort }) => nodePort !== undefined),
});

/** Where a service is: on the secondary network that it names, else on its namespace's primary networks, or on the cluster default network. */
export interface ServiceNetworks {
  readonly service: string;
  readonly networks: readonly string[];
  /** They are one that its annotation names. */
  readonly isSecondary?: true;
  /** Why it is not where it asks to be. */
  readonly refused?: string;
  readonly isExposed: boolean;
  /** It has addresses of a pool. */
  readonly isPooled: boolean;
}

export const serviceKind = {
  kind: services,
  table: 'declaredServices',
  read: (service, { settings }) => found(declareService(service, settings.serviceLimits)),
  onUnreadable: 'keep',
  checks: [
    unheeded({
      'k8s.ovn.org/idled-at':
        'wakes no service: connections to it are rejected while it has no endpoints, so scale its pods up',
    }),
  ],
} as const satisfies ObjectKind<Service, DeclaredService>;
