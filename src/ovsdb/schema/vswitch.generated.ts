// Written by `npm run generate` from schemas/vswitch.ovsschema 8.8.0. Edit the generator instead.
import type { Column } from './column.ts';
import type { Integer, Uuid } from '../data/value.ts';

export interface Open_vSwitch {
  /** Refers to Datapath. */
  readonly datapaths: Column<ReadonlyMap<string, Uuid>>;
  /** Refers to Bridge. */
  readonly bridges: Column<readonly Uuid[]>;
  /** Refers to Manager. */
  readonly manager_options: Column<readonly Uuid[]>;
  /** Refers to SSL. */
  readonly ssl: Column<Uuid | undefined>;
  readonly other_config: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly next_cfg: Column<Integer>;
  readonly cur_cfg: Column<Integer>;
  readonly statistics: Column<ReadonlyMap<string, string>>;
  readonly ovs_version: Column<string | undefined>;
  readonly db_version: Column<string | undefined>;
  readonly system_type: Column<string | undefined>;
  readonly system_version: Column<string | undefined>;
  readonly datapath_types: Column<readonly string[]>;
  readonly iface_types: Column<readonly string[]>;
  readonly dpdk_initialized: Column<boolean>;
  readonly dpdk_version: Column<string | undefined>;
}

/** Lives only while a strong reference points at it. */
export interface Bridge {
  readonly name: Column<string, false>;
  readonly datapath_type: Column<string>;
  readonly datapath_version: Column<string>;
  readonly datapath_id: Column<string | undefined>;
  readonly stp_enable: Column<boolean>;
  readonly rstp_enable: Column<boolean>;
  readonly mcast_snooping_enable: Column<boolean>;
  /** Refers to Port. */
  readonly ports: Column<readonly Uuid[]>;
  /** Refers to Mirror. */
  readonly mirrors: Column<readonly Uuid[]>;
  /** Refers to NetFlow. */
  readonly netflow: Column<Uuid | undefined>;
  /** Refers to sFlow. */
  readonly sflow: Column<Uuid | undefined>;
  /** Refers to IPFIX. */
  readonly ipfix: Column<Uuid | undefined>;
  /** Refers to Controller. */
  readonly controller: Column<readonly Uuid[]>;
  readonly protocols: Column<readonly ('OpenFlow10' | 'OpenFlow11' | 'OpenFlow12' | 'OpenFlow13' | 'OpenFlow14' | 'OpenFlow15')[]>;
  readonly fail_mode: Column<'secure' | 'standalone' | undefined>;
  readonly status: Column<ReadonlyMap<string, string>>;
  readonly rstp_status: Column<ReadonlyMap<string, string>>;
  readonly other_config: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly flood_vlans: Column<readonly number[]>;
  /** Refers to Flow_Table. */
  readonly flow_tables: Column<ReadonlyMap<number, Uuid>>;
  /** Refers to AutoAttach. */
  readonly auto_attach: Column<Uuid | undefined>;
}

/** Lives only while a strong reference points at it. */
export interface Port {
  readonly name: Column<string, false>;
  /** Refers to Interface. */
  readonly interfaces: Column<readonly Uuid[]>;
  readonly trunks: Column<readonly number[]>;
  readonly cvlans: Column<readonly number[]>;
  readonly tag: Column<number | undefined>;
  readonly vlan_mode: Column<'access' | 'dot1q-tunnel' | 'native-tagged' | 'native-untagged' | 'trunk' | undefined>;
  /** Refers to QoS. */
  readonly qos: Column<Uuid | undefined>;
  readonly mac: Column<string | undefined>;
  readonly bond_mode: Column<'active-backup' | 'balance-slb' | 'balance-tcp' | undefined>;
  readonly lacp: Column<'active' | 'off' | 'passive' | undefined>;
  readonly bond_updelay: Column<Integer>;
  readonly bond_downdelay: Column<Integer>;
  readonly bond_active_slave: Column<string | undefined>;
  readonly bond_fake_iface: Column<boolean>;
  readonly fake_bridge: Column<boolean>;
  readonly status: Column<ReadonlyMap<string, string>>;
  readonly rstp_status: Column<ReadonlyMap<string, string>>;
  readonly rstp_statistics: Column<ReadonlyMap<string, Integer>>;
  readonly statistics: Column<ReadonlyMap<string, Integer>>;
  readonly protected: Column<boolean>;
  readonly other_config: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Interface {
  readonly name: Column<string, false>;
  readonly type: Column<string>;
  readonly options: Column<ReadonlyMap<string, string>>;
  readonly ingress_policing_rate: Column<Integer>;
  readonly ingress_policing_burst: Column<Integer>;
  readonly ingress_policing_kpkts_rate: Column<Integer>;
  readonly ingress_policing_kpkts_burst: Column<Integer>;
  readonly mac_in_use: Column<string | undefined>;
  readonly mac: Column<string | undefined>;
  readonly ifindex: Column<number | undefined>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly ofport: Column<Integer | undefined>;
  readonly ofport_request: Column<number | undefined>;
  readonly bfd: Column<ReadonlyMap<string, string>>;
  readonly bfd_status: Column<ReadonlyMap<string, string>>;
  readonly cfm_mpid: Column<Integer | undefined>;
  readonly cfm_remote_mpids: Column<readonly Integer[]>;
  readonly cfm_flap_count: Column<Integer | undefined>;
  readonly cfm_fault: Column<boolean | undefined>;
  readonly cfm_fault_status: Column<readonly string[]>;
  readonly cfm_remote_opstate: Column<'down' | 'up' | undefined>;
  readonly cfm_health: Column<number | undefined>;
  readonly lacp_current: Column<boolean | undefined>;
  readonly lldp: Column<ReadonlyMap<string, string>>;
  readonly other_config: Column<ReadonlyMap<string, string>>;
  readonly statistics: Column<ReadonlyMap<string, Integer>>;
  readonly status: Column<ReadonlyMap<string, string>>;
  readonly admin_state: Column<'down' | 'up' | undefined>;
  readonly link_state: Column<'down' | 'up' | undefined>;
  readonly link_resets: Column<Integer | undefined>;
  readonly link_speed: Column<Integer | undefined>;
  readonly duplex: Column<'full' | 'half' | undefined>;
  readonly mtu: Column<Integer | undefined>;
  readonly mtu_request: Column<Integer | undefined>;
  readonly error: Column<string | undefined>;
}

/** Lives only while a strong reference points at it. */
export interface Flow_Table {
  readonly name: Column<string | undefined>;
  readonly flow_limit: Column<Integer | undefined>;
  readonly overflow_policy: Column<'evict' | 'refuse' | undefined>;
  readonly groups: Column<readonly string[]>;
  readonly prefixes: Column<readonly string[]>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface QoS {
  readonly type: Column<string>;
  /** Refers to Queue. */
  readonly queues: Column<ReadonlyMap<number, Uuid>>;
  readonly other_config: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Queue {
  readonly dscp: Column<number | undefined>;
  readonly other_config: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Mirror {
  readonly name: Column<string>;
  readonly select_all: Column<boolean>;
  /** Refers to weak Port. */
  readonly select_src_port: Column<readonly Uuid[]>;
  /** Refers to weak Port. */
  readonly select_dst_port: Column<readonly Uuid[]>;
  readonly select_vlan: Column<readonly number[]>;
  /** Refers to weak Port. */
  readonly output_port: Column<Uuid | undefined>;
  readonly output_vlan: Column<number | undefined>;
  readonly snaplen: Column<number | undefined>;
  readonly statistics: Column<ReadonlyMap<string, Integer>>;
  readonly filter: Column<string | undefined>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface NetFlow {
  readonly targets: Column<readonly string[]>;
  readonly engine_type: Column<number | undefined>;
  readonly engine_id: Column<number | undefined>;
  readonly add_id_to_interface: Column<boolean>;
  readonly active_timeout: Column<Integer>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface sFlow {
  readonly targets: Column<readonly string[]>;
  readonly sampling: Column<Integer | undefined>;
  readonly polling: Column<Integer | undefined>;
  readonly header: Column<Integer | undefined>;
  readonly agent: Column<string | undefined>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface IPFIX {
  readonly targets: Column<readonly string[]>;
  readonly sampling: Column<number | undefined>;
  readonly obs_domain_id: Column<number | undefined>;
  readonly obs_point_id: Column<number | undefined>;
  readonly cache_active_timeout: Column<number | undefined>;
  readonly cache_max_flows: Column<number | undefined>;
  readonly stats_interval: Column<number | undefined>;
  readonly template_interval: Column<number | undefined>;
  readonly other_config: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

export interface Flow_Sample_Collector_Set {
  readonly id: Column<number>;
  /** Refers to Bridge. */
  readonly bridge: Column<Uuid>;
  /** Refers to IPFIX. */
  readonly ipfix: Column<Uuid | undefined>;
  readonly local_group_id: Column<number | undefined>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Controller {
  readonly type: Column<'primary' | 'service' | undefined>;
  readonly target: Column<string>;
  readonly max_backoff: Column<Integer | undefined>;
  readonly inactivity_probe: Column<Integer | undefined>;
  readonly connection_mode: Column<'in-band' | 'out-of-band' | undefined>;
  readonly local_ip: Column<string | undefined>;
  readonly local_netmask: Column<string | undefined>;
  readonly local_gateway: Column<string | undefined>;
  readonly enable_async_messages: Column<boolean | undefined>;
  readonly controller_queue_size: Column<number | undefined>;
  readonly controller_rate_limit: Column<Integer | undefined>;
  readonly controller_burst_limit: Column<Integer | undefined>;
  readonly other_config: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly is_connected: Column<boolean>;
  readonly role: Column<'master' | 'other' | 'slave' | undefined>;
  readonly status: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Manager {
  readonly target: Column<string>;
  readonly max_backoff: Column<Integer | undefined>;
  readonly inactivity_probe: Column<Integer | undefined>;
  readonly connection_mode: Column<'in-band' | 'out-of-band' | undefined>;
  readonly other_config: Column<ReadonlyMap<string, string>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
  readonly is_connected: Column<boolean>;
  readonly status: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface Datapath {
  readonly datapath_version: Column<string>;
  /** Refers to CT_Zone. */
  readonly ct_zones: Column<ReadonlyMap<number, Uuid>>;
  readonly capabilities: Column<ReadonlyMap<string, string>>;
  readonly ct_zone_default_limit: Column<number | undefined>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface CT_Zone {
  /** Refers to CT_Timeout_Policy. */
  readonly timeout_policy: Column<Uuid | undefined>;
  readonly limit: Column<number | undefined>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface CT_Timeout_Policy {
  readonly timeouts: Column<ReadonlyMap<'icmp_first' | 'icmp_reply' | 'tcp_close' | 'tcp_close_wait' | 'tcp_established' | 'tcp_fin_wait' | 'tcp_last_ack' | 'tcp_retransmit' | 'tcp_syn_recv' | 'tcp_syn_sent' | 'tcp_syn_sent2' | 'tcp_time_wait' | 'tcp_unack' | 'udp_first' | 'udp_multiple' | 'udp_single', number>>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface SSL {
  readonly private_key: Column<string>;
  readonly certificate: Column<string>;
  readonly ca_cert: Column<string>;
  readonly bootstrap_ca_cert: Column<boolean>;
  readonly external_ids: Column<ReadonlyMap<string, string>>;
}

/** Lives only while a strong reference points at it. */
export interface AutoAttach {
  readonly system_name: Column<string>;
  readonly system_description: Column<string>;
  readonly mappings: Column<ReadonlyMap<number, number>>;
}

/** Tables of Open_vSwitch 8.8.0. */
export interface OpenVSwitch {
  readonly Open_vSwitch: Open_vSwitch;
  readonly Bridge: Bridge;
  readonly Port: Port;
  readonly Interface: Interface;
  readonly Flow_Table: Flow_Table;
  readonly QoS: QoS;
  readonly Queue: Queue;
  readonly Mirror: Mirror;
  readonly NetFlow: NetFlow;
  readonly sFlow: sFlow;
  readonly IPFIX: IPFIX;
  readonly Flow_Sample_Collector_Set: Flow_Sample_Collector_Set;
  readonly Controller: Controller;
  readonly Manager: Manager;
  readonly Datapath: Datapath;
  readonly CT_Zone: CT_Zone;
  readonly CT_Timeout_Policy: CT_Timeout_Policy;
  readonly SSL: SSL;
  readonly AutoAttach: AutoAttach;
}
