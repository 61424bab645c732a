import { expect, test } from 'vitest';
import type { HostRoute } from '../../../../src/model/zone/host-routes.ts';
import { hostFeatures } from '../../../../src/node/features.ts';
import {
  routeArguments,
  routeKey,
  type RouteColumns,
} from '../../../../src/node/linux/linux-rows.ts';
import { HOST_SETTINGS } from '../../../support/host/host-units.ts';
import { builtUnits, type BuiltUnit } from '../../../support/zone/built-rows.ts';
import {
  defaultNetwork,
  dualZone,
  factsOf,
  networkName,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';

const blue: ZoneNetwork = {
  ...defaultNetwork,
  name: networkName('blue_net'),
  id: 2,
  subnets: [
    { cidr: '10.20.0.0/16', hostLength: 24 },
    { cidr: 'fd20::/48', hostLength: 64 },
  ],
  joinSubnets: { v4: '100.90.0.0/16', v6: 'fd90::/64' },
  masquerade: {
    v4: { gatewayRouter: '169.254.0.13', managementPort: '169.254.0.14' },
    v6: { gatewayRouter: 'fd69::d', managementPort: 'fd69::e' },
  },
  nads: ['blue/net'],
  nodeSubnets: new Map([['ovn-worker', ['10.20.1.0/24', 'fd20:0:0:2::/64']]]),
  object: 'UserDefinedNetwork blue/net',
};

/** Units of a zone with this network, whose host has these routes. */
function unitsWith(
  routes: readonly HostRoute[] | { readonly unreadable: string },
  network = blue,
  settings = HOST_SETTINGS,
): readonly BuiltUnit[] {
  const facts = factsOf({ ...dualZone, networks: [...dualZone.networks.slice(0, 1), network] });
  for (const family of ['v4', 'v6'] as const)
    facts.hostRoutes.put(
      family,
      'unreadable' in routes
        ? { routes: [], ...routes }
        : { routes: routes.filter(({ dst }) => dst.includes(':') === (family === 'v6')) },
    );
  return builtUnits(facts, hostFeatures(settings));
}

const unitIn = (units: readonly BuiltUnit[], name: string): BuiltUnit | undefined =>
  units.find(({ unit }) => unit === name);
const routesOf = (...given: Parameters<typeof unitsWith>): readonly RouteColumns[] =>
  unitIn(unitsWith(...given), 'host/routes blue_net')?.rows.map(
    ({ columns }) => columns as unknown as RouteColumns,
  ) ?? [];

test('a network has the routes of the host in its table, with an MTU that its pods can use, and the host has no more', () => {
  expect(
    routesOf([
      { dst: '172.18.0.0/16', dev: 'breth0' },
      { dst: '10.99.0.0/16', dev: 'eth1', via: '172.20.0.1', metric: 50, mtu: 9000 },
      { dst: '10.98.0.0/16', dev: 'eth1', via: '203.0.113.1', onlink: true, mtu: 1280 },
      { dst: '10.66.0.0/16', type: 'unreachable' },
      { dst: 'fc00:99::/64', dev: 'eth1', via: 'fe80::1', metric: 1024 },
    ]).map((route) => `${route.family} ${route.table}: ${routeArguments(route).join(' ')}`),
  ).toEqual([
    'v4 10002: 172.18.0.0/16 dev breth0 mtu 1400',
    'v4 10002: 10.99.0.0/16 via 172.20.0.1 dev eth1 mtu 1400 metric 50',
    'v4 10002: 10.98.0.0/16 via 203.0.113.1 dev eth1 onlink mtu 1280',
    'v4 10002: unreachable 10.66.0.0/16',
    'v6 10002: fc00:99::/64 via fe80::1 dev eth1 mtu 1400',
  ]);
  expect(
    unitIn(unitsWith([{ dst: '172.18.0.0/16', dev: 'breth0' }]), 'host/routes default')?.rows,
  ).toEqual([]);
});

test.each([
  ['pods', '10.244.7.0/24'],
  ['pods, IPv6', 'fd00:10:244:7::/64'],
  ['services', '10.96.0.9/32'],
  ['the network itself', '10.20.5.0/24'],
  ['its pods, IPv6', 'fd20:0:0:5::/64'],
  ['its join subnet', '100.90.0.0/16'],
  ['the join subnet of the default network', '100.64.0.0/16'],
  ['that of other networks', '100.65.3.0/24'],
  ['masquerade addresses', '169.254.0.0/17'],
  ['masquerade addresses, IPv6', 'fd69::/112'],
])('a route to %s (%s) stays the host’s alone', (_, dst) => {
  expect(routesOf([{ dst, dev: 'eth1' }])).toEqual([]);
});

test('a route to more than a range of the cluster is the network’s, too: its own are narrower', () => {
  expect(routesOf([{ dst: '10.0.0.0/8', dev: 'eth1' }])).toHaveLength(1);
});

test('no route of the host takes the place of one that the network has by itself', () => {
  const units = unitsWith([
    { dst: '10.0.0.0/8', dev: 'eth1' },
    { dst: 'fc00::/7', dev: 'eth1' },
  ]);
  const keys = ['host/network blue_net', 'host/routes blue_net'].map((name) =>
    (unitIn(units, name)?.rows ?? [])
      .filter(({ table }) => table === 'route')
      .map(({ columns }) => routeKey(columns as unknown as RouteColumns)),
  );
  expect(keys[1]).toHaveLength(2);
  expect(new Set(keys.flat()).size).toBe(keys.flat().length);
});

test('routes that can’t be read leave those of the network as they are, and the rest of it alone', () => {
  const units = unitsWith({ unreadable: 'no socket' });
  expect(unitIn(units, 'host/routes blue_net')?.failure).toBe('routes of the host: no socket');
  expect(unitIn(units, 'host/network blue_net')?.failure).toBeUndefined();
});

test('a host without VRFs has no table of the network, and a network of IPv4 no routes of IPv6', () => {
  const routes = [
    { dst: '10.99.0.0/16', dev: 'eth1' },
    { dst: 'fc00:99::/64', dev: 'eth1' },
  ];
  expect(routesOf(routes, blue, { ...HOST_SETTINGS, hasVrfs: false })).toEqual([]);
  const v4 = {
    ...blue,
    subnets: blue.subnets.slice(0, 1),
    nodeSubnets: new Map([['ovn-worker', ['10.20.1.0/24']]]),
  };
  expect(routesOf(routes, v4)).toMatchObject([{ dst: '10.99.0.0/16' }]);
});
