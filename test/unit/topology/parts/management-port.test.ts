import { describe, expect, test } from 'vitest';
import { managementPort } from '../../../../src/topology/parts/management-port.ts';
import { withNetwork } from '../../../support/zone/zone-variants.ts';
import { exampleZone, inLocalMode, yellow, layer2Secondary } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe("the host's port on a network (reference/topology.md §7.2)", () => {
  test("has the second address of the node's subnet; what comes from it is let in, what goes to it is translated", () => {
    expect(partTexts(managementPort, exampleZone, 'blue_blue')).toEqual([
      'ACL blue_blue-network-controller:NetpolNode:blue_blue_ovn-worker:103.103.0.2 action=allow-related direction=to-lport external_ids={ip=103.103.0.2 k/id=blue_blue-network-controller:NetpolNode:blue_blue_ovn-worker:103.103.0.2 k/name=blue_blue_ovn-worker k/owner-controller=blue_blue-network-controller k/owner-type=NetpolNode} match=ip4.src==103.103.0.2 priority=1001 tier=2 < Logical_Switch/blue_blue_ovn-worker.acls',
      'Logical_Switch_Port k8s-blue_blue_ovn-worker addresses=[0a:58:67:67:00:02 103.103.0.2] < Logical_Switch/blue_blue_ovn-worker.ports < Port_Group/a9b3a8be230d6c957406156cd5423f24e.ports',
      'NAT blue_blue_ovn_cluster_router snat 103.103.0.0/24 rtos-blue_blue_ovn-worker external_ids={X2} external_ip=169.254.0.12 external_port_range=32768-60999 logical_ip=103.103.0.0/24 logical_port=rtos-blue_blue_ovn-worker match=eth.dst == 0a:58:67:67:00:02 options={stateless=false} type=snat < Logical_Router/blue_blue_ovn_cluster_router.nat',
    ]);
  });
  test('local mode: pods leave through it', () => {
    expect(partTexts(managementPort, inLocalMode(exampleZone), 'blue_blue')).toEqual([
      'ACL blue_blue-network-controller:NetpolNode:blue_blue_ovn-worker:103.103.0.2 action=allow-related direction=to-lport external_ids={ip=103.103.0.2 k/id=blue_blue-network-controller:NetpolNode:blue_blue_ovn-worker:103.103.0.2 k/name=blue_blue_ovn-worker k/owner-controller=blue_blue-network-controller k/owner-type=NetpolNode} match=ip4.src==103.103.0.2 priority=1001 tier=2 < Logical_Switch/blue_blue_ovn-worker.acls',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.0.0/24 src-ip - external_ids={X2} ip_prefix=103.103.0.0/24 nexthop=103.103.0.2 policy=src-ip < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Switch_Port k8s-blue_blue_ovn-worker addresses=[0a:58:67:67:00:02 103.103.0.2] < Logical_Switch/blue_blue_ovn-worker.ports < Port_Group/a9b3a8be230d6c957406156cd5423f24e.ports',
      'NAT blue_blue_ovn_cluster_router snat 103.103.0.0/24 rtos-blue_blue_ovn-worker external_ids={X2} external_ip=169.254.0.12 external_port_range=32768-60999 logical_ip=103.103.0.0/24 logical_port=rtos-blue_blue_ovn-worker match=eth.dst == 0a:58:67:67:00:02 options={stateless=false} type=snat < Logical_Router/blue_blue_ovn_cluster_router.nat',
    ]);
  });
  test("Layer2: it has the network's second address, and a tunnel key that no pod gets", () => {
    expect(partTexts(managementPort, withNetwork(yellow), 'cluster_udn_yellow-net')).toEqual([
      'ACL cluster_udn_yellow-net-network-controller:NetpolNode:cluster_udn_yellow.net_ovn_layer2_switch:105.105.0.2 action=allow-related direction=to-lport external_ids={ip=105.105.0.2 k/id=cluster_udn_yellow-net-network-controller:NetpolNode:cluster_udn_yellow.net_ovn_layer2_switch:105.105.0.2 k/name=cluster_udn_yellow.net_ovn_layer2_switch k/owner-controller=cluster_udn_yellow-net-network-controller k/owner-type=NetpolNode} match=ip4.src==105.105.0.2 priority=1001 tier=2 < Logical_Switch/cluster_udn_yellow.net_ovn_layer2_switch.acls',
      'Logical_Switch_Port k8s-cluster_udn_yellow.net_ovn-worker addresses=[0a:58:69:69:00:02 105.105.0.2] options={requested-tnl-key=1} < Logical_Switch/cluster_udn_yellow.net_ovn_layer2_switch.ports < Port_Group/a85e51e75eee5604725bf867f5aa65f39.ports',
      'NAT cluster_udn_yellow.net_transit_router snat 105.105.0.0/16 trtos-cluster_udn_yellow.net_ovn_layer2_switch external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} external_ip=169.254.0.16 external_port_range=32768-60999 logical_ip=105.105.0.0/16 logical_port=trtos-cluster_udn_yellow.net_ovn_layer2_switch match=eth.dst == 0a:58:69:69:00:02 options={stateless=false} type=snat < Logical_Router/cluster_udn_yellow.net_transit_router.nat',
    ]);
  });
  test('the default network is not translated on its way to the host', () => {
    expect(partTexts(managementPort, exampleZone, 'default')).toEqual([
      'ACL default-network-controller:NetpolNode:ovn-worker:10.244.0.2 action=allow-related direction=to-lport external_ids={ip=10.244.0.2 k/id=default-network-controller:NetpolNode:ovn-worker:10.244.0.2 k/name=ovn-worker k/owner-controller=default-network-controller k/owner-type=NetpolNode} match=ip4.src==10.244.0.2 priority=1001 tier=2 < Logical_Switch/ovn-worker.acls',
      'Logical_Switch_Port k8s-ovn-worker addresses=[0a:58:0a:f4:00:02 10.244.0.2] < Logical_Switch/ovn-worker.ports < Port_Group/abb995bb4203488fc33151da2ec3e7e2a.ports',
    ]);
  });
  test('a secondary network has none', () => {
    expect(partTexts(managementPort, withNetwork(layer2Secondary), 'blue_l2')).toEqual([]);
  });
});
