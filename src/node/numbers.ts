/** Numbers of the host's state, each with where it comes from. */

/** `protocol` of every route, rule, address and neighbour of ours: what does not have it is never changed (node.md §2.3). */
export const PROTOCOL = 85;
/** `protocol` of what the kernel makes by itself (linux/rtnetlink.h, RTPROT_KERNEL). */
export const PROTOCOL_KERNEL = 2;

/** Routing table that is looked up without a rule for another one (iproute2, rt_tables). */
export const MAIN_TABLE = 254;
export const DEFAULT_TABLE = 253;

/** Routing table of network 0, which has none; the others follow by their ids (design, decisions). */
export const ROUTING_TABLES = 10_000;
/** Tables below it are other programs' (node.md §1.2). */
export const LOWEST_ROUTING_TABLE = 1000;
export const HIGHEST_ROUTING_TABLE = 2 ** 31 - 1;

/** Packet mark of a network towards OVN, added to its id (node.md §1.2). */
const PACKET_MARK = 4096;
/** As nftables, `ip rule` and Open vSwitch print it. */
export const packetMark = (networkId: number): string =>
  `0x${(PACKET_MARK + networkId).toString(16)}`;

/** Priority of the rules that lead into a network's table (node.md §2.4). */
export const RULE_NETWORK = 2000;
/** Priorities of the rules that the kernel makes: of VRFs, and of the tables main and default (node.md §2.4, ip-rule(8)). */
export const RULE_VRF = 1000;
export const RULE_MAIN = 32_766;
export const RULE_DEFAULT = 32_767;

/** Metric of the route that ends a network's table: any other route is preferred to it (node.md §2.3). */
export const UNREACHABLE_METRIC = 4_278_198_272;

/** Reverse path filter: any way back counts, as replies take another one than requests (node.md §2.5). */
export const RP_FILTER_LOOSE = '2';
