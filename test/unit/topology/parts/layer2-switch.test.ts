import { describe, expect, test } from 'vitest';
import { layer2Switch } from '../../../../src/topology/parts/layer2-switch.ts';
import { withNetwork } from '../../../support/zone/zone-variants.ts';
import { dualYellow, dualZone, layer2Secondary } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('the switch of a Layer2 network (reference/topology.md §9.1)', () => {
  test("is the same in every zone, with the network's tunnel key and subnets", () => {
    expect(
      partTexts(layer2Switch, withNetwork(dualYellow, dualZone), 'cluster_udn_yellow-net'),
    ).toEqual([
      'Logical_Switch cluster_udn_yellow.net_ovn_layer2_switch copp=Copp/heddle-pod-switches external_ids={k/network=cluster_udn_yellow-net k/role=primary k/topology=layer2} other_config={interconn-ts=cluster_udn_yellow.net_ovn_layer2_switch ipv6_prefix=fd20:105:: mcast_flood_unregistered=true mcast_querier=false mcast_snoop=true requested-tnl-key=16711686 subnet=105.105.0.0/16}',
    ]);
  });
  test('a secondary network has its role', () => {
    expect(partTexts(layer2Switch, withNetwork(layer2Secondary), 'blue_l2')).toEqual([
      'Logical_Switch blue_l2_ovn_layer2_switch copp=Copp/heddle-pod-switches external_ids={k/network=blue_l2 k/role=secondary k/topology=layer2} other_config={interconn-ts=blue_l2_ovn_layer2_switch mcast_flood_unregistered=true mcast_querier=false mcast_snoop=true requested-tnl-key=16711687 subnet=10.40.0.0/16}',
    ]);
  });
});
