import { describe, expect, test } from 'vitest';
import {
  claimComesBefore,
  claimProblem,
  claimsOf,
  type PodClaim,
} from '../../../../src/model/rules/pod-claims.ts';

const claim: PodClaim = {
  namespace: 'blue',
  pod: 'a',
  nadKey: 'blue/net',
  network: 'net',
  addresses: ['10.0.0.3/16', 'FD00:0::3/64'],
  macAddress: '0a:58:0a:00:00:03',
  tunnelId: 10,
  since: 1,
  created: '2026-01-01T00:00:00Z',
};
const machine = { name: 'vm', hasArrived: false };
const owned =
  (...claims: readonly PodClaim[]) =>
  (claimed: string): readonly PodClaim[] =>
    claims.filter((one) => claimsOf(one).includes(claimed));

test('a pod claims its MAC address, its tunnel id and each of its addresses, in one spelling', () => {
  expect(claimsOf(claim)).toEqual([
    'net 0a:58:0a:00:00:03',
    'net port tunnel id 10',
    'net 10.0.0.3',
    'net fd00::3',
  ]);
});

describe('of two pods that claim the same', () => {
  test('who had it first keeps it; of those that a start finds it is the older pod', () => {
    const younger = { ...claim, pod: 'b', created: '2026-01-02T00:00:00Z' };
    expect(claimComesBefore(claim, younger)).toBe(true);
    expect(claimComesBefore(younger, claim)).toBe(false);
    expect(claimComesBefore({ ...younger, since: 0 }, claim)).toBe(true);
  });

  test('made in one moment, one and the same of them, whoever asks', () => {
    const other = { ...claim, pod: 'b' };
    expect(claimComesBefore(claim, other)).not.toBe(claimComesBefore(other, claim));
  });
});

describe('a claim', () => {
  test('of what another pod has does not count, and says whose it is', () => {
    const other = { ...claim, pod: 'b', macAddress: '0a:58:0a:00:00:04', tunnelId: 11 };
    expect(claimProblem(claim, owned(other))).toBe(
      '10.0.0.3 of network "net" is that of pod "blue/b" (attachment "blue/net")',
    );
    expect(claimProblem(claim, owned())).toBeUndefined();
  });

  test('of one virtual machine may be that of two pods, but for the tunnel id', () => {
    const from = { ...claim, machine };
    const to = { ...claim, pod: 'b', machine, tunnelId: 11 };
    expect(claimProblem(to, owned(from))).toBeUndefined();
    expect(claimProblem({ ...to, tunnelId: 10 }, owned(from))).toContain('port tunnel id 10');
    expect(claimProblem({ ...to, machine: { ...machine, name: 'other' } }, owned(from))).toContain(
      'blue/a',
    );
    expect(claimProblem({ ...to, pod: 'c' }, owned(from, to))).toContain('blue/a');
  });
});
