/** Which addresses and MAC addresses a network has for pods: of a node's subnets, or of the network's own (reference/api.md §6.9). Pure. */
import { notForPods, type AddressSpace } from '../../allocators/address-pool.ts';
import {
  bitsOf,
  containsAddress,
  formatAddress,
  formatPrefix,
  macOf,
  macOfAddress,
  nthAddress,
  parseAddress,
  parseInterfaceAddress,
  parsePrefix,
  sizeOf,
  type Address,
  type Prefix,
} from '../../allocators/addresses.ts';
import { FIRST_TRANSIT_ROUTER_PORT_TUNNEL_ID } from '../../allocators/ids.ts';
import { layer2Ends } from '../../allocators/layer2-ends.ts';
import { gatewayAddress, managementAddress } from '../../allocators/node-addresses.ts';
import type { PodNetwork } from '../../api/annotations/pod-annotations.ts';
import { isRoutedLayer2, type NetworkConfig } from '../../api/nad/network-config.ts';
import { announcedSubnets } from './flat-networks.ts';

export interface PodRanges extends AddressSpace {
  /** For messages. */
  readonly network: string;
  /** Only for pods that ask for an address of it. */
  readonly onRequestOnly: readonly Prefix[];
  /** MAC addresses of gateways and management ports. */
  readonly reservedMacs: readonly string[];
  /** First port tunnel id; absent = ports of this network have none. */
  readonly firstTunnelId?: number;
  /** Layer2 gateways of primary networks, one per family. */
  readonly gateways: readonly Address[];
}

/** What an attachment carries that has to be nobody else's. */
export type PodAddressing = Pick<PodNetwork, 'addresses' | 'macAddress' | 'tunnelId'>;

const single = (address: Address): Prefix => ({
  family: address.family,
  base: address.value,
  length: bitsOf(address.family),
});

const prefixes = (cidrs: readonly string[]): readonly Prefix[] =>
  cidrs.map(parsePrefix).filter((prefix) => prefix !== undefined);

/** Of a Layer3 or the default network on one node: the node's subnets without gateway and management port. */
export function nodeRanges(network: string, nodeSubnets: readonly string[]): PodRanges {
  const subnets = prefixes(nodeSubnets);
  const ends = subnets
    .filter((subnet) => sizeOf(subnet) > 2n)
    .flatMap((subnet) => [gatewayAddress(subnet), managementAddress(subnet)]);
  return {
    network,
    subnets,
    excluded: [...ends.map(single), ...subnets.filter((subnet) => sizeOf(subnet) <= 2n)],
    onRequestOnly: [],
    reservedMacs: ends.map(macOfAddress),
    gateways: [],
  };
}

/** Of a network whose pods share its subnets on all nodes. */
export function sharedRanges(config: NetworkConfig): PodRanges {
  const subnets = prefixes(config.subnets.map(({ cidr }) => cidr));
  const infrastructure = prefixes(config.infrastructureSubnets);
  const isRouted = isRoutedLayer2(config);
  const configured = config.defaultGatewayIPs.map(parseAddress).filter((one) => one !== undefined);
  // What has no room for a gateway and a management port has none for pods.
  const tooSmall = isRouted ? subnets.filter((subnet) => sizeOf(subnet) <= 2n) : [];
  const ends = isRouted
    ? subnets
        .filter((subnet) => !tooSmall.includes(subnet))
        .map((subnet) => layer2Ends(subnet, infrastructure, configured))
    : [];
  const addresses = ends.flatMap(({ gateway, management }) => [gateway, management]);
  return {
    network: config.name,
    subnets,
    excluded: [
      ...prefixes(config.excludeSubnets),
      ...infrastructure,
      ...tooSmall,
      ...addresses.map(single),
    ],
    onRequestOnly: prefixes(config.reservedSubnets),
    gateways: ends.map(({ gateway }) => gateway),
    reservedMacs: [
      ...addresses.map(macOfAddress),
      ...announcedSubnets(config).map((cidr) => macOf(nthAddress(cidr, 0))),
    ],
    ...(config.topology === 'layer2'
      ? { firstTunnelId: isRouted ? FIRST_TRANSIT_ROUTER_PORT_TUNNEL_ID : 1 }
      : {}),
  };
}

const NO_MAC = '00:00:00:00:00:00';

const isMulticast = (mac: string): boolean => (Number.parseInt(mac.slice(0, 2), 16) & 1) === 1;

/**
 * Why a pod can't have these addresses of a network, whoever else has them; undefined if it can. `requested` are those that it asks
 * for: without address management it has no others.
 */
export function addressingProblem(
  { addresses, macAddress, tunnelId }: PodAddressing,
  ranges: PodRanges,
  requested: readonly string[],
): string | undefined {
  const { network, subnets, reservedMacs, firstTunnelId } = ranges;
  if (macAddress === NO_MAC || isMulticast(macAddress))
    return `MAC address ${macAddress} is not that of one interface`;
  if (reservedMacs.includes(macAddress))
    return `MAC address ${macAddress} is that of the gateway or the management port of network "${network}"`;
  if (firstTunnelId !== undefined && tunnelId !== undefined && tunnelId < firstTunnelId)
    return `port tunnel id ${tunnelId} is not for pods: those of network "${network}" begin at ${firstTunnelId}`;
  if (subnets.length === 0) {
    const asked = new Set(requested.map(hostText));
    const own = addresses.find((text) => !asked.has(hostText(text)));
    return own === undefined
      ? undefined
      : `${own} is not asked for, and network "${network}" has no addresses to give`;
  }
  // A port with a MAC address alone may use every address.
  if (addresses.length === 0)
    return `no address of ${subnets.map(formatPrefix).join(', ')} (network "${network}")`;
  const taken = new Set<Prefix>();
  for (const text of addresses) {
    const address = parseInterfaceAddress(text);
    if (address === undefined) return `${text} is no address with a prefix length`;
    const problem = notForPods(address, ranges);
    if (problem !== undefined) return `${problem.message} (network "${network}")`;
    const subnet = subnets.find((one) => containsAddress(one, address));
    if (subnet === undefined) continue;
    if (taken.has(subnet))
      return `more than one address of ${formatPrefix(subnet)} (network "${network}")`;
    taken.add(subnet);
  }
  return undefined;
}

/** `fd00::5` for `FD00:0::5/64`; what is no address stays as it is. */
export function hostText(text: string): string {
  const address = text.includes('/') ? parseInterfaceAddress(text) : parseAddress(text);
  return address === undefined ? text : formatAddress(address);
}
