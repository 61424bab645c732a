import {
  ADDRESS_FLAG,
  HOP_FLAG,
  ROUTE_TYPE,
  type Address,
  type Hop,
  type Link,
  type Route,
} from 'rtnetlink-ts';
import { describe, expect, test } from 'vitest';
import {
  chooseHostCards,
  chooseHostRoutes,
  chooseHostVrfs,
  MOST_HOST_ROUTES,
} from '../../../../src/node/linux/host-routes.ts';

const link = (index: number, name: string, more: Partial<Link> = {}): Link =>
  ({ index, name, ...more }) as Link;
const LINKS = [
  link(1, 'lo'),
  link(2, 'br-ex'),
  link(3, 'eth1'),
  link(4, 'ovn-k8s-mp0'),
  link(5, 'ovn-k8s-mp2', { slaveKind: 'vrf' }),
  link(6, 'mp2-udn-vrf', {
    kind: 'vrf',
    data: { kind: 'vrf', table: 1002 },
    alias: 'heddle Network blue',
  }),
  link(7, 'eth2', { slaveKind: 'vrf', master: 8 }),
  link(8, 'theirs', { kind: 'vrf', data: { kind: 'vrf', table: 1300 } }),
  link(9, 'a"b'),
  link(10, 'eth3', { slaveKind: 'bond' }),
];

const hop = (device: number, via?: string, more: Partial<Hop> = {}): Hop => ({
  device,
  via,
  weight: 1,
  flags: 0,
  ...more,
});
/** As an administrator's `ip route add` makes it. */
const route = (destination: string, hops: readonly Hop[], more: Partial<Route> = {}): Route => ({
  family: destination.includes(':') ? 'v6' : 'v4',
  table: 254,
  destination,
  type: ROUTE_TYPE.unicast,
  protocol: 4,
  scope: 0,
  metric: undefined,
  preferredSource: undefined,
  metrics: {},
  expires: undefined,
  preference: undefined,
  hops,
  ...more,
});
const chosen = (...routes: Route[]): ReturnType<typeof chooseHostRoutes>['routes'] =>
  chooseHostRoutes(routes, LINKS).routes;

describe('routes of the host that networks have too', () => {
  test.each<[string, Route, object]>([
    [
      'a connected subnet, without the address of the host in it',
      route('172.18.0.0/16', [hop(2)], { protocol: 2, preferredSource: '172.18.0.3' }),
      { dst: '172.18.0.0/16', dev: 'br-ex' },
    ],
    [
      'one of IPv6, with its metric',
      route('fc00:1::/64', [hop(3)], { protocol: 2, metric: 256 }),
      { dst: 'fc00:1::/64', dev: 'eth1', metric: 256 },
    ],
    [
      'one by a next hop, with its MTU',
      route('10.99.0.0/16', [hop(3, '172.20.0.1')], { metrics: { mtu: 9000 } }),
      { dst: '10.99.0.0/16', dev: 'eth1', via: '172.20.0.1', mtu: 9000 },
    ],
    [
      'one by a next hop that is on the device whatever routes say',
      route('10.99.0.0/16', [hop(3, '203.0.113.1', { flags: HOP_FLAG.onLink })]),
      { dst: '10.99.0.0/16', dev: 'eth1', via: '203.0.113.1', onlink: true },
    ],
    [
      'one by a link-local next hop',
      route('2001:db8::/32', [hop(3, 'fe80::1')], { protocol: 9, metric: 1024 }),
      { dst: '2001:db8::/32', dev: 'eth1', via: 'fe80::1', metric: 1024 },
    ],
    [
      'half of all addresses, as tunnels of others have it',
      route('0.0.0.0/1', [hop(3)]),
      { dst: '0.0.0.0/1', dev: 'eth1' },
    ],
    [
      'one by a bond’s device',
      route('10.99.0.0/16', [hop(10)]),
      { dst: '10.99.0.0/16', dev: 'eth3' },
    ],
    [
      'of several next hops the first that is alive',
      route('10.99.0.0/16', [
        hop(3, '172.20.0.1', { flags: HOP_FLAG.dead }),
        hop(3, '172.20.0.2'),
        hop(2, '172.18.0.9'),
      ]),
      { dst: '10.99.0.0/16', dev: 'eth1', via: '172.20.0.2' },
    ],
    [
      'of several next hops rather one with a carrier',
      route('10.99.0.0/16', [
        hop(3, '172.20.0.1', { flags: HOP_FLAG.linkDown }),
        hop(2, '172.18.0.9'),
      ]),
      { dst: '10.99.0.0/16', dev: 'br-ex', via: '172.18.0.9' },
    ],
    [
      'the only one, though it has no carrier',
      route('10.99.0.0/16', [hop(3, '172.20.0.1', { flags: HOP_FLAG.linkDown })]),
      { dst: '10.99.0.0/16', dev: 'eth1', via: '172.20.0.1' },
    ],
    [
      'what goes nowhere',
      route('10.66.0.0/16', [], { type: ROUTE_TYPE.blackhole }),
      { dst: '10.66.0.0/16', type: 'unreachable' },
    ],
  ])('%s', (_, one, expected) => {
    expect(chosen(one)).toEqual([expected]);
  });

  test.each<[string, Route]>([
    ['a default route, which the settings of the gateway choose', route('0.0.0.0/0', [hop(3)])],
    ['one of IPv6', route('::/0', [hop(3, 'fe80::1')])],
    ['one of ours', route('10.96.0.0/16', [hop(2)], { protocol: 85 })],
    ['one of a routing daemon', route('10.99.0.0/16', [hop(3)], { protocol: 186 })],
    ['one of another table', route('10.99.0.0/16', [hop(3)], { table: 100 })],
    ['an address of the host', route('172.18.0.3/32', [hop(2)], { type: ROUTE_TYPE.local })],
    ['one into the default network', route('10.244.0.0/16', [hop(4)])],
    ['one into a VRF of ours', route('10.20.0.0/16', [hop(6)])],
    ['one by a device in a VRF of others', route('10.99.0.0/16', [hop(7)])],
    ['one into a VRF of others', route('10.99.0.0/16', [hop(8)])],
    ['one by a device whose name is no word of a command', route('10.99.0.0/16', [hop(9)])],
    ['one by a device that is gone', route('10.99.0.0/16', [hop(99)])],
    ['one by the loopback device', route('10.99.0.0/16', [hop(1)])],
    ['link-local addresses, which every device has', route('fe80::/64', [hop(3)])],
    ['one by a next hop of the other family', route('10.99.0.0/16', [hop(3, 'fe80::1')])],
    [
      'one by next hops that are dead',
      route('10.99.0.0/16', [hop(3, '172.20.0.1', { flags: HOP_FLAG.dead })]),
    ],
  ])('not %s', (_, one) => {
    expect(chosen(one)).toEqual([]);
  });

  test('of one destination those of several metrics, and of one metric the first', () => {
    expect(
      chosen(
        route('10.99.0.0/16', [hop(3)], { metric: 10 }),
        route('10.99.0.0/16', [hop(2)], { metric: 20 }),
        route('10.99.0.0/16', [hop(10)], { metric: 20 }),
      ),
    ).toEqual([
      { dst: '10.99.0.0/16', dev: 'eth1', metric: 10 },
      { dst: '10.99.0.0/16', dev: 'br-ex', metric: 20 },
    ]);
  });

  test('of too many the networks of devices, and of the others always the same, in whatever order they are', () => {
    const many = Array.from({ length: 10_000 }, (_, n) =>
      route(`10.${100 + (n >> 8)}.${n & 255}.0/24`, [hop(3, '172.20.0.1')]),
    );
    const connected = route('172.20.0.0/16', [hop(3)], { protocol: 2 });
    const one = chooseHostRoutes([...many, connected], LINKS);
    expect(one.found).toBe(10_001);
    expect(one.routes).toHaveLength(MOST_HOST_ROUTES);
    expect(one.routes[0]).toEqual({ dst: '172.20.0.0/16', dev: 'eth1' });
    expect(chooseHostRoutes([connected, ...many.toReversed()], LINKS)).toEqual(one);
  });
});

describe('network cards of the host', () => {
  const address = (device: number, text: string, more: Partial<Address> = {}): Address =>
    ({ device, address: text, flags: 0, protocol: 0, ...more }) as Address;
  const up = LINKS.map((one) => ({ ...one, isUp: one.name !== 'eth3' }));
  const cards = (addresses: readonly Address[], ...routes: readonly Route[]) =>
    chooseHostCards(up, addresses, routes);

  test('have the networks of their addresses, and the routes over them, default ones too', () => {
    expect(
      cards(
        [
          address(3, '10.9.0.2/24'),
          address(3, '10.9.0.3/24', { flags: ADDRESS_FLAG.secondary }),
          address(3, 'fd09::2/64'),
          address(3, 'fe80::1/64'),
          address(3, '10.9.9.9/32'),
        ],
        route('10.9.0.0/24', [hop(3)], { protocol: 2, preferredSource: '10.9.0.2' }),
        route('0.0.0.0/0', [hop(2, '172.18.0.1'), hop(3, '10.9.0.1')]),
        route('10.99.0.0/16', [hop(2, '172.18.0.1')]),
        route('::/0', [hop(3, 'fd09::1')], { metric: 1024 }),
        route('fe80::/64', [hop(3)], { protocol: 2 }),
        route('10.98.0.0/16', [], { type: ROUTE_TYPE.unreachable }),
      ),
    ).toEqual([
      {
        device: 'eth1',
        index: 3,
        networks: ['10.9.0.0/24', 'fd09::/64'],
        routes: {
          v4: [
            { dst: '10.9.0.0/24', dev: 'eth1' },
            { dst: 'default', dev: 'eth1', via: '10.9.0.1' },
          ],
          v6: [{ dst: 'default', dev: 'eth1', via: 'fd09::1', metric: 1024 }],
        },
      },
    ]);
  });

  test('are not ports on networks, devices in VRFs, or those that are down or have no network that is sure', () => {
    expect(
      cards([
        address(1, '127.0.0.1/8'),
        address(4, '10.244.0.2/24'),
        address(5, '10.20.0.2/24'),
        address(7, '10.7.0.2/24'),
        address(10, '10.10.0.2/24'),
        address(3, '10.9.0.50/32', { protocol: 85 }),
        address(3, 'fd09::2/64', { flags: ADDRESS_FLAG.tentative }),
      ]),
    ).toEqual([]);
  });
});

test('VRFs of the host are those that somebody else made', () => {
  expect(chooseHostVrfs(LINKS)).toEqual([{ device: 'theirs', table: 1300 }]);
});
