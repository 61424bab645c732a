/** By which networks nothing leaves a host, and for how long that has to be so before it counts. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  DOWN_AFTER,
  HeldWaysOut,
  networksDown,
  UP_AFTER,
  waysOut,
  type SeenHost,
  type WayOut,
} from '../../../../src/node/egress-lease/ways-out.ts';

const device = (
  name: string,
  addresses: readonly string[] = [],
  changes: { readonly isUp?: boolean; readonly hasCarrier?: boolean } = {},
): SeenHost['devices'][number] => ({ name, isUp: true, hasCarrier: true, addresses, ...changes });
const NO_CARRIER = { hasCarrier: false };
const uplinks = (...names: readonly string[]): NonNullable<SeenHost['bridges']> =>
  new Map([
    ['br-ex', { named: undefined, found: names.map((name) => ({ name, isOfKernel: true })) }],
  ]);
const ADDRESSES = ['172.18.0.2/16', 'fd00:172:18::2/64'];
const host = (changes: Partial<SeenHost> = {}): SeenHost => ({
  devices: [device('br-ex', ADDRESSES), device('eth1')],
  gateway: { bridge: 'br-ex', addresses: ADDRESSES },
  bridges: uplinks('eth1'),
  knownUplinks: ['eth1'],
  ...changes,
});
const gatewayOf = (changes: Partial<SeenHost>): WayOut['state'] | undefined =>
  waysOut(host(changes)).find(({ isGateway }) => isGateway)?.state;

describe('of the gateway', () => {
  test('is well with a bridge that is up and an uplink with carrier', () => {
    expect(waysOut(host())).toEqual([
      {
        device: 'br-ex',
        isGateway: true,
        networks: ['172.18.0.0/16', 'fd00:172:18::/64'],
        state: 'up',
      },
    ]);
  });

  test.each<readonly [string, Partial<SeenHost>]>([
    ['Open vSwitch has no bridge br-ex', { bridges: new Map() }],
    ['bridge br-ex is down', { devices: [device('br-ex', [], { isUp: false }), device('eth1')] }],
    ['uplink eth1 is not in br-ex', { bridges: uplinks() }],
    [
      'uplink eth7 is not in br-ex',
      { bridges: new Map([['br-ex', { named: 'eth7', found: [] }]]), knownUplinks: [] },
    ],
    ['uplink eth1 of br-ex is not there', { devices: [device('br-ex')] }],
    [
      'uplink eth1 of br-ex is down',
      { devices: [device('br-ex'), device('eth1', [], { isUp: false, hasCarrier: false })] },
    ],
    [
      'uplink eth1 of br-ex has no carrier',
      { devices: [device('br-ex'), device('eth1', [], NO_CARRIER)] },
    ],
    [
      'uplink of another name of br-ex is not there',
      { bridges: uplinks('a"; b'), devices: [device('br-ex')] },
    ],
  ])('is down: %s', (down, changes) => {
    expect(gatewayOf(changes)).toEqual({ down });
  });

  test.each<readonly [string, Partial<SeenHost>]>([
    ['the database of Open vSwitch can not be read', { bridges: undefined }],
    ['ovs-vswitchd has not made the bridge yet', { devices: [device('eth1')] }],
    [
      'ovs-vswitchd drives the uplink itself',
      {
        bridges: new Map([
          ['br-ex', { named: 'dpdk0', found: [{ name: 'dpdk0', isOfKernel: false }] }],
        ]),
      },
    ],
  ])('is unknown where %s', (_, changes) => {
    expect(gatewayOf(changes)).toBe('unknown');
  });

  test('is well without an uplink where nobody knows of one', () => {
    expect(gatewayOf({ bridges: uplinks(), knownUplinks: [] })).toBe('up');
  });

  test('is well while one of several uplinks is', () => {
    const bridges = uplinks('eth1', 'eth2');
    const [bridge, dead] = [device('br-ex'), device('eth1', [], NO_CARRIER)];
    expect(gatewayOf({ bridges, devices: [bridge, dead, device('eth2')] })).toBe('up');
    expect(gatewayOf({ bridges, devices: [bridge, dead, device('eth2', [], NO_CARRIER)] })).toEqual(
      { down: 'uplink eth1 of br-ex has no carrier' },
    );
  });
});

test('each other card is on its own; what is in the network of the gateway leaves by that, and an address alone is of no network', () => {
  const ways = waysOut(
    host({
      devices: [
        device('br-ex', ADDRESSES),
        device('eth1'),
        device('eth2', ['10.9.0.2/24', 'fd00:10:9::2/64'], NO_CARRIER),
        device('eth3', ['10.8.0.2/24'], { isUp: false, hasCarrier: false }),
        device('eth4', ['172.18.5.2/24', '10.7.0.2/32'], NO_CARRIER),
        device('eth5', ['10.6.0.2/24']),
      ],
    }),
  ).filter(({ isGateway }) => !isGateway);
  expect(ways.map(({ device: name, networks, state }) => [name, networks, state])).toEqual([
    ['eth2', ['10.9.0.0/24', 'fd00:10:9::/64'], { down: 'eth2 has no carrier' }],
    ['eth3', ['10.8.0.0/24'], { down: 'eth3 is down' }],
    ['eth5', ['10.6.0.0/24'], 'up'],
  ]);
});

test('a node without a gateway has cards alone', () => {
  const cards = waysOut(host({ gateway: undefined, devices: [device('eth2', ['10.9.0.2/24'])] }));
  expect(cards.map(({ device: name, isGateway }) => [name, isGateway])).toEqual([['eth2', false]]);
});

test('a network that several devices have is down where all of them are', () => {
  const way = (name: string): WayOut => ({
    device: name,
    isGateway: false,
    networks: ['10.9.0.0/24'],
    state: 'up',
  });
  const ways = [way('eth2'), way('eth3')];
  const downWith = (...names: readonly string[]): object =>
    Object.fromEntries(
      networksDown(ways, (name) => (names.includes(name) ? `${name} is down` : undefined)),
    );
  expect(downWith()).toEqual({});
  expect(downWith('eth2')).toEqual({});
  expect(downWith('eth3')).toEqual({});
  expect(downWith('eth2', 'eth3')).toEqual({ '10.9.0.0/24': 'eth3 is down' });
});

describe('what is seen', () => {
  const seen = (state: WayOut['state']): readonly WayOut[] => [
    { device: 'br-ex', isGateway: true, networks: ['172.18.0.0/16'], state },
  ];
  const DOWN = { down: 'eth1 has no carrier' };

  test('counts as down when it has been so without a break, and as up again after longer', () => {
    const held = new HeldWaysOut();
    expect(held.take(seen('up'), 0)).toBe(DOWN_AFTER);
    expect(held.isKnown(DOWN_AFTER - 1)).toBe(false);
    expect(held.take(seen('up'), DOWN_AFTER)).toBe(Infinity);
    expect(held.isKnown(DOWN_AFTER)).toBe(true);
    expect(held.take(seen(DOWN), 5000)).toBe(5000 + DOWN_AFTER);
    expect(held.take(seen(DOWN), 5000 + DOWN_AFTER - 1)).toBe(5000 + DOWN_AFTER);
    expect(held.whyDown('br-ex')).toBeUndefined();
    expect(held.take(seen(DOWN), 5000 + DOWN_AFTER)).toBe(Infinity);
    expect(held.whyDown('br-ex')).toBe(DOWN.down);
    held.take(seen({ down: 'uplink eth1 is not in br-ex' }), 7000);
    expect(held.whyDown('br-ex')).toBe('uplink eth1 is not in br-ex');
    expect(held.take(seen('up'), 8000)).toBe(8000 + UP_AFTER);
    held.take(seen('up'), 8000 + UP_AFTER - 1);
    expect(held.whyDown('br-ex')).toBe('uplink eth1 is not in br-ex');
    held.take(seen('up'), 8000 + UP_AFTER);
    expect(held.whyDown('br-ex')).toBeUndefined();
  });

  test('a device that is gone is forgotten', () => {
    const held = new HeldWaysOut();
    held.take(seen(DOWN), 0);
    held.take(seen(DOWN), DOWN_AFTER);
    held.take([], 3000);
    expect(held.whyDown('br-ex')).toBeUndefined();
  });

  test('whatever comes and goes, it changes only after the same was seen for long enough, and never where nobody knows', () => {
    const looks = fc.array(
      fc.tuple(fc.constantFrom('up', 'unknown', DOWN), fc.integer({ min: 1, max: 4000 })),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(looks, (all) => {
        const held = new HeldWaysOut();
        let now = 0;
        let since = 0;
        let last: unknown;
        let isDown = false;
        for (const [state, after] of all) {
          now += after;
          held.take(seen(state as WayOut['state']), now);
          if (state !== last) since = now;
          last = state;
          const is = held.whyDown('br-ex') !== undefined;
          if (is !== isDown) {
            expect(state).toBe(is ? DOWN : 'up');
            expect(now - since).toBeGreaterThanOrEqual(is ? DOWN_AFTER : UP_AFTER);
          }
          isDown = is;
        }
      }),
    );
  });
});
