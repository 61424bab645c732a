import { describe, expect, test } from 'vitest';
import type { Row } from '../../../../src/verify/rows.ts';
import type { Snapshot } from '../../../../src/verify/snapshot.ts';
import { prove } from '../../../../src/verify/verify.ts';
import { found } from '../../../support/verify/found.ts';
import { acl, joinedSnapshot, type PlacedAcl } from '../../../support/verify/joined-zone.ts';

const drop = (network: string, match: string, columns: Row = {}): PlacedAcl =>
  acl(`${network}_net_n1`, 'from-lport', match, {
    action: 'drop',
    tier: 0,
    priority: 450,
    ...columns,
  });
const BLUE_DROP = drop('blue', 'ip4.dst == {10.30.0.0/16} && ct.new');
const GREEN_DROP = drop('green', 'ip4.dst == {10.20.0.0/16} && ct.new');
/** The host reaches its pods: what has OVN track connections. */
const TRACKED = ['blue', 'green'].map((network) =>
  acl(`${network}_net_n1`, 'to-lport', 'ip4.src==10.20.0.2'),
);
const PASS = acl('blue_net_n1', 'from-lport', '(ip4.dst == 172.16.1.0/24)', {
  action: 'pass',
  tier: 0,
  priority: 500,
});

const world = (
  acls: readonly PlacedAcl[],
  more: Parameters<typeof joinedSnapshot>[0] = {},
): Snapshot => joinedSnapshot({ connectivity: ['ClusterIPServiceNetwork'], acls, ...more });
const RIGHT = world([...TRACKED, PASS, BLUE_DROP, GREEN_DROP]);

test('what drops each begun connection closes pods, and services pass', () => {
  const { verdict } = prove(RIGHT);
  expect(verdict.violations).toEqual([]);
  expect(verdict.undecided).toEqual([]);
});

const ALONE = 'ClusterNetworkConnect both opens services alone';

describe('found with row, pair, example and object is', () => {
  test.each<[string, readonly PlacedAcl[], string]>([
    [
      'an ACL that is gone',
      [...TRACKED, PASS, GREEN_DROP],
      `Northbound Logical_Switch blue_net_n1 has no ACL that drops what pods of network blue_net begin with pods of green_net, as 10.20.0.3 > 10.30.0.0 tcp 1: ${ALONE}`,
    ],
    [
      'a range that is too short',
      [...TRACKED, PASS, drop('blue', 'ip4.dst == {10.30.0.0/17} && ct.new'), GREEN_DROP],
      `Northbound Logical_Switch blue_net_n1 has no ACL that drops what pods of network blue_net begin with pods of green_net, as 10.20.0.3 > 10.30.128.0 tcp 1: ${ALONE}`,
    ],
    [
      'one protocol of all',
      [...TRACKED, PASS, drop('blue', 'ip4.dst == {10.30.0.0/16} && tcp && ct.new'), GREEN_DROP],
      `Northbound Logical_Switch blue_net_n1 has no ACL that drops what pods of network blue_net begin with pods of green_net, as 10.20.0.3 > 10.30.0.0 udp 1: ${ALONE}`,
    ],
    [
      'a row before it',
      [
        ...TRACKED,
        PASS,
        BLUE_DROP,
        GREEN_DROP,
        acl('blue_net_n1', 'from-lport', 'tcp.dst == 5432', { tier: 0, priority: 451 }),
      ],
      `Northbound ACL from-lport tier 0 priority 451 tcp.dst == 5432 lets pass what pods of network blue_net begin with pods of green_net, as 10.20.0.3 > 10.30.0.0 tcp 5432: ${ALONE}`,
    ],
    [
      'a `pass` of more than services',
      [...TRACKED, { ...PASS, match: '(ip4.dst == 10.30.0.8/29)' }, BLUE_DROP, GREEN_DROP],
      `Northbound Logical_Switch blue_net_n1 has no ACL that drops what pods of network blue_net begin with pods of green_net, as 10.20.0.3 > 10.30.0.8 tcp 1: ${ALONE}`,
    ],
    [
      'a drop in a later tier, behind what allows',
      [
        ...TRACKED,
        PASS,
        { ...BLUE_DROP, tier: 3 },
        GREEN_DROP,
        acl('blue_net_n1', 'from-lport', 'ip4'),
      ],
      `Northbound ACL from-lport tier 2 priority 1001 ip4 lets pass what pods of network blue_net begin with pods of green_net, as 10.20.0.3 > 10.30.0.0 tcp 1: ${ALONE}`,
    ],
    [
      'the other direction',
      [
        ...TRACKED,
        PASS,
        { ...BLUE_DROP, direction: 'to-lport', match: 'ip4.src == 10.30.0.0/16 && ct.new' },
        GREEN_DROP,
      ],
      `Northbound Logical_Switch blue_net_n1 has no ACL that drops what pods of network blue_net begin with pods of green_net, as 10.20.0.3 > 10.30.0.0 tcp 1: ${ALONE}`,
    ],
  ])('%s', (_, acls, text) => {
    expect(found(world(acls), RIGHT)).toEqual([`cut: ${text}`]);
  });

  test('a row of a group of one pod', () => {
    const groups = { some: ['blue.net_blue_b'] };
    const right = world([...TRACKED, PASS, BLUE_DROP, GREEN_DROP], { groups });
    const row = acl('some', 'from-lport', 'inport == @some && udp.dst == 53', {
      tier: 0,
      priority: 900,
    });
    expect(found(world([...TRACKED, PASS, BLUE_DROP, GREEN_DROP, row], { groups }), right)).toEqual(
      [
        `cut: Northbound ACL from-lport tier 0 priority 900 inport == @some && udp.dst == 53 lets pass what pods of network blue_net begin with pods of green_net, as 10.20.0.4 > 10.30.0.0 udp 53: ${ALONE}`,
      ],
    );
  });

  test('a set of addresses that is missing', () => {
    const rows = [...TRACKED, PASS, drop('blue', 'ip4.dst == $green && ct.new'), GREEN_DROP];
    const right = world(rows, { sets: { green: ['10.30.0.0/16'] } });
    expect(prove(right).verdict.violations).toEqual([]);
    expect(prove(world(rows)).verdict.undecided).toEqual([
      expect.stringContaining('priority 450 ip4.dst == $green && ct.new'),
    ]);
    expect(found(world(rows, { sets: { green: ['10.30.0.0/17'] } }), right)).toEqual([
      expect.stringContaining('10.20.0.3 > 10.30.128.0 tcp 1'),
    ]);
  });

  test('a switch that tracks no connections, where none is new', () => {
    expect(found(world([PASS, BLUE_DROP, GREEN_DROP]), RIGHT)).toEqual([
      expect.stringContaining('has no ACL that drops what pods of network blue_net begin'),
      expect.stringContaining('has no ACL that drops what pods of network green_net begin'),
    ]);
  });
});

test('networks that another object joins are open', () => {
  const { objects } = RIGHT;
  const [connect] = objects.connects;
  if (connect === undefined) throw new Error('there is no connection');
  const second = {
    ...connect,
    metadata: { ...connect.metadata, name: 'pods' },
    spec: { ...connect.spec, connectivity: ['PodNetwork' as const] },
  };
  const open = world(TRACKED, { objects: { connects: [...objects.connects, second] } });
  expect(prove(open).verdict.violations).toEqual([]);
});
