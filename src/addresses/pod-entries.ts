/** What a pod's annotation says of one attachment: routes and gateways follow from its addresses (reference/api.md §6.9). Pure. */
import {
  formatAddress,
  formatInterfaceAddress,
  linkLocalOfMac,
  macOfAddress,
  parseAddress,
  parsePrefix,
  type Address,
  type Family,
  type InterfaceAddress,
  familyOf,
  prefixOf,
} from '../allocators/addresses.ts';
import { addressAt, gatewayAddress, MASQUERADE_OFFSETS } from '../allocators/node-addresses.ts';
import { isRoutedLayer2, type FamilyCidrs } from '../api/nad/network-config.ts';
import type { PodNetwork, PodRoute } from '../api/annotations/pod-annotations.ts';
import type { ClusterSettings } from '../model/model.ts';
import type { WantedAttachment } from '../model/rules/pod-plan.ts';
import { routesOfNad } from '../api/nad/secondary-gateway.ts';

export interface PodEntryInput {
  readonly attachment: WantedAttachment;
  /** One per subnet; empty without address management. */
  readonly addresses: readonly InterfaceAddress[];
  readonly macAddress: string;
  readonly tunnelId?: number;
  /** Gateways of a Layer2 network with a router; elsewhere the first address of the pod's subnet. */
  readonly layer2Gateways?: readonly Address[];
  /** Families for which another attachment of the pod has the default route. */
  readonly defaultRouteElsewhere: ReadonlySet<Family>;
  readonly settings: ClusterSettings;
}

const ofFamily = ({ v4, v6 }: FamilyCidrs, family: Family): readonly string[] => {
  const cidr = family === 'v4' ? v4 : v6;
  return cidr === undefined ? [] : [cidr];
};

/** Destinations that go through the attachment, in the order in which they are written. */
function destinations(
  { nad, role }: WantedAttachment,
  family: Family,
  settings: ClusterSettings,
): readonly string[] {
  const same = (cidrs: readonly string[]): readonly string[] =>
    cidrs.filter((cidr) => familyOf(cidr) === family);
  const services = same(settings.serviceSubnets);
  if (nad === undefined) {
    const cluster = same(settings.clusterSubnets.map(({ cidr }) => cidr));
    const join = ofFamily(settings.joinSubnets, family);
    return role === 'primary'
      ? [...cluster, ...services, ...hairpin(settings, family), ...join]
      : [...cluster, ...join];
  }
  const { topology, subnets, joinSubnets } = nad.config;
  const own = topology === 'layer3' ? same(subnets.map(({ cidr }) => cidr)) : [];
  return role === 'primary'
    ? [...own, ...services, ...ofFamily(joinSubnets, family)]
    : [...own, ...same(routesOfNad(nad, settings) ?? [])];
}

/** The address from which a pod sees itself when it calls a service that it serves. */
function hairpin({ masqueradeSubnets }: ClusterSettings, family: Family): readonly string[] {
  return ofFamily(masqueradeSubnets, family).flatMap((cidr) => {
    const prefix = parsePrefix(cidr);
    if (prefix === undefined) return [];
    const address = formatAddress(addressAt(prefix, MASQUERADE_OFFSETS.serviceHairpin));
    return [`${address}/${family === 'v4' ? 32 : 128}`];
  });
}

/** Gateway of the attachment's network for an address; undefined where the network has no router. */
function gatewayOf(input: PodEntryInput, address: InterfaceAddress): Address | undefined {
  const { nad } = input.attachment;
  const topology = nad?.config.topology ?? 'layer3';
  if (topology === 'layer3') return gatewayAddress(prefixOf(address));
  if (nad === undefined || !isRoutedLayer2(nad.config)) return undefined;
  return input.layer2Gateways?.find(({ family }) => family === address.family);
}

export function podEntry(input: PodEntryInput): PodNetwork {
  const { attachment, addresses, settings, defaultRouteElsewhere, macAddress, tunnelId } = input;
  const { role, request, nad } = attachment;
  const gateways: string[] = [];
  const hasWayOut = nad !== undefined && routesOfNad(nad, settings) !== undefined;
  const asked = new Set(request.defaultRoute.map(familyOf));
  const routes: PodRoute[] = [];
  const serviceRoutes: PodRoute[] = [];
  let lla: string | undefined;
  for (const address of addresses) {
    const gateway = gatewayOf(input, address);
    if (gateway === undefined) continue;
    const nextHop = formatAddress(gateway);
    for (const dest of destinations(attachment, address.family, settings))
      routes.push({ dest, nextHop });
    if (hasWayOut && role === 'secondary')
      for (const dest of ofFamily(nad.config.joinSubnets, address.family))
        serviceRoutes.push({ dest, nextHop });
    // Which part of a Layer3 network a node has nobody knows who writes the pod: of a gateway that is asked for the family counts.
    const isDefault =
      role === 'primary' ? !defaultRouteElsewhere.has(address.family) : asked.has(address.family);
    if (isDefault) gateways.push(nextHop);
    if (role === 'primary' && nad?.config.topology === 'layer2' && address.family === 'v6')
      lla = linkLocalOfMac(macOfAddress(firstGateway(input) ?? gateway));
  }
  return {
    addresses: addresses.map(formatInterfaceAddress),
    macAddress,
    gateways:
      role === 'secondary' && !hasWayOut ? requestedGateways(request.defaultRoute) : gateways,
    routes,
    ...(serviceRoutes.length === 0 ? {} : { serviceRoutes }),
    role,
    ...(lla === undefined ? {} : { ipv6LlaGateway: lla }),
    ...(tunnelId === undefined ? {} : { tunnelId }),
  };
}

// The gateway's MAC follows from its IPv4 address where it has one.
const firstGateway = ({ layer2Gateways = [] }: PodEntryInput): Address | undefined =>
  layer2Gateways.find(({ family }) => family === 'v4') ?? layer2Gateways[0];

const requestedGateways = (texts: readonly string[]): readonly string[] =>
  texts
    .map(parseAddress)
    .filter((address) => address !== undefined)
    .map(formatAddress);

/** Families for which an attachment other than the primary one is asked to have the default route. */
export const defaultRouteFamilies = (
  attachments: readonly WantedAttachment[],
): ReadonlySet<Family> =>
  new Set(
    attachments
      .filter(({ role }) => role === 'secondary')
      .flatMap(({ request }) => request.defaultRoute)
      .map(familyOf),
  );
