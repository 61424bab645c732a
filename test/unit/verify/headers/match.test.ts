import { describe, expect, test } from 'vitest';
import {
  box,
  difference,
  EVERYTHING,
  intersection,
  PORT,
  PROTOCOL,
  SOURCE,
  DESTINATION,
  STATE,
  union,
  type HeaderSet,
} from '../../../../src/verify/headers/boxes.ts';
import { listed } from '../../../../src/verify/headers/listed.ts';
import { addressesNamed, matched } from '../../../../src/verify/headers/matched.ts';
import { MatchError, parseMatch } from '../../../../src/verify/headers/match.ts';
import { between, V4 } from '../../../../src/verify/headers/ranges.ts';

const CONTEXT = {
  inport: { name: 'blue_a', isIn: (group: string) => group === 'closed' },
  outport: 'none' as const,
  hasGroup: () => true,
  addresses: (name: string) =>
    name === 'web' ? addressesNamed(['10.1.0.3', '10.1.0.4/31', 'fd00::1']) : undefined,
};

const of = (text: string) => matched(parseMatch(text), CONTEXT);
const same = (a: HeaderSet, b: HeaderSet): boolean =>
  difference(a, b).length === 0 && difference(b, a).length === 0;
const V4_ONLY = listed(intersection(EVERYTHING, [box({ [SOURCE]: V4 })]), V4).passes;

/** What a match is true of, as edges list it. */
const exact = (text: string): unknown => {
  const { surely, perhaps } = of(text);
  expect(same(surely, perhaps), text).toBe(true);
  return listed(perhaps, V4).passes.map(
    ({ sources = [], destinations, protocol, ports = [], portRanges = [] }) =>
      [sources, destinations, protocol, ports, portRanges].flat().join(' '),
  );
};

describe('a match that can be read', () => {
  test.each([
    ['ip4.dst == 10.0.0.0/8', ['10.0.0.0/8 ip']],
    ['ip4.dst == 10.0.0.0/255.0.0.0 && tcp', ['10.0.0.0/8 tcp']],
    ['ip4.dst == {10.0.0.1, 10.0.0.2 10.0.0.3} && udp.dst == 53', ['10.0.0.1 10.0.0.2/31 udp 53']],
    [
      'ip4.src == $web && ip4.dst == 10.2.0.1 && tcp.dst==80',
      ['10.1.0.3 10.1.0.4/31 10.2.0.1 tcp 80'],
    ],
    [
      'ip4.dst == 10.2.0.1 && (80 <= tcp.dst <= 90 || tcp.dst == {443,22})',
      ['10.2.0.1 tcp 22 443 80-90'],
    ],
    // OVN takes a negation to the comparison, and asks for its protocol all the same.
    ['ip4.dst == 10.2.0.1 && !(tcp.dst == 80)', ['10.2.0.1 tcp 0-79 81-65535']],
    ['!(ip4.dst != 10.2.0.1 || !icmp4)', ['10.2.0.1 icmp4']],
    ['ip4.dst == 10.2.0.1 && ip.proto == {1, 0x11}', ['10.2.0.1 icmp4', '10.2.0.1 udp']],
    ['ip4.dst == 10.2.0.1 && tcp.dst > 0xfff0', ['10.2.0.1 tcp 65521-65535']],
    ['ip4.dst == 10.2.0.0/30 && ip4.dst != {10.2.0.1, 10.2.0.2}', ['10.2.0.0 10.2.0.3 ip']],
    ['inport == @closed && ip4.dst == 10.2.0.1', ['10.2.0.1 ip']],
    ['inport == {"green_a", "blue_a"} && ip4.dst == 10.2.0.1', ['10.2.0.1 ip']],
    ['inport != @closed && ip4.dst == 10.2.0.1', []],
    ['inport == @others || outport == "blue_a"', []],
    ['(arp || nd || ip4.dst == 10.2.0.1)', ['10.2.0.1 ip']],
    ['0 || ip4.dst == 10.2.0.1', ['10.2.0.1 ip']],
    ['ip6.dst[120..127] == 0xff && icmp6', ['::/0 ff00::/8 icmp6']],
  ])('%s', (text, wanted) => {
    expect(exact(text)).toEqual(wanted);
  });

  test('a connection that begins is another state than one that goes on', () => {
    const begins = [box({ [STATE]: between(1, 1) })];
    expect(same(intersection(EVERYTHING, begins), of('ct.new').perhaps)).toBe(true);
    expect(intersection(of('ct.est && !ct.rpl').perhaps, begins)).toEqual([]);
    expect(listed(of('ip4').perhaps, V4).passes).toEqual(V4_ONLY);
  });
});

describe('what can not be told', () => {
  test.each([
    'eth.src == 0a:58:0a:14:00:03',
    'reg0[2] == 1',
    'pkt.mark == 5',
    'flags.loopback',
    'tcp.flags == 2',
    'ip.proto < 8',
  ])('%s may be true of everything, and surely of nothing', (text) => {
    expect(of(text).surely).toEqual([]);
    expect(of(text).perhaps.length).toBeGreaterThan(0);
    expect(of(`!(${text})`).surely).toEqual([]);
  });

  test.each(['!tcp', 'ip.proto != 6', '!ip6'])('%s: OVN makes less of it', (text) => {
    expect(of(text).surely).toEqual([]);
    expect(of(text).perhaps.length).toBeGreaterThan(0);
  });

  test('a set of addresses that no row has: some of that family', () => {
    const { surely, perhaps } = of('ip4.src == $nobody && tcp.dst == 80');
    expect(surely).toEqual([]);
    const wanted = [
      box({ [SOURCE]: V4, [DESTINATION]: V4, [PROTOCOL]: between(6, 6), [PORT]: between(80, 80) }),
    ];
    expect(same(perhaps, wanted)).toBe(true);
  });

  test('what is true whatever the rest says is told', () => {
    const { surely } = of('pkt.mark == 5 || tcp.dst == 80');
    expect(same(surely, of('tcp.dst == 80').perhaps)).toBe(true);
    expect(union(surely, of('0').perhaps)).toEqual(surely);
  });
});

test.each([
  ['', 'ends where a value should be'],
  ['ip4 &&', 'ends where a value should be'],
  ['ip4 && tcp || udp', 'has && and || side by side'],
  ['tcp.dst == {}', 'has an empty set of values'],
  ['(ip4', 'ends where ")" should be'],
  ['ip4 tcp', 'has "tcp" at 4, where an operator or the end should be'],
  ['ip4.src == "', 'at 11 is no part of a match'],
  ['tcp.dst == 80 == 81', 'where an operator or the end should be'],
  ['10', 'has a value that is compared with nothing'],
  [`${'('.repeat(10_000)}ip4`, 'is nested more than 100 deep'],
  ['ip4; drop', 'is no part of a match'],
])('%j is no match', (text, why) => {
  expect(() => parseMatch(text)).toThrow(MatchError);
  expect(() => parseMatch(text)).toThrow(why);
});
