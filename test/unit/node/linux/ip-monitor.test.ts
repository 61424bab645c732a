import { expect, test } from 'vitest';
import { isOfDefaultRoute, staleAfter } from '../../../../src/node/linux/ip-monitor.ts';

test.each([
  [
    '[LINK]3: mp2: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN group 0 ',
    { kind: 'link', dev: 'mp2' },
  ],
  ['[LINK]Deleted 12: mp2: <BROADCAST> mtu 1500', { kind: 'link', dev: 'mp2' }],
  [
    '[LINK]5: ab12@if2: <BROADCAST,MULTICAST> mtu 1400 qdisc noop state DOWN group 0 ',
    { kind: 'link', dev: 'ab12', isOutward: 'there' },
  ],
  [
    '[LINK]5: ab12@if2: <BROADCAST,UP> mtu 1400 qdisc noqueue master ovs-system state UP group 0 ',
    { kind: 'link', dev: 'ab12', isOutward: 'there' },
  ],
  [
    '[LINK]Deleted 5: ab12@NONE: <BROADCAST,MULTICAST> mtu 1400 qdisc noop state DOWN group 0 ',
    { kind: 'link', dev: 'ab12', isOutward: 'gone' },
  ],
  [
    '[LINK]5: ab12@if2: <BROADCAST,UP> mtu 1400 qdisc noqueue master blue-vrf state UP group 0 ',
    { kind: 'link', dev: 'ab12', isOutward: 'held' },
  ],
  [
    '[ADDR]Deleted 3: mp2    inet6 fd20::2/64 scope 0 tentative proto 0x55 ',
    { kind: 'link', dev: 'mp2' },
  ],
  [
    '[ROUTE]1 default via 172.18.0.1 dev br-ex table 10002 proto 85 scope 0 mtu 1400 ',
    { kind: 'routes', table: 10_002 },
  ],
  ['[ROUTE]Deleted 1 10.0.0.0/8 dev br-ex proto 85 scope 0', { kind: 'routes', table: 254 }],
  [
    '[RULE]Deleted 2000:	from all fwmark 0x1002 lookup 10002 proto 85',
    { kind: 'rules', table: 10_002 },
  ],
  ['[RULE]1000:	from all lookup [l3mdev-table] proto 2', { kind: 'rules', table: 0 }],
  [
    '[NEIGH]169.254.0.13 dev br-ex lladdr 0a:58:a9:fe:00:0d PERMANENT proto 85 ',
    { kind: 'neighbour', dev: 'br-ex', address: '169.254.0.13' },
  ],
  ['[NETCONF]inet mp2 rp_filter loose ', { kind: 'sysctls', dev: 'mp2' }],
  [
    '[ROUTE]Deleted 1 10.20.1.0/24 dev ovn-k8s-mp2 table 10002 proto 2 scope 253 src 10.20.1.2 ',
    { kind: 'routes', table: 10_002 },
  ],
])('%s', (line, stale) => {
  expect(staleAfter(line, 85)).toEqual(stale);
});

test.each([
  '[ROUTE]1 10.0.0.0/8 via 172.18.0.1 dev br-ex table 254 proto 186 scope 0 ',
  '[ROUTE]1 10.0.0.0/8 via 172.18.0.1 dev br-ex table 254 proto 850 scope 0 ',
  '[ADDR]5: ab12    inet6 fe80::2025:c5ff:fe05:6f10/64 scope 253 ',
  '[NEIGH]172.18.0.1 dev br-ex lladdr 0a:58:a9:fe:00:0d REACHABLE ',
  '    link/[1] aa:43:47:4e:a9:da brd ff:ff:ff:ff:ff:ff promiscuity 0',
  '       valid_lft forever preferred_lft forever',
  '',
])('%s is nothing to us', (line) => {
  expect(staleAfter(line, 85)).toBeUndefined();
});

test.each([
  ['[ROUTE]1 default via 172.18.0.1 dev br-ex table 254 proto 3 scope 0 ', true],
  ['[ROUTE]Deleted 1 default table 254 proto 3 scope 0 metric 100 ', true],
  ['[ROUTE]Deleted default via fd00::1 dev br-ex proto 9 metric 1024 pref medium', true],
  ['[ROUTE]1 default via 172.18.0.1 dev br-ex table 10002 proto 85 scope 0 ', false],
  ['[ROUTE]1 10.0.0.0/8 via 172.18.0.1 dev br-ex table 254 proto 3 ', false],
  ['[RULE]0: from all lookup 255 proto 2 default ', false],
])('%s is about a way out of the host: %s', (line, expected) => {
  expect(isOfDefaultRoute(line)).toBe(expected);
});
