/** Services and ports of nodes that pods have: on which networks they are, and which addresses are theirs. */
import { isOfNetworkPool } from '../../api/annotations/service-annotations.ts';
import {
  askedServiceNetwork,
  serviceNetwork,
  type ServiceNetwork,
  type ServiceNetworkContext,
} from '../../api/annotations/service-network.ts';
import { serviceOfSlice } from '../../api/annotations/endpoint-slice-annotations.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import { objectKey } from '../../api/objects.ts';
import type { Pod, Service } from '../../api/types.ts';
import type { Objects } from '../snapshot.ts';
import type { Intent } from './intent.ts';

export interface VerifiedService {
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly networks: ReadonlySet<string>;
  readonly clusterAddresses: readonly string[];
  readonly externalAddresses: readonly string[];
  /** Of the pool of its network: on another network they are others'. */
  readonly poolAddresses: readonly string[];
  readonly nodePorts: ReadonlySet<number>;
  readonly ports: ReadonlySet<number>;
  /** Its ports, and those that it has at nodes, as `tcp 80`. */
  readonly opens: ReadonlySet<string>;
  readonly opensAtNodes: ReadonlySet<string>;
}

/** Somebody who is reached by an address and port of the node. */
interface NodePortUser {
  readonly object: string;
  readonly networks: ReadonlySet<string>;
}

export interface VerifiedServices {
  readonly byKey: ReadonlyMap<string, VerifiedService>;
  readonly byClusterAddress: ReadonlyMap<string, VerifiedService>;
  /** Services of a network that say that an address of its pool is theirs. */
  byPoolAddress(network: string, address: string): readonly VerifiedService[];
  /** Addresses of endpoints of a service on a network. */
  endpoints(network: string, service: string): ReadonlySet<string>;
  /** These with their ports, as `10.20.0.3 tcp 8080`; of one of all ports as `10.20.0.3`. */
  endpointPorts(network: string, service: string): ReadonlySet<string>;
  /** Who is reached by a port of the node, or an external address and port. */
  usersOf(address: string | undefined, port: number): readonly NodePortUser[];
  /** Ports of the node that a pod has, by `<namespace>/<pod>`. */
  readonly hostPorts: ReadonlyMap<string, NodePortUser>;
}

const NOBODY: ReadonlySet<string> = new Set();

export function servicesOf(objects: Objects, intent: Intent): VerifiedServices {
  const primaries = new Map<string, Set<string>>();
  for (const { name, role, namespaces } of intent.networks)
    if (role === 'primary')
      for (const namespace of namespaces)
        primaries.set(namespace, (primaries.get(namespace) ?? new Set()).add(name));
  const byNad = new Map(
    intent.networks.flatMap((network) => network.nads.map((nad) => [nad, network] as const)),
  );
  const networkOf = (nad: string): ServiceNetwork | undefined => {
    const network = byNad.get(nad);
    return network && { ...network, isOptedIn: network.hasGateway };
  };
  const byKey = new Map<string, VerifiedService>();
  const byClusterAddress = new Map<string, VerifiedService>();
  const sorted = objects.services.toSorted((a, b) =>
    objectKey(a.metadata) < objectKey(b.metadata) ? -1 : 1,
  );
  for (const service of sorted) {
    const one = verifiedService(service, networksOf(service, primaries, networkOf));
    byKey.set(one.key, one);
    for (const address of one.clusterAddresses) byClusterAddress.set(address, one);
  }
  const byPool = new Map<string, VerifiedService[]>();
  for (const service of byKey.values())
    for (const network of service.networks)
      for (const address of service.poolAddresses) {
        const place = `${network} ${address}`;
        byPool.set(place, [...(byPool.get(place) ?? []), service]);
      }
  const endpoints = new Map<string, Set<string>>();
  const endpointPorts = new Map<string, Set<string>>();
  for (const slice of objects.slices) {
    const of = serviceOfSlice(slice);
    if (of === undefined) continue;
    const key = `${of.network} ${of.service}`;
    const addresses = endpoints.get(key) ?? new Set<string>();
    const ends = endpointPorts.get(key) ?? new Set<string>();
    for (const { addresses: found = [] } of slice.endpoints ?? [])
      for (const address of found) {
        addresses.add(address);
        // Without a number it is for all ports (discovery.k8s.io/v1).
        for (const { port, protocol } of slice.ports ?? [{}])
          ends.add(port === undefined ? address : `${address} ${portText(protocol, port)}`);
      }
    endpoints.set(key, addresses);
    endpointPorts.set(key, ends);
  }
  const byNodePort = new Map<number, NodePortUser[]>();
  const byExternal = new Map<string, NodePortUser[]>();
  for (const service of byKey.values()) {
    const user = { object: `Service ${service.key}`, networks: service.networks };
    for (const port of service.nodePorts) append(byNodePort, port, user);
    for (const address of service.externalAddresses)
      for (const port of service.ports) append(byExternal, `${address} ${port}`, user);
  }
  const hostPorts = new Map<string, NodePortUser>();
  for (const [key, { user, ports }] of hostPortsOf(objects, intent)) {
    hostPorts.set(key, user);
    for (const port of ports) append(byNodePort, port, user);
  }
  return {
    byKey,
    byClusterAddress,
    byPoolAddress: (network, address) => byPool.get(`${network} ${address}`) ?? [],
    endpoints: (network, service) => endpoints.get(`${network} ${service}`) ?? NOBODY,
    endpointPorts: (network, service) => endpointPorts.get(`${network} ${service}`) ?? NOBODY,
    usersOf: (address, port) => [
      ...(byNodePort.get(port) ?? []),
      ...(address === undefined ? [] : (byExternal.get(`${address} ${port}`) ?? [])),
    ],
    hostPorts,
  };
}

const append = <K>(map: Map<K, NodePortUser[]>, key: K, user: NodePortUser): void => {
  map.set(key, [...(map.get(key) ?? []), user]);
};

const portText = (protocol = 'TCP', port: number): string => `${protocol.toLowerCase()} ${port}`;

/** The secondary network that a service names, if it can be there, else those of its namespace. */
function networksOf(
  service: Service,
  primaries: ReadonlyMap<string, ReadonlySet<string>>,
  networkOf: ServiceNetworkContext['networkOf'],
): ReadonlySet<string> {
  const { namespace = '' } = service.metadata;
  const asked = askedServiceNetwork(service);
  if (asked === undefined) return primaries.get(namespace) ?? new Set([DEFAULT_NETWORK]);
  const found = serviceNetwork(asked, namespace, { secondaryGateways: true, networkOf });
  return found.kind === 'value' ? new Set([found.value]) : NOBODY;
}

function verifiedService(
  { metadata, spec, status }: Service,
  networks: ReadonlySet<string>,
): VerifiedService {
  const ports = spec.ports ?? [];
  const ingress = (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []);
  const isPooled = isOfNetworkPool({ spec });
  return {
    key: objectKey(metadata),
    networks,
    clusterAddresses: spec.clusterIPs,
    externalAddresses: [...(spec.externalIPs ?? []), ...(isPooled ? [] : ingress)],
    poolAddresses: isPooled ? ingress : [],
    nodePorts: new Set(ports.flatMap(({ nodePort }) => (nodePort === undefined ? [] : [nodePort]))),
    ports: new Set(ports.map(({ port }) => port)),
    opens: new Set(ports.map(({ port, protocol }) => portText(protocol, port))),
    opensAtNodes: new Set(
      ports.flatMap(({ nodePort, protocol }) =>
        nodePort === undefined ? [] : [portText(protocol, nodePort)],
      ),
    ),
  };
}

export const hostPortNumbers = (pod: Pod): readonly number[] =>
  (pod.spec.containers ?? [])
    .flatMap(({ ports: all = [] }) => all)
    .flatMap(({ hostPort }) => (hostPort === undefined ? [] : [hostPort]));

function hostPortsOf(
  { pods }: Objects,
  intent: Intent,
): ReadonlyMap<string, { readonly user: NodePortUser; readonly ports: readonly number[] }> {
  const found = new Map<string, { user: NodePortUser; ports: readonly number[] }>();
  for (const pod of pods) {
    const ports = hostPortNumbers(pod);
    if (ports.length === 0 || pod.spec.nodeName !== intent.node) continue;
    const key = objectKey(pod.metadata);
    const primary = intent.portsOfPod(key).filter(({ role }) => role === 'primary');
    const networks = new Set(
      primary.length === 0 ? [DEFAULT_NETWORK] : primary.map(({ network }) => network),
    );
    found.set(key, { user: { object: `Pod ${key}`, networks }, ports });
  }
  return found;
}
