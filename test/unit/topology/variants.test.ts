import { describe, expect, test } from 'vitest';
import {
  blue,
  defaultNetwork,
  dualZone,
  exampleZone,
  furtherNode,
  inLocalMode,
  ipv4Settings,
  networkName,
  worker,
  worker2,
  type Zone,
  type ZoneNetwork,
} from '../../support/zone/zones.ts';
import { added, heads, NETWORKS, ofNetwork, rowsOf, textsOf } from './unit-texts.ts';

const secondary: ZoneNetwork = {
  ...blue,
  name: networkName('blue_sec'),
  id: 2,
  role: 'secondary',
  joinSubnets: {},
  masquerade: {},
  nads: ['blue/sec'],
  namespaces: [],
};

const withNetworks = (...networks: ZoneNetwork[]): Zone => ({
  ...exampleZone,
  networks: [defaultNetwork, ...networks],
});

const withFeatures = (features: Partial<Zone['settings']['features']>): Zone => ({
  ...exampleZone,
  settings: {
    ...ipv4Settings,
    features: {
      egressIp: false,
      egressFirewall: false,
      egressService: false,
      externalRoutes: false,
      multicast: false,
      ...features,
    },
  },
});

describe('a Layer3 secondary network (reference/topology.md §8)', () => {
  test('has a router, a switch, a way to other nodes, and no gateway', () => {
    expect(textsOf(withNetworks(secondary), ofNetwork('blue_sec'))).toEqual([
      'ACL blue_sec-network-controller:PodServers:blue_sec_ovn-worker:drop action=drop direction=from-lport external_ids={k/id=blue_sec-network-controller:PodServers:blue_sec_ovn-worker:drop k/name=blue_sec_ovn-worker k/owner-controller=blue_sec-network-controller k/owner-type=PodServers type=drop} match=udp.dst == {68, 546} options={apply-after-lb=true} priority=1050 tier=0 < Logical_Switch/blue_sec_ovn-worker.acls',
      'ACL blue_sec-network-controller:PodServers:blue_sec_ovn-worker:pass action=pass direction=from-lport external_ids={k/id=blue_sec-network-controller:PodServers:blue_sec_ovn-worker:pass k/name=blue_sec_ovn-worker k/owner-controller=blue_sec-network-controller k/owner-type=PodServers type=pass} match=inport == "stor-blue_sec_ovn-worker" && udp.dst == {68, 546} options={apply-after-lb=true} priority=1051 tier=0 < Logical_Switch/blue_sec_ovn-worker.acls',
      'Load_Balancer_Group blue_sec_clusterLBGroup < Logical_Switch/blue_sec_ovn-worker.load_balancer_group',
      'Load_Balancer_Group blue_sec_clusterRouterLBGroup',
      'Load_Balancer_Group blue_sec_clusterSwitchLBGroup < Logical_Switch/blue_sec_ovn-worker.load_balancer_group',
      'Logical_Router blue_sec_ovn_cluster_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes k/network=blue_sec k/topology=layer3} options={always_learn_from_arp_request=false}',
      'Logical_Router_Port blue_sec_rtots-ovn-worker mac=0a:58:64:58:00:02 networks=[100.88.0.2/16] options={mcast_flood=true} < Logical_Router/blue_sec_ovn_cluster_router.ports',
      'Logical_Router_Port rtos-blue_sec_ovn-worker mac=0a:58:67:67:00:01 networks=[103.103.0.1/24] options={gateway_mtu=1400} < Logical_Router/blue_sec_ovn_cluster_router.ports',
      'Logical_Router_Static_Route blue_sec_ovn_cluster_router 103.103.1.0/24 any - external_ids={ic-node=ovn-worker2 k/network=blue_sec} ip_prefix=103.103.1.0/24 nexthop=100.88.0.3 < Logical_Router/blue_sec_ovn_cluster_router.static_routes',
      'Logical_Switch blue_sec_ovn-worker copp=Copp/heddle-pod-switches external_ids={k/network=blue_sec k/role=secondary k/topology=layer3} other_config={exclude_ips=103.103.0.2 subnet=103.103.0.0/24}',
      'Logical_Switch blue_sec_transit_switch external_ids={k/network=blue_sec k/role=secondary k/topology=layer3} other_config={interconn-ts=blue_sec_transit_switch mcast_flood_unregistered=true mcast_querier=false mcast_snoop=true requested-tnl-key=16711685}',
      'Logical_Switch_Port blue_sec_tstor-ovn-worker addresses=[router] external_ids={node=ovn-worker} options={requested-tnl-key=2 router-port=blue_sec_rtots-ovn-worker} type=router up=true < Logical_Switch/blue_sec_transit_switch.ports',
      'Logical_Switch_Port blue_sec_tstor-ovn-worker2 addresses=[0a:58:64:58:00:03 100.88.0.3/16] external_ids={node=ovn-worker2} options={requested-chassis=C2 requested-tnl-key=3} type=remote up=true < Logical_Switch/blue_sec_transit_switch.ports',
      'Logical_Switch_Port stor-blue_sec_ovn-worker addresses=[router] options={router-port=rtos-blue_sec_ovn-worker} type=router up=true < Logical_Switch/blue_sec_ovn-worker.ports',
    ]);
  });

  test('has the router option of local gateway mode', () => {
    const router = rowsOf(inLocalMode(withNetworks(secondary)), /^layer3\/network blue_sec$/).find(
      (row) => row.table === 'Logical_Router',
    );
    expect(router?.columns['options']).toEqual({
      always_learn_from_arp_request: 'false',
      'ct-commit-all': 'true',
    });
  });

  test('does not change with multicast', () => {
    const networks = [defaultNetwork, secondary];
    expect(
      textsOf({ ...withFeatures({ multicast: true }), networks }, ofNetwork('blue_sec')),
    ).toEqual(textsOf({ ...withFeatures({}), networks }, ofNetwork('blue_sec')));
  });
});

describe('features', () => {
  test('multicast: a querier on the switch, relaying routers, denied unless a namespace asks for it', () => {
    expect(
      added(
        textsOf(withFeatures({}), ofNetwork('blue_blue')),
        textsOf(withFeatures({ multicast: true }), ofNetwork('blue_blue')),
      ),
    ).toEqual([
      'ACL blue_blue-network-controller:MulticastCluster:AllowInterNode:Egress action=allow direction=from-lport external_ids={direction=Egress k/id=blue_blue-network-controller:MulticastCluster:AllowInterNode:Egress k/owner-controller=blue_blue-network-controller k/owner-type=MulticastCluster type=AllowInterNode} match=inport == @ab3f2ae2b376dec45615f7d08eef30f70 && (ip4.mcast || mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)) options={apply-after-lb=true} priority=1012 tier=2 < Port_Group/ab3f2ae2b376dec45615f7d08eef30f70.acls',
      'ACL blue_blue-network-controller:MulticastCluster:AllowInterNode:Ingress action=allow direction=to-lport external_ids={direction=Ingress k/id=blue_blue-network-controller:MulticastCluster:AllowInterNode:Ingress k/owner-controller=blue_blue-network-controller k/owner-type=MulticastCluster type=AllowInterNode} match=outport == @ab3f2ae2b376dec45615f7d08eef30f70 && (ip4.mcast || mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)) priority=1012 tier=2 < Port_Group/ab3f2ae2b376dec45615f7d08eef30f70.acls',
      'ACL blue_blue-network-controller:MulticastCluster:DefaultDeny:Egress action=drop direction=from-lport external_ids={direction=Egress k/id=blue_blue-network-controller:MulticastCluster:DefaultDeny:Egress k/owner-controller=blue_blue-network-controller k/owner-type=MulticastCluster type=DefaultDeny} match=(ip4.mcast || mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)) options={apply-after-lb=true} priority=1011 tier=2 < Port_Group/a9b3a8be230d6c957406156cd5423f24e.acls',
      'ACL blue_blue-network-controller:MulticastCluster:DefaultDeny:Ingress action=drop direction=to-lport external_ids={direction=Ingress k/id=blue_blue-network-controller:MulticastCluster:DefaultDeny:Ingress k/owner-controller=blue_blue-network-controller k/owner-type=MulticastCluster type=DefaultDeny} match=(ip4.mcast || mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)) priority=1011 tier=2 < Port_Group/a9b3a8be230d6c957406156cd5423f24e.acls',
      'Logical_Router blue_blue_ovn_cluster_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes X2} options={always_learn_from_arp_request=false mcast_relay=true}',
      'Logical_Router_Policy blue_blue-network-controller:MulticastCluster:KeepWay ip4.mcast || ip6.mcast action=allow external_ids={k/id=blue_blue-network-controller:MulticastCluster:KeepWay k/owner-controller=blue_blue-network-controller k/owner-type=MulticastCluster type=KeepWay} match=ip4.mcast || ip6.mcast priority=1005 < Logical_Router/blue_blue_ovn_cluster_router.policies',
      'Logical_Switch blue_blue_ovn-worker copp=Copp/heddle-pod-switches external_ids={X3} other_config={mcast_eth_src=0a:58:67:67:00:01 mcast_ip4_src=103.103.0.1 mcast_querier=true mcast_snoop=true subnet=103.103.0.0/24}',
      'Logical_Switch_Port stor-blue_blue_ovn-worker addresses=[router] options={router-port=rtos-blue_blue_ovn-worker} type=router up=true < Logical_Switch/blue_blue_ovn-worker.ports < Port_Group/ab3f2ae2b376dec45615f7d08eef30f70.ports',
      'Port_Group a738b3352beeb1cf3c2db1b084d93357e external_ids={k/id=blue_blue-network-controller:Namespace:blue k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=Namespace}',
    ]);
  });

  test('multicast over IPv6 is asked for from the link-local address of the gateway', () => {
    const { settings } = dualZone;
    const zone = {
      ...dualZone,
      settings: { ...settings, features: { ...settings.features, multicast: true } },
    };
    const nodeSwitch = rowsOf(zone, /^layer3\/network blue_blue$/).find(
      (row) => row.key === 'blue_blue_ovn-worker' && row.table === 'Logical_Switch',
    );
    expect(nodeSwitch?.columns['other_config']).toMatchObject({
      mcast_ip4_src: '103.103.0.1',
      mcast_ip6_src: 'fe80::858:67ff:fe67:1',
    });
  });

  test('without EgressIP its baseline and the address sets of nodes are absent', () => {
    const withoutEgressIp = heads(rowsOf(withFeatures({ egressFirewall: true }), /./));
    // Policies have their match in the key, behind the object id.
    const names = added(withoutEgressIp, heads(rowsOf(exampleZone, /./))).map((head) =>
      head.replace(/(EgressIP:102:\S+) .*/, '$1'),
    );
    expect(names).toEqual([
      'Address_Set a0623f27eb8435bfde40c5fc47e0e9578',
      'Address_Set a1a8d236e35d0640d374f3550082a0e56',
      'Address_Set a65c2e9e629622f3242adad0acb57c005',
      'Address_Set a731532d7e5758ff700869a4c09b850fb',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-CDN-Svc:ip4:blue_blue',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Join:ip4:blue_blue',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Join:ip4:default',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Node:ip4:blue_blue',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Node:ip4:default',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Pod:ip4:blue_blue',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Pod:ip4:default',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-reply-traffic:ip:blue_blue',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-reply-traffic:ip:default',
      'Logical_Router_Policy default-network-controller:EgressIP:97:EIP-Drop-Other-Arrival:ip4:blue_blue inport == "blue_blue_rtots-ovn-worker" && ip4.src == 103.103.0.0/16',
      'Logical_Router_Policy default-network-controller:EgressIP:97:EIP-Drop-Other-Arrival:ip4:default inport == "rtots-ovn-worker" && ip4.src == 10.244.0.0/16',
      'Logical_Router_Policy default-network-controller:EgressIP:98:EIP-Arrival-To-Join:ip4:blue_blue inport == "blue_blue_rtots-ovn-worker" && ip4.src == 103.103.0.0/16 && ip4.dst == 100.65.0.0/16',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.0.0/16 src-ip -',
      'Logical_Router_Static_Route ovn_cluster_router 10.244.0.0/16 src-ip -',
      'QoS default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip4:blue_blue',
      'QoS default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip4:default',
    ]);
  });

  test('without EgressFirewall and multicast namespaces have no groups', () => {
    expect(
      added(heads(rowsOf(withFeatures({ egressIp: true }), /./)), heads(rowsOf(exampleZone, /./))),
    ).toEqual([
      'Port_Group a17f08d58bdf9dc5f3a76d3e7224b8469',
      'Port_Group a738b3352beeb1cf3c2db1b084d93357e',
      'Port_Group a9f0b802724b1dd188dedcf40cd9ad8cb',
      'Port_Group aec3d32141b870bbe686793a421651a23',
    ]);
  });
});

describe('nodes', () => {
  test('a third node adds one transit port, two routes per network, and a chassis', () => {
    const node = furtherNode(4);
    const zone: Zone = {
      ...exampleZone,
      remoteNodes: [worker2, node],
      networks: [
        defaultNetwork,
        {
          ...blue,
          nodeSubnets: new Map([...blue.nodeSubnets, [node.name, ['103.103.2.0/24']]]),
        },
      ],
    };
    expect(
      added(
        textsOf(exampleZone, /^(layer3|interconnect|pods\/(default-)?namespace-groups)/),
        textsOf(zone, /^(layer3|interconnect|pods\/(default-)?namespace-groups)/),
      ),
    ).toEqual([
      'Chassis c4 hostname=node-4 other_config={is-remote=true}',
      'Encap geneve 172.19.0.4 chassis_name=c4 ip=172.19.0.4 options={csum=true} type=geneve < Chassis/c4.encaps',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 100.65.0.4/32 any - external_ids={ic-node=node-4 k/network=blue_blue} ip_prefix=100.65.0.4/32 nexthop=100.88.0.4 < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.2.0/24 any - external_ids={ic-node=node-4 k/network=blue_blue} ip_prefix=103.103.2.0/24 nexthop=100.88.0.4 < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
      'Logical_Switch_Port blue_blue_tstor-node-4 addresses=[0a:58:64:58:00:04 100.88.0.4/16] external_ids={node=node-4} options={requested-chassis=c4 requested-tnl-key=4} type=remote up=true < Logical_Switch/blue_blue_transit_switch.ports',
    ]);
  });

  test('without gateway: no gateway router, nothing that leads to it; routers, switches and ways to other nodes stay', () => {
    const { gateway: _gateway, ...node } = worker;
    const texts = textsOf({ ...exampleZone, node }, NETWORKS);
    expect(texts.filter((text) => /GR_|ext_|nexthop=100\.6[45]\.0\.2/.test(text))).toEqual([]);
    expect(
      added(
        heads(rowsOf({ ...exampleZone, node }, ofNetwork('blue_blue'))),
        heads(rowsOf(exampleZone, ofNetwork('blue_blue'))),
      ),
    ).toHaveLength(19);
  });

  test('without subnet of a network: its router and transit switch, for the day that it gets one', () => {
    const network = { ...blue, nodeSubnets: new Map([['ovn-worker2', ['103.103.1.0/24']]]) };
    expect(heads(rowsOf(withNetworks(network), /^layer3\/network blue_blue$/))).toEqual([
      'ACL blue_blue-network-controller:HairpinSource:drop',
      'ACL blue_blue-network-controller:NetpolDefault:allow-hairpinning:Egress',
      'ACL blue_blue-network-controller:NetpolDefault:allow-hairpinning:Ingress',
      'Load_Balancer_Group blue_blue_clusterLBGroup',
      'Load_Balancer_Group blue_blue_clusterRouterLBGroup',
      'Load_Balancer_Group blue_blue_clusterSwitchLBGroup',
      'Logical_Router blue_blue_ovn_cluster_router',
      'Logical_Router_Port blue_blue_rtots-ovn-worker',
      'Logical_Router_Port rtoj-blue_blue_ovn_cluster_router',
      'Logical_Switch blue_blue_join',
      'Logical_Switch blue_blue_transit_switch',
      'Logical_Switch_Port blue_blue_tstor-ovn-worker',
      'Logical_Switch_Port jtor-blue_blue_ovn_cluster_router',
      'Port_Group a9b3a8be230d6c957406156cd5423f24e',
      'Port_Group ab3f2ae2b376dec45615f7d08eef30f70',
    ]);
  });

  test('may ask OVN not to check packet sizes, and may have their gateway in a VLAN', () => {
    const gateway = { ...worker.gateway!, vlan: 100, nodePortEnable: false };
    const zone: Zone = { ...exampleZone, node: { ...worker, gatewayMtuSupport: false, gateway } };
    expect(
      added(textsOf(exampleZone, ofNetwork('blue_blue')), textsOf(zone, ofNetwork('blue_blue'))),
    ).toEqual([
      'Load_Balancer_Group blue_blue_clusterRouterLBGroup',
      'Logical_Router_Port rtoj-GR_blue_blue_ovn-worker external_ids={X2} mac=0a:58:64:41:00:02 networks=[100.65.0.2/16] < Logical_Router/GR_blue_blue_ovn-worker.ports',
      'Logical_Router_Port rtos-blue_blue_ovn-worker ha_chassis_group=HA_Chassis_Group/heddle-this-chassis mac=0a:58:67:67:00:01 networks=[103.103.0.1/24] < Logical_Router/blue_blue_ovn_cluster_router.ports',
      'Logical_Switch_Port breth0_blue_blue_ovn-worker addresses=[unknown] external_ids={X2} options={network_name=physnet} tag_request=100 type=localnet up=false < Logical_Switch/ext_blue_blue_ovn-worker.ports',
    ]);
  });
});

describe('networks', () => {
  test('have dots for dashes in names, and their own spelling in marks', () => {
    const network = { ...blue, name: networkName('blue_blue-network') };
    const rows = rowsOf(withNetworks(network), /^layer3\/network blue_blue-network$/);
    expect(rows.find((row) => row.key === 'blue_blue.network_ovn-worker')?.columns).toMatchObject({
      external_ids: {
        'k8s.ovn.org/network': 'blue_blue-network',
        'k8s.ovn.org/topology': 'layer3',
        'k8s.ovn.org/role': 'primary',
      },
    });
    expect(heads(rows)).toContain(
      'ACL blue_blue-network-network-controller:NetpolDefault:allow-hairpinning:Egress',
    );
  });

  test('in a cluster of both families, one of IPv4 alone has a gateway of both', () => {
    const zone: Zone = { ...dualZone, networks: [dualZone.networks[0]!, blue] };
    const columns = (key: string): unknown =>
      rowsOf(zone, /^layer3\/network blue_blue$/).find((row) => row.key === key)?.columns[
        'networks'
      ];
    expect(columns('rtoj-GR_blue_blue_ovn-worker')).toEqual(['100.65.0.2/16', 'fd99::2/64']);
    expect(columns('rtoe-GR_blue_blue_ovn-worker')).toEqual([
      '172.18.0.3/16',
      'fc00:f853::3/64',
      '169.254.0.11/32',
      'fd69::b/128',
    ]);
    expect(columns('rtos-blue_blue_ovn-worker')).toEqual(['103.103.0.1/24']);
    expect(
      heads(rowsOf(zone, /^layer3\/network blue_blue$/)).filter((head) =>
        /^(QoS|Address_Set)/.test(head),
      ),
    ).toEqual([
      'QoS default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip4:blue_blue',
      'QoS default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip6:blue_blue',
    ]);
  });

  test('with several subnets of a family have the rows of each', () => {
    const network = {
      ...blue,
      subnets: [
        { cidr: '103.103.0.0/16', hostLength: 24 },
        { cidr: '104.104.0.0/16', hostLength: 24 },
      ],
    };
    expect(
      added(
        heads(rowsOf(exampleZone, ofNetwork('blue_blue'))),
        heads(rowsOf(withNetworks(network), ofNetwork('blue_blue'))),
      ),
    ).toEqual([
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Join:ip4:blue_blue ip4.src == 104.104.0.0/16 && ip4.dst == 100.64.0.0/16',
      'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Pod:ip4:blue_blue ip4.src == 104.104.0.0/16 && ip4.dst == 104.104.0.0/16',
      'Logical_Router_Policy default-network-controller:EgressIP:97:EIP-Drop-Other-Arrival:ip4:blue_blue inport == "blue_blue_rtots-ovn-worker" && ip4.src == 104.104.0.0/16',
      'Logical_Router_Policy default-network-controller:EgressIP:98:EIP-Arrival-To-Join:ip4:blue_blue inport == "blue_blue_rtots-ovn-worker" && ip4.src == 104.104.0.0/16 && ip4.dst == 100.65.0.0/16',
      'Logical_Router_Static_Route GR_blue_blue_ovn-worker 104.104.0.0/16 any -',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 104.104.0.0/16 src-ip -',
      'NAT GR_blue_blue_ovn-worker snat 104.104.0.0/16 -',
    ]);
  });

  test('as large as one node have one route for their pods', () => {
    const network = {
      ...blue,
      subnets: [{ cidr: '103.103.0.0/24', hostLength: 24 }],
      nodeSubnets: new Map([['ovn-worker', ['103.103.0.0/24']]]),
    };
    const routes = textsOf(withNetworks(network), /^layer3\/network blue_blue$/).filter((text) =>
      text.includes('policy=src-ip'),
    );
    expect(routes).toEqual([
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.0.0/24 src-ip - external_ids={X2} ip_prefix=103.103.0.0/24 nexthop=100.65.0.2 policy=src-ip < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
    ]);
  });
});
