import type { Address, Link, Neighbour, Route, RouteEvent, Rule } from 'rtnetlink-ts';
import { expect, test } from 'vitest';
import { isDefaultRoute, staleAfter } from '../../../../src/node/linux/stale.ts';

const NAMES = new Map([
  [1, 'br-ex'],
  [2, 'ovn-k8s-mp2'],
  [3, 'ovs-system'],
  [4, 'blue-vrf'],
  [5, 'ab12'],
]);

const link = (name: string, more: Partial<Link> = {}, isGone = false): RouteEvent => ({
  kind: 'link',
  isGone,
  link: { name, ...more } as Link,
});
const route = (more: Partial<Route>, isGone = false): RouteEvent => ({
  kind: 'route',
  isGone,
  route: { table: 254, destination: '10.0.0.0/8', protocol: 85, hops: [], ...more } as Route,
});
const address = (device: number, text: string): RouteEvent => ({
  kind: 'address',
  isGone: true,
  address: { device, address: text } as Address,
});
const rule = (table: number): RouteEvent => ({
  kind: 'rule',
  isGone: true,
  rule: { table } as Rule,
});
const neighbour = (protocol: number, device = 1): RouteEvent => ({
  kind: 'neighbour',
  isGone: false,
  neighbour: { device, address: '169.254.0.13', protocol } as Neighbour,
});
const over = (device: number): Pick<Route, 'hops'> => ({
  hops: [{ device, via: undefined, weight: 1, flags: 0 }],
});

test.each<[string, RouteEvent, object]>([
  ['a link', link('mp2'), { kind: 'link', dev: 'mp2' }],
  ['a link that goes', link('mp2', {}, true), { kind: 'link', dev: 'mp2' }],
  ['the end of a pair in one namespace', link('a', { peer: 7 }), { kind: 'link', dev: 'a' }],
  [
    'a link of a pod',
    link('ab12', { peer: 2, peerNamespace: 0 }),
    { kind: 'link', dev: 'ab12', isOutward: 'there' },
  ],
  [
    'a link of a pod, on Open vSwitch',
    link('ab12', { peer: 2, peerNamespace: 0, master: 3 }),
    { kind: 'link', dev: 'ab12', isOutward: 'there' },
  ],
  [
    'a link of a pod, in a VRF',
    link('ab12', { peer: 2, peerNamespace: 0, master: 4 }),
    { kind: 'link', dev: 'ab12', isOutward: 'held' },
  ],
  [
    'a link of a pod, whose other end went first',
    link('ab12', { peer: 0 }, true),
    { kind: 'link', dev: 'ab12', isOutward: 'gone' },
  ],
  ['an address', address(2, 'fd20::2/64'), { kind: 'link', dev: 'ovn-k8s-mp2' }],
  ['a route of ours', route({ table: 10_002 }), { kind: 'routes', table: 10_002 }],
  [
    "the kernel's route of a management port, that goes",
    route({ protocol: 2, table: 10_002, ...over(2) }, true),
    { kind: 'routes', table: 10_002 },
  ],
  ['a rule', rule(10_002), { kind: 'rules', table: 10_002 }],
  ['a rule without a table', rule(0), { kind: 'rules', table: 0 }],
  [
    'a neighbour of ours',
    neighbour(85),
    { kind: 'neighbour', dev: 'br-ex', address: '169.254.0.13' },
  ],
  ['settings', { kind: 'settings', device: 1 }, { kind: 'sysctls', dev: 'br-ex' }],
  ['settings of all', { kind: 'settings', device: -1 }, { kind: 'sysctls', dev: 'all' }],
  ['settings of new ones', { kind: 'settings', device: -2 }, { kind: 'sysctls', dev: 'default' }],
])('%s', (_, event, stale) => {
  expect(staleAfter(event, 85, NAMES)).toEqual(stale);
});

test.each<[string, RouteEvent]>([
  ['a route of others', route({ protocol: 186 })],
  ["the kernel's route of a management port, that comes", route({ protocol: 2, ...over(2) })],
  ["the kernel's route of another device", route({ protocol: 2, ...over(1) }, true)],
  ['a link-local address', address(5, 'fe80::2025:c5ff:fe05:6f10/64')],
  ['an address of a device that is gone', address(9, '10.0.0.1/24')],
  ['a neighbour of others', neighbour(0)],
  ['a neighbour on a device that is gone', neighbour(85, 9)],
  ['settings of a device that is gone', { kind: 'settings', device: 9 }],
])('%s is nothing to us', (_, event) => {
  expect(staleAfter(event, 85, NAMES)).toBeUndefined();
});

test.each<[string, Partial<Route>, boolean]>([
  ['a default route', { table: 254, destination: '0.0.0.0/0' }, true],
  ['one of IPv6', { table: 254, destination: '::/0' }, true],
  ['one of another table', { table: 10_002, destination: '0.0.0.0/0' }, false],
  ['another route', { table: 254, destination: '10.0.0.0/8' }, false],
])('%s is a way out of the host: %s', (_, one, expected) => {
  expect(isDefaultRoute(one as Route)).toBe(expected);
});
