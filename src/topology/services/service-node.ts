/** This node as load balancers see it. */

import { FAMILIES, nthAddress, withoutPrefix } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { ClusterSettings, Network, PerFamily } from '../../model/model.ts';
import { joinSubnets } from '../../model/rules/network-addresses.ts';
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

/** Whether this node has a gateway router of the network, as the network's own unit decides it where it has a subnet. */
export function hasGatewayRouter(
  facts: ZoneFacts,
  network: Pick<Network, 'name' | 'role'>,
): boolean {
  const joins = facts.rendered.part(network.name, 'joinSubnets') ?? {};
  const isOptedIn = facts.rendered.part(network.name, 'isOptedIn');
  const own = { ...network, joinSubnets: joins, ...(isOptedIn === true ? { isOptedIn } : {}) };
  return (
    joinSubnets(facts.settings, own).length > 0 && (facts.own('gateway')?.addresses.length ?? 0) > 0
  );
}

/** Addresses that stand for a pod which reaches itself through a service: of both families, whichever are in use. */
export function hairpinAddresses(settings: ClusterSettings): readonly string[] {
  const addresses = masquerade(settings, MASQUERADE_OFFSETS.serviceHairpin);
  return FAMILIES.flatMap((family) => addresses[family] ?? []);
}
