import { expect, test } from 'vitest';
import { defaultRoutes, hostDevice } from '../../../../src/node/linux/host-state.ts';

test('addresses by which a node may be known are told from those that pass, move, or can not be used', () => {
  const address = (local: string, more: object = {}): object => ({
    family: 'inet',
    local,
    prefixlen: 16,
    label: 'br-ex',
    ...more,
  });
  const device = hostDevice({
    ifname: 'br-ex',
    address: '0a:58:ac:12:00:03',
    addr_info: [
      address('172.18.0.3'),
      address('172.18.0.4', { secondary: true }),
      address('172.18.0.5', { label: 'br-ex:vip' }),
      address('fd00::1', { deprecated: true }),
      address('fd00::2', { temporary: true }),
      address('fd00::3', { tentative: true }),
      address('fd00::4', { dadfailed: true }),
      {},
    ],
  });
  expect(device).toEqual({
    name: 'br-ex',
    mac: '0a:58:ac:12:00:03',
    addresses: [
      { address: '172.18.0.3/16', isLasting: true },
      { address: '172.18.0.4/16', isLasting: false },
      { address: '172.18.0.5/16', isLasting: false },
      { address: 'fd00::1/16', isLasting: false },
      { address: 'fd00::2/16', isLasting: false },
    ],
  });
});

test.each([
  [
    'one next hop',
    { dst: 'default', gateway: '172.18.0.1', dev: 'br-ex', flags: [] },
    [{ dev: 'br-ex', nextHop: '172.18.0.1', metric: 0 }],
  ],
  [
    'several, of which one is dead',
    {
      dst: 'default',
      metric: 100,
      flags: [],
      nexthops: [
        { gateway: '172.18.0.1', dev: 'br-ex', weight: 1, flags: [] },
        { gateway: '172.18.0.2', dev: 'br-ex', weight: 1, flags: ['dead', 'linkdown'] },
      ],
    },
    [{ dev: 'br-ex', nextHop: '172.18.0.1', metric: 100 }],
  ],
  ['without a next hop', { dst: 'default', dev: 'wg0', flags: [] }, []],
])('a default route with %s', (_what, json, expected) => {
  expect(defaultRoutes(json)).toEqual(expected);
});
