import { describe, expect, test } from 'vitest';
import type { RenderingOptions } from '../../../../src/model/zone/rendered-networks.ts';
import { siblingNetworks } from '../../../../src/topology/connect/sibling-networks.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { service, slice, withServices } from '../../../support/zone/services.ts';
import {
  blue,
  bluePod,
  colored,
  defaultNetwork,
  dualZone,
  exampleZone,
  factsOf,
  farMorePod,
  green,
  more,
  networkName,
  yellow,
  type Zone,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';
import { rowsOf, textsOf } from '../unit-texts.ts';

const LINKS = new RegExp(`^${siblingNetworks.name} `);
const several: Zone = { ...exampleZone, networks: [...exampleZone.networks, more] };

/** Columns that say something, without the marks of networks. */
const links = (zone: Zone): string[] =>
  textsOf(zone, LINKS).map((text) => text.replace(/ external_ids=\{[^}]*\}/, ''));
/** From where to where a policy sends. */
const ways = (zone: Zone): string[] =>
  rowsOf(zone, LINKS)
    .filter(({ table }) => table === 'Logical_Router_Policy')
    .map(({ columns, containers }) => `${containers[0]?.key}: ${JSON.stringify(columns['match'])}`)
    .sort();

describe('two primary networks of one namespace (OKEP-5252)', () => {
  test('have a link between their routers on each node, and send over it what is for the other', () => {
    expect(links(several)).toEqual([
      'Logical_Router_Policy blue_blue_ovn_cluster_router 9002 ip4.dst == 109.109.0.0/16 action=reroute match=ip4.dst == 109.109.0.0/16 nexthops=[169.254.64.21] priority=9002 < Logical_Router/blue_blue_ovn_cluster_router.policies',
      'Logical_Router_Policy blue_more_transit_router 9002 ip4.dst == 103.103.0.0/16 action=reroute match=ip4.dst == 103.103.0.0/16 nexthops=[169.254.64.20] priority=9002 < Logical_Router/blue_more_transit_router.policies',
      'Logical_Router_Port rtor-blue_blue_ovn_cluster_router_9 mac=0a:58:a9:fe:40:14 networks=[169.254.64.20/31] peer=rtor-blue_more_transit_router_1 < Logical_Router/blue_blue_ovn_cluster_router.ports',
      'Logical_Router_Port rtor-blue_more_transit_router_1 mac=0a:58:a9:fe:40:15 networks=[169.254.64.21/31] peer=rtor-blue_blue_ovn_cluster_router_9 < Logical_Router/blue_more_transit_router.ports',
    ]);
  });

  test('of both families, the link has an address of each', () => {
    const dual: ZoneNetwork = {
      ...more,
      subnets: [...more.subnets, { cidr: 'fd20:109::/64' }],
      transitSubnets: { v4: '100.88.0.0/16', v6: 'fd97::/64' },
      masquerade: {
        ...more.masquerade,
        v6: { gatewayRouter: 'fd69::1b', managementPort: 'fd69::1c' },
      },
    };
    const rows = rowsOf({ ...dualZone, networks: [...dualZone.networks, dual] }, LINKS);
    expect(rows.map(({ columns }) => columns['networks'] ?? columns['nexthops'])).toEqual([
      ['169.254.64.20/31', 'fd69::4014/127'],
      ['169.254.64.21'],
      ['fd69::4015'],
      ['169.254.64.21/31', 'fd69::4015/127'],
      ['169.254.64.20'],
      ['fd69::4014'],
    ]);
  });

  test('are all linked with each other when there are more of them', () => {
    const third: ZoneNetwork = {
      ...blue,
      name: networkName('blue_third'),
      id: 12,
      subnets: [{ cidr: '110.0.0.0/16', hostLength: 24 }],
      nads: ['blue/third'],
      masquerade: { v4: { gatewayRouter: '169.254.0.33', managementPort: '169.254.0.34' } },
      nodeSubnets: new Map([['ovn-worker', ['110.0.0.0/24']]]),
    };
    const zone = { ...several, networks: [...several.networks, third] };
    expect(ways(zone)).toEqual([
      'blue_blue_ovn_cluster_router: "ip4.dst == 109.109.0.0/16"',
      'blue_blue_ovn_cluster_router: "ip4.dst == 110.0.0.0/16"',
      'blue_more_transit_router: "ip4.dst == 103.103.0.0/16"',
      'blue_more_transit_router: "ip4.dst == 110.0.0.0/16"',
      'blue_third_ovn_cluster_router: "ip4.dst == 103.103.0.0/16"',
      'blue_third_ovn_cluster_router: "ip4.dst == 109.109.0.0/16"',
    ]);
    const addresses = rowsOf(zone, LINKS).flatMap(({ columns }) => columns['networks'] ?? []);
    expect(new Set(addresses).size).toBe(6);
  });

  test('that overlap are kept apart, and so are secondary ones and those of other namespaces', () => {
    const overlapping = { ...more, subnets: [{ cidr: '103.103.4.0/24' }] };
    const secondary = { ...more, role: 'secondary' as const, masquerade: {}, joinSubnets: {} };
    for (const other of [overlapping, secondary, yellow])
      expect(links({ ...exampleZone, networks: [...exampleZone.networks, other] })).toEqual([]);
  });

  test('are not linked in a namespace that does not ask for a primary network', () => {
    const networks = several.networks.map((network) => ({ ...network, namespaces: [] }));
    expect(links({ ...several, networks })).toEqual([]);
  });

  test('a masquerade subnet without room for the link is a problem with a remedy', () => {
    const settings = { ...several.settings, masqueradeSubnets: { v4: '169.254.0.0/24' } };
    const units = builtUnits(factsOf({ ...several, settings }));
    expect(
      units
        .filter(({ unit }) => LINKS.test(unit))
        .flatMap(({ problems, failure }) => [...problems, ...(failure ? [failure] : [])]),
    ).toEqual([
      "UserDefinedNetwork blue/blue: the masquerade subnet (169.254.0.0/24) has no addresses for a link with network blue_more, so that pods of one don't reach those of the other: make it larger (IPv4: /17)",
    ]);
  });

  test('a pod of one brings all of them to its node: it reaches them from there', () => {
    const options: RenderingOptions = {};
    const rendered = (zone: Zone): string[] =>
      [...factsOf(zone, options).rendered.all()].map(({ name }) => name).sort();
    expect(rendered({ ...several, attachments: [bluePod] })).toEqual([
      'blue_blue',
      'blue_more',
      'default',
    ]);
    expect(rendered(several)).toEqual(['default']);
  });
});

describe('a service of a namespace with several primary networks', () => {
  const web = service('blue/web', { clusterIPs: ['10.96.1.1'] });
  const onBlue = slice('blue/web', ['103.103.0.3 on ovn-worker'], {
    network: 'blue_blue',
    ports: [{ port: 8080 }],
  });
  const onMore = slice('blue/web', ['109.109.0.4 on ovn-worker2'], {
    network: 'blue_more',
    name: 'more',
    ports: [{ port: 8080 }],
  });
  const balancers = (zone: Zone): Record<string, string> =>
    Object.fromEntries(
      rowsOf(zone, /^services\/load-balancers/).map(({ key, columns, containers }) => [
        `${key} < ${containers.map(({ key: of }) => of).join(' ')}`,
        JSON.stringify(columns['vips']),
      ]),
    );

  test('has on the switches of each the endpoints of all, and on a gateway router those of its own network', () => {
    const both = '{"10.96.1.1:80":"103.103.0.3:8080,109.109.0.4:8080"}';
    expect(balancers(withServices(several, web, onBlue, onMore))).toEqual({
      'blue_blue_Service_blue/web_TCP_cluster < blue_blue_clusterSwitchLBGroup': both,
      'blue_blue_Service_blue/web_TCP_cluster_router < blue_blue_clusterRouterLBGroup':
        '{"10.96.1.1:80":"103.103.0.3:8080"}',
      'blue_more_Service_blue/web_TCP_cluster < blue_more_clusterSwitchLBGroup': both,
      'blue_more_Service_blue/web_TCP_cluster_router < blue_more_clusterRouterLBGroup':
        '{"10.96.1.1:80":"109.109.0.4:8080"}',
    });
  });

  test('stays on the node with a local internal policy, whichever network its endpoints there are on', () => {
    const local = service('blue/web', {
      clusterIPs: ['10.96.1.1'],
      internalTrafficPolicy: 'Local',
    });
    const here = slice('blue/web', ['109.109.0.3 on ovn-worker'], {
      network: 'blue_more',
      name: 'more',
      ports: [{ port: 8080 }],
    });
    const found = balancers(withServices(several, local, onBlue, here));
    expect(
      found['blue_blue_Service_blue/web_TCP_node_switch_ovn-worker < blue_blue_ovn-worker'],
    ).toBe('{"10.96.1.1:80":"103.103.0.3:8080,109.109.0.3:8080"}');
  });

  test('a connection with one of the networks shares the endpoints of that one alone', () => {
    const connected: Zone = {
      ...withServices(several, web, onBlue, onMore),
      networks: [...several.networks, green],
      connects: [{ ...colored, hasServices: true }],
    };
    expect(balancers(connected)).toMatchObject({
      'blue_blue_Service_blue/web_TCP_cluster_router < blue_blue_clusterRouterLBGroup cluster_udn_green.net_ovn-worker':
        '{"10.96.1.1:80":"103.103.0.3:8080"}',
    });
    expect(Object.keys(balancers(connected)).filter((key) => key.includes('cnc_svc'))).toEqual([]);
  });

  test('outside traffic comes by the oldest network that has endpoints', () => {
    const entryOf = (...slices: (typeof onBlue)[]): string[] =>
      [...factsOf(withServices(several, web, ...slices)).backends.all()]
        .filter(({ isEntry }) => isEntry)
        .map(({ network }) => network);
    expect(entryOf(onBlue, onMore)).toEqual(['blue_blue']);
    expect(entryOf(onMore)).toEqual(['blue_more']);
    expect(entryOf()).toEqual(['blue_blue']);
  });
});

test('where only services are connected, pods of primary networks of one namespace still reach each other', () => {
  const connect = {
    ...colored,
    hasPods: false,
    hasServices: true,
    members: [
      { networkId: 1, topology: 'layer3' as const, subnets: ['192.168.0.0/24'] },
      { networkId: 3, topology: 'layer3' as const, subnets: ['192.168.2.0/24'] },
      { networkId: 9, topology: 'layer2' as const, subnets: ['192.168.1.0/31'] },
    ],
  };
  const zone = { ...several, networks: [...several.networks, green], connects: [connect] };
  const drops = rowsOf(zone, /^connect\/router/)
    .filter(({ key }) => key.includes('drop-pod'))
    .map(({ columns }) => columns['match']);
  const toGreen = 'ip4.dst == {104.104.0.0/16, 105.0.0.0/16} && ct.new';
  expect(drops).toEqual([
    toGreen,
    'ip4.dst == {103.103.0.0/16, 109.109.0.0/16} && ct.new',
    toGreen,
  ]);
});

test('peers of a policy are on every network that its own one reaches: of the namespace, and connected with pods', () => {
  const zone: Zone = {
    ...several,
    networks: [defaultNetwork, blue, more, green],
    attachments: [bluePod],
    remoteAttachments: [
      farMorePod,
      {
        ...farMorePod,
        namespace: 'green',
        pod: 'far4',
        network: green.name,
        nadKey: 'green/green-net',
        addresses: ['104.104.1.5/16'],
        macAddress: '0a:58:68:68:01:05',
      },
    ],
    namespaces: ['blue', 'green', 'default'],
  };
  const reached = (connects: Zone['connects'] = []): readonly string[] =>
    factsOf({ ...zone, connects }).reachedFrom('blue_blue');
  expect(reached()).toEqual(['blue_more']);
  expect(reached([colored])).toEqual(['blue_more', 'cluster_udn_green-net']);
  expect(reached([{ ...colored, hasPods: false, hasServices: true }])).toEqual(['blue_more']);
});
