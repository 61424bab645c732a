import { describe, expect, test } from 'vitest';
import { joinSwitch } from '../../../../src/topology/parts/join-switch.ts';
import {
  withoutGateway,
  secondaryLayer3,
  withNetwork,
} from '../../../support/zone/zone-variants.ts';
import { exampleZone } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('the join switch of a Layer3 network (reference/topology.md §7.1, §7.3)', () => {
  test('joins the distributed router and the gateway router of the node', () => {
    expect(partTexts(joinSwitch, exampleZone, 'blue_blue')).toEqual([
      'Logical_Router_Port rtoj-GR_blue_blue_ovn-worker external_ids={X2} mac=0a:58:64:41:00:02 networks=[100.65.0.2/16] options={gateway_mtu=1400} < Logical_Router/GR_blue_blue_ovn-worker.ports',
      'Logical_Router_Port rtoj-blue_blue_ovn_cluster_router external_ids={X2} mac=0a:58:64:41:00:01 networks=[100.65.0.1/16] < Logical_Router/blue_blue_ovn_cluster_router.ports',
      'Logical_Switch blue_blue_join external_ids={X2}',
      'Logical_Switch_Port jtor-GR_blue_blue_ovn-worker addresses=[router] external_ids={X2} options={router-port=rtoj-GR_blue_blue_ovn-worker} type=router up=true < Logical_Switch/blue_blue_join.ports',
      'Logical_Switch_Port jtor-blue_blue_ovn_cluster_router addresses=[router] options={router-port=rtoj-blue_blue_ovn_cluster_router} type=router up=true < Logical_Switch/blue_blue_join.ports',
    ]);
  });
  test('without a gateway router the distributed router is alone on it', () => {
    expect(partTexts(joinSwitch, withoutGateway(exampleZone), 'blue_blue')).toEqual([
      'Logical_Router_Port rtoj-blue_blue_ovn_cluster_router external_ids={X2} mac=0a:58:64:41:00:01 networks=[100.65.0.1/16] < Logical_Router/blue_blue_ovn_cluster_router.ports',
      'Logical_Switch blue_blue_join external_ids={X2}',
      'Logical_Switch_Port jtor-blue_blue_ovn_cluster_router addresses=[router] options={router-port=rtoj-blue_blue_ovn_cluster_router} type=router up=true < Logical_Switch/blue_blue_join.ports',
    ]);
  });
  test('a secondary network has none', () => {
    expect(partTexts(joinSwitch, withNetwork(secondaryLayer3), 'blue_sec')).toEqual([]);
  });
});
