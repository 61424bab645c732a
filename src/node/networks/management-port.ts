/** The host's port on a network: an internal port of Open vSwitch that OVN takes for the network's management port (reference/node.md §2.2). */
import type { TableClaim } from '../../desired/rows.ts';
import { hostAddress, type HostPart } from './host-network.ts';
import { OPEN_VSWITCH } from '../host-rows.ts';
import { INTEGRATION_BRIDGE } from '../names.ts';

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** Columns of ovs-vswitchd and of administrators: what they say of our ports is theirs. */
const FOREIGN = {
  Bridge:
    'auto_attach controller datapath_id datapath_type datapath_version external_ids fail_mode flood_vlans flow_tables ipfix mcast_snooping_enable mirrors netflow other_config protocols rstp_enable rstp_status sflow status stp_enable',
  Port: 'bond_active_slave bond_downdelay bond_fake_iface bond_mode bond_updelay cvlans fake_bridge lacp mac other_config protected qos rstp_statistics rstp_status statistics status tag trunks vlan_mode',
  Interface:
    'admin_state bfd bfd_status cfm_fault cfm_fault_status cfm_flap_count cfm_health cfm_mpid cfm_remote_mpids cfm_remote_opstate duplex error ifindex ingress_policing_burst ingress_policing_kpkts_burst ingress_policing_kpkts_rate ingress_policing_rate lacp_current link_resets link_speed link_state lldp mac_in_use mtu ofport ofport_request options other_config statistics status',
} as const;

/** `sharedColumns`: ovn-controller has keys of its own in `external_ids` of our interfaces, and others have ports on the bridge. */
const claim = (table: keyof typeof FOREIGN, ...sharedColumns: string[]): TableClaim => ({
  database: OPEN_VSWITCH,
  table,
  keyOf: (row) => textOf(row.column('name')),
  foreignColumns: FOREIGN[table].split(' '),
  sharedColumns,
});

export const MANAGEMENT_CLAIMS: readonly TableClaim[] = [
  claim('Bridge', 'ports'),
  claim('Port', 'external_ids'),
  claim('Interface', 'external_ids'),
];

export const managementPort: HostPart = {
  rules: {
    'management-port': {
      text: "The host has a port on each network with gateways, with the second address of the node's subnet, known to OVN by its interface id.",
      source: 'reference/node.md §2.2, §1.4',
    },
  },
  build(all, on) {
    const rows = all.by('management-port');
    const { device, network } = on;
    rows.openVswitch(
      'Port',
      device,
      { name: device },
      { table: 'Bridge', key: INTEGRATION_BRIDGE, column: 'ports' },
    );
    rows.openVswitch(
      'Interface',
      device,
      {
        name: device,
        type: 'internal',
        mac: on.mac,
        mtu_request: network.mtu,
        external_ids: {
          'iface-id': on.logicalPort,
          ...(on.isDefault ? {} : { 'k8s.ovn.org/network': network.name }),
        },
      },
      { table: 'Port', key: device, column: 'interfaces' },
    );
    rows.link({ name: device, mac: on.mac, ...(on.vrf === undefined ? {} : { master: on.vrf }) });
    for (const range of on.ranges) rows.address({ dev: device, address: hostAddress(range) });
  },
};
