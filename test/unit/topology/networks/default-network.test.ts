import { describe, expect, test } from 'vitest';
import {
  dualZone,
  exampleZone,
  inLocalMode,
  ipv6Zone,
  worker,
  type Zone,
} from '../../../support/zone/zones.ts';
import { added, heads, NETWORKS, ofNetwork, rowsOf, textsOf } from '../unit-texts.ts';

describe('the cluster default network on ovn-worker (reference/topology.md §6)', () => {
  test('has the rows of a primary network without marks', () => {
    expect(textsOf(exampleZone, ofNetwork('default'))).toEqual([
      'ACL default-network-controller:HairpinSource:drop action=drop direction=from-lport external_ids={k/id=default-network-controller:HairpinSource:drop k/owner-controller=default-network-controller k/owner-type=HairpinSource type=drop} match=inport == @abb995bb4203488fc33151da2ec3e7e2a && ip4.src == 169.254.0.5 priority=1053 tier=0 < Port_Group/abb995bb4203488fc33151da2ec3e7e2a.acls',
      'ACL default-network-controller:NetpolDefault:allow-hairpinning:Egress action=allow-related direction=from-lport external_ids={direction=Egress k/id=default-network-controller:NetpolDefault:allow-hairpinning:Egress k/name=allow-hairpinning k/owner-controller=default-network-controller k/owner-type=NetpolDefault} match=ip4.src == 169.254.0.5 options={apply-after-lb=true} priority=1001 tier=2 < Port_Group/abb995bb4203488fc33151da2ec3e7e2a.acls',
      'ACL default-network-controller:NetpolDefault:allow-hairpinning:Ingress action=allow-related direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:NetpolDefault:allow-hairpinning:Ingress k/name=allow-hairpinning k/owner-controller=default-network-controller k/owner-type=NetpolDefault} match=ip4.src == 169.254.0.5 priority=1001 tier=2 < Port_Group/abb995bb4203488fc33151da2ec3e7e2a.acls',
      'ACL default-network-controller:NetpolNode:ovn-worker:10.244.0.2 action=allow-related direction=to-lport external_ids={ip=10.244.0.2 k/id=default-network-controller:NetpolNode:ovn-worker:10.244.0.2 k/name=ovn-worker k/owner-controller=default-network-controller k/owner-type=NetpolNode} match=ip4.src==10.244.0.2 priority=1001 tier=2 < Logical_Switch/ovn-worker.acls',
      'ACL default-network-controller:PodServers:ovn-worker:drop action=drop direction=from-lport external_ids={k/id=default-network-controller:PodServers:ovn-worker:drop k/name=ovn-worker k/owner-controller=default-network-controller k/owner-type=PodServers type=drop} match=udp.dst == {68, 546} options={apply-after-lb=true} priority=1050 tier=0 < Logical_Switch/ovn-worker.acls',
      'ACL default-network-controller:PodServers:ovn-worker:pass action=pass direction=from-lport external_ids={k/id=default-network-controller:PodServers:ovn-worker:pass k/name=ovn-worker k/owner-controller=default-network-controller k/owner-type=PodServers type=pass} match=inport == "stor-ovn-worker" && udp.dst == {68, 546} options={apply-after-lb=true} priority=1051 tier=0 < Logical_Switch/ovn-worker.acls',
      'Load_Balancer_Group clusterLBGroup < Logical_Switch/ovn-worker.load_balancer_group < Logical_Router/GR_ovn-worker.load_balancer_group',
      'Load_Balancer_Group clusterRouterLBGroup < Logical_Router/GR_ovn-worker.load_balancer_group',
      'Load_Balancer_Group clusterSwitchLBGroup < Logical_Switch/ovn-worker.load_balancer_group',
      'Logical_Router GR_ovn-worker copp=Copp/ovnkube-default external_ids={physical_ip=172.18.0.3 physical_ips=172.18.0.3} options={always_learn_from_arp_request=false chassis=C1 dynamic_neigh_routers=false lb_force_snat_ip=router_ip mac_binding_age_threshold=300 snat-ct-zone=0}',
      'Logical_Router ovn_cluster_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes} options={always_learn_from_arp_request=false}',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Join:ip4:default ip4.src == 10.244.0.0/16 && ip4.dst == 100.64.0.0/16 action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Join:ip4:default k/name=EIP-No-Reroute-Pod-To-Join k/owner-controller=default-network-controller k/owner-type=EgressIP network=default priority=102} match=ip4.src == 10.244.0.0/16 && ip4.dst == 100.64.0.0/16 priority=102 < Logical_Router/ovn_cluster_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Node:ip4:default (ip4.src == $a65c2e9e629622f3242adad0acb57c005 || ip4.src == $a1a8d236e35d0640d374f3550082a0e56) && ip4.dst == $a731532d7e5758ff700869a4c09b850fb action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Node:ip4:default k/name=EIP-No-Reroute-Pod-To-Node k/owner-controller=default-network-controller k/owner-type=EgressIP network=default priority=102} match=(ip4.src == $a65c2e9e629622f3242adad0acb57c005 || ip4.src == $a1a8d236e35d0640d374f3550082a0e56) && ip4.dst == $a731532d7e5758ff700869a4c09b850fb options={pkt_mark=1008} priority=102 < Logical_Router/ovn_cluster_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Pod:ip4:default ip4.src == 10.244.0.0/16 && ip4.dst == 10.244.0.0/16 action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Pod:ip4:default k/name=EIP-No-Reroute-Pod-To-Pod k/owner-controller=default-network-controller k/owner-type=EgressIP network=default priority=102} match=ip4.src == 10.244.0.0/16 && ip4.dst == 10.244.0.0/16 priority=102 < Logical_Router/ovn_cluster_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-reply-traffic:ip:default pkt.mark == 42 action=allow external_ids={ip-family=ip k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-reply-traffic:ip:default k/name=EIP-No-Reroute-reply-traffic k/owner-controller=default-network-controller k/owner-type=EgressIP network=default priority=102} match=pkt.mark == 42 priority=102 < Logical_Router/ovn_cluster_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:97:EIP-Drop-Other-Arrival:ip4:default inport == "rtots-ovn-worker" && ip4.src == 10.244.0.0/16 action=drop external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:97:EIP-Drop-Other-Arrival:ip4:default k/name=EIP-Drop-Other-Arrival k/owner-controller=default-network-controller k/owner-type=EgressIP network=default priority=97} match=inport == "rtots-ovn-worker" && ip4.src == 10.244.0.0/16 priority=97 < Logical_Router/ovn_cluster_router.policies',
      'Logical_Router_Policy ovn_cluster_router 1004 inport == "rtos-ovn-worker" && ip4.dst == 172.18.0.3 /* ovn-worker */ action=reroute match=inport == "rtos-ovn-worker" && ip4.dst == 172.18.0.3 /* ovn-worker */ nexthops=[10.244.0.2] priority=1004 < Logical_Router/ovn_cluster_router.policies',
      'Logical_Router_Port rtoe-GR_ovn-worker external_ids={gateway-physical-ip=yes} mac=0a:58:ac:12:00:03 networks=[172.18.0.3/16] < Logical_Router/GR_ovn-worker.ports',
      'Logical_Router_Port rtoj-GR_ovn-worker mac=0a:58:64:40:00:02 networks=[100.64.0.2/16] options={gateway_mtu=1400} < Logical_Router/GR_ovn-worker.ports',
      'Logical_Router_Port rtoj-ovn_cluster_router mac=0a:58:64:40:00:01 networks=[100.64.0.1/16] < Logical_Router/ovn_cluster_router.ports',
      'Logical_Router_Port rtos-ovn-worker ha_chassis_group=HA_Chassis_Group/heddle-this-chassis mac=0a:58:0a:f4:00:01 networks=[10.244.0.1/24] options={gateway_mtu=1400} < Logical_Router/ovn_cluster_router.ports',
      'Logical_Router_Port rtots-ovn-worker mac=0a:58:64:58:00:02 networks=[100.88.0.2/16] options={mcast_flood=true} < Logical_Router/ovn_cluster_router.ports',
      'Logical_Router_Static_Route GR_ovn-worker 0.0.0.0/0 any rtoe-GR_ovn-worker 172.18.0.1 ip_prefix=0.0.0.0/0 nexthop=172.18.0.1 output_port=rtoe-GR_ovn-worker < Logical_Router/GR_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_ovn-worker 10.244.0.0/16 any - ip_prefix=10.244.0.0/16 nexthop=100.64.0.1 < Logical_Router/GR_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_ovn-worker 169.254.0.0/17 any rtoe-GR_ovn-worker external_ids={k/node-masquerade-subnet=} ip_prefix=169.254.0.0/17 nexthop=169.254.0.4 output_port=rtoe-GR_ovn-worker < Logical_Router/GR_ovn-worker.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 10.244.0.0/16 src-ip - ip_prefix=10.244.0.0/16 nexthop=100.64.0.2 policy=src-ip < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 10.244.0.0/24 src-ip - ip_prefix=10.244.0.0/24 nexthop=100.64.0.2 policy=src-ip < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 10.244.1.0/24 any - external_ids={ic-node=ovn-worker2 k/network=default} ip_prefix=10.244.1.0/24 nexthop=100.88.0.3 < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 100.64.0.2 any - ip_prefix=100.64.0.2 nexthop=100.64.0.2 < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 100.64.0.3/32 any - external_ids={ic-node=ovn-worker2 k/network=default} ip_prefix=100.64.0.3/32 nexthop=100.88.0.3 < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Switch ext_ovn-worker',
      'Logical_Switch join',
      'Logical_Switch ovn-worker copp=Copp/heddle-pod-switches other_config={subnet=10.244.0.0/24}',
      'Logical_Switch transit_switch other_config={interconn-ts=transit_switch mcast_flood_unregistered=true mcast_querier=false mcast_snoop=true requested-tnl-key=16711683}',
      'Logical_Switch_Port breth0_ovn-worker addresses=[unknown] options={network_name=physnet} type=localnet up=false < Logical_Switch/ext_ovn-worker.ports',
      'Logical_Switch_Port etor-GR_ovn-worker addresses=[0a:58:ac:12:00:03] options={exclude-lb-vips-from-garp=true nat-addresses=router router-port=rtoe-GR_ovn-worker} type=router up=true < Logical_Switch/ext_ovn-worker.ports',
      'Logical_Switch_Port jtor-GR_ovn-worker addresses=[router] options={router-port=rtoj-GR_ovn-worker} type=router up=true < Logical_Switch/join.ports',
      'Logical_Switch_Port jtor-ovn_cluster_router addresses=[router] options={router-port=rtoj-ovn_cluster_router} type=router up=true < Logical_Switch/join.ports',
      'Logical_Switch_Port k8s-ovn-worker addresses=[0a:58:0a:f4:00:02 10.244.0.2] < Logical_Switch/ovn-worker.ports < Port_Group/abb995bb4203488fc33151da2ec3e7e2a.ports',
      'Logical_Switch_Port stor-ovn-worker addresses=[router] options={arp_proxy=0a:58:a9:fe:01:01 169.254.1.1 fe80::1 10.244.0.0/16 router-port=rtos-ovn-worker} type=router up=true < Logical_Switch/ovn-worker.ports',
      'Logical_Switch_Port tstor-ovn-worker addresses=[router] external_ids={node=ovn-worker} options={requested-tnl-key=2 router-port=rtots-ovn-worker} type=router up=true < Logical_Switch/transit_switch.ports',
      'Logical_Switch_Port tstor-ovn-worker2 addresses=[0a:58:64:58:00:03 100.88.0.3/16] external_ids={node=ovn-worker2} options={requested-chassis=C2 requested-tnl-key=3} type=remote up=true < Logical_Switch/transit_switch.ports',
      'NAT GR_ovn-worker snat 10.244.0.0/16 - external_ip=172.18.0.3 external_port_range=32768-60999 logical_ip=10.244.0.0/16 options={stateless=false} type=snat < Logical_Router/GR_ovn-worker.nat',
      'NAT GR_ovn-worker snat 100.64.0.2 - external_ip=172.18.0.3 external_port_range=32768-60999 logical_ip=100.64.0.2 options={stateless=false} type=snat < Logical_Router/GR_ovn-worker.nat',
      'Port_Group a17f08d58bdf9dc5f3a76d3e7224b8469 external_ids={k/id=default-network-controller:Namespace:blue k/name=blue k/owner-controller=default-network-controller k/owner-type=Namespace}',
      'Port_Group a9f0b802724b1dd188dedcf40cd9ad8cb external_ids={k/id=default-network-controller:Namespace:kube-system k/name=kube-system k/owner-controller=default-network-controller k/owner-type=Namespace}',
      'Port_Group abb995bb4203488fc33151da2ec3e7e2a external_ids={k/id=default-network-controller:Cluster:clusterPortGroup k/name=clusterPortGroup k/owner-controller=default-network-controller k/owner-type=Cluster}',
      'Port_Group ad61443a1a77c0fc4551f7683e720cd6f external_ids={k/id=default-network-controller:Cluster:clusterRtrPortGroup k/name=clusterRtrPortGroup k/owner-controller=default-network-controller k/owner-type=Cluster}',
      'Port_Group aec3d32141b870bbe686793a421651a23 external_ids={k/id=default-network-controller:Namespace:default k/name=default k/owner-controller=default-network-controller k/owner-type=Namespace}',
      'QoS default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip4:default action={mark=42} direction=from-lport external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip4:default k/name=EgressIP-Mark-Reply-Traffic k/owner-controller=default-network-controller k/owner-type=EgressIP network=default priority=103} match=ip4.src == $a65c2e9e629622f3242adad0acb57c005 && ct.trk && ct.rpl && ip4.dst != 10.244.0.0/16 priority=103 < Logical_Switch/ovn-worker.qos_rules',
      'Static_MAC_Binding rtoe-GR_ovn-worker 169.254.0.4 ip=169.254.0.4 logical_port=rtoe-GR_ovn-worker mac=0a:58:a9:fe:00:04 override_dynamic_mac=true',
    ]);
  });

  test('in local gateway mode its pods leave through the host; its router has no option for that', () => {
    const [shared, local] = [exampleZone, inLocalMode(exampleZone)].map((zone) =>
      textsOf(zone, ofNetwork('default')),
    );
    expect(added(shared ?? [], local ?? [])).toEqual([
      'Logical_Router_Static_Route ovn_cluster_router 10.244.0.0/24 src-ip - ip_prefix=10.244.0.0/24 nexthop=10.244.0.2 policy=src-ip < Logical_Router/ovn_cluster_router.static_routes',
    ]);
  });

  test('sends what pods have for other addresses of the host to the host, except masquerade addresses', () => {
    const zone: Zone = {
      ...exampleZone,
      node: {
        ...worker,
        hostAddresses: ['172.18.0.3/16', '10.9.9.9/24', '169.254.0.2/17', 'fc00:f853::3/64'],
      },
    };
    const policies = (of: Zone): string[] =>
      heads(rowsOf(of, /^layer3\/network default$/)).filter((head) => head.includes(' 1004 '));
    expect(policies(zone)).toEqual([
      'Logical_Router_Policy ovn_cluster_router 1004 inport == "rtos-ovn-worker" && ip4.dst == 10.9.9.9 /* ovn-worker */',
      'Logical_Router_Policy ovn_cluster_router 1004 inport == "rtos-ovn-worker" && ip4.dst == 172.18.0.3 /* ovn-worker */',
    ]);
    expect(policies(inLocalMode(zone))).toEqual([
      'Logical_Router_Policy ovn_cluster_router 1004 inport == "rtos-ovn-worker" && ip4.dst == 172.18.0.3 /* ovn-worker */',
    ]);
  });

  test('uses the MAC that the node announced for its management port', () => {
    const zone: Zone = {
      ...exampleZone,
      node: { ...worker, managementPortMac: 'ca:53:88:23:bc:98' },
    };
    expect(added(textsOf(exampleZone, NETWORKS), textsOf(zone, NETWORKS))).toEqual([
      'Logical_Switch_Port k8s-ovn-worker addresses=[ca:53:88:23:bc:98 10.244.0.2] < Logical_Switch/ovn-worker.ports < Port_Group/abb995bb4203488fc33151da2ec3e7e2a.ports',
    ]);
  });
});

describe('pods whose primary network is another one (reference/topology.md §17.1)', () => {
  test('keep the probes of their host, and nothing else', () => {
    expect(textsOf(exampleZone, /^isolation\//)).toEqual([
      'ACL default-network-controller:UDNIsolation:AllowHostARPPrimaryUDN:Egress action=allow direction=from-lport external_ids={direction=Egress k/id=default-network-controller:UDNIsolation:AllowHostARPPrimaryUDN:Egress k/name=AllowHostARPPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=inport == @a3a4889fb3a1fe0b23514b7ae1188b05c && (( arp && arp.tpa == 10.244.0.2 )) priority=1001 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'ACL default-network-controller:UDNIsolation:AllowHostARPPrimaryUDN:Ingress action=allow direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:UDNIsolation:AllowHostARPPrimaryUDN:Ingress k/name=AllowHostARPPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=outport == @a3a4889fb3a1fe0b23514b7ae1188b05c && (( arp && arp.spa == 10.244.0.2 )) priority=1001 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'ACL default-network-controller:UDNIsolation:AllowHostPrimaryUDN:Ingress action=allow-related direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:UDNIsolation:AllowHostPrimaryUDN:Ingress k/name=AllowHostPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=outport == @a3a4889fb3a1fe0b23514b7ae1188b05c && (ip4.src==10.244.0.2) priority=1001 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'ACL default-network-controller:UDNIsolation:DenyPrimaryUDN:Egress action=drop direction=from-lport external_ids={direction=Egress k/id=default-network-controller:UDNIsolation:DenyPrimaryUDN:Egress k/name=DenyPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=inport == @a3a4889fb3a1fe0b23514b7ae1188b05c priority=1000 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'ACL default-network-controller:UDNIsolation:DenyPrimaryUDN:Ingress action=drop direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:UDNIsolation:DenyPrimaryUDN:Ingress k/name=DenyPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=outport == @a3a4889fb3a1fe0b23514b7ae1188b05c priority=1000 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'Port_Group a3a4889fb3a1fe0b23514b7ae1188b05c external_ids={k/id=default-network-controller:UDNIsolation:SecondaryPods k/name=SecondaryPods k/owner-controller=default-network-controller k/owner-type=UDNIsolation}',
    ]);
  });

  test.each([
    [
      'both families',
      dualZone,
      '(( arp && arp.tpa == 10.244.0.2 ) || ( nd && nd.target == fd00:10:244::2 ))',
      '(ip4.src==10.244.0.2 || ip6.src==fd00:10:244::2)',
    ],
    ['IPv6', ipv6Zone, '(( nd && nd.target == fd00:10:244::2 ))', '(ip6.src==fd00:10:244::2)'],
  ])('with %s: the host is known by all its addresses', (_families, zone, neighbour, source) => {
    const matches = rowsOf(zone, /^isolation\//)
      .filter(({ table }) => table === 'ACL')
      .map((row) => row.columns['match']);
    expect(matches).toContain(`inport == @a3a4889fb3a1fe0b23514b7ae1188b05c && ${neighbour}`);
    expect(matches).toContain(`outport == @a3a4889fb3a1fe0b23514b7ae1188b05c && ${source}`);
  });
});

test('rows that exist once per database (reference/topology.md §5)', () => {
  expect(textsOf(exampleZone, /^(database|services|egress)\//)).toEqual([
    'Address_Set a0623f27eb8435bfde40c5fc47e0e9578 external_ids={ip-family=v4 k/id=default-network-controller:EgressIP:egressip-served-pods:v4:blue_blue k/name=egressip-served-pods k/owner-controller=default-network-controller k/owner-type=EgressIP network=blue_blue}',
    'Address_Set a1a8d236e35d0640d374f3550082a0e56 external_ids={ip-family=v4 k/id=default-network-controller:EgressService:egresssvc-served-pods:v4 k/name=egresssvc-served-pods k/owner-controller=default-network-controller k/owner-type=EgressService}',
    'Address_Set a65c2e9e629622f3242adad0acb57c005 external_ids={ip-family=v4 k/id=default-network-controller:EgressIP:egressip-served-pods:v4:default k/name=egressip-served-pods k/owner-controller=default-network-controller k/owner-type=EgressIP network=default}',
    'Address_Set a731532d7e5758ff700869a4c09b850fb addresses=[172.18.0.3, 172.18.0.4] external_ids={ip-family=v4 k/id=default-network-controller:ClusterNodeIPs:node-ips:v4 k/name=node-ips k/owner-controller=default-network-controller k/owner-type=ClusterNodeIPs}',
    'Address_Set ad29e219e8c033e3b3094bc506a4db05c addresses=[10.96.0.1, 10.96.0.10] external_ids={ip-family=v4 k/id=udn-enabled-svc:UDNEnabledService:udn-enabled-svc-cluster-ips:v4 k/name=udn-enabled-svc-cluster-ips k/owner-controller=udn-enabled-svc k/owner-type=UDNEnabledService}',
    'Chassis_Template_Var C1 chassis=C1 variables={NODEIP_IPv4_0=172.18.0.3}',
    'Copp heddle-pod-switches meters={igmp=pod-switches-igmp-rate-limiter reject=pod-switches-reject-rate-limiter}',
    'Copp ovnkube-default meters={arp-resolve=arp-resolve-rate-limiter arp=arp-rate-limiter bfd=bfd-rate-limiter event-elb=event-elb-rate-limiter icmp4-error=icmp4-error-rate-limiter icmp6-error=icmp6-error-rate-limiter nd-ns-resolve=nd-ns-resolve-rate-limiter nd-ra-opts=nd-ra-opts-rate-limiter reject=reject-rate-limiter svc-monitor=svc-monitor-rate-limiter tcp-reset=tcp-reset-rate-limiter}',
    'HA_Chassis C1 chassis_name=C1 priority=1 < HA_Chassis_Group/heddle-this-chassis.ha_chassis',
    'HA_Chassis_Group heddle-this-chassis',
    'Meter acl-logging fair=true unit=pktps',
    'Meter arp-rate-limiter fair=true unit=pktps',
    'Meter arp-resolve-rate-limiter fair=true unit=pktps',
    'Meter bfd-rate-limiter fair=true unit=pktps',
    'Meter event-elb-rate-limiter fair=true unit=pktps',
    'Meter icmp4-error-rate-limiter fair=true unit=pktps',
    'Meter icmp6-error-rate-limiter fair=true unit=pktps',
    'Meter nd-ns-resolve-rate-limiter fair=true unit=pktps',
    'Meter nd-ra-opts-rate-limiter fair=true unit=pktps',
    'Meter pod-switches-igmp-rate-limiter fair=true unit=pktps',
    'Meter pod-switches-reject-rate-limiter fair=true unit=pktps',
    'Meter reject-rate-limiter fair=true unit=pktps',
    'Meter svc-monitor-rate-limiter fair=true unit=pktps',
    'Meter tcp-reset-rate-limiter fair=true unit=pktps',
    'Meter_Band drop 20 action=drop rate=20 < Meter/acl-logging.bands',
    'Meter_Band drop 25 action=drop rate=25 < Meter/arp-rate-limiter.bands < Meter/arp-resolve-rate-limiter.bands < Meter/bfd-rate-limiter.bands < Meter/event-elb-rate-limiter.bands < Meter/icmp4-error-rate-limiter.bands < Meter/icmp6-error-rate-limiter.bands < Meter/reject-rate-limiter.bands < Meter/svc-monitor-rate-limiter.bands < Meter/tcp-reset-rate-limiter.bands < Meter/nd-ns-resolve-rate-limiter.bands < Meter/nd-ra-opts-rate-limiter.bands',
    'Meter_Band drop 250 action=drop rate=250 < Meter/pod-switches-reject-rate-limiter.bands < Meter/pod-switches-igmp-rate-limiter.bands',
    'NB_Global NB_Global name=ovn-worker options={name=ovn-worker} (partial)',
  ]);
});

test('rows of the Southbound database (reference/topology.md §13.2)', () => {
  expect(textsOf(exampleZone, /^interconnect\/(own-)?chassis/)).toEqual([
    'Chassis C1 other_config={is-remote=false} (partial)',
    'Chassis C2 hostname=ovn-worker2 other_config={is-remote=true}',
    'Encap geneve 172.18.0.4 chassis_name=C2 ip=172.18.0.4 options={csum=true} type=geneve < Chassis/C2.encaps',
  ]);
});

test('meters of one rate share a band', () => {
  const settings = { ...exampleZone.settings, aclLoggingRateLimit: 25 };
  const bands = rowsOf({ ...exampleZone, settings }, /^database/).filter(
    ({ table }) => table === 'Meter_Band',
  );
  expect(bands.map(({ key, containers }) => [key, containers.length])).toEqual([
    ['drop 25', 12],
    ['drop 250', 2],
  ]);
});

test('nobody else fills a set', () => {
  expect(rowsOf(exampleZone, /./).filter(({ unspecified }) => unspecified !== undefined)).toEqual(
    [],
  );
});
