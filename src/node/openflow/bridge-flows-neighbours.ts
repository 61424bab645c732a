/**
 * ARP and neighbour discovery. Every gateway router has the node's address and MAC address, so an answer does not say which of them asked:
 * the bridge remembers who did, for some seconds, and nothing is ever handed to all of them (docs/bridge.md says why).
 */
import type { BridgePart } from './bridge-network.ts';
import { conntrack, resubmit, NORMAL, output } from './flow-actions.ts';
import {
  CONNTRACK_MARK_HOST,
  learnedCookie,
  NEIGHBOUR_LIMIT,
  NEIGHBOUR_WAIT,
  PIPELINE,
  ZONES,
} from './pipeline.ts';

const { classify, replies, neighbours } = PIPELINE;

/** Types of ICMPv6 messages (RFC 4861 §4). */
const ROUTER_ADVERTISEMENT = 134;
const SOLICITATION = 135;
const ADVERTISEMENT = 136;

/**
 * What asks for a neighbour, and, in the words of `learn`, what the answer looks like. `own`: nobody behind a router can have sent it, for
 * its hop limit would be lower (RFC 4861 §7.1.1).
 */
const QUESTIONS = {
  v4: {
    match: ['arp', 'arp_op=1'],
    target: 'arp_tpa',
    own: [],
    answer: 'eth_type=0x806,arp_op=2,NXM_OF_ARP_SPA[]=NXM_OF_ARP_TPA[]',
  },
  v6: {
    match: ['icmp6', `icmp_type=${SOLICITATION}`],
    target: 'nd_target',
    own: ['nw_ttl=255'],
    answer: `eth_type=0x86dd,nw_proto=58,icmpv6_type=${ADVERTISEMENT},NXM_NX_ND_TARGET[]`,
  },
} as const;

const learn = (networkId: number, answer: string): string =>
  `learn(table=${neighbours.id},hard_timeout=${NEIGHBOUR_WAIT},priority=${neighbours.at.learned.priority},delete_learned,cookie=${learnedCookie(networkId)},limit=${NEIGHBOUR_LIMIT},${answer},output:NXM_OF_IN_PORT[])`;

export const neighbourFlows: BridgePart = {
  rules: {
    'who-has-the-node': {
      text: "Who asks for the node's address is answered by the default network and the host: all others would say the same.",
      source: 'reference/node.md §4.7',
    },
    questions: {
      text: 'A network that asks for a neighbour gets the answer, and no other primary network does.',
      source: 'reference/node.md §4.7; ovs-actions(7), learn',
    },
    answers: {
      text: 'Answers go to the default network, to the host, and to the network that asked.',
      source: 'reference/node.md §4.3, 10; §4.4, table 1, 14; §4.7',
    },
    tracked: {
      text: 'Neighbour discovery of the host and of the default network is not taken for traffic to the uplink.',
      source: 'reference/node.md §4.7',
    },
    'default-network': {
      text: 'Of what is not IP the default network sends what it likes with the address of the bridge.',
      source: 'reference/node.md §4.3, 10',
    },
    'no-flood': {
      text: 'What the bridge floods does not reach primary networks.',
      source: 'reference/node.md §4.7',
    },
  },
  common(rows, on) {
    const { outside, fromHostToAny, toHost } = on.vlan;
    const toBoth = [resubmit(neighbours.id), output(on.defaultPort), ...toHost];
    for (const { family, addresses } of on.families) {
      const { match, target } = QUESTIONS[family];
      for (const address of addresses)
        rows
          .by('who-has-the-node')
          .flow(
            classify.at.whoHasTheNode,
            [...match, ...outside, `${target}=${address}`],
            [output(on.defaultPort), NORMAL],
          );
      if (family === 'v4') continue;
      for (const type of [ROUTER_ADVERTISEMENT, ADVERTISEMENT])
        rows
          .by('answers')
          .flow(replies.at.advertisements, ['icmp6', ...outside, `icmp_type=${type}`], toBoth);
      for (const type of [SOLICITATION, ADVERTISEMENT])
        rows
          .by('tracked')
          .flow(
            classify.at.nodeSubnets,
            ['icmp6', ...fromHostToAny, `dl_src=${on.mac}`, `icmp_type=${type}`],
            [conntrack({ commit: true, zone: ZONES.uplink, mark: CONNTRACK_MARK_HOST }), NORMAL],
          );
    }
    rows.by('answers').flow(classify.at.toTheBridge, [...outside, `dl_dst=${on.mac}`], toBoth);
  },
  network(rows, { on, port, from: fromPort, network, isDefault, conntrackMark }) {
    const from = [...fromPort, `dl_src=${on.mac}`];
    if (isDefault) {
      rows.by('default-network').flow(classify.at.defaultNetwork, from, [NORMAL]);
      if (on.mode === 'shared' && on.families.some(({ family }) => family === 'v6'))
        for (const type of [SOLICITATION, ADVERTISEMENT])
          rows
            .by('tracked')
            .flow(
              classify.at.nodeSubnets,
              ['icmp6', ...from, `icmp_type=${type}`],
              [conntrack({ commit: true, zone: ZONES.uplink, mark: conntrackMark }), NORMAL],
            );
      return;
    }
    for (const { family } of on.families) {
      const { match, own, answer } = QUESTIONS[family];
      rows
        .by('questions')
        .flow(
          classify.at.questions,
          [...match, ...own, ...from],
          [learn(network.id, answer), NORMAL],
        );
    }
    rows.by('no-flood').noFlood(port);
  },
};
