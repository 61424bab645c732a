/** Load balancers as rows, and how they are recognised (reference/topology.md §15.1). */

import type { Family } from '../../allocators/addresses.ts';
import type { Containment } from '../../desired/rows.ts';
import type { Network } from '../../model/model.ts';
import { isDefault } from '../../model/rules/names.ts';
import type { ServiceFacts } from '../../model/read/services.ts';
import { claimByName } from '../rows/found.ts';
import { KIND_ID, NETWORK_ID, OWNER_ID, ROLE_ID, type ExternalIds } from '../rows/object-ids.ts';
import { NORTHBOUND, type Rows } from '../rows/unit-rows.ts';

export const LOAD_BALANCER_CLAIM = claimByName(NORTHBOUND, 'Load_Balancer');

/** Targets by virtual address, both as OVN writes them; no targets: an empty text. */
export type Vips = Readonly<Record<string, string>>;

export interface LoadBalancer {
  readonly protocol: string;
  /** Which of the load balancers of the service and protocol it is: `cluster`. */
  readonly scope: string;
  readonly vips: Vips;
  /** The source address stays what it is. */
  readonly keepsSource?: boolean;
  /** Its addresses are variables that each chassis fills in, of that family. */
  readonly template?: Family;
}

/** `Service_blue/web_TCP_cluster`, behind the prefix of the network (reference/topology.md §1.2). */
const loadBalancerName = (
  prefix: string,
  kind: string,
  service: string,
  protocol: string,
  scope: string,
): string => `${prefix}${kind}_${service}_${protocol}_${scope}`;

/** Session affinity of a day is for good: OVN can't count that far, so a hash of the two addresses picks the target. */
export const LASTING_AFFINITY = 86_400;

export interface LoadBalancerContext {
  readonly network: Pick<Network, 'name' | 'role'>;
  readonly prefix: string;
  /** `Pod` for ports of the node that lead to one. */
  readonly kind?: 'Service' | 'Pod';
  /** The service or pod. */
  readonly service: Pick<ServiceFacts, 'key' | 'affinity'>;
  /** Addresses that a pod has for itself when it reaches itself through a service. */
  readonly hairpinAddresses: readonly string[];
}

export function addLoadBalancer(
  rows: Rows,
  { network, prefix, kind = 'Service', service, hairpinAddresses }: LoadBalancerContext,
  { protocol, scope, vips, keepsSource = false, template }: LoadBalancer,
  ...containers: readonly Containment[]
): void {
  const { affinity } = service;
  const isLasting = affinity === LASTING_AFFINITY;
  rows.named(
    'Load_Balancer',
    loadBalancerName(prefix, kind, service.key, protocol, scope),
    {
      protocol: protocol.toLowerCase() as 'tcp' | 'udp' | 'sctp',
      vips,
      options: {
        reject: 'true',
        event: 'false',
        skip_snat: String(keepsSource),
        neighbor_responder: 'none',
        hairpin_snat_ip: hairpinAddresses.join(' '),
        ...(affinity === undefined || isLasting ? {} : { affinity_timeout: String(affinity) }),
        ...(template === undefined
          ? {}
          : { template: 'true', 'address-family': template === 'v4' ? 'ipv4' : 'ipv6' }),
      },
      selection_fields: isLasting ? ['ip_dst', 'ip_src'] : undefined,
      external_ids: idsOf(network, kind, service.key),
    },
    ...containers,
  );
}

const idsOf = (
  network: Pick<Network, 'name' | 'role'>,
  kind: string,
  service: string,
): ExternalIds => ({
  [KIND_ID]: kind,
  [OWNER_ID]: service,
  ...(isDefault(network) ? {} : { [NETWORK_ID]: network.name, [ROLE_ID]: network.role }),
});
