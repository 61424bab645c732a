/** Numbers that rows share with other programs or with other zones (reference/topology.md §2, §7.8, §18.1). */

/** Offset of the distributed router in the join subnet; gateway routers have that of their node's id. */
export const JOIN_CLUSTER_ROUTER = 1;

/** Tunnel keys of a transit router's ports, the same on every zone: to the switch, and to the gateway router of a node. */
export const TRANSIT_ROUTER_SWITCH_PORT = 1;
export const transitRouterGatewayPort = (nodeId: number): number => 10 + nodeId;

/** What a Layer2 network's router says of itself to IPv6 pods (reference/topology.md §9.2); intervals in seconds. */
export const ROUTER_ADVERTISEMENT = {
  address_mode: 'dhcpv6_stateful',
  send_periodic: 'true',
  max_interval: '900',
  min_interval: '300',
  router_preference: 'LOW',
} as const;

/**
 * Keys of a zone's own ports on a switch that spans zones: to its router, and of its host. Pods there ask for theirs, and have none of these:
 * ids of pods end at 32766, and on a primary network, the only one with a host's port, begin at 10. Ports that ask for no key get the one after
 * the highest, which is that of the next pod: ovn-northd and ovn-controller would work everything out again for each pod. With the last key
 * taken it goes on at the first free one.
 */
export const LAYER2_ROUTER_PORT = 32767;
export const LAYER2_HOST_PORT = 1;

/** The addresses by which OVN answers DHCP, and the seconds that an answer holds (reference/topology.md §14). */
export const DHCP_SERVER = '169.254.1.1';
export const DHCPV6_SERVER = 'fe80::1';
export const DHCP_LEASE_TIME = 3500;

/** The meter of ACLs that log. */
export const ACL_LOGGING_METER = 'acl-logging';

/** Seconds after which a gateway router forgets an unused neighbour. */
export const NEIGHBOUR_AGE = 300;

/** Priorities of logical router policies. */
export const POLICY_CONNECT = 9001;
/** To services of connected networks by way of gateway routers and the external bridge; before all egress. No number of ovn-kubernetes. */
export const POLICY_BRIDGED_SERVICE = 9000;
/** Between primary networks of one namespace: before a connection of the two, which is the longer way. */
export const POLICY_SIBLING = 9002;
/** Before all that sends what pods send elsewhere. */
export const POLICY_MULTICAST = 1005;
export const POLICY_NODE_ADDRESS = 1004;
/** To services of primary networks, by way of the host. No number of ovn-kubernetes. */
export const POLICY_DEFAULT_ACCESS = 1001;
/** In local gateway mode, of pods that leave by next hops. */
export const POLICY_EXTERNAL_ROUTE = 501;
export const POLICY_NO_REROUTE = 102;
export const POLICY_EGRESS_SERVICE = 101;
/** Classes of destinations of an EgressIP: a pod that an EgressService has has none. */
export const POLICY_EGRESS_CLASS = 101;
export const POLICY_EGRESS_REROUTE = 100;
/** On gateway routers. */
export const POLICY_EGRESS_MARK = 95;
/** Likewise for EgressServices, before those of EgressIPs. No number of ovn-kubernetes. */
export const POLICY_EGRESS_SERVICE_MARK = 96;
export const POLICY_EGRESS_CLASS_MARK = 96;
/** Of what other nodes send here to leave: what passes, and that nothing else does. No number of ovn-kubernetes. */
export const POLICY_EGRESS_ARRIVAL = 98;
export const POLICY_EGRESS_DROP = 97;
/** Likewise on gateway routers of Layer2 networks, and what of this node's own pods is told from it by. */
export const POLICY_EGRESS_GATEWAY_DROP = 94;
export const POLICY_LAYER2_TO_GATEWAYS = 4;
export const POLICY_LAYER2_OWN_PODS = 3;

export const QOS_EGRESS_IP_REPLY = 103;
/** Of the first rule of an EgressQoS, and of one of a NetworkQoS with priority 0 (reference/topology.md §18.4). */
export const QOS_EGRESS = 1000;
export const QOS_NETWORK = 10_000;

/** Packet marks: replies to an egress IP, and pod traffic to other nodes that br-ex gives the node's address. */
export const MARK_EGRESS_REPLY = 42;
/** What pods of this node send to their gateway router on a Layer2 network. No number of ovn-kubernetes. */
export const MARK_OWN_POD = 43;
export const MARK_EGRESS_TO_NODE = 1008;
/** Packet mark of what is to leave by a network card that is not the gateway's (reference/node.md §1.2). */
export const MARK_EGRESS_BY_CARD = 1009;
/** What pods of the default network send to next hops in local gateway mode. No number of ovn-kubernetes. */
export const MARK_TO_NEXT_HOP = 1010;
/** What pods of the default network send to leave with an egress address of this node: the bridge lets none of that out with another one. No number of ovn-kubernetes. */
export const MARK_EGRESS_BY_GATEWAY = 1013;
/** What pods of an EgressService send to the host to leave: it lets none of that pass with another address. No number of ovn-kubernetes. */
export const MARK_EGRESS_SERVICE = 1011;

/** Priorities and tiers of ACLs. */
export const ACL_CONNECT_SERVICE = 500;
export const ACL_CONNECT_DROP = 450;
export const ACL_DEFAULT_DENY = 1000;
export const ACL_DEFAULT_ALLOW = 1001;
export const ACL_POD_SERVERS_DROP = 1050;
export const ACL_POD_SERVERS_PASS = 1051;
export const ACL_DHCP_CLIENTS = 1052;
export const ACL_HAIRPIN_SOURCE = 1053;
/** Of the first rule; each further one has one less (reference/topology.md §18.2). */
export const ACL_FIREWALL = 10_000;
/** Lower than any that decides. No number of ovn-kubernetes. */
export const ACL_TIER_PASS = 0;
export const ACL_MULTICAST_DENY = 1011;
export const ACL_MULTICAST_ALLOW = 1012;
/** Of the first rule of a policy of administrators with priority 0, of each tier; each rule has a lower one than the rule before. */
export const ACL_ADMIN_POLICY = 30000;
/** Between two priorities: rules that a ClusterNetworkPolicy has at most. */
export const ADMIN_RULES = 25;
export const TIER_ISOLATION = 0;
export const TIER_ADMIN_POLICY = 1;
export const TIER_BASELINE_POLICY = 3;
export const TIER_POLICY = 2;
