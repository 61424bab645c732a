/** Nodes that rules mean by their labels. */

import { FAMILIES, withoutPrefix } from '../../allocators/addresses.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { LabelSelector } from '../../api/types.ts';
import { nodeRanges } from '../../model/rules/network-addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { serviceNode } from '../services/service-node.ts';

export interface SelectedNode {
  readonly name: string;
  /** Every address that its host has outside of the network, without prefix lengths; none before it has told them. */
  readonly addresses: readonly string[];
  /** Those at which pods of the network reach the same host besides: its port on the network, and of this node that by which OVN knows the host. */
  readonly inside: readonly string[];
}

export function selectedNodes(
  facts: ZoneFacts,
  network: string,
  selectors: readonly LabelSelector[],
): readonly SelectedNode[] {
  if (selectors.length === 0) return [];
  return facts.nodeLabels
    .all()
    .filter(({ labels }) => selectors.some((selector) => matchesSelector(selector, labels)))
    .map(({ name }) => {
      const isOwn = name === facts.nodeName;
      const addresses = isOwn
        ? facts.own('hostAddresses')
        : (facts.nodes.part(name, 'hostAddresses') ?? []);
      const subnets = facts.nodeSubnets.get(network, name)?.cidrs ?? [];
      return {
        name,
        addresses: addresses.map(withoutPrefix),
        inside: [
          ...nodeRanges(subnets).map(({ management }) => management),
          ...(isOwn
            ? FAMILIES.flatMap((family) => serviceNode(facts).hostMasquerade[family] ?? [])
            : []),
        ],
      };
    });
}
