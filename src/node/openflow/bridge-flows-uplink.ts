/** What leaves the node, and how replies find back: each network has a conntrack mark (reference/node.md §4.3, §4.4). */
import { familyOf, type Family } from '../../allocators/addresses.ts';
import {
  MATCH_FIELDS,
  type BridgeNetwork,
  type BridgePart,
  type ExternalBridge,
} from './bridge-network.ts';
import { conntrack, DROP, resubmit, NORMAL, output } from './flow-actions.ts';
import { LOCAL, UPLINK, type FlowRows } from './flow-rows.ts';
import {
  CONNTRACK_MARK_HOST,
  PIPELINE,
  TO_NEXT_HOP,
  TOO_LARGE,
  ZONES,
  type FlowPlace,
} from './pipeline.ts';
import { BFD_PORT, GENEVE_PORT, MARK_TO_NODE_ADDRESS } from '../numbers.ts';
import { plainAddress } from '../plain-address.ts';

const { classify, replies, toHostEndpoint, asNode, tooLarge } = PIPELINE;
const TO_TUNNEL = `tp_dst=${GENEVE_PORT}`;
/**
 * The first piece of a datagram: flows find no port in any piece (ovs-ofctl(8), set-frags), but conntrack, which puts them together, does. The kernel
 * goes on with the whole, Open vSwitch's userspace datapath with the pieces. Without the first one the others are nothing.
 */
const PIECE_TO_TUNNEL = [
  'nw_frag=yes',
  'ct_state=-inv+trk',
  'ct_nw_proto=17',
  `ct_tp_dst=${GENEVE_PORT}`,
];
/** Replies belong to connections that are known, or are errors of them. */
const OF_CONNECTION = ['ct_state=+est+trk', 'ct_state=+rel+trk'];

export const uplinkFlows: BridgePart = {
  rules: {
    tunnels: {
      text: 'Tunnel packets go between the uplink and the host, and are not tracked.',
      source: 'reference/node.md §4.3, 200 and 205',
    },
    'from-nodes': {
      text: "To the host's port of tunnels send other nodes alone, by the addresses that their tunnels have, and what --tunnel-sources names. Open vSwitch's userspace datapath takes tunnels from here, past nftables.",
      source: 'RFC 8926 §6.1',
    },
    'tunnels-alone': {
      text: 'No network sends anything to the port of tunnels, wherever it is: with an address of a node it would be taken for what a node says. Nor does a service lead there.',
      source: 'RFC 8926 §6.1',
    },
    fragments: {
      text: 'Fragments are put together before anything looks at ports.',
      source: 'reference/node.md §4.3, 110',
    },
    'host-out': {
      text: 'What the host sends is tracked with the mark of the host.',
      source: 'reference/node.md §4.3, 100 and 102',
    },
    'network-out': {
      text: "What a network sends leaves with the node's address, and is tracked with the network's mark.",
      source: 'reference/node.md §4.3, 100, 102 and 105',
    },
    untranslated: {
      text: "What could not be translated does not leave. With a full table of connections Open vSwitch's userspace datapath goes on with the packet as it is.",
      source: 'reference/node.md §4.4, table 8',
    },
    replies: {
      text: 'Replies go where the mark of their connection says: to the host, or to one network.',
      source: 'reference/node.md §4.3, 50; §4.4, table 1',
    },
    'other-traffic': {
      text: 'What belongs to no connection of OVN is for the host.',
      source: 'reference/node.md §4.4, table 1',
    },
    'too-large': {
      text: 'What is too large for a network goes to the host, which says so to the sender.',
      source: 'reference/node.md §4.4, table 11',
    },
    bfd: {
      text: 'BFD reaches the default network and the host.',
      source: 'reference/node.md §4.3, 650; §4.4, table 1, 13',
    },
  },
  common(rows, on) {
    const { outside, fromUplink, fromHost, fromHostToAny, toHost, push } = on.vlan;
    for (const { family, fields, nodeAddress, hostSubnets } of on.families) {
      const { ip, udp, src, dst } = fields;
      const tunnels = rows.by('tunnels');
      addTunnelSources(rows, on, family);
      tunnels.flow(classify.at.tunnels, [udp, ...fromUplink, TO_TUNNEL], [NORMAL]);
      tunnels.flow(classify.at.tunnels, [udp, ...fromHost, TO_TUNNEL], [...push, output(UPLINK)]);
      const alone = rows.by('tunnels-alone');
      alone.flow(toHostEndpoint.at.tunnels, [udp, ...outside, TO_TUNNEL], [DROP]);
      alone.flow(classify.at.intoTunnels, [udp, ...outside, ...PIECE_TO_TUNNEL], [DROP]);
      if (on.mode === 'shared')
        rows
          .by('fragments')
          .flow(
            classify.at.fragments,
            [ip, ...fromUplink, 'nw_frag=yes'],
            [conntrack({ table: classify.id, zone: ZONES.fragments })],
          );
      const track = conntrack({ commit: true, zone: ZONES.uplink, mark: CONNTRACK_MARK_HOST });
      const host = [...fromHostToAny, `dl_src=${on.mac}`];
      for (const subnet of hostSubnets)
        rows
          .by('host-out')
          .flow(classify.at.nodeSubnets, [ip, ...host, `${dst}=${subnet}`], [track, NORMAL]);
      rows
        .by('host-out')
        .flow(classify.at.waysOut, [ip, ...fromHost], [track, ...push, output(UPLINK)]);
      rows
        .by('network-out')
        .flow(asNode.at.translated, [ip, `${src}=${nodeAddress}`], [output(UPLINK)]);
      rows
        .by('replies')
        .flow(
          classify.at.connections,
          [ip, ...outside, `dl_dst=${on.mac}`],
          [conntrack({ table: replies.id, zone: ZONES.uplink, nat: '' })],
        );
      for (const state of OF_CONNECTION)
        rows
          .by('replies')
          .flow(
            replies.at.marked,
            [ip, ...outside, state, `ct_mark=${CONNTRACK_MARK_HOST}`],
            toHost,
          );
      rows
        .by('bfd')
        .flow(
          replies.at.bfd,
          [udp, ...fromUplink, `tp_dst=${BFD_PORT}`],
          [output(on.defaultPort), ...toHost],
        );
    }
    rows.by('untranslated').flow(asNode.at.untranslated, [], [DROP]);
    const other = rows.by('other-traffic');
    other.flow(replies.at.toHost, [...outside, `dl_dst=${on.mac}`], toHost);
    other.flow(replies.at.normal, [], [NORMAL]);
    if (checksSizes(on)) {
      rows.by('too-large').flow(tooLarge.at.host, [TOO_LARGE.match], [LOCAL]);
      rows.by('too-large').flow(tooLarge.at.defaultNetwork, [], [...push, output(on.defaultPort)]);
    }
  },
  node(rows, on, ends) {
    for (const { family } of on.families)
      for (const end of new Set(ends.map(plainAddress)))
        if (end !== undefined && familyOf(end) === family && on.tunnelSources !== 'any')
          addTunnelSource(rows, on, { source: end, at: classify.at.tunnelPeers });
  },
  network(rows, to) {
    addNothingIntoTunnels(rows, to);
    addWaysOut(rows.by('network-out'), to);
    addReplies(rows, to);
  },
};

/** Matches what comes from the uplink to the host's port of tunnels. */
const toOwnTunnels = ({ vlan, mac }: ExternalBridge, udp: string): readonly string[] => [
  udp,
  ...vlan.fromUplink,
  `dl_dst=${mac}`,
  TO_TUNNEL,
];

function addTunnelSources(rows: FlowRows, on: ExternalBridge, family: Family): void {
  const match = toOwnTunnels(on, MATCH_FIELDS[family].udp);
  if (on.tunnelSources === 'any')
    return rows.by('tunnels').flow(classify.at.tunnelPeers, match, on.vlan.toHost);
  rows.by('from-nodes').flow(classify.at.strangers, match, [DROP]);
  for (const range of on.tunnelSources)
    if (familyOf(range) === family)
      addTunnelSource(rows, on, { source: range, at: classify.at.namedTunnelSources });
}

/** `source`: an address or a range. Those of settings have a priority of their own: a range may be what a node has. */
function addTunnelSource(
  rows: FlowRows,
  on: ExternalBridge,
  { source, at }: { source: string; at: FlowPlace },
): void {
  const { udp, src } = MATCH_FIELDS[familyOf(source)];
  const match = [...toOwnTunnels(on, udp), `${src}=${source}`];
  rows.by('from-nodes').flow(at, match, on.vlan.toHost);
}

/** Flows that drop strangers' packets to the port of tunnels, as `ovs-ofctl dump-flows` asks for them. */
export const STRANGER_FLOWS = [MATCH_FIELDS.v4, MATCH_FIELDS.v6].map(({ udp }) => ({
  table: classify.id,
  match: `${udp},${TO_TUNNEL}`,
  priority: classify.at.strangers.priority,
}));

const checksSizes = ({ mode, largestFrame }: ExternalBridge): boolean =>
  mode === 'local' && largestFrame !== undefined;

/** Before any way out. */
function addNothingIntoTunnels(rows: FlowRows, { on, from }: BridgeNetwork): void {
  for (const { fields } of on.families) {
    rows
      .by('tunnels-alone')
      .flow(classify.at.intoTunnels, [fields.udp, ...from, TO_TUNNEL], [DROP]);
    rows
      .by('fragments')
      .flow(
        classify.at.intoTunnels,
        [fields.ip, ...from, 'nw_frag=yes', 'ct_state=-trk'],
        [conntrack({ table: classify.id, zone: ZONES.fragments })],
      );
  }
}

function addWaysOut(
  rows: FlowRows,
  { on, from, network, isDefault, conntrackMark: mark }: BridgeNetwork,
): void {
  const out = [...from, `dl_src=${on.mac}`];
  const track = { commit: true, zone: ZONES.uplink, mark } as const;
  for (const { family, fields, nodeAddress, hostSubnets } of on.families) {
    const translate = [conntrack({ ...track, table: asNode.id, nat: `src=${nodeAddress}` })];
    const { ip, src, dst } = fields;
    rows.flow(classify.at.asNode, [ip, ...out, `pkt_mark=${MARK_TO_NODE_ADDRESS}`], translate);
    if (!isDefault) {
      const own = network.masquerade[family]?.gatewayRouter;
      if (own !== undefined)
        rows.flow(classify.at.waysOut, [ip, ...out, `${src}=${own}`], translate);
      continue;
    }
    if (on.mode === 'local')
      rows.flow(
        classify.at.toNextHops,
        [ip, ...out, `${src}=${nodeAddress}`, `pkt_mark=${TO_NEXT_HOP}`],
        [conntrack(track), output(UPLINK)],
      );
    if (on.mode === 'shared')
      for (const subnet of hostSubnets)
        rows.flow(
          classify.at.nodeSubnets,
          [ip, ...out, `${dst}=${subnet}`],
          [conntrack(track), NORMAL],
        );
    rows.flow(classify.at.waysOut, [ip, ...out], [conntrack(track), output(UPLINK)]);
  }
}

function addReplies(
  rows: FlowRows,
  { on, port, from, isDefault, conntrackMark: mark }: BridgeNetwork,
): void {
  const { outside, pop, push } = on.vlan;
  const to = checksSizes(on)
    ? // Whether a tag counts is for the datapath to say: there is none.
      [...pop, `check_pkt_larger(${on.largestFrame})->${TOO_LARGE.bit}`, resubmit(tooLarge.id)]
    : [output(port)];
  for (const { fields } of on.families) {
    for (const state of OF_CONNECTION)
      rows
        .by('replies')
        .flow(replies.at.marked, [fields.ip, ...outside, state, `ct_mark=${mark}`], to);
    if (on.mode === 'local')
      rows
        .by('bfd')
        .flow(
          classify.at.bfd,
          [fields.udp, ...from, `dl_src=${on.mac}`, `tp_dst=${BFD_PORT}`],
          [output(UPLINK)],
        );
  }
  if (checksSizes(on) && !isDefault)
    rows.by('too-large').flow(tooLarge.at.networks, [`ct_mark=${mark}`], [...push, output(port)]);
}
