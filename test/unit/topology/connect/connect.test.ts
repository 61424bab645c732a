import { describe, expect, test } from 'vitest';
import type { Connect } from '../../../../src/model/read/connects.ts';
import type { ServiceFacts } from '../../../../src/model/read/services.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import {
  colored,
  exampleZone,
  factsOf,
  furtherNode,
  green,
  networkName,
  yellow,
  type Zone,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';
import { textsOf } from '../unit-texts.ts';

const zoneWith = (...connects: Connect[]): Zone => ({
  ...exampleZone,
  networks: [...exampleZone.networks, green],
  connects,
});

/** Rows of connections; `CNC` is their controller, `OWNER` says that a row is its. */
const rowsOf = (zone: Zone): string[] =>
  textsOf(zone, /^connect\//).map((text) =>
    text
      .replaceAll('ovnkube-network-connect-controller', 'CNC')
      .replaceAll('k/owner-controller=CNC k/owner-type=ClusterNetworkConnect', 'OWNER'),
  );

/** What a text says of some columns. */
const columns = (text: string, ...names: readonly string[]): string =>
  names.map((name) => new RegExp(`${name}=(\\{[^}]*\\}|\\S+)`).exec(text)?.[0]).join(' ');

describe('two connected Layer3 networks (reference/topology.md §19.1)', () => {
  const rows = rowsOf(zoneWith(colored));
  const of = (table: string): string[] => rows.filter((text) => text.startsWith(`${table} `));

  test('are joined by a router', () => {
    expect(of('Logical_Router')).toEqual([
      'Logical_Router connect_router_colored-net copp=Copp/ovnkube-default external_ids={k/name=colored-net OWNER} options={requested-tnl-key=16715782}',
    ]);
  });

  test('it has a link to the router of each on this node, and a bound port for each other node', () => {
    const ids = (network: number, node: number, router: string): string =>
      `external_ids={k/id=CNC:ClusterNetworkConnect:colored-net:${network}:${node}:${router} k/name=colored-net OWNER network-id=${network} node-id=${node} router-name=${router}}`;
    const joined = 'connect_router_colored-net';
    const [ofBlue, ofGreen] = [
      'blue_blue_ovn_cluster_router',
      'cluster_udn_green.net_ovn_cluster_router',
    ];
    const green_ = 'cluster_udn_green-net';
    expect(of('Logical_Router_Port')).toEqual([
      `Logical_Router_Port crtor-colored-net_blue_blue_ovn-worker ${ids(1, 2, joined)} mac=0a:58:c0:a8:00:04 networks=[192.168.0.4/31] options={requested-tnl-key=3} peer=rtocr-blue_blue_ovn-worker_colored-net < Logical_Router/${joined}.ports`,
      `Logical_Router_Port crtor-colored-net_blue_blue_ovn-worker2 ${ids(1, 3, joined)} mac=0a:58:c0:a8:00:06 networks=[192.168.0.6/31] options={requested-chassis=C2 requested-tnl-key=4} < Logical_Router/${joined}.ports`,
      `Logical_Router_Port crtor-colored-net_${green_}_ovn-worker ${ids(3, 2, joined)} mac=0a:58:c0:a8:01:04 networks=[192.168.1.4/31] options={requested-tnl-key=259} peer=rtocr-${green_}_ovn-worker_colored-net < Logical_Router/${joined}.ports`,
      `Logical_Router_Port crtor-colored-net_${green_}_ovn-worker2 ${ids(3, 3, joined)} mac=0a:58:c0:a8:01:06 networks=[192.168.1.6/31] options={requested-chassis=C2 requested-tnl-key=260} < Logical_Router/${joined}.ports`,
      `Logical_Router_Port rtocr-blue_blue_ovn-worker_colored-net ${ids(1, 2, ofBlue ?? '')} mac=0a:58:c0:a8:00:05 networks=[192.168.0.5/31] peer=crtor-colored-net_blue_blue_ovn-worker < Logical_Router/${ofBlue}.ports`,
      `Logical_Router_Port rtocr-${green_}_ovn-worker_colored-net ${ids(3, 2, ofGreen ?? '')} mac=0a:58:c0:a8:01:05 networks=[192.168.1.5/31] peer=crtor-colored-net_${green_}_ovn-worker < Logical_Router/${ofGreen}.ports`,
    ]);
  });

  test('it reaches the pods of each node over its link', () => {
    const routes = of('Logical_Router_Static_Route');
    expect(routes.map((text) => columns(text, 'ip_prefix', 'nexthop'))).toEqual([
      'ip_prefix=103.103.0.0/24 nexthop=192.168.0.5',
      'ip_prefix=103.103.1.0/24 nexthop=192.168.0.7',
      'ip_prefix=104.104.0.0/24 nexthop=192.168.1.5',
      'ip_prefix=104.104.1.0/24 nexthop=192.168.1.7',
    ]);
    expect(columns(routes[0] ?? '', 'external_ids')).toBe(
      'external_ids={ip-family=v4 k/id=CNC:ClusterNetworkConnect:colored-net:1:2:v4 k/name=colored-net OWNER network-id=1 node-id=2}',
    );
  });

  test('what pods of one have for the other, and that alone, is sent to it', () => {
    const policies = of('Logical_Router_Policy');
    expect(policies.map((text) => /match=.*/.exec(text)?.[0])).toEqual([
      'match=inport == "rtos-blue_blue_ovn-worker" && (ip4.dst == 104.104.0.0/16 || ip4.dst == 105.0.0.0/16) nexthops=[192.168.0.4] priority=9001 < Logical_Router/blue_blue_ovn_cluster_router.policies',
      'match=inport == "rtos-cluster_udn_green.net_ovn-worker" && ip4.dst == 103.103.0.0/16 nexthops=[192.168.1.4] priority=9001 < Logical_Router/cluster_udn_green.net_ovn_cluster_router.policies',
    ]);
    expect(policies.map((text) => columns(text, 'action', 'external_ids'))).toEqual([
      'action=reroute external_ids={destination-network-id=3 ip-family=v4 k/id=CNC:ClusterNetworkConnect:colored-net:1:3:v4:blue_blue_ovn_cluster_router k/name=colored-net OWNER router-name=blue_blue_ovn_cluster_router source-network-id=1}',
      'action=reroute external_ids={destination-network-id=1 ip-family=v4 k/id=CNC:ClusterNetworkConnect:colored-net:3:1:v4:cluster_udn_green.net_ovn_cluster_router k/name=colored-net OWNER router-name=cluster_udn_green.net_ovn_cluster_router source-network-id=3}',
    ]);
  });

  test('with pods connected there is nothing to keep them apart', () => {
    expect([...of('ACL'), ...of('Address_Set')]).toEqual([]);
  });
});

test('a Layer2 network has one link, the same on every node, and routes to its whole subnet (reference/topology.md §19.1)', () => {
  const rows = rowsOf({
    ...exampleZone,
    networks: [...exampleZone.networks, yellow],
    connects: [
      {
        ...colored,
        members: [
          { networkId: 1, topology: 'layer3', subnets: ['192.168.0.0/24'] },
          { networkId: 3, topology: 'layer2', subnets: ['192.168.1.0/31'] },
        ],
      },
    ],
  });
  const of = (table: string): string[] => rows.filter((text) => text.startsWith(`${table} `));
  expect(
    of('Logical_Router_Port')
      .filter((text) => text.includes('yellow'))
      .map((text) => text.replace(/ external_ids=\{[^}]*\}/, '')),
  ).toEqual([
    'Logical_Router_Port crtor-colored-net_cluster_udn_yellow-net mac=0a:58:c0:a8:01:00 networks=[192.168.1.0/31] options={requested-tnl-key=257} peer=rtocr-cluster_udn_yellow-net_colored-net < Logical_Router/connect_router_colored-net.ports',
    'Logical_Router_Port rtocr-cluster_udn_yellow-net_colored-net mac=0a:58:c0:a8:01:01 networks=[192.168.1.1/31] peer=crtor-colored-net_cluster_udn_yellow-net < Logical_Router/cluster_udn_yellow.net_transit_router.ports',
  ]);
  expect(
    of('Logical_Router_Static_Route').map((text) => columns(text, 'ip_prefix', 'nexthop')),
  ).toEqual([
    'ip_prefix=103.103.0.0/24 nexthop=192.168.0.5',
    'ip_prefix=103.103.1.0/24 nexthop=192.168.0.7',
    'ip_prefix=105.105.0.0/16 nexthop=192.168.1.1',
  ]);
  expect(of('Logical_Router_Policy').map((text) => /match=.*/.exec(text)?.[0])).toEqual([
    'match=inport == "rtos-blue_blue_ovn-worker" && ip4.dst == 105.105.0.0/16 nexthops=[192.168.0.4] priority=9001 < Logical_Router/blue_blue_ovn_cluster_router.policies',
    'match=inport == "trtos-cluster_udn_yellow.net_ovn_layer2_switch" && ip4.dst == 103.103.0.0/16 nexthops=[192.168.1.0] priority=9001 < Logical_Router/cluster_udn_yellow.net_transit_router.policies',
  ]);
});

test('connections are not transitive: policies are for networks of one connection', () => {
  const red: ZoneNetwork = {
    ...green,
    name: networkName('red_red'),
    id: 5,
    subnets: [{ cidr: '106.0.0.0/16', hostLength: 24 }],
    nads: ['red/red'],
  };
  const other: Connect = {
    ...colored,
    name: 'other',
    ranges: [{ cidr: '172.30.0.0/16', networkPrefix: 24 }],
    members: [
      { networkId: 3, topology: 'layer3', subnets: ['172.30.0.0/24'] },
      { networkId: 5, topology: 'layer3', subnets: ['172.30.1.0/24'] },
    ],
  };
  const zone = { ...zoneWith(colored, other), networks: [...exampleZone.networks, green, red] };
  const ways = rowsOf(zone)
    .filter((text) => text.startsWith('Logical_Router_Policy'))
    .map((text) => /:(\d+:\d+):v4:/.exec(text)?.[1]);
  expect(ways.toSorted((a = '', b = '') => (a < b ? -1 : 1))).toEqual(['1:3', '3:1', '3:5', '5:3']);
});

test('where only services are connected, new connections to pods are dropped (reference/topology.md §19.2)', () => {
  const rows = rowsOf(zoneWith({ ...colored, hasPods: false, hasServices: true }));
  const acls = (type: string): string[] =>
    rows
      .filter((text) => text.startsWith('ACL ') && text.includes(` type=${type}`))
      .map((text) => text.replace(/^.*action=/, 'action=').replace(/ external_ids=\{[^}]*\}/, ''));
  const onBoth =
    '< Logical_Switch/blue_blue_ovn-worker.acls < Logical_Switch/cluster_udn_green.net_ovn-worker.acls';
  expect(acls('pass-service')).toEqual([
    `action=pass direction=from-lport match=(ip4.dst == 10.96.0.0/16) priority=500 tier=0 ${onBoth}`,
  ]);
  expect(acls('drop-pod')).toEqual([
    'action=drop direction=from-lport match=ip4.dst == {104.104.0.0/16, 105.0.0.0/16} && ct.new priority=450 tier=0 < Logical_Switch/blue_blue_ovn-worker.acls',
    'action=drop direction=from-lport match=ip4.dst == {103.103.0.0/16} && ct.new priority=450 tier=0 < Logical_Switch/cluster_udn_green.net_ovn-worker.acls',
  ]);
});

test('a node whose id is too large has no links, and says so; other nodes go on without a word', () => {
  const tight: Connect = {
    ...colored,
    ranges: [{ cidr: '192.168.0.0/16', networkPrefix: 29 }],
    members: [
      { networkId: 1, topology: 'layer3', subnets: ['192.168.0.0/29'] },
      { networkId: 3, topology: 'layer3', subnets: ['192.168.0.8/29'] },
    ],
  };
  const problemsOf = (zone: Zone): readonly string[] =>
    builtUnits(factsOf(zone))
      .filter(({ unit }) => unit.startsWith('connect/'))
      .flatMap(({ problems, failure }) => [
        ...problems,
        ...(failure === undefined ? [] : [failure]),
      ]);
  const zone = zoneWith(tight);
  expect(problemsOf({ ...zone, remoteNodes: [...zone.remoteNodes, furtherNode(9)] })).toEqual([]);
  expect(problemsOf({ ...zone, node: { ...zone.node, id: 10 } })).toEqual([
    expect.stringContaining(
      'ClusterNetworkConnect colored-net: network blue_blue, node ovn-worker: node id 10 does not fit',
    ),
    expect.stringContaining(
      'ClusterNetworkConnect colored-net: network cluster_udn_green-net, node ovn-worker: node id 10 does',
    ),
  ]);
});

describe('where services are connected (reference/topology.md §19.2)', () => {
  const service: ServiceFacts = {
    key: 'blue/web',
    namespace: 'blue',
    name: 'web',
    clusterIps: ['10.96.1.1'],
    externalIps: [],
    poolIps: [],
    ports: [{ name: '', protocol: 'TCP', port: 80 }],
    isExternallyLocal: false,
    isInternallyLocal: false,
    takesUnready: false,
    isLoadBalancer: false,
    isExposed: false,
  };
  const rowsWith = (connect: Connect): string[] =>
    textsOf({ ...zoneWith(connect), services: [service] }, /^(connect|services)\//);

  test('a group of them is on the switches of all networks of the connection', () => {
    expect(
      rowsWith({ ...colored, hasServices: true }).filter((text) => text.includes('cnc_svc_')),
    ).toEqual([
      expect.stringMatching(
        /^Load_Balancer blue_blue_Service_blue\/web_TCP_cluster .* < Load_Balancer_Group\/blue_blue_clusterLBGroup.load_balancer < Load_Balancer_Group\/cnc_svc_colored-net.load_balancer$/,
      ),
      'Load_Balancer_Group cnc_svc_colored-net < Logical_Switch/blue_blue_ovn-worker.load_balancer_group < Logical_Switch/cluster_udn_green.net_ovn-worker.load_balancer_group',
    ]);
  });

  test('with pods alone connected a service stays in its own network', () => {
    expect(rowsWith(colored).filter((text) => text.includes('cnc_svc_'))).toEqual([]);
  });
});
