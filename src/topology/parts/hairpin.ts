/** A pod that reaches itself through a service (reference/topology.md §16.1). */

import { ipOf } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import { controllerOf } from '../../model/rules/names.ts';
import { ACL_CLAIM, addAcl, anyOf, DIRECTIONS } from '../rows/acls.ts';
import { ACL_DEFAULT_ALLOW, TIER_POLICY } from '../numbers.ts';
import { objectIds } from '../rows/object-ids.ts';
import { clusterPortGroup } from '../rows/port-groups.ts';
import { holds } from '../rows/unit-rows.ts';
import { masqueradeAddresses } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';

export const hairpin: NetworkPart = {
  rules: {
    hairpin: {
      text: 'A pod that reaches itself through a service is let in, whatever policies say.',
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
        holds('Port_Group', clusterPortGroup(controller).name, 'acls'),
      );
    }
  },
};
