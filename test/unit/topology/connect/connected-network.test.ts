import { describe, expect, test } from 'vitest';
import {
  connectedNetworks,
  connectedWays,
} from '../../../../src/topology/connect/connected-network.ts';
import { connectedZone, blue, defaultNetwork, green } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('a network of a connection on this node (reference/topology.md §19.1)', () => {
  test('has a link to the connect router, which reaches its pods here; what is for the other network goes that way', () => {
    expect(featureTexts([connectedNetworks, connectedWays], connectedZone)).toEqual([
      'Logical_Router_Policy ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:1:3:v4:blue_blue_ovn_cluster_router inport == "rtos-blue_blue_ovn-worker" && (ip4.dst == 104.104.0.0/16 || ip4.dst == 105.0.0.0/16) action=reroute external_ids={destination-network-id=3 ip-family=v4 k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:1:3:v4:blue_blue_ovn_cluster_router k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect router-name=blue_blue_ovn_cluster_router source-network-id=1} match=inport == "rtos-blue_blue_ovn-worker" && (ip4.dst == 104.104.0.0/16 || ip4.dst == 105.0.0.0/16) nexthops=[192.168.0.4] priority=9001 < Logical_Router/blue_blue_ovn_cluster_router.policies',
      'Logical_Router_Policy ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:3:1:v4:cluster_udn_green.net_ovn_cluster_router inport == "rtos-cluster_udn_green.net_ovn-worker" && ip4.dst == 103.103.0.0/16 action=reroute external_ids={destination-network-id=1 ip-family=v4 k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:3:1:v4:cluster_udn_green.net_ovn_cluster_router k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect router-name=cluster_udn_green.net_ovn_cluster_router source-network-id=3} match=inport == "rtos-cluster_udn_green.net_ovn-worker" && ip4.dst == 103.103.0.0/16 nexthops=[192.168.1.4] priority=9001 < Logical_Router/cluster_udn_green.net_ovn_cluster_router.policies',
      'Logical_Router_Port crtor-colored-net_blue_blue_ovn-worker external_ids={k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:1:2:connect_router_colored-net k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect network-id=1 node-id=2 router-name=connect_router_colored-net} mac=0a:58:c0:a8:00:04 networks=[192.168.0.4/31] options={requested-tnl-key=3} peer=rtocr-blue_blue_ovn-worker_colored-net < Logical_Router/connect_router_colored-net.ports',
      'Logical_Router_Port crtor-colored-net_cluster_udn_green-net_ovn-worker external_ids={k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:3:2:connect_router_colored-net k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect network-id=3 node-id=2 router-name=connect_router_colored-net} mac=0a:58:c0:a8:01:04 networks=[192.168.1.4/31] options={requested-tnl-key=259} peer=rtocr-cluster_udn_green-net_ovn-worker_colored-net < Logical_Router/connect_router_colored-net.ports',
      'Logical_Router_Port rtocr-blue_blue_ovn-worker_colored-net external_ids={k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:1:2:blue_blue_ovn_cluster_router k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect network-id=1 node-id=2 router-name=blue_blue_ovn_cluster_router} mac=0a:58:c0:a8:00:05 networks=[192.168.0.5/31] peer=crtor-colored-net_blue_blue_ovn-worker < Logical_Router/blue_blue_ovn_cluster_router.ports',
      'Logical_Router_Port rtocr-cluster_udn_green-net_ovn-worker_colored-net external_ids={k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:3:2:cluster_udn_green.net_ovn_cluster_router k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect network-id=3 node-id=2 router-name=cluster_udn_green.net_ovn_cluster_router} mac=0a:58:c0:a8:01:05 networks=[192.168.1.5/31] peer=crtor-colored-net_cluster_udn_green-net_ovn-worker < Logical_Router/cluster_udn_green.net_ovn_cluster_router.ports',
      'Logical_Router_Static_Route ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:1:2:v4 external_ids={ip-family=v4 k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:1:2:v4 k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect network-id=1 node-id=2} ip_prefix=103.103.0.0/24 nexthop=192.168.0.5 < Logical_Router/connect_router_colored-net.static_routes',
      'Logical_Router_Static_Route ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:3:2:v4 external_ids={ip-family=v4 k/id=ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:3:2:v4 k/name=colored-net k/owner-controller=ovnkube-network-connect-controller k/owner-type=ClusterNetworkConnect network-id=3 node-id=2} ip_prefix=104.104.0.0/24 nexthop=192.168.1.5 < Logical_Router/connect_router_colored-net.static_routes',
    ]);
  });
  test('has none before its subnet on this node', () => {
    expect(
      featureTexts([connectedNetworks, connectedWays], {
        ...connectedZone,
        networks: [
          defaultNetwork,
          { ...blue, nodeSubnets: new Map() },
          { ...green, nodeSubnets: new Map() },
        ],
      }),
    ).toEqual([]);
  });
});
