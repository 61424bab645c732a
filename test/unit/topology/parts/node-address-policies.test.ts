import { describe, expect, test } from 'vitest';
import { nodeAddressPolicies } from '../../../../src/topology/parts/node-address-policies.ts';
import { withNetwork } from '../../../support/zone/zone-variants.ts';
import { exampleZone, worker, inLocalMode, yellow } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('how pods reach addresses of their own node (reference/topology.md §7.5)', () => {
  test('by the management port: the address of the node, and that by which the host knows the network', () => {
    expect(partTexts(nodeAddressPolicies, exampleZone, 'blue_blue')).toEqual([
      'Logical_Router_Policy blue_blue_ovn_cluster_router 1004 inport == "rtos-blue_blue_ovn-worker" && ip4.dst == 169.254.0.11 /* blue_blue_ovn-worker */ action=reroute external_ids={X2} match=inport == "rtos-blue_blue_ovn-worker" && ip4.dst == 169.254.0.11 /* blue_blue_ovn-worker */ nexthops=[103.103.0.2] priority=1004 < Logical_Router/blue_blue_ovn_cluster_router.policies',
      'Logical_Router_Policy blue_blue_ovn_cluster_router 1004 inport == "rtos-blue_blue_ovn-worker" && ip4.dst == 172.18.0.3 /* blue_blue_ovn-worker */ action=reroute external_ids={X2} match=inport == "rtos-blue_blue_ovn-worker" && ip4.dst == 172.18.0.3 /* blue_blue_ovn-worker */ nexthops=[103.103.0.2] priority=1004 < Logical_Router/blue_blue_ovn_cluster_router.policies',
    ]);
  });
  test("the default network's reach all addresses of the host but masquerade ones", () => {
    expect(
      partTexts(
        nodeAddressPolicies,
        {
          ...exampleZone,
          node: { ...worker, hostAddresses: ['172.18.0.3/16', '10.9.9.9/24', '169.254.0.2/17'] },
        },
        'default',
      ),
    ).toEqual([
      'Logical_Router_Policy ovn_cluster_router 1004 inport == "rtos-ovn-worker" && ip4.dst == 10.9.9.9 /* ovn-worker */ action=reroute match=inport == "rtos-ovn-worker" && ip4.dst == 10.9.9.9 /* ovn-worker */ nexthops=[10.244.0.2] priority=1004 < Logical_Router/ovn_cluster_router.policies',
      'Logical_Router_Policy ovn_cluster_router 1004 inport == "rtos-ovn-worker" && ip4.dst == 172.18.0.3 /* ovn-worker */ action=reroute match=inport == "rtos-ovn-worker" && ip4.dst == 172.18.0.3 /* ovn-worker */ nexthops=[10.244.0.2] priority=1004 < Logical_Router/ovn_cluster_router.policies',
    ]);
  });
  test('those of the default network in local mode, the address of the node alone', () => {
    expect(
      partTexts(
        nodeAddressPolicies,
        inLocalMode({
          ...exampleZone,
          node: { ...worker, hostAddresses: ['172.18.0.3/16', '10.9.9.9/24'] },
        }),
        'default',
      ),
    ).toEqual([
      'Logical_Router_Policy ovn_cluster_router 1004 inport == "rtos-ovn-worker" && ip4.dst == 172.18.0.3 /* ovn-worker */ action=reroute match=inport == "rtos-ovn-worker" && ip4.dst == 172.18.0.3 /* ovn-worker */ nexthops=[10.244.0.2] priority=1004 < Logical_Router/ovn_cluster_router.policies',
    ]);
  });
  test('Layer2: the address of the node alone', () => {
    expect(partTexts(nodeAddressPolicies, withNetwork(yellow), 'cluster_udn_yellow-net')).toEqual([
      'Logical_Router_Policy cluster_udn_yellow.net_transit_router 1004 inport == "trtos-cluster_udn_yellow.net_ovn_layer2_switch" && ip4.dst == 172.18.0.3 /* cluster_udn_yellow.net_ovn_layer2_switch */ action=reroute external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} match=inport == "trtos-cluster_udn_yellow.net_ovn_layer2_switch" && ip4.dst == 172.18.0.3 /* cluster_udn_yellow.net_ovn_layer2_switch */ nexthops=[105.105.0.2] priority=1004 < Logical_Router/cluster_udn_yellow.net_transit_router.policies',
    ]);
  });
});
