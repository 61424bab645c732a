/** One answer of two nodes: who is asked next, and what both say together. */
import { describe, expect, test } from 'vitest';
import { joined, nextQuestions } from '../../../src/packets/joined-report.ts';
import {
  packetReportText,
  type LegEnd,
  type PacketReport,
} from '../../../src/packets/packet-report.ts';

const report = (node: string, end: LegEnd, more: Partial<PacketReport> = {}): PacketReport => ({
  node,
  packet: 'Pod blue/web → red/db:5432',
  verdict: "can't be decided here",
  part: 'sends',
  passesHere: true,
  why: 'why',
  sender: { object: 'Pod blue/web', node: 'n1' },
  destination: { object: 'Pod red/db', address: '10.20.0.6', protocol: 'tcp', node: 'n2' },
  stoppedBy: [],
  remedies: [],
  legs: [{ direction: 'there', from: '10.20.0.5', to: '10.20.0.6', hops: [], end }],
  notes: [],
  ...more,
});
const tunnel: LegEnd = { kind: 'node', node: 'n2', network: 'blue_net' };
const sent = report('n1', tunnel);
const arrived: LegEnd = { kind: 'pod', object: 'Pod red/db', isMeant: true };
const taken = report('n2', arrived, { part: 'receives' });

describe('who is asked next', () => {
  test('the node of the pod, of what goes through the tunnel', () => {
    expect(nextQuestions(sent)).toEqual([{ node: 'n2' }]);
  });

  test('nobody of what the host has brought to another network: there it comes from a gateway router', () => {
    expect(nextQuestions(report('n1', { ...tunnel, network: 'red_net', isByHost: true }))).toEqual(
      [],
    );
  });

  test('of an address the node to which it goes', () => {
    expect(nextQuestions({ ...sent, destination: { address: '10.20.0.6' } })).toEqual([
      { node: 'n2' },
    ]);
  });

  test('nobody of what leaves the cluster by another node, for a service that nobody balanced, or a pod elsewhere', () => {
    const service = { object: 'Service red/web', address: '10.96.0.7', port: 80 };
    expect(nextQuestions({ ...sent, destination: service })).toEqual([]);
    expect(nextQuestions(report('n1', { ...tunnel, node: 'n3' }))).toEqual([]);
  });

  test('of a service its only endpoint, by the protocol of its port', () => {
    const destination = {
      object: 'Service red/dns',
      address: '10.96.0.7',
      port: 53,
      protocol: 'udp' as const,
      endpoints: ['[fd00::6]:5353'],
    };
    expect(nextQuestions({ ...sent, destination })).toEqual([
      { node: 'n2', destination: '[fd00::6]:5353/udp' },
    ]);
  });

  test('of an endpoint that goes through the tunnel to nobody knows which node, that on which slices have it', () => {
    const destination = {
      object: 'Service red/web',
      address: '10.96.0.7',
      port: 80,
      protocol: 'tcp' as const,
      endpoints: ['10.20.1.6:80'],
    };
    const service = report('n1', { kind: 'node' }, { destination });
    expect(nextQuestions(service)).toEqual([]);
    const on = (node: string): PacketReport => ({
      ...service,
      destination: { ...destination, endpointNodes: { '10.20.1.6:80': node } },
    });
    expect(nextQuestions(on('n2'))).toEqual([{ node: 'n2', destination: '10.20.1.6:80/tcp' }]);
    expect(nextQuestions(on('n1'))).toEqual([]);
  });

  test('of several endpoints those of other nodes, each for itself', () => {
    const endpoints = ['10.20.0.6:80', '10.20.1.6:80', '10.20.2.6:80'];
    const destination = {
      object: 'Service red/web',
      address: '10.96.0.7',
      port: 80,
      protocol: 'tcp' as const,
      endpoints,
      endpointNodes: { '10.20.0.6:80': 'n1', '10.20.1.6:80': 'n2', '10.20.2.6:80': 'n3' },
    };
    const there = { direction: 'there', from: '10.20.0.5', to: '10.96.0.7', hops: [] } as const;
    const legs = [arrived, tunnel].map((end) => ({ ...there, end }));
    const { passesHere: _, ...service } = report('n1', tunnel, {
      part: 'whole',
      destination,
      legs,
    });
    expect(nextQuestions(service)).toEqual([
      { node: 'n2', destination: '10.20.1.6:80/tcp' },
      { node: 'n3', destination: '10.20.2.6:80/tcp' },
    ]);
    const n1 = { '10.20.0.6:80': 'n1' };
    expect(
      nextQuestions({ ...service, destination: { ...destination, endpointNodes: n1 } }),
    ).toEqual([]);
    const by = { kind: 'drops', stage: 'ls_in_acl_eval', match: '' } as const;
    const stop = { ...there, end: { kind: 'stopped', by, isRefused: false } } as const;
    expect(nextQuestions({ ...service, legs: [...legs, stop] })).toEqual([]);
    expect(nextQuestions({ ...service, destination: { ...destination, isUnmet: true } })).toEqual(
      [],
    );
    expect(nextQuestions({ ...service, notes: ['what was not looked at'] })).toEqual(
      nextQuestions(service),
    );

    const at = (node: string, more: Partial<PacketReport> = {}): PacketReport =>
      report(node, arrived, { part: 'receives', ...more });
    expect(joined(service, [at('n2'), at('n3')])).toMatchObject({
      verdict: 'reaches',
      why: 'It arrives, whichever of 3 endpoints it gets, and the answer comes back.',
    });
    const lost = at('n3', { verdict: 'does not reach', why: 'It is dropped.', remedies: ['this'] });
    expect(joined(service, [at('n2'), lost])).toMatchObject({
      verdict: "can't be decided here",
      why: 'Some endpoints are reached and others are not. On node n3: It is dropped.',
      remedies: ['this'],
    });
    const two = {
      ...service,
      destination: { ...destination, endpoints: endpoints.slice(1) },
    };
    const both = [{ ...lost, node: 'n2' }, lost].map((one) => ({ ...one, stoppedBy: [by] }));
    expect(joined(two, both)).toMatchObject({
      verdict: 'does not reach',
      stoppedBy: [by],
      why: 'No endpoint is reached. On node n2: It is dropped. On node n3: It is dropped.',
    });
  });

  test.each([
    ['what reaches', { ...sent, verdict: 'reaches', part: 'whole' }],
    ['what is stopped', { ...sent, verdict: 'does not reach', passesHere: false }],
    [
      'what is handed to the kernel',
      report('n1', { kind: 'host', port: 'k8s-n1' }, { part: 'whole' }),
    ],
    ['what comes from the tunnel', taken],
    ['what goes to a node that has no name', { ...sent, legs: [], destination: {} }],
  ] as const satisfies readonly (readonly [string, PacketReport])[])('nobody, of %s', (_, one) => {
    expect(nextQuestions(one)).toEqual([]);
  });
});

describe('both together', () => {
  test('it reaches when both let it pass, and each way says whose it is', () => {
    const both = joined(sent, [taken]);
    expect(both).toMatchObject({ verdict: 'reaches', part: 'whole', node: 'n1' });
    expect(both.legs.map(({ node }) => node)).toEqual(['n1', 'n2']);
    expect(packetReportText(both)).toContain(
      'Node n1 sends it through the tunnel, and node n2 brings it to the pod, and the answer back.',
    );
    expect(packetReportText(both)).toContain('There, on node n2: 10.20.0.5 → 10.20.0.6');
  });

  test('what stops it at the other end stops it, with what would let it through', () => {
    const by = { kind: 'drops', stage: 'ls_out_acl_eval', match: '' } as const;
    const closed = report(
      'n2',
      { kind: 'stopped', by, isRefused: false },
      {
        verdict: 'does not reach',
        part: 'receives',
        passesHere: false,
        why: 'It is dropped by NetworkPolicy red/db.',
        stoppedBy: [by],
        remedies: ['ingress of tcp 5432 from namespace blue, allowed in NetworkPolicy red/db'],
      },
    );
    expect(joined(sent, [closed])).toMatchObject({
      verdict: 'does not reach',
      why: 'It goes through the tunnel to node n2. It is dropped by NetworkPolicy red/db.',
      stoppedBy: [by],
      remedies: closed.remedies,
    });
  });

  test('what the other end does not know stays open', () => {
    const lost = report(
      'n2',
      { kind: 'unknown', why: 'no port' },
      { part: 'receives', why: 'It is lost sight of: no port.' },
    );
    const { passesHere: _, ...open } = lost;
    expect(joined(sent, [open])).toMatchObject({
      verdict: "can't be decided here",
      why: 'It goes through the tunnel to node n2. It is lost sight of: no port.',
    });
  });
});
