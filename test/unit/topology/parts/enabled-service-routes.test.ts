import { describe, expect, test } from 'vitest';
import { enabledServiceRoutes } from '../../../../src/topology/parts/enabled-service-routes.ts';
import { exampleZone, dualZone, inLocalMode } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('services that every primary network may use (reference/topology.md §7.4)', () => {
  test('are reached through the host', () => {
    expect(partTexts(enabledServiceRoutes, exampleZone, 'blue_blue')).toEqual([
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 10.96.0.1 dst-ip - external_ids={X2 k/udn-enabled-default-service=default/kubernetes} ip_prefix=10.96.0.1 nexthop=103.103.0.2 policy=dst-ip < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 10.96.0.10 dst-ip - external_ids={X2 k/udn-enabled-default-service=kube-system/kube-dns} ip_prefix=10.96.0.10 nexthop=103.103.0.2 policy=dst-ip < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
    ]);
  });
  test('by addresses of the families that the network has', () => {
    expect(
      partTexts(enabledServiceRoutes, { ...dualZone, networks: exampleZone.networks }, 'blue_blue'),
    ).toEqual([
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 10.96.0.1 dst-ip - external_ids={X2 k/udn-enabled-default-service=default/kubernetes} ip_prefix=10.96.0.1 nexthop=103.103.0.2 policy=dst-ip < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 10.96.0.10 dst-ip - external_ids={X2 k/udn-enabled-default-service=kube-system/kube-dns} ip_prefix=10.96.0.10 nexthop=103.103.0.2 policy=dst-ip < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
    ]);
  });
  test('local mode: everything goes there anyway', () => {
    expect(partTexts(enabledServiceRoutes, inLocalMode(exampleZone), 'blue_blue')).toEqual([]);
  });
  test('the default network has them itself', () => {
    expect(partTexts(enabledServiceRoutes, exampleZone, 'default')).toEqual([]);
  });
});
