/** Annotations of pods (reference/api.md §7.2). */
import { parseDocument } from 'yaml';
import type { Annotated, Reading } from './annotations.ts';
import {
  annotationOf,
  asAddress,
  asCidr,
  asInteger,
  asList,
  asMac,
  asName,
  asObject,
  formatEntries,
  ofPart,
  parseJson,
  problem,
  readAnnotation,
  readEntries,
} from './annotations.ts';
import { contains, withoutPrefix } from '../../allocators/addresses.ts';
import { formatValue } from '../validation/field-errors.ts';
import type { PlainObject } from '../plain-object.ts';
import type { Pod } from '../types.ts';
import { own } from '../plain-object.ts';
import { errorText } from '../error-text.ts';

export const POD_NETWORKS = 'k8s.ovn.org/pod-networks';
export const OPEN_DEFAULT_PORTS = 'k8s.ovn.org/open-default-ports';
export const REQUESTED_PRIMARY_UDN = 'k8s.ovn.org/requested-primary-udn';
/** What the pod asked for when it was created, where the cluster manager had to write it down: a JSON string, or `null` for nothing. */
export const REQUESTED_AT_CREATION = 'k8s.ovn.org/requested-primary-udn-at-creation';
/** Deprecated place of the claim of a primary network. */
export const PRIMARY_UDN_IPAM_CLAIM = 'k8s.ovn.org/primary-udn-ipamclaim';

const BY_MANAGER = 'delete the pod, so that its addresses are allocated again';
const BY_USER = 'correct or remove the annotation';
const BY_NEW_POD =
  'delete the pod and create it with another value: what it asks for later has no effect';

export type AttachmentRole = 'primary' | 'secondary' | 'infrastructure-locked';

export interface PodRoute {
  readonly dest: string;
  /** Absent for a route without gateway. */
  readonly nextHop?: string;
}

/** One interface of a pod. */
export interface PodNetwork {
  /** With prefix length; empty without IPAM. */
  readonly addresses: readonly string[];
  readonly macAddress: string;
  readonly gateways: readonly string[];
  readonly routes: readonly PodRoute[];
  /** Of a secondary network with a gateway: routes to its gateway routers, from which clients of services come. Older releases read no such key. */
  readonly serviceRoutes?: readonly PodRoute[];
  readonly ipv6LlaGateway?: string;
  /** Port tunnel key in a layer2 network. */
  readonly tunnelId?: number;
  readonly role?: AttachmentRole;
}

const isDefaultRoute = (dest: string): boolean => dest.endsWith('/0');

function addressesOf(entry: PlainObject): string[] {
  const list = own(entry, 'ip_addresses');
  if (list !== undefined && list !== null) return asList(list).map(asCidr);
  const single = own(entry, 'ip_address');
  return single === undefined || single === null || single === '' ? [] : [asCidr(single)];
}

function gatewaysOf(entry: PlainObject, addresses: readonly string[]): string[] {
  const list = own(entry, 'gateway_ips');
  const single = own(entry, 'gateway_ip');
  const gateways =
    list !== undefined && list !== null
      ? asList(list).map(asAddress)
      : single === undefined || single === null || single === ''
        ? []
        : [asAddress(single)];
  if (addresses.length === 1 && gateways.length > 1) {
    problem(`has one address but ${gateways.length} gateways`);
  }
  return gateways;
}

function routeOf(value: unknown): PodRoute {
  const route = asObject(value);
  const dest = asCidr(own(route, 'dest'));
  if (isDefaultRoute(dest))
    problem(`has the default route ${dest} in routes; it belongs to gateway_ips`);
  const nextHop = own(route, 'nextHop');
  return nextHop === undefined || nextHop === null || nextHop === ''
    ? { dest }
    : { dest, nextHop: asAddress(nextHop) };
}

function roleOf(value: unknown): Pick<PodNetwork, 'role'> {
  if (value === undefined || value === null || value === '') return {};
  if (value === 'primary' || value === 'secondary' || value === 'infrastructure-locked') {
    return { role: value };
  }
  return problem(
    `role must be "primary", "secondary" or "infrastructure-locked", is ${formatValue(value)}`,
  );
}

function podNetworkOf(value: unknown): PodNetwork {
  const entry = asObject(value);
  const addresses = addressesOf(entry);
  const lla = own(entry, 'ipv6_lla_gateway_ip');
  const tunnelId = own(entry, 'tunnel_id');
  const serviceRoutes = asList(own(entry, 'service_routes') ?? []).map(routeOf);
  return {
    addresses,
    macAddress: asMac(own(entry, 'mac_address')),
    gateways: gatewaysOf(entry, addresses),
    routes: asList(own(entry, 'routes') ?? []).map(routeOf),
    ...(serviceRoutes.length === 0 ? {} : { serviceRoutes }),
    ...(lla === undefined || lla === null || lla === '' ? {} : { ipv6LlaGateway: asAddress(lla) }),
    ...(tunnelId === undefined || tunnelId === null
      ? {}
      : { tunnelId: asInteger(tunnelId, 0, 32767) }),
    ...roleOf(own(entry, 'role')),
  };
}

/** Interfaces of a pod by NAD key: `default`, `<namespace>/<nad>`, `<namespace>/<nad>/<k>`. */
export const podNetworks = (pod: Annotated): Reading<ReadonlyMap<string, PodNetwork>> =>
  readEntries(pod, POD_NETWORKS, BY_MANAGER, podNetworkOf);

/**
 * Routes out of a secondary network by its gateway; none of another network. Its own range is where the pod's address is: what lies elsewhere is out of it. Where there
 * are any, all that has the pod's address there leaves by that gateway (decisions/secondary-services.md).
 */
export function leadingRoutes(network: PodNetwork): readonly PodRoute[] {
  const { role, addresses, routes, serviceRoutes = [] } = network;
  if (role !== 'secondary') return [];
  const isOwn = ({ dest }: PodRoute): boolean =>
    addresses.some((address) => contains(dest, withoutPrefix(address)));
  return [...routes.filter((route) => !isOwn(route)), ...serviceRoutes];
}

function podNetworkJson(network: PodNetwork): object {
  const { addresses, gateways, routes, serviceRoutes = [] } = network;
  const { ipv6LlaGateway, tunnelId, role } = network;
  const single = addresses.length === 1;
  return {
    ip_addresses: addresses,
    mac_address: network.macAddress,
    ...(gateways.length === 0 ? {} : { gateway_ips: gateways }),
    ...(routes.length === 0 ? {} : { routes }),
    ...(serviceRoutes.length === 0 ? {} : { service_routes: serviceRoutes }),
    ...(single ? { ip_address: addresses[0] } : {}),
    ...(single && gateways.length === 1 ? { gateway_ip: gateways[0] } : {}),
    ...(ipv6LlaGateway === undefined ? {} : { ipv6_lla_gateway_ip: ipv6LlaGateway }),
    ...(tunnelId === undefined || tunnelId === 0 ? {} : { tunnel_id: tunnelId }),
    ...(role === undefined ? {} : { role }),
  };
}

export const formatPodNetworks = (networks: ReadonlyMap<string, PodNetwork>): string | undefined =>
  formatEntries(networks, podNetworkJson);

/** A port of the default network that stays open on a pod with a primary user-defined network. */
export interface OpenPort {
  readonly protocol: 'tcp' | 'udp' | 'sctp' | 'icmp';
  /** Absent for icmp. */
  readonly port?: number;
}

function openPortOf(value: unknown): OpenPort {
  const entry = asObject(value);
  const protocol = own(entry, 'protocol');
  const port = own(entry, 'port');
  if (protocol === 'icmp') {
    return port === undefined ? { protocol } : problem('icmp has no port: remove "port"');
  }
  if (protocol !== 'tcp' && protocol !== 'udp' && protocol !== 'sctp') {
    return problem(`protocol must be tcp, udp, sctp or icmp, is ${formatValue(protocol)}`);
  }
  if (port === undefined || port === null) return problem(`${protocol} needs a "port"`);
  return { protocol, port: ofPart('port', () => asInteger(port, 0, 65535)) };
}

/** Many more than a pod has; each becomes part of an ACL. */
const MOST_OPEN_PORTS = 1000;
const LONGEST_OPEN_PORTS = 32 * 1024;

function parseYaml(text: string): unknown {
  try {
    const document = parseDocument(text, { stringKeys: true, prettyErrors: false });
    const [error] = document.errors;
    return error === undefined ? document.toJS({ maxAliasCount: 10 }) : problem(error.message);
  } catch (error) {
    return problem(`is not valid YAML: ${errorText(error)}`);
  }
}

export const openDefaultPorts = (pod: Annotated): Reading<readonly OpenPort[]> =>
  readAnnotation(pod, OPEN_DEFAULT_PORTS, BY_USER, (text) => {
    if (text.length > LONGEST_OPEN_PORTS)
      problem(`is longer than ${LONGEST_OPEN_PORTS} characters`);
    const list = asList(parseYaml(text) ?? []);
    if (list.length > MOST_OPEN_PORTS) problem(`has more than ${MOST_OPEN_PORTS} entries`);
    return list.map((entry, index) => ofPart(`entry ${index + 1}`, () => openPortOf(entry)));
  });

/** The primary network that a pod asks for, among several of its namespace: `<name>`, or `<namespace>/<name>`. */
/** What a pod asks for now, as written; null = nothing. */
export const requestText = (pod: Annotated): string | null =>
  annotationOf(pod, REQUESTED_PRIMARY_UDN) ?? null;

/** The primary network that a pod asks for; what it asked for when it was created counts (reference/api.md §8). */
export function requestedPrimaryUdn(pod: Annotated): Reading<string> {
  const first = readAnnotation(pod, REQUESTED_AT_CREATION, BY_NEW_POD, (text) => {
    const value = parseJson(text);
    return value === null || typeof value === 'string' ? value : problem('must be a text or null');
  });
  if (first.errors.length > 0) return { value: undefined, errors: first.errors };
  const text = first.value === undefined ? requestText(pod) : first.value;
  const annotations = text === null ? {} : { [REQUESTED_PRIMARY_UDN]: text };
  const asked = { ...pod, metadata: { ...pod.metadata, annotations } };
  return readAnnotation(asked, REQUESTED_PRIMARY_UDN, BY_NEW_POD, (name) =>
    name.trim().split('/').map(asName).join('/'),
  );
}

export const primaryUdnIpamClaim = (pod: Annotated): Reading<string> =>
  readAnnotation(pod, PRIMARY_UDN_IPAM_CLAIM, BY_USER, asName);

/** True for a pod that has no interface of ours and holds no addresses: on the host's network, or done with its work. */
export const isWithoutNetworks = ({ spec, status }: Pod): boolean =>
  spec.hostNetwork === true || status?.phase === 'Succeeded' || status?.phase === 'Failed';
