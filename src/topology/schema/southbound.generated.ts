// Written by `npm run generate`. Edit the schema or the generator instead.
// Types of the tables of OVN_Southbound 20.41.0, from ovn-sb.ovsschema.
import type { Column, Integer, Uuid } from 'ovsdb-client-ts';
import type { Reference, StringMap } from './row-types.ts';

export interface SB_Global {
  readonly nb_cfg: Column<Integer>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  /** Refers to Connection. */
  readonly connections: Column<readonly Uuid[]>;
  /** Refers to SSL. */
  readonly ssl: Column<Uuid | undefined>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly ipsec: Column<boolean>;
}

export interface Chassis {
  readonly name: Column<string>;
  readonly hostname: Column<string>;
  /** Refers to Encap. */
  readonly encaps: Column<readonly Uuid[]>;
  readonly vtep_logical_switches: Column<readonly string[]>;
  readonly nb_cfg: Column<Integer>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly other_config: Column<ReadonlyMap<string, string>>;
  readonly transport_zones: Column<readonly string[]>;
}

export interface Chassis_Private {
  readonly name: Column<string>;
  /** Refers to weak Chassis. */
  readonly chassis: Column<Uuid | undefined>;
  readonly nb_cfg: Column<Integer>;
  readonly nb_cfg_timestamp: Column<Integer>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Encap {
  readonly type: Column<'geneve' | 'stt' | 'vxlan' | ''>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly ip: Column<string>;
  readonly chassis_name: Column<string>;
}

export interface Address_Set {
  readonly name: Column<string>;
  readonly addresses: Column<readonly string[]>;
}

export interface Port_Group {
  readonly name: Column<string>;
  readonly ports: Column<readonly string[]>;
}

export interface Logical_Flow {
  /** Refers to Datapath_Binding. */
  readonly logical_datapath: Column<Uuid | undefined>;
  /** Refers to Logical_DP_Group. */
  readonly logical_dp_group: Column<Uuid | undefined>;
  readonly pipeline: Column<'egress' | 'ingress' | ''>;
  readonly table_id: Column<number>;
  readonly priority: Column<number>;
  readonly match: Column<string>;
  readonly actions: Column<string>;
  readonly tags: Column<ReadonlyMap<string, string>>;
  readonly controller_meter: Column<string | undefined>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly flow_desc: Column<string | undefined>;
}

/** Lives only while a strong reference points at it. */
export interface Logical_DP_Group {
  /** Refers to weak Datapath_Binding. */
  readonly datapaths: Column<readonly Uuid[]>;
}

export interface Multicast_Group {
  /** Refers to Datapath_Binding. */
  readonly datapath: Column<Uuid>;
  readonly name: Column<string>;
  readonly tunnel_key: Column<number>;
  /** Refers to weak Port_Binding. */
  readonly ports: Column<readonly Uuid[]>;
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
}

/** Lives only while a strong reference points at it. */
export interface Meter_Band {
  readonly action: Column<'drop' | ''>;
  readonly rate: Column<number>;
  readonly burst_size: Column<number>;
}

export interface Datapath_Binding {
  readonly tunnel_key: Column<number>;
  readonly load_balancers: Column<readonly Uuid[]>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Port_Binding {
  readonly logical_port: Column<string>;
  readonly type: Column<string>;
  /** Refers to Gateway_Chassis. */
  readonly gateway_chassis: Column<readonly Uuid[]>;
  /** Refers to HA_Chassis_Group. */
  readonly ha_chassis_group: Column<Uuid | undefined>;
  readonly options: Column<ReadonlyMap<string, string>>;
  /** Refers to Datapath_Binding. */
  readonly datapath: Column<Uuid>;
  readonly tunnel_key: Column<number>;
  readonly parent_port: Column<string | undefined>;
  readonly tag: Column<number | undefined>;
  readonly virtual_parent: Column<string | undefined>;
  /** Refers to weak Chassis. */
  readonly chassis: Column<Uuid | undefined>;
  /** Refers to weak Chassis. */
  readonly additional_chassis: Column<readonly Uuid[]>;
  /** Refers to weak Encap. */
  readonly encap: Column<Uuid | undefined>;
  /** Refers to weak Encap. */
  readonly additional_encap: Column<readonly Uuid[]>;
  /** Refers to weak Mirror. */
  readonly mirror_rules: Column<readonly Uuid[]>;
  readonly mac: Column<readonly string[]>;
  readonly port_security: Column<readonly string[]>;
  readonly nat_addresses: Column<readonly string[]>;
  readonly up: Column<boolean | undefined>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  /** Refers to weak Chassis. */
  readonly requested_chassis: Column<Uuid | undefined>;
  /** Refers to weak Chassis. */
  readonly requested_additional_chassis: Column<readonly Uuid[]>;
}

export interface MAC_Binding {
  readonly logical_port: Column<string>;
  readonly ip: Column<string>;
  readonly mac: Column<string>;
  readonly timestamp: Column<Integer>;
  /** Refers to Datapath_Binding. */
  readonly datapath: Column<Uuid>;
}

export interface DHCP_Options {
  readonly name: Column<string>;
  readonly code: Column<number>;
  readonly type: Column<'bool' | 'domains' | 'host_id' | 'ipv4' | 'static_routes' | 'str' | 'uint16' | 'uint32' | 'uint8' | ''>;
}

export interface DHCPv6_Options {
  readonly name: Column<string>;
  readonly code: Column<number>;
  readonly type: Column<'domain' | 'ipv6' | 'mac' | 'str' | ''>;
}

/** Lives only while a strong reference points at it. */
export interface Connection {
  readonly target: Column<string>;
  readonly max_backoff: Column<Integer | undefined>;
  readonly inactivity_probe: Column<Integer | undefined>;
  readonly read_only: Column<boolean>;
  readonly role: Column<string>;
  readonly other_config: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly is_connected: Column<boolean>;
  readonly status: Column<ReadonlyMap<string, string>>;
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

export interface DNS {
  readonly records: Column<ReadonlyMap<string, string>>;
  /** Refers to Datapath_Binding. */
  readonly datapaths: Column<readonly Uuid[]>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface RBAC_Role {
  readonly name: Column<string>;
  /** Refers to weak RBAC_Permission. */
  readonly permissions: Column<ReadonlyMap<string, Uuid>>;
}

export interface RBAC_Permission {
  readonly table: Column<string>;
  readonly authorization: Column<readonly string[]>;
  readonly insert_delete: Column<boolean>;
  readonly update: Column<readonly string[]>;
}

/** Lives only while a strong reference points at it. */
export interface Gateway_Chassis {
  readonly name: Column<string>;
  /** Refers to weak Chassis. */
  readonly chassis: Column<Uuid | undefined>;
  readonly priority: Column<number>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly options: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface HA_Chassis {
  /** Refers to weak Chassis. */
  readonly chassis: Column<Uuid | undefined>;
  readonly priority: Column<number>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface HA_Chassis_Group {
  readonly name: Column<string>;
  /** Refers to HA_Chassis. */
  readonly ha_chassis: Column<readonly Uuid[]>;
  /** Refers to weak Chassis. */
  readonly ref_chassis: Column<readonly Uuid[]>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Controller_Event {
  readonly event_type: Column<'empty_lb_backends' | ''>;
  readonly event_info: Column<ReadonlyMap<string, string>>;
  /** Refers to weak Chassis. */
  readonly chassis: Column<Uuid | undefined>;
  readonly seq_num: Column<Integer>;
}

export interface IP_Multicast {
  /** Refers to weak Datapath_Binding. */
  readonly datapath: Column<Uuid>;
  readonly enabled: Column<boolean | undefined>;
  readonly querier: Column<boolean | undefined>;
  readonly eth_src: Column<string>;
  readonly ip4_src: Column<string>;
  readonly ip6_src: Column<string>;
  readonly table_size: Column<Integer | undefined>;
  readonly idle_timeout: Column<Integer | undefined>;
  readonly query_interval: Column<Integer | undefined>;
  readonly query_max_resp: Column<Integer | undefined>;
  readonly seq_no: Column<Integer>;
}

export interface IGMP_Group {
  readonly address: Column<string>;
  readonly protocol: Column<string>;
  /** Refers to weak Datapath_Binding. */
  readonly datapath: Column<Uuid | undefined>;
  /** Refers to weak Chassis. */
  readonly chassis: Column<Uuid | undefined>;
  /** Refers to weak Port_Binding. */
  readonly ports: Column<readonly Uuid[]>;
  readonly chassis_name: Column<string>;
}

export interface Service_Monitor {
  readonly ip: Column<string>;
  readonly protocol: Column<'tcp' | 'udp' | undefined>;
  readonly port: Column<number>;
  readonly logical_port: Column<string>;
  readonly src_mac: Column<string>;
  readonly src_ip: Column<string>;
  readonly chassis_name: Column<string>;
  readonly status: Column<'error' | 'offline' | 'online' | undefined>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Load_Balancer {
  readonly name: Column<string>;
  readonly vips: Column<ReadonlyMap<string, string>>;
  readonly protocol: Column<'sctp' | 'tcp' | 'udp' | undefined>;
  /** Refers to Datapath_Binding. */
  readonly datapaths: Column<readonly Uuid[]>;
  /** Refers to Logical_DP_Group. */
  readonly datapath_group: Column<Uuid | undefined>;
  /** Refers to Logical_DP_Group. */
  readonly ls_datapath_group: Column<Uuid | undefined>;
  /** Refers to Logical_DP_Group. */
  readonly lr_datapath_group: Column<Uuid | undefined>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface BFD {
  readonly src_port: Column<number>;
  readonly disc: Column<Integer>;
  readonly logical_port: Column<string>;
  readonly dst_ip: Column<string>;
  readonly min_tx: Column<Integer>;
  readonly min_rx: Column<Integer>;
  readonly detect_mult: Column<Integer>;
  readonly status: Column<'admin_down' | 'down' | 'init' | 'up' | ''>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly chassis_name: Column<string>;
}

export interface FDB {
  readonly mac: Column<string>;
  readonly dp_key: Column<number>;
  readonly port_key: Column<number>;
  readonly timestamp: Column<Integer>;
}

export interface Static_MAC_Binding {
  readonly logical_port: Column<string>;
  readonly ip: Column<string>;
  readonly mac: Column<string>;
  readonly override_dynamic_mac: Column<boolean>;
  /** Refers to Datapath_Binding. */
  readonly datapath: Column<Uuid>;
}

export interface ECMP_Nexthop {
  readonly nexthop: Column<string>;
  /** Refers to Port_Binding. */
  readonly port: Column<Uuid>;
  /** Refers to Datapath_Binding. */
  readonly datapath: Column<Uuid>;
  readonly mac: Column<string>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Chassis_Template_Var {
  readonly chassis: Column<string>;
  readonly variables: Column<ReadonlyMap<string, string>>;
}

export interface Advertised_Route {
  /** Refers to Datapath_Binding. */
  readonly datapath: Column<Uuid>;
  /** Refers to Port_Binding. */
  readonly logical_port: Column<Uuid>;
  readonly ip_prefix: Column<string>;
  /** Refers to Port_Binding. */
  readonly tracked_port: Column<Uuid | undefined>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Learned_Route {
  /** Refers to Datapath_Binding. */
  readonly datapath: Column<Uuid>;
  /** Refers to Port_Binding. */
  readonly logical_port: Column<Uuid>;
  readonly ip_prefix: Column<string>;
  readonly nexthop: Column<string>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface ACL_ID {
  readonly id: Column<number>;
}

/** Tables of OVN_Southbound 20.41.0. */
export interface Southbound {
  readonly SB_Global: SB_Global;
  readonly Chassis: Chassis;
  readonly Chassis_Private: Chassis_Private;
  readonly Encap: Encap;
  readonly Address_Set: Address_Set;
  readonly Port_Group: Port_Group;
  readonly Logical_Flow: Logical_Flow;
  readonly Logical_DP_Group: Logical_DP_Group;
  readonly Multicast_Group: Multicast_Group;
  readonly Mirror: Mirror;
  readonly Meter: Meter;
  readonly Meter_Band: Meter_Band;
  readonly Datapath_Binding: Datapath_Binding;
  readonly Port_Binding: Port_Binding;
  readonly MAC_Binding: MAC_Binding;
  readonly DHCP_Options: DHCP_Options;
  readonly DHCPv6_Options: DHCPv6_Options;
  readonly Connection: Connection;
  readonly SSL: SSL;
  readonly DNS: DNS;
  readonly RBAC_Role: RBAC_Role;
  readonly RBAC_Permission: RBAC_Permission;
  readonly Gateway_Chassis: Gateway_Chassis;
  readonly HA_Chassis: HA_Chassis;
  readonly HA_Chassis_Group: HA_Chassis_Group;
  readonly Controller_Event: Controller_Event;
  readonly IP_Multicast: IP_Multicast;
  readonly IGMP_Group: IGMP_Group;
  readonly Service_Monitor: Service_Monitor;
  readonly Load_Balancer: Load_Balancer;
  readonly BFD: BFD;
  readonly FDB: FDB;
  readonly Static_MAC_Binding: Static_MAC_Binding;
  readonly ECMP_Nexthop: ECMP_Nexthop;
  readonly Chassis_Template_Var: Chassis_Template_Var;
  readonly Advertised_Route: Advertised_Route;
  readonly Learned_Route: Learned_Route;
  readonly ACL_ID: ACL_ID;
}

/** Desired rows of OVN_Southbound 20.41.0: what each column may be given. */
export interface SouthboundRows {
  readonly SB_Global: {
    readonly nb_cfg?: Integer | undefined;
    readonly external_ids?: StringMap | undefined;
    /** Refers to Connection. */
    readonly connections?: readonly Reference[] | undefined;
    /** Refers to SSL. */
    readonly ssl?: Reference | undefined;
    readonly options?: StringMap | undefined;
    readonly ipsec?: boolean | undefined;
  };
  readonly Chassis: {
    readonly name?: string | undefined;
    readonly hostname?: string | undefined;
    /** Refers to Encap. */
    readonly encaps?: readonly Reference[] | undefined;
    readonly vtep_logical_switches?: readonly string[] | undefined;
    readonly nb_cfg?: Integer | undefined;
    readonly external_ids?: StringMap | undefined;
    readonly other_config?: StringMap | undefined;
    readonly transport_zones?: readonly string[] | undefined;
  };
  readonly Chassis_Private: {
    readonly name?: string | undefined;
    /** Refers to weak Chassis. */
    readonly chassis?: Reference | undefined;
    readonly nb_cfg?: Integer | undefined;
    readonly nb_cfg_timestamp?: Integer | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Encap: {
    readonly type?: 'geneve' | 'stt' | 'vxlan' | undefined;
    readonly options?: StringMap | undefined;
    readonly ip?: string | undefined;
    readonly chassis_name?: string | undefined;
  };
  readonly Address_Set: {
    readonly name?: string | undefined;
    readonly addresses?: readonly string[] | undefined;
  };
  readonly Port_Group: {
    readonly name?: string | undefined;
    readonly ports?: readonly string[] | undefined;
  };
  readonly Logical_Flow: {
    /** Refers to Datapath_Binding. */
    readonly logical_datapath?: Reference | undefined;
    /** Refers to Logical_DP_Group. */
    readonly logical_dp_group?: Reference | undefined;
    readonly pipeline?: 'egress' | 'ingress' | undefined;
    readonly table_id?: number | undefined;
    readonly priority?: number | undefined;
    readonly match?: string | undefined;
    readonly actions?: string | undefined;
    readonly tags?: StringMap | undefined;
    readonly controller_meter?: string | undefined;
    readonly external_ids?: StringMap | undefined;
    readonly flow_desc?: string | undefined;
  };
  readonly Logical_DP_Group: {
    /** Refers to weak Datapath_Binding. */
    readonly datapaths?: readonly Reference[] | undefined;
  };
  readonly Multicast_Group: {
    /** Refers to Datapath_Binding. */
    readonly datapath?: Reference | undefined;
    readonly name?: string | undefined;
    readonly tunnel_key?: number | undefined;
    /** Refers to weak Port_Binding. */
    readonly ports?: readonly Reference[] | undefined;
  };
  readonly Mirror: {
    readonly name?: string | undefined;
    readonly filter?: 'both' | 'from-lport' | 'to-lport' | undefined;
    readonly sink?: string | undefined;
    readonly type?: 'erspan' | 'gre' | 'local' | undefined;
    readonly index?: Integer | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Meter: {
    readonly name?: string | undefined;
    readonly unit?: 'kbps' | 'pktps' | undefined;
    /** Refers to Meter_Band. */
    readonly bands?: readonly Reference[] | undefined;
  };
  readonly Meter_Band: {
    readonly action?: 'drop' | undefined;
    readonly rate?: number | undefined;
    readonly burst_size?: number | undefined;
  };
  readonly Datapath_Binding: {
    readonly tunnel_key?: number | undefined;
    readonly load_balancers?: readonly Uuid[] | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Port_Binding: {
    readonly logical_port?: string | undefined;
    readonly type?: string | undefined;
    /** Refers to Gateway_Chassis. */
    readonly gateway_chassis?: readonly Reference[] | undefined;
    /** Refers to HA_Chassis_Group. */
    readonly ha_chassis_group?: Reference | undefined;
    readonly options?: StringMap | undefined;
    /** Refers to Datapath_Binding. */
    readonly datapath?: Reference | undefined;
    readonly tunnel_key?: number | undefined;
    readonly parent_port?: string | undefined;
    readonly tag?: number | undefined;
    readonly virtual_parent?: string | undefined;
    /** Refers to weak Chassis. */
    readonly chassis?: Reference | undefined;
    /** Refers to weak Chassis. */
    readonly additional_chassis?: readonly Reference[] | undefined;
    /** Refers to weak Encap. */
    readonly encap?: Reference | undefined;
    /** Refers to weak Encap. */
    readonly additional_encap?: readonly Reference[] | undefined;
    /** Refers to weak Mirror. */
    readonly mirror_rules?: readonly Reference[] | undefined;
    readonly mac?: readonly string[] | undefined;
    readonly port_security?: readonly string[] | undefined;
    readonly nat_addresses?: readonly string[] | undefined;
    readonly up?: boolean | undefined;
    readonly external_ids?: StringMap | undefined;
    /** Refers to weak Chassis. */
    readonly requested_chassis?: Reference | undefined;
    /** Refers to weak Chassis. */
    readonly requested_additional_chassis?: readonly Reference[] | undefined;
  };
  readonly MAC_Binding: {
    readonly logical_port?: string | undefined;
    readonly ip?: string | undefined;
    readonly mac?: string | undefined;
    readonly timestamp?: Integer | undefined;
    /** Refers to Datapath_Binding. */
    readonly datapath?: Reference | undefined;
  };
  readonly DHCP_Options: {
    readonly name?: string | undefined;
    readonly code?: number | undefined;
    readonly type?: 'bool' | 'domains' | 'host_id' | 'ipv4' | 'static_routes' | 'str' | 'uint16' | 'uint32' | 'uint8' | undefined;
  };
  readonly DHCPv6_Options: {
    readonly name?: string | undefined;
    readonly code?: number | undefined;
    readonly type?: 'domain' | 'ipv6' | 'mac' | 'str' | undefined;
  };
  readonly Connection: {
    readonly target?: string | undefined;
    readonly max_backoff?: Integer | undefined;
    readonly inactivity_probe?: Integer | undefined;
    readonly read_only?: boolean | undefined;
    readonly role?: string | undefined;
    readonly other_config?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
    readonly is_connected?: boolean | undefined;
    readonly status?: StringMap | undefined;
  };
  readonly SSL: {
    readonly private_key?: string | undefined;
    readonly certificate?: string | undefined;
    readonly ca_cert?: string | undefined;
    readonly bootstrap_ca_cert?: boolean | undefined;
    readonly ssl_protocols?: string | undefined;
    readonly ssl_ciphers?: string | undefined;
    readonly ssl_ciphersuites?: string | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly DNS: {
    readonly records?: StringMap | undefined;
    /** Refers to Datapath_Binding. */
    readonly datapaths?: readonly Reference[] | undefined;
    readonly options?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly RBAC_Role: {
    readonly name?: string | undefined;
    /** Refers to weak RBAC_Permission. */
    readonly permissions?: ReadonlyMap<string, Reference> | undefined;
  };
  readonly RBAC_Permission: {
    readonly table?: string | undefined;
    readonly authorization?: readonly string[] | undefined;
    readonly insert_delete?: boolean | undefined;
    readonly update?: readonly string[] | undefined;
  };
  readonly Gateway_Chassis: {
    readonly name?: string | undefined;
    /** Refers to weak Chassis. */
    readonly chassis?: Reference | undefined;
    readonly priority?: number | undefined;
    readonly external_ids?: StringMap | undefined;
    readonly options?: StringMap | undefined;
  };
  readonly HA_Chassis: {
    /** Refers to weak Chassis. */
    readonly chassis?: Reference | undefined;
    readonly priority?: number | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly HA_Chassis_Group: {
    readonly name?: string | undefined;
    /** Refers to HA_Chassis. */
    readonly ha_chassis?: readonly Reference[] | undefined;
    /** Refers to weak Chassis. */
    readonly ref_chassis?: readonly Reference[] | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Controller_Event: {
    readonly event_type?: 'empty_lb_backends' | undefined;
    readonly event_info?: StringMap | undefined;
    /** Refers to weak Chassis. */
    readonly chassis?: Reference | undefined;
    readonly seq_num?: Integer | undefined;
  };
  readonly IP_Multicast: {
    /** Refers to weak Datapath_Binding. */
    readonly datapath?: Reference | undefined;
    readonly enabled?: boolean | undefined;
    readonly querier?: boolean | undefined;
    readonly eth_src?: string | undefined;
    readonly ip4_src?: string | undefined;
    readonly ip6_src?: string | undefined;
    readonly table_size?: Integer | undefined;
    readonly idle_timeout?: Integer | undefined;
    readonly query_interval?: Integer | undefined;
    readonly query_max_resp?: Integer | undefined;
    readonly seq_no?: Integer | undefined;
  };
  readonly IGMP_Group: {
    readonly address?: string | undefined;
    readonly protocol?: string | undefined;
    /** Refers to weak Datapath_Binding. */
    readonly datapath?: Reference | undefined;
    /** Refers to weak Chassis. */
    readonly chassis?: Reference | undefined;
    /** Refers to weak Port_Binding. */
    readonly ports?: readonly Reference[] | undefined;
    readonly chassis_name?: string | undefined;
  };
  readonly Service_Monitor: {
    readonly ip?: string | undefined;
    readonly protocol?: 'tcp' | 'udp' | undefined;
    readonly port?: number | undefined;
    readonly logical_port?: string | undefined;
    readonly src_mac?: string | undefined;
    readonly src_ip?: string | undefined;
    readonly chassis_name?: string | undefined;
    readonly status?: 'error' | 'offline' | 'online' | undefined;
    readonly options?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Load_Balancer: {
    readonly name?: string | undefined;
    readonly vips?: StringMap | undefined;
    readonly protocol?: 'sctp' | 'tcp' | 'udp' | undefined;
    /** Refers to Datapath_Binding. */
    readonly datapaths?: readonly Reference[] | undefined;
    /** Refers to Logical_DP_Group. */
    readonly datapath_group?: Reference | undefined;
    /** Refers to Logical_DP_Group. */
    readonly ls_datapath_group?: Reference | undefined;
    /** Refers to Logical_DP_Group. */
    readonly lr_datapath_group?: Reference | undefined;
    readonly options?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly BFD: {
    readonly src_port?: number | undefined;
    readonly disc?: Integer | undefined;
    readonly logical_port?: string | undefined;
    readonly dst_ip?: string | undefined;
    readonly min_tx?: Integer | undefined;
    readonly min_rx?: Integer | undefined;
    readonly detect_mult?: Integer | undefined;
    readonly status?: 'admin_down' | 'down' | 'init' | 'up' | undefined;
    readonly external_ids?: StringMap | undefined;
    readonly options?: StringMap | undefined;
    readonly chassis_name?: string | undefined;
  };
  readonly FDB: {
    readonly mac?: string | undefined;
    readonly dp_key?: number | undefined;
    readonly port_key?: number | undefined;
    readonly timestamp?: Integer | undefined;
  };
  readonly Static_MAC_Binding: {
    readonly logical_port?: string | undefined;
    readonly ip?: string | undefined;
    readonly mac?: string | undefined;
    readonly override_dynamic_mac?: boolean | undefined;
    /** Refers to Datapath_Binding. */
    readonly datapath?: Reference | undefined;
  };
  readonly ECMP_Nexthop: {
    readonly nexthop?: string | undefined;
    /** Refers to Port_Binding. */
    readonly port?: Reference | undefined;
    /** Refers to Datapath_Binding. */
    readonly datapath?: Reference | undefined;
    readonly mac?: string | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Chassis_Template_Var: {
    readonly chassis?: string | undefined;
    readonly variables?: StringMap | undefined;
  };
  readonly Advertised_Route: {
    /** Refers to Datapath_Binding. */
    readonly datapath?: Reference | undefined;
    /** Refers to Port_Binding. */
    readonly logical_port?: Reference | undefined;
    readonly ip_prefix?: string | undefined;
    /** Refers to Port_Binding. */
    readonly tracked_port?: Reference | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Learned_Route: {
    /** Refers to Datapath_Binding. */
    readonly datapath?: Reference | undefined;
    /** Refers to Port_Binding. */
    readonly logical_port?: Reference | undefined;
    readonly ip_prefix?: string | undefined;
    readonly nexthop?: string | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly ACL_ID: {
    readonly id?: number | undefined;
  };
}
