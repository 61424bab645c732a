import { describe, expect, test } from 'vitest';
import { transitSwitch } from '../../../../src/topology/parts/transit-switch.ts';
import { exampleZone, dualZone, worker } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('the transit switch of a Layer3 network (reference/topology.md §13.1)', () => {
  test("has the network's tunnel key in every zone, and this node's port on it by the node's id", () => {
    expect(partTexts(transitSwitch, exampleZone, 'blue_blue')).toEqual([
      'Logical_Router_Port blue_blue_rtots-ovn-worker mac=0a:58:64:58:00:02 networks=[100.88.0.2/16] options={mcast_flood=true} < Logical_Router/blue_blue_ovn_cluster_router.ports',
      'Logical_Switch blue_blue_transit_switch external_ids={X3} other_config={interconn-ts=blue_blue_transit_switch mcast_flood_unregistered=true mcast_querier=false mcast_snoop=true requested-tnl-key=16711684}',
      'Logical_Switch_Port blue_blue_tstor-ovn-worker addresses=[router] external_ids={node=ovn-worker} options={requested-tnl-key=2 router-port=blue_blue_rtots-ovn-worker} type=router up=true < Logical_Switch/blue_blue_transit_switch.ports',
    ]);
  });
  test('has transit addresses of both families', () => {
    expect(partTexts(transitSwitch, dualZone, 'blue_blue')).toEqual([
      'Logical_Router_Port blue_blue_rtots-ovn-worker mac=0a:58:64:58:00:02 networks=[100.88.0.2/16, fd97::2/64] options={mcast_flood=true} < Logical_Router/blue_blue_ovn_cluster_router.ports',
      'Logical_Switch blue_blue_transit_switch external_ids={X3} other_config={interconn-ts=blue_blue_transit_switch mcast_flood_unregistered=true mcast_querier=false mcast_snoop=true requested-tnl-key=16711684}',
      'Logical_Switch_Port blue_blue_tstor-ovn-worker addresses=[router] external_ids={node=ovn-worker} options={requested-tnl-key=2 router-port=blue_blue_rtots-ovn-worker} type=router up=true < Logical_Switch/blue_blue_transit_switch.ports',
    ]);
  });
  test('without a transit address the node has no port on it', () => {
    expect(
      partTexts(
        transitSwitch,
        { ...exampleZone, node: { ...worker, transitAddresses: {} } },
        'blue_blue',
      ),
    ).toEqual([
      'Logical_Switch blue_blue_transit_switch external_ids={X3} other_config={interconn-ts=blue_blue_transit_switch mcast_flood_unregistered=true mcast_querier=false mcast_snoop=true requested-tnl-key=16711684}',
    ]);
  });
});
