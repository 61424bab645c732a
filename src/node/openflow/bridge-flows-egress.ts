/** What leaves user-defined networks with the address of an EgressIP: the bridge knows it by the mark of the object (reference/egress.md §1.10). */
import { familyOf } from '../../allocators/addresses.ts';
import type { Rule } from '../../desired/features.ts';
import type { BridgeNetwork, ExternalBridge } from './bridge-network.ts';
import { conntrack, output } from './flow-actions.ts';
import { UPLINK, type FlowRows } from './flow-rows.ts';
import { egressMark, PIPELINE, ZONES } from './pipeline.ts';

export const EGRESS_RULES: Readonly<Record<string, Rule>> = {
  'egress-address': {
    text: 'What a network sends with the mark of an EgressIP leaves with its address on this node.',
    source: 'reference/node.md §4.3, 105',
  },
};

/** `networks`: those whose pods may have it. */
export function egressFlows(
  rows: FlowRows,
  { families, mac }: ExternalBridge,
  networks: readonly BridgeNetwork[],
  mark: number,
  addresses: readonly string[],
): void {
  const { classify, asNode } = PIPELINE;
  for (const { family, fields } of families) {
    const address = addresses.find((one) => familyOf(one) === family);
    if (address === undefined) continue;
    const out = rows.by('egress-address');
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
    if (networks.length > 0)
      out.flow(asNode.at.translated, [fields.ip, `${fields.src}=${address}`], [output(UPLINK)]);
  }
}
