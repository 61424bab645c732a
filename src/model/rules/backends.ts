/** Which endpoints take a service's traffic on a network, as load balancers list them. Pure. */
import { FAMILIES, familyOf, withinAny } from '../../allocators/addresses.ts';
import type { Endpoint, SliceFacts } from '../read/endpoint-slices.ts';
import type { ServiceLimits } from '../model.ts';
import type { ServiceFacts, ServicePort } from '../read/services.ts';

/** Targets of a family as text, `<address>:<port>,…` in the order of the addresses; empty: none. */
export interface Targets {
  readonly v4: string;
  readonly v6: string;
}

export interface PortBackends {
  /** Those for clients of this node, as their hints say. */
  readonly all: Targets;
  /** Those for clients of any node: who is elsewhere may go on with them. */
  readonly anywhere: Targets;
  /** Those on the network itself: a gateway router gets no replies from pods of another one. */
  readonly own: Targets;
  /** Those of this node; the same as `all` for a service that makes no difference. */
  readonly local: Targets;
  /** Those of this node on the network itself. */
  readonly ownLocal: Targets;
  /** All that there are, also those that take nobody new: of SCTP, whose associations outlast that. */
  readonly listed?: Targets;
  /** Some endpoint is outside of the network's subnets: it has an address of a host. */
  readonly hasHostEndpoints: boolean;
  /** So many endpoints are left out of `all`, as the service has more than one may. */
  readonly surplus: number;
}

/** The endpoints of a service on a network. */
export interface Backends {
  readonly network: string;
  readonly service: string;
  /** Traffic from outside comes by this network. */
  readonly isEntry: boolean;
  /** In the order of the service's ports. */
  readonly ports: readonly PortBackends[];
  /** Ready ones of this node on the network itself; 0 for a service whose health nobody checks. */
  readonly readyHere: number;
  /** EndpointSlices of the network itself that are left out. */
  readonly slicesLeft: number;
  /** Addresses that are left out of its slices, as they are those of another network. */
  readonly foreign: readonly string[];
}

interface Candidate {
  readonly endpoint: Endpoint;
  /** Number of the port in its slice. */
  readonly port: number;
}

/** A network, and what a service has there. */
export interface NetworkSlices {
  readonly network: string;
  readonly subnets: readonly string[];
  readonly slices: readonly SliceFacts[];
  /** So many more are left out, as the service has more than one may. */
  readonly left: number;
}

/** Where clients are. */
export interface Place {
  readonly node: string;
  /** Its `topology.kubernetes.io/zone`, asked for only where a hint names one. */
  readonly zone: () => string | undefined;
}

/**
 * The backends of a service on the first of `networks`, from where pods of the others are reached. `isForeign`: of an address outside of these, that another
 * network has it which they are connected with. Who writes a slice does not get to its pods by that: connected may be services alone.
 */
export function backendsOf(
  service: ServiceFacts,
  found: readonly NetworkSlices[],
  entry: string | undefined,
  place: Place,
  limits: ServiceLimits,
  isForeign: (address: string) => boolean,
): Backends | undefined {
  const isInside = withinAny(found.flatMap(({ subnets }) => subnets));
  const foreign = new Set<string>();
  const isNear = ({ addresses }: Endpoint): boolean => {
    const others = addresses.filter((address) => !isInside(address) && isForeign(address));
    for (const address of others) foreign.add(address);
    return others.length === 0;
  };
  const networks = found.map((one) => ({
    ...one,
    slices: one.slices.map((slice) => ({ ...slice, endpoints: slice.endpoints.filter(isNear) })),
  }));
  const [first] = networks;
  if (first === undefined) return undefined;
  const limit = endpointLimit(service, limits);
  const isLocal = service.isExternallyLocal || service.isInternallyLocal;
  const { node } = place;
  const targetsHere = (candidates: readonly Candidate[]): Targets =>
    targetsOf(
      eligible(
        candidates.filter(({ endpoint }) => endpoint.node === node),
        service,
      ),
      limit,
    );
  return {
    network: first.network,
    service: service.key,
    isEntry: first.network === entry,
    slicesLeft: first.left,
    foreign: [...foreign].sort(),
    readyHere: service.healthCheckNodePort === undefined ? 0 : readyOn(node, first.slices),
    ports: service.ports.map((port) => {
      const candidates = candidatesOf(
        port,
        networks.flatMap(({ slices }) => slices),
      );
      const ofNetwork = networks.length === 1 ? candidates : candidatesOf(port, first.slices);
      const found = eligible(candidates, service);
      const near = closest(found, place);
      const all = targetsOf(near, limit);
      const own =
        networks.length === 1
          ? all
          : targetsOf(closest(eligible(ofNetwork, service), place), limit);
      return {
        surplus: Math.max(0, countOf(near) - limit),
        all,
        anywhere: near === found ? all : targetsOf(found, limit),
        own,
        local: isLocal ? targetsHere(candidates) : all,
        ownLocal: isLocal ? targetsHere(ofNetwork) : own,
        ...(port.protocol === 'SCTP' ? { listed: targetsOf(candidates, Infinity) } : {}),
        hasHostEndpoints: found.some(({ endpoint }) => !endpoint.addresses.every(isInside)),
      };
    }),
  };
}

/** How many endpoints are ready on a node: slices list one of both families twice. */
function readyOn(node: string, slices: readonly SliceFacts[]): number {
  const addresses = { v4: new Set<string>(), v6: new Set<string>() };
  for (const { endpoints } of slices)
    for (const endpoint of endpoints)
      if (endpoint.node === node && endpoint.state === 'ready')
        for (const address of endpoint.addresses) addresses[familyOf(address)].add(address);
  return Math.max(addresses.v4.size, addresses.v6.size);
}

/** Endpoints that offer a port: those of slices that have it by its name, each with the number that it has there. */
const candidatesOf = (
  { name, protocol }: ServicePort,
  slices: readonly SliceFacts[],
): readonly Candidate[] =>
  slices.flatMap(({ ports, endpoints }) => {
    const found = ports.find((port) => port.name === name && port.protocol === protocol);
    return found === undefined ? [] : endpoints.map((endpoint) => ({ endpoint, port: found.port }));
  });

/** Ready ones; while there are none, those that are ending and still serve. */
function eligible(
  candidates: readonly Candidate[],
  { takesUnready }: Pick<ServiceFacts, 'takesUnready'>,
): readonly Candidate[] {
  const inState = (state: Endpoint['state']): readonly Candidate[] =>
    candidates.filter(({ endpoint }) => endpoint.state === state);
  const ready = takesUnready ? candidates : inState('ready');
  return ready.length > 0 ? ready : inState('ending');
}

/** Those of them for clients of `place`: of each family as hints say, as kube-proxy goes by them (KEP-2433, KEP-3015). */
function closest(found: readonly Candidate[], place: Place): readonly Candidate[] {
  const isHinted = found.some(
    ({ endpoint }) => (endpoint.forNodes ?? endpoint.forZones) !== undefined,
  );
  // The last ones that serve are for everybody.
  if (!isHinted || found.some(({ endpoint }) => endpoint.state === 'ending')) return found;
  return FAMILIES.flatMap((family) =>
    hinted(
      found.filter(({ endpoint }) => endpoint.addresses.some((one) => familyOf(one) === family)),
      place,
    ),
  );
}

/** Hints of nodes count before those of zones, and either only if every endpoint has one and some are for this place: otherwise it is all of them. */
function hinted(candidates: readonly Candidate[], { node, zone }: Place): readonly Candidate[] {
  for (const [field, name] of [
    ['forNodes', (): string => node],
    ['forZones', zone],
  ] as const) {
    if (!candidates.every(({ endpoint }) => endpoint[field] !== undefined)) continue;
    const own = name();
    const found = candidates.filter(
      ({ endpoint }) => own !== undefined && endpoint[field]?.includes(own) === true,
    );
    if (found.length > 0) return found;
  }
  return candidates;
}

/**
 * The part of a service's targets that one address and port may have: ovs-vswitchd compares those of a group two by two and takes no other change
 * meanwhile (Open vSwitch's ofputil_bucket_check_duplicate_id). A group of 20,000 that changed once took it 30 s.
 */
const MOST_OF_ONE = 1 / 4;

/** How many endpoints of each family a port of the service may have. */
export function endpointLimit(
  { clusterIps, externalIps, poolIps, ports }: ServiceFacts,
  { targets }: ServiceLimits,
): number {
  const nodePorts = ports.some(({ nodePort }) => nodePort !== undefined) ? 1 : 0;
  const entries =
    (clusterIps.length + externalIps.length + poolIps.length + nodePorts) * ports.length;
  return Math.max(1, Math.floor(targets * Math.min(MOST_OF_ONE, 1 / Math.max(1, entries))));
}

/** Of the family that has more of them. */
function countOf(candidates: readonly Candidate[]): number {
  const targets = { v4: new Set<string>(), v6: new Set<string>() };
  for (const { endpoint, port } of candidates)
    for (const address of endpoint.addresses) targets[familyOf(address)].add(`${address} ${port}`);
  return Math.max(targets.v4.size, targets.v6.size);
}

/** The first of each family in the order of their addresses, as many as there may be. */
function targetsOf(candidates: readonly Candidate[], limit: number): Targets {
  // A blank sorts before whatever an address may go on with: these texts are in the order of the addresses.
  const texts = new Set<string>();
  for (const { endpoint, port } of candidates)
    for (const address of endpoint.addresses) texts.add(`${address} ${port}`);
  const targets = { v4: [] as string[], v6: [] as string[] };
  for (const text of [...texts].sort()) {
    const blank = text.indexOf(' ');
    const address = text.slice(0, blank);
    const ofFamily = targets[familyOf(address)];
    if (ofFamily.length < limit) ofFamily.push(startOf(address) + text.slice(blank + 1));
  }
  return { v4: targets.v4.join(','), v6: targets.v6.join(',') };
}

/** `10.0.0.1:80`, `[fd00::1]:80`: as OVN writes addresses with ports. */
export const socketAddress = (address: string, port: number): string =>
  `${startOf(address)}${port}`;

export interface SocketAddress {
  readonly address: string;
  readonly port: number;
}

/** Targets of a family, one by one. */
export const endpointsOf = (targets: string): readonly SocketAddress[] =>
  targets === ''
    ? []
    : targets.split(',').map((target) => {
        const colon = target.lastIndexOf(':');
        return {
          address: target.slice(0, colon).replaceAll(/[[\]]/g, ''),
          port: Number(target.slice(colon + 1)),
        };
      });

/** Targets of one family, with those at the host's `addresses` at `instead` instead. */
export function withHostAt(
  targets: string,
  addresses: readonly string[],
  instead: string | undefined,
): string {
  if (instead === undefined || targets === '') return targets;
  const family = familyOf(instead);
  const starts = addresses
    .filter((address) => familyOf(address) === family)
    .map((address) => startOf(address));
  return targets
    .split(',')
    .map((target) => {
      const start = starts.find((one) => target.startsWith(one));
      return start === undefined ? target : startOf(instead) + target.slice(start.length);
    })
    .join(',');
}

/** A target without its port. */
const startOf = (address: string): string =>
  familyOf(address) === 'v6' ? `[${address}]:` : `${address}:`;
