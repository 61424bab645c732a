/** The mark of a network, for whatever is to be sent to it (reference/node.md §3.4). */
import { feature } from '../../desired/features.ts';
import { networkObject } from '../../model/zone/failed-facts.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { isDefault } from '../../model/rules/names.ts';
import { clusterFamilies, hasGateway } from '../../model/rules/network-addresses.ts';
import { NftRows } from './nft-rows.ts';
import { ofFamily, type ChainName } from './ruleset.ts';
import { packetMark } from '../numbers.ts';

/** Chain that marks packets for a network (reference/node.md §1.3). */
export const markChain = (networkId: number): ChainName => `udn-mark-${packetMark(networkId)}`;

export const networkMark = feature({
  name: 'nft/network-mark',
  over: ({ rendered }: ZoneFacts) => rendered,
  objects: (facts, [network]) => [networkObject(facts, network)],
  subject: (_facts, [network]) => network,
  rules: {
    mark: {
      text: "A primary network's packets from outside have its mark, by which they are routed in its table.",
      source: 'reference/node.md §3.4',
    },
    source: {
      text: 'What so goes to the bridge has the masquerade address of its gateway router, which is no address of the host.',
      source: 'reference/node.md §3.4, §4.3',
    },
  },
  claims: [],
  build(facts, [name], out) {
    const network = facts.rendered.get(name);
    if (network === undefined || isDefault(network) || !hasGateway(network)) return;
    const rows = new NftRows(out, network.object, 'mark');
    const chain = markChain(network.id);
    rows.chain(chain);
    rows.rules(chain, `meta mark set ${packetMark(network.id)}`);
    const sources = new NftRows(out, network.object, 'source');
    for (const family of clusterFamilies(facts.settings)) {
      const address = network.masquerade[family]?.gatewayRouter;
      if (address !== undefined)
        sources.element({
          set: ofFamily('udn-host-sources', family),
          element: String(Number(packetMark(network.id))),
          value: address,
        });
    }
  },
});
