import { describe, expect, test } from 'vitest';
import { nodeSwitch } from '../../../../src/topology/parts/node-switch.ts';
import {
  withMulticast,
  secondaryLayer3,
  withNetwork,
} from '../../../support/zone/zone-variants.ts';
import { exampleZone, dualZone, blue } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('the switch of a Layer3 network on a node (reference/topology.md §7.2)', () => {
  test("has the node's subnet, and a port to the distributed router, which is bound to this node", () => {
    expect(partTexts(nodeSwitch, exampleZone, 'blue_blue')).toEqual([
      'Logical_Router_Port rtos-blue_blue_ovn-worker ha_chassis_group=HA_Chassis_Group/heddle-this-chassis mac=0a:58:67:67:00:01 networks=[103.103.0.1/24] options={gateway_mtu=1400} < Logical_Router/blue_blue_ovn_cluster_router.ports',
      'Logical_Switch blue_blue_ovn-worker copp=Copp/heddle-pod-switches external_ids={X3} other_config={subnet=103.103.0.0/24}',
      'Logical_Switch_Port stor-blue_blue_ovn-worker addresses=[router] options={router-port=rtos-blue_blue_ovn-worker} type=router up=true < Logical_Switch/blue_blue_ovn-worker.ports',
    ]);
  });
  test("the default network's answers for the gateways of migrating virtual machines", () => {
    expect(partTexts(nodeSwitch, exampleZone, 'default')).toEqual([
      'Logical_Router_Port rtos-ovn-worker ha_chassis_group=HA_Chassis_Group/heddle-this-chassis mac=0a:58:0a:f4:00:01 networks=[10.244.0.1/24] options={gateway_mtu=1400} < Logical_Router/ovn_cluster_router.ports',
      'Logical_Switch ovn-worker copp=Copp/heddle-pod-switches other_config={subnet=10.244.0.0/24}',
      'Logical_Switch_Port stor-ovn-worker addresses=[router] options={arp_proxy=0a:58:a9:fe:01:01 169.254.1.1 fe80::1 10.244.0.0/16 router-port=rtos-ovn-worker} type=router up=true < Logical_Switch/ovn-worker.ports',
    ]);
  });
  test('with multicast it asks who listens, as the router, and floods to other nodes', () => {
    expect(partTexts(nodeSwitch, withMulticast(dualZone), 'blue_blue')).toEqual([
      'Logical_Router_Port rtos-blue_blue_ovn-worker ha_chassis_group=HA_Chassis_Group/heddle-this-chassis mac=0a:58:67:67:00:01 networks=[103.103.0.1/24, fd20:103:0:1::1/64] options={gateway_mtu=1400} < Logical_Router/blue_blue_ovn_cluster_router.ports',
      'Logical_Switch blue_blue_ovn-worker copp=Copp/heddle-pod-switches external_ids={X3} other_config={ipv6_prefix=fd20:103:0:1:: mcast_eth_src=0a:58:67:67:00:01 mcast_ip4_src=103.103.0.1 mcast_ip6_src=fe80::858:67ff:fe67:1 mcast_querier=true mcast_snoop=true subnet=103.103.0.0/24}',
      'Logical_Switch_Port stor-blue_blue_ovn-worker addresses=[router] options={router-port=rtos-blue_blue_ovn-worker} type=router up=true < Logical_Switch/blue_blue_ovn-worker.ports < Port_Group/ab3f2ae2b376dec45615f7d08eef30f70.ports',
    ]);
  });
  test('a secondary network keeps the second address from its pods, too', () => {
    expect(partTexts(nodeSwitch, withNetwork(secondaryLayer3), 'blue_sec')).toEqual([
      'Logical_Router_Port rtos-blue_sec_ovn-worker mac=0a:58:0a:50:00:01 networks=[10.80.0.1/24] options={gateway_mtu=1400} < Logical_Router/blue_sec_ovn_cluster_router.ports',
      'Logical_Switch blue_sec_ovn-worker copp=Copp/heddle-pod-switches external_ids={k/network=blue_sec k/role=secondary k/topology=layer3} other_config={exclude_ips=10.80.0.2 subnet=10.80.0.0/24}',
      'Logical_Switch_Port stor-blue_sec_ovn-worker addresses=[router] options={router-port=rtos-blue_sec_ovn-worker} type=router up=true < Logical_Switch/blue_sec_ovn-worker.ports',
    ]);
  });
  test("is not there before the node's subnet is", () => {
    expect(
      partTexts(nodeSwitch, withNetwork({ ...blue, nodeSubnets: new Map() }), 'blue_blue'),
    ).toEqual([]);
  });
});
