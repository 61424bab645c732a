import { expect, test } from 'vitest';
import type { Edge } from '../../../../src/verify/findings.ts';
import { prove } from '../../../../src/verify/verify.ts';
import type { Snapshot } from '../../../../src/verify/snapshot.ts';
import { certificateOf } from '../../../../src/verify/certificate/certify.ts';
import { recheck } from '../../../../src/verify/recheck/recheck.ts';
import { acl, BLUE, joinedSnapshot } from '../../../support/verify/joined-zone.ts';

const edgeOf = (snapshot: Snapshot, network: string): Edge | undefined =>
  prove(snapshot).verdict.edges.find(({ from, kind }) => kind === 'connection' && from === network);

test('without ACLs everything passes between networks that a connection joins', () => {
  const snapshot = joinedSnapshot();
  const { verdict } = prove(snapshot);
  expect(verdict.violations).toEqual([]);
  expect(verdict.undecided).toEqual([]);
  expect(edgeOf(snapshot, 'blue_net')).toMatchObject({
    passes: [{ destinations: ['10.30.0.0/16'], protocol: 'ip' }],
    enters: [{ destinations: ['10.20.0.3', '10.20.0.4'], protocol: 'ip' }],
  });
});

const CLOSED = {
  groups: { closed: ['blue.net_blue_a'] },
  sets: { web: ['10.30.0.3', '10.30.0.8'] },
};

test('what a policy lets in is listed by its addresses and ports; other pods stay open', () => {
  const snapshot = joinedSnapshot({
    ...CLOSED,
    acls: [
      acl('closed', 'to-lport', 'outport == @closed', { action: 'drop', priority: 1000 }),
      acl(
        'closed',
        'to-lport',
        'ip4.src == $web && tcp && tcp.dst=={80,443} && outport == @closed',
      ),
      acl(
        'closed',
        'to-lport',
        'ip4.src == 10.30.1.0/24 && 8000<=udp.dst<=8010 && outport == @closed',
      ),
    ],
  });
  expect(edgeOf(snapshot, 'blue_net')?.enters).toEqual([
    {
      sources: ['10.30.0.3', '10.30.0.8'],
      destinations: [BLUE],
      protocol: 'tcp',
      ports: [80, 443],
    },
    {
      sources: ['10.30.1.0/24'],
      destinations: [BLUE],
      protocol: 'udp',
      portRanges: ['8000-8010'],
    },
    { destinations: ['10.20.0.4'], protocol: 'ip' },
  ]);
});

test('what is dropped of new connections alone passes of those that have begun', () => {
  const snapshot = joinedSnapshot({
    acls: [
      acl('blue_net_n1', 'from-lport', 'ip4.dst == {10.30.0.0/16} && ct.new', {
        action: 'drop',
        tier: 0,
        priority: 450,
      }),
      acl('blue_net_n1', 'to-lport', 'ip4.src==10.20.0.2'),
    ],
  });
  expect(edgeOf(snapshot, 'blue_net')?.passes).toEqual([
    { destinations: ['10.30.0.0/16'], protocol: 'ip', established: true },
  ]);
});

test('an ACL of which can not be told what it matches leaves the verdict open, and is named', () => {
  const snapshot = joinedSnapshot({
    acls: [acl('green_net_n1', 'to-lport', 'pkt.mark == 7', { action: 'drop' })],
  });
  expect(prove(snapshot).verdict.undecided).toEqual([
    'Northbound ACL to-lport tier 2 priority 1001 pkt.mark == 7: asks for more than addresses, protocol, ports and connection: what it lets pass between network green_net and others is not known',
  ]);
});

test('of addresses and headers without end as many are listed as people read, and the rest is counted', () => {
  const addresses = Array.from({ length: 100 }, (_, i) => `10.30.0.${2 * i + 1}`);
  const snapshot = joinedSnapshot({
    ...CLOSED,
    sets: { web: addresses },
    acls: [
      acl('closed', 'from-lport', 'inport == @closed', { action: 'drop', priority: 1000 }),
      ...Array.from({ length: 50 }, (_, i) =>
        acl(
          'closed',
          'from-lport',
          `inport == @closed && ip4.dst == 10.30.1.${i} && udp.dst == ${i}`,
        ),
      ),
      acl('closed', 'from-lport', 'inport == @closed && ip4.dst == $web && tcp.dst == 80', {
        priority: 1003,
      }),
      acl(
        'closed',
        'from-lport',
        'inport == @closed && ip4.dst == 10.30.2.1 && ip.proto == {1,2,3,4,5,7,8,9,10}',
        {
          priority: 1002,
        },
      ),
    ],
  });
  const { passes = [], unlisted } = edgeOf(snapshot, 'blue_net') ?? {};
  expect(passes).toHaveLength(32);
  // 50, that of the set, and that of protocols; of the other pod everything.
  expect(unlisted).toBe(53 - 32);
  expect(passes).toContainEqual({
    sources: [BLUE],
    destinations: addresses.slice(0, 32),
    protocol: 'tcp',
    ports: [80],
    left: { destinations: 68 },
  });
  expect(passes).toContainEqual({
    sources: [BLUE],
    destinations: ['10.30.2.1'],
    protocol: '1-5, 7-10',
  });
});

test('a certificate has them, and is checked with them', () => {
  const snapshot = joinedSnapshot(CLOSED);
  const certificate = certificateOf(snapshot, prove(snapshot), {
    time: '2026-01-02T03:04:05.000Z',
    heddle: '0.0.0',
  });
  expect(recheck(certificate)).toEqual([]);
  expect(certificate.edges.filter(({ enters }) => enters !== undefined)).toHaveLength(2);
});
