// Written by `npm run generate`. Edit the schema or the generator instead.
// Types of the tables of OVN_Northbound 7.11.0, from ovn-nb.ovsschema.
import type { Integer } from 'ovsdb-client-ts';
import type { Reference, StringMap } from './row-types.ts';

/** Desired rows of OVN_Northbound 7.11.0: what each column may be given. */
export interface NorthboundRows {
  readonly NB_Global: {
    readonly name?: string | undefined;
    readonly nb_cfg?: Integer | undefined;
    readonly nb_cfg_timestamp?: Integer | undefined;
    readonly sb_cfg?: Integer | undefined;
    readonly sb_cfg_timestamp?: Integer | undefined;
    readonly hv_cfg?: Integer | undefined;
    readonly hv_cfg_timestamp?: Integer | undefined;
    readonly external_ids?: StringMap | undefined;
    /** Refers to Connection. */
    readonly connections?: readonly Reference[] | undefined;
    /** Refers to SSL. */
    readonly ssl?: Reference | undefined;
    readonly options?: StringMap | undefined;
    readonly ipsec?: boolean | undefined;
  };
  readonly Copp: {
    readonly name?: string | undefined;
    readonly meters?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Logical_Switch: {
    readonly name?: string | undefined;
    /** Refers to Logical_Switch_Port. */
    readonly ports?: readonly Reference[] | undefined;
    /** Refers to ACL. */
    readonly acls?: readonly Reference[] | undefined;
    /** Refers to QoS. */
    readonly qos_rules?: readonly Reference[] | undefined;
    /** Refers to weak Load_Balancer. */
    readonly load_balancer?: readonly Reference[] | undefined;
    /** Refers to Load_Balancer_Group. */
    readonly load_balancer_group?: readonly Reference[] | undefined;
    /** Refers to weak DNS. */
    readonly dns_records?: readonly Reference[] | undefined;
    /** Refers to weak Copp. */
    readonly copp?: Reference | undefined;
    readonly other_config?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
    /** Refers to Forwarding_Group. */
    readonly forwarding_groups?: readonly Reference[] | undefined;
  };
  readonly Logical_Switch_Port: {
    readonly name?: string | undefined;
    readonly type?: string | undefined;
    readonly options?: StringMap | undefined;
    readonly parent_name?: string | undefined;
    readonly tag_request?: number | undefined;
    readonly tag?: number | undefined;
    readonly addresses?: readonly string[] | undefined;
    readonly dynamic_addresses?: string | undefined;
    readonly port_security?: readonly string[] | undefined;
    readonly peer?: string | undefined;
    readonly up?: boolean | undefined;
    readonly enabled?: boolean | undefined;
    /** Refers to weak DHCP_Options. */
    readonly dhcpv4_options?: Reference | undefined;
    /** Refers to weak DHCP_Options. */
    readonly dhcpv6_options?: Reference | undefined;
    /** Refers to weak Mirror. */
    readonly mirror_rules?: readonly Reference[] | undefined;
    /** Refers to HA_Chassis_Group. */
    readonly ha_chassis_group?: Reference | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Address_Set: {
    readonly name?: string | undefined;
    readonly addresses?: readonly string[] | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Port_Group: {
    readonly name?: string | undefined;
    /** Refers to weak Logical_Switch_Port. */
    readonly ports?: readonly Reference[] | undefined;
    /** Refers to ACL. */
    readonly acls?: readonly Reference[] | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Load_Balancer: {
    readonly name?: string | undefined;
    readonly vips?: StringMap | undefined;
    readonly protocol?: 'sctp' | 'tcp' | 'udp' | undefined;
    /** Refers to Load_Balancer_Health_Check. */
    readonly health_check?: readonly Reference[] | undefined;
    readonly ip_port_mappings?: StringMap | undefined;
    readonly selection_fields?: readonly ('eth_dst' | 'eth_src' | 'ip_dst' | 'ip_src' | 'ipv6_dst' | 'ipv6_src' | 'tp_dst' | 'tp_src')[] | undefined;
    readonly options?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Load_Balancer_Group: {
    readonly name?: string | undefined;
    /** Refers to weak Load_Balancer. */
    readonly load_balancer?: readonly Reference[] | undefined;
  };
  readonly ACL: {
    readonly name?: string | undefined;
    readonly priority?: number | undefined;
    readonly direction?: 'from-lport' | 'to-lport' | undefined;
    readonly match?: string | undefined;
    readonly action?: 'allow' | 'allow-related' | 'allow-stateless' | 'drop' | 'pass' | 'reject' | undefined;
    readonly log?: boolean | undefined;
    readonly severity?: 'alert' | 'debug' | 'info' | 'notice' | 'warning' | undefined;
    readonly meter?: string | undefined;
    readonly label?: number | undefined;
    readonly tier?: number | undefined;
    /** Refers to Sample. */
    readonly sample_new?: Reference | undefined;
    /** Refers to Sample. */
    readonly sample_est?: Reference | undefined;
    readonly options?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly QoS: {
    readonly priority?: number | undefined;
    readonly direction?: 'from-lport' | 'to-lport' | undefined;
    readonly match?: string | undefined;
    readonly action?: ReadonlyMap<'dscp' | 'mark', number> | undefined;
    readonly bandwidth?: ReadonlyMap<'burst' | 'rate', number> | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Meter: {
    readonly name?: string | undefined;
    readonly unit?: 'kbps' | 'pktps' | undefined;
    /** Refers to Meter_Band. */
    readonly bands?: readonly Reference[] | undefined;
    readonly fair?: boolean | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Meter_Band: {
    readonly action?: 'drop' | undefined;
    readonly rate?: number | undefined;
    readonly burst_size?: number | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Logical_Router: {
    readonly name?: string | undefined;
    /** Refers to Logical_Router_Port. */
    readonly ports?: readonly Reference[] | undefined;
    /** Refers to Logical_Router_Static_Route. */
    readonly static_routes?: readonly Reference[] | undefined;
    /** Refers to Logical_Router_Policy. */
    readonly policies?: readonly Reference[] | undefined;
    readonly enabled?: boolean | undefined;
    /** Refers to NAT. */
    readonly nat?: readonly Reference[] | undefined;
    /** Refers to weak Load_Balancer. */
    readonly load_balancer?: readonly Reference[] | undefined;
    /** Refers to Load_Balancer_Group. */
    readonly load_balancer_group?: readonly Reference[] | undefined;
    /** Refers to weak Copp. */
    readonly copp?: Reference | undefined;
    readonly options?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Logical_Router_Port: {
    readonly name?: string | undefined;
    /** Refers to Gateway_Chassis. */
    readonly gateway_chassis?: readonly Reference[] | undefined;
    /** Refers to HA_Chassis_Group. */
    readonly ha_chassis_group?: Reference | undefined;
    readonly options?: StringMap | undefined;
    readonly networks?: readonly string[] | undefined;
    readonly mac?: string | undefined;
    readonly peer?: string | undefined;
    readonly enabled?: boolean | undefined;
    readonly ipv6_ra_configs?: StringMap | undefined;
    readonly ipv6_prefix?: readonly string[] | undefined;
    /** Refers to DHCP_Relay. */
    readonly dhcp_relay?: Reference | undefined;
    readonly external_ids?: StringMap | undefined;
    readonly status?: StringMap | undefined;
  };
  readonly Logical_Router_Static_Route: {
    readonly route_table?: string | undefined;
    readonly ip_prefix?: string | undefined;
    readonly policy?: 'dst-ip' | 'src-ip' | undefined;
    readonly nexthop?: string | undefined;
    readonly output_port?: string | undefined;
    /** Refers to weak BFD. */
    readonly bfd?: Reference | undefined;
    readonly selection_fields?: readonly ('eth_dst' | 'eth_src' | 'ip_dst' | 'ip_proto' | 'ip_src' | 'ipv6_dst' | 'ipv6_src' | 'tp_dst' | 'tp_src')[] | undefined;
    readonly options?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly Logical_Router_Policy: {
    readonly priority?: number | undefined;
    readonly chain?: string | undefined;
    readonly match?: string | undefined;
    readonly action?: 'allow' | 'drop' | 'jump' | 'reroute' | undefined;
    readonly jump_chain?: string | undefined;
    readonly nexthop?: string | undefined;
    readonly nexthops?: readonly string[] | undefined;
    /** Refers to weak BFD. */
    readonly bfd_sessions?: readonly Reference[] | undefined;
    readonly options?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly NAT: {
    readonly external_ip?: string | undefined;
    readonly external_mac?: string | undefined;
    readonly external_port_range?: string | undefined;
    readonly logical_ip?: string | undefined;
    readonly logical_port?: string | undefined;
    readonly type?: 'dnat' | 'dnat_and_snat' | 'snat' | undefined;
    /** Refers to Address_Set. */
    readonly allowed_ext_ips?: Reference | undefined;
    /** Refers to Address_Set. */
    readonly exempted_ext_ips?: Reference | undefined;
    /** Refers to weak Logical_Router_Port. */
    readonly gateway_port?: Reference | undefined;
    readonly priority?: number | undefined;
    readonly match?: string | undefined;
    readonly options?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly DHCP_Options: {
    readonly cidr?: string | undefined;
    readonly options?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly HA_Chassis: {
    readonly chassis_name?: string | undefined;
    readonly priority?: number | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly HA_Chassis_Group: {
    readonly name?: string | undefined;
    /** Refers to HA_Chassis. */
    readonly ha_chassis?: readonly Reference[] | undefined;
    readonly external_ids?: StringMap | undefined;
  };
  readonly BFD: {
    readonly logical_port?: string | undefined;
    readonly dst_ip?: string | undefined;
    readonly min_tx?: Integer | undefined;
    readonly min_rx?: Integer | undefined;
    readonly detect_mult?: Integer | undefined;
    readonly status?: 'admin_down' | 'down' | 'init' | 'up' | undefined;
    readonly external_ids?: StringMap | undefined;
    readonly options?: StringMap | undefined;
  };
  readonly Static_MAC_Binding: {
    readonly logical_port?: string | undefined;
    readonly ip?: string | undefined;
    readonly mac?: string | undefined;
    readonly override_dynamic_mac?: boolean | undefined;
  };
  readonly Chassis_Template_Var: {
    readonly chassis?: string | undefined;
    readonly variables?: StringMap | undefined;
    readonly external_ids?: StringMap | undefined;
  };
}
