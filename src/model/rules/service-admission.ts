/**
 * Which external addresses of a service lead to it. A service is a tenant's object: what it names must not take packets of somebody else, so it
 * may have no address of the cluster, of a node, of an EgressIP, or of an older service. Decided here once, for OVN and for the host. Pure.
 */
import {
  containsAddress,
  parseAddress,
  parsePrefix,
  withinAny,
  type Address,
} from '../../allocators/addresses.ts';
import { closedRanges, type NamedRange } from '../../api/validation/closed-ranges.ts';
import type { ClusterSettings } from '../model.ts';
import { withExternalIps, type DeclaredService, type ServiceFacts } from '../read/services.ts';

/** A service that was read, with the rounds of the process in which it was first seen with its external addresses and ports, by `claimOf`. */
export interface SeenService extends DeclaredService {
  readonly since: Readonly<Record<string, number>>;
}

/** A service with the external addresses that it may have. */
export interface AdmittedService extends ServiceFacts {
  /** What it asks for and does not get, with what to do. */
  readonly refused?: string;
}

/** What else an address may be. */
export interface AddressOwners {
  /** Ranges of the networks that the service's network reaches. */
  readonly ranges: readonly NamedRange[];
  /** Another service that has it as its cluster IP. */
  clusterIp(address: string): string | undefined;
  /** What it is of a node: `an address of node n1`. `isExtra`: the node has it beside its own, and it may be a service's by the settings. */
  ofNode(address: string): { readonly what: string; readonly isExtra: boolean } | undefined;
  /** An EgressIP of which a node has it. */
  egressIp(address: string): string | undefined;
  /** True for an API server of the cluster. */
  isApiServer(address: string): boolean;
  /** Another service that had it, with one of these ports, before. */
  olderService(address: string): string | undefined;
  /** True for an address of the pool of a network that the service is on. */
  isInPool(address: string): boolean;
  /** Another service that had it of the pool of a network that both are on before. */
  olderInPool(address: string): string | undefined;
}

/** The first of these ranges that an address is in. */
export const rangeWith = (
  address: Address,
  ranges: readonly NamedRange[],
): NamedRange | undefined =>
  ranges.find(({ cidr }) => {
    const prefix = parsePrefix(cidr);
    return prefix !== undefined && containsAddress(prefix, address);
  });

/** So many addresses are named of those that are refused: the rest is counted. */
const NAMED = 5;

/** What two services can't have both: an external address with a port. */
export const claimOf = (
  address: string,
  { protocol, port }: { readonly protocol: string; readonly port: number },
): string => `${address} ${protocol} ${port}`;

/** An address of a pool, with all of its ports: on other networks others may have it. */
export const poolClaimOf = (address: string): string => `${address} pool`;

export const claimsOf = ({ externalIps, poolIps, ports }: ServiceFacts): readonly string[] => [
  ...externalIps.flatMap((address) => ports.map((port) => claimOf(address, port))),
  ...poolIps.map(poolClaimOf),
];

/** Whether a service had a claim before another one: of two that were found at once the older has it. */
export function hadBefore(claim: string, a: SeenService, b: SeenService): boolean {
  const [ours, theirs] = [a.since[claim] ?? 0, b.since[claim] ?? 0];
  if (ours !== theirs) return ours < theirs;
  if (a.created !== b.created) return a.created < b.created;
  return a.facts.key < b.facts.key;
}

export class ServiceAdmission {
  readonly #ranges: readonly NamedRange[];
  readonly #isAllowed: ((address: string) => boolean) | undefined;
  readonly #allowed: string;

  constructor(settings: ClusterSettings) {
    const { serviceExternalRanges: allowed } = settings;
    this.#ranges = closedRanges(settings);
    this.#allowed = allowed.join(', ');
    this.#isAllowed = allowed.length === 0 ? undefined : withinAny(allowed);
  }

  /** The service with the external addresses that it may have; those that it may not have lead nowhere. */
  admit({ facts, ingress, excess }: SeenService, owners: AddressOwners): AdmittedService {
    const refusals: string[] = [];
    const admitted = facts.externalIps.filter((address) => {
      const why = this.#refusal(address, owners);
      if (why === undefined) return true;
      const field = ingress.includes(address) ? 'status.loadBalancer.ingress' : 'spec.externalIPs';
      refusals.push(`${field}: ${JSON.stringify(address)} ${why}`);
      return false;
    });
    const ofPool: string[] = [];
    const pooled = facts.poolIps.filter((address) => {
      const why = this.#poolRefusal(address, owners);
      if (why !== undefined)
        ofPool.push(
          `status.loadBalancer.ingress: ${JSON.stringify(address)} ${why}: pods don't reach the service by it; the cluster manager gives it one of the pool, else take it out of the status`,
        );
      return why === undefined;
    });
    const sentences = [
      ...(excess === undefined ? [] : [excess]),
      ...ofPool,
      ...refusals.slice(0, NAMED),
      ...(refusals.length > NAMED
        ? [`and ${refusals.length - NAMED} more addresses for reasons like these`]
        : []),
    ];
    return {
      ...(refusals.length + ofPool.length === 0
        ? facts
        : { ...withExternalIps(facts, admitted), poolIps: pooled }),
      ...(sentences.length === 0
        ? {}
        : { refused: `${sentences.join('; ')}${refusals.length === 0 ? '' : REMEDY}` }),
    };
  }

  /** A pool was checked against ranges when it was read: what is left are single addresses that have become somebody's. */
  #poolRefusal(address: string, owners: AddressOwners): string | undefined {
    if (!owners.isInPool(address)) return "is not in the pool of the service's network";
    const service = owners.clusterIp(address);
    if (service !== undefined) return `is the cluster IP of service ${service}`;
    const node = owners.ofNode(address);
    if (node !== undefined) return `is ${node.what}`;
    const egressIp = owners.egressIp(address);
    if (egressIp !== undefined) return `is that of EgressIP ${egressIp}`;
    if (owners.isApiServer(address)) return 'is an API server of the cluster';
    const older = owners.olderInPool(address);
    return older === undefined ? undefined : `is that of service ${older} of the same network`;
  }

  #refusal(address: string, owners: AddressOwners): string | undefined {
    const parsed = parseAddress(address);
    if (parsed === undefined) return 'is no IP address';
    const range = rangeWith(parsed, [...this.#ranges, ...owners.ranges]);
    if (range !== undefined) return `is in ${range.name} ${range.cidr}`;
    const service = owners.clusterIp(address);
    if (service !== undefined) return `is the cluster IP of service ${service}`;
    const node = owners.ofNode(address);
    if (node !== undefined && !(node.isExtra && this.#isAllowed?.(address) === true))
      return node.isExtra
        ? `is ${node.what}, and --service-external-ranges does not name it`
        : `is ${node.what}`;
    const egressIp = owners.egressIp(address);
    if (egressIp !== undefined) return `is that of EgressIP ${egressIp}`;
    if (owners.isApiServer(address)) return 'is an API server of the cluster';
    if (this.#isAllowed?.(address) === false)
      return `is in none of --service-external-ranges (${this.#allowed})`;
    const older = owners.olderService(address);
    return older === undefined ? undefined : `is with one of its ports that of service ${older}`;
  }
}

const REMEDY =
  ': no packet to that is sent to this service; give it an address that is routed to the nodes and nobody else has';
