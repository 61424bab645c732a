// Written by `npm run generate`. Edit the schema or the generator instead.
// Types of the tables of OVN_Northbound 7.11.0, from ovn-nb.ovsschema.
import type { Column, Integer, Uuid } from 'ovsdb-client-ts';

export interface NB_Global {
  readonly name: Column<string>;
  readonly nb_cfg: Column<Integer>;
  readonly nb_cfg_timestamp: Column<Integer>;
  readonly sb_cfg: Column<Integer>;
  readonly sb_cfg_timestamp: Column<Integer>;
  readonly hv_cfg: Column<Integer>;
  readonly hv_cfg_timestamp: Column<Integer>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  /** Refers to Connection. */
  readonly connections: Column<readonly Uuid[]>;
  /** Refers to SSL. */
  readonly ssl: Column<Uuid | undefined>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly ipsec: Column<boolean>;
}

export interface Sample_Collector {
  readonly id: Column<number>;
  readonly name: Column<string>;
  readonly probability: Column<number>;
  readonly set_id: Column<number>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Sample {
  /** Refers to Sample_Collector. */
  readonly collectors: Column<readonly Uuid[]>;
  readonly metadata: Column<number>;
}

export interface Copp {
  readonly name: Column<string>;
  readonly meters: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Logical_Switch {
  readonly name: Column<string>;
  /** Refers to Logical_Switch_Port. */
  readonly ports: Column<readonly Uuid[]>;
  /** Refers to ACL. */
  readonly acls: Column<readonly Uuid[]>;
  /** Refers to QoS. */
  readonly qos_rules: Column<readonly Uuid[]>;
  /** Refers to weak Load_Balancer. */
  readonly load_balancer: Column<readonly Uuid[]>;
  /** Refers to Load_Balancer_Group. */
  readonly load_balancer_group: Column<readonly Uuid[]>;
  /** Refers to weak DNS. */
  readonly dns_records: Column<readonly Uuid[]>;
  /** Refers to weak Copp. */
  readonly copp: Column<Uuid | undefined>;
  readonly other_config: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  /** Refers to Forwarding_Group. */
  readonly forwarding_groups: Column<readonly Uuid[]>;
}

/** Lives only while a strong reference points at it. */
export interface Logical_Switch_Port {
  readonly name: Column<string>;
  readonly type: Column<string>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly parent_name: Column<string | undefined>;
  readonly tag_request: Column<number | undefined>;
  readonly tag: Column<number | undefined>;
  readonly addresses: Column<readonly string[]>;
  readonly dynamic_addresses: Column<string | undefined>;
  readonly port_security: Column<readonly string[]>;
  readonly peer: Column<string | undefined>;
  readonly up: Column<boolean | undefined>;
  readonly enabled: Column<boolean | undefined>;
  /** Refers to weak DHCP_Options. */
  readonly dhcpv4_options: Column<Uuid | undefined>;
  /** Refers to weak DHCP_Options. */
  readonly dhcpv6_options: Column<Uuid | undefined>;
  /** Refers to weak Mirror. */
  readonly mirror_rules: Column<readonly Uuid[]>;
  /** Refers to HA_Chassis_Group. */
  readonly ha_chassis_group: Column<Uuid | undefined>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Forwarding_Group {
  readonly name: Column<string>;
  readonly vip: Column<string>;
  readonly vmac: Column<string>;
  readonly liveness: Column<boolean>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly child_port: Column<readonly string[]>;
}

export interface Address_Set {
  readonly name: Column<string>;
  readonly addresses: Column<readonly string[]>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Port_Group {
  readonly name: Column<string>;
  /** Refers to weak Logical_Switch_Port. */
  readonly ports: Column<readonly Uuid[]>;
  /** Refers to ACL. */
  readonly acls: Column<readonly Uuid[]>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Load_Balancer {
  readonly name: Column<string>;
  readonly vips: Column<ReadonlyMap<string, string>>;
  readonly protocol: Column<'sctp' | 'tcp' | 'udp' | undefined>;
  /** Refers to Load_Balancer_Health_Check. */
  readonly health_check: Column<readonly Uuid[]>;
  readonly ip_port_mappings: Column<ReadonlyMap<string, string>>;
  readonly selection_fields: Column<readonly ('eth_dst' | 'eth_src' | 'ip_dst' | 'ip_src' | 'ipv6_dst' | 'ipv6_src' | 'tp_dst' | 'tp_src')[]>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Load_Balancer_Group {
  readonly name: Column<string>;
  /** Refers to weak Load_Balancer. */
  readonly load_balancer: Column<readonly Uuid[]>;
}

/** Lives only while a strong reference points at it. */
export interface Load_Balancer_Health_Check {
  readonly vip: Column<string>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface ACL {
  readonly name: Column<string | undefined>;
  readonly priority: Column<number>;
  readonly direction: Column<'from-lport' | 'to-lport' | ''>;
  readonly match: Column<string>;
  readonly action: Column<'allow' | 'allow-related' | 'allow-stateless' | 'drop' | 'pass' | 'reject' | ''>;
  readonly log: Column<boolean>;
  readonly severity: Column<'alert' | 'debug' | 'info' | 'notice' | 'warning' | undefined>;
  readonly meter: Column<string | undefined>;
  readonly label: Column<number>;
  readonly tier: Column<number>;
  /** Refers to Sample. */
  readonly sample_new: Column<Uuid | undefined>;
  /** Refers to Sample. */
  readonly sample_est: Column<Uuid | undefined>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface QoS {
  readonly priority: Column<number>;
  readonly direction: Column<'from-lport' | 'to-lport' | ''>;
  readonly match: Column<string>;
  readonly action: Column<ReadonlyMap<'dscp' | 'mark', number>>;
  readonly bandwidth: Column<ReadonlyMap<'burst' | 'rate', number>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Mirror {
  readonly name: Column<string>;
  readonly filter: Column<'both' | 'from-lport' | 'to-lport' | ''>;
  readonly sink: Column<string>;
  readonly type: Column<'erspan' | 'gre' | 'local' | ''>;
  readonly index: Column<Integer>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Meter {
  readonly name: Column<string>;
  readonly unit: Column<'kbps' | 'pktps' | ''>;
  /** Refers to Meter_Band. */
  readonly bands: Column<readonly Uuid[]>;
  readonly fair: Column<boolean | undefined>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Meter_Band {
  readonly action: Column<'drop' | ''>;
  readonly rate: Column<number>;
  readonly burst_size: Column<number>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Logical_Router {
  readonly name: Column<string>;
  /** Refers to Logical_Router_Port. */
  readonly ports: Column<readonly Uuid[]>;
  /** Refers to Logical_Router_Static_Route. */
  readonly static_routes: Column<readonly Uuid[]>;
  /** Refers to Logical_Router_Policy. */
  readonly policies: Column<readonly Uuid[]>;
  readonly enabled: Column<boolean | undefined>;
  /** Refers to NAT. */
  readonly nat: Column<readonly Uuid[]>;
  /** Refers to weak Load_Balancer. */
  readonly load_balancer: Column<readonly Uuid[]>;
  /** Refers to Load_Balancer_Group. */
  readonly load_balancer_group: Column<readonly Uuid[]>;
  /** Refers to weak Copp. */
  readonly copp: Column<Uuid | undefined>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Logical_Router_Port {
  readonly name: Column<string>;
  /** Refers to Gateway_Chassis. */
  readonly gateway_chassis: Column<readonly Uuid[]>;
  /** Refers to HA_Chassis_Group. */
  readonly ha_chassis_group: Column<Uuid | undefined>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly networks: Column<readonly string[]>;
  readonly mac: Column<string>;
  readonly peer: Column<string | undefined>;
  readonly enabled: Column<boolean | undefined>;
  readonly ipv6_ra_configs: Column<ReadonlyMap<string, string>>;
  readonly ipv6_prefix: Column<readonly string[]>;
  /** Refers to DHCP_Relay. */
  readonly dhcp_relay: Column<Uuid | undefined>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly status: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Logical_Router_Static_Route {
  readonly route_table: Column<string>;
  readonly ip_prefix: Column<string>;
  readonly policy: Column<'dst-ip' | 'src-ip' | undefined>;
  readonly nexthop: Column<string>;
  readonly output_port: Column<string | undefined>;
  /** Refers to weak BFD. */
  readonly bfd: Column<Uuid | undefined>;
  readonly selection_fields: Column<readonly ('eth_dst' | 'eth_src' | 'ip_dst' | 'ip_proto' | 'ip_src' | 'ipv6_dst' | 'ipv6_src' | 'tp_dst' | 'tp_src')[]>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Logical_Router_Policy {
  readonly priority: Column<number>;
  readonly chain: Column<string | undefined>;
  readonly match: Column<string>;
  readonly action: Column<'allow' | 'drop' | 'jump' | 'reroute' | ''>;
  readonly jump_chain: Column<string | undefined>;
  readonly nexthop: Column<string | undefined>;
  readonly nexthops: Column<readonly string[]>;
  /** Refers to weak BFD. */
  readonly bfd_sessions: Column<readonly Uuid[]>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface NAT {
  readonly external_ip: Column<string>;
  readonly external_mac: Column<string | undefined>;
  readonly external_port_range: Column<string>;
  readonly logical_ip: Column<string>;
  readonly logical_port: Column<string | undefined>;
  readonly type: Column<'dnat' | 'dnat_and_snat' | 'snat' | ''>;
  /** Refers to Address_Set. */
  readonly allowed_ext_ips: Column<Uuid | undefined>;
  /** Refers to Address_Set. */
  readonly exempted_ext_ips: Column<Uuid | undefined>;
  /** Refers to weak Logical_Router_Port. */
  readonly gateway_port: Column<Uuid | undefined>;
  readonly priority: Column<number>;
  readonly match: Column<string>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface DHCP_Options {
  readonly cidr: Column<string>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface DHCP_Relay {
  readonly name: Column<string>;
  readonly servers: Column<string | undefined>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Connection {
  readonly target: Column<string>;
  readonly max_backoff: Column<Integer | undefined>;
  readonly inactivity_probe: Column<Integer | undefined>;
  readonly other_config: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly is_connected: Column<boolean>;
  readonly status: Column<ReadonlyMap<string, string>>;
}

export interface DNS {
  readonly records: Column<ReadonlyMap<string, string>>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface SSL {
  readonly private_key: Column<string>;
  readonly certificate: Column<string>;
  readonly ca_cert: Column<string>;
  readonly bootstrap_ca_cert: Column<boolean>;
  readonly ssl_protocols: Column<string>;
  readonly ssl_ciphers: Column<string>;
  readonly ssl_ciphersuites: Column<string>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Gateway_Chassis {
  readonly name: Column<string>;
  readonly chassis_name: Column<string>;
  readonly priority: Column<number>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly options: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface HA_Chassis {
  readonly chassis_name: Column<string>;
  readonly priority: Column<number>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface HA_Chassis_Group {
  readonly name: Column<string>;
  /** Refers to HA_Chassis. */
  readonly ha_chassis: Column<readonly Uuid[]>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface BFD {
  readonly logical_port: Column<string>;
  readonly dst_ip: Column<string>;
  readonly min_tx: Column<Integer | undefined>;
  readonly min_rx: Column<Integer | undefined>;
  readonly detect_mult: Column<Integer | undefined>;
  readonly status: Column<'admin_down' | 'down' | 'init' | 'up' | undefined>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly options: Column<ReadonlyMap<string, string>>;
}

export interface Static_MAC_Binding {
  readonly logical_port: Column<string>;
  readonly ip: Column<string>;
  readonly mac: Column<string>;
  readonly override_dynamic_mac: Column<boolean>;
}

export interface Chassis_Template_Var {
  readonly chassis: Column<string>;
  readonly variables: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Sampling_App {
  readonly type: Column<'acl-est' | 'acl-new' | 'drop' | ''>;
  readonly id: Column<number>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Tables of OVN_Northbound 7.11.0. */
export interface Northbound {
  readonly NB_Global: NB_Global;
  readonly Sample_Collector: Sample_Collector;
  readonly Sample: Sample;
  readonly Copp: Copp;
  readonly Logical_Switch: Logical_Switch;
  readonly Logical_Switch_Port: Logical_Switch_Port;
  readonly Forwarding_Group: Forwarding_Group;
  readonly Address_Set: Address_Set;
  readonly Port_Group: Port_Group;
  readonly Load_Balancer: Load_Balancer;
  readonly Load_Balancer_Group: Load_Balancer_Group;
  readonly Load_Balancer_Health_Check: Load_Balancer_Health_Check;
  readonly ACL: ACL;
  readonly QoS: QoS;
  readonly Mirror: Mirror;
  readonly Meter: Meter;
  readonly Meter_Band: Meter_Band;
  readonly Logical_Router: Logical_Router;
  readonly Logical_Router_Port: Logical_Router_Port;
  readonly Logical_Router_Static_Route: Logical_Router_Static_Route;
  readonly Logical_Router_Policy: Logical_Router_Policy;
  readonly NAT: NAT;
  readonly DHCP_Options: DHCP_Options;
  readonly DHCP_Relay: DHCP_Relay;
  readonly Connection: Connection;
  readonly DNS: DNS;
  readonly SSL: SSL;
  readonly Gateway_Chassis: Gateway_Chassis;
  readonly HA_Chassis: HA_Chassis;
  readonly HA_Chassis_Group: HA_Chassis_Group;
  readonly BFD: BFD;
  readonly Static_MAC_Binding: Static_MAC_Binding;
  readonly Chassis_Template_Var: Chassis_Template_Var;
  readonly Sampling_App: Sampling_App;
}
