import { describe, expect, test } from 'vitest';
import { connectRouters } from '../../../../src/topology/connect/router.ts';
import { SERVICES_ONLY_RULES } from '../../../../src/topology/connect/services-only.ts';
import { colored, connectedZone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('networks of which only services are connected (reference/topology.md §19.2)', () => {
  test('pods of one do not begin anything with pods of the other, and reach its services', () => {
    expect(
      featureTexts(
        [connectRouters],
        { ...connectedZone, connects: [{ ...colored, hasPods: false, hasServices: true }] },
        SERVICES_ONLY_RULES,
      ),
    ).toEqual([
      'ACL ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:drop-pod-1 action=drop direction=from-lport external_ids={k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:drop-pod-1 k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect type=drop-pod-1} match=ip4.dst == {104.104.0.0/16, 105.0.0.0/16} && ct.new priority=450 tier=0 < Logical_Switch/blue_blue_ovn-worker.acls',
      'ACL ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:drop-pod-3 action=drop direction=from-lport external_ids={k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:drop-pod-3 k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect type=drop-pod-3} match=ip4.dst == {103.103.0.0/16} && ct.new priority=450 tier=0 < Logical_Switch/cluster_udn_green.net_ovn-worker.acls',
      'ACL ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:pass-service action=pass direction=from-lport external_ids={k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:pass-service k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect type=pass-service} match=(ip4.dst == 10.96.0.0/16) priority=500 tier=0 < Logical_Switch/blue_blue_ovn-worker.acls < Logical_Switch/cluster_udn_green.net_ovn-worker.acls',
    ]);
  });
  test('where pods are connected nothing is dropped', () => {
    expect(
      featureTexts(
        [connectRouters],
        { ...connectedZone, connects: [{ ...colored, hasServices: true }] },
        SERVICES_ONLY_RULES,
      ),
    ).toEqual([]);
  });
});
