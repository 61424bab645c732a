/** Nodes that rules mean by their labels. */

import { withoutPrefix } from '../../allocators/addresses.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { LabelSelector } from '../../api/types.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';

export interface SelectedNode {
  readonly name: string;
  /** Every address that its host has, without prefix lengths; none before it has told them. */
  readonly addresses: readonly string[];
}

export const selectedNodes = (
  facts: ZoneFacts,
  selectors: readonly LabelSelector[],
): readonly SelectedNode[] =>
  selectors.length === 0
    ? []
    : facts.nodeLabels
        .all()
        .filter(({ labels }) => selectors.some((selector) => matchesSelector(selector, labels)))
        .map(({ name }) => ({
          name,
          addresses: (name === facts.nodeName
            ? facts.own('hostAddresses')
            : (facts.nodes.part(name, 'hostAddresses') ?? [])
          ).map(withoutPrefix),
        }));
