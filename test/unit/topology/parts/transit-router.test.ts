import { describe, expect, test } from 'vitest';
import { transitRouter } from '../../../../src/topology/parts/transit-router.ts';
import { withNetwork } from '../../../support/zone/zone-variants.ts';
import {
  yellow,
  dualYellow,
  dualZone,
  inLocalMode,
  layer2Secondary,
} from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('the router of a primary Layer2 network (reference/topology.md §9.1, §9.2)', () => {
  test('has the same tunnel keys, gateway address and MAC on every node', () => {
    expect(partTexts(transitRouter, withNetwork(yellow), 'cluster_udn_yellow-net')).toEqual([
      'Logical_Router cluster_udn_yellow.net_transit_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes k/network=cluster_udn_yellow-net k/topology=layer2} options={requested-tnl-key=16715780}',
      'Logical_Router_Port trtos-cluster_udn_yellow.net_ovn_layer2_switch ha_chassis_group=HA_Chassis_Group/heddle-this-chassis mac=0a:58:69:69:00:01 networks=[105.105.0.1/16] options={gateway_mtu=1400 requested-tnl-key=1} < Logical_Router/cluster_udn_yellow.net_transit_router.ports',
      'Logical_Switch_Port stotr-cluster_udn_yellow.net_ovn_layer2_switch addresses=[router] external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} options={requested-tnl-key=32767 router-port=trtos-cluster_udn_yellow.net_ovn_layer2_switch} type=router up=true < Logical_Switch/cluster_udn_yellow.net_ovn_layer2_switch.ports',
    ]);
  });
  test('tells IPv6 pods gateway and MTU, and no address', () => {
    expect(
      partTexts(transitRouter, withNetwork(dualYellow, dualZone), 'cluster_udn_yellow-net'),
    ).toEqual([
      'Logical_Router cluster_udn_yellow.net_transit_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes k/network=cluster_udn_yellow-net k/topology=layer2} options={requested-tnl-key=16715780}',
      'Logical_Router_Port trtos-cluster_udn_yellow.net_ovn_layer2_switch ha_chassis_group=HA_Chassis_Group/heddle-this-chassis ipv6_ra_configs={address_mode=dhcpv6_stateful max_interval=900 min_interval=300 mtu=1400 router_preference=LOW send_periodic=true} mac=0a:58:69:69:00:01 networks=[105.105.0.1/16, fd20:105::1/64] options={gateway_mtu=1400 requested-tnl-key=1} < Logical_Router/cluster_udn_yellow.net_transit_router.ports',
      'Logical_Switch_Port stotr-cluster_udn_yellow.net_ovn_layer2_switch addresses=[router] external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} options={requested-tnl-key=32767 router-port=trtos-cluster_udn_yellow.net_ovn_layer2_switch} type=router up=true < Logical_Switch/cluster_udn_yellow.net_ovn_layer2_switch.ports',
    ]);
  });
  test('local mode: it tracks what it forwards', () => {
    expect(
      partTexts(transitRouter, inLocalMode(withNetwork(yellow)), 'cluster_udn_yellow-net'),
    ).toEqual([
      'Logical_Router cluster_udn_yellow.net_transit_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes k/network=cluster_udn_yellow-net k/topology=layer2} options={ct-commit-all=true requested-tnl-key=16715780}',
      'Logical_Router_Port trtos-cluster_udn_yellow.net_ovn_layer2_switch ha_chassis_group=HA_Chassis_Group/heddle-this-chassis mac=0a:58:69:69:00:01 networks=[105.105.0.1/16] options={gateway_mtu=1400 requested-tnl-key=1} < Logical_Router/cluster_udn_yellow.net_transit_router.ports',
      'Logical_Switch_Port stotr-cluster_udn_yellow.net_ovn_layer2_switch addresses=[router] external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} options={requested-tnl-key=32767 router-port=trtos-cluster_udn_yellow.net_ovn_layer2_switch} type=router up=true < Logical_Switch/cluster_udn_yellow.net_ovn_layer2_switch.ports',
    ]);
  });
  test('is not there before its tunnel key is', () => {
    expect(
      partTexts(
        transitRouter,
        withNetwork({ ...yellow, tunnelKeys: [] }),
        'cluster_udn_yellow-net',
      ),
    ).toEqual([]);
  });
  test('a secondary network has none', () => {
    expect(partTexts(transitRouter, withNetwork(layer2Secondary), 'blue_l2')).toEqual([]);
  });
});
