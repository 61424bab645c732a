/** Drops as people are shown them: put together, in order, and chosen by network and namespace. */
import { expect, test } from 'vitest';
import { chosen, isNetworkNamed, togetherByRule, type Drop } from '../../../src/views/drops.ts';

const drop = (more: Partial<Drop>): Drop => ({
  network: 'blue_net',
  networkObject: 'UserDefinedNetwork blue/net',
  object: 'EgressFirewall blue/default',
  reason: 'egress/firewall',
  stage: 'ls_out_acl_eval',
  match: '1',
  key: 'a',
  packets: 1,
  bytes: 10,
  ...more,
});

test('flows of one row in one network and direction are one line; what drops most is first, what OVN does by itself last', () => {
  const { object: _none, ...ovn } = drop({ key: 'b', reason: 'ovn', packets: 50 });
  const shown = togetherByRule([
    drop({}),
    ovn,
    drop({ packets: 2, bytes: 20 }),
    drop({ key: 'c', packets: 7 }),
    drop({ network: 'red_net', packets: 2 }),
  ]);
  expect(shown.map(({ key, network, packets, bytes }) => [key, network, packets, bytes])).toEqual([
    ['c', 'blue_net', 7, 10],
    ['a', 'blue_net', 3, 30],
    ['a', 'red_net', 2, 10],
    ['b', 'blue_net', 50, 10],
  ]);
});

test.each<readonly [string, string, boolean]>([
  ['UserDefinedNetwork blue/net', 'blue_net', true],
  ['UserDefinedNetwork blue/net', 'blue/net', true],
  ['UserDefinedNetwork blue/net', 'net', false],
  ['ClusterUserDefinedNetwork net', 'net', true],
])('the network of %s is %s: %s', (object, written, isNamed) => {
  expect(isNetworkNamed({ name: 'blue_net', object }, written)).toBe(isNamed);
});

test('of a namespace are its objects, and what its networks drop', () => {
  const drops = [
    drop({ key: 'its network' }),
    drop({ key: 'its pod', network: 'default', networkObject: 'x', object: 'Pod blue/web' }),
    drop({
      key: 'its own',
      networkObject: 'ClusterUserDefinedNetwork c',
      object: 'Namespace blue',
    }),
    drop({ key: 'another', networkObject: 'UserDefinedNetwork red/net', object: 'Pod red/web' }),
  ];
  const keys = (namespace: string): readonly string[] =>
    chosen(drops, { namespace }).map(({ key }) => key);
  expect(keys('blue')).toEqual(['its network', 'its pod', 'its own']);
  expect(keys('red')).toEqual(['another']);
  expect(chosen(drops, { network: 'default' }).map(({ key }) => key)).toEqual(['its pod']);
});
