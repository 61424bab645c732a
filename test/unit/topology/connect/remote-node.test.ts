import { describe, expect, test } from 'vitest';
import { connectedRemoteNodes } from '../../../../src/topology/connect/remote-node.ts';
import {
  connectedZone,
  blue,
  colored,
  defaultNetwork,
  green,
} from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('pods of a connected network on another node (reference/topology.md §19.1)', () => {
  test("are reached by a port of the connect router that is bound to that node's chassis", () => {
    expect(featureTexts([connectedRemoteNodes], connectedZone)).toEqual([
      'Logical_Router_Port crtor-colored-net_blue_blue_ovn-worker2 external_ids={k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:1:3:connect_router_colored-net k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect network-id=1 node-id=3 router-name=connect_router_colored-net} mac=0a:58:c0:a8:00:06 networks=[192.168.0.6/31] options={requested-chassis=C2 requested-tnl-key=4} < Logical_Router/connect_router_colored-net.ports',
      'Logical_Router_Port crtor-colored-net_cluster_udn_green-net_ovn-worker2 external_ids={k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:3:3:connect_router_colored-net k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect network-id=3 node-id=3 router-name=connect_router_colored-net} mac=0a:58:c0:a8:01:06 networks=[192.168.1.6/31] options={requested-chassis=C2 requested-tnl-key=260} < Logical_Router/connect_router_colored-net.ports',
      'Logical_Router_Static_Route ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:1:3:v4 external_ids={ip-family=v4 k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:1:3:v4 k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect network-id=1 node-id=3} ip_prefix=103.103.1.0/24 nexthop=192.168.0.7 < Logical_Router/connect_router_colored-net.static_routes',
      'Logical_Router_Static_Route ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:3:3:v4 external_ids={ip-family=v4 k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:3:3:v4 k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect network-id=3 node-id=3} ip_prefix=104.104.1.0/24 nexthop=192.168.1.7 < Logical_Router/connect_router_colored-net.static_routes',
    ]);
  });
  test('without a subnet there is no way there', () => {
    expect(
      featureTexts([connectedRemoteNodes], {
        ...connectedZone,
        networks: [
          defaultNetwork,
          blue,
          { ...green, nodeSubnets: new Map([['ovn-worker', ['104.104.0.0/24']]]) },
        ],
        connects: [{ ...colored, members: colored.members.slice(1) }],
      }),
    ).toEqual([]);
  });
});
