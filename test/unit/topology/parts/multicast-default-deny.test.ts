import { describe, expect, test } from 'vitest';
import { multicastDeny } from '../../../../src/topology/parts/multicast-default-deny.ts';
import { withMulticast } from '../../../support/zone/zone-variants.ts';
import { exampleZone } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('multicast (reference/topology.md §16.4)', () => {
  test('is dropped both ways at pods, let through between nodes, and sent nowhere else by what sends pods elsewhere', () => {
    expect(partTexts(multicastDeny, withMulticast(exampleZone), 'blue_blue')).toEqual([
      'ACL blue_blue-network-controller:MulticastCluster:AllowInterNode:Egress action=allow direction=from-lport external_ids={direction=Egress k/id=blue_blue-network-controller:MulticastCluster:AllowInterNode:Egress k/owner-controller=blue_blue-network-controller k/owner-type=MulticastCluster type=AllowInterNode} match=inport == @ab3f2ae2b376dec45615f7d08eef30f70 && (ip4.mcast || mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)) options={apply-after-lb=true} priority=1012 tier=2 < Port_Group/ab3f2ae2b376dec45615f7d08eef30f70.acls',
      'ACL blue_blue-network-controller:MulticastCluster:AllowInterNode:Ingress action=allow direction=to-lport external_ids={direction=Ingress k/id=blue_blue-network-controller:MulticastCluster:AllowInterNode:Ingress k/owner-controller=blue_blue-network-controller k/owner-type=MulticastCluster type=AllowInterNode} match=outport == @ab3f2ae2b376dec45615f7d08eef30f70 && (ip4.mcast || mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)) priority=1012 tier=2 < Port_Group/ab3f2ae2b376dec45615f7d08eef30f70.acls',
      'ACL blue_blue-network-controller:MulticastCluster:DefaultDeny:Egress action=drop direction=from-lport external_ids={direction=Egress k/id=blue_blue-network-controller:MulticastCluster:DefaultDeny:Egress k/owner-controller=blue_blue-network-controller k/owner-type=MulticastCluster type=DefaultDeny} match=(ip4.mcast || mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)) options={apply-after-lb=true} priority=1011 tier=2 < Port_Group/a9b3a8be230d6c957406156cd5423f24e.acls',
      'ACL blue_blue-network-controller:MulticastCluster:DefaultDeny:Ingress action=drop direction=to-lport external_ids={direction=Ingress k/id=blue_blue-network-controller:MulticastCluster:DefaultDeny:Ingress k/owner-controller=blue_blue-network-controller k/owner-type=MulticastCluster type=DefaultDeny} match=(ip4.mcast || mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)) priority=1011 tier=2 < Port_Group/a9b3a8be230d6c957406156cd5423f24e.acls',
      'Logical_Router_Policy blue_blue-network-controller:MulticastCluster:KeepWay ip4.mcast || ip6.mcast action=allow external_ids={k/id=blue_blue-network-controller:MulticastCluster:KeepWay k/owner-controller=blue_blue-network-controller k/owner-type=MulticastCluster type=KeepWay} match=ip4.mcast || ip6.mcast priority=1005 < Logical_Router/blue_blue_ovn_cluster_router.policies',
    ]);
  });
  test('where it is not enabled nothing is written about it', () => {
    expect(partTexts(multicastDeny, exampleZone, 'blue_blue')).toEqual([]);
  });
});
