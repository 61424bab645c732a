/** This node as load balancers see it. */

import { FAMILIES, nthAddress, withoutPrefix } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { ClusterSettings, PerFamily } from '../../model/model.ts';
import type { ServiceNode } from './service-vips.ts';

/** Address at an offset of the masquerade subnet, of each family that has one. */
function masquerade({ masqueradeSubnets }: ClusterSettings, offset: number): PerFamily<string> {
  const { v4, v6 } = masqueradeSubnets;
  return {
    ...(v4 === undefined ? {} : { v4: nthAddress(v4, offset) }),
    ...(v6 === undefined ? {} : { v6: nthAddress(v6, offset) }),
  };
}

export function serviceNode(facts: ZoneFacts): ServiceNode {
  const { settings } = facts;
  const gateway = facts.own('gateway');
  return {
    hostAddresses: [...new Set(facts.own('hostAddresses').map(withoutPrefix))].sort(),
    gatewayAddresses: gateway?.addresses.map(withoutPrefix) ?? [],
    hasNodePorts: gateway?.nodePortEnable ?? false,
    hostMasquerade: masquerade(settings, MASQUERADE_OFFSETS.host),
    localMasquerade: masquerade(settings, MASQUERADE_OFFSETS.hostEtpLocal),
  };
}

/** Addresses that stand for a pod which reaches itself through a service: of both families, whichever are in use. */
export function hairpinAddresses(settings: ClusterSettings): readonly string[] {
  const addresses = masquerade(settings, MASQUERADE_OFFSETS.serviceHairpin);
  return FAMILIES.flatMap((family) => addresses[family] ?? []);
}
