/** Numbers of the host's state, each with where it comes from. */

/** `protocol` of every route, rule, address and neighbour of ours: what does not have it is never changed (reference/node.md §2.3). */
export const PROTOCOL = 85;
/** `protocol` of what the kernel makes by itself (linux/rtnetlink.h, RTPROT_KERNEL). */
export const PROTOCOL_KERNEL = 2;
/**
 * `protocol` of routes of the main table that networks have too: the kernel's, those of an administrator at boot and later, of router advertisements,
 * DHCP and keepalived (linux/rtnetlink.h, RTPROT_*). Those of routing daemons may be a whole Internet, and change without end.
 */
export const PROTOCOLS_OF_HOST: readonly number[] = [PROTOCOL_KERNEL, 3, 4, 9, 16, 18];

/** Routing table that is looked up without a rule for another one (iproute2, rt_tables). */
export const MAIN_TABLE = 254;
export const DEFAULT_TABLE = 253;

/** Routing table of network 0, which has none; the others follow by their ids (reference/node.md §1.2). */
export const ROUTING_TABLES = 10_000;
/** Routing table of what host processes send to services with a local internal traffic policy, and priority of its rule (reference/node.md §2.1). */
export const INTERNALLY_LOCAL_TABLE = 7;
export const RULE_INTERNALLY_LOCAL = 30;
/** Mark of what pods of primary networks ask the forwarder of DNS, table in which the service is the host's own, and priority of its rule (reference/egress.md §2.4). */
export const MARK_DNS = 1012;
export const DNS_TABLE = 8;
export const RULE_DNS = 31;
/** Tables below it are other programs' (reference/node.md §1.2). */
export const LOWEST_ROUTING_TABLE = 1000;
export const HIGHEST_ROUTING_TABLE = 2 ** 31 - 1;

/** Packet mark of a network towards OVN, added to its id (reference/node.md §1.2). */
const PACKET_MARK = 4096;
/** As nftables, `ip rule` and Open vSwitch print it. */
export const packetMark = (networkId: number): string =>
  `0x${(PACKET_MARK + networkId).toString(16)}`;

/** Priority of the rules that lead into a network's table (reference/node.md §2.4). */
export const RULE_NETWORK = 2000;
/** Priorities of the rules that the kernel makes: of VRFs, and of the tables main and default (reference/node.md §2.4, ip-rule(8)). */
export const RULE_VRF = 1000;
export const RULE_MAIN = 32_766;
export const RULE_DEFAULT = 32_767;

/** Metric of the route that ends a network's table: any other route is preferred to it (reference/node.md §2.3). */
export const UNREACHABLE_METRIC = 4_278_198_272;

/** Reverse path filter: any way back counts, as replies take another one than requests (reference/node.md §2.5). */
export const RP_FILTER_LOOSE = '2';

/** Packet mark of what the bridge gives the node's address: pods' traffic for egress (reference/node.md §1.2). */
export const MARK_TO_NODE_ADDRESS = '0x3f0';

/** Packet mark of what the default network sends to a next hop in local gateway mode: not for the node, though it has its address. */
export const MARK_TO_NEXT_HOP = 1010;

/** Packet mark of what the default network sends to leave with an egress address at the bridge (reference/node.md §1.2). */
export const MARK_EGRESS_BY_GATEWAY = 1013;

/** Packet mark of what is to leave by a network card of its own (reference/node.md §1.2). */
export const MARK_SECONDARY_EGRESS = 1009;

/** Routing table of a network card by which pods leave with egress addresses, less the card's number, and priorities of the rules that lead there (reference/egress.md §1.11). */
export const CARD_TABLES = 1000;
export const RULE_EGRESS_TO_NODE = 5999;
export const RULE_EGRESS_POD = 6000;
/** Packet mark of what pods of an EgressService send to the host to leave; on the userspace datapath it is lost on the way. */
export const MARK_EGRESS_SERVICE = 1011;
/** Priority of rules that lead what leaves so into the table that an EgressService names (reference/node.md §2.4). */
export const RULE_EGRESS_SERVICE = 5000;

/** Port of BFD (RFC 5881 §4), and of Geneve (RFC 8926 §3.3). */
export const BFD_PORT = 3784;
export const GENEVE_PORT = 6081;
/** Bytes of an Ethernet header. */
export const ETHERNET_HEADER = 14;

/** Id of the cluster default network: its management port is `ovn-k8s-mp0` (reference/node.md §1.3). */
export const DEFAULT_NETWORK_ID = 0;

/** Priorities of chains of nftables (reference/node.md §3; linux/netfilter_ipv4.h, NF_IP_PRI_*). */
export const PRIORITY_MANGLE = -150;
export const PRIORITY_DESTINATION_NAT = -100;
export const PRIORITY_FILTER = 0;
export const PRIORITY_SOURCE_NAT = 100;
/** After everybody else's source NAT (reference/node.md §3.2, §3.7). */
export const PRIORITY_MASQUERADE = 101;

/** Mark of what a host process sends to a service with a local internal traffic policy (reference/node.md §1.2). */
export const INTERNALLY_LOCAL_MARK = '0x1745ec';

/**
 * Packet mark of what the host sends into OVN. It stays with a packet in its tunnel, where nothing else tells it from what a process sends to the
 * tunnels' port itself: the kernel knows both by the process's socket. Processes need a capability to mark what they send.
 */
export const INTO_OVN_MARK = '0x1745ed';

/** Length that the first eight addresses of the masquerade subnet differ by from one address: those are the node's own (reference/node.md §3.2). */
export const NODE_MASQUERADE_BITS = 3;

/**
 * Group (ip-link(8)) of the host's ends of pods' interfaces, by which nftables knows them all: any process of the host's network can bind to such a
 * device, and what it sends there is in the pod at once, past OVN. A number that nobody else is likely to use.
 */
export const POD_LINK_GROUP = 974_110;
