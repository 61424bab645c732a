/** How a Service asks for an address of its network's pool (decisions/service-pools.md). */
import type { Service } from '../types.ts';
import { annotationOf } from './annotations.ts';

/** Class of load balancers of which the cluster manager gives the addresses, from pools of networks. */
export const NETWORK_LOAD_BALANCER = 'k8s.ovn.org/udn-loadbalancer';

/** Addresses that are asked for, separated by commas, as MetalLB reads it; `spec.loadBalancerIP` holds one at most. */
const REQUESTED_ADDRESSES = 'metallb.io/loadBalancerIPs';

/** Condition of a Service that tells of its addresses of a pool. */
export const POOL_ADDRESS_CONDITION = 'k8s.ovn.org/PoolAddress';

/** True for a Service that is to have addresses of its network's pool. */
export const isOfNetworkPool = ({ spec }: Pick<Service, 'spec'>): boolean =>
  spec.type === 'LoadBalancer' && spec.loadBalancerClass === NETWORK_LOAD_BALANCER;

/** The addresses that it asks for as they are written, with where that is. */
export function requestedPoolAddresses(service: Service): {
  readonly field: string;
  readonly texts: readonly string[];
} {
  const annotation = annotationOf(service, REQUESTED_ADDRESSES);
  const written = annotation ?? service.spec.loadBalancerIP ?? '';
  return {
    field:
      annotation === undefined
        ? 'spec.loadBalancerIP'
        : `metadata.annotations[${REQUESTED_ADDRESSES}]`,
    texts: written
      .split(',')
      .map((text) => text.trim())
      .filter((text) => text !== ''),
  };
}
