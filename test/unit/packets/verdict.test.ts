/** What the ways of a packet come to: the verdict, its reason, and what would let it through. */
import { describe, expect, test } from 'vitest';
import type { Decided, Leg, LegEnd } from '../../../src/packets/packet-report.ts';
import {
  judged,
  type Judgement,
  type Meant,
  type Sender,
  type Try,
} from '../../../src/packets/verdict.ts';

const sender: Sender = {
  object: 'Pod blue/web',
  namespace: 'blue',
  network: 'blue_net',
  closedBy: ['NetworkPolicy blue/out'],
};
const meant: Meant = {
  object: 'Pod red/db',
  namespace: 'red',
  network: 'blue_net',
  isPodAddress: true,
  overlaps: false,
  address: '10.20.0.6',
  port: 5432,
  protocol: 'tcp',
  node: 'n1',
  endpoints: [],
  closedBy: ['NetworkPolicy red/db'],
};

const leg = (direction: Leg['direction'], end: LegEnd): Leg => ({
  direction,
  from: '10.20.0.5',
  to: '10.20.0.6',
  hops: [],
  end,
});
const arrives = (object = 'Pod red/db', isMeant = true): LegEnd => ({
  kind: 'pod',
  object,
  isMeant,
});
const HOME = arrives('Pod blue/web');
const there = (end: LegEnd): Try => ({ there: leg('there', end) });
const andBack = (end: LegEnd, back: LegEnd): Try => ({
  there: leg('there', end),
  back: leg('back', back),
});

/** A flow that stops it, of a row that a unit wants. */
const stop = (
  feature: string,
  object: string,
  stage = 'ls_out_acl_eval',
  uuid = 'a1',
): Decided => ({
  kind: 'drops',
  stage,
  match: 'outport == @a1',
  origin: {
    place: 'OVN_Southbound',
    table: 'Logical_Flow',
    name: '',
    uuid: 'f1',
    owner: { kind: 'made', by: 'ovn-northd' },
    madeOf: [
      {
        place: 'OVN_Northbound',
        table: 'ACL',
        name: '',
        uuid,
        owner: { kind: 'wanted', unit: JSON.stringify([feature]), feature, object },
        madeOf: [],
      },
    ],
  },
});
const stopped = (by: Decided, isRefused = false): LegEnd => ({ kind: 'stopped', by, isRefused });
const CLOSED = stopped(stop('policy/default-deny', 'Namespace red'));

const judge = (
  tries: readonly Try[],
  change: Partial<Meant> = {},
  part = 'whole' as const,
): Judgement => judged(tries, part, sender, { ...meant, ...change });

describe('reaches', () => {
  test('what arrives, and whose answer comes back', () => {
    expect(judge([andBack(arrives(), HOME)])).toEqual({
      verdict: 'reaches',
      passesHere: true,
      why: 'It arrives, and the answer comes back.',
      stoppedBy: [],
      remedies: [],
      notes: [],
    });
  });

  test('a service, if every endpoint answers', () => {
    const tries = [andBack(arrives('Pod red/a'), HOME), andBack(arrives('Pod red/b'), HOME)];
    expect(judge(tries).verdict).toBe('reaches');
    expect(judge([...tries, there(CLOSED)])).toMatchObject({
      verdict: "can't be decided here",
      why: 'Some endpoints are reached and others are not: it is dropped in ls_out_acl_eval.',
    });
  });

  test('not what nobody knows to have met every endpoint', () => {
    const verdict = judged([andBack(arrives(), HOME)], 'whole', sender, meant, [
      '1 of 2 endpoints …',
    ]);
    expect(verdict).toMatchObject({
      verdict: "can't be decided here",
      notes: ['1 of 2 endpoints …'],
    });
  });
});

describe('does not reach', () => {
  test('what a policy of the pod that is asked drops: the policy that closes it is to allow it', () => {
    expect(judge([there(CLOSED)])).toMatchObject({
      verdict: 'does not reach',
      why: 'It is dropped by NetworkPolicy red/db.',
      remedies: ['ingress of tcp 5432 from namespace blue, allowed in NetworkPolicy red/db'],
    });
  });

  test('what a policy of the pod that sends keeps in', () => {
    const by = stop('policy/default-deny', 'Namespace blue', 'ls_in_acl_after_lb_eval');
    expect(judge([there(stopped(by))])).toMatchObject({
      why: 'It is dropped by NetworkPolicy blue/out.',
      remedies: ['egress of tcp 5432 to namespace red, allowed in NetworkPolicy blue/out'],
    });
  });

  test.each<readonly [string, string, string, Partial<Meant>, string]>([
    [
      'egress/firewall',
      'EgressFirewall blue/default',
      'is dropped by EgressFirewall blue/default',
      { address: '8.8.8.8' },
      'a rule that allows 8.8.8.8 before the one that denies it, in EgressFirewall blue/default',
    ],
    [
      'policy/admin-policy',
      'ClusterNetworkPolicy lock',
      'is dropped by ClusterNetworkPolicy lock',
      {},
      'a rule that allows tcp 5432 before the one that denies it, in ClusterNetworkPolicy lock',
    ],
    [
      'connect/network',
      'ClusterNetworkConnect cnc',
      'is dropped by ClusterNetworkConnect cnc',
      {},
      'PodNetwork in connectivity of ClusterNetworkConnect cnc: only its services are connected',
    ],
    [
      'isolation/secondary-pods',
      'cluster',
      'is dropped by what keeps networks apart (isolation/secondary-pods)',
      { network: 'red_net' },
      'the address of Pod red/db on its primary network',
    ],
  ])('what %s stops', (feature, object, why, change, remedy) => {
    const found = judge([there(stopped(stop(feature, object)))], change);
    expect(found.verdict).toBe('does not reach');
    expect(found.why).toContain(why);
    expect(found.remedies).toEqual([remedy]);
  });

  test('a service without endpoints, which refuses', () => {
    const by = stop('services/load-balancers', 'Service red/db', 'ls_in_lb');
    expect(judge([there(stopped(by, true))])).toMatchObject({
      verdict: 'does not reach',
      why: 'It is refused by Service red/db.',
      remedies: ['an endpoint that is ready, of Service red/db'],
    });
  });

  test('what leaves the node for an address that pods of another network have', () => {
    expect(
      judge([there({ kind: 'outside', port: 'br-ex_blue_net_n1' })], { network: 'red_net' }),
    ).toMatchObject({
      verdict: 'does not reach',
      why: 'Networks blue_net and red_net are apart: it leaves by port br-ex_blue_net_n1, and outside nobody has that address.',
      remedies: [
        'a ClusterNetworkConnect that selects both networks, blue_net and red_net, with PodNetwork in its connectivity',
      ],
    });
  });

  test('not what leaves for a pod of the same network, which a physical one joins', () => {
    expect(judge([there({ kind: 'outside', port: 'ln' })])).toMatchObject({
      verdict: "can't be decided here",
      why: 'It leaves by port ln; what is beyond this node nobody here knows.',
    });
  });

  test.each([
    [
      'ls_in_l2_unknown',
      'On network blue_net nobody has 10.20.0.6 (it is dropped in ls_in_l2_unknown).',
    ],
    ['ls_in_check_port_sec', 'It is dropped by OVN itself, in ls_in_check_port_sec.'],
  ])('what a switch drops by itself in %s', (stage, why) => {
    const by: Decided = { kind: 'drops', stage, match: '1' };
    expect(judge([there(stopped(by))])).toMatchObject({ why, remedies: [] });
  });

  test('what another pod of the network gets, which has the same address', () => {
    expect(judge([there(arrives('Pod blue/other', false))]).why).toBe(
      'On network blue_net that is the address of Pod blue/other, which gets it instead.',
    );
  });

  test('what arrives, if its answer is dropped', () => {
    expect(judge([andBack(arrives(), CLOSED)])).toMatchObject({
      verdict: 'does not reach',
      why: 'It arrives, and the answer is dropped by NetworkPolicy red/db.',
    });
  });

  test('one row that stops every endpoint is named once', () => {
    expect(judge([there(CLOSED), there(CLOSED)]).stoppedBy).toHaveLength(1);
  });
});

describe('can not be decided on this node', () => {
  test.each<readonly [LegEnd, string]>([
    [
      { kind: 'outside', port: 'br-ex_n1' },
      'It leaves by port br-ex_n1; what is beyond this node nobody here knows.',
    ],
    [
      { kind: 'host', port: 'k8s-n1' },
      'It is handed to the kernel of this node at port k8s-n1; what its routes, its firewall and its programs make of it is not in OVN.',
    ],
    [{ kind: 'unknown', why: '*** TTL underflow' }, 'It is lost sight of: *** TTL underflow.'],
  ])('%o', (end, why) => {
    expect(judge([there(end)], { isPodAddress: false })).toMatchObject({
      verdict: "can't be decided here",
      why,
      stoppedBy: [],
    });
  });

  test('of two nodes, each says its part', () => {
    const sends = judged([there({ kind: 'node', node: 'n2' })], 'sends', sender, {
      ...meant,
      node: 'n2',
    });
    expect(sends).toMatchObject({ verdict: "can't be decided here", passesHere: true });
    expect(sends.why).toContain('what node n2 makes of it its own databases say: ask there, too.');
    const receives = judged(
      [andBack(arrives(), { kind: 'node', node: 'n1' })],
      'receives',
      sender,
      meant,
    );
    expect(receives).toMatchObject({ verdict: "can't be decided here", passesHere: true });
    expect(judged([there(CLOSED)], 'receives', sender, meant)).toMatchObject({
      verdict: 'does not reach',
      passesHere: false,
    });
  });

  test('the endpoint of a service that is on another node is to be asked for there', () => {
    const { node: _node, ...service } = meant;
    expect(
      judged([there({ kind: 'node', node: 'n2' })], 'sends', sender, {
        ...service,
        endpoints: ['10.20.1.6:8080'],
      }).why,
    ).toContain(
      'what node n2 makes of it its own databases say: ask there, too for 10.20.1.6:8080.',
    );
  });

  test('a tunnel to another node than that of the pod does not let it pass', () => {
    expect(
      judged([there({ kind: 'node', node: 'n3' })], 'sends', sender, { ...meant, node: 'n2' })
        .passesHere,
    ).toBeUndefined();
  });

  test('on its own network it gets to nobody of another one, on whichever node', () => {
    const other: Meant = { ...meant, network: 'red_net', node: 'n2' };
    const on = (network: string): Judgement =>
      judged([there({ kind: 'node', node: 'n2', network })], 'sends', sender, other);
    expect(on('blue_net')).toMatchObject({
      verdict: 'does not reach',
      passesHere: false,
      why: 'Networks blue_net and red_net are apart: on blue_net it goes through the tunnel to node n2, to whoever has that address there.',
      remedies: [expect.stringContaining('a ClusterNetworkConnect that selects both networks')],
    });
    // A connection led it there.
    expect(on('red_net')).toMatchObject({ verdict: "can't be decided here", passesHere: true });
  });
});

describe('what is not in OVN', () => {
  test.each([
    [
      'bridge br-int',
      'Service red/db',
      'It is dropped by a flow of bridge br-int; it is there for Service red/db.',
    ],
    [
      'bridge br-ex',
      'cluster',
      'It is dropped by a flow of bridge br-ex; it is there for all networks.',
    ],
  ])('a flow of %s is named, and no object would let the packet through', (place, object, why) => {
    const by = { ...stop('services/cluster', object), place };
    expect(judge([there(stopped(by))])).toMatchObject({
      verdict: 'does not reach',
      why,
      stoppedBy: [by],
      remedies: [],
    });
  });

  test('the kernel says why', () => {
    const by = {
      kind: 'drops',
      stage: 'routing',
      match: '',
      place: 'kernel',
      text: 'has no route to it',
    } as const;
    expect(judge([there(stopped(by))])).toMatchObject({
      verdict: 'does not reach',
      why: 'It is dropped by the kernel of the node, which has no route to it.',
      remedies: [],
    });
  });

  test('an answer from outside that a bridge drops does not come back', () => {
    const by = { ...stop('', 'UserDefinedNetwork blue/net'), place: 'bridge br-ex' };
    expect(judge([andBack({ kind: 'outside', port: 'br-ex_n1' }, stopped(by))])).toMatchObject({
      verdict: 'does not reach',
      why: 'It leaves, and the answer is dropped by a flow of bridge br-ex; it is there for UserDefinedNetwork blue/net.',
    });
  });
});

test('what comes back to the network of the sender by the bridge, its pod gets', () => {
  const returned: LegEnd = { kind: 'returned', port: 'patch-breth0_blue_net_n1-to-br-int' };
  const asked = { ...meant, object: 'Service red/db', network: 'red_net', isPodAddress: false };
  const by = (back: LegEnd) => judged([andBack(arrives(), back)], 'whole', sender, asked);
  expect(by(returned)).toMatchObject({
    verdict: 'reaches',
    why: 'It arrives, and the answer comes back.',
  });
  expect(by(arrives('Pod blue/other', false)).verdict).toBe('does not reach');
});

test('what the host brings to another network goes to another node as from there, and is not decided', () => {
  const end: LegEnd = { kind: 'node', node: 'n2', network: 'red_net', isByHost: true };
  const { node: _, ...withoutNode } = {
    ...meant,
    object: 'Service red/db',
    network: 'red_net',
    isPodAddress: false,
  };
  const found = judged([there(end)], 'sends', sender, withoutNode);
  expect(found).toMatchObject({ verdict: "can't be decided here", passesHere: true });
  expect(found.why).toBe(
    "This node brings it to network red_net, and sends it through the tunnel as from that network's gateway router; what node n2 makes of it is not asked.",
  );
});
