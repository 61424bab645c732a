/** Which ports of the node a pod has of those that its containers ask for, and at which addresses. Decided here once, for OVN and for the host. Pure. */
import { createHash } from 'node:crypto';
import { contains, familyOf, nthAddress, type Family } from '../../allocators/addresses.ts';
import type { Protocol } from '../../api/types.ts';
import type { ClusterSettings, PerFamily } from '../model.ts';
import type { HostPortRequest, HostPortRequests } from '../read/host-ports.ts';

/** A port of the node that a pod has. */
export interface HostPort {
  readonly protocol: Protocol;
  readonly port: number;
  readonly containerPort: number;
  /** Addresses of the node at which it is. */
  readonly addresses: readonly string[];
  /** Those at which only processes of the host reach it. */
  readonly loopback: readonly string[];
}

export interface AdmittedHostPorts {
  readonly ports: readonly HostPort[];
  /** What the pod asks for and does not get, with what to do. */
  readonly refused?: string;
}

/** Who else may have what is asked for. */
export interface HostPortOwners {
  /** Addresses of this node. */
  readonly addresses: readonly string[];
  /** How many addresses with ports one pod may have. */
  readonly most: number;
  /** A service that has it as its node port. */
  nodePort(protocol: Protocol, port: number): string | undefined;
  /** A service that has that address and port outside. */
  external(address: string, protocol: Protocol, port: number): string | undefined;
  /** An older pod of the node that has it. */
  olderPod(request: HostPortRequest): string | undefined;
}

const MOST_PORT = 65_535;
/** UDP port of tunnels (RFC 8926 §3.3). */
const GENEVE = 6081;
const ALL: PerFamily<string> = { v4: '0.0.0.0', v6: '::' };
const LOOPBACK: PerFamily<string> = { v4: '127.0.0.0/8', v6: '::1/128' };
/** So many of them are told. */
const NAMED = 5;

/** What two pods of a node can't have both, but for different addresses. */
export const hostPortClaim = ({
  protocol,
  hostPort,
}: Pick<HostPortRequest, 'protocol' | 'hostPort'>): string => `${protocol} ${hostPort}`;

const isAll = (hostIp: string): boolean => hostIp === ALL[familyOf(hostIp)];

/** True for two that are the same port at some address. */
export function overlaps(a: HostPortRequest, b: HostPortRequest): boolean {
  if (hostPortClaim(a) !== hostPortClaim(b)) return false;
  if (a.hostIp === undefined || b.hostIp === undefined || a.hostIp === b.hostIp) return true;
  return familyOf(a.hostIp) === familyOf(b.hostIp) && (isAll(a.hostIp) || isAll(b.hostIp));
}

/** All numbers of ports, in an order of its own for each text: who looks for a free one seldom meets those of others. */
export function* otherPorts(text: string): Generator<number> {
  const first = createHash('sha256').update(text).digest().readUInt16BE(0);
  for (let index = 0; index < MOST_PORT; index++) yield ((first + index) % MOST_PORT) + 1;
}

export function hadPortBefore(a: HostPortRequests, b: HostPortRequests): boolean {
  if (a.created !== b.created) return a.created < b.created;
  if (a.namespace !== b.namespace) return a.namespace < b.namespace;
  return a.name < b.name;
}

/** The ports of the node that the pod has; what it may not have leads nowhere, or to who has it. */
export function admitHostPorts(
  { ports }: HostPortRequests,
  owners: HostPortOwners,
): AdmittedHostPorts {
  const refusals: string[] = [];
  let left = owners.most;
  const admitted = ports.flatMap((request, index): HostPort[] => {
    const { protocol, hostPort, containerPort, hostIp } = request;
    const asked = `hostPort ${hostPort}/${protocol}${hostIp === undefined ? '' : ` at ${hostIp}`}`;
    const refuse = (why: string): [] => {
      refusals.push(`${asked} ${why}`);
      return [];
    };
    if (protocol === 'UDP' && hostPort === GENEVE) return refuse('is the port of tunnels');
    if (ports.slice(0, index).some((other) => overlaps(other, request)))
      return refuse('is asked for twice by the pod');
    const service = owners.nodePort(protocol, hostPort);
    if (service !== undefined) return refuse(`is the node port of service ${service}`);
    const older = owners.olderPod(request);
    if (older !== undefined) return refuse(`is that of the older pod ${older} of this node`);
    const wanted = addressesOf(hostIp, owners.addresses);
    if (wanted.addresses.length + wanted.loopback.length === 0)
      return refuse('asks for an address that this node does not have');
    const addresses = wanted.addresses.filter((address) => {
      const other = owners.external(address, protocol, hostPort);
      if (other === undefined) return true;
      refusals.push(`${asked} is at ${address} an external address and port of service ${other}`);
      return false;
    });
    const count = addresses.length + wanted.loopback.length;
    if (count > left)
      return refuse(
        `is more than one pod may have: ${owners.most} addresses with ports (--max-service-entries)`,
      );
    left -= count;
    return [{ protocol, port: hostPort, containerPort, ...wanted, addresses }];
  });
  if (refusals.length === 0) return { ports: admitted };
  const more = refusals.length - NAMED;
  const told = [
    ...refusals.slice(0, NAMED),
    ...(more > 0 ? [`and ${more} more for reasons like these`] : []),
  ];
  return { ports: admitted, refused: `${HOST_PORTS_FIELD}${told.join('; ')}${REMEDY}` };
}

/** What problems of a pod's ports begin with. */
export const HOST_PORTS_FIELD = 'spec.containers: ';

const REMEDY =
  ': the node does not lead that to this pod; give it another port, or have it scheduled to another node';

/** Addresses of the node that are meant, and of those that are the loopback device's. */
function addressesOf(
  hostIp: string | undefined,
  own: readonly string[],
): Pick<HostPort, 'addresses' | 'loopback'> {
  if (hostIp === undefined) return { addresses: own, loopback: [] };
  const family: Family = familyOf(hostIp);
  if (isAll(hostIp))
    return { addresses: own.filter((address) => familyOf(address) === family), loopback: [] };
  const loopback = LOOPBACK[family];
  if (loopback !== undefined && contains(loopback, hostIp))
    return { addresses: [], loopback: [hostIp] };
  return { addresses: own.filter((address) => address === hostIp), loopback: [] };
}

/**
 * Where a gateway router of a primary network has ports of the node for processes of the host: the first address of the service subnet. It is
 * routed as addresses of services are, and Kubernetes gives it to none.
 */
export function hostPortAddress(
  { serviceSubnets }: Pick<ClusterSettings, 'serviceSubnets'>,
  family: Family,
): string | undefined {
  const subnet = serviceSubnets.find((cidr) => familyOf(cidr) === family);
  return subnet === undefined ? undefined : nthAddress(subnet, 0);
}
