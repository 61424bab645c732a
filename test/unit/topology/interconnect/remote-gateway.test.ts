import { describe, expect, test } from 'vitest';
import { remoteGateway } from '../../../../src/topology/interconnect/remote-gateway.ts';
import { withNetwork } from '../../../support/zone/zone-variants.ts';
import { yellow, dualYellow, dualZone, layer2Secondary } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe("another node's gateway router in a Layer2 network (reference/topology.md §9.4)", () => {
  test("is reached by a port of the transit router that is bound to that node's chassis", () => {
    expect(featureTexts([remoteGateway], withNetwork(yellow))).toEqual([
      'Logical_Router_Port trtor-GR_cluster_udn_yellow.net_ovn-worker2 external_ids={k/network=cluster_udn_yellow-net k/node=ovn-worker2 k/topology=layer2} mac=0a:58:64:58:00:06 networks=[100.88.0.6/31] options={requested-chassis=C2 requested-tnl-key=13} < Logical_Router/cluster_udn_yellow.net_transit_router.ports',
      'Logical_Router_Static_Route cluster_udn_yellow.net_transit_router 100.65.0.3 any - external_ids={k/network=cluster_udn_yellow-net k/node=ovn-worker2 k/topology=layer2} ip_prefix=100.65.0.3 nexthop=100.88.0.7 < Logical_Router/cluster_udn_yellow.net_transit_router.static_routes',
    ]);
  });
  test('by addresses of both families', () => {
    expect(featureTexts([remoteGateway], withNetwork(dualYellow, dualZone))).toEqual([
      'Logical_Router_Port trtor-GR_cluster_udn_yellow.net_ovn-worker2 external_ids={k/network=cluster_udn_yellow-net k/node=ovn-worker2 k/topology=layer2} mac=0a:58:64:58:00:06 networks=[100.88.0.6/31, fd97::6/127] options={requested-chassis=C2 requested-tnl-key=13} < Logical_Router/cluster_udn_yellow.net_transit_router.ports',
      'Logical_Router_Static_Route cluster_udn_yellow.net_transit_router 100.65.0.3 any - external_ids={k/network=cluster_udn_yellow-net k/node=ovn-worker2 k/topology=layer2} ip_prefix=100.65.0.3 nexthop=100.88.0.7 < Logical_Router/cluster_udn_yellow.net_transit_router.static_routes',
      'Logical_Router_Static_Route cluster_udn_yellow.net_transit_router fd99::3 any - external_ids={k/network=cluster_udn_yellow-net k/node=ovn-worker2 k/topology=layer2} ip_prefix=fd99::3 nexthop=fd97::7 < Logical_Router/cluster_udn_yellow.net_transit_router.static_routes',
    ]);
  });
  test('a secondary network has none', () => {
    expect(featureTexts([remoteGateway], withNetwork(layer2Secondary))).toEqual([]);
  });
});
