import { describe, expect, test } from 'vitest';
import { remoteNode } from '../../../../src/topology/interconnect/remote-node.ts';
import { secondaryLayer3, withNetwork } from '../../../support/zone/zone-variants.ts';
import { exampleZone, dualZone, blue } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('the way to a Layer3 network on another node (reference/topology.md §13.1)', () => {
  test('is a port of the transit switch that is bound to its chassis, and routes to its pods and its gateway router', () => {
    expect(featureTexts([remoteNode], exampleZone)).toEqual([
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 100.65.0.3/32 any - external_ids={ic-node=ovn-worker2 k/network=blue_blue} ip_prefix=100.65.0.3/32 nexthop=100.88.0.3 < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.1.0/24 any - external_ids={ic-node=ovn-worker2 k/network=blue_blue} ip_prefix=103.103.1.0/24 nexthop=100.88.0.3 < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 10.244.1.0/24 any - external_ids={ic-node=ovn-worker2 k/network=default} ip_prefix=10.244.1.0/24 nexthop=100.88.0.3 < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 100.64.0.3/32 any - external_ids={ic-node=ovn-worker2 k/network=default} ip_prefix=100.64.0.3/32 nexthop=100.88.0.3 < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Switch_Port blue_blue_tstor-ovn-worker2 addresses=[0a:58:64:58:00:03 100.88.0.3/16] external_ids={node=ovn-worker2} options={requested-chassis=C2 requested-tnl-key=3} type=remote up=true < Logical_Switch/blue_blue_transit_switch.ports',
      'Logical_Switch_Port tstor-ovn-worker2 addresses=[0a:58:64:58:00:03 100.88.0.3/16] external_ids={node=ovn-worker2} options={requested-chassis=C2 requested-tnl-key=3} type=remote up=true < Logical_Switch/transit_switch.ports',
    ]);
  });
  test('by addresses of both families', () => {
    expect(featureTexts([remoteNode], dualZone)).toEqual([
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 100.65.0.3/32 any - external_ids={ic-node=ovn-worker2 k/network=blue_blue} ip_prefix=100.65.0.3/32 nexthop=100.88.0.3 < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.1.0/24 any - external_ids={ic-node=ovn-worker2 k/network=blue_blue} ip_prefix=103.103.1.0/24 nexthop=100.88.0.3 < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router fd20:103:0:2::/64 any - external_ids={ic-node=ovn-worker2 k/network=blue_blue} ip_prefix=fd20:103:0:2::/64 nexthop=fd97::3 < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router fd99::3/128 any - external_ids={ic-node=ovn-worker2 k/network=blue_blue} ip_prefix=fd99::3/128 nexthop=fd97::3 < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 10.244.1.0/24 any - external_ids={ic-node=ovn-worker2 k/network=default} ip_prefix=10.244.1.0/24 nexthop=100.88.0.3 < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 100.64.0.3/32 any - external_ids={ic-node=ovn-worker2 k/network=default} ip_prefix=100.64.0.3/32 nexthop=100.88.0.3 < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router fd00:10:244:1::/64 any - external_ids={ic-node=ovn-worker2 k/network=default} ip_prefix=fd00:10:244:1::/64 nexthop=fd97::3 < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router fd98::3/128 any - external_ids={ic-node=ovn-worker2 k/network=default} ip_prefix=fd98::3/128 nexthop=fd97::3 < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Switch_Port blue_blue_tstor-ovn-worker2 addresses=[0a:58:64:58:00:03 100.88.0.3/16 fd97::3/64] external_ids={node=ovn-worker2} options={requested-chassis=C2 requested-tnl-key=3} type=remote up=true < Logical_Switch/blue_blue_transit_switch.ports',
      'Logical_Switch_Port tstor-ovn-worker2 addresses=[0a:58:64:58:00:03 100.88.0.3/16 fd97::3/64] external_ids={node=ovn-worker2} options={requested-chassis=C2 requested-tnl-key=3} type=remote up=true < Logical_Switch/transit_switch.ports',
    ]);
  });
  test('a secondary network has no gateway router to lead to', () => {
    expect(
      featureTexts(
        [remoteNode],
        withNetwork({
          ...secondaryLayer3,
          nodeSubnets: new Map([['ovn-worker2', ['10.80.1.0/24']]]),
        }),
      ),
    ).toEqual([
      'Logical_Router_Static_Route blue_sec_ovn_cluster_router 10.80.1.0/24 any - external_ids={ic-node=ovn-worker2 k/network=blue_sec} ip_prefix=10.80.1.0/24 nexthop=100.88.0.3 < Logical_Router/blue_sec_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 10.244.1.0/24 any - external_ids={ic-node=ovn-worker2 k/network=default} ip_prefix=10.244.1.0/24 nexthop=100.88.0.3 < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 100.64.0.3/32 any - external_ids={ic-node=ovn-worker2 k/network=default} ip_prefix=100.64.0.3/32 nexthop=100.88.0.3 < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Switch_Port blue_sec_tstor-ovn-worker2 addresses=[0a:58:64:58:00:03 100.88.0.3/16] external_ids={node=ovn-worker2} options={requested-chassis=C2 requested-tnl-key=3} type=remote up=true < Logical_Switch/blue_sec_transit_switch.ports',
      'Logical_Switch_Port tstor-ovn-worker2 addresses=[0a:58:64:58:00:03 100.88.0.3/16] external_ids={node=ovn-worker2} options={requested-chassis=C2 requested-tnl-key=3} type=remote up=true < Logical_Switch/transit_switch.ports',
    ]);
  });
  test('a node without a subnet of the network has no part in it', () => {
    expect(featureTexts([remoteNode], withNetwork({ ...blue, nodeSubnets: new Map() }))).toEqual([
      'Logical_Router_Static_Route ovn_cluster_router 10.244.1.0/24 any - external_ids={ic-node=ovn-worker2 k/network=default} ip_prefix=10.244.1.0/24 nexthop=100.88.0.3 < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 100.64.0.3/32 any - external_ids={ic-node=ovn-worker2 k/network=default} ip_prefix=100.64.0.3/32 nexthop=100.88.0.3 < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Switch_Port tstor-ovn-worker2 addresses=[0a:58:64:58:00:03 100.88.0.3/16] external_ids={node=ovn-worker2} options={requested-chassis=C2 requested-tnl-key=3} type=remote up=true < Logical_Switch/transit_switch.ports',
    ]);
  });
});
