/** Addresses that follow from a node's or a network's id: nothing is stored, everything is arithmetic. */
import { AllocationError } from './allocation-error.ts';
import {
  bitsOf,
  formatAddress,
  formatPrefix,
  lastOf,
  sizeOf,
  type Address,
  type InterfaceAddress,
  type Prefix,
} from './addresses.ts';
import { LAST_FIXED_NETWORK_ID } from './ids.ts';

/** The address at `index` of a prefix. Throws `out-of-range`. */
export function addressAt(prefix: Prefix, index: number): Address {
  const value = prefix.base + BigInt(index);
  if (index < 0 || value > lastOf(prefix)) {
    const wrapped = value & ((1n << BigInt(bitsOf(prefix.family))) - 1n);
    throw new AllocationError(
      'out-of-range',
      `generated ip ${formatAddress({ family: prefix.family, value: wrapped })} from the idx ${index} is out of range in the network ${formatPrefix(prefix)}`,
    );
  }
  return { family: prefix.family, value };
}

const interfaceAddressAt = (prefix: Prefix, index: number): InterfaceAddress => ({
  ...addressAt(prefix, index),
  length: prefix.length,
});

/** Gateway router's address on the join switch, or a node's on the transit switch: base + node id (reference/api.md §6.4). */
export const nodeAddress = (subnet: Prefix, nodeId: number): InterfaceAddress =>
  interfaceAddressAt(subnet, nodeId);

/** The node id that `nodeAddress` made an address of; undefined for an address that is not of the subnet, or has another length. */
export function nodeIdOfAddress(subnet: Prefix, address: InterfaceAddress): number | undefined {
  const { family, length, value } = address;
  const isOfSubnet = family === subnet.family && length === subnet.length;
  return isOfSubnet && value >= subnet.base && value <= lastOf(subnet)
    ? Number(value - subnet.base)
    : undefined;
}

/** Offsets in a pod subnet: gateway (the router) and management port (the host) (reference/topology.md §2). */
export const POD_SUBNET_OFFSETS = { gateway: 1, managementPort: 2 } as const;

export const gatewayAddress = (subnet: Prefix): InterfaceAddress =>
  interfaceAddressAt(subnet, POD_SUBNET_OFFSETS.gateway);
export const managementAddress = (subnet: Prefix): InterfaceAddress =>
  interfaceAddressAt(subnet, POD_SUBNET_OFFSETS.managementPort);

/** The two ends of a point-to-point link and the slice (/31 or /127) that they are in. */
export interface AddressPair {
  readonly first: InterfaceAddress;
  readonly second: InterfaceAddress;
}

/** The `index`-th pair of a prefix: base + 2·index and the next. Throws `out-of-range`. */
export function pairAt(prefix: Prefix, index: number): AddressPair {
  const length = bitsOf(prefix.family) - 1;
  return {
    first: { ...addressAt(prefix, 2 * index), length },
    second: { ...addressAt(prefix, 2 * index + 1), length },
  };
}

/** Offsets in the masquerade subnet that all networks share (reference/api.md §6.8). */
export const MASQUERADE_OFFSETS = {
  ovn: 1,
  host: 2,
  hostEtpLocal: 3,
  dummyNextHop: 4,
  serviceHairpin: 5,
  dnsForwarder: 6,
} as const;
/** Addresses of networks start after those reserved for the node. */
const MASQUERADE_USER_BASE = 10;

/** Offsets of a network's own addresses in the masquerade subnet by its masquerade number (reference/api.md §6.8). */
export const networkMasqueradeOffsets = (
  number: number,
): { readonly gatewayRouter: number; readonly managementPort: number } => ({
  gatewayRouter: MASQUERADE_USER_BASE + 2 * number - 1,
  managementPort: MASQUERADE_USER_BASE + 2 * number,
});

/**
 * Masquerade numbers that nodes give to networks whose own id is none: as many as there are pairs of addresses between those of the ids and those
 * of EgressIPs. No node has so many networks.
 */
export const FIRST_NODE_MASQUERADE = LAST_FIXED_NETWORK_ID + 1;
export const LAST_NODE_MASQUERADE = 4990;

/** The first and the last of the addresses that networks have in the masquerade subnet, whatever their ids; undefined where it has room for none. */
export function networkMasquerade(subnet: Prefix): readonly [Address, Address] | undefined {
  const first = networkMasqueradeOffsets(1).gatewayRouter;
  const last = networkMasqueradeOffsets(LAST_NODE_MASQUERADE).managementPort;
  const room = Number(
    lastOf(subnet) - subnet.base > BigInt(last) ? last : lastOf(subnet) - subnet.base,
  );
  return room < first ? undefined : [addressAt(subnet, first), addressAt(subnet, room)];
}

/** Where the addresses of EgressIPs at network cards start, which have as many as there are marks: behind those of networks, before links between these. */
const MASQUERADE_EGRESS_BASE = 10_000;
const MASQUERADE_EGRESS_COUNT = 5000;

/** Address by which the host knows what leaves networks of users with an EgressIP at a network card, by the place of its mark; undefined where the subnet is too small for all of them. */
export const egressMasquerade = (subnet: Prefix, place: number): Address | undefined =>
  placeOf(subnet, { base: MASQUERADE_EGRESS_BASE, count: MASQUERADE_EGRESS_COUNT }, place);

/**
 * Where the addresses of EgressServices with a routing table start: behind those of EgressIPs. Routers of networks have some of them towards each other
 * (`siblingLink`), of which the host and the bridge see none.
 */
const MASQUERADE_SERVICE_BASE = MASQUERADE_EGRESS_BASE + MASQUERADE_EGRESS_COUNT;
/** How many of them there are. */
export const EGRESS_SERVICE_SLOTS = 16_384;

/** Address by which the host knows what leaves networks of users by the routing table of an EgressService; undefined where the subnet is too small for all of them. */
export const egressServiceMasquerade = (subnet: Prefix, slot: number): Address | undefined =>
  placeOf(subnet, { base: MASQUERADE_SERVICE_BASE, count: EGRESS_SERVICE_SLOTS }, slot);

function placeOf(
  subnet: Prefix,
  { base, count }: { readonly base: number; readonly count: number },
  place: number,
): Address | undefined {
  return subnet.base + BigInt(base + count - 1) > lastOf(subnet)
    ? undefined
    : addressAt(subnet, base + place);
}

/** Where links between networks start, and how many there are. */
const MASQUERADE_LINK_BASE = 16_384;
const MASQUERADE_LINKS = 8192;

/**
 * The link between the routers of two networks, by their masquerade numbers: the address of the one with the lower id is the first. No two
 * links of a router have one address, as numbers are fewer than links; nobody beyond the two routers sees them. Undefined where the subnet is too small.
 */
export function siblingLink(subnet: Prefix, one: number, other: number): AddressPair | undefined {
  const index = MASQUERADE_LINK_BASE / 2 + ((one + other) % MASQUERADE_LINKS);
  return subnet.base + BigInt(2 * index + 1) > lastOf(subnet) ? undefined : pairAt(subnet, index);
}

/** Own masquerade addresses of the network of a masquerade number (reference/api.md §6.8). Throws `out-of-range`: 0, or the subnet is too small. */
export function masqueradeAddresses(
  subnet: Prefix,
  networkId: number,
): { readonly gatewayRouter: Address; readonly managementPort: Address } {
  if (!Number.isInteger(networkId) || networkId < 1)
    throw new AllocationError(
      'out-of-range',
      'invalid argument: network ID should be bigger that 0',
    );
  const at = (port: string, index: number): Address => {
    try {
      return addressAt(subnet, index);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new AllocationError(
        'out-of-range',
        `failed generating network id '${networkId}' ${subnet.family}-masquerade-ips ${port} ip: ${reason}`,
        { cause: error },
      );
    }
  };
  const offsets = networkMasqueradeOffsets(networkId);
  return {
    gatewayRouter: at('gateway router', offsets.gatewayRouter),
    managementPort: at('management port', offsets.managementPort),
  };
}

/** The largest network id whose masquerade addresses fit into the subnet; 0 when none fits. */
export function maxMasqueradeNetworkId(subnet: Prefix): number {
  const room = (sizeOf(subnet) - 1n - BigInt(MASQUERADE_USER_BASE)) / 2n;
  return room < 0n ? 0 : Number(room > 0xffffffffn ? 0xffffffffn : room);
}
