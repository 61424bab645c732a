import { describe, expect, test } from 'vitest';
import { gatewayRoutes } from '../../../../src/topology/parts/gateway-routes.ts';
import { withNetwork } from '../../../support/zone/zone-variants.ts';
import { exampleZone, inLocalMode, yellow } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('routes of a gateway router and to it (reference/topology.md §7.4)', () => {
  test('shared mode: to the pods by the distributed router, to the masquerade subnet and outside by the external port, and out of the node by the source', () => {
    expect(partTexts(gatewayRoutes, exampleZone, 'blue_blue')).toEqual([
      'Logical_Router_Static_Route GR_blue_blue_ovn-worker 0.0.0.0/0 any rtoe-GR_blue_blue_ovn-worker 172.18.0.1 external_ids={X2} ip_prefix=0.0.0.0/0 nexthop=172.18.0.1 output_port=rtoe-GR_blue_blue_ovn-worker < Logical_Router/GR_blue_blue_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_blue_blue_ovn-worker 103.103.0.0/16 any - external_ids={X2} ip_prefix=103.103.0.0/16 nexthop=100.65.0.1 < Logical_Router/GR_blue_blue_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_blue_blue_ovn-worker 169.254.0.0/17 any rtoe-GR_blue_blue_ovn-worker external_ids={X2} ip_prefix=169.254.0.0/17 nexthop=169.254.0.4 output_port=rtoe-GR_blue_blue_ovn-worker < Logical_Router/GR_blue_blue_ovn-worker.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 100.65.0.2 any - external_ids={X2} ip_prefix=100.65.0.2 nexthop=100.65.0.2 < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.0.0/24 src-ip - external_ids={X2} ip_prefix=103.103.0.0/24 nexthop=100.65.0.2 policy=src-ip < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
    ]);
  });
  test('local mode: pods do not leave through the gateway router', () => {
    expect(partTexts(gatewayRoutes, inLocalMode(exampleZone), 'blue_blue')).toEqual([
      'Logical_Router_Static_Route GR_blue_blue_ovn-worker 0.0.0.0/0 any rtoe-GR_blue_blue_ovn-worker 172.18.0.1 external_ids={X2} ip_prefix=0.0.0.0/0 nexthop=172.18.0.1 output_port=rtoe-GR_blue_blue_ovn-worker < Logical_Router/GR_blue_blue_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_blue_blue_ovn-worker 103.103.0.0/16 any - external_ids={X2} ip_prefix=103.103.0.0/16 nexthop=100.65.0.1 < Logical_Router/GR_blue_blue_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_blue_blue_ovn-worker 169.254.0.0/17 any rtoe-GR_blue_blue_ovn-worker external_ids={X2} ip_prefix=169.254.0.0/17 nexthop=169.254.0.4 output_port=rtoe-GR_blue_blue_ovn-worker < Logical_Router/GR_blue_blue_ovn-worker.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 100.65.0.2 any - external_ids={X2} ip_prefix=100.65.0.2 nexthop=100.65.0.2 < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
    ]);
  });
  test('Layer2: the way to the pods names the port, whose networks are several', () => {
    expect(partTexts(gatewayRoutes, withNetwork(yellow), 'cluster_udn_yellow-net')).toEqual([
      'Logical_Router_Static_Route GR_cluster_udn_yellow.net_ovn-worker 0.0.0.0/0 any rtoe-GR_cluster_udn_yellow.net_ovn-worker 172.18.0.1 external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} ip_prefix=0.0.0.0/0 nexthop=172.18.0.1 output_port=rtoe-GR_cluster_udn_yellow.net_ovn-worker < Logical_Router/GR_cluster_udn_yellow.net_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_cluster_udn_yellow.net_ovn-worker 105.105.0.0/16 any rtotr-GR_cluster_udn_yellow.net_ovn-worker external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} ip_prefix=105.105.0.0/16 nexthop=100.88.0.4 output_port=rtotr-GR_cluster_udn_yellow.net_ovn-worker < Logical_Router/GR_cluster_udn_yellow.net_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_cluster_udn_yellow.net_ovn-worker 169.254.0.0/17 any rtoe-GR_cluster_udn_yellow.net_ovn-worker external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} ip_prefix=169.254.0.0/17 nexthop=169.254.0.4 output_port=rtoe-GR_cluster_udn_yellow.net_ovn-worker < Logical_Router/GR_cluster_udn_yellow.net_ovn-worker.static_routes',
      'Logical_Router_Static_Route cluster_udn_yellow.net_transit_router 100.65.0.2 any - external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} ip_prefix=100.65.0.2 nexthop=100.88.0.5 < Logical_Router/cluster_udn_yellow.net_transit_router.static_routes',
      'Logical_Router_Static_Route cluster_udn_yellow.net_transit_router 105.105.0.0/16 src-ip - external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} ip_prefix=105.105.0.0/16 nexthop=100.88.0.5 policy=src-ip < Logical_Router/cluster_udn_yellow.net_transit_router.static_routes',
    ]);
  });
  test('the default network marks its route to the masquerade subnet by an id of its own', () => {
    expect(partTexts(gatewayRoutes, exampleZone, 'default')).toEqual([
      'Logical_Router_Static_Route GR_ovn-worker 0.0.0.0/0 any rtoe-GR_ovn-worker 172.18.0.1 ip_prefix=0.0.0.0/0 nexthop=172.18.0.1 output_port=rtoe-GR_ovn-worker < Logical_Router/GR_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_ovn-worker 10.244.0.0/16 any - ip_prefix=10.244.0.0/16 nexthop=100.64.0.1 < Logical_Router/GR_ovn-worker.static_routes',
      'Logical_Router_Static_Route GR_ovn-worker 169.254.0.0/17 any rtoe-GR_ovn-worker external_ids={k/node-masquerade-subnet=} ip_prefix=169.254.0.0/17 nexthop=169.254.0.4 output_port=rtoe-GR_ovn-worker < Logical_Router/GR_ovn-worker.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 10.244.0.0/24 src-ip - ip_prefix=10.244.0.0/24 nexthop=100.64.0.2 policy=src-ip < Logical_Router/ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route ovn_cluster_router 100.64.0.2 any - ip_prefix=100.64.0.2 nexthop=100.64.0.2 < Logical_Router/ovn_cluster_router.static_routes',
    ]);
  });
});
