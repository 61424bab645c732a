import { describe, expect, test } from 'vitest';
import { podServers } from '../../../../src/topology/parts/pod-servers.ts';
import { withNetwork } from '../../../support/zone/zone-variants.ts';
import { exampleZone, layer2Secondary } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('DHCP servers among pods (reference/topology.md §22)', () => {
  test('nothing but the router sends to DHCP clients', () => {
    expect(partTexts(podServers, exampleZone, 'blue_blue')).toEqual([
      'ACL blue_blue-network-controller:PodServers:blue_blue_ovn-worker:drop action=drop direction=from-lport external_ids={k/id=blue_blue-network-controller:PodServers:blue_blue_ovn-worker:drop k/name=blue_blue_ovn-worker k/owner-controller=blue_blue-network-controller k/owner-type=PodServers type=drop} match=udp.dst == {68, 546} options={apply-after-lb=true} priority=1050 tier=0 < Logical_Switch/blue_blue_ovn-worker.acls',
      'ACL blue_blue-network-controller:PodServers:blue_blue_ovn-worker:pass action=pass direction=from-lport external_ids={k/id=blue_blue-network-controller:PodServers:blue_blue_ovn-worker:pass k/name=blue_blue_ovn-worker k/owner-controller=blue_blue-network-controller k/owner-type=PodServers type=pass} match=inport == "stor-blue_blue_ovn-worker" && udp.dst == {68, 546} options={apply-after-lb=true} priority=1051 tier=0 < Logical_Switch/blue_blue_ovn-worker.acls',
    ]);
  });
  test('on a Layer2 network without a router, nothing', () => {
    expect(partTexts(podServers, withNetwork(layer2Secondary), 'blue_l2')).toEqual([
      'ACL blue_l2-network-controller:PodServers:blue_l2_ovn_layer2_switch:drop action=drop direction=from-lport external_ids={k/id=blue_l2-network-controller:PodServers:blue_l2_ovn_layer2_switch:drop k/name=blue_l2_ovn_layer2_switch k/owner-controller=blue_l2-network-controller k/owner-type=PodServers type=drop} match=udp.dst == {68, 546} options={apply-after-lb=true} priority=1050 tier=0 < Logical_Switch/blue_l2_ovn_layer2_switch.acls',
    ]);
  });
  test("pods of a network without subnets may be each other's servers", () => {
    expect(
      partTexts(podServers, withNetwork({ ...layer2Secondary, subnets: [] }), 'blue_l2'),
    ).toEqual([]);
  });
});
