import { describe, expect, test } from 'vitest';
import type { Attachment } from '../../../../src/model/model.ts';
import {
  bluePod,
  defaultNetwork,
  dualYellow,
  dualZone,
  exampleZone,
  farYellowPod as far,
  inLocalMode,
  layer2Secondary,
  worker,
  yellow,
  yellowPod,
  type Zone,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';
import { layer2Network } from '../../../../src/topology/networks/layer2.ts';
import { added, heads, rowsOf, textsOf } from '../unit-texts.ts';

const UNITS = /^layer2\/|^pods\/(port|namespace-groups) /;

const withNetwork = (network: ZoneNetwork, zone: Zone = exampleZone): Zone => ({
  ...zone,
  namespaces: ['blue', 'yellow'],
  networks: [defaultNetwork, network],
});

/** X2 and X3 for the marks of network yellow-net, `P_` for its prefix. */
const short = (text: string): string =>
  text
    .replaceAll('k/network=cluster_udn_yellow-net k/role=primary k/topology=layer2', 'X3')
    .replaceAll('k/network=cluster_udn_yellow-net k/topology=layer2', 'X2')
    .replaceAll('cluster_udn_yellow-net-network-controller', 'CONTROLLER')
    .replaceAll('cluster_udn_yellow.net_ovn_layer2_switch', 'SWITCH')
    .replaceAll('cluster_udn_yellow.net_', 'P_')
    .replaceAll('cluster_udn_yellow-net', 'NETWORK');

const texts = (zone: Zone): string[] => textsOf(zone, UNITS).map(short);
const plain = withNetwork(yellow);

describe('a primary Layer2 network (reference/topology.md §9)', () => {
  test('has one switch and one router for all zones, and a gateway router for this node', () => {
    expect(texts(plain)).toEqual([
      'ACL CONTROLLER:HairpinSource:drop action=drop direction=from-lport external_ids={k/id=CONTROLLER:HairpinSource:drop k/owner-controller=CONTROLLER k/owner-type=HairpinSource type=drop} match=inport == @a85e51e75eee5604725bf867f5aa65f39 && ip4.src == 169.254.0.5 priority=1053 tier=0 < Port_Group/a85e51e75eee5604725bf867f5aa65f39.acls',
      'ACL CONTROLLER:NetpolDefault:allow-hairpinning:Egress action=allow-related direction=from-lport external_ids={direction=Egress k/id=CONTROLLER:NetpolDefault:allow-hairpinning:Egress k/name=allow-hairpinning k/owner-controller=CONTROLLER k/owner-type=NetpolDefault} match=ip4.src == 169.254.0.5 options={apply-after-lb=true} priority=1001 tier=2 < Port_Group/a85e51e75eee5604725bf867f5aa65f39.acls',
      'ACL CONTROLLER:NetpolDefault:allow-hairpinning:Ingress action=allow-related direction=to-lport external_ids={direction=Ingress k/id=CONTROLLER:NetpolDefault:allow-hairpinning:Ingress k/name=allow-hairpinning k/owner-controller=CONTROLLER k/owner-type=NetpolDefault} match=ip4.src == 169.254.0.5 priority=1001 tier=2 < Port_Group/a85e51e75eee5604725bf867f5aa65f39.acls',
      'ACL CONTROLLER:NetpolNode:SWITCH:105.105.0.2 action=allow-related direction=to-lport external_ids={ip=105.105.0.2 k/id=CONTROLLER:NetpolNode:SWITCH:105.105.0.2 k/name=SWITCH k/owner-controller=CONTROLLER k/owner-type=NetpolNode} match=ip4.src==105.105.0.2 priority=1001 tier=2 < Logical_Switch/SWITCH.acls',
      'ACL CONTROLLER:PodServers:SWITCH:drop action=drop direction=from-lport external_ids={k/id=CONTROLLER:PodServers:SWITCH:drop k/name=SWITCH k/owner-controller=CONTROLLER k/owner-type=PodServers type=drop} match=udp.dst == {68, 546} options={apply-after-lb=true} priority=1050 tier=0 < Logical_Switch/SWITCH.acls',
      'ACL CONTROLLER:PodServers:SWITCH:pass action=pass direction=from-lport external_ids={k/id=CONTROLLER:PodServers:SWITCH:pass k/name=SWITCH k/owner-controller=CONTROLLER k/owner-type=PodServers type=pass} match=inport == "stotr-SWITCH" && udp.dst == {68, 546} options={apply-after-lb=true} priority=1051 tier=0 < Logical_Switch/SWITCH.acls',
      'Load_Balancer_Group P_clusterLBGroup < Logical_Switch/SWITCH.load_balancer_group < Logical_Router/GR_P_ovn-worker.load_balancer_group',
      'Load_Balancer_Group P_clusterRouterLBGroup < Logical_Router/GR_P_ovn-worker.load_balancer_group',
      'Load_Balancer_Group P_clusterSwitchLBGroup < Logical_Switch/SWITCH.load_balancer_group',
      'Logical_Router GR_P_ovn-worker copp=Copp/ovnkube-default external_ids={X3 physical_ip=172.18.0.3 physical_ips=172.18.0.3,169.254.0.15} options={always_learn_from_arp_request=false chassis=C1 disable_garp_rarp=true dynamic_neigh_routers=false lb_force_snat_ip=100.65.0.2 mac_binding_age_threshold=300}',
      'Logical_Router P_transit_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes X2} options={requested-tnl-key=16715780}',
      'Logical_Router_Policy P_transit_router 1004 inport == "trtos-SWITCH" && ip4.dst == 172.18.0.3 /* SWITCH */ action=reroute external_ids={X2} match=inport == "trtos-SWITCH" && ip4.dst == 172.18.0.3 /* SWITCH */ nexthops=[105.105.0.2] priority=1004 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-CDN-Svc:ip4:NETWORK (ip4.src == $ad61ee11fb43526c70e45aaa1796c3738 || ip4.src == $a1a8d236e35d0640d374f3550082a0e56) && ip4.dst == $ad29e219e8c033e3b3094bc506a4db05c action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-CDN-Svc:ip4:NETWORK k/name=EIP-No-Reroute-Pod-To-CDN-Svc k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=102} match=(ip4.src == $ad61ee11fb43526c70e45aaa1796c3738 || ip4.src == $a1a8d236e35d0640d374f3550082a0e56) && ip4.dst == $ad29e219e8c033e3b3094bc506a4db05c priority=102 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Join:ip4:NETWORK ip4.src == 105.105.0.0/16 && ip4.dst == 100.64.0.0/16 action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Join:ip4:NETWORK k/name=EIP-No-Reroute-Pod-To-Join k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=102} match=ip4.src == 105.105.0.0/16 && ip4.dst == 100.64.0.0/16 priority=102 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Node:ip4:NETWORK (ip4.src == $ad61ee11fb43526c70e45aaa1796c3738 || ip4.src == $a1a8d236e35d0640d374f3550082a0e56) && ip4.dst == $a731532d7e5758ff700869a4c09b850fb action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Node:ip4:NETWORK k/name=EIP-No-Reroute-Pod-To-Node k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=102} match=(ip4.src == $ad61ee11fb43526c70e45aaa1796c3738 || ip4.src == $a1a8d236e35d0640d374f3550082a0e56) && ip4.dst == $a731532d7e5758ff700869a4c09b850fb options={pkt_mark=1008} priority=102 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Pod:ip4:NETWORK ip4.src == 105.105.0.0/16 && ip4.dst == 105.105.0.0/16 action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Pod:ip4:NETWORK k/name=EIP-No-Reroute-Pod-To-Pod k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=102} match=ip4.src == 105.105.0.0/16 && ip4.dst == 105.105.0.0/16 priority=102 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-reply-traffic:ip:NETWORK pkt.mark == 42 action=allow external_ids={ip-family=ip k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-reply-traffic:ip:NETWORK k/name=EIP-No-Reroute-reply-traffic k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=102} match=pkt.mark == 42 priority=102 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:3:EIP-Own-Pods:ip4:NETWORK inport == "trtos-SWITCH" && ip4.src == 105.105.0.0/16 action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:3:EIP-Own-Pods:ip4:NETWORK k/name=EIP-Own-Pods k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=3} match=inport == "trtos-SWITCH" && ip4.src == 105.105.0.0/16 options={pkt_mark=43} priority=3 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:4:EIP-Own-Pods-To-Join:ip4:NETWORK inport == "trtos-SWITCH" && ip4.src == 105.105.0.0/16 && ip4.dst == 100.65.0.0/16 action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:4:EIP-Own-Pods-To-Join:ip4:NETWORK k/name=EIP-Own-Pods-To-Join k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=4} match=inport == "trtos-SWITCH" && ip4.src == 105.105.0.0/16 && ip4.dst == 100.65.0.0/16 priority=4 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:94:EIP-Drop-Other-Arrival:ip4:NETWORK inport == "rtotr-GR_P_ovn-worker" && ip4.src == 105.105.0.0/16 && pkt.mark == 0 && !(ct.trk && ct.rpl) action=drop external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:94:EIP-Drop-Other-Arrival:ip4:NETWORK k/name=EIP-Drop-Other-Arrival k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=94} match=inport == "rtotr-GR_P_ovn-worker" && ip4.src == 105.105.0.0/16 && pkt.mark == 0 && !(ct.trk && ct.rpl) priority=94 < Logical_Router/GR_P_ovn-worker.policies',
      'Logical_Router_Port rtoe-GR_P_ovn-worker external_ids={X2} mac=0a:58:ac:12:00:03 networks=[172.18.0.3/16, 169.254.0.15/32] < Logical_Router/GR_P_ovn-worker.ports',
      'Logical_Router_Port rtotr-GR_P_ovn-worker external_ids={X2} mac=0a:58:64:41:00:02 networks=[100.65.0.2/16, 100.88.0.5/31] options={gateway_mtu=1400} peer=trtor-GR_P_ovn-worker < Logical_Router/GR_P_ovn-worker.ports',
      'Logical_Router_Port trtor-GR_P_ovn-worker external_ids={X2} mac=0a:58:64:58:00:04 networks=[100.88.0.4/31] options={requested-tnl-key=12} peer=rtotr-GR_P_ovn-worker < Logical_Router/P_transit_router.ports',
      'Logical_Router_Port trtor-GR_P_ovn-worker2 external_ids={k/network=NETWORK k/node=ovn-worker2 k/topology=layer2} mac=0a:58:64:58:00:06 networks=[100.88.0.6/31] options={requested-chassis=C2 requested-tnl-key=13} < Logical_Router/P_transit_router.ports',
      'Logical_Router_Port trtos-SWITCH ha_chassis_group=HA_Chassis_Group/heddle-this-chassis mac=0a:58:69:69:00:01 networks=[105.105.0.1/16] options={gateway_mtu=1400 requested-tnl-key=1} < Logical_Router/P_transit_router.ports',
      'Logical_Router_Static_Route GR_P_ovn-worker 0.0.0.0/0 any rtoe-GR_P_ovn-worker 172.18.0.1 external_ids={X2} ip_prefix=0.0.0.0/0 nexthop=172.18.0.1 output_port=rtoe-GR_P_ovn-worker < Logical_Router/GR_P_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_P_ovn-worker 105.105.0.0/16 any rtotr-GR_P_ovn-worker external_ids={X2} ip_prefix=105.105.0.0/16 nexthop=100.88.0.4 output_port=rtotr-GR_P_ovn-worker < Logical_Router/GR_P_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_P_ovn-worker 169.254.0.0/17 any rtoe-GR_P_ovn-worker external_ids={X2} ip_prefix=169.254.0.0/17 nexthop=169.254.0.4 output_port=rtoe-GR_P_ovn-worker < Logical_Router/GR_P_ovn-worker.static_routes',
      'Logical_Router_Static_Route P_transit_router 10.96.0.1 dst-ip - external_ids={X2 k/udn-enabled-default-service=default/kubernetes} ip_prefix=10.96.0.1 nexthop=105.105.0.2 policy=dst-ip < Logical_Router/P_transit_router.static_routes',
      'Logical_Router_Static_Route P_transit_router 10.96.0.10 dst-ip - external_ids={X2 k/udn-enabled-default-service=kube-system/kube-dns} ip_prefix=10.96.0.10 nexthop=105.105.0.2 policy=dst-ip < Logical_Router/P_transit_router.static_routes',
      'Logical_Router_Static_Route P_transit_router 100.65.0.2 any - external_ids={X2} ip_prefix=100.65.0.2 nexthop=100.88.0.5 < Logical_Router/P_transit_router.static_routes',
      'Logical_Router_Static_Route P_transit_router 100.65.0.3 any - external_ids={k/network=NETWORK k/node=ovn-worker2 k/topology=layer2} ip_prefix=100.65.0.3 nexthop=100.88.0.7 < Logical_Router/P_transit_router.static_routes',
      'Logical_Router_Static_Route P_transit_router 105.105.0.0/16 src-ip - external_ids={X2} ip_prefix=105.105.0.0/16 nexthop=100.88.0.5 policy=src-ip < Logical_Router/P_transit_router.static_routes',
      'Logical_Switch SWITCH copp=Copp/heddle-pod-switches external_ids={X3} other_config={interconn-ts=SWITCH mcast_flood_unregistered=true mcast_querier=false mcast_snoop=true requested-tnl-key=16711686 subnet=105.105.0.0/16}',
      'Logical_Switch ext_P_ovn-worker external_ids={X3}',
      'Logical_Switch_Port breth0_P_ovn-worker addresses=[unknown] external_ids={X2} options={network_name=physnet} type=localnet up=false < Logical_Switch/ext_P_ovn-worker.ports',
      'Logical_Switch_Port etor-GR_P_ovn-worker addresses=[0a:58:ac:12:00:03] external_ids={X2} options={router-port=rtoe-GR_P_ovn-worker} type=router up=true < Logical_Switch/ext_P_ovn-worker.ports',
      'Logical_Switch_Port k8s-P_ovn-worker addresses=[0a:58:69:69:00:02 105.105.0.2] options={requested-tnl-key=1} < Logical_Switch/SWITCH.ports < Port_Group/a85e51e75eee5604725bf867f5aa65f39.ports',
      'Logical_Switch_Port stotr-SWITCH addresses=[router] external_ids={X2} options={requested-tnl-key=32767 router-port=trtos-SWITCH} type=router up=true < Logical_Switch/SWITCH.ports',
      'NAT GR_P_ovn-worker snat 100.65.0.2 - external_ids={X2} external_ip=169.254.0.15 external_port_range=32768-60999 logical_ip=100.65.0.2 options={stateless=false} type=snat < Logical_Router/GR_P_ovn-worker.nat',
      'NAT GR_P_ovn-worker snat 105.105.0.0/16 - external_ids={X2} external_ip=169.254.0.15 external_port_range=32768-60999 logical_ip=105.105.0.0/16 options={stateless=false} type=snat < Logical_Router/GR_P_ovn-worker.nat',
      'NAT P_transit_router snat 105.105.0.0/16 trtos-SWITCH external_ids={X2} external_ip=169.254.0.16 external_port_range=32768-60999 logical_ip=105.105.0.0/16 logical_port=trtos-SWITCH match=eth.dst == 0a:58:69:69:00:02 options={stateless=false} type=snat < Logical_Router/P_transit_router.nat',
      'Port_Group a16f114e89345d719660de227473c2d1f external_ids={k/id=CONTROLLER:Cluster:clusterRtrPortGroup k/name=clusterRtrPortGroup k/owner-controller=CONTROLLER k/owner-type=Cluster}',
      'Port_Group a85e51e75eee5604725bf867f5aa65f39 external_ids={k/id=CONTROLLER:Cluster:clusterPortGroup k/name=clusterPortGroup k/owner-controller=CONTROLLER k/owner-type=Cluster}',
      'Port_Group abdf33ae1446939b6c51bf7c39abf21fb external_ids={k/id=CONTROLLER:Namespace:yellow k/name=yellow k/owner-controller=CONTROLLER k/owner-type=Namespace}',
      'QoS default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip4:NETWORK action={mark=42} direction=from-lport external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip4:NETWORK k/name=EgressIP-Mark-Reply-Traffic k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=103} match=ip4.src == $ad61ee11fb43526c70e45aaa1796c3738 && ct.trk && ct.rpl && ip4.dst != 105.105.0.0/16 priority=103 < Logical_Switch/SWITCH.qos_rules',
      'Static_MAC_Binding rtoe-GR_P_ovn-worker 169.254.0.2 ip=169.254.0.2 logical_port=rtoe-GR_P_ovn-worker mac=0a:58:a9:fe:00:02 override_dynamic_mac=true',
      'Static_MAC_Binding rtoe-GR_P_ovn-worker 169.254.0.4 ip=169.254.0.4 logical_port=rtoe-GR_P_ovn-worker mac=0a:58:a9:fe:00:04 override_dynamic_mac=true',
    ]);
  });

  test('in local gateway mode: pods leave through the host, the router commits all connections', () => {
    const local = texts(inLocalMode(plain));
    expect(added(texts(plain), local)).toEqual([
      'Logical_Router P_transit_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes X2} options={ct-commit-all=true requested-tnl-key=16715780}',
      'Logical_Router_Static_Route P_transit_router 105.105.0.0/16 src-ip - external_ids={X2} ip_prefix=105.105.0.0/16 nexthop=105.105.0.2 policy=src-ip < Logical_Router/P_transit_router.static_routes',
    ]);
    expect(added(local, texts(plain))).toEqual([
      'Logical_Router P_transit_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes X2} options={requested-tnl-key=16715780}',
      'Logical_Router_Policy default-network-controller:EgressIP:3:EIP-Own-Pods:ip4:NETWORK inport == "trtos-SWITCH" && ip4.src == 105.105.0.0/16 action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:3:EIP-Own-Pods:ip4:NETWORK k/name=EIP-Own-Pods k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=3} match=inport == "trtos-SWITCH" && ip4.src == 105.105.0.0/16 options={pkt_mark=43} priority=3 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:4:EIP-Own-Pods-To-Join:ip4:NETWORK inport == "trtos-SWITCH" && ip4.src == 105.105.0.0/16 && ip4.dst == 100.65.0.0/16 action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:4:EIP-Own-Pods-To-Join:ip4:NETWORK k/name=EIP-Own-Pods-To-Join k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=4} match=inport == "trtos-SWITCH" && ip4.src == 105.105.0.0/16 && ip4.dst == 100.65.0.0/16 priority=4 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Static_Route P_transit_router 10.96.0.1 dst-ip - external_ids={X2 k/udn-enabled-default-service=default/kubernetes} ip_prefix=10.96.0.1 nexthop=105.105.0.2 policy=dst-ip < Logical_Router/P_transit_router.static_routes',
      'Logical_Router_Static_Route P_transit_router 10.96.0.10 dst-ip - external_ids={X2 k/udn-enabled-default-service=kube-system/kube-dns} ip_prefix=10.96.0.10 nexthop=105.105.0.2 policy=dst-ip < Logical_Router/P_transit_router.static_routes',
      'Logical_Router_Static_Route P_transit_router 105.105.0.0/16 src-ip - external_ids={X2} ip_prefix=105.105.0.0/16 nexthop=100.88.0.5 policy=src-ip < Logical_Router/P_transit_router.static_routes',
    ]);
  });

  test('with both families', () => {
    expect(added(texts(plain), texts(withNetwork(dualYellow, dualZone)))).toEqual([
      'ACL CONTROLLER:HairpinSource:drop action=drop direction=from-lport external_ids={k/id=CONTROLLER:HairpinSource:drop k/owner-controller=CONTROLLER k/owner-type=HairpinSource type=drop} match=inport == @a85e51e75eee5604725bf867f5aa65f39 && (ip4.src == 169.254.0.5 || ip6.src == fd69::5) priority=1053 tier=0 < Port_Group/a85e51e75eee5604725bf867f5aa65f39.acls',
      'ACL CONTROLLER:NetpolDefault:allow-hairpinning:Egress action=allow-related direction=from-lport external_ids={direction=Egress k/id=CONTROLLER:NetpolDefault:allow-hairpinning:Egress k/name=allow-hairpinning k/owner-controller=CONTROLLER k/owner-type=NetpolDefault} match=(ip4.src == 169.254.0.5 || ip6.src == fd69::5) options={apply-after-lb=true} priority=1001 tier=2 < Port_Group/a85e51e75eee5604725bf867f5aa65f39.acls',
      'ACL CONTROLLER:NetpolDefault:allow-hairpinning:Ingress action=allow-related direction=to-lport external_ids={direction=Ingress k/id=CONTROLLER:NetpolDefault:allow-hairpinning:Ingress k/name=allow-hairpinning k/owner-controller=CONTROLLER k/owner-type=NetpolDefault} match=(ip4.src == 169.254.0.5 || ip6.src == fd69::5) priority=1001 tier=2 < Port_Group/a85e51e75eee5604725bf867f5aa65f39.acls',
      'ACL CONTROLLER:NetpolNode:SWITCH:fd20:105::2 action=allow-related direction=to-lport external_ids={ip=fd20:105::2 k/id=CONTROLLER:NetpolNode:SWITCH:fd20:105::2 k/name=SWITCH k/owner-controller=CONTROLLER k/owner-type=NetpolNode} match=ip6.src==fd20:105::2 priority=1001 tier=2 < Logical_Switch/SWITCH.acls',
      'Logical_Router GR_P_ovn-worker copp=Copp/ovnkube-default external_ids={X3 physical_ip=172.18.0.3 physical_ips=172.18.0.3,fc00:f853::3,169.254.0.15,fd69::f} options={always_learn_from_arp_request=false chassis=C1 disable_garp_rarp=true dynamic_neigh_routers=false lb_force_snat_ip=100.65.0.2 fd99::2 mac_binding_age_threshold=300}',
      'Logical_Router_Policy P_transit_router 1004 inport == "trtos-SWITCH" && ip6.dst == fc00:f853::3 /* SWITCH */ action=reroute external_ids={X2} match=inport == "trtos-SWITCH" && ip6.dst == fc00:f853::3 /* SWITCH */ nexthops=[fd20:105::2] priority=1004 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-CDN-Svc:ip6:NETWORK (ip6.src == $a8eabf5d9cc3dff52d16804b494bf4eb5 || ip6.src == $a48640b774672deecefba153d2f71242d) && ip6.dst == $a94829b0385c8d9db1114a965bf046fd4 action=allow external_ids={ip-family=ip6 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-CDN-Svc:ip6:NETWORK k/name=EIP-No-Reroute-Pod-To-CDN-Svc k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=102} match=(ip6.src == $a8eabf5d9cc3dff52d16804b494bf4eb5 || ip6.src == $a48640b774672deecefba153d2f71242d) && ip6.dst == $a94829b0385c8d9db1114a965bf046fd4 priority=102 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Join:ip6:NETWORK ip6.src == fd20:105::/64 && ip6.dst == fd98::/64 action=allow external_ids={ip-family=ip6 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Join:ip6:NETWORK k/name=EIP-No-Reroute-Pod-To-Join k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=102} match=ip6.src == fd20:105::/64 && ip6.dst == fd98::/64 priority=102 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Node:ip6:NETWORK (ip6.src == $a8eabf5d9cc3dff52d16804b494bf4eb5 || ip6.src == $a48640b774672deecefba153d2f71242d) && ip6.dst == $aab47b25333ce33994f3b869c680a379b action=allow external_ids={ip-family=ip6 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Node:ip6:NETWORK k/name=EIP-No-Reroute-Pod-To-Node k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=102} match=(ip6.src == $a8eabf5d9cc3dff52d16804b494bf4eb5 || ip6.src == $a48640b774672deecefba153d2f71242d) && ip6.dst == $aab47b25333ce33994f3b869c680a379b options={pkt_mark=1008} priority=102 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Pod:ip6:NETWORK ip6.src == fd20:105::/64 && ip6.dst == fd20:105::/64 action=allow external_ids={ip-family=ip6 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Pod:ip6:NETWORK k/name=EIP-No-Reroute-Pod-To-Pod k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=102} match=ip6.src == fd20:105::/64 && ip6.dst == fd20:105::/64 priority=102 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:3:EIP-Own-Pods:ip6:NETWORK inport == "trtos-SWITCH" && ip6.src == fd20:105::/64 action=allow external_ids={ip-family=ip6 k/id=default-network-controller:EgressIP:3:EIP-Own-Pods:ip6:NETWORK k/name=EIP-Own-Pods k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=3} match=inport == "trtos-SWITCH" && ip6.src == fd20:105::/64 options={pkt_mark=43} priority=3 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:4:EIP-Own-Pods-To-Join:ip6:NETWORK inport == "trtos-SWITCH" && ip6.src == fd20:105::/64 && ip6.dst == fd99::/64 action=allow external_ids={ip-family=ip6 k/id=default-network-controller:EgressIP:4:EIP-Own-Pods-To-Join:ip6:NETWORK k/name=EIP-Own-Pods-To-Join k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=4} match=inport == "trtos-SWITCH" && ip6.src == fd20:105::/64 && ip6.dst == fd99::/64 priority=4 < Logical_Router/P_transit_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:94:EIP-Drop-Other-Arrival:ip6:NETWORK inport == "rtotr-GR_P_ovn-worker" && ip6.src == fd20:105::/64 && pkt.mark == 0 && !(ct.trk && ct.rpl) action=drop external_ids={ip-family=ip6 k/id=default-network-controller:EgressIP:94:EIP-Drop-Other-Arrival:ip6:NETWORK k/name=EIP-Drop-Other-Arrival k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=94} match=inport == "rtotr-GR_P_ovn-worker" && ip6.src == fd20:105::/64 && pkt.mark == 0 && !(ct.trk && ct.rpl) priority=94 < Logical_Router/GR_P_ovn-worker.policies',
      'Logical_Router_Port rtoe-GR_P_ovn-worker external_ids={X2} mac=0a:58:ac:12:00:03 networks=[172.18.0.3/16, fc00:f853::3/64, 169.254.0.15/32, fd69::f/128] < Logical_Router/GR_P_ovn-worker.ports',
      'Logical_Router_Port rtotr-GR_P_ovn-worker external_ids={X2} mac=0a:58:64:41:00:02 networks=[100.65.0.2/16, fd99::2/64, 100.88.0.5/31, fd97::5/127] options={gateway_mtu=1400} peer=trtor-GR_P_ovn-worker < Logical_Router/GR_P_ovn-worker.ports',
      'Logical_Router_Port trtor-GR_P_ovn-worker external_ids={X2} mac=0a:58:64:58:00:04 networks=[100.88.0.4/31, fd97::4/127] options={requested-tnl-key=12} peer=rtotr-GR_P_ovn-worker < Logical_Router/P_transit_router.ports',
      'Logical_Router_Port trtor-GR_P_ovn-worker2 external_ids={k/network=NETWORK k/node=ovn-worker2 k/topology=layer2} mac=0a:58:64:58:00:06 networks=[100.88.0.6/31, fd97::6/127] options={requested-chassis=C2 requested-tnl-key=13} < Logical_Router/P_transit_router.ports',
      'Logical_Router_Port trtos-SWITCH ha_chassis_group=HA_Chassis_Group/heddle-this-chassis ipv6_ra_configs={address_mode=dhcpv6_stateful max_interval=900 min_interval=300 mtu=1400 router_preference=LOW send_periodic=true} mac=0a:58:69:69:00:01 networks=[105.105.0.1/16, fd20:105::1/64] options={gateway_mtu=1400 requested-tnl-key=1} < Logical_Router/P_transit_router.ports',
      'Logical_Router_Static_Route GR_P_ovn-worker ::/0 any rtoe-GR_P_ovn-worker fc00:f853::1 external_ids={X2} ip_prefix=::/0 nexthop=fc00:f853::1 output_port=rtoe-GR_P_ovn-worker < Logical_Router/GR_P_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_P_ovn-worker fd20:105::/64 any rtotr-GR_P_ovn-worker external_ids={X2} ip_prefix=fd20:105::/64 nexthop=fd97::4 output_port=rtotr-GR_P_ovn-worker < Logical_Router/GR_P_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_P_ovn-worker fd69::/112 any rtoe-GR_P_ovn-worker external_ids={X2} ip_prefix=fd69::/112 nexthop=fd69::4 output_port=rtoe-GR_P_ovn-worker < Logical_Router/GR_P_ovn-worker.static_routes',
      'Logical_Router_Static_Route P_transit_router fd00:10:96::1 dst-ip - external_ids={X2 k/udn-enabled-default-service=default/kubernetes} ip_prefix=fd00:10:96::1 nexthop=fd20:105::2 policy=dst-ip < Logical_Router/P_transit_router.static_routes',
      'Logical_Router_Static_Route P_transit_router fd00:10:96::a dst-ip - external_ids={X2 k/udn-enabled-default-service=kube-system/kube-dns} ip_prefix=fd00:10:96::a nexthop=fd20:105::2 policy=dst-ip < Logical_Router/P_transit_router.static_routes',
      'Logical_Router_Static_Route P_transit_router fd20:105::/64 src-ip - external_ids={X2} ip_prefix=fd20:105::/64 nexthop=fd97::5 policy=src-ip < Logical_Router/P_transit_router.static_routes',
      'Logical_Router_Static_Route P_transit_router fd99::2 any - external_ids={X2} ip_prefix=fd99::2 nexthop=fd97::5 < Logical_Router/P_transit_router.static_routes',
      'Logical_Router_Static_Route P_transit_router fd99::3 any - external_ids={k/network=NETWORK k/node=ovn-worker2 k/topology=layer2} ip_prefix=fd99::3 nexthop=fd97::7 < Logical_Router/P_transit_router.static_routes',
      'Logical_Switch SWITCH copp=Copp/heddle-pod-switches external_ids={X3} other_config={interconn-ts=SWITCH ipv6_prefix=fd20:105:: mcast_flood_unregistered=true mcast_querier=false mcast_snoop=true requested-tnl-key=16711686 subnet=105.105.0.0/16}',
      'Logical_Switch_Port k8s-P_ovn-worker addresses=[0a:58:69:69:00:02 105.105.0.2 fd20:105::2] options={requested-tnl-key=1} < Logical_Switch/SWITCH.ports < Port_Group/a85e51e75eee5604725bf867f5aa65f39.ports',
      'NAT GR_P_ovn-worker snat fd20:105::/64 - external_ids={X2} external_ip=fd69::f external_port_range=32768-60999 logical_ip=fd20:105::/64 options={stateless=false} type=snat < Logical_Router/GR_P_ovn-worker.nat',
      'NAT GR_P_ovn-worker snat fd99::2 - external_ids={X2} external_ip=fd69::f external_port_range=32768-60999 logical_ip=fd99::2 options={stateless=false} type=snat < Logical_Router/GR_P_ovn-worker.nat',
      'NAT P_transit_router snat fd20:105::/64 trtos-SWITCH external_ids={X2} external_ip=fd69::10 external_port_range=32768-60999 logical_ip=fd20:105::/64 logical_port=trtos-SWITCH match=eth.dst == 0a:58:69:69:00:02 options={stateless=false} type=snat < Logical_Router/P_transit_router.nat',
      'QoS default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip6:NETWORK action={mark=42} direction=from-lport external_ids={ip-family=ip6 k/id=default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip6:NETWORK k/name=EgressIP-Mark-Reply-Traffic k/owner-controller=default-network-controller k/owner-type=EgressIP network=NETWORK priority=103} match=ip6.src == $a8eabf5d9cc3dff52d16804b494bf4eb5 && ct.trk && ct.rpl && ip6.dst != fd20:105::/64 priority=103 < Logical_Switch/SWITCH.qos_rules',
      'Static_MAC_Binding rtoe-GR_P_ovn-worker fd69::2 ip=fd69::2 logical_port=rtoe-GR_P_ovn-worker mac=0a:58:e0:ff:1d:9b override_dynamic_mac=true',
      'Static_MAC_Binding rtoe-GR_P_ovn-worker fd69::4 ip=fd69::4 logical_port=rtoe-GR_P_ovn-worker mac=0a:58:1b:ac:71:41 override_dynamic_mac=true',
    ]);
  });

  test('with multicast: denied unless a namespace asks for it; the port to the router is in no group', () => {
    const { settings } = plain;
    const features = { ...settings.features, multicast: true };
    expect(added(texts(plain), texts({ ...plain, settings: { ...settings, features } }))).toEqual([
      'ACL CONTROLLER:MulticastCluster:AllowInterNode:Egress action=allow direction=from-lport external_ids={direction=Egress k/id=CONTROLLER:MulticastCluster:AllowInterNode:Egress k/owner-controller=CONTROLLER k/owner-type=MulticastCluster type=AllowInterNode} match=inport == @a16f114e89345d719660de227473c2d1f && (ip4.mcast || mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)) options={apply-after-lb=true} priority=1012 tier=2 < Port_Group/a16f114e89345d719660de227473c2d1f.acls',
      'ACL CONTROLLER:MulticastCluster:AllowInterNode:Ingress action=allow direction=to-lport external_ids={direction=Ingress k/id=CONTROLLER:MulticastCluster:AllowInterNode:Ingress k/owner-controller=CONTROLLER k/owner-type=MulticastCluster type=AllowInterNode} match=outport == @a16f114e89345d719660de227473c2d1f && (ip4.mcast || mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)) priority=1012 tier=2 < Port_Group/a16f114e89345d719660de227473c2d1f.acls',
      'ACL CONTROLLER:MulticastCluster:DefaultDeny:Egress action=drop direction=from-lport external_ids={direction=Egress k/id=CONTROLLER:MulticastCluster:DefaultDeny:Egress k/owner-controller=CONTROLLER k/owner-type=MulticastCluster type=DefaultDeny} match=(ip4.mcast || mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)) options={apply-after-lb=true} priority=1011 tier=2 < Port_Group/a85e51e75eee5604725bf867f5aa65f39.acls',
      'ACL CONTROLLER:MulticastCluster:DefaultDeny:Ingress action=drop direction=to-lport external_ids={direction=Ingress k/id=CONTROLLER:MulticastCluster:DefaultDeny:Ingress k/owner-controller=CONTROLLER k/owner-type=MulticastCluster type=DefaultDeny} match=(ip4.mcast || mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)) priority=1011 tier=2 < Port_Group/a85e51e75eee5604725bf867f5aa65f39.acls',
    ]);
  });

  test('on a node without gateway: no gateway router, no way to it; pods reach each other', () => {
    const { gateway: _gateway, ...node } = worker;
    const without = heads(rowsOf({ ...plain, node }, UNITS)).map(short);
    expect(without.filter((head) => /GR_P_ovn-worker( |$)|ext_|100\.65\.0\.2/.test(head))).toEqual(
      [],
    );
    expect(without).toContain('Logical_Switch SWITCH');
    expect(without).toContain('Logical_Router_Port trtor-GR_P_ovn-worker2');
  });

  test('with IPv4 alone in a cluster of both families: its links have join addresses of both', () => {
    const ports = rowsOf(withNetwork(yellow, dualZone), UNITS).filter(({ key }) =>
      /^(rtotr|trtor)-.*worker$/.test(key),
    );
    expect(ports.map(({ columns }) => columns['networks'])).toEqual([
      ['100.88.0.4/31'],
      ['100.65.0.2/16', 'fd99::2/64', '100.88.0.5/31'],
    ]);
  });

  test.each([
    [
      'the gateway that is set',
      { defaultGatewayIPs: ['105.105.0.9'] },
      '105.105.0.9/16',
      '105.105.0.2',
    ],
    ['the gateway is .2', { defaultGatewayIPs: ['105.105.0.2'] }, '105.105.0.2/16', '105.105.0.1'],
    [
      'both of the infrastructure subnets',
      { infrastructureSubnets: ['105.105.7.0/30'] },
      '105.105.7.0/16',
      '105.105.7.1',
    ],
    [
      'a gateway that is set, the host of the infrastructure subnets',
      { infrastructureSubnets: ['105.105.7.0/30'], defaultGatewayIPs: ['105.105.7.0'] },
      '105.105.7.0/16',
      '105.105.7.1',
    ],
  ])('addresses that are given: %s (reference/api.md §6.9)', (_name, more, gateway, management) => {
    const rows = rowsOf(withNetwork({ ...yellow, ...more }), UNITS);
    const row = (table: string, key: RegExp): unknown =>
      rows.find((one) => one.table === table && key.test(one.key))?.columns;
    expect(row('Logical_Router_Port', /^trtos-/)).toMatchObject({ networks: [gateway] });
    expect(row('Logical_Switch_Port', /^k8s-/)).toMatchObject({
      addresses: [expect.stringMatching(new RegExp(` ${management}$`))],
    });
    expect(row('Logical_Router_Policy', / 1004 /)).toMatchObject({ nexthops: [management] });
    expect(row('ACL', /NetpolNode/)).toMatchObject({ match: `ip4.src==${management}` });
  });
});

describe('a secondary Layer2 network (reference/topology.md §10)', () => {
  test('has a switch and groups of load balancers', () => {
    expect(texts(withNetwork(layer2Secondary))).toEqual([
      'ACL blue_l2-network-controller:PodServers:blue_l2_ovn_layer2_switch:drop action=drop direction=from-lport external_ids={k/id=blue_l2-network-controller:PodServers:blue_l2_ovn_layer2_switch:drop k/name=blue_l2_ovn_layer2_switch k/owner-controller=blue_l2-network-controller k/owner-type=PodServers type=drop} match=udp.dst == {68, 546} options={apply-after-lb=true} priority=1050 tier=0 < Logical_Switch/blue_l2_ovn_layer2_switch.acls',
      'Load_Balancer_Group blue_l2_clusterLBGroup < Logical_Switch/blue_l2_ovn_layer2_switch.load_balancer_group',
      'Load_Balancer_Group blue_l2_clusterRouterLBGroup',
      'Load_Balancer_Group blue_l2_clusterSwitchLBGroup < Logical_Switch/blue_l2_ovn_layer2_switch.load_balancer_group',
      'Logical_Switch blue_l2_ovn_layer2_switch copp=Copp/heddle-pod-switches external_ids={k/network=blue_l2 k/role=secondary k/topology=layer2} other_config={interconn-ts=blue_l2_ovn_layer2_switch mcast_flood_unregistered=true mcast_querier=false mcast_snoop=true requested-tnl-key=16711687 subnet=10.40.0.0/16}',
    ]);
  });

  test('without subnets says nothing of addresses', () => {
    const [row] = rowsOf(withNetwork({ ...layer2Secondary, subnets: [] }), /^layer2/).filter(
      ({ table }) => table === 'Logical_Switch',
    );
    expect(row?.columns['other_config']).toEqual({
      'interconn-ts': 'blue_l2_ovn_layer2_switch',
      'requested-tnl-key': '16711687',
      mcast_snoop: 'true',
      mcast_querier: 'false',
      mcast_flood_unregistered: 'true',
    });
  });
});

describe('pods on a Layer2 network (reference/topology.md §14)', () => {
  const ports = (zone: Zone): string[] =>
    texts(zone).filter((text) => text.startsWith('Logical_Switch_Port yellow'));

  test('have one port in each zone, with one key: local in their own, remote in the others', () => {
    expect(ports({ ...plain, attachments: [yellowPod], remoteAttachments: [far] })).toEqual([
      'Logical_Switch_Port yellow.yellow.net_yellow_far addresses=[0a:58:69:69:00:04 105.105.0.4] external_ids={k/nad=yellow/yellow-net X2 namespace=yellow pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C2 requested-tnl-key=11} port_security=[0a:58:69:69:00:04 105.105.0.4] type=remote up=true < Logical_Switch/SWITCH.ports',
      'Logical_Switch_Port yellow.yellow.net_yellow_pod2 addresses=[0a:58:69:69:00:03 105.105.0.3] external_ids={k/nad=yellow/yellow-net X2 namespace=yellow pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C1 requested-tnl-key=10} port_security=[0a:58:69:69:00:03 105.105.0.3] < Logical_Switch/SWITCH.ports < Port_Group/abdf33ae1446939b6c51bf7c39abf21fb.ports',
    ]);
  });

  test('without subnets have a MAC and may use any address', () => {
    const pod: Attachment = {
      ...bluePod,
      network: layer2Secondary.name,
      nadKey: 'blue/l2',
      role: 'secondary',
      addresses: [],
      tunnelId: 1,
    };
    const zone = withNetwork({ ...layer2Secondary, subnets: [] });
    const [row] = rowsOf({ ...zone, attachments: [pod] }, /^pods\/port /);
    expect(row?.columns).toMatchObject({
      addresses: ['0a:58:67:67:00:03'],
      port_security: ['0a:58:67:67:00:03'],
      options: { 'requested-tnl-key': '1' },
    });
  });

  test('wait for the key that all zones agree on', () => {
    const { tunnelId: _id, ...pod } = yellowPod;
    const { tunnelId: _farId, ...farPod } = far;
    expect(ports({ ...plain, attachments: [pod], remoteAttachments: [farPod] })).toEqual([]);
  });

  test('of a node that is not known, or of a network that is not used here, have no port', () => {
    expect(ports({ ...plain, remoteNodes: [], remoteAttachments: [far] })).toEqual([]);
    const elsewhere = { ...plain, networks: [defaultNetwork], remoteAttachments: [far] };
    expect(ports(elsewhere)).toEqual([]);
  });

  test('of other nodes have no port on a Layer3 network', () => {
    const pod = { ...bluePod, node: 'ovn-worker2' };
    expect(rowsOf({ ...exampleZone, remoteAttachments: [pod] }, /^layer2\/remote-port/)).toEqual(
      [],
    );
  });
});

test('a Layer2 network is one unit: its switch is never there without what keeps its pods apart', () => {
  expect(layer2Network.name).toBe('layer2/network');
  const rows = rowsOf(plain, new RegExp(`^${layer2Network.name} `));
  expect(new Set(rows.map(({ object }) => object))).toEqual(
    new Set(['ClusterUserDefinedNetwork yellow-net']),
  );
  expect(rows.some(({ table }) => table === 'Logical_Switch')).toBe(true);
  expect(rows.some(({ table }) => table === 'ACL')).toBe(true);
});

describe('a secondary Layer2 network with a gateway', () => {
  const given: ZoneNetwork = { ...yellow, role: 'secondary', hasRouter: true };
  const asPrimary = (zone: Zone): readonly string[] =>
    textsOf(zone, /^layer2\//).map((text) => text.replaceAll('role=secondary', 'role=primary'));

  test('has what leads out of a primary one, and tells no pod of IPv6 that it is its router', () => {
    const rows = asPrimary(withNetwork({ ...given, secondaryGateway: '{}' }));
    const primary = asPrimary(withNetwork(yellow));
    expect(rows.filter((row) => !primary.includes(row))).toEqual([]);
    expect(primary.filter((row) => !rows.includes(row))).toEqual([
      expect.stringMatching(/^Logical_Router_Static_Route .*udn-enabled-default-service/),
      expect.stringMatching(/^Logical_Router_Static_Route .*udn-enabled-default-service/),
    ]);
    const dual = asPrimary({
      ...withNetwork(
        { ...dualYellow, role: 'secondary', hasRouter: true, secondaryGateway: '{}' },
        dualZone,
      ),
    });
    expect(dual.filter((row) => row.includes('trtos-'))).not.toEqual([]);
    expect(dual.filter((row) => row.includes('ipv6_ra_configs'))).toEqual([]);
  });

  test('that asks for none has its pods alone', () => {
    const tables = (network: ZoneNetwork): ReadonlySet<string | undefined> =>
      new Set(asPrimary(withNetwork(network)).map((text) => text.split(' ')[0]));
    for (const network of [
      given,
      { ...yellow, role: 'secondary', secondaryGateway: '{}' } as const,
    ]) {
      expect(tables(network)).not.toContain('Logical_Router');
      expect(tables(network)).toContain('Logical_Switch');
    }
  });
});
