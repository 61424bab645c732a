import { ADDRESS_FLAG, HOP_FLAG } from 'rtnetlink-ts';
import { expect, test } from 'vitest';
import { defaultRoutes, hostDevice } from '../../../../src/node/linux/host-state.ts';

test('addresses by which a node may be known are told from those that pass, move, or can not be used', () => {
  const address = (text: string, flags = 0, label: string | undefined = 'br-ex') => ({
    address: text,
    flags: ADDRESS_FLAG.permanent | flags,
    label,
  });
  const device = hostDevice({ name: 'br-ex', mac: '0a:58:ac:12:00:03' }, [
    address('172.18.0.3/16'),
    address('172.18.0.4/16', ADDRESS_FLAG.secondary),
    address('172.18.0.5/16', 0, 'br-ex:vip'),
    address('fd00::1/64', ADDRESS_FLAG.deprecated),
    address('fd00::3/64', ADDRESS_FLAG.tentative),
    address('fd00::4/64', ADDRESS_FLAG.dadFailed),
  ]);
  expect(device).toEqual({
    name: 'br-ex',
    mac: '0a:58:ac:12:00:03',
    addresses: [
      { address: '172.18.0.3/16', isLasting: true },
      { address: '172.18.0.4/16', isLasting: false },
      { address: '172.18.0.5/16', isLasting: false },
      { address: 'fd00::1/64', isLasting: false },
    ],
  });
});

const hop = (via: string | undefined, flags = 0) => ({ device: 7, via, weight: 1, flags });
const route = { family: 'v4' as const, destination: '0.0.0.0/0', metric: undefined };
const [first, second] = ['172.18.0.1', '172.18.0.2'];

test.each([
  [
    'a default route with one next hop',
    { ...route, hops: [hop(first)] },
    [{ dev: 'br-ex', nextHop: first, metric: 0 }],
  ],
  [
    'one with several, of which one is dead',
    { ...route, metric: 100, hops: [hop(first), hop(second, HOP_FLAG.dead | HOP_FLAG.linkDown)] },
    [{ dev: 'br-ex', nextHop: first, metric: 100 }],
  ],
  ['one without a next hop', { ...route, hops: [hop(undefined)] }, []],
  ['one by a next hop of the other family', { ...route, hops: [hop('fd00::1')] }, []],
  ['one over a device that went', { ...route, hops: [{ ...hop(first), device: 8 }] }, []],
  ['a route to less', { ...route, destination: '10.0.0.0/8', hops: [hop(first)] }, []],
  [
    'a default route of IPv6',
    { ...route, family: 'v6' as const, destination: '::/0', metric: 1024, hops: [hop('fe80::1')] },
    [{ dev: 'br-ex', nextHop: 'fe80::1', metric: 1024 }],
  ],
])('ways out that %s says', (_what, found, expected) => {
  expect(defaultRoutes(found, (index) => (index === 7 ? 'br-ex' : undefined))).toEqual(expected);
});
