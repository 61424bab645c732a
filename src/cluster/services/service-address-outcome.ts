/** What of a Service keeps it from having addresses of its network's pool, in words of its condition and its events. Pure. */
import { familyOf, parseAddress, type Address, type Family } from '../../allocators/addresses.ts';
import { askedServiceNetwork, SERVICE_NETWORK } from '../../api/annotations/service-network.ts';
import type { ServiceRefusal } from '../../allocators/service-addresses.ts';
import { SERVICE_POOL } from '../../api/annotations/network-annotations.ts';
import {
  NETWORK_LOAD_BALANCER,
  POOL_ADDRESS_CONDITION,
  requestedPoolAddresses,
} from '../../api/annotations/service-annotations.ts';
import type { Service } from '../../api/types.ts';
import { formatValue } from '../../api/validation/field-errors.ts';
import type { StatedCondition } from '../../store/status-writer.ts';

export interface AddressProblem {
  readonly reason: string;
  readonly message: string;
}

/** What a Service has of a pool, and what it lacks. */
export interface ServiceOutcome {
  /** Undefined where it has no network with a pool. */
  readonly network: string | undefined;
  readonly addresses: readonly string[];
  readonly problems: readonly AddressProblem[];
}

const FAMILY_NAMES: Readonly<Record<Family, string>> = { v4: 'IPv4', v6: 'IPv6' };

/** Families of the cluster IPs: a service has addresses of no others. */
export const familiesOfService = ({ spec: { clusterIPs } }: Service): readonly Family[] => [
  ...new Set(clusterIPs.map(familyOf)),
];

/** Addresses that a Service asks for, and what of it are none. */
export function wantedOf(service: Service): {
  readonly wanted: readonly Address[];
  readonly problems: readonly AddressProblem[];
} {
  const { field, texts } = requestedPoolAddresses(service);
  const parsed = texts.map((text) => ({ text, address: parseAddress(text) }));
  return {
    wanted: parsed.flatMap(({ address }) => address ?? []),
    problems: parsed.flatMap(({ text, address }) =>
      address === undefined
        ? {
            reason: 'InvalidAddress',
            message: `${field}: ${formatValue(text)} is no IP address; name addresses of the network's pool, or none`,
          }
        : [],
    ),
  };
}

/** Why a Service of the class has no address at all. */
export function withoutPool(service: Service, networks: readonly string[]): AddressProblem {
  const { namespace = '' } = service.metadata;
  if (networks.length === 0 && askedServiceNetwork(service) !== undefined)
    return {
      reason: 'NoNetwork',
      message: `metadata.annotations[${SERVICE_NETWORK}] names no network that has services, and spec.loadBalancerClass ${NETWORK_LOAD_BALANCER} is for addresses of one: see the event of reason Refused`,
    };
  if (networks.length === 0)
    return {
      reason: 'NoNetwork',
      message: `namespace ${namespace} has no primary network, and spec.loadBalancerClass ${NETWORK_LOAD_BALANCER} is for addresses of one; give the namespace a network, or the service another class`,
    };
  return {
    reason: 'NoPool',
    message: `network ${networks.join(', ')} has no addresses for services; who may write its object gives it a pool (annotation ${SERVICE_POOL})`,
  };
}

/** While a NAD of the namespace is broken a Service keeps what it has. */
export const unreadableNetwork = (namespace: string): AddressProblem => ({
  reason: 'NoNetwork',
  message: `a NetworkAttachmentDefinition of namespace ${namespace} can't be read: the service keeps the addresses that it has, and gets none; see the NetworkAttachmentDefinition's events`,
});

export const WITHOUT_CLUSTER_IP: AddressProblem = {
  reason: 'NoClusterIP',
  message:
    'spec.clusterIPs has no address: a service without them is not balanced, and gets no address of a pool',
};

/** Words for what the allocator refuses. */
export function refusedText(
  refusal: ServiceRefusal,
  service: Service,
  network: string,
  pool: readonly string[],
): AddressProblem {
  const { field } = requestedPoolAddresses(service);
  const ranges = pool.join(', ');
  switch (refusal.code) {
    case 'outside':
      return {
        reason: 'AddressOutsidePool',
        message: `${field}: "${refusal.address}" is not for services of network ${network}, which has ${ranges}; name one of these that is not the gateway's or the nodes', or none`,
      };
    case 'taken':
      return {
        reason: 'AddressTaken',
        message: `${field}: "${refusal.address}" is that of another service of network ${network}; name another one of ${ranges}, or none`,
      };
    case 'other-family':
      return {
        reason: 'InvalidAddress',
        message: `${field}: "${refusal.address}" is of a family of which the service has no cluster IP; leave it out, or see spec.ipFamilies`,
      };
    case 'surplus':
      return {
        reason: 'InvalidAddress',
        message: `${field}: "${refusal.address}" is a second one of its family, and a service has one; leave one of them out`,
      };
    case 'exhausted':
      return {
        reason: 'PoolExhausted',
        message: `the pool of network ${network} (${ranges}) has no free ${FAMILY_NAMES[refusal.family]} address; delete services of it, or have the pool enlarged (annotation ${SERVICE_POOL})`,
      };
    case 'no-range':
      return {
        reason: 'NoPool',
        message: `the pool of network ${network} (${ranges}) has no ${FAMILY_NAMES[refusal.family]} range; have one added (annotation ${SERVICE_POOL})`,
      };
  }
}

/** Condition of a Service of the class: true while it has all of the addresses that it is to have. */
export function poolAddressCondition({
  network,
  addresses,
  problems,
}: ServiceOutcome): StatedCondition {
  const [first] = problems;
  if (first !== undefined)
    return {
      type: POOL_ADDRESS_CONDITION,
      status: 'False',
      reason: first.reason,
      message: [...new Set(problems.map(({ message }) => message))].join('\n'),
    };
  return {
    type: POOL_ADDRESS_CONDITION,
    status: 'True',
    reason: 'AddressAllocated',
    message: `${addresses.join(', ')} of the pool of network ${network ?? ''}`,
  };
}
