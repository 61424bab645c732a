/** What leaves user-defined networks with the address of an EgressIP or EgressService: the bridge knows it by its mark (reference/egress.md §1.10, §4.3). */
import { familyOf } from '../../allocators/addresses.ts';
import type { Rule } from '../../desired/features.ts';
import type { BridgeNetwork, ExternalBridge } from './bridge-network.ts';
import { BACK, conntrack, destination, DROP, output, resubmit, source } from './flow-actions.ts';
import { UPLINK, type FlowRows } from './flow-rows.ts';
import { egressMark, PIPELINE, ZONES } from './pipeline.ts';

export const EGRESS_RULES: Readonly<Record<string, Rule>> = {
  'egress-address': {
    text: 'What a network sends with the mark of an EgressIP or EgressService leaves with its address on this node.',
    source: 'reference/node.md §4.3, 105',
  },
  'egress-card': {
    text: 'Where its address is at another network card it goes to the host, known by an address of the masquerade subnet that is of the EgressIP alone; so do answers come back.',
    source: 'reference/egress.md §1.11',
  },
  'egress-moves': {
    text: 'While an egress address moves, answers that belong to no connection of the node that gets them go to the other node, once.',
    source: 'reference/egress.md §1.14',
  },
};

export const EGRESS_ADDRESS_RULES: Readonly<Record<string, Rule>> = {
  'egress-neighbours': {
    text: 'For an egress address the host answers that has it: OVN, which would as soon as it translates to it, tells nobody where it is.',
    source: 'reference/egress.md §1.10',
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

/** With what an EgressIP leaves this node. */
interface Exits {
  readonly mark: number;
  /** At the bridge. */
  readonly addresses: readonly string[];
  /** By which the host knows what leaves by network cards. */
  readonly links: readonly string[];
}

/** `networks`: those whose pods may have it. */
export function egressFlows(
  rows: FlowRows,
  { families, mac, vlan, mode }: ExternalBridge,
  networks: readonly BridgeNetwork[],
  { mark, addresses, links }: Exits,
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
        // The host would take it, as it has the node's address yet.
        isDefault && mode === 'local' ? classify.at.toNextHops : classify.at.asNode,
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
