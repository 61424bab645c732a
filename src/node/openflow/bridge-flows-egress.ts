/** What leaves user-defined networks with the address of an EgressIP or EgressService: the bridge knows it by its mark (reference/egress.md §1.10, §4.3). */
import { familyOf } from '../../allocators/addresses.ts';
import type { Rule } from '../../desired/features.ts';
import type { GatewayMode } from '../../model/model.ts';
import { MATCH_FIELDS, type BridgeNetwork, type ExternalBridge } from './bridge-network.ts';
import {
  BACK,
  conntrack,
  destination,
  DROP,
  NO_MARK,
  output,
  PASS_FENCE,
  resubmit,
  source,
} from './flow-actions.ts';
import { UPLINK, type FlowRows } from './flow-rows.ts';
import {
  EGRESS_BY_GATEWAY,
  egressMark,
  PAST_FENCE,
  PIPELINE,
  ZONES,
  type FlowPlace,
} from './pipeline.ts';

const FENCED: Readonly<Record<string, Rule>> = {
  'egress-fence': {
    text: 'With an egress address nothing leaves, and nobody is told where it is, unless the daemon of this node lives or did so 30 s ago, or no other node could have the address.',
    source: 'reference/egress.md §1.13',
  },
};

export const EGRESS_RULES: Readonly<Record<string, Rule>> = {
  'egress-address': {
    text: 'What a network sends with the mark of an EgressIP or EgressService leaves with its address on this node; of the default network, which has it from OVN, what has it.',
    source: 'reference/node.md §4.3, 105',
  },
  'egress-card': {
    text: 'Where its address is at another network card, or a routing table leads it, it goes to the host, known by an address of the masquerade subnet that is of the EgressIP or EgressService alone; so do answers come back.',
    source: 'reference/egress.md §1.11, §4.3',
  },
  'egress-moves': {
    text: 'While an egress address moves, answers that belong to no connection of the node that gets them go to the other node, once.',
    source: 'reference/egress.md §1.14',
  },
  ...FENCED,
};

export const EGRESS_ADDRESS_RULES: Readonly<Record<string, Rule>> = {
  ...FENCED,
  'egress-neighbours': {
    text: 'For an egress address the host answers that has it: OVN, which would as soon as it translates to it, tells nobody where it is.',
    source: 'reference/egress.md §1.10',
  },
};

export const FENCE_RULES: Readonly<Record<string, Rule>> = {
  fence: {
    text: 'The fence of egress addresses is closed unless the daemon opens it: again and again where another node could have one.',
    source: 'reference/egress.md §1.13',
  },
};

/** Type of a neighbour advertisement (RFC 4861 §4.4). */
const ADVERTISEMENT = 136;

/** What OVN would say of an address, be it asked or not. */
export function egressNeighbourFlow(
  rows: FlowRows,
  { defaultPort, vlan }: ExternalBridge,
  address: string,
): void {
  const from = [`in_port=${defaultPort}`, ...vlan.outside];
  rows
    .by('egress-neighbours')
    .flow(
      PIPELINE.classify.at.egressNeighbours,
      familyOf(address) === 'v4'
        ? ['arp', ...from, `arp_spa=${address}`]
        : ['icmp6', ...from, `icmp_type=${ADVERTISEMENT}`, `nd_target=${address}`],
      [DROP],
    );
}

/** The fence for whatever address; what opens it is written past these (egress-fence.ts). */
export function fenceFlows(rows: FlowRows): void {
  const { outside, closed } = PIPELINE.fence.at;
  rows.by('fence').flow(outside, [`in_port=${UPLINK}`], PASS_FENCE);
  rows.by('fence').flow(closed, [], [DROP]);
}

/** What has an egress address on the bridge, or says where it is, asks the fence first. */
export function fencedAddressFlows(rows: FlowRows, address: string): void {
  const family = familyOf(address);
  const asks = (...fields: readonly string[]): void => fencedFlow(rows, fields);
  if (family === 'v4') {
    asks('ip', `nw_src=${address}`);
    asks('arp', `arp_spa=${address}`);
  } else {
    asks('ipv6', `ipv6_src=${address}`);
    asks('icmp6', `icmp_type=${ADVERTISEMENT}`, `nd_target=${address}`);
  }
}

const fencedFlow = (rows: FlowRows, fields: readonly string[]): void =>
  rows
    .by('egress-fence')
    .flow(
      PIPELINE.classify.at.egressFence,
      [...fields, PAST_FENCE.notYet],
      [resubmit(PIPELINE.fence.id)],
    );

/** What the gateway router of the default network gave an egress address of this node goes on as what has none does, without its mark. */
export function gatewayEgressFlow(
  rows: FlowRows,
  { defaultPort, mac, mode, vlan }: ExternalBridge,
  address: string,
): void {
  const { ip, src } = MATCH_FIELDS[familyOf(address)];
  const from = [`in_port=${defaultPort}`, ...vlan.outside];
  rows
    .by('egress-address')
    .flow(
      egressPlace(mode, true),
      [ip, ...from, `dl_src=${mac}`, `pkt_mark=${EGRESS_BY_GATEWAY}`, `${src}=${address}`],
      [NO_MARK, resubmit(PIPELINE.classify.id)],
    );
}

/** Before what drops what is marked. */
const egressPlace = (mode: GatewayMode, isDefault: boolean): FlowPlace =>
  // The host would take it, as it has the node's address yet.
  isDefault && mode === 'local' ? PIPELINE.classify.at.toNextHops : PIPELINE.classify.at.asNode;

/** `address` moves between this node and one whose gateway has that MAC address: both know connections of it. */
export function egressMoveFlows(
  rows: FlowRows,
  { families, mac, vlan }: ExternalBridge,
  { address, peer }: { readonly address: string; readonly peer: string },
): void {
  const fields = families.find(({ family }) => family === familyOf(address))?.fields;
  if (fields === undefined) return;
  const { moved, moving } = PIPELINE.replies.at;
  const match = [fields.ip, ...vlan.fromUplink, `dl_dst=${mac}`, `${fields.dst}=${address}`];
  rows.by('egress-moves').flow(moved, [...match, `dl_src=${peer}`], [DROP]);
  rows.by('egress-moves').flow(moving, match, [source(mac), destination(peer), BACK]);
}

/** With what an EgressIP, or an EgressService, leaves this node. */
interface Exits {
  /** Its addresses are fenced. */
  readonly isFenced?: boolean;
  readonly mark: number;
  /** At the bridge. */
  readonly addresses: readonly string[];
  /** By which the host knows what leaves by network cards, or by routing tables. */
  readonly links: readonly string[];
}

/** `networks`: those whose pods may have it. */
export function egressFlows(
  rows: FlowRows,
  { families, mac, vlan, mode }: ExternalBridge,
  networks: readonly BridgeNetwork[],
  { mark, addresses, links, isFenced }: Exits,
): void {
  const { classify, asNode, replies, toHost } = PIPELINE;
  for (const { family, fields } of families) {
    const isOfFamily = (one: string): boolean => familyOf(one) === family;
    const link = links.find(isOfFamily);
    const address = link ?? addresses.find(isOfFamily);
    if (address === undefined) continue;
    const out = rows.by(link === undefined ? 'egress-address' : 'egress-card');
    for (const { from, conntrackMark, isDefault } of networks)
      out.flow(
        egressPlace(mode, isDefault),
        [fields.ip, ...from, `dl_src=${mac}`, `pkt_mark=${egressMark(mark)}`],
        [
          conntrack({
            commit: true,
            zone: ZONES.uplink,
            mark: conntrackMark,
            table: asNode.id,
            nat: `src=${address}`,
          }),
        ],
      );
    if (networks.length === 0) continue;
    // What its networks send gets the address on the bridge, past these flows.
    if (isFenced === true && link === undefined)
      fencedFlow(rows, [fields.ip, `pkt_mark=${egressMark(mark)}`]);
    const translated = [fields.ip, `${fields.src}=${address}`];
    if (link === undefined) {
      out.flow(asNode.at.translated, translated, [output(UPLINK)]);
      continue;
    }
    out.flow(asNode.at.translated, translated, [resubmit(toHost.id)]);
    // Nobody outside is known by it.
    out.flow(classify.at.podSources, [...translated, ...vlan.fromUplink], [DROP]);
    out.flow(
      classify.at.hostAndOvn,
      [fields.ip, ...vlan.fromHost, `${fields.dst}=${link}`],
      [
        destination(mac),
        ...vlan.push,
        conntrack({ table: replies.id, zone: ZONES.uplink, nat: '' }),
      ],
    );
  }
}
