import { describe, expect, test } from 'vitest';
import {
  ALL_MULTICAST,
  receivedMulticast,
  sentMulticast,
} from '../../../../src/topology/multicast/matches.ts';

const V6 = '(mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1))';

describe('matches of multicast (reference/topology.md §16.4)', () => {
  test('all of it: of both families, whichever are in use', () => {
    expect(ALL_MULTICAST).toContain('ip4.mcast');
    expect(ALL_MULTICAST).toContain('mldv2');
  });

  test('what pods send is that of their families', () => {
    expect(sentMulticast(['v4'])).toBe('ip4.mcast');
    expect(sentMulticast(['v6'])).toBe(V6);
    expect(sentMulticast(['v4', 'v6'])).toBe(`(ip4.mcast || ${V6})`);
  });

  test('what pods get is from the pods of a set, and who asks for listeners', () => {
    expect(receivedMulticast(new Map([['v4', 's4']]))).toBe(
      '(igmp || (ip4.src == $s4 && ip4.mcast))',
    );
    expect(receivedMulticast(new Map([['v6', 's6']]))).toBe(
      '(mldv1 || mldv2 || (ip6.src == $s6 && (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)))',
    );
  });
});
