import { describe, expect, test } from 'vitest';
import { connectRouters } from '../../../../src/topology/connect/router.ts';
import { connectedZone, colored, exampleZone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('the router of a connection (reference/topology.md §19.1)', () => {
  test("joins the networks, with the connection's tunnel key in every zone", () => {
    expect(featureTexts([connectRouters], connectedZone)).toEqual([
      'Logical_Router connect_router_colored-net copp=Copp/ovnkube-default external_ids={k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect} options={requested-tnl-key=16715782}',
    ]);
  });
  test('with services: the cluster IPs of each are on the switches of all', () => {
    expect(
      featureTexts([connectRouters], {
        ...connectedZone,
        connects: [{ ...colored, hasServices: true }],
      }),
    ).toEqual([
      'Load_Balancer_Group cnc_svc_colored-net < Logical_Switch/blue_blue_ovn-worker.load_balancer_group < Logical_Switch/cluster_udn_green.net_ovn-worker.load_balancer_group',
      'Logical_Router connect_router_colored-net copp=Copp/ovnkube-default external_ids={k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect} options={requested-tnl-key=16715782}',
    ]);
  });
  test('is not there before a network of the connection is', () => {
    expect(
      featureTexts([connectRouters], {
        ...connectedZone,
        networks: exampleZone.networks.slice(0, 1),
      }),
    ).toEqual([]);
  });
});
