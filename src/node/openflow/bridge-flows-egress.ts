/** What leaves user-defined networks with the address of an EgressIP or EgressService: the bridge knows it by its mark (reference/egress.md §1.10, §4.3). */
import { familyOf } from '../../allocators/addresses.ts';
import type { Rule } from '../../desired/features.ts';
import type { BridgeNetwork, ExternalBridge } from './bridge-network.ts';
import { conntrack, destination, DROP, output, resubmit } from './flow-actions.ts';
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
};

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
  { families, mac, vlan }: ExternalBridge,
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
    for (const { from, conntrackMark } of networks)
      out.flow(
        classify.at.asNode,
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
