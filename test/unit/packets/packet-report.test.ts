/** What the answer to `heddle explain POD DEST` is in words. */
import { describe, expect, test } from 'vitest';
import { NFT_TABLE } from '../../../src/node/nftables/nft-rows.ts';
import {
  packetReportText,
  type LegEnd,
  type PacketReport,
} from '../../../src/packets/packet-report.ts';

const ending = (end: LegEnd): string => {
  const report: PacketReport = {
    node: 'n1',
    packet: 'Pod blue/web → 192.0.2.9:80/tcp',
    verdict: "can't be decided here",
    part: 'whole',
    why: '',
    sender: {},
    destination: {},
    stoppedBy: [],
    remedies: [],
    legs: [{ direction: 'there', from: '10.20.0.5', to: '192.0.2.9', hops: [], end }],
    notes: [],
  };
  return packetReportText(report);
};

describe('what is handed to the kernel', () => {
  const host = { kind: 'host', port: 'k8s-blue', device: 'ovn-k8s-mp1' } as const;

  test.each<readonly [string, LegEnd]>([
    [
      ' at prerouting, forward and postrouting',
      { ...host, route: { kind: 'sent', table: 1001, device: 'eth1', via: '192.0.2.1' } },
    ],
    [' at prerouting and input', { ...host, route: { kind: 'here' } }],
    ['', host],
  ])('ends with where nftables see it, which are not followed:%s', (hooks, end) => {
    expect(ending(end).split('\n').at(-1)).toBe(
      `    not followed: nftables of the host${hooks}, which may drop it or give it another address (of Heddle's own rules: nft list table ${NFT_TABLE.family} ${NFT_TABLE.name})`,
    );
  });

  test('is all that has such a line', () => {
    expect(ending({ kind: 'returned', port: 'patch' })).not.toContain('not followed');
    expect(ending({ kind: 'outside', port: 'br-ex_n1' })).not.toContain('not followed');
  });
});
