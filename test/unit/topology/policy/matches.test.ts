import { describe, expect, test } from 'vitest';
import type { PolicyPort } from '../../../../src/model/read/policies.ts';
import {
  allOf,
  byProtocol,
  eachWith,
  inBlocks,
  inSets,
  peerEnd,
} from '../../../../src/topology/policy/matches.ts';

const ports = (...found: readonly PolicyPort[]): Record<string, string> =>
  Object.fromEntries(byProtocol(found));

describe('matches of policies (reference/topology.md §16.1)', () => {
  test('the peer is where packets come from, or where they go', () => {
    expect([peerEnd('Ingress'), peerEnd('Egress')]).toEqual(['src', 'dst']);
  });

  test('everybody is every packet of the families', () => {
    expect([...allOf(['v4', 'v6'])]).toEqual([
      ['v4', 'ip4'],
      ['v6', 'ip6'],
    ]);
  });

  test('sets are named once and in one order, whatever order peers are in', () => {
    const match = inSets('src', new Map([['v4', ['b', 'a', 'b']]]));
    expect([...match]).toEqual([['v4', 'ip4.src == {$a, $b}']]);
    expect(inSets('src', new Map([['v4', ['a', 'b']]]))).toEqual(match);
  });

  test('blocks are joined with the sets of what exceptions leave, family by family', () => {
    expect([...inBlocks('dst', ['10.0.0.0/8', 'fd00::/8'], new Map([['v4', 's']]))]).toEqual([
      ['v4', '(ip4.dst == 10.0.0.0/8 || ip4.dst == $s)'],
      ['v6', 'ip6.dst == fd00::/8'],
    ]);
  });

  test('what is asked for besides is asked of each family by itself', () => {
    expect(eachWith(['ip4.src == $a'], 'tcp', 'outport == @g')).toBe(
      'ip4.src == $a && tcp && outport == @g',
    );
    expect(eachWith(['ip4.src == $a', 'ip6.src == $b'], 'tcp')).toBe(
      '(ip4.src == $a && tcp) || (ip6.src == $b && tcp)',
    );
  });
});

describe('ports of a rule', () => {
  test('are one match per protocol: a list of single ones, and each range', () => {
    expect(
      ports(
        { protocol: 'tcp', port: 80 },
        { protocol: 'tcp', port: 443 },
        { protocol: 'tcp', port: 8000, endPort: 8080 },
        { protocol: 'udp', port: 53 },
      ),
    ).toEqual({
      tcp: 'tcp && (tcp.dst=={80,443} || 8000<=tcp.dst<=8080)',
      udp: 'udp && udp.dst==53',
    });
  });

  test('one that names no port means all of its protocol, whatever others say', () => {
    expect(ports({ protocol: 'sctp' }, { protocol: 'sctp', port: 9 })).toEqual({ sctp: 'sctp' });
  });

  test('a port twice is there once, and one with a name is not among them', () => {
    expect(ports({ protocol: 'tcp', port: 80 }, { protocol: 'tcp', port: 80 })).toEqual({
      tcp: 'tcp && tcp.dst==80',
    });
    expect(ports({ protocol: 'tcp', name: 'http' })).toEqual({});
  });
});
