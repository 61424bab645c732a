import { describe, expect, test } from 'vitest';
import { loadBalancerGroups } from '../../../../src/topology/parts/load-balancer-groups.ts';
import { withGateway, withNetwork } from '../../../support/zone/zone-variants.ts';
import { exampleZone, blue } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('groups of load balancers (reference/topology.md §7.1)', () => {
  test('are on the switch and on the gateway router of the node', () => {
    expect(partTexts(loadBalancerGroups, exampleZone, 'blue_blue')).toEqual([
      'Load_Balancer_Group blue_blue_clusterLBGroup < Logical_Switch/blue_blue_ovn-worker.load_balancer_group < Logical_Router/GR_blue_blue_ovn-worker.load_balancer_group',
      'Load_Balancer_Group blue_blue_clusterRouterLBGroup < Logical_Router/GR_blue_blue_ovn-worker.load_balancer_group',
      'Load_Balancer_Group blue_blue_clusterSwitchLBGroup < Logical_Switch/blue_blue_ovn-worker.load_balancer_group',
    ]);
  });
  test('a node that opens no node ports has no load balancers of its gateway router alone', () => {
    expect(
      partTexts(loadBalancerGroups, withGateway({ nodePortEnable: false }), 'blue_blue'),
    ).toEqual([
      'Load_Balancer_Group blue_blue_clusterLBGroup < Logical_Switch/blue_blue_ovn-worker.load_balancer_group < Logical_Router/GR_blue_blue_ovn-worker.load_balancer_group',
      'Load_Balancer_Group blue_blue_clusterRouterLBGroup',
      'Load_Balancer_Group blue_blue_clusterSwitchLBGroup < Logical_Switch/blue_blue_ovn-worker.load_balancer_group',
    ]);
  });
  test("before the node's subnet they hang nowhere", () => {
    expect(
      partTexts(loadBalancerGroups, withNetwork({ ...blue, nodeSubnets: new Map() }), 'blue_blue'),
    ).toEqual([
      'Load_Balancer_Group blue_blue_clusterLBGroup',
      'Load_Balancer_Group blue_blue_clusterRouterLBGroup',
      'Load_Balancer_Group blue_blue_clusterSwitchLBGroup',
    ]);
  });
});
