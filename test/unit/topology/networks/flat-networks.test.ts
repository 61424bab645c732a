import { describe, expect, test } from 'vitest';
import { addressingProblem, sharedRanges } from '../../../../src/model/rules/pod-ranges.ts';
import type { Attachment } from '../../../../src/model/model.ts';
import {
  defaultNetwork,
  exampleZone,
  layer2Secondary,
  overlay,
  overlayPod,
  underlay,
  type Zone,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';
import { rowsOf, textsOf } from '../unit-texts.ts';

const UNITS = /^(layer2|localnet)\/|^pods\/port /;

/** X3 and X2 for the marks of network overlay, `P_` for its prefix, DHCP for the id of its answers. */
const short = (text: string): string =>
  text
    .replaceAll('k/network=secondary_blue_overlay k/role=secondary k/topology=layer2', 'X3')
    .replaceAll('k/network=secondary_blue_overlay k/topology=layer2', 'X2')
    .replaceAll('secondary_blue_overlay_ovn_layer2_switch', 'SWITCH')
    .replaceAll('secondary_blue_overlay_', 'P_')
    .replaceAll(/secondary_blue_\w+-network-controller:OVNSecondaryNetwork:[^ }]+/g, 'DHCP');

const zoneOf = (network: ZoneNetwork, ...attachments: Attachment[]): Zone => ({
  ...exampleZone,
  networks: [defaultNetwork, network],
  attachments,
});

const texts = (zone: Zone): string[] => textsOf(zone, UNITS).map(short);

const overlay4 = { ...overlay, subnets: [{ cidr: '10.60.0.0/16' }] };
const pod4 = { ...overlayPod, addresses: ['10.60.0.5/16'] };
const underlayPod: Attachment = {
  ...overlayPod,
  network: underlay.name,
  nadKey: 'blue/underlay',
  addresses: ['10.70.0.5/16'],
};

describe('the network of an OVNSecondaryNetwork (reference/topology.md §22)', () => {
  test('with an IPv6 subnet has a router that announces subnet and MTU, and an answer to DHCP for each of its ports', () => {
    expect(texts(zoneOf(overlay, overlayPod))).toEqual([
      'ACL secondary_blue_overlay-network-controller:DhcpClients:SWITCH action=allow direction=from-lport external_ids={k/id=secondary_blue_overlay-network-controller:DhcpClients:SWITCH k/name=SWITCH k/owner-controller=secondary_blue_overlay-network-controller k/owner-type=DhcpClients} match=((udp.src == 68 && udp.dst == 67 && ip4.dst == {255.255.255.255, 169.254.1.1}) || (udp.src == 546 && udp.dst == 547 && ip6.dst == ff02::1:2)) options={apply-after-lb=true} priority=1052 tier=0 < Logical_Switch/SWITCH.acls',
      'ACL secondary_blue_overlay-network-controller:PodServers:SWITCH:drop action=drop direction=from-lport external_ids={k/id=secondary_blue_overlay-network-controller:PodServers:SWITCH:drop k/name=SWITCH k/owner-controller=secondary_blue_overlay-network-controller k/owner-type=PodServers type=drop} match=udp.dst == {68, 546} options={apply-after-lb=true} priority=1050 tier=0 < Logical_Switch/SWITCH.acls',
      'DHCP_Options DHCP cidr=fd20:60::/64 external_ids={k/cidr=fd20.60../64 k/id=DHCP k/name=secondary_blue_overlay k/owner-controller=secondary_blue_overlay-network-controller k/owner-type=OVNSecondaryNetwork} options={server_id=0a:58:a9:fe:01:01}',
      'Load_Balancer_Group P_clusterLBGroup < Logical_Switch/SWITCH.load_balancer_group',
      'Load_Balancer_Group P_clusterRouterLBGroup',
      'Load_Balancer_Group P_clusterSwitchLBGroup < Logical_Switch/SWITCH.load_balancer_group',
      'Logical_Router P_transit_router copp=Copp/ovnkube-default external_ids={X2}',
      'Logical_Router_Port trtos-SWITCH external_ids={X2} ipv6_ra_configs={address_mode=dhcpv6_stateful max_interval=900 min_interval=300 mtu=1300 router_preference=LOW send_periodic=true} mac=0a:58:e9:69:5d:29 networks=[fd20:60::/64] < Logical_Router/P_transit_router.ports',
      'Logical_Switch SWITCH copp=Copp/heddle-pod-switches external_ids={X3} other_config={interconn-ts=SWITCH ipv6_prefix=fd20:60:: mcast_flood_unregistered=true mcast_querier=false mcast_snoop=true requested-tnl-key=16711689}',
      'Logical_Switch_Port blue.overlay_blue_pod1 addresses=[0a:58:3e:11:22:33 fd20:60::5] dhcpv6_options=DHCP_Options/DHCP external_ids={k/nad=blue/overlay X2 namespace=blue pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C1 requested-tnl-key=1} port_security=[0a:58:3e:11:22:33 fd20:60::5] < Logical_Switch/SWITCH.ports',
      'Logical_Switch_Port stotr-SWITCH addresses=[router] external_ids={X2} options={requested-tnl-key=32767 router-port=trtos-SWITCH} type=router up=true < Logical_Switch/SWITCH.ports',
    ]);
  });

  test('with an IPv4 subnet has no router; the answer to DHCP tells the MTU', () => {
    expect(texts(zoneOf(overlay4, pod4))).toEqual([
      'ACL secondary_blue_overlay-network-controller:DhcpClients:SWITCH action=allow direction=from-lport external_ids={k/id=secondary_blue_overlay-network-controller:DhcpClients:SWITCH k/name=SWITCH k/owner-controller=secondary_blue_overlay-network-controller k/owner-type=DhcpClients} match=((udp.src == 68 && udp.dst == 67 && ip4.dst == {255.255.255.255, 169.254.1.1}) || (udp.src == 546 && udp.dst == 547 && ip6.dst == ff02::1:2)) options={apply-after-lb=true} priority=1052 tier=0 < Logical_Switch/SWITCH.acls',
      'ACL secondary_blue_overlay-network-controller:PodServers:SWITCH:drop action=drop direction=from-lport external_ids={k/id=secondary_blue_overlay-network-controller:PodServers:SWITCH:drop k/name=SWITCH k/owner-controller=secondary_blue_overlay-network-controller k/owner-type=PodServers type=drop} match=udp.dst == {68, 546} options={apply-after-lb=true} priority=1050 tier=0 < Logical_Switch/SWITCH.acls',
      'DHCP_Options DHCP cidr=10.60.0.0/16 external_ids={k/cidr=10.60.0.0/16 k/id=DHCP k/name=secondary_blue_overlay k/owner-controller=secondary_blue_overlay-network-controller k/owner-type=OVNSecondaryNetwork} options={lease_time=3500 mtu=1300 server_id=169.254.1.1 server_mac=0a:58:a9:fe:01:01}',
      'Load_Balancer_Group P_clusterLBGroup < Logical_Switch/SWITCH.load_balancer_group',
      'Load_Balancer_Group P_clusterRouterLBGroup',
      'Load_Balancer_Group P_clusterSwitchLBGroup < Logical_Switch/SWITCH.load_balancer_group',
      'Logical_Switch SWITCH copp=Copp/heddle-pod-switches external_ids={X3} other_config={interconn-ts=SWITCH mcast_flood_unregistered=true mcast_querier=false mcast_snoop=true requested-tnl-key=16711689 subnet=10.60.0.0/16}',
      'Logical_Switch_Port blue.overlay_blue_pod1 addresses=[0a:58:3e:11:22:33 10.60.0.5] dhcpv4_options=DHCP_Options/DHCP external_ids={k/nad=blue/overlay X2 namespace=blue pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C1 requested-tnl-key=1} port_security=[0a:58:3e:11:22:33 10.60.0.5] < Logical_Switch/SWITCH.ports',
    ]);
  });

  test('on the underlay has that answer too, and leaves routers to the underlay', () => {
    expect(texts(zoneOf(underlay, underlayPod)).slice(3, 4)).toEqual([
      'DHCP_Options DHCP cidr=10.70.0.0/16 external_ids={k/cidr=10.70.0.0/16 k/id=DHCP k/name=secondary_blue_underlay k/owner-controller=secondary_blue_underlay-network-controller k/owner-type=OVNSecondaryNetwork} options={lease_time=3500 mtu=1300 server_id=169.254.1.1 server_mac=0a:58:a9:fe:01:01}',
    ]);
    const six = { ...underlay, subnets: overlay.subnets };
    const rows = rowsOf(zoneOf(six, { ...underlayPod, addresses: ['fd20:60::5/64'] }), UNITS);
    expect(rows.map(({ table }) => table).sort()).toEqual([
      'ACL',
      'ACL',
      'ACL',
      'DHCP_Options',
      'Logical_Switch',
      'Logical_Switch_Port',
      'Logical_Switch_Port',
    ]);
  });

  test('without a subnet has neither', () => {
    const rows = rowsOf(
      zoneOf({ ...overlay, subnets: [] }, { ...overlayPod, addresses: [] }),
      UNITS,
    );
    expect(rows.filter(({ table }) => /DHCP|Router/.test(table))).toEqual([]);
    expect(rows.flatMap(({ columns }) => Object.keys(columns)).join()).not.toContain('dhcp');
  });

  test('whose subnet is so small that all of its addresses are for pods has no router', () => {
    const small = { ...overlay, subnets: [{ cidr: 'fd20:60::4/127' }] };
    const rows = rowsOf(zoneOf(small, { ...overlayPod, addresses: ['fd20:60::5/127'] }), UNITS);
    expect(rows.filter(({ table }) => table.startsWith('Logical_Router'))).toEqual([]);
  });

  test('secondary networks of other objects have none of it', () => {
    const other = { ...layer2Secondary, subnets: [...overlay4.subnets, ...overlay.subnets] };
    const pod = { ...overlayPod, network: other.name, nadKey: 'blue/l2' };
    const rows = rowsOf(zoneOf(other, pod), UNITS);
    expect(rows.filter(({ table }) => /DHCP|Router/.test(table))).toEqual([]);
  });

  test('no pod has the MAC address of its router', () => {
    const [macAddress = ''] = texts(zoneOf(overlay)).flatMap(
      (text) => / mac=(\S+)/.exec(text)?.[1] ?? [],
    );
    const addressing = { addresses: ['fd20:60::5/64'], macAddress, tunnelId: 1 };
    expect(addressingProblem(addressing, sharedRanges(overlay), [])).toContain(
      `MAC address ${macAddress} is that of the gateway`,
    );
  });
});
