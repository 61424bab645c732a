/** Multicast between the pods of a namespace that asks for it (reference/topology.md §16.4). */

import { feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { multicastSenders } from '../../model/read/multicast.ts';
import { controllerOf } from '../../model/rules/names.ts';
import { ACL_CLAIM, addAcl, ofGroup, type Direction } from '../rows/acls.ts';
import { selectedPods } from '../rows/address-sets.ts';
import { networkOf, networkRank } from '../networks/network-feature.ts';
import { ACL_MULTICAST_ALLOW, TIER_POLICY } from '../numbers.ts';
import { objectIds } from '../rows/object-ids.ts';
import { familiesOf } from '../policy/placed.ts';
import { namespacePortGroup } from '../rows/port-groups.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import { receivedMulticast, sentMulticast } from './matches.ts';

/** A unit of its own: what denies is there without it. */
export const namespaceMulticast = feature({
  name: 'multicast/namespaces',
  over: (facts: ZoneFacts) => facts.multicast.distinct('unit'),
  rank: networkRank,
  subject: networkOf,
  objects: (_facts, [, namespace]) => [`Namespace ${namespace}`],
  rules: {
    allow: {
      text: 'Pods of a namespace that asks for it send multicast, and get that of its pods of all nodes.',
      source: 'reference/topology.md §16.4',
    },
  },
  claims: [ACL_CLAIM],
  build(facts, [network, namespace], out) {
    const families = familiesOf(facts, network);
    if (families.length === 0) return;
    const controller = controllerOf(network);
    const group = namespacePortGroup(controller, namespace).name;
    const { id } = multicastSenders(namespace);
    const senders = new Map(
      families.map((family) => [family, selectedPods(controller, id, family).name]),
    );
    const rows = Rows.northbound(out, `Namespace ${namespace}`).by('allow');
    const allow = (direction: Direction, match: string, sets: readonly string[]): void =>
      addAcl(
        rows,
        {
          ids: objectIds(controller, 'MulticastNS', { name: namespace, direction }),
          direction,
          priority: ACL_MULTICAST_ALLOW,
          tier: TIER_POLICY,
          action: 'allow',
          match: `${ofGroup(direction, group)} && ${match}`,
          sets,
          afterLoadBalancing: true,
        },
        holds('Port_Group', group, 'acls'),
      );
    allow('Egress', sentMulticast(families), []);
    allow('Ingress', receivedMulticast(senders), [...senders.values()]);
  },
});
