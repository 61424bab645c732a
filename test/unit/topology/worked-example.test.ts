import { describe, expect, test } from 'vitest';
import type { Zone } from '../../../src/model/model.ts';
import type { DesiredRow } from '../../../src/ovsdb/desired.ts';
import { zoneUnits } from '../../../src/topology/units.ts';
import { rowTexts } from '../../support/row-text.ts';
import { exampleZone, inLocalMode } from '../../support/zones.ts';
import { short } from './shorthand.ts';

function rowsOf(zone: Zone, units: RegExp): DesiredRow[] {
  return [...zoneUnits(zone).values()]
    .filter((unit) => units.test(unit.key))
    .flatMap((unit) => unit.build());
}

const textsOf = (zone: Zone, units: RegExp): string[] => rowTexts(rowsOf(zone, units)).map(short);

describe('network blue_blue on ovn-worker (topology.md §24)', () => {
  test('has exactly the 53 rows of the worked example', () => {
    expect(textsOf(exampleZone, /^network\/blue_blue/)).toEqual([
      'ACL blue_blue-network-controller:NetpolDefault:allow-hairpinning:Egress action=allow-related direction=from-lport external_ids={direction=Egress k/id=blue_blue-network-controller:NetpolDefault:allow-hairpinning:Egress k/name=allow-hairpinning k/owner-controller=blue_blue-network-controller k/owner-type=NetpolDefault} match=ip4.src == 169.254.0.5 meter=acl-logging options={apply-after-lb=true} priority=1001 tier=2 < Port_Group/a6305690735356339486.acls',
      'ACL blue_blue-network-controller:NetpolDefault:allow-hairpinning:Ingress action=allow-related direction=to-lport external_ids={direction=Ingress k/id=blue_blue-network-controller:NetpolDefault:allow-hairpinning:Ingress k/name=allow-hairpinning k/owner-controller=blue_blue-network-controller k/owner-type=NetpolDefault} match=ip4.src == 169.254.0.5 meter=acl-logging priority=1001 tier=2 < Port_Group/a6305690735356339486.acls',
      'ACL blue_blue-network-controller:NetpolNode:blue_blue_ovn-worker:103.103.0.2 action=allow-related direction=to-lport external_ids={ip=103.103.0.2 k/id=blue_blue-network-controller:NetpolNode:blue_blue_ovn-worker:103.103.0.2 k/name=blue_blue_ovn-worker k/owner-controller=blue_blue-network-controller k/owner-type=NetpolNode} match=ip4.src==103.103.0.2 meter=acl-logging priority=1001 tier=2 < Logical_Switch/blue_blue_ovn-worker.acls',
      'Address_Set a8625653444039524328 external_ids={ip-family=v4 k/id=default-network-controller:EgressIP:egressip-served-pods:v4:blue_blue k/name=egressip-served-pods k/owner-controller=default-network-controller k/owner-type=EgressIP network=blue_blue}',
      'Gateway_Chassis rtos-blue_blue_ovn-worker-C1 chassis_name=C1 priority=1 < Logical_Router_Port/rtos-blue_blue_ovn-worker.gateway_chassis',
      'Load_Balancer_Group blue_blue_clusterLBGroup < Logical_Switch/blue_blue_ovn-worker.load_balancer_group < Logical_Router/GR_blue_blue_ovn-worker.load_balancer_group',
      'Load_Balancer_Group blue_blue_clusterRouterLBGroup < Logical_Router/GR_blue_blue_ovn-worker.load_balancer_group',
      'Load_Balancer_Group blue_blue_clusterSwitchLBGroup < Logical_Switch/blue_blue_ovn-worker.load_balancer_group',
      'Logical_Router GR_blue_blue_ovn-worker copp=Copp/ovnkube-default external_ids={X3 physical_ip=172.18.0.3 physical_ips=172.18.0.3,169.254.0.11} options={always_learn_from_arp_request=false chassis=C1 disable_garp_rarp=true dynamic_neigh_routers=false lb_force_snat_ip=router_ip mac_binding_age_threshold=300}',
      'Logical_Router blue_blue_ovn_cluster_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes X2} options={always_learn_from_arp_request=false}',
      'Logical_Router_Policy blue_blue_ovn_cluster_router 1004 inport == "rtos-blue_blue_ovn-worker" && ip4.dst == 169.254.0.11 /* blue_blue_ovn-worker */ action=reroute external_ids={X2} match=inport == "rtos-blue_blue_ovn-worker" && ip4.dst == 169.254.0.11 /* blue_blue_ovn-worker */ nexthops=[103.103.0.2] priority=1004 < Logical_Router/blue_blue_ovn_cluster_router.policies',
      'Logical_Router_Policy blue_blue_ovn_cluster_router 1004 inport == "rtos-blue_blue_ovn-worker" && ip4.dst == 172.18.0.3 /* blue_blue_ovn-worker */ action=reroute external_ids={X2} match=inport == "rtos-blue_blue_ovn-worker" && ip4.dst == 172.18.0.3 /* blue_blue_ovn-worker */ nexthops=[103.103.0.2] priority=1004 < Logical_Router/blue_blue_ovn_cluster_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-CDN-Svc:ip4:blue_blue action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-CDN-Svc:ip4:blue_blue k/name=EIP-No-Reroute-Pod-To-CDN-Svc k/owner-controller=default-network-controller k/owner-type=EgressIP network=blue_blue priority=102} match=(ip4.src == $a8625653444039524328 || ip4.src == $a13607449821398607916) && ip4.dst == $a3613486944346402462 priority=102 < Logical_Router/blue_blue_ovn_cluster_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Join:ip4:blue_blue action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Join:ip4:blue_blue k/name=EIP-No-Reroute-Pod-To-Join k/owner-controller=default-network-controller k/owner-type=EgressIP network=blue_blue priority=102} match=ip4.src == 103.103.0.0/16 && ip4.dst == 100.64.0.0/16 priority=102 < Logical_Router/blue_blue_ovn_cluster_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Node:ip4:blue_blue action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Node:ip4:blue_blue k/name=EIP-No-Reroute-Pod-To-Node k/owner-controller=default-network-controller k/owner-type=EgressIP network=blue_blue priority=102} match=(ip4.src == $a8625653444039524328 || ip4.src == $a13607449821398607916) && ip4.dst == $a1042611113178530741 options={pkt_mark=1008} priority=102 < Logical_Router/blue_blue_ovn_cluster_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Pod:ip4:blue_blue action=allow external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Pod:ip4:blue_blue k/name=EIP-No-Reroute-Pod-To-Pod k/owner-controller=default-network-controller k/owner-type=EgressIP network=blue_blue priority=102} match=ip4.src == 103.103.0.0/16 && ip4.dst == 103.103.0.0/16 priority=102 < Logical_Router/blue_blue_ovn_cluster_router.policies',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-reply-traffic:ip:blue_blue action=allow external_ids={ip-family=ip k/id=default-network-controller:EgressIP:102:EIP-No-Reroute-reply-traffic:ip:blue_blue k/name=EIP-No-Reroute-reply-traffic k/owner-controller=default-network-controller k/owner-type=EgressIP network=blue_blue priority=102} match=pkt.mark == 42 priority=102 < Logical_Router/blue_blue_ovn_cluster_router.policies',
      'Logical_Router_Port blue_blue_rtots-ovn-worker mac=0a:58:64:58:00:02 networks=[100.88.0.2/16] options={mcast_flood=true} < Logical_Router/blue_blue_ovn_cluster_router.ports',
      'Logical_Router_Port rtoe-GR_blue_blue_ovn-worker external_ids={X2} mac=0a:58:ac:12:00:03 networks=[172.18.0.3/16, 169.254.0.11/32] < Logical_Router/GR_blue_blue_ovn-worker.ports',
      'Logical_Router_Port rtoj-GR_blue_blue_ovn-worker external_ids={X2} mac=0a:58:64:41:00:02 networks=[100.65.0.2/16] options={gateway_mtu=1400} < Logical_Router/GR_blue_blue_ovn-worker.ports',
      'Logical_Router_Port rtoj-blue_blue_ovn_cluster_router external_ids={X2} mac=0a:58:64:41:00:01 networks=[100.65.0.1/16] < Logical_Router/blue_blue_ovn_cluster_router.ports',
      'Logical_Router_Port rtos-blue_blue_ovn-worker mac=0a:58:67:67:00:01 networks=[103.103.0.1/24] options={gateway_mtu=1400} < Logical_Router/blue_blue_ovn_cluster_router.ports',
      'Logical_Router_Static_Route GR_blue_blue_ovn-worker 0.0.0.0/0 any rtoe-GR_blue_blue_ovn-worker 172.18.0.1 external_ids={X2} ip_prefix=0.0.0.0/0 nexthop=172.18.0.1 output_port=rtoe-GR_blue_blue_ovn-worker < Logical_Router/GR_blue_blue_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_blue_blue_ovn-worker 103.103.0.0/16 any - external_ids={X2} ip_prefix=103.103.0.0/16 nexthop=100.65.0.1 < Logical_Router/GR_blue_blue_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_blue_blue_ovn-worker 169.254.0.0/17 any rtoe-GR_blue_blue_ovn-worker external_ids={X2} ip_prefix=169.254.0.0/17 nexthop=169.254.0.4 output_port=rtoe-GR_blue_blue_ovn-worker < Logical_Router/GR_blue_blue_ovn-worker.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 10.96.0.1 dst-ip - external_ids={X2 k/udn-enabled-default-service=default/kubernetes} ip_prefix=10.96.0.1 nexthop=103.103.0.2 policy=dst-ip < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 10.96.0.10 dst-ip - external_ids={X2 k/udn-enabled-default-service=kube-system/kube-dns} ip_prefix=10.96.0.10 nexthop=103.103.0.2 policy=dst-ip < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 100.65.0.2 any - external_ids={X2} ip_prefix=100.65.0.2 nexthop=100.65.0.2 < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 100.65.0.3/32 any - external_ids={ic-node=ovn-worker2 k/network=blue_blue} ip_prefix=100.65.0.3/32 nexthop=100.88.0.3 < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.0.0/16 src-ip - ip_prefix=103.103.0.0/16 nexthop=100.65.0.2 policy=src-ip < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.0.0/24 src-ip - external_ids={X2} ip_prefix=103.103.0.0/24 nexthop=100.65.0.2 policy=src-ip < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.1.0/24 any - external_ids={ic-node=ovn-worker2 k/network=blue_blue} ip_prefix=103.103.1.0/24 nexthop=100.88.0.3 < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Switch blue_blue_join external_ids={X2}',
      'Logical_Switch blue_blue_ovn-worker external_ids={X3} other_config={subnet=103.103.0.0/24}',
      'Logical_Switch blue_blue_transit_switch external_ids={X3} other_config={interconn-ts=blue_blue_transit_switch mcast_flood_unregistered=true mcast_querier=false mcast_snoop=true requested-tnl-key=16711684}',
      'Logical_Switch ext_blue_blue_ovn-worker external_ids={X3}',
      'Logical_Switch_Port blue_blue_tstor-ovn-worker addresses=[router] external_ids={node=ovn-worker} options={requested-tnl-key=2 router-port=blue_blue_rtots-ovn-worker} type=router < Logical_Switch/blue_blue_transit_switch.ports',
      'Logical_Switch_Port blue_blue_tstor-ovn-worker2 addresses=[0a:58:64:58:00:03 100.88.0.3/16] external_ids={node=ovn-worker2} options={requested-chassis=C2 requested-tnl-key=3} type=remote < Logical_Switch/blue_blue_transit_switch.ports',
      'Logical_Switch_Port breth0_blue_blue_ovn-worker addresses=[unknown] external_ids={X2} options={network_name=physnet} type=localnet < Logical_Switch/ext_blue_blue_ovn-worker.ports',
      'Logical_Switch_Port etor-GR_blue_blue_ovn-worker addresses=[0a:58:ac:12:00:03] external_ids={X2} options={router-port=rtoe-GR_blue_blue_ovn-worker} type=router < Logical_Switch/ext_blue_blue_ovn-worker.ports',
      'Logical_Switch_Port jtor-GR_blue_blue_ovn-worker addresses=[router] external_ids={X2} options={router-port=rtoj-GR_blue_blue_ovn-worker} type=router < Logical_Switch/blue_blue_join.ports',
      'Logical_Switch_Port jtor-blue_blue_ovn_cluster_router addresses=[router] options={router-port=rtoj-blue_blue_ovn_cluster_router} type=router < Logical_Switch/blue_blue_join.ports',
      'Logical_Switch_Port k8s-blue_blue_ovn-worker addresses=[0a:58:67:67:00:02 103.103.0.2] < Logical_Switch/blue_blue_ovn-worker.ports < Port_Group/a6305690735356339486.ports',
      'Logical_Switch_Port stor-blue_blue_ovn-worker addresses=[router] options={router-port=rtos-blue_blue_ovn-worker} type=router < Logical_Switch/blue_blue_ovn-worker.ports',
      'NAT GR_blue_blue_ovn-worker snat 100.65.0.2 - external_ids={X2} external_ip=169.254.0.11 external_port_range=32768-60999 logical_ip=100.65.0.2 options={stateless=false} type=snat < Logical_Router/GR_blue_blue_ovn-worker.nat',
      'NAT GR_blue_blue_ovn-worker snat 103.103.0.0/16 - external_ids={X2} external_ip=169.254.0.11 external_port_range=32768-60999 logical_ip=103.103.0.0/16 options={stateless=false} type=snat < Logical_Router/GR_blue_blue_ovn-worker.nat',
      'NAT blue_blue_ovn_cluster_router snat 103.103.0.0/24 rtos-blue_blue_ovn-worker external_ids={X2} external_ip=169.254.0.12 external_port_range=32768-60999 logical_ip=103.103.0.0/24 logical_port=rtos-blue_blue_ovn-worker match=eth.dst == 0a:58:67:67:00:02 options={stateless=false} type=snat < Logical_Router/blue_blue_ovn_cluster_router.nat',
      'Port_Group a15517656585142200826 external_ids={k/id=blue_blue-network-controller:Cluster:clusterRtrPortGroup k/name=clusterRtrPortGroup k/owner-controller=blue_blue-network-controller k/owner-type=Cluster}',
      'Port_Group a3611962815694738969 external_ids={k/id=blue_blue-network-controller:Namespace:blue k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=Namespace}',
      'Port_Group a6305690735356339486 external_ids={k/id=blue_blue-network-controller:Cluster:clusterPortGroup k/name=clusterPortGroup k/owner-controller=blue_blue-network-controller k/owner-type=Cluster}',
      'QoS default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip4:blue_blue action={mark=42} direction=from-lport external_ids={ip-family=ip4 k/id=default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip4:blue_blue k/name=EgressIP-Mark-Reply-Traffic k/owner-controller=default-network-controller k/owner-type=EgressIP network=blue_blue priority=103} match=ip4.src == $a8625653444039524328 && ct.trk && ct.rpl priority=103 < Logical_Switch/blue_blue_ovn-worker.qos_rules',
      'Static_MAC_Binding rtoe-GR_blue_blue_ovn-worker 169.254.0.2 ip=169.254.0.2 logical_port=rtoe-GR_blue_blue_ovn-worker mac=0a:58:a9:fe:00:02 override_dynamic_mac=true',
      'Static_MAC_Binding rtoe-GR_blue_blue_ovn-worker 169.254.0.4 ip=169.254.0.4 logical_port=rtoe-GR_blue_blue_ovn-worker mac=0a:58:a9:fe:00:04 override_dynamic_mac=true',
    ]);
  });

  test('differs in local gateway mode by ct-commit-all, the next hop of its pods, and no routes to services', () => {
    const shared = textsOf(exampleZone, /^network\/blue_blue/);
    const local = textsOf(inLocalMode(exampleZone), /^network\/blue_blue/);
    expect(local.filter((text) => !shared.includes(text))).toEqual([
      'Logical_Router blue_blue_ovn_cluster_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes X2} options={always_learn_from_arp_request=false ct-commit-all=true}',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.0.0/24 src-ip - external_ids={X2} ip_prefix=103.103.0.0/24 nexthop=103.103.0.2 policy=src-ip < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
    ]);
    expect(
      shared.filter((text) => !local.includes(text)).map((text) => text.split(' ', 4).join(' ')),
    ).toEqual([
      'Logical_Router blue_blue_ovn_cluster_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 10.96.0.1 dst-ip',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 10.96.0.10 dst-ip',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.0.0/24 src-ip',
    ]);
  });
});
