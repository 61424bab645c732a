/** The feature of a topology's networks. One unit per network: a switch without the ACLs that keep its pods apart must never be seen. */

import { feature, type Feature, type Sink } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Network, Topology } from '../../model/model.ts';
import type { LocalNames } from '../../model/rules/names.ts';
import { Rows } from '../rows/unit-rows.ts';
import type { NetworkOnNode } from '../parts/network-on-node.ts';
import type { NetworkPart } from '../parts/part.ts';

export function networkFeature<Names extends LocalNames>(
  topology: Topology,
  parts: readonly NetworkPart<Names>[],
  onNode: (facts: ZoneFacts, network: Network, out: Sink) => NetworkOnNode<Names>,
): Feature<ZoneFacts> {
  return feature({
    name: `${topology}/network`,
    over: (facts: ZoneFacts) => facts.renderedOf(topology),
    rank: networkRank,
    subject: networkOf,
    objects: networkObjects,
    rules: Object.assign({}, ...parts.map(({ rules }) => rules)) as NetworkPart['rules'],
    claims: [...new Set(parts.flatMap(({ claims }) => claims))],
    build(facts, [name], out) {
      const network = facts.rendered.get(name);
      if (network === undefined) return;
      const rows = Rows.northbound(out, network.object);
      const seen = onNode(facts, network, out);
      for (const part of parts) part.build(rows, seen);
    },
  });
}

/** A key that begins with a network. */
type OfNetwork = readonly [network: string, ...rest: string[]];

/** The network of a unit whose first argument it is. */
export function networkOf(_facts: ZoneFacts, [name]: OfNetwork): string {
  return name;
}

/** What rows of a network are marked with; undefined for one that is not known. */
export function networkObjects(
  { networks, registrations }: ZoneFacts,
  [name]: OfNetwork,
): readonly string[] | undefined {
  const object = networks.peek(name)?.object ?? registrations.peek(name)?.object;
  return object === undefined ? undefined : [object];
}

/** Of two networks that want one name, the one of the lower id has it. */
export function networkRank(facts: ZoneFacts, [name]: OfNetwork): number {
  return facts.networks.part(name, 'id') ?? 0;
}
