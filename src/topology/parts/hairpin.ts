/** A pod that reaches itself through a service (reference/topology.md §16.1). */

import { ipOf } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import { controllerOf } from '../../model/rules/names.ts';
import { ACL_CLAIM, addAcl, anyOf, DIRECTIONS, ofGroup } from '../rows/acls.ts';
import { ACL_DEFAULT_ALLOW, ACL_HAIRPIN_SOURCE, TIER_ISOLATION, TIER_POLICY } from '../numbers.ts';
import { objectIds } from '../rows/object-ids.ts';
import { clusterPortGroup } from '../rows/port-groups.ts';
import { holds } from '../rows/unit-rows.ts';
import { masqueradeAddresses } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';

export const hairpin: NetworkPart = {
  rules: {
    hairpin: {
      text: 'A pod that reaches itself through a service is let in, whatever policies of namespaces say.',
      source: 'reference/topology.md §16.1',
    },
    'hairpin-source': {
      text: 'No host sends with the address that such a pod has then, which passes policies.',
      source: 'reference/topology.md §16.1',
    },
  },
  claims: [ACL_CLAIM],
  build(rows, onNode) {
    if (!onNode.hasGateway) return;
    const controller = controllerOf(onNode.network.name);
    const match = anyOf(
      masqueradeAddresses(onNode, MASQUERADE_OFFSETS.serviceHairpin).map(
        (address) => `${ipOf(address)}.src == ${address}`,
      ),
    );
    const group = clusterPortGroup(controller).name;
    const container = holds('Port_Group', group, 'acls');
    // Port security stops pods, and routers have no way for it: the host's port alone is open to any address.
    addAcl(
      rows.by('hairpin-source'),
      {
        ids: objectIds(controller, 'HairpinSource', { type: 'drop' }),
        direction: 'Egress',
        priority: ACL_HAIRPIN_SOURCE,
        tier: TIER_ISOLATION,
        action: 'drop',
        match: `${ofGroup('Egress', group)} && ${match}`,
      },
      container,
    );
    for (const direction of DIRECTIONS) {
      addAcl(
        rows.by('hairpin'),
        {
          ids: objectIds(controller, 'NetpolDefault', { name: 'allow-hairpinning', direction }),
          direction,
          priority: ACL_DEFAULT_ALLOW,
          tier: TIER_POLICY,
          action: 'allow-related',
          match,
          afterLoadBalancing: true,
        },
        container,
      );
    }
  },
};
